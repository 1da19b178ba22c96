// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Normalisation: the reference against golden vectors from PyTorch (support/golden.h).
#include <math.h>
#include <stdlib.h>

#include "ref/norm/norm.h"
#include "support/golden.h"
#include "support/main.h"

struct golden_norm {
    const char *name;
    husk_norm_params params;
    golden_array x, scale, bias, running_mean, running_variance;
    golden_array y, mean, rstd, running_mean_after, running_variance_after; // five outputs, one after another
    golden_array dy, dx, dscale, dbias;                                     // three gradients
};

static golden_table golden_norm =
    GOLDEN_TABLE("norm", "norm", struct golden_norm, GOLDEN_NORM, name, x, scale, bias, running_mean, running_variance,
                 y, mean, rstd, running_mean_after, running_variance_after, dy, dx, dscale, dbias);

// A mean that double rounds by more than y may err in f64.
START_TEST(test_mean_between_doubles)
{
    double numbers[] = {1e4, 1e4, 1e4 + 1.0};
    const int64_t shape[] = {3};
    const husk_ref_array x = husk_ref_array_make(numbers, HUSK_F64, 1, shape);
    const husk_ref_norm op = {.x = &x};
    const double deviation = sqrt(2.0 / 9.0 + (double)1e-5f);
    for (int64_t i = 0; i < 3; i++) {
        const husk_ref_value y = husk_ref_norm_at(&op, HUSK_REF_NORM_Y, &i);
        const double right = (i < 2 ? -1.0 : 2.0) / 3.0 / deviation;
        ck_assert_double_le(fabs(y.value - right), husk_ref_bound_in(HUSK_F64, y.bound) / 2.0);
    }
}
END_TEST

typedef struct norm_case {
    husk_ref_array x, scale, bias, running[2], dy, outputs[5], gradients[3];
    husk_ref_norm op;
    husk_ref_norm_backward backward;
} norm_case;

// Statistics that backward reads are what forward made, in double.
static void make_norm(const struct golden_norm *golden, norm_case *c)
{
    *c = (norm_case){.x = golden_make(&golden->x, HUSK_F32), .dy = golden_make(&golden->dy, HUSK_F32)};
    c->scale = golden_make_optional(&golden->scale, HUSK_F32);
    c->bias = golden_make_optional(&golden->bias, HUSK_F32);
    const golden_array *outputs = &golden->y, *gradients = &golden->dx;
    for (int i = 0; i < 2; i++)
        c->running[i] = golden_make_optional(&(&golden->running_mean)[i], HUSK_F32);
    for (int i = 0; i < 5; i++)
        c->outputs[i] = outputs[i].values != NULL ? golden_make_output(&outputs[i]) : (husk_ref_array){0};
    for (int i = 0; i < 3; i++)
        c->gradients[i] = gradients[i].values != NULL ? golden_make_output(&gradients[i]) : (husk_ref_array){0};
    c->op = (husk_ref_norm){.params = &golden->params, .x = &c->x};
    c->op.scale = golden_optional(&golden->scale, &c->scale);
    c->op.bias = golden_optional(&golden->bias, &c->bias);
    c->op.running_mean = golden_optional(&golden->running_mean, &c->running[0]);
    c->op.running_variance = golden_optional(&golden->running_variance, &c->running[1]);
    c->backward = (husk_ref_norm_backward){.params = &golden->params, .x = &c->x, .dy = &c->dy};
    c->backward.scale = c->op.scale;
    c->backward.mean = golden_optional(&golden->mean, &c->outputs[1]);
    c->backward.rstd = &c->outputs[2];
}

static void free_norm(norm_case *c)
{
    husk_ref_array *arrays[] = {&c->x, &c->scale, &c->bias, &c->running[0], &c->running[1], &c->dy, NULL};
    for (size_t i = 0; arrays[i] != NULL; i++)
        free(arrays[i]->data);
    for (int i = 0; i < 5; i++)
        free(c->outputs[i].data);
    for (int i = 0; i < 3; i++)
        free(c->gradients[i].data);
}

START_TEST(test_norm)
{
    static const char *const output_names[] = {"y", "mean", "rstd", "running mean", "running variance"};
    static const char *const gradient_names[] = {"dx", "dscale", "dbias"};
    const struct golden_norm *golden = golden_case(&golden_norm, _i / 2);
    const golden_array *outputs = &golden->y, *gradients = &golden->dx;
    golden_lay_out(_i % 2 != 0);
    norm_case c;
    make_norm(golden, &c);
    const husk_ref_array *made[5], *derived[3];
    for (int i = 0; i < 5; i++)
        made[i] = golden_optional(&outputs[i], &c.outputs[i]);
    ck_assert(husk_ref_norm_run(&c.op, made));
    for (int i = 0; i < 5; i++) {
        const husk_ref_norm_question question = {.op = &c.op, .output = (husk_ref_norm_output)i};
        if (made[i] == NULL)
            continue;
        husk_ref_function function = husk_ref_norm_function(&question);
        golden_expect_equal(golden->name, output_names[i], &outputs[i], made[i]);
        golden_expect_function(golden->name, &function, &outputs[i]);
    }
    for (int i = 0; i < 3; i++)
        derived[i] = golden_optional(&gradients[i], &c.gradients[i]);
    ck_assert(husk_ref_norm_backward_run(&c.backward, derived));
    for (int i = 0; i < 3; i++) {
        const husk_ref_norm_backward_question question = {.op = &c.backward, .gradient = (husk_ref_norm_gradient)i};
        if (derived[i] == NULL)
            continue;
        husk_ref_function function = husk_ref_norm_backward_function(&question);
        golden_expect_equal(golden->name, gradient_names[i], &gradients[i], derived[i]);
        golden_expect_function(golden->name, &function, &gradients[i]);
    }
    free_norm(&c);
}
END_TEST

// In inference the statistics are the running ones, known as well whatever x holds.
START_TEST(test_running_statistics)
{
    float numbers[] = {INFINITY, 1e30f, 3.0f, NAN}, means[] = {0.5f, -2.0f}, variances[] = {4.0f, 1.0f};
    const int64_t shape[] = {2, 2}, channels[] = {2};
    const husk_norm_params params = husk_norm_defaults(HUSK_NORM_BATCH);
    const husk_ref_array x = husk_ref_array_make(numbers, HUSK_F32, 2, shape);
    const husk_ref_array mean = husk_ref_array_make(means, HUSK_F32, 1, channels);
    const husk_ref_array variance = husk_ref_array_make(variances, HUSK_F32, 1, channels);
    const husk_ref_norm op = {.params = &params, .x = &x, .running_mean = &mean, .running_variance = &variance};
    for (int64_t c = 0; c < 2; c++) {
        const husk_ref_value made = husk_ref_norm_at(&op, HUSK_REF_NORM_MEAN, &c);
        const husk_ref_value rstd = husk_ref_norm_at(&op, HUSK_REF_NORM_RSTD, &c);
        ck_assert_double_eq(made.value, (double)means[c]);
        ck_assert(made.bound <= HUSK_REF_TINY);
        ck_assert(rstd.bound <= 16.0 * HUSK_REF_UNIT * rstd.value);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_norm");
    TCase *cases = tcase_create("golden_norm");
    tcase_add_test(cases, test_mean_between_doubles);
    tcase_add_loop_test(cases, test_norm, 0, 2 * golden_load(&golden_norm));
    tcase_add_test(cases, test_running_statistics);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
