// SPDX-License-Identifier: MIT
// clbench's command line, a word a line: what is taken is within its bounds, and the cases among the words make a
// suite or are refused with a reason.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/suite.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "fuzz.h"
#include "run/select.h"

enum { MOST_WORDS = 40 };

static void expect_options(const bench_options *o)
{
    fuzz_expect(o->command < BENCH_COMMAND_COUNT, "command %d", (int)o->command);
    fuzz_expect(o->device_count <= BENCH_MAX_DEVICES && o->merged_count <= BENCH_MAX_MERGED &&
                    o->file_count <= BENCH_MAX_FILES,
                "more words than there is room for");
    fuzz_expect(memchr(o->cases, 0, sizeof o->cases) != NULL, "the cases do not end");
    fuzz_expect((o->rounds >= 1 || o->rounds == BENCH_ROUNDS_UNSAID) && o->warmup >= 0 && o->seed >= 0,
                "a number below its least");
    fuzz_expect(isfinite(o->max_time) && o->max_time > 0 && isfinite(o->compile_time) && o->compile_time > 0,
                "a time of %g or %g", o->max_time, o->compile_time);
    fuzz_expect(isfinite(o->budget), "a budget of %g", o->budget);
    for (size_t i = 0; i < o->device_count; i++)
        fuzz_expect(o->devices[i] != NULL, "device %zu is none", i);
}

static void expect_suite(const bench_options *o)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_suite suite;
    if (!o->cases[0]) // a file's, or one that is compiled in: fuzz_suite.c
        return;
    if (bench_select_cases(o, "smoke", &suite, reason))
        fuzz_expect(suite.count > 0, "a suite without a case");
    else
        fuzz_expect_reason(reason, sizeof reason);
    bench_suite_free(&suite);
}

void fuzz_target(const char *text, size_t size)
{
    char reason[BENCH_REASON_TEXT] = "", program[] = "clbench", *words[MOST_WORDS + 2] = {program};
    char *copy = malloc(size + 1), *position = NULL;
    bench_options *options = malloc(sizeof *options);
    int count = 1;
    fuzz_expect(copy && options, "memory is short");
    memcpy(copy, text, size + 1);
    for (char *word = strtok_r(copy, "\n", &position); word && count <= MOST_WORDS;
         word = strtok_r(NULL, "\n", &position))
        words[count++] = word;
    if (bench_cli_parse(count, words, options, reason)) {
        expect_options(options);
        expect_suite(options);
    } else {
        fuzz_expect_reason(reason, sizeof reason);
    }
    free(options);
    free(copy);
}
