// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Resizing: the reference against golden vectors in fractions (support/golden.h).
#include <stdlib.h>

#include "ref/layout/resize.h"
#include "support/golden.h"
#include "support/main.h"

struct golden_resize {
    const char *name;
    husk_resize_params params;
    golden_array x, y, dy, dx;
};

static golden_table golden_resize =
    GOLDEN_TABLE("layout", "resize", struct golden_resize, GOLDEN_RESIZE, name, x, y, dy, dx);

START_TEST(test_resize)
{
    const struct golden_resize *golden = golden_case(&golden_resize, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32), y = golden_make_output(&golden->y);
    husk_ref_array dy = golden_make(&golden->dy, HUSK_F32), dx = golden_make_output(&golden->dx);
    husk_ref_resize op = {.params = &golden->params, .x = &x, .shape = y.shape};
    husk_ref_resize_backward backward = {.params = &golden->params, .dy = &dy, .dx = &dx};
    husk_ref_function function = husk_ref_resize_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_resize_run(&op, &y);
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    function = husk_ref_resize_backward_function(&backward);
    golden_expect_function(golden->name, &function, &golden->dx);
    husk_ref_resize_backward_run(&backward, &dx);
    golden_expect_equal(golden->name, "dx", &golden->dx, &dx);
    husk_ref_array *const all[] = {&x, &y, &dy, &dx};
    for (int i = 0; i < 4; i++)
        free(all[i]->data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_resize");
    TCase *cases = tcase_create("golden_resize");
    tcase_add_loop_test(cases, test_resize, 0, 2 * golden_load(&golden_resize));
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
