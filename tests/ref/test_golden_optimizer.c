// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Steps of optimizers: the reference against golden vectors from PyTorch (support/golden.h).
#include <stdlib.h>

#include "ref/optimizer/optimizer.h"
#include "support/golden.h"
#include "support/main.h"

struct golden_optimizer {
    const char *name;
    husk_optimizer_params params;
    golden_array before, gradients, after; // gradients: [steps, elements]
};

static golden_table golden_optimizer =
    GOLDEN_TABLE("optimizer", "optimizer", struct golden_optimizer, GOLDEN_OPTIMIZER, name, before, gradients, after);

struct golden_optimizer_scaled {
    const char *name;
    husk_optimizer_params params;
    double scale;
    golden_array before, gradients, skips, after; // skips: [steps], 1 where a step is none
};

static golden_table golden_optimizer_scaled =
    GOLDEN_TABLE("optimizer", "optimizer_scaled", struct golden_optimizer_scaled, GOLDEN_OPTIMIZER, name, scale, before,
                 gradients, skips, after);

// Of gradients that are divided by a loss scale, after which steps that are not finite are left out.
START_TEST(test_scaled)
{
    const struct golden_optimizer_scaled *golden = golden_case(&golden_optimizer_scaled, _i);
    golden_lay_out(false);
    const int64_t count = golden->before.shape[0];
    husk_optimizer_params params = golden->params;
    husk_ref_array gradients = golden_make(&golden->gradients, HUSK_F64);
    husk_ref_array w = golden_make(&golden->before, HUSK_F64);
    double states[3][16] = {{0}};
    husk_ref_array kept[3], g = husk_ref_array_make(NULL, HUSK_F64, 1, &count);
    husk_ref_optimizer op = {.params = &params, .g = &g, .before = {&w, &kept[0], &kept[1], &kept[2]}};
    op.scale = 1.0 / golden->scale;
    for (int i = 0; i < 3; i++)
        kept[i] = husk_ref_array_make(states[i], HUSK_F64, 1, &count);
    params.step = 1;
    for (int64_t step = 0; step < golden->gradients.shape[0]; step++) {
        g.data = (double *)gradients.data + step * count;
        op.skips = golden->skips.values[step] != 0.0;
        husk_ref_optimizer_run(&op);
        params.step += !op.skips;
    }
    golden_expect_equal(golden->name, "w", &golden->after, &w);
    free(gradients.data);
    free(w.data);
}
END_TEST

// 1 / scale may be 5 units off, and its product with g one more.
START_TEST(test_division)
{
    double numbers[3] = {1.0, 0.0, 0.0};
    const int64_t count = 1, index[] = {0};
    husk_ref_array arrays[3];
    for (int i = 0; i < 3; i++)
        arrays[i] = husk_ref_array_make(&numbers[i], HUSK_F64, 1, &count);
    for (uint32_t divides = 0; divides < 2; divides++) {
        const husk_optimizer_params params =
            HUSK_MAKE(husk_optimizer_params, .rate = 1.0, .momentum = 0.9, .step = 1, .divides = divides);
        const husk_ref_optimizer op = {.params = &params,
                                       .g = &arrays[0],
                                       .before = {&arrays[1], &arrays[2]},
                                       .scale = 1.0 / 3.0,
                                       .output = HUSK_REF_OPTIMIZER_FIRST};
        const husk_ref_value first = husk_ref_optimizer_at(&op, index);
        ck_assert_double_eq(first.value, 1.0 / 3.0);
        ck_assert_double_gt(first.bound, (divides ? 6.0 : 1.0) * HUSK_REF_UNIT / 3.0);
        ck_assert_double_lt(first.bound, (divides ? 9.0 : 4.0) * HUSK_REF_UNIT / 3.0);
    }
}
END_TEST

START_TEST(test_optimizer)
{
    const struct golden_optimizer *golden = golden_case(&golden_optimizer, _i);
    golden_lay_out(false);
    const int64_t count = golden->before.shape[0];
    husk_optimizer_params params = golden->params;
    husk_ref_array gradients = golden_make(&golden->gradients, HUSK_F64);
    husk_ref_array w = golden_make(&golden->before, HUSK_F64);
    double states[3][16] = {{0}};
    husk_ref_array kept[3], g = husk_ref_array_make(NULL, HUSK_F64, 1, &count);
    husk_ref_optimizer op = {.params = &params, .g = &g, .before = {&w, &kept[0], &kept[1], &kept[2]}};
    for (int i = 0; i < 3; i++)
        kept[i] = husk_ref_array_make(states[i], HUSK_F64, 1, &count);
    for (int64_t step = 0; step < golden->gradients.shape[0]; step++) {
        g.data = (double *)gradients.data + step * count;
        params.step = (uint64_t)step + 1;
        husk_ref_optimizer_run(&op);
    }
    golden_expect_equal(golden->name, "w", &golden->after, &w);
    free(gradients.data);
    free(w.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_optimizer");
    TCase *cases = tcase_create("golden_optimizer");
    tcase_add_loop_test(cases, test_optimizer, 0, golden_load(&golden_optimizer));
    tcase_add_loop_test(cases, test_scaled, 0, golden_load(&golden_optimizer_scaled));
    tcase_add_test(cases, test_division);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
