// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Reductions: the reference against golden vectors from PyTorch (support/golden.h).
#include <math.h>
#include <stdlib.h>

#include "ref/reduce/reduce.h"
#include "support/golden.h"
#include "support/main.h"

struct golden_reduce {
    const char *name;
    husk_reduce_params params;
    golden_array x, y, dy, dx;
};

static golden_table golden_reduce =
    GOLDEN_TABLE("reduce", "reduce", struct golden_reduce, GOLDEN_REDUCE, name, x, y, dy, dx);

START_TEST(test_reduce)
{
    const struct golden_reduce *golden = golden_case(&golden_reduce, _i / 2);
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

// Many equal numbers of f64, all of whose additions round the same way.
START_TEST(test_equal_numbers)
{
    static double numbers[100000];
    static const husk_reduce_kind kinds[] = {HUSK_REDUCE_SUM, HUSK_REDUCE_SUM_ABS, HUSK_REDUCE_MEAN, HUSK_REDUCE_NORM};
    const int64_t shape[] = {100000}, index[] = {0};
    for (int i = 0; i < 100000; i++)
        numbers[i] = 0.1;
    const double right[] = {100000 * 0.1, 100000 * 0.1, 0.1, sqrt(100000 * (0.1 * 0.1))};
    const husk_ref_array x = husk_ref_array_make(numbers, HUSK_F64, 1, shape);
    for (int i = 0; i < 4; i++) {
        const husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = kinds[i]);
        const husk_ref_reduce op = {.params = &params, .x = &x};
        ck_assert_double_le(fabs(husk_ref_reduce_at(&op, index).value - right[i]), 0x1p-51 * right[i]);
    }
    numbers[7] = INFINITY;
    const husk_ref_reduce op = {.x = &x};
    ck_assert_double_eq(husk_ref_reduce_at(&op, index).value, INFINITY);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_reduce");
    TCase *cases = tcase_create("golden_reduce");
    tcase_add_loop_test(cases, test_reduce, 0, 2 * golden_load(&golden_reduce));
    tcase_add_test(cases, test_equal_numbers);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
