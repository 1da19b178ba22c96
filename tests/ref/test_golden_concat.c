// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Tensors one after the other: the reference against golden vectors from PyTorch (support/golden.h).
#include <stdlib.h>

#include "ref/layout/concat.h"
#include "support/golden.h"
#include "support/main.h"

enum { INPUTS = 3 };

struct golden_concat {
    const char *name;
    husk_concat_params params;
    golden_array inputs[INPUTS], y, dy, gradients[INPUTS];
};

static golden_table golden_concat =
    GOLDEN_TABLE("layout", "concat", struct golden_concat, GOLDEN_CONCAT, name, inputs, y, dy, gradients);

START_TEST(test_concat)
{
    const struct golden_concat *golden = golden_case(&golden_concat, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array inputs[INPUTS], y = golden_make_output(&golden->y), dy = golden_make(&golden->dy, HUSK_F32);
    const int32_t axis = golden->params.axis + (golden->params.axis < 0 ? golden->y.rank : 0);
    for (int i = 0; i < INPUTS; i++)
        inputs[i] = golden_make(&golden->inputs[i], HUSK_F32);
    husk_ref_concat op = {.params = &golden->params, .inputs = inputs, .count = INPUTS};
    husk_ref_function function = husk_ref_concat_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_concat_run(&op, &y);
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    husk_ref_concat_backward backward = {.params = &golden->params, .dy = &dy};
    for (int i = 0; i < INPUTS; i++) {
        husk_ref_array gradient = golden_make_output(&golden->gradients[i]);
        backward.gradient = &gradient;
        function = husk_ref_concat_backward_function(&backward);
        golden_expect_function(golden->name, &function, &golden->gradients[i]);
        husk_ref_concat_backward_run(&backward, &gradient);
        golden_expect_equal(golden->name, "a gradient", &golden->gradients[i], &gradient);
        backward.start += inputs[i].shape[axis];
        free(gradient.data);
        free(inputs[i].data);
    }
    free(y.data);
    free(dy.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_concat");
    TCase *cases = tcase_create("golden_concat");
    tcase_add_loop_test(cases, test_concat, 0, 2 * golden_load(&golden_concat));
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
