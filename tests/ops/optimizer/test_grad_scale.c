// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=60
// Lists of tensors multiplied in place: every variant against the reference, with every option; the flag of what is not
// finite; the same bits every time; special values; bad input.
#include <math.h>
#include <string.h>

#include "ref/optimizer/grad_scale.h"
#include "support/list.h"
#include "support/support.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static void check(void *user, const husk_ref_array *made, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_grad_scale_function(user);
    husk_ref_check(&function, 1, made, report);
}

static test_tensor number_of(husk_dtype dtype, double value)
{
    test_tensor made = test_inout_of(dtype, 0, NULL, TEST_PACKED, 1, 1.0f);
    husk_ref_store(&made.before, 0, value);
    husk_ref_store(&made.array, 0, value);
    test_input_update(&made);
    return made;
}

static test_tensor number(double value)
{
    return number_of(HUSK_F32, value);
}

// before: what found holds; by 0: NULL.
static void run_all(husk_grad_scale_params params, test_list *list, double by, double before)
{
    const husk_dtype own = list->list[0]->dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32;
    test_tensor factor = number_of(own, by), found = number_of(own, before);
    bool is_bad = params.keeps && before != 0.0;
    for (size_t i = 0; i < list->count; i++)
        is_bad = husk_ref_grad_scale_found(list->arrays[i]) || is_bad;
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(&found);
        for (size_t i = 0; i < list->count; i++)
            test_restore(&list->tensors[i]);
        if (!test_ran(husk_grad_scale(test_queue(), &params, list->list, list->count, by != 0.0 ? &factor.tensor : NULL,
                                      &found.tensor),
                      "grad_scale", variants[v]))
            continue;
        test_fetch(&found);
        ck_assert_msg(husk_ref_load(&found.array, 0) == (is_bad ? 1.0 : 0.0), "found is %g, must be %d",
                      husk_ref_load(&found.array, 0), (int)is_bad);
        for (size_t i = 0; i < list->count; i++) {
            husk_ref_grad_scale op = {
                .params = &params, .before = &list->tensors[i].before, .by = by != 0.0 ? by : 1.0};
            husk_ref_report report = {0};
            test_fetch(&list->tensors[i]);
            check(&op, &list->tensors[i].array, &report);
            test_accept("grad_scale", variants[v], list->text, &report);
        }
    }
    test_release(&factor);
    test_release(&found);
}

static husk_grad_scale_params draw(husk_ref_random *random, double *by)
{
    husk_grad_scale_params params = husk_grad_scale_defaults();
    *by = test_one_in(random, 2) ? (double)TEST_PICK(random, 1, 3, 1024) : 0.0;
    params.divides = *by != 0.0 && test_one_in(random, 2);
    params.factor = test_one_in(random, 3) ? -0.75f : 1.0f;
    params.limit = test_one_in(random, 3) ? 0.625f : 0.0f;
    params.keeps = test_one_in(random, 3);
    return params;
}

START_TEST(lists)
{
    static const husk_dtype dtypes[] = {HUSK_F32, HUSK_I32, HUSK_F32, HUSK_F16};
    husk_ref_random random = {.seed = 50 + (uint64_t)_i};
    for (int64_t round = 0; round < (test_is_long() ? 40 : 6); round++) {
        test_list list;
        double by;
        const husk_grad_scale_params params = draw(&random, &by);
        test_list_make(&list, &random, test_tier_is("dtypes") ? test_dtype(round) : dtypes[round % 4], 40000);
        if (test_one_in(&random, 2)) { // something that is not finite
            test_tensor *last = &list.tensors[list.count - 1];
            const int64_t count = husk_ref_array_count(&last->before);
            if (count > 0) {
                husk_ref_store(&last->array, count - 1, round % 2 ? NAN : -INFINITY);
                test_input_update(last);
            }
        }
        run_all(params, &list, by, (double)(round % 2));
        test_list_release(&list);
    }
}
END_TEST

static test_list list_of(test_tensor *tensor)
{
    return (test_list){
        .count = 1, .tensors = {*tensor}, .list = {&tensor->tensor}, .arrays = {&tensor->before}, .text = "one tensor"};
}

START_TEST(lengths)
{
    static const int64_t all[] = {1, 15, 16, 17, 63, 65, 16383, 16384, 16385, 300007};
    test_tensor x = test_inout(1, &all[_i], TEST_PACKED, 4, 2.0f);
    test_list list = list_of(&x);
    run_all(
        HUSK_MAKE(husk_grad_scale_params, .divides = 1, .factor = 1, .growth = 2, .backoff = 0.5f, .interval = 2000),
        &list, 65536.0, 1.0);
    run_all(
        HUSK_MAKE(husk_grad_scale_params, .limit = 1.0f, .factor = 1, .growth = 2, .backoff = 0.5f, .interval = 2000),
        &list, 0.0, 0.0);
    run_all(husk_grad_scale_defaults(), &list, 1.0, 0.0);
    test_release(&x);
}
END_TEST

START_TEST(special_values)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, -0.0, 3e38, -3e38};
    const int64_t shape[] = {6};
    test_tensor x = test_inout(1, shape, TEST_PACKED, 4, 2.0f);
    for (int i = 0; i < 6; i++)
        husk_ref_store(&x.array, i, values[i]);
    test_input_update(&x);
    test_list list = list_of(&x);
    run_all(husk_grad_scale_defaults(), &list, 0.5, 0.0);
    run_all(
        HUSK_MAKE(husk_grad_scale_params, .limit = 1.0f, .factor = 1, .growth = 2, .backoff = 0.5f, .interval = 2000),
        &list, 0.0, 0.0);
    run_all(HUSK_MAKE(husk_grad_scale_params, .factor = 2.0f, .growth = 2, .backoff = 0.5f, .interval = 2000), &list,
            2.0, 0.0);
    test_release(&x);
}
END_TEST

// ---- a scale that follows what is found ----

typedef struct followed {
    double scale, since, good, bad;
} followed;

static void follow(followed *own, bool is_bad, double growth, double backoff, double interval)
{
    own->since = is_bad ? 0 : own->since + 1;
    own->good += !is_bad;
    own->bad += is_bad;
    if (is_bad)
        own->scale = fmax(own->scale * backoff, 0x1p-24);
    else if (own->since == interval) {
        own->since = 0;
        if (own->scale * growth <= 0x1p24)
            own->scale *= growth;
    }
}

START_TEST(the_scale_follows)
{
    const int64_t shape[] = {5}, four[] = {4};
    const double starts[] = {65536, 0x1p23, 0x1p-23};
    test_tensor good = test_inout(1, shape, TEST_PACKED, 4, 2.0f), bad = test_inout(1, shape, TEST_PACKED, 5, 2.0f);
    test_tensor state = test_inout(1, four, TEST_PACKED, 1, 1.0f), found = number(0.0);
    husk_ref_store(&bad.array, 3, NAN);
    test_input_update(&bad);
    husk_tensor by = state.tensor;
    by.rank = 0;
    for (int v = 0; v < VARIANTS; v++)
        for (int start = 0; start < 3; start++) {
            followed own = {.scale = starts[start]};
            const double growth = start == 2 ? 4 : 2, backoff = start == 1 ? 0.25 : 0.5, interval = 2 + start;
            const husk_grad_scale_params params =
                HUSK_MAKE(husk_grad_scale_params, .variant = variants[v], .divides = 1, .state = &state.tensor,
                          .interval = (uint32_t)interval, .growth = start == 2 ? 4.0f : 2.0f,
                          .backoff = start == 1 ? 0.25f : 0.5f, .factor = 1);
            for (int i = 0; i < 4; i++)
                husk_ref_store(&state.array, i, i == 0 ? own.scale : 0.0);
            test_input_update(&state);
            // Growth after `interval` good ones in a row; three bad ones; good ones again.
            for (int step = 0; step < 16; step++) {
                const bool is_bad = step == 3 || (step >= 8 && step < 11);
                test_tensor *x = is_bad ? &bad : &good;
                test_restore(x);
                if (!test_ran(husk_grad_scale(test_queue(), &params, (const husk_tensor *[]){&x->tensor}, 1, &by,
                                              &found.tensor),
                              "grad_scale", variants[v]))
                    break;
                test_fetch(x); // by the scale before
                ck_assert_msg(husk_ref_load(&x->array, 0) == husk_ref_load(&x->before, 0) / own.scale, "step %d", step);
                follow(&own, is_bad, growth, backoff, interval);
                test_fetch(&state);
                const double wanted[] = {own.scale, own.since, own.good, own.bad};
                for (int i = 0; i < 4; i++)
                    ck_assert_msg(husk_ref_load(&state.array, i) == wanted[i], "step %d: state %d is %g, must be %g",
                                  step, i, husk_ref_load(&state.array, i), wanted[i]);
            }
        }
    test_tensor *const all[] = {&good, &bad, &state, &found};
    for (int i = 0; i < 4; i++)
        test_release(all[i]);
}
END_TEST

// Without by and found, and on no tensors at all.
START_TEST(nothing)
{
    const int64_t shape[] = {5};
    test_tensor x = test_inout(1, shape, TEST_PACKED, 4, 2.0f), found = number(1.0);
    const husk_tensor *const list[] = {&x.tensor};
    for (int v = 0; v < VARIANTS; v++) {
        const husk_grad_scale_params params = HUSK_MAKE(husk_grad_scale_params, .variant = variants[v], .factor = 1,
                                                        .growth = 2, .backoff = 0.5f, .interval = 2000);
        test_ok(husk_grad_scale(test_queue(), &params, list, 1, NULL, NULL));
        test_untouched(&x);
        test_restore(&found);
        test_ok(husk_grad_scale(test_queue(), &params, list, 0, NULL, &found.tensor));
        test_fetch(&found);
        ck_assert(husk_ref_load(&found.array, 0) == 0.0);
    }
    test_release(&x);
    test_release(&found);
}
END_TEST

START_TEST(ten_runs_agree)
{
    const int64_t shape[] = {100000};
    test_tensor x = test_inout(1, shape, TEST_PACKED, 4, 2.0f), by = number(3.0);
    test_tensor copy = test_output(HUSK_F32, 1, shape, TEST_PACKED);
    const husk_tensor *const list[] = {&x.tensor};
    for (int run = 0; run < 10; run++) {
        test_restore(&x);
        test_ok(husk_grad_scale(test_queue(), NULL, list, 1, &by.tensor, NULL));
        test_fetch(&x);
        if (run == 0)
            memcpy(copy.array.data, x.array.data, sizeof(float) * 100000);
        ck_assert_mem_eq(copy.array.data, x.array.data, sizeof(float) * 100000);
    }
    test_release(&x);
    test_release(&by);
    test_release(&copy);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {6, 50};
    test_tensor x = test_inout(2, shape, TEST_PACKED, 4, 2.0f);
    const husk_tensor *const list[] = {&x.tensor};
    const husk_grad_scale_params params =
        HUSK_MAKE(husk_grad_scale_params, .factor = 0.75f, .growth = 2, .backoff = 0.5f, .interval = 2000);
    test_ok(husk_grad_scale(test_queue(), &params, list, 1, NULL, NULL));
    test_fetch(&x);
    husk_ref_grad_scale op = {.params = &params, .before = &x.before, .by = 1.0};
    husk_ref_function function = husk_ref_grad_scale_function(&op);
    test_planted(&function, &x.array, check, &op);
    test_planted_guards(&x);
    test_release(&x);
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, const husk_grad_scale_params *params,
                   const husk_tensor *const *list, size_t count, const husk_tensor *by, const husk_tensor *found)
{
    test_refused(husk_grad_scale(test_silent_queue(), params, list, count, by, found), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {4, 6};
    test_tensor a = test_inout(2, shape, TEST_PACKED, 1, 1), b = test_inout(2, shape, TEST_PACKED, 2, 1);
    test_tensor gaps = test_inout(2, shape, TEST_SPREAD, 3, 1), n = number(1.0), f = number(0.0);
    test_tensor half = test_output(HUSK_F16, 0, NULL, TEST_PACKED);
    const husk_tensor *list[] = {&a.tensor, &b.tensor}, *by = &n.tensor, *found = &f.tensor;
    husk_grad_scale_params params =
        HUSK_MAKE(husk_grad_scale_params, .factor = INFINITY, .growth = 2, .backoff = 0.5f, .interval = 2000);
    refuse(HUSK_INVALID_ARGUMENT, "factor", &params, list, 2, by, found);
    params =
        HUSK_MAKE(husk_grad_scale_params, .limit = -1.0f, .factor = 1, .growth = 2, .backoff = 0.5f, .interval = 2000);
    refuse(HUSK_INVALID_ARGUMENT, "limit", &params, list, 2, by, found);
    params =
        HUSK_MAKE(husk_grad_scale_params, .divides = 1, .factor = 1, .growth = 2, .backoff = 0.5f, .interval = 2000);
    refuse(HUSK_INVALID_ARGUMENT, "by", &params, list, 2, NULL, found);
    params = HUSK_MAKE(husk_grad_scale_params, .variant = "gird", .factor = 1, .growth = 2, .backoff = 0.5f,
                       .interval = 2000);
    refuse(HUSK_INVALID_ARGUMENT, "gird", &params, list, 2, by, found);
    refuse(HUSK_INVALID_ARGUMENT, "tensors", NULL, NULL, 2, by, found);
    refuse(HUSK_INVALID_ARGUMENT, "by", NULL, list, 2, &a.tensor, found);
    refuse(HUSK_UNSUPPORTED, "by", NULL, list, 2, &half.tensor, found);
    refuse(HUSK_INVALID_ARGUMENT, "found", NULL, list, 2, by, by);
    husk_tensor inside = a.tensor;
    inside.rank = 0;
    refuse(HUSK_INVALID_ARGUMENT, "found", NULL, list, 2, by, &inside);
    const int64_t four[] = {4};
    test_tensor s = test_inout(1, four, TEST_PACKED, 1, 1.0f);
    params = HUSK_MAKE(husk_grad_scale_params, .state = &s.tensor, .factor = 1, .growth = 2, .backoff = 0.5f,
                       .interval = 2000);
    refuse(HUSK_INVALID_ARGUMENT, "found", &params, list, 2, by, NULL);
    params.growth = 0.5f;
    refuse(HUSK_INVALID_ARGUMENT, "growth", &params, list, 2, by, found);
    params = HUSK_MAKE(husk_grad_scale_params, .state = &s.tensor, .backoff = 2.0f, .factor = 1, .growth = 2,
                       .interval = 2000);
    refuse(HUSK_INVALID_ARGUMENT, "backoff", &params, list, 2, by, found);
    params = HUSK_MAKE(husk_grad_scale_params, .state = &n.tensor, .factor = 1, .growth = 2, .backoff = 0.5f,
                       .interval = 2000);
    refuse(HUSK_INVALID_ARGUMENT, "state", &params, list, 2, by, found);
    husk_tensor part = {.buffer = a.tensor.buffer, .offset = a.tensor.offset, .rank = 1, .shape = {4}, .strides = {1}};
    params.state = &part;
    refuse(HUSK_INVALID_ARGUMENT, "state", &params, list, 2, by, found);
    part = s.tensor;
    part.rank = 0;
    params.state = &s.tensor;
    refuse(HUSK_INVALID_ARGUMENT, "state", &params, list, 2, by, &part);
    test_release(&s);
    list[1] = &a.tensor; // twice
    refuse(HUSK_INVALID_ARGUMENT, "tensors", NULL, list, 2, by, found);
    list[1] = &gaps.tensor;
    refuse(HUSK_INVALID_ARGUMENT, "tensors[1]", NULL, list, 2, by, found);
    list[1] = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "tensors[1]", NULL, list, 2, by, found);
    test_untouched(&a);
    test_untouched(&f);
    test_tensor *const all[] = {&a, &b, &gaps, &n, &f, &half};
    for (int i = 0; i < 6; i++)
        test_release(all[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("grad_scale");
    TCase *tests = tcase_create("grad_scale");
    tcase_add_loop_test(tests, lists, 0, 6);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, lengths, 0, 10);
    tcase_add_test(tests, special_values);
    tcase_add_test(tests, the_scale_follows);
    tcase_add_test(tests, nothing);
    tcase_add_test(tests, ten_runs_agree);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    return test_main(suite);
}
