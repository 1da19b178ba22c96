// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Rotary position embedding: the reference against golden vectors from PyTorch (support/golden.h).
#include <stdlib.h>

#include "ref/attention/rotary.h"
#include "support/golden.h"
#include "support/main.h"

struct golden_rotary {
    const char *name;
    husk_rotary_params params;
    golden_array x, positions, cosines, sines, y, dy, dx;
};

static golden_table golden_rotary = GOLDEN_TABLE("attention", "rotary", struct golden_rotary, GOLDEN_ROTARY, name, x,
                                                 positions, cosines, sines, y, dy, dx);

START_TEST(test_rotary)
{
    const struct golden_rotary *golden = golden_case(&golden_rotary, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32), dy = golden_make(&golden->dy, HUSK_F32);
    husk_ref_array positions = golden_make_optional(&golden->positions, _i % 2 ? HUSK_I64 : HUSK_I32);
    husk_ref_array cosines = golden_make_optional(&golden->cosines, HUSK_F32);
    husk_ref_array sines = golden_make_optional(&golden->sines, HUSK_F32);
    husk_ref_array y = golden_make_output(&golden->y), dx = golden_make_output(&golden->dx);
    husk_ref_rotary op = {.params = &golden->params,
                          .x = &x,
                          .positions = golden_optional(&golden->positions, &positions),
                          .cosines = golden_optional(&golden->cosines, &cosines),
                          .sines = golden_optional(&golden->sines, &sines)};
    husk_ref_function function = husk_ref_rotary_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_rotary_run(&op, &y);
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    op.x = &dy;
    op.is_gradient = true;
    golden_expect_function(golden->name, &function, &golden->dx);
    husk_ref_rotary_run(&op, &dx);
    golden_expect_equal(golden->name, "dx", &golden->dx, &dx);
    void *const arrays[] = {x.data, dy.data, positions.data, cosines.data, sines.data, y.data, dx.data};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_rotary");
    TCase *cases = tcase_create("golden_rotary");
    tcase_add_loop_test(cases, test_rotary, 0, 2 * golden_load(&golden_rotary));
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
