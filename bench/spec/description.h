/* SPDX-License-Identifier: MIT */
/* bench/spec/description.h: files that describe kernels. The grammar is in docs/verify-kernels.md. */
#ifndef BENCH_SPEC_DESCRIPTION_H
#define BENCH_SPEC_DESCRIPTION_H

#include "spec/spec.h"

typedef struct bench_description {
    char path[BENCH_PATH_TEXT];
    char folder[BENCH_PATH_TEXT]; /* what paths in it are relative to; "" for the current one */
    bench_spec **specs;
    int count;
} bench_description;

/* From a text in memory; path names it in messages, and its folder is what paths are relative to. False: reason. */
bool bench_description_parse(const char *path, const char *text, bench_description *description,
                             char reason[BENCH_REASON_TEXT]);
void bench_description_free(bench_description *description);

/* One without kernels yet. False: reason. */
bool bench_description_begin(const char *path, bench_description *description, char reason[BENCH_REASON_TEXT]);
/* One kernel more, all zeros. NULL: host memory does not suffice. */
bench_spec *bench_description_add(bench_description *description);

/* A path of the description, as the process finds it. */
void bench_description_path(const bench_description *description, const char *path, char *text, size_t size);

#endif
