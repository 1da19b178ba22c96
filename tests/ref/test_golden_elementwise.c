// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Functions of each element, and copies: the reference against golden vectors from PyTorch (support/golden.h).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/elementwise/activation.h"
#include "ref/elementwise/binary.h"
#include "ref/layout/copy.h"
#include "ref/elementwise/dropout.h"
#include "ref/random.h"
#include "ref/elementwise/unary.h"
#include "support/golden.h"
#include "support/main.h"

struct golden_activation {
    const char *name;
    husk_activation_params params;
    golden_array x, y;
};

static golden_table golden_activation =
    GOLDEN_TABLE("elementwise", "activation", struct golden_activation, GOLDEN_ACTIVATION, name, x, y);

struct golden_activation_backward {
    const char *name;
    husk_activation_params params;
    golden_array x, y, dy, dx;
};

static golden_table golden_activation_backward = GOLDEN_TABLE(
    "elementwise", "activation_backward", struct golden_activation_backward, GOLDEN_ACTIVATION, name, x, y, dy, dx);

struct golden_unary {
    const char *name;
    husk_unary_params params;
    golden_array x, y, dy, dx;
};

static golden_table golden_unary =
    GOLDEN_TABLE("elementwise", "unary", struct golden_unary, GOLDEN_UNARY, name, x, y, dy, dx);

struct golden_binary {
    const char *name;
    husk_binary_params params;
    golden_array a, b, y, dy, da, db;
};

static golden_table golden_binary =
    GOLDEN_TABLE("elementwise", "binary", struct golden_binary, GOLDEN_BINARY, name, a, b, y, dy, da, db);

struct golden_dropout {
    const char *name;
    husk_dropout_params params;
    golden_array x, y, dy, dx;
};

static golden_table golden_dropout =
    GOLDEN_TABLE("elementwise", "dropout", struct golden_dropout, GOLDEN_DROPOUT, name, x, y, dy, dx);

struct golden_copy {
    const char *name;
    husk_dtype from, to;
    golden_array x, y;
};

static golden_table golden_copy =
    GOLDEN_TABLE("layout", "copy", struct golden_copy, GOLDEN_NO_PARAMS, name, from, to, x, y);

START_TEST(test_activation)
{
    const struct golden_activation *golden = golden_case(&golden_activation, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32), y = golden_make_output(&golden->y);
    husk_ref_activation op = {.params = &golden->params, .x = &x};
    husk_ref_function function = husk_ref_activation_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_activation_run(&op, &y);
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    free(x.data);
    free(y.data);
}
END_TEST

START_TEST(test_activation_backward)
{
    const struct golden_activation_backward *golden = golden_case(&golden_activation_backward, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make_optional(&golden->x, HUSK_F32);
    husk_ref_array y = golden_make_optional(&golden->y, HUSK_F32);
    husk_ref_array dy = golden_make(&golden->dy, HUSK_F32), dx = golden_make_output(&golden->dx);
    husk_ref_activation_backward op = {.params = &golden->params, .dy = &dy};
    op.x = golden_optional(&golden->x, &x);
    op.y = golden_optional(&golden->y, &y);
    husk_ref_function function = husk_ref_activation_backward_function(&op);
    golden_expect_function(golden->name, &function, &golden->dx);
    husk_ref_activation_backward_run(&op, &dx);
    golden_expect_equal(golden->name, "dx", &golden->dx, &dx);
    free(x.data);
    free(y.data);
    free(dy.data);
    free(dx.data);
}
END_TEST

START_TEST(test_unary)
{
    const struct golden_unary *golden = golden_case(&golden_unary, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32), y = golden_make_output(&golden->y);
    husk_ref_array dy = golden_make(&golden->dy, HUSK_F32), dx = golden_make_output(&golden->dx);
    husk_ref_unary op = {.params = &golden->params, .x = &x};
    husk_ref_unary_backward backward = {.params = &golden->params, .x = &x, .dy = &dy};
    husk_ref_function function = husk_ref_unary_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_unary_run(&op, &y);
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    function = husk_ref_unary_backward_function(&backward);
    golden_expect_function(golden->name, &function, &golden->dx);
    husk_ref_unary_backward_run(&backward, &dx);
    golden_expect_equal(golden->name, "dx", &golden->dx, &dx);
    backward.y = &y; // which is read where it can be
    husk_ref_unary_backward_run(&backward, &dx);
    golden_expect_equal(golden->name, "dx of y", &golden->dx, &dx);
    free(x.data);
    free(y.data);
    free(dy.data);
    free(dx.data);
}
END_TEST

START_TEST(test_binary)
{
    const struct golden_binary *golden = golden_case(&golden_binary, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array a = golden_make(&golden->a, HUSK_F32), b = golden_make(&golden->b, HUSK_F32);
    husk_ref_array y = golden_make_output(&golden->y);
    husk_ref_binary op = {.params = &golden->params, .a = &a, .b = &b};
    husk_ref_function function = husk_ref_binary_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_binary_run(&op, &y);
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    husk_ref_array dy = golden_make_optional(&golden->dy, HUSK_F32);
    for (int by_b = 0; by_b < 2 && golden->dy.values != NULL; by_b++) {
        const golden_array *wanted = by_b ? &golden->db : &golden->da;
        husk_ref_array gradient = golden_make_output(wanted);
        husk_ref_binary_backward backward = {.params = &golden->params, .a = &a, .b = &b, .dy = &dy};
        backward.gradient = &gradient;
        backward.by_b = by_b;
        function = husk_ref_binary_backward_function(&backward);
        golden_expect_function(golden->name, &function, wanted);
        husk_ref_binary_backward_run(&backward, &gradient);
        golden_expect_equal(golden->name, by_b ? "db" : "da", wanted, &gradient);
        free(gradient.data);
    }
    free(a.data);
    free(b.data);
    free(y.data);
    free(dy.data);
}
END_TEST

START_TEST(test_dropout)
{
    const struct golden_dropout *golden = golden_case(&golden_dropout, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32), y = golden_make_output(&golden->y);
    husk_ref_array dy = golden_make(&golden->dy, HUSK_F32), dx = golden_make_output(&golden->dx);
    husk_ref_dropout op = {.params = &golden->params, .x = &x};
    husk_ref_dropout_backward backward = {.params = &golden->params, .dy = &dy};
    husk_ref_function function = husk_ref_dropout_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_dropout_run(&op, &y);
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    function = husk_ref_dropout_backward_function(&backward);
    golden_expect_function(golden->name, &function, &golden->dx);
    husk_ref_dropout_backward_run(&backward, &dx);
    golden_expect_equal(golden->name, "dx", &golden->dx, &dx);
    free(x.data);
    free(y.data);
    free(dy.data);
    free(dx.data);
}
END_TEST

START_TEST(test_copy)
{
    const struct golden_copy *golden = golden_case(&golden_copy, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make(&golden->x, golden->from), y = golden_make_output(&golden->y);
    husk_ref_copy op = {.x = &x, .dtype = golden->to, .rank = golden->y.rank};
    memcpy(op.shape, golden->y.shape, sizeof(op.shape));
    husk_ref_function function = husk_ref_copy_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_copy_run(&op, &y);
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    free(x.data);
    free(y.data);
}
END_TEST

// 2^24 + 2^16 + 1 is a tie of f32, and what that gives one of bf16.
START_TEST(test_copy_by_way_of_f32)
{
    int32_t narrow[] = {16842753, -16842753, 16842755};
    int64_t wide[] = {16842753, -16842753, 16842755}, shape[] = {3};
    const double right[] = {16777216.0, -16777216.0, 16908288.0};
    const husk_ref_array x[] = {husk_ref_array_make(narrow, HUSK_I32, 1, shape),
                                husk_ref_array_make(wide, HUSK_I64, 1, shape)};
    for (int64_t i = 0; i < 6; i++) {
        const husk_ref_copy op = {.x = &x[i / 3], .dtype = HUSK_BF16, .rank = 1, .shape = {3}};
        const int64_t index[] = {i % 3};
        ck_assert_double_eq(husk_ref_copy_at(&op, index).value, right[i % 3]);
    }
}
END_TEST

// The nearest end of i64 is one that double does not have.
START_TEST(test_copy_to_ends)
{
    float ends[] = {1e30f, INFINITY, -1e30f, -INFINITY};
    int64_t made[4] = {0}, shape[] = {4};
    const husk_ref_array x = husk_ref_array_make(ends, HUSK_F32, 1, shape);
    const husk_ref_array y = husk_ref_array_make(made, HUSK_I64, 1, shape);
    const husk_ref_copy op = {.x = &x, .dtype = HUSK_I64, .rank = 1, .shape = {4}};
    husk_ref_copy_run(&op, &y);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(made[i], i < 2 ? INT64_MAX : INT64_MIN);
}
END_TEST

// The known answers of Philox4x32-10 that its authors publish.
START_TEST(test_philox)
{
    const struct {
        uint32_t counter[4], key[2], random[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        uint32_t random[4];
        husk_ref_philox(known[i].counter, known[i].key, random);
        ck_assert_mem_eq(random, known[i].random, sizeof(random));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_elementwise");
    TCase *cases = tcase_create("golden_elementwise");
    tcase_add_loop_test(cases, test_activation, 0, 2 * golden_load(&golden_activation));
    tcase_add_loop_test(cases, test_activation_backward, 0, 2 * golden_load(&golden_activation_backward));
    tcase_add_loop_test(cases, test_unary, 0, 2 * golden_load(&golden_unary));
    tcase_add_loop_test(cases, test_binary, 0, 2 * golden_load(&golden_binary));
    tcase_add_loop_test(cases, test_dropout, 0, 2 * golden_load(&golden_dropout));
    tcase_add_loop_test(cases, test_copy, 0, 2 * golden_load(&golden_copy));
    tcase_add_test(cases, test_copy_by_way_of_f32);
    tcase_add_test(cases, test_copy_to_ends);
    tcase_add_test(cases, test_philox);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
