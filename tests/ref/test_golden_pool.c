// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Pooling: the reference against golden vectors from PyTorch (support/golden.h).
#include <stdlib.h>

#include "ref/pool/pool.h"
#include "support/golden.h"
#include "support/main.h"

struct golden_pool {
    const char *name;
    husk_pool_params params;
    golden_array x, y, indices;
};

static golden_table golden_pool = GOLDEN_TABLE("pool", "pool", struct golden_pool, GOLDEN_POOL, name, x, y, indices);

struct golden_pool_backward {
    const char *name;
    husk_pool_params params;
    golden_array x, dy, dx;
};

static golden_table golden_pool_backward =
    GOLDEN_TABLE("pool", "pool_backward", struct golden_pool_backward, GOLDEN_POOL, name, x, dy, dx);

START_TEST(test_pool)
{
    const struct golden_pool *golden = golden_case(&golden_pool, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32), y = golden_make_output(&golden->y);
    husk_ref_array indices = {0};
    if (golden->indices.values != NULL)
        indices = golden_make_output(&golden->indices);
    husk_ref_pool op = {.params = &golden->params, .x = &x};
    husk_ref_function function = husk_ref_pool_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_pool_run(&op, &y, golden_optional(&golden->indices, &indices));
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    if (golden->indices.values != NULL) {
        golden_expect_equal(golden->name, "index", &golden->indices, &indices);
        function = husk_ref_pool_index_function(&op);
        golden_expect_function(golden->name, &function, &golden->indices);
    }
    free(x.data);
    free(y.data);
    free(indices.data);
}
END_TEST

// Maxima are found in x, and by the indices that forward gives.
START_TEST(test_pool_backward)
{
    const struct golden_pool_backward *golden = golden_case(&golden_pool_backward, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32), dy = golden_make(&golden->dy, HUSK_F32);
    husk_ref_array dx = golden_make_output(&golden->dx);
    husk_ref_array y = golden_make_output(&golden->dy), indices = golden_make_output(&golden->dy);
    husk_ref_pool_backward op = {.params = &golden->params, .x = &x, .dy = &dy};
    husk_ref_function function = husk_ref_pool_backward_function(&op);
    golden_expect_function(golden->name, &function, &golden->dx);
    if (golden->params.kind == HUSK_POOL_MAX) {
        const husk_ref_pool forward = {.params = &golden->params, .x = &x};
        husk_ref_pool_run(&forward, &y, &indices);
        op.indices = &indices;
    }
    husk_ref_pool_backward_run(&op, &dx);
    golden_expect_equal(golden->name, "dx", &golden->dx, &dx);
    free(x.data);
    free(dy.data);
    free(dx.data);
    free(y.data);
    free(indices.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_pool");
    TCase *cases = tcase_create("golden_pool");
    tcase_add_loop_test(cases, test_pool, 0, 2 * golden_load(&golden_pool));
    tcase_add_loop_test(cases, test_pool_backward, 0, 2 * golden_load(&golden_pool_backward));
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
