// SPDX-License-Identifier: MIT
// A case: its canonical form is read back as the same case, and its sizes are numbers.
#include <math.h>
#include <string.h>

#include "cases/case.h"
#include "cases/parse.h"
#include "cases/size.h"
#include "fuzz.h"

static void expect_sizes(const bench_case *c)
{
    const double sizes[] = {bench_case_flops(c), bench_case_macs(c), bench_case_bytes(c), bench_case_operands(c),
                            bench_case_peak_factor(c)};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        fuzz_expect(isfinite(sizes[i]) && sizes[i] >= 0, "size %zu of %s is %g", i, c->canonical, sizes[i]);
}

static void expect_same_again(const bench_case *c)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_case again;
    fuzz_expect(bench_case_parse(c->canonical, &again, reason), "the canonical form %s is refused: %s", c->canonical,
                reason);
    fuzz_expect(!strcmp(again.canonical, c->canonical), "%s becomes %s", c->canonical, again.canonical);
    fuzz_expect(again.op == c->op && again.dtype == c->dtype && again.dir == c->dir && again.act == c->act &&
                    again.layout == c->layout && again.precision == c->precision && again.packed == c->packed,
                "%s is read back as another case", c->canonical);
    fuzz_expect(bench_case_flops(&again) == bench_case_flops(c) && bench_case_macs(&again) == bench_case_macs(c) &&
                    bench_case_bytes(&again) == bench_case_bytes(c) &&
                    bench_case_operands(&again) == bench_case_operands(c),
                "%s is read back with other sizes", c->canonical);
}

void fuzz_target(const char *text, size_t size)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_case c;
    (void)size;
    if (!bench_case_parse(text, &c, reason)) {
        fuzz_expect_reason(reason, sizeof reason);
        return;
    }
    fuzz_expect(c.op < BENCH_OP_COUNT, "%s is of no operator", text);
    fuzz_expect(strlen(c.canonical) + 1 < sizeof c.canonical, "the canonical form of %s is cut off", text);
    expect_sizes(&c);
    expect_same_again(&c);
}
