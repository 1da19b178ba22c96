// SPDX-License-Identifier: MIT
#include "support/attention_case.h"

#include <math.h>
#include <stdio.h>

static void swap(int64_t *values)
{
    const int64_t second = values[2];
    values[2] = values[1];
    values[1] = second;
}

// [batch, length, heads, columns] seen as [batch, heads, length, columns].
static void turn(test_tensor *made)
{
    static const int32_t order[] = {0, 2, 1, 3};
    made->tensor = husk_tensor_permute(&made->tensor, order);
    swap(made->array.shape);
    swap(made->array.strides);
    swap(made->before.shape);
    swap(made->before.strides);
}

test_tensor test_attention_input(const test_attention *c, int64_t heads, int64_t length, int64_t columns, uint64_t seed,
                                 float scale)
{
    int64_t shape[] = {c->batch, heads, length, columns};
    if (c->layout == 1)
        swap(shape);
    test_tensor made = test_input_of(c->dtype, 4, shape, c->layout == 2 ? TEST_PADDED : TEST_PACKED, seed, scale);
    if (c->layout == 1)
        turn(&made);
    return made;
}

test_tensor test_attention_output(const test_attention *c, int64_t heads, int64_t length, int64_t columns, bool adds,
                                  uint64_t seed)
{
    int64_t shape[] = {c->batch, heads, length, columns};
    if (c->layout == 1)
        swap(shape);
    const test_layout layout = c->layout == 2 ? TEST_PADDED : TEST_PACKED;
    test_tensor made =
        adds ? test_inout_of(c->dtype, 4, shape, layout, seed, 0.5f) : test_output(c->dtype, 4, shape, layout);
    if (c->layout == 1)
        turn(&made);
    return made;
}

// Added: some -infinity among small numbers. Boolean: two thirds take part. Rows that see nothing come by chance.
static void make_mask(test_attention *c, husk_ref_random *random, uint64_t seed)
{
    const int64_t full[] = {c->batch, c->heads, c->queries, c->keys};
    int64_t shape[4], index[4] = {0};
    const int32_t rank = (int32_t)TEST_PICK(random, 1, 2, 3, 4, 4);
    const bool is_boolean = test_one_in(random, 2);
    for (int32_t d = 0; d < rank; d++)
        shape[d] = test_one_in(random, 3) ? 1 : full[4 - rank + d];
    c->has_mask = true;
    c->mask = test_input_of(is_boolean ? HUSK_U8 : c->dtype, rank, shape, test_pick_layout(random), seed, 1.0f);
    if (husk_ref_array_count(&c->mask.array) == 0)
        return;
    do {
        const bool is_hidden = test_one_in(random, 3);
        const int64_t offset = husk_ref_offset(&c->mask.array, index);
        if (is_boolean)
            husk_ref_store(&c->mask.array, offset, is_hidden ? 0 : (double)(1 + husk_ref_random_below(random, 255)));
        else if (is_hidden)
            husk_ref_store(&c->mask.array, offset, -INFINITY);
    } while (husk_ref_index_next(rank, shape, index));
    test_input_update(&c->mask);
}

void test_attention_fill(test_attention *c, husk_ref_random *random, uint64_t seed)
{
    const float size = 3.0f / sqrtf(sqrtf((float)(c->d > 0 ? c->d : 1)));
    c->q = test_attention_input(c, c->heads, c->queries, c->d, seed, size * sqrtf(sqrtf((float)c->d + 1)));
    c->k = test_attention_input(c, c->kv_heads, c->keys, c->d, seed + 1, 2.0f);
    c->v = test_attention_input(c, c->kv_heads, c->keys, c->e, seed + 2, 2.0f);
    if (c->has_mask)
        make_mask(c, random, seed + 3);
    snprintf(c->text, sizeof c->text,
             "n=%lld heads=%lld/%lld queries=%lld keys=%lld d=%lld e=%lld causal=%d mask=%s dropout=%g layout=%d",
             (long long)c->batch, (long long)c->heads, (long long)c->kv_heads, (long long)c->queries,
             (long long)c->keys, (long long)c->d, (long long)c->e, (int)c->params.causal,
             !c->has_mask                     ? "none"
             : c->mask.array.dtype == HUSK_U8 ? "boolean"
                                              : "added",
             (double)c->params.dropout, c->layout);
}

test_attention test_attention_draw(husk_ref_random *random, husk_dtype dtype, int64_t most, uint64_t seed)
{
    test_attention c = {.dtype = dtype, .layout = (int)husk_ref_random_below(random, 3)};
    const int64_t groups = TEST_PICK(random, 1, 1, 1, 2, 3);
    c.batch = TEST_PICK(random, 1, 1, 2);
    c.kv_heads = TEST_PICK(random, 1, 1, 2, 3);
    c.heads = groups * c.kv_heads;
    c.queries = test_pick_size(random, 12, most);
    c.keys = test_one_in(random, 3) ? c.queries : test_pick_size(random, 32, most);
    c.d = test_pick_size(random, 16, 70);
    c.e = test_one_in(random, 2) ? c.d : test_pick_size(random, 32, 70);
    c.has_sums = test_one_in(random, 2);
    c.has_mask = test_one_in(random, 2);
    c.params = HUSK_ATTENTION_PARAMS(.causal = (husk_causal)TEST_PICK(random, 0, 0, 1, 2),
                                     .scale = test_one_in(random, 3) ? -0.11f : 0.0f,
                                     .seed = (uint64_t)husk_ref_random_below(random, INT64_MAX),
                                     .offset = (uint64_t)husk_ref_random_below(random, INT64_MAX));
    c.params.dropout = test_one_in(random, 3) ? 0.3f : 0.0f;
    test_attention_fill(&c, random, seed);
    return c;
}

void test_attention_release(test_attention *c)
{
    test_release(&c->q);
    test_release(&c->k);
    test_release(&c->v);
    if (c->has_mask)
        test_release(&c->mask);
}

const husk_tensor *test_attention_mask(const test_attention *c)
{
    return c->has_mask ? &c->mask.tensor : NULL;
}

husk_ref_attention test_attention_reference(const test_attention *c)
{
    return (husk_ref_attention){.params = &c->params,
                                .q = &c->q.array,
                                .k = &c->k.array,
                                .v = &c->v.array,
                                .mask = c->has_mask ? &c->mask.array : NULL};
}
