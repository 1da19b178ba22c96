/* SPDX-License-Identifier: MIT */
/*
 * bench/spec/t1.h: tuning problems in T1, the format that Kernel Tuner and KTT share
 * (https://github.com/odgaard/TuningSchema). docs/verify-kernels.md has what is read of it and what is refused.
 */
#ifndef BENCH_SPEC_T1_H
#define BENCH_SPEC_T1_H

#include "spec/description.h"

/*
 * From a text in memory of `size` bytes, without zero bytes, and a zero behind it; path as in bench_description_parse.
 * It comes to one kernel. False: reason, "FILE:LINE: MEMBER: what is wrong".
 */
bool bench_t1_parse(const char *path, const char *text, size_t size, bench_description *description,
                    char reason[BENCH_REASON_TEXT]);

#endif
