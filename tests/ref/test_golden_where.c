// SPDX-License-Identifier: MIT
// ctest: timeout=60
// One of two tensors: the reference against golden vectors from PyTorch (support/golden.h).
#include <stdlib.h>

#include "ref/elementwise/where.h"
#include "support/golden.h"
#include "support/main.h"

struct golden_where {
    const char *name;
    golden_array condition, a, b, y, dy, da, db;
};

static golden_table golden_where =
    GOLDEN_TABLE("elementwise", "where", struct golden_where, GOLDEN_NO_PARAMS, name, condition, a, b, y, dy, da, db);

START_TEST(test_where)
{
    const struct golden_where *golden = golden_case(&golden_where, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array condition = golden_make(&golden->condition, _i % 2 ? HUSK_F32 : HUSK_U8);
    husk_ref_array a = golden_make(&golden->a, HUSK_F32), b = golden_make(&golden->b, HUSK_F32);
    husk_ref_array y = golden_make_output(&golden->y), dy = golden_make(&golden->dy, HUSK_F32);
    husk_ref_where op = {.condition = &condition, .a = &a, .b = &b};
    husk_ref_function function = husk_ref_where_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_where_run(&op, &y);
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    for (int by_b = 0; by_b < 2; by_b++) {
        const golden_array *wanted = by_b ? &golden->db : &golden->da;
        husk_ref_array gradient = golden_make_output(wanted);
        husk_ref_where_backward backward = {
            .condition = &condition, .dy = &dy, .gradient = &gradient, .by_b = by_b != 0};
        function = husk_ref_where_backward_function(&backward);
        golden_expect_function(golden->name, &function, wanted);
        husk_ref_where_backward_run(&backward, &gradient);
        golden_expect_equal(golden->name, by_b ? "db" : "da", wanted, &gradient);
        free(gradient.data);
    }
    free(condition.data);
    free(a.data);
    free(b.data);
    free(y.data);
    free(dy.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_where");
    TCase *cases = tcase_create("golden_where");
    tcase_add_loop_test(cases, test_where, 0, 2 * golden_load(&golden_where));
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
