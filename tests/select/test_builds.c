// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=360
// A new shape compiles nothing: hundreds of shapes, drawn by chance, share a few programs.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include <husk/husk.h>

#include "ref/random.h"
#include "support/main.h"

enum { GEMM_SHAPES = 200, CONV_SHAPES = 60, MOST_BUILDS = 16, ARENA = 3 << 22 };

// A context of its own, so that nothing is built there but what the shapes need.
typedef struct workshop {
    husk_device_list *list;
    husk_context *context;
    husk_queue *queue;
    husk_buffer *arena; // operands are views: inputs in its first part, weights in its second, outputs in its last
    husk_error error;
} workshop;

static void open_workshop(workshop *w)
{
    const husk_device *device = NULL;
    *w = (workshop){0};
    husk_status status = husk_device_list_create(&w->list, &w->error);
    if (status == HUSK_OK)
        status = husk_device_list_select(w->list, NULL, &device, &w->error);
    if (status == HUSK_OK)
        status = husk_context_create(device, NULL, &w->context, &w->error);
    if (status == HUSK_OK)
        status = husk_queue_create(w->context, NULL, &w->queue, &w->error);
    if (status == HUSK_OK)
        status = husk_buffer_create(w->context, ARENA * sizeof(float), &w->arena, &w->error);
    ck_assert_msg(status == HUSK_OK, "%s", w->error.text);
    const float one = 1.0f;
    ck_assert_int_eq(husk_buffer_fill(w->queue, w->arena, 0, husk_buffer_size(w->arena), &one, sizeof one), HUSK_OK);
}

static void close_workshop(workshop *w)
{
    husk_queue_finish(w->queue);
    husk_buffer_release(w->arena);
    husk_queue_release(w->queue);
    husk_context_release(w->context);
    husk_device_list_release(w->list);
}

static uint64_t builds(const workshop *w)
{
    husk_program_stats stats;
    husk_context_program_stats(w->context, &stats);
    return stats.builds + stats.cache_loads;
}

static husk_tensor part(const workshop *w, int third, int32_t rank, const int64_t *shape)
{
    husk_tensor tensor = husk_tensor_make(w->arena, HUSK_F32, rank, shape);
    tensor.offset = third * (ARENA / 3);
    ck_assert_int_le(husk_tensor_count(&tensor), ARENA / 3 - 4096);
    return tensor;
}

// Small and odd, or large, or one: what makes the choice of a variant change.
static int64_t draw_size(husk_ref_random *random)
{
    switch (husk_ref_random_below(random, 8)) {
    case 0:
        return 1 + husk_ref_random_below(random, 4);
    case 1:
    case 2:
        return 1 + husk_ref_random_below(random, 700);
    default:
        return 1 + husk_ref_random_below(random, 200);
    }
}

// Nothing, a bias, or a bias and ReLU.
static const husk_tensor *draw_bias(husk_ref_random *random, const workshop *w, int64_t length, husk_act *activation,
                                    husk_tensor *storage)
{
    const int64_t kind = husk_ref_random_below(random, 3);
    *activation = kind == 2 ? HUSK_ACT_RELU : HUSK_ACT_NONE;
    *storage = part(w, 1, 1, &length);
    storage->offset += ARENA / 3 - 4096;
    return kind ? storage : NULL;
}

static void run_gemm(workshop *w, husk_ref_random *random)
{
    const int64_t m = draw_size(random), n = draw_size(random), k = draw_size(random);
    const int64_t batch = husk_ref_random_below(random, 4) ? 0 : 2 + husk_ref_random_below(random, 3);
    const bool ta = husk_ref_random_below(random, 2), tb = husk_ref_random_below(random, 2);
    const int64_t a_shape[3] = {batch, ta ? k : m, ta ? m : k}, b_shape[3] = {batch, tb ? n : k, tb ? k : n},
                  c_shape[3] = {batch, m, n};
    const int drop = batch == 0;
    husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_a = ta, .transpose_b = tb);
    husk_tensor storage, a = part(w, 0, 3 - drop, a_shape + drop), b = part(w, 1, 3 - drop, b_shape + drop),
                         c = part(w, 2, 3 - drop, c_shape + drop);
    const husk_tensor *bias = draw_bias(random, w, n, &params.activation, &storage);
    const float beta = husk_ref_random_below(random, 4) ? 0.0f : 0.5f;
    husk_status status = husk_gemm(w->queue, &params, 1.0f, &a, &b, bias, beta, &c);
    ck_assert_msg(status == HUSK_OK, "gemm m=%lld n=%lld k=%lld: %s", (long long)m, (long long)n, (long long)k,
                  husk_queue_error(w->queue)->text);
}

static void run_conv(workshop *w, husk_ref_random *random, int64_t filter, int64_t stride)
{
    const int64_t channels = 1 + husk_ref_random_below(random, 100), filters = 1 + husk_ref_random_below(random, 100);
    const int64_t x_shape[4] = {1 + husk_ref_random_below(random, 3), channels,
                                filter + husk_ref_random_below(random, 60), filter + husk_ref_random_below(random, 60)};
    const int64_t w_shape[4] = {filters, channels, filter, filter}, pad = husk_ref_random_below(random, filter);
    husk_conv_params params = HUSK_CONV_PARAMS(.stride = {stride, stride}, .pad = {pad, pad});
    husk_tensor storage, x = part(w, 0, 4, x_shape), weights = part(w, 1, 4, w_shape);
    const husk_tensor *bias = draw_bias(random, w, filters, &params.activation, &storage);
    int64_t y_shape[HUSK_MAX_RANK];
    husk_status status = husk_conv_output_shape(&params, &x, &weights, y_shape, &w->error);
    ck_assert_msg(status == HUSK_OK, "%s", w->error.text);
    husk_tensor y = part(w, 2, 4, y_shape);
    status = husk_conv(w->queue, &params, &x, &weights, bias, &y);
    ck_assert_msg(status == HUSK_OK, "conv n=%lld c=%lld h=%lld w=%lld k=%lld r=%lld: %s", (long long)x_shape[0],
                  (long long)channels, (long long)x_shape[2], (long long)x_shape[3], (long long)filters,
                  (long long)filter, husk_queue_error(w->queue)->text);
}

START_TEST(new_shapes_share_a_few_programs)
{
    workshop w;
    husk_ref_random random = {.seed = 2026 + (uint64_t)_i};
    const int64_t filter = 1 + 2 * husk_ref_random_below(&random, 4), stride = 1 + husk_ref_random_below(&random, 2);
    open_workshop(&w);
    for (int i = 0; i < GEMM_SHAPES; ++i)
        run_gemm(&w, &random);
    const uint64_t gemms = builds(&w);
    for (int i = 0; i < CONV_SHAPES; ++i)
        run_conv(&w, &random, filter, stride);
    const uint64_t convs = builds(&w);
    for (int i = 0; i < CONV_SHAPES; ++i) // beyond what is asked for: where Winograd is one of the choices, too
        run_conv(&w, &random, 3, 1);
    const uint64_t all = builds(&w);
    printf(
        "%d shapes of gemm built %llu programs, %d of conv with %lldx%lld filters and stride %lld %llu more, as many "
        "3x3 with stride 1 another %llu\n",
        GEMM_SHAPES, (unsigned long long)gemms, CONV_SHAPES, (long long)filter, (long long)filter, (long long)stride,
        (unsigned long long)(convs - gemms), (unsigned long long)(all - convs));
    ck_assert_uint_gt(gemms, 0);
    ck_assert_uint_le(all, MOST_BUILDS);
    random = (husk_ref_random){.seed = 2026 + (uint64_t)_i}; // shapes seen before compile nothing
    husk_ref_random_below(&random, 4);
    husk_ref_random_below(&random, 2);
    for (int i = 0; i < 20; ++i)
        run_gemm(&w, &random);
    ck_assert_uint_eq(builds(&w), all);
    close_workshop(&w);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("builds");
    tcase_add_loop_test(tests, new_shapes_share_a_few_programs, 0, test_is_long() ? 12 : 1);
    Suite *suite = suite_create("builds");
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
