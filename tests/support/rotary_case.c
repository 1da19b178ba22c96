// SPDX-License-Identifier: MIT
#include "support/rotary_case.h"

#include <math.h>
#include <stdio.h>

static void set(test_tensor *tensor, husk_ref_random *random, int64_t first, int64_t limit)
{
    int64_t index[HUSK_MAX_RANK] = {0};
    do
        husk_ref_store(&tensor->array, husk_ref_offset(&tensor->array, index),
                       (double)(first + husk_ref_random_below(random, limit)));
    while (husk_ref_index_next(tensor->array.rank, tensor->array.shape, index));
    test_input_update(tensor);
}

test_rotary test_rotary_draw(husk_ref_random *random, husk_dtype dtype, uint64_t seed)
{
    static const float bases[] = {0.0f, 500000.0f, 1.5f, 1.0000001f};
    test_rotary c = {.dtype = dtype, .layout = test_pick_layout(random)};
    c.shape[0] = TEST_PICK(random, 1, 2, 3);
    c.shape[1] = TEST_PICK(random, 1, 2, 5, 12);
    c.shape[2] = test_pick_size(random, 4, 40);
    c.shape[3] = 2 * (test_one_in(random, 8) ? TEST_PICK(random, 255, 257, 300) : test_pick_size(random, 16, 70));
    const bool is_partial = c.shape[3] > 2 && test_one_in(random, 3);
    c.params = HUSK_ROTARY_PARAMS(.interleaved = (uint32_t)husk_ref_random_below(random, 2),
                                  .base = bases[husk_ref_random_below(random, 4)]);
    if (is_partial) {
        c.params.rotary_dimension = 2 * (1 + husk_ref_random_below(random, c.shape[3] / 2 - 1));
        c.shape[3] += husk_ref_random_below(random, 2); // an odd rest
    }
    c.has_positions = test_one_in(random, 2);
    c.has_tables = test_one_in(random, 3);
    if (c.has_tables && !c.has_positions)
        c.params.first_position = husk_ref_random_below(random, 9);
    else
        c.params.first_position = TEST_PICK(random, 0, 0, 1000, -7, 1000000, INT64_C(1) << 33);
    const int64_t turned = c.params.rotary_dimension ? c.params.rotary_dimension : c.shape[3];
    const int64_t table[] = {c.shape[2] + 9, turned / 2}, positions[] = {c.shape[0], c.shape[2]};
    if (c.has_positions) {
        const bool is_shared = test_one_in(random, 2), is_wild = test_one_in(random, 5);
        const bool is_long = test_one_in(random, 2);
        c.positions = test_input_of(is_long ? HUSK_I64 : HUSK_I32, is_shared ? 1 : 2, positions + is_shared,
                                    test_pick_layout(random), seed, 1.0f);
        if (c.has_tables)
            set(&c.positions, random, is_wild ? -2 : 0, table[0] + (is_wild ? 4 : 0));
        else
            set(&c.positions, random, is_wild ? -100000 : 0, is_wild && is_long ? INT64_C(1) << 34 : 5000);
    }
    if (c.has_tables) {
        const husk_dtype own = dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32;
        c.cosines = test_input_of(own, 2, table, test_pick_layout(random), seed + 1, 1.0f);
        c.sines = test_input_of(own, 2, table, test_pick_layout(random), seed + 2, 1.0f);
    }
    snprintf(c.text, sizeof c.text, "shape=%lldx%lldx%lldx%lld turned=%lld interleaved=%u base=%g first=%lld%s%s",
             (long long)c.shape[0], (long long)c.shape[1], (long long)c.shape[2], (long long)c.shape[3],
             (long long)turned, (unsigned)c.params.interleaved, (double)c.params.base,
             (long long)c.params.first_position, c.has_positions ? " positions" : "", c.has_tables ? " tables" : "");
    return c;
}

void test_rotary_release(test_rotary *c)
{
    if (c->has_positions)
        test_release(&c->positions);
    if (c->has_tables) {
        test_release(&c->cosines);
        test_release(&c->sines);
    }
}

const husk_tensor *test_rotary_tensor(const test_rotary *c, const test_tensor *tensor)
{
    return (tensor == &c->positions ? c->has_positions : c->has_tables) ? &tensor->tensor : NULL;
}

husk_ref_rotary test_rotary_reference(const test_rotary *c, const husk_ref_array *x)
{
    return (husk_ref_rotary){.params = &c->params,
                             .x = x,
                             .positions = c->has_positions ? &c->positions.array : NULL,
                             .cosines = c->has_tables ? &c->cosines.array : NULL,
                             .sines = c->has_tables ? &c->sines.array : NULL};
}
