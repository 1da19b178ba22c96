// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Norms of gradients and their clipping: the reference against golden vectors from PyTorch (support/golden.h).
#include <stdlib.h>

#include "ref/optimizer/grad_norm.h"
#include "ref/optimizer/grad_scale.h"
#include "support/golden.h"
#include "support/main.h"

enum { TENSORS = 3 };

// clipped: the list after clip_grad_norm_.
struct golden_grad_norm {
    const char *name;
    husk_grad_norm_params params;
    golden_array tensors[TENSORS], norm, clipped[TENSORS];
};

static golden_table golden_grad_norm =
    GOLDEN_TABLE("optimizer", "grad_norm", struct golden_grad_norm, GOLDEN_GRAD_NORM, name, tensors, norm, clipped);

struct golden_grad_scale {
    const char *name;
    husk_grad_scale_params params;
    double by, found;
    golden_array before, after;
};

static golden_table golden_grad_scale = GOLDEN_TABLE("optimizer", "grad_scale", struct golden_grad_scale,
                                                     GOLDEN_GRAD_SCALE, name, by, found, before, after);

// In double the coefficient is that of PyTorch's f32 parameters but for max_norm's and 1e-6's own rounding.
START_TEST(test_norm)
{
    const struct golden_grad_norm *golden = golden_case(&golden_grad_norm, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array arrays[TENSORS];
    const husk_ref_array *list[TENSORS];
    for (int i = 0; i < TENSORS; i++) {
        arrays[i] = golden_make(&golden->tensors[i], HUSK_F32);
        list[i] = &arrays[i];
    }
    husk_ref_grad_norm op = {.params = &golden->params, .tensors = list, .count = TENSORS};
    husk_ref_function function = husk_ref_grad_norm_function(&op);
    golden_expect_function(golden->name, &function, &golden->norm);
    op.is_coefficient = true;
    const double coefficient = husk_ref_grad_norm_run(&op);
    for (int i = 0; i < TENSORS; i++) {
        husk_ref_array after = golden_make_output(&golden->clipped[i]);
        husk_ref_grad_scale scale = {.before = &arrays[i], .by = coefficient};
        husk_ref_grad_scale_run(&scale, &after);
        golden_expect_equal(golden->name, "clipped", &golden->clipped[i], &after);
        free(after.data);
        free(arrays[i].data);
    }
}
END_TEST

START_TEST(test_scale)
{
    const struct golden_grad_scale *golden = golden_case(&golden_grad_scale, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array before = golden_make(&golden->before, HUSK_F32), after = golden_make_output(&golden->after);
    husk_ref_grad_scale op = {.params = &golden->params, .before = &before, .by = golden->by};
    husk_ref_function function = husk_ref_grad_scale_function(&op);
    golden_expect_function(golden->name, &function, &golden->after);
    husk_ref_grad_scale_run(&op, &after);
    golden_expect_equal(golden->name, "after", &golden->after, &after);
    ck_assert(husk_ref_grad_scale_found(&before) == (golden->found != 0.0));
    free(before.data);
    free(after.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_grad");
    TCase *cases = tcase_create("golden_grad");
    tcase_add_loop_test(cases, test_norm, 0, 2 * golden_load(&golden_grad_norm));
    tcase_add_loop_test(cases, test_scale, 0, 2 * golden_load(&golden_grad_scale));
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
