// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Softmax: the reference against golden vectors from PyTorch (support/golden.h).
#include <stdlib.h>

#include "ref/softmax/softmax.h"
#include "support/golden.h"
#include "support/main.h"

struct golden_softmax {
    const char *name;
    husk_softmax_params params;
    golden_array x, y;
};

static golden_table golden_softmax =
    GOLDEN_TABLE("softmax", "softmax", struct golden_softmax, GOLDEN_SOFTMAX, name, x, y);

struct golden_softmax_backward {
    const char *name;
    husk_softmax_params params;
    golden_array x, dy, dx; // y is the reference's
};

static golden_table golden_softmax_backward =
    GOLDEN_TABLE("softmax", "softmax_backward", struct golden_softmax_backward, GOLDEN_SOFTMAX, name, x, dy, dx);

START_TEST(test_softmax)
{
    const struct golden_softmax *golden = golden_case(&golden_softmax, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32), y = golden_make_output(&golden->y);
    golden_lay_out(false); // the output is compared packed
    husk_ref_array in_place = golden_make(&golden->x, HUSK_F64);
    husk_ref_softmax op = {.params = &golden->params, .x = &x}, same = {.params = &golden->params, .x = &in_place};
    husk_ref_function function = husk_ref_softmax_function(&op);
    ck_assert(husk_ref_softmax_run(&op, &y));
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    golden_expect_function(golden->name, &function, &golden->y);
    ck_assert(husk_ref_softmax_prepare(&op));
    function = husk_ref_softmax_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_softmax_release(&op);
    ck_assert(husk_ref_softmax_run(&same, &in_place));
    golden_expect_equal(golden->name, "y in x's place", &golden->y, &in_place);
    free(x.data);
    free(y.data);
    free(in_place.data);
}
END_TEST

START_TEST(test_softmax_backward)
{
    const struct golden_softmax_backward *golden = golden_case(&golden_softmax_backward, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32), y = golden_make_output(&golden->x);
    husk_ref_array dx = golden_make_output(&golden->dx);
    husk_ref_array dy = golden_make(&golden->dy, HUSK_F32);
    husk_ref_softmax forward = {.params = &golden->params, .x = &x};
    ck_assert(husk_ref_softmax_run(&forward, &y));
    husk_ref_softmax_backward op = {.params = &golden->params, .y = &y, .dy = &dy};
    husk_ref_function function = husk_ref_softmax_backward_function(&op);
    golden_expect_function(golden->name, &function, &golden->dx);
    ck_assert(husk_ref_softmax_backward_run(&op, &dx));
    golden_expect_equal(golden->name, "dx", &golden->dx, &dx);
    ck_assert(husk_ref_softmax_backward_run(&op, &y));
    golden_expect_equal(golden->name, "dx in y's place", &golden->dx, &y);
    free(x.data);
    free(y.data);
    free(dy.data);
    free(dx.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_softmax");
    TCase *cases = tcase_create("golden_softmax");
    tcase_add_loop_test(cases, test_softmax, 0, 2 * golden_load(&golden_softmax));
    tcase_add_loop_test(cases, test_softmax_backward, 0, 2 * golden_load(&golden_softmax_backward));
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
