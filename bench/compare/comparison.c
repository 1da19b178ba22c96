// SPDX-License-Identifier: MIT
#include "compare/comparison.h"

#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

const char *bench_change_text(bench_change change)
{
    static const char *const texts[] = {"~", "slower", "faster", "?", "two speeds"};
    return (size_t)change < sizeof texts / sizeof *texts ? texts[change] : "?";
}

int bench_comparison_code(const bench_comparison *c)
{
    bool is_slower = c->slower > 0 || c->lost > 0;
    bool is_unsure = c->unsure > 0 || c->divided > 0 || c->doubtful > 0 || c->only_count[0] > 0 || c->pair_count == 0;
    for (size_t i = 0; i < c->group_count; i++) {
        is_slower = is_slower || c->groups[i].change == BENCH_SLOWER;
        is_unsure = is_unsure || c->groups[i].change == BENCH_UNSURE;
    }
    const bool is_wrong = c->wrong + c->still_wrong + c->new_wrong > 0;
    return is_wrong    ? BENCH_EXIT_VERIFICATION
           : is_slower ? BENCH_EXIT_REGRESSION
           : is_unsure ? BENCH_EXIT_AMBIGUOUS
                       : BENCH_EXIT_OK;
}

void bench_comparison_free(bench_comparison *c)
{
    for (size_t i = 0; c->pairs && i < c->pair_count; i++) {
        bench_side_free(&c->pairs[i].sides[0]);
        bench_side_free(&c->pairs[i].sides[1]);
    }
    bench_machine_free(&c->machines[0]);
    bench_machine_free(&c->machines[1]);
    free(c->pairs);
    free(c->groups);
    free(c->moves);
    free(c->only[0]);
    free(c->only[1]);
    memset(c, 0, sizeof *c);
}
