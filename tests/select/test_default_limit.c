// SPDX-License-Identifier: MIT
// ctest: timeout=120
// Where nobody limits scratch memory nobody is refused, or served by what was written for another class of device, for
// want of some: shapes at which that has happened, most by a few percent.
#include <string.h>

#include "support/support.h"

typedef struct conv_shape {
    husk_dtype dtype;
    int64_t images, channels, filters, extent, filter, stride, pad;
} conv_shape;

static const conv_shape convs[] = {
    {HUSK_F16, 2, 2560, 1280, 16, 3, 1, 1}, {HUSK_BF16, 2, 2560, 1280, 8, 3, 1, 1},
    {HUSK_F16, 1, 512, 4096, 7, 7, 1, 0},   {HUSK_BF16, 1, 512, 4096, 7, 7, 1, 0},
    {HUSK_F16, 1, 512, 1000, 8, 8, 1, 0},   {HUSK_BF16, 1, 1024, 4096, 4, 3, 1, 1},
};
enum { CONVS = sizeof convs / sizeof *convs };

static void expect_own(const husk_plan *plan)
{
    static husk_tuning_candidate candidates[64];
    husk_error error;
    size_t count;
    test_ok_error(husk_tuning_candidates(test_context(), plan, candidates, 64, &count, &error), &error);
    ck_assert_uint_gt(count, 0);
    for (size_t i = 0; i < count; i++)
        if (strcmp(candidates[i].variant, husk_plan_variant(plan)) == 0)
            ck_assert_msg(!candidates[i].is_foreign, "%s is taken", husk_plan_variant(plan));
}

// Tensors without memory: nothing runs.
START_TEST(convolutions)
{
    const conv_shape *s = &convs[_i];
    const int64_t out = (s->extent + 2 * s->pad - s->filter) / s->stride + 1;
    const husk_tensor x =
        husk_tensor_make(NULL, s->dtype, 4, (int64_t[]){s->images, s->channels, s->extent, s->extent});
    const husk_tensor w =
        husk_tensor_make(NULL, s->dtype, 4, (int64_t[]){s->filters, s->channels, s->filter, s->filter});
    const husk_tensor y = husk_tensor_make(NULL, s->dtype, 4, (int64_t[]){s->images, s->filters, out, out});
    const husk_conv_params params = HUSK_CONV_PARAMS(.stride = {s->stride, s->stride}, .pad = {s->pad, s->pad});
    husk_plan *plan = NULL;
    husk_error error;
    test_ok_error(husk_conv_plan_create(test_context(), &params, &x, &w, NULL, &y, &plan, &error), &error);
    expect_own(plan);
    husk_plan_release(plan);
}
END_TEST

static husk_tensor tensor(husk_dtype dtype, int32_t rank, const int64_t *shape)
{
    husk_buffer *buffer;
    husk_error error;
    int64_t count = 1;
    for (int32_t i = 0; i < rank; i++)
        count *= shape[i];
    const uint64_t bytes = (uint64_t)count * husk_dtype_size(dtype);
    test_ok_error(husk_buffer_create(test_context(), bytes, &buffer, &error), &error);
    const char zero = 0;
    test_ok(husk_buffer_fill(test_queue(), buffer, 0, bytes, &zero, 1));
    return husk_tensor_make(buffer, dtype, rank, shape);
}

// A stride that does not divide what it walks on: every phase's part is a little larger than its share.
START_TEST(gradients_of_strided_convolutions)
{
    const husk_tensor dx = tensor(HUSK_F16, 4, (int64_t[]){128, 320, 33, 33});
    const husk_tensor w = tensor(HUSK_F16, 4, (int64_t[]){32, 320, 3, 3});
    const husk_tensor dy = tensor(HUSK_F16, 4, (int64_t[]){128, 32, 16, 16});
    const husk_conv_params params = HUSK_CONV_PARAMS(.stride = {2, 2});
    test_ok(husk_conv_backward_data(test_queue(), &params, &w, &dy, &dx));
    expect_own(husk_queue_plan(test_queue()));
    test_ok(husk_queue_finish(test_queue()));
    husk_buffer_release(dx.buffer);
    husk_buffer_release(w.buffer);
    husk_buffer_release(dy.buffer);
}
END_TEST

// Few positions an image: partial sums are more than the tensors.
START_TEST(gradients_of_group_norms)
{
    const husk_dtype dtype = _i ? HUSK_F16 : HUSK_F32;
    const husk_tensor x = tensor(dtype, 2, (int64_t[]){30000, 80}), dy = tensor(dtype, 2, (int64_t[]){30000, 80}),
                      dx = tensor(dtype, 2, (int64_t[]){30000, 80}), mean = tensor(HUSK_F32, 2, (int64_t[]){30000, 8}),
                      rstd = tensor(HUSK_F32, 2, (int64_t[]){30000, 8});
    const husk_norm_params params =
        HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_GROUP, .groups = 8, .axis = -1, .epsilon = 1e-5f);
    test_ok(husk_norm_backward(test_queue(), &params, &x, NULL, &mean, &rstd, &dy, &dx, NULL, NULL));
    expect_own(husk_queue_plan(test_queue()));
    const husk_tensor *const all[] = {&x, &dy, &dx, &mean, &rstd};
    for (int i = 0; i < 5; i++)
        husk_buffer_release(all[i]->buffer);
}
END_TEST

// A narrow table has more rows than bytes that would make room for their lists.
START_TEST(gradients_of_a_narrow_table)
{
    const husk_tensor table = tensor(HUSK_BF16, 2, (int64_t[]){20000000, 1}),
                      indices = tensor(HUSK_I32, 1, (int64_t[]){65536}),
                      dy = tensor(HUSK_BF16, 2, (int64_t[]){65536, 1});
    test_ok(husk_embedding_backward(test_queue(), NULL, &indices, &dy, &table));
    husk_buffer_release(table.buffer);
    husk_buffer_release(indices.buffer);
    husk_buffer_release(dy.buffer);
}
END_TEST

START_TEST(products_of_few_rows)
{
    const husk_tensor a = husk_tensor_make(NULL, HUSK_I8, 3, (int64_t[]){128, 1, 16384});
    const husk_tensor b = husk_tensor_make(NULL, HUSK_I8, 3, (int64_t[]){128, 16384, 1});
    const husk_tensor c = husk_tensor_make(NULL, HUSK_I32, 3, (int64_t[]){128, 1, 1});
    husk_plan *plan = NULL;
    husk_error error;
    test_ok_error(husk_quantized_gemm_plan_create(test_context(), NULL, &a, &b, NULL, NULL, &c, &plan, &error), &error);
    expect_own(plan);
    husk_plan_release(plan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("default limit");
    TCase *cases = tcase_create("cases");
    tcase_add_loop_test(cases, convolutions, 0, CONVS);
    tcase_add_test(cases, gradients_of_strided_convolutions);
    tcase_add_loop_test(cases, gradients_of_group_norms, 0, 2);
    tcase_add_test(cases, gradients_of_a_narrow_table);
    tcase_add_test(cases, products_of_few_rows);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
