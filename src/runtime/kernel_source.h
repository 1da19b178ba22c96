/* SPDX-License-Identifier: MIT */
/*
 * runtime/kernel_source.h: the kernel files, embedded; and their text with includes resolved.
 */
#ifndef HUSK_RUNTIME_KERNEL_SOURCE_H
#define HUSK_RUNTIME_KERNEL_SOURCE_H

#include "base/text.h"

typedef struct husk__kernel_file {
    const char *name; /* relative to cl/: "gemm/packed.cl", "lib/tile.clh" */
    const char *text;
    size_t size;
} husk__kernel_file;

extern const husk__kernel_file husk__kernel_files[];
extern const size_t husk__kernel_file_count;

/*
 * The text of a kernel file with every #include "lib/..." replaced by that file, and #line directives so that
 * a build error names file and line; what all programs begin with comes first. Read from the folder HUSK_KERNEL_DIR
 * names, where it is set.
 */
husk_status husk__kernel_source(const char *file, husk__text *source, const husk__scope *scope);

/*
 * A build log with files and their lines where it counts the program's: NVIDIA's compiler knows no #line, and writes
 * "<kernel>:N" of the N-th. log is on the heap, or NULL; what is returned takes its place.
 */
char *husk__kernel_log_by_files(const husk__text *source, char *log);

#endif
