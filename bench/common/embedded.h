/* SPDX-License-Identifier: MIT */
/* bench/common/embedded.h: suites, lists, kernels and schema, compiled in; bench/embed.cmake writes the table. */
#ifndef BENCH_COMMON_EMBEDDED_H
#define BENCH_COMMON_EMBEDDED_H

typedef struct bench_embedded_file {
    const char *name; /* "suites/standard.txt"; NULL ends the table */
    const char *text; /* zero-terminated */
} bench_embedded_file;

extern const bench_embedded_file bench_embedded_files[];

/* NULL when there is none of that name. */
const char *bench_embedded_text(const char *name);

#endif
