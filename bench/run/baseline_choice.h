/* SPDX-License-Identifier: MIT */
/* bench/run/baseline_choice.h: which of the baselines that are built in a run is to be compared with. */
#ifndef BENCH_RUN_BASELINE_CHOICE_H
#define BENCH_RUN_BASELINE_CHOICE_H

#include "cli/options.h"

/* Whether --baseline, or its absence, asks for the one of this name. */
bool bench_baseline_is_wanted(const bench_options *options, const char *name);
/* Every name in --baseline must be one that is built in. False: reason. */
bool bench_baselines_check(const bench_options *options, char reason[BENCH_REASON_TEXT]);

#endif
