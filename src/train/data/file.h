/* SPDX-License-Identifier: MIT */
/*
 * train/data/file.h: files that are read with suspicion, and written whole or not at all.
 */
#ifndef HUSK_TRAIN_DATA_FILE_H
#define HUSK_TRAIN_DATA_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <husk/status.h>

#include "train/error.h"

#if defined(__GNUC__)
#define HUSK__FILE_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define HUSK__FILE_PRINTF(format_index, first)
#endif

/* What a text about a failure begins with: "husk_idx_read: train-images: ". */
typedef struct husk__source {
    const char *call;
    const char *path;  /* or another name of what is read */
    husk_error *error; /* may be NULL */
} husk__source;

/* Records the text, in which what a terminal would take as a command becomes "?", and returns the status. */
husk_status husk__source_fail(const husk__source *source, husk_status status, const char *format, ...)
    HUSK__FILE_PRINTF(3, 4);
/* IO, or OUT_OF_HOST_MEMORY for ENOMEM, with errno's text behind what. */
husk_status husk__source_fail_system(const husk__source *source, const char *what);

/* For reading. A pipe is not waited for, and whatever is no plain file is refused. */
husk_status husk__file_open(const husk__source *source, int *descriptor, uint64_t *size);
/* All of it, from offset on; a file that ends before is refused. */
husk_status husk__file_read(const husk__source *source, int descriptor, uint64_t offset, void *bytes, uint64_t size);
/* The whole file, malloc'ed, a zero behind it. */
husk_status husk__file_load(const husk__source *source, unsigned char **bytes, uint64_t *size);

/* A file that is being written beside its path. */
typedef struct husk__part {
    const husk__source *source;
    char *path; /* the source's, with ".part" behind it, and more where there are no locks */
    int descriptor;
} husk__part;

/* A part that failed in any of these calls is gone, and is not to be ended. */
husk_status husk__part_begin(husk__part *part, const husk__source *source);
husk_status husk__part_write(husk__part *part, const void *bytes, uint64_t size);
/* Over what is there already. */
husk_status husk__part_write_at(husk__part *part, uint64_t offset, const void *bytes, uint64_t size);
/* It takes the path's place. */
husk_status husk__part_commit(husk__part *part);
/* It is forgotten; does nothing where it is gone. */
void husk__part_drop(husk__part *part);

#endif
