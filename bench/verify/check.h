/* SPDX-License-Identifier: MIT */
/* bench/verify/check.h: one case, computed once by husk's worker and compared with the reference. */
#ifndef BENCH_VERIFY_CHECK_H
#define BENCH_VERIFY_CHECK_H

#include "cases/case.h"
#include "measure/row.h"

typedef struct bench_check_options {
    const char *form; /* a variant, or "variant:configuration"; NULL: the library's choice */
    double max_time;     /* seconds of one request */
    double compile_time; /* of the one that may compile; 0: max_time */
    int64_t seed;        /* of the outputs that are compared */
} bench_check_options;

typedef struct bench_check {
    bench_state state; /* OK: it was computed; then verified says whether it is right. FAILED: it is wrong */
    json_t *prepared, *verified; /* the worker's replies; NULL where it did not come so far */
    char reason[BENCH_REASON_TEXT];
} bench_check;

void bench_check_case(bench_runner_process *husk, const bench_case *c, const bench_check_options *options,
                      bench_check *check);
void bench_check_free(bench_check *check);

#endif
