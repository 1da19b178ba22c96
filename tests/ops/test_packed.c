// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=120
// Packed weights of every operator that packs: whom they fit, who else refuses them and how, and that what they compute
// is the same to the bit as with the plain ones.
#include <stdio.h>
#include <string.h>

#include "ref/random.h"
#include "support/support.h"

// ---- the operators: x [1 or 6, ...] times w gives y, as immediate calls and plans ----

typedef struct operands {
    test_tensor x, w, y, scale; // scale: of quantized ones
} operands;

typedef struct packer {
    const char *op, *argument; // the weights' name
    const char *variants[2]; // of which either refuses what the other one has packed
    husk_dtype dtype;
    int32_t rank;
    int64_t x[4], w[4], y[4];
    husk_status (*call)(husk_queue *queue, const char *variant, const operands *o, const husk_tensor *w);
    husk_status (*plan)(const char *variant, const operands *o, const husk_tensor *w, husk_plan **plan,
                        husk_error *error);
    husk_status (*run)(husk_plan *plan, husk_queue *queue, const operands *o, const husk_tensor *w);
    husk_status (*pack)(husk_plan *plan, husk_queue *queue, const husk_tensor *w, husk_packed **packed);
} packer;

static husk_status call_gemm(husk_queue *queue, const char *variant, const operands *o, const husk_tensor *w)
{
    const husk_gemm_params params = HUSK_GEMM_PARAMS(.variant = variant);
    return husk_gemm(queue, &params, 1.0f, &o->x.tensor, w, NULL, 0.0f, &o->y.tensor);
}

static husk_status plan_gemm(const char *variant, const operands *o, const husk_tensor *w, husk_plan **plan,
                             husk_error *error)
{
    const husk_gemm_params params = HUSK_GEMM_PARAMS(.variant = variant);
    return husk_gemm_plan_create(test_context(), &params, &o->x.tensor, w, NULL, &o->y.tensor, plan, error);
}

static husk_status run_gemm(husk_plan *plan, husk_queue *queue, const operands *o, const husk_tensor *w)
{
    return husk_gemm_plan_run(plan, queue, 1.0f, &o->x.tensor, w, NULL, 0.0f, &o->y.tensor);
}

static husk_status call_conv(husk_queue *queue, const char *variant, const operands *o, const husk_tensor *w)
{
    const husk_conv_params params = HUSK_CONV_PARAMS(.variant = variant);
    return husk_conv(queue, &params, &o->x.tensor, w, NULL, &o->y.tensor);
}

static husk_status plan_conv(const char *variant, const operands *o, const husk_tensor *w, husk_plan **plan,
                             husk_error *error)
{
    const husk_conv_params params = HUSK_CONV_PARAMS(.variant = variant);
    return husk_conv_plan_create(test_context(), &params, &o->x.tensor, w, NULL, &o->y.tensor, plan, error);
}

static husk_status run_conv(husk_plan *plan, husk_queue *queue, const operands *o, const husk_tensor *w)
{
    return husk_conv_plan_run(plan, queue, &o->x.tensor, w, NULL, &o->y.tensor);
}

static husk_status call_bytes(husk_queue *queue, const char *variant, const operands *o, const husk_tensor *w)
{
    const husk_quantized_gemm_params params = HUSK_QUANTIZED_GEMM_PARAMS(.variant = variant);
    return husk_quantized_gemm(queue, &params, &o->x.tensor, NULL, w, &o->scale.tensor, NULL, &o->y.tensor, NULL);
}

static husk_status plan_bytes(const char *variant, const operands *o, const husk_tensor *w, husk_plan **plan,
                              husk_error *error)
{
    const husk_quantized_gemm_params params = HUSK_QUANTIZED_GEMM_PARAMS(.variant = variant);
    return husk_quantized_gemm_plan_create(test_context(), &params, &o->x.tensor, w, &o->scale.tensor, NULL,
                                           &o->y.tensor, plan, error);
}

static husk_status run_bytes(husk_plan *plan, husk_queue *queue, const operands *o, const husk_tensor *w)
{
    return husk_quantized_gemm_plan_run(plan, queue, &o->x.tensor, NULL, w, &o->scale.tensor, NULL, &o->y.tensor, NULL);
}

static husk_status call_images(husk_queue *queue, const char *variant, const operands *o, const husk_tensor *w)
{
    const husk_quantized_conv_params params = HUSK_QUANTIZED_CONV_PARAMS(.variant = variant);
    return husk_quantized_conv(queue, &params, &o->x.tensor, NULL, w, &o->scale.tensor, NULL, &o->y.tensor, NULL);
}

static husk_status plan_images(const char *variant, const operands *o, const husk_tensor *w, husk_plan **plan,
                               husk_error *error)
{
    const husk_quantized_conv_params params = HUSK_QUANTIZED_CONV_PARAMS(.variant = variant);
    return husk_quantized_conv_plan_create(test_context(), &params, &o->x.tensor, w, &o->scale.tensor, NULL,
                                           &o->y.tensor, plan, error);
}

static husk_status run_images(husk_plan *plan, husk_queue *queue, const operands *o, const husk_tensor *w)
{
    return husk_quantized_conv_plan_run(plan, queue, &o->x.tensor, NULL, w, &o->scale.tensor, NULL, &o->y.tensor, NULL);
}

// Weights of rank 3, where a batch of matrices and filters along one dimension look alike.
static const packer packers[] = {
    {"gemm",
     "b",
     {"packed:12x2v", "packed:16x1v"},
     HUSK_F32,
     2,
     {6, 36},
     {36, 20},
     {6, 20},
     call_gemm,
     plan_gemm,
     run_gemm,
     husk_gemm_plan_pack},
    {"conv",
     "w",
     {"implicit_gemm", "direct_filters"},
     HUSK_F32,
     3,
     {1, 4, 30},
     {40, 4, 3},
     {1, 40, 28},
     call_conv,
     plan_conv,
     run_conv,
     husk_conv_plan_pack},
    {"quantized_gemm",
     "b",
     {"packed", "packed"},
     HUSK_I8,
     2,
     {6, 36},
     {36, 20},
     {6, 20},
     call_bytes,
     plan_bytes,
     run_bytes,
     husk_quantized_gemm_plan_pack},
    {"quantized_conv",
     "w",
     {"implicit_gemm:plain", "implicit_gemm:plain"},
     HUSK_I8,
     3,
     {1, 4, 30},
     {40, 4, 3},
     {1, 40, 28},
     call_images,
     plan_images,
     run_images,
     husk_quantized_conv_plan_pack},
};
enum { PACKERS = sizeof packers / sizeof *packers };

static test_tensor make_input(const packer *p, const int64_t *shape, test_layout layout, uint64_t seed)
{
    test_tensor made = test_input_of(p->dtype, p->rank, shape, layout, seed, 1.0f);
    int64_t index[HUSK_MAX_RANK] = {0};
    uint64_t at = 0;
    if (p->dtype == HUSK_I8)
        do
            husk_ref_store(&made.array, husk_ref_offset(&made.array, index),
                           (double)(int8_t)husk_ref_random_bits(seed, at++));
        while (husk_ref_index_next(p->rank, shape, index));
    test_input_update(&made);
    return made;
}

static operands make_operands(const packer *p)
{
    const int64_t one = 1;
    operands o = {.x = make_input(p, p->x, TEST_PACKED, 1),
                  .w = make_input(p, p->w, TEST_PACKED, 2),
                  .y = test_output(HUSK_F32, p->rank, p->y, TEST_PACKED)};
    if (p->dtype == HUSK_I8)
        o.scale = test_input(1, &one, TEST_PACKED, 3, 0.01f);
    return o;
}

static husk_plan *make_plan(const packer *p, int variant, const operands *o, const husk_tensor *w)
{
    husk_error error = {0};
    husk_plan *plan = NULL;
    const husk_status status = p->plan(p->variants[variant], o, w, &plan, &error);
    ck_assert_msg(status == HUSK_OK, "%s: %s", p->op, error.text);
    return plan;
}

static void expect_bits(const packer *p, operands *o, const float *wanted, husk_status status, const char *what)
{
    ck_assert_msg(status == HUSK_OK, "%s, %s: %s", p->op, what, husk_queue_error(test_queue())->text);
    test_fetch(&o->y);
    ck_assert_msg(memcmp(o->y.array.data, wanted, (size_t)husk_tensor_count(&o->y.tensor) * sizeof(float)) == 0,
                  "%s, %s: other bits", p->op, what);
    test_restore(&o->y);
}

// Packers of bytes keep no panels.
static bool is_left_out(const packer *p)
{
    return p->dtype != HUSK_I8 && test_lacks_panels(p->variants[0]);
}

START_TEST(fits_its_plans)
{
    const packer *p = &packers[_i];
    if (is_left_out(p))
        return;
    static float wanted[2048];
    operands o = make_operands(p);
    husk_plan *plan = make_plan(p, 0, &o, &o.w.tensor), *of_packed;
    husk_packed *packed = NULL, *again = NULL;
    const size_t bytes = (size_t)husk_tensor_count(&o.y.tensor) * sizeof(float);
    ck_assert_uint_le(bytes, sizeof wanted);
    test_ok(p->run(plan, test_queue(), &o, &o.w.tensor));
    test_fetch(&o.y);
    memcpy(wanted, o.y.array.data, bytes);
    test_restore(&o.y);
    test_ok(p->pack(plan, test_queue(), &o.w.tensor, &packed));
    const husk_tensor weights = husk_packed_tensor(packed);
    of_packed = make_plan(p, 0, &o, &weights);
    expect_bits(p, &o, wanted, p->run(plan, test_queue(), &o, &weights), "in its plan");
    expect_bits(p, &o, wanted, p->call(test_queue(), p->variants[0], &o, &weights), "immediate");
    expect_bits(p, &o, wanted, p->run(of_packed, test_queue(), &o, &weights), "in a plan for packed weights");
    if (p->call == call_conv) { // whose plans take plain weights, too, in every run
        expect_bits(p, &o, wanted, p->run(of_packed, test_queue(), &o, &o.w.tensor), "plain");
    } else { // which pack others, however they lie
        test_tensor turned = make_input(p, p->w, TEST_REVERSED, 2);
        test_ok(p->pack(of_packed, test_queue(), &turned.tensor, &again));
        const husk_tensor others = husk_packed_tensor(again);
        expect_bits(p, &o, wanted, p->run(of_packed, test_queue(), &o, &others), "packed anew");
        test_refused(p->run(of_packed, test_silent_queue(), &o, &o.w.tensor), HUSK_INVALID_ARGUMENT, p->argument);
        ck_assert_ptr_nonnull(strstr(husk_queue_error(test_silent_queue())->text, "not packed"));
    }
    husk_packed_release(packed);
    husk_packed_release(again);
    husk_plan_release(plan);
    husk_plan_release(of_packed);
    test_release_all();
}
END_TEST

// Of another dtype they may be refused for that.
static void expect_refused(const packer *p, const packer *other, husk_status status, const husk_error *error)
{
    const bool is_unsupported = p->dtype != other->dtype && status == HUSK_UNSUPPORTED;
    char argument[16];
    snprintf(argument, sizeof argument, ": %s: ", other->argument);
    ck_assert_msg((status == HUSK_INVALID_ARGUMENT || is_unsupported) && strstr(error->text, argument),
                  "%s's weights for %s: %s", p->op, other->op, error->text);
}

START_TEST(nobody_elses)
{
    const packer *p = &packers[_i / PACKERS], *other = &packers[_i % PACKERS];
    if (is_left_out(p) || is_left_out(other))
        return;
    operands own = make_operands(p), o = make_operands(other);
    husk_plan *plan = make_plan(p, 0, &own, &own.w.tensor), *there = make_plan(other, 1, &o, &o.w.tensor), *none;
    husk_packed *packed = NULL;
    husk_error error;
    test_ok(p->pack(plan, test_queue(), &own.w.tensor, &packed));
    test_ok(husk_queue_finish(test_queue()));
    const husk_tensor weights = husk_packed_tensor(packed);
    const bool fits = p == other && strcmp(p->variants[0], p->variants[1]) == 0;
    if (!fits) {
        husk_queue *queue = test_silent_queue();
        expect_refused(p, other, other->call(queue, other->variants[1], &o, &weights), husk_queue_error(queue));
        expect_refused(p, other, other->run(there, queue, &o, &weights), husk_queue_error(queue));
        none = there;
        expect_refused(p, other, other->plan(other->variants[1], &o, &weights, &none, &error), &error);
        ck_assert_ptr_null(none);
    }
    // In the place of other tensors.
    operands wrong = o;
    wrong.y.tensor = weights;
    const husk_status status = other->call(test_silent_queue(), other->variants[1], &wrong, &o.w.tensor);
    ck_assert_msg(status == HUSK_INVALID_ARGUMENT || status == HUSK_UNSUPPORTED, "%s, y: %s", other->op,
                  husk_status_name(status));
    wrong = o;
    wrong.x.tensor = weights;
    const husk_status of_x = other->call(test_silent_queue(), other->variants[1], &wrong, &o.w.tensor);
    ck_assert_msg(of_x == HUSK_INVALID_ARGUMENT || of_x == HUSK_UNSUPPORTED, "%s, x: %s", other->op,
                  husk_status_name(of_x));
    test_untouched(&o.y);
    husk_packed_release(packed);
    husk_plan_release(plan);
    husk_plan_release(there);
    test_release_all();
}
END_TEST

START_TEST(bad_calls)
{
    const packer *p = &packers[_i];
    if (is_left_out(p))
        return;
    operands o = make_operands(p);
    husk_plan *plan = make_plan(p, 0, &o, &o.w.tensor);
    husk_packed *packed = NULL, *none;
    husk_error error;
    husk_queue *queue = test_silent_queue();
    test_refused_error(p->plan(p->variants[0], &o, &o.w.tensor, NULL, &error), &error, HUSK_INVALID_ARGUMENT, "plan");
    test_refused(p->run(NULL, queue, &o, &o.w.tensor), HUSK_INVALID_ARGUMENT, "plan");
    test_refused(p->run(plan, queue, &o, NULL), HUSK_INVALID_ARGUMENT, p->argument);
    test_refused(p->pack(NULL, queue, &o.w.tensor, &none), HUSK_INVALID_ARGUMENT, "plan");
    ck_assert_ptr_null(none);
    test_refused(p->pack(plan, queue, NULL, &none), HUSK_INVALID_ARGUMENT, p->argument);
    test_refused(p->pack(plan, queue, &o.w.tensor, NULL), HUSK_INVALID_ARGUMENT, "packed");
    test_refused(p->pack(plan, queue, &o.x.tensor, &none), HUSK_INVALID_ARGUMENT, p->argument);
    test_ok(p->pack(plan, test_queue(), &o.w.tensor, &packed));
    test_ok(husk_queue_finish(test_queue()));
    const husk_tensor weights = husk_packed_tensor(packed);
    test_refused(p->pack(plan, queue, &weights, &none), HUSK_INVALID_ARGUMENT, p->argument);
    ck_assert_ptr_null(none);
    ck_assert_int_eq(p->call(NULL, NULL, &o, &o.w.tensor), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(p->run(plan, NULL, &o, &o.w.tensor), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(p->pack(plan, NULL, &o.w.tensor, &none), HUSK_INVALID_ARGUMENT);
    test_untouched(&o.y);
    husk_packed_release(packed);
    husk_plan_release(plan);
    test_release_all();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("packed");
    TCase *tests = tcase_create("packed");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, fits_its_plans, 0, PACKERS);
    tcase_add_loop_test(tests, nobody_elses, 0, PACKERS * PACKERS);
    tcase_add_loop_test(tests, bad_calls, 0, PACKERS);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
