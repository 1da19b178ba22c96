// SPDX-License-Identifier: MIT
#include "verify/kernel_fuzz.h"

#include "ref/random.h"
#include "spec/point.h"

static int64_t draw_below(bench_kernel_fuzz *fuzz, int64_t limit)
{
    husk_ref_random random = {.seed = fuzz->seed, .drawn = fuzz->drawn};
    const int64_t drawn = husk_ref_random_below(&random, limit);
    fuzz->drawn = random.drawn;
    return drawn;
}

// What a size may be a multiple of.
static int64_t draw_unit(bench_kernel_fuzz *fuzz, int name)
{
    const bench_spec *spec = fuzz->spec;
    const int configs = spec->config_count, listed = bench_spec_size_count(spec);
    const int64_t which = draw_below(fuzz, configs + 2);
    if (which < configs)
        return fuzz->config[which];
    if (which == configs)
        return bench_spec_size(spec, (int)draw_below(fuzz, listed))[name];
    return (int64_t)1 << draw_below(fuzz, 9);
}

static int64_t largest_listed(const bench_spec *spec, int name)
{
    int64_t largest = 1;
    for (int i = 0; i < bench_spec_size_count(spec); i++) {
        const int64_t value = bench_spec_size(spec, i)[name];
        largest = value > largest ? value : largest;
    }
    return largest;
}

void bench_fuzz_draw(bench_kernel_fuzz *fuzz, int64_t *size)
{
    const bench_spec *spec = fuzz->spec;
    for (int i = 0; i < spec->sizes.names; i++) {
        const int64_t most = largest_listed(spec, i), limit = most > ((int64_t)1 << 36) ? most : 4 * most;
        int64_t unit = draw_unit(fuzz, i);
        unit = unit < 1 ? 1 : unit > limit ? limit : unit;
        // Small multiples more often: they are tried faster.
        const int64_t multiple = draw_below(fuzz, draw_below(fuzz, 10) + 1);
        const int64_t value = unit * multiple + draw_below(fuzz, 5) - 2;
        size[i] = value < 1 ? 1 : value > limit ? limit : value;
    }
}

// Whether it fails with one of its sizes made smaller; then it keeps that.
static bool try_smaller(bench_kernel_fuzz *fuzz, int64_t *size, int name, int64_t smaller)
{
    const int64_t before = size[name];
    if (smaller < 1 || smaller >= before)
        return false;
    size[name] = smaller;
    if (fuzz->fails(fuzz->user, size))
        return true;
    size[name] = before;
    return false;
}

void bench_fuzz_shrink(bench_kernel_fuzz *fuzz, int64_t *size)
{
    bool is_smaller = true;
    while (is_smaller) {
        is_smaller = false;
        for (int i = 0; i < fuzz->spec->sizes.names; i++) {
            for (int64_t step = size[i] / 2; step > 0; step /= 2) {
                while (try_smaller(fuzz, size, i, size[i] - step))
                    is_smaller = true;
            }
        }
    }
}
