// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Reductions: the reference against golden vectors from PyTorch (support/golden.h).
#include <math.h>
#include <stdlib.h>

#include "ref/reduce.h"
#include "support/golden.h"
#include "support/main.h"

static const struct golden_reduce {
    const char *name;
    husk_reduce_params params;
    golden_array x, y, dy, dx;
} golden_reduce[] = {
#include "golden/golden_reduce.inc"
};

START_TEST(test_reduce)
{
    const struct golden_reduce *golden = &golden_reduce[_i / 2];
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32), y = golden_make_output(&golden->y);
    husk_ref_reduce op = {.params = &golden->params, .x = &x};
    husk_ref_function function = husk_ref_reduce_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_reduce_run(&op, &y);
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    if (golden->dx.values != NULL) {
        husk_ref_array dy = golden_make(&golden->dy, HUSK_F32), dx = golden_make_output(&golden->dx);
        husk_ref_reduce_backward back = {.params = &golden->params, .x = &x, .y = &y, .dy = &dy};
        function = husk_ref_reduce_backward_function(&back);
        golden_expect_function(golden->name, &function, &golden->dx);
        husk_ref_reduce_backward_run(&back, &dx);
        golden_expect_equal(golden->name, "dx", &golden->dx, &dx);
        free(dy.data);
        free(dx.data);
    }
    free(x.data);
    free(y.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_reduce");
    TCase *cases = tcase_create("golden_reduce");
    tcase_add_loop_test(cases, test_reduce, 0, 2 * GOLDEN_COUNT(golden_reduce));
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
