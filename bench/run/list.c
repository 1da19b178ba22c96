// SPDX-License-Identifier: MIT
// clbench list: the suites, or a suite's cases.
#include "run/list.h"

#include <inttypes.h>
#include <stdio.h>

#include "cases/suites.h"
#include "common/text.h"
#include "system/terminal.h"
#include "run/select.h"

static int list_suites(void)
{
    char reason[BENCH_REASON_TEXT];
    for (size_t i = 0; bench_suite_name(i); i++) {
        bench_suite suite;
        if (!bench_suite_load(bench_suite_name(i), &suite, reason)) {
            fprintf(stderr, "clbench: %s\n", reason);
            return BENCH_EXIT_ERROR;
        }
        bench_print(26, "%-14s %3zu cases  %s\n", suite.name, suite.count, suite.title);
        bench_suite_free(&suite);
    }
    return BENCH_EXIT_OK;
}

int bench_command_list(const bench_options *options)
{
    char reason[BENCH_REASON_TEXT];
    bench_suite suite;
    if (!options->suite && !options->file && !options->cases[0])
        return list_suites();
    if (!bench_select_cases(options, NULL, &suite, reason)) {
        fprintf(stderr, "clbench: %s\n", reason);
        return BENCH_EXIT_USAGE;
    }
    for (size_t i = 0; i < suite.count; i++) {
        char times[32] = "";
        if (suite.entries[i].count > 1)
            snprintf(times, sizeof times, " * %" PRId64, suite.entries[i].count);
        bench_print(4, "%s%s\n", suite.entries[i].c.canonical, times);
    }
    bench_suite_free(&suite);
    return BENCH_EXIT_OK;
}
