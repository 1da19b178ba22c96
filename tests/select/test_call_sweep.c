// SPDX-License-Identifier: MIT
// ctest: tiers=faults,asan timeout=120 with=../support/faults/fault_layer,../support/faults/swept
// The calls around operators, of which every allocation of Husk's and every OpenCL call fails once: prewarming, tuning
// databases, plans, their runs, and packed weights. Each failure is a documented status with a text of its own and
// leaves nothing behind; the same call on the same objects, once more, gives what it would have given.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/environment.h"
#include "support/faults/swept.h"
#include "support/support.h"

enum { SIDE = 8, COUNT = 4096 };

typedef struct subject {
    husk_context *context;
    husk_queue *queue;
    husk_buffer *buffer; // ones
    husk_plan *plan;
    husk_packed *packed;
    husk_tuning_params tuning;
    husk_tuning_stats stats;
    husk_tuning_key key;
    size_t count;
} subject;

static char directory[] = "/tmp/husk-sweep-XXXXXX";

static void make_context(void *user)
{
    subject *s = user;
    husk_error error;
    husk_context_params params = HUSK_CONTEXT_PARAMS(.cache = HUSK_CACHE_OFF);
    test_ok_error(husk_context_create(NULL, &params, &s->context, &error), &error);
}

static void make_queue(void *user)
{
    subject *s = user;
    husk_error error;
    const float one = 1.0f;
    make_context(s);
    test_ok_error(husk_queue_create(s->context, NULL, &s->queue, &error), &error);
    test_ok_error(husk_buffer_create(s->context, 4 * COUNT, &s->buffer, &error), &error);
    test_ok(husk_buffer_fill(s->queue, s->buffer, 0, 4 * COUNT, &one, 4));
    test_ok(husk_queue_finish(s->queue));
}

static void release(void *user)
{
    subject *s = user;
    if (s->queue)
        husk_queue_finish(s->queue);
    husk_packed_release(s->packed);
    husk_plan_release(s->plan);
    husk_buffer_release(s->buffer);
    husk_queue_release(s->queue);
    husk_context_release(s->context);
    s->packed = NULL, s->plan = NULL, s->buffer = NULL, s->queue = NULL, s->context = NULL;
}

#define SWEEP(name, before, run, failed, check) \
    sweep_exactly(&(swept){name, &s, before, run, failed, check, release})

// ---- operators ----

static husk_tensor matrix(const subject *s, int64_t rows, int64_t columns, husk_dtype dtype, int64_t offset)
{
    husk_tensor tensor = husk_tensor_make(s->buffer, dtype, 2, (int64_t[]){rows, columns});
    tensor.offset = offset;
    return tensor;
}

typedef struct operator_calls {
    const char *name;
    husk_status (*create)(subject *s);
    husk_status (*pack)(subject *s); // NULL: nothing is packed
    husk_status (*run)(subject *s);  // of the packed weights, where there are some
    uint32_t wanted;                 // the bits of the third number of the result, at RESULT
    uint32_t second;                 // and of that of another one, at SECOND; 0: there is none
} operator_calls;

enum { RESULT = COUNT / 2, SECOND = RESULT + SIDE * SIDE, THIRD = SECOND + SIDE * SIDE };

static husk_status create_gemm(subject *s)
{
    const husk_tensor a = matrix(s, SIDE, SIDE, HUSK_F32, 0), c = matrix(s, SIDE, SIDE, HUSK_F32, RESULT);
    const husk_gemm_params params = HUSK_GEMM_PARAMS(.variant = NULL);
    return SWEPT(husk_gemm_plan_create, s->context, &params, &a, &a, NULL, &c, &s->plan);
}

static husk_status pack_gemm(subject *s)
{
    const husk_tensor b = matrix(s, SIDE, SIDE, HUSK_F32, 0);
    swept_call = "husk_gemm_plan_pack";
    return swept_of_queue(s->queue, husk_gemm_plan_pack(s->plan, s->queue, &b, &s->packed));
}

static husk_status run_gemm(subject *s)
{
    const husk_tensor a = matrix(s, SIDE, SIDE, HUSK_F32, 0), c = matrix(s, SIDE, SIDE, HUSK_F32, RESULT);
    const husk_tensor b = husk_packed_tensor(s->packed);
    swept_call = "husk_gemm_plan_run";
    return swept_of_queue(s->queue, husk_gemm_plan_run(s->plan, s->queue, 1.0f, &a, &b, NULL, 0.0f, &c));
}

static husk_tensor image(const subject *s, husk_dtype dtype, int64_t offset)
{
    husk_tensor tensor = husk_tensor_make(s->buffer, dtype, 4, (int64_t[]){SIDE, SIDE, 1, 1});
    tensor.offset = offset;
    return tensor;
}

static husk_status create_conv(subject *s)
{
    const husk_tensor x = image(s, HUSK_F32, 0), y = image(s, HUSK_F32, RESULT);
    return SWEPT(husk_conv_plan_create, s->context, NULL, &x, &x, NULL, &y, &s->plan);
}

static husk_status pack_conv(subject *s)
{
    const husk_tensor w = image(s, HUSK_F32, 0);
    swept_call = "husk_conv_plan_pack";
    return swept_of_queue(s->queue, husk_conv_plan_pack(s->plan, s->queue, &w, &s->packed));
}

static husk_status run_conv(subject *s)
{
    const husk_tensor x = image(s, HUSK_F32, 0), y = image(s, HUSK_F32, RESULT), w = husk_packed_tensor(s->packed);
    swept_call = "husk_conv_plan_run";
    return swept_of_queue(s->queue, husk_conv_plan_run(s->plan, s->queue, &x, &w, NULL, &y));
}

// Bytes of 1.0f: 0, 0, -128, 63, twice a row; column 2 is -128.
static husk_status create_quantized(subject *s)
{
    const husk_tensor a = matrix(s, SIDE, SIDE, HUSK_I8, 0), c = matrix(s, SIDE, SIDE, HUSK_I32, RESULT);
    return SWEPT(husk_quantized_gemm_plan_create, s->context, NULL, &a, &a, NULL, NULL, &c, &s->plan);
}

static husk_status pack_quantized(subject *s)
{
    const husk_tensor b = matrix(s, SIDE, SIDE, HUSK_I8, 0);
    swept_call = "husk_quantized_gemm_plan_pack";
    return swept_of_queue(s->queue, husk_quantized_gemm_plan_pack(s->plan, s->queue, &b, &s->packed));
}

static husk_status run_quantized(subject *s)
{
    const husk_tensor a = matrix(s, SIDE, SIDE, HUSK_I8, 0), c = matrix(s, SIDE, SIDE, HUSK_I32, RESULT);
    const husk_tensor b = husk_packed_tensor(s->packed);
    swept_call = "husk_quantized_gemm_plan_run";
    return swept_of_queue(s->queue,
                          husk_quantized_gemm_plan_run(s->plan, s->queue, &a, NULL, &b, NULL, NULL, &c, NULL));
}

static husk_status create_quantized_conv(subject *s)
{
    const husk_tensor x = image(s, HUSK_I8, 0), y = image(s, HUSK_I32, RESULT);
    return SWEPT(husk_quantized_conv_plan_create, s->context, NULL, &x, &x, NULL, NULL, &y, &s->plan);
}

static husk_status pack_quantized_conv(subject *s)
{
    const husk_tensor w = image(s, HUSK_I8, 0);
    swept_call = "husk_quantized_conv_plan_pack";
    return swept_of_queue(s->queue, husk_quantized_conv_plan_pack(s->plan, s->queue, &w, &s->packed));
}

static husk_status run_quantized_conv(subject *s)
{
    const husk_tensor x = image(s, HUSK_I8, 0), y = image(s, HUSK_I32, RESULT), w = husk_packed_tensor(s->packed);
    swept_call = "husk_quantized_conv_plan_run";
    return swept_of_queue(s->queue,
                          husk_quantized_conv_plan_run(s->plan, s->queue, &x, NULL, &w, NULL, NULL, &y, NULL));
}

// With a bias and an activation, whose slope is that of y, ones.
typedef struct gemm_gradients {
    husk_tensor ones, a, b, bias;
} gemm_gradients;

static const husk_gemm_params gemm_backward_params = HUSK_GEMM_PARAMS(.activation = HUSK_ACT_RELU);

static void describe_gemm_backward(const subject *s, gemm_gradients *t)
{
    t->ones = matrix(s, SIDE, SIDE, HUSK_F32, 0);
    t->a = matrix(s, SIDE, SIDE, HUSK_F32, RESULT);
    t->b = matrix(s, SIDE, SIDE, HUSK_F32, SECOND);
    t->bias = matrix(s, 1, SIDE, HUSK_F32, THIRD);
}

static husk_status create_gemm_backward(subject *s)
{
    gemm_gradients t;
    describe_gemm_backward(s, &t);
    return SWEPT(husk_gemm_backward_plan_create, s->context, &gemm_backward_params, &t.ones, &t.ones, NULL, &t.ones,
                 &t.ones, &t.a, &t.b, &t.bias, NULL, &s->plan);
}

static husk_status run_gemm_backward(subject *s)
{
    gemm_gradients t;
    describe_gemm_backward(s, &t);
    swept_call = "husk_gemm_backward_plan_run";
    return swept_of_queue(s->queue, husk_gemm_backward_plan_run(s->plan, s->queue, 1.0f, &t.ones, &t.ones, 0.0f, NULL,
                                                                &t.ones, &t.ones, &t.a, &t.b, &t.bias, NULL));
}

typedef struct rnn_tensors {
    husk_tensor x, w, y;
    husk_rnn_weights weights;
    husk_rnn_params params;
} rnn_tensors;

static void describe_rnn(const subject *s, rnn_tensors *t)
{
    *t = (rnn_tensors){.params = HUSK_RNN_PARAMS(.cell = HUSK_RNN_RELU, .hidden_size = SIDE)};
    t->x = husk_tensor_make(s->buffer, HUSK_F32, 3, (int64_t[]){2, 3, SIDE});
    t->y = husk_tensor_make(s->buffer, HUSK_F32, 3, (int64_t[]){2, 3, SIDE});
    t->y.offset = RESULT;
    t->w = matrix(s, SIDE, SIDE, HUSK_F32, 0);
    t->weights = (husk_rnn_weights){&t->w, &t->w, NULL, NULL};
}

static husk_status create_rnn(subject *s)
{
    rnn_tensors t;
    describe_rnn(s, &t);
    const husk_rnn_inputs inputs = HUSK_RNN_INPUTS(.x = &t.x, .weights = &t.weights);
    const husk_rnn_outputs outputs = HUSK_RNN_OUTPUTS(.y = &t.y);
    return SWEPT(husk_rnn_plan_create, s->context, &t.params, &inputs, &outputs, &s->plan);
}

static husk_status pack_rnn(subject *s)
{
    rnn_tensors t;
    describe_rnn(s, &t);
    swept_call = "husk_rnn_plan_pack";
    return swept_of_queue(s->queue, husk_rnn_plan_pack(s->plan, s->queue, &t.weights, &s->packed));
}

static husk_status run_rnn(subject *s)
{
    rnn_tensors t;
    describe_rnn(s, &t);
    const husk_rnn_inputs inputs = HUSK_RNN_INPUTS(.x = &t.x, .packed = s->packed);
    const husk_rnn_outputs outputs = HUSK_RNN_OUTPUTS(.y = &t.y);
    swept_call = "husk_rnn_plan_run";
    return swept_of_queue(s->queue, husk_rnn_plan_run(s->plan, s->queue, &inputs, &outputs));
}

// Of a network whose y is ones, so every slope is 1: of h 1 in the last step, 1 + 8 in the first.
typedef struct rnn_gradients {
    rnn_tensors forward;
    husk_tensor y, reserve, x, input, hidden;
    husk_rnn_weights weights;
    husk_rnn_inputs inputs;
    husk_rnn_outputs outputs, given;
    husk_rnn_gradients wanted;
} rnn_gradients;

static void describe_rnn_backward(const subject *s, rnn_gradients *t)
{
    describe_rnn(s, &t->forward);
    const int64_t kept = husk_rnn_reserve_size(&t->forward.params, &t->forward.x);
    t->y = t->forward.x;
    t->y.offset = 8 * SIDE * SIDE;
    t->reserve = husk_tensor_make(s->buffer, HUSK_F32, 1, &kept);
    t->reserve.offset = 16 * SIDE * SIDE;
    t->x = t->forward.y; // at RESULT
    t->input = matrix(s, SIDE, SIDE, HUSK_F32, SECOND);
    t->hidden = matrix(s, SIDE, SIDE, HUSK_F32, THIRD);
    t->weights = (husk_rnn_weights){&t->input, &t->hidden, NULL, NULL};
    t->inputs = HUSK_RNN_INPUTS(.x = &t->forward.x, .weights = &t->forward.weights);
    t->outputs = HUSK_RNN_OUTPUTS(.y = &t->y, .reserve = &t->reserve);
    t->given = HUSK_RNN_OUTPUTS(.y = &t->y);
    t->wanted = HUSK_RNN_GRADIENTS(.x = &t->x, .weights = &t->weights);
}

static husk_status create_rnn_backward(subject *s)
{
    rnn_gradients t;
    describe_rnn_backward(s, &t);
    return SWEPT(husk_rnn_backward_plan_create, s->context, &t.forward.params, &t.inputs, &t.outputs, &t.given,
                 &t.wanted, &s->plan);
}

static husk_status run_rnn_backward(subject *s)
{
    rnn_gradients t;
    describe_rnn_backward(s, &t);
    swept_call = "husk_rnn_backward_plan_run";
    return swept_of_queue(s->queue,
                          husk_rnn_backward_plan_run(s->plan, s->queue, &t.inputs, &t.outputs, &t.given, &t.wanted));
}

enum { EIGHT = 0x41000000, THIRTY = 0x41f00000, SEVENTY_TWO = 0x42900000 }; // as f32

static const operator_calls operators[] = {
    {"gemm", create_gemm, pack_gemm, run_gemm, EIGHT, 0},
    {"conv", create_conv, pack_conv, run_conv, EIGHT, 0},
    {"quantized_gemm", create_quantized, pack_quantized, run_quantized, 2 * (-128 + 63) * -128, 0},
    {"quantized_conv", create_quantized_conv, pack_quantized_conv, run_quantized_conv, 2 * (128 * 128 + 63 * 63), 0},
    {"gemm_backward", create_gemm_backward, NULL, run_gemm_backward, EIGHT, EIGHT},
    {"rnn_backward", create_rnn_backward, NULL, run_rnn_backward, SEVENTY_TWO, THIRTY},
    {"rnn", create_rnn, pack_rnn, run_rnn, EIGHT, 0},
};

enum { OPERATORS = sizeof operators / sizeof *operators };

static const operator_calls *operator_;

static husk_status run_create(void *user)
{
    subject *s = user;
    husk_status status = operator_->create(s);
    SWEPT_ASSERT(!status || !s->plan);
    return status;
}

static husk_status run_pack(void *user)
{
    subject *s = user;
    husk_status status = operator_->pack(s);
    SWEPT_ASSERT(!status || !s->packed);
    return status;
}

static void make_plan(void *user)
{
    make_queue(user);
    test_ok_error(operator_->create(user), &swept_error);
}

static void pack_weights(void *user)
{
    make_plan(user);
    if (operator_->pack)
        test_ok_error(operator_->pack(user), &swept_error);
}

static husk_status run_plan(void *user)
{
    return operator_->run(user);
}

static void expect_number(const subject *s, uint64_t at, uint32_t wanted, const char *when)
{
    uint32_t got = 0;
    test_ok(husk_buffer_read(s->queue, s->buffer, 4 * at, 4, &got));
    ck_assert_msg(got == wanted, "%s: the result has %#x", when, (unsigned)got);
}

static void check_result(void *user, const char *when)
{
    const subject *s = user;
    expect_number(s, RESULT + 2, operator_->wanted, when);
    if (operator_->second)
        expect_number(s, SECOND + 2, operator_->second, when);
}

static void check_packed(void *user, const char *when)
{
    subject *s = user;
    ck_assert_msg(operator_->run(s) == HUSK_OK, "%s: %s", when, husk_queue_error(s->queue)->text);
    check_result(s, when);
}

static void check_plan(void *user, const char *when)
{
    subject *s = user;
    ck_assert_msg(!operator_->pack || operator_->pack(s) == HUSK_OK, "%s: %s", when, swept_error.text);
    check_packed(s, when);
}

START_TEST(plans)
{
    subject s = {0};
    char name[64];
    operator_ = &operators[_i];
    sweep_begin();
    snprintf(name, sizeof name, "%s, plan", operator_->name);
    SWEEP(name, make_queue, run_create, NULL, check_plan);
    if (operator_->pack) {
        snprintf(name, sizeof name, "%s, pack", operator_->name);
        SWEEP(name, make_plan, run_pack, NULL, check_packed);
    }
    snprintf(name, sizeof name, "%s, run", operator_->name);
    SWEEP(name, pack_weights, run_plan, NULL, check_result);
    sweep_end();
}
END_TEST

// ---- the operator that clbench has no case for ----

static husk_status run_transpose(void *user)
{
    subject *s = user;
    const int64_t channels = SIDE;
    const husk_conv_params params = HUSK_CONV_PARAMS(.activation = HUSK_ACT_RELU);
    const husk_tensor x = image(s, HUSK_F32, 0), y = image(s, HUSK_F32, RESULT),
                      bias = husk_tensor_make(s->buffer, HUSK_F32, 1, &channels);
    return SWEPT_QUEUE(husk_conv_transpose, s->queue, &params, &x, &x, &bias, &y);
}

static void make_transposed(void *user)
{
    subject *s = user;
    make_queue(s);
    test_ok(run_transpose(s));
    test_ok(husk_buffer_fill(s->queue, s->buffer, (uint64_t)4 * RESULT, (uint64_t)4 * SIDE * SIDE, &(int32_t){0}, 4));
}

static void check_transposed(void *user, const char *when)
{
    enum { NINE = 0x41100000 }; // eight products and the bias, as f32
    expect_number(user, RESULT + 2, NINE, when);
}

START_TEST(transposed_convolution)
{
    subject s = {0};
    sweep_begin();
    SWEEP("conv_transpose, its kernels to be built", make_queue, run_transpose, NULL, check_transposed);
    SWEEP("conv_transpose", make_transposed, run_transpose, NULL, check_transposed);
    sweep_end();
}
END_TEST

// ---- prewarming ----

static husk_status run_prewarm(void *user)
{
    static const char *const ops[] = {"copy", "softmax"};
    subject *s = user;
    return SWEPT(husk_context_prewarm, s->context, ops, 2);
}

static void check_prewarmed(void *user, const char *when)
{
    subject *s = user;
    husk_program_stats before, now;
    husk_context_program_stats(s->context, &before);
    ck_assert_msg(run_prewarm(s) == HUSK_OK, "%s: %s", when, swept_error.text);
    husk_context_program_stats(s->context, &now);
    ck_assert_msg(before.builds > 0 && now.builds == before.builds, "%s: %llu programs are built once more", when,
                  (unsigned long long)(now.builds - before.builds));
}

START_TEST(prewarming)
{
    subject s = {0};
    sweep_begin();
    SWEEP("prewarm", make_context, run_prewarm, NULL, check_prewarmed);
    sweep_end();
}
END_TEST

// ---- tuning ----

static char database[4096];
static husk_tuning_key device;

static void write_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void make_databases(subject *s)
{
    husk_error error;
    make_context(s);
    test_ok_error(husk_tuning_key_get(s->context, NULL, &device, &error), &error);
    release(s);
    char entry[2048];
    snprintf(entry, sizeof entry,
             "{\"device\": \"%s\", \"platform\": \"%s\", \"driver\": \"%s\", \"family\": \"%s\", \"op\": \"gemm\", "
             "\"problem\": \"x\", \"class\": \"y\", \"kernels\": \"z\", \"state\": \"tuned\", \"variant\": \"v:c\"}",
             device.device, device.platform, device.driver, device.family);
    ck_assert_int_lt(
        snprintf(database, sizeof database, "{\"schema\": \"husk-tuning/1\", \"entries\": [%s, %s]}", entry, entry),
        (int)sizeof database);
    ck_assert_ptr_nonnull(mkdtemp(strcpy(directory, "/tmp/husk-sweep-XXXXXX")));
    write_file("a.json", database);
    write_file("b.json", database);
}

static uint64_t loaded(subject *s, const char *when)
{
    husk_error error;
    ck_assert_msg(husk_context_tuning_stats(s->context, &s->stats, &error) == HUSK_OK, "%s: %s", when, error.text);
    ck_assert_uint_eq(s->stats.entries, s->stats.device);
    return s->stats.entries;
}

static husk_status run_load(void *user)
{
    subject *s = user;
    return SWEPT(husk_context_load_tuning, s->context, &s->tuning);
}

static uint64_t of_itself; // HUSK_TUNING's

static void expect_nothing_loaded(void *user, const char *when)
{
    const uint64_t entries = loaded(user, when);
    ck_assert_msg(entries == of_itself, "%s: %llu entries are loaded", when, (unsigned long long)entries);
}

static void check_loaded(void *user, const char *when)
{
    subject *s = user;
    const uint64_t entries = loaded(s, when), wanted = of_itself + (s->tuning.path == directory ? 4 : 2);
    ck_assert_msg(entries == wanted, "%s: %llu entries are loaded", when, (unsigned long long)entries);
}

static husk_status run_stats(void *user)
{
    subject *s = user;
    return SWEPT(husk_context_tuning_stats, s->context, &s->stats);
}

static husk_status run_key(void *user)
{
    subject *s = user;
    return SWEPT(husk_tuning_key_get, s->context, s->plan, &s->key);
}

static void check_key(void *user, const char *when)
{
    subject *s = user;
    static husk_tuning_key first;
    if (!first.device[0])
        first = s->key;
    ck_assert_msg(strcmp(s->key.device, device.device) == 0 && s->key.kernels[0] && s->key.shape_class[0] &&
                      strcmp(s->key.kernels, first.kernels) == 0 && strcmp(s->key.problem, first.problem) == 0 &&
                      strcmp(s->key.shape_class, first.shape_class) == 0,
                  "%s: another key: %s, %s, %s", when, s->key.device, s->key.kernels, s->key.shape_class);
}

static husk_status run_candidates(void *user)
{
    subject *s = user;
    husk_tuning_candidate candidates[64];
    return SWEPT(husk_tuning_candidates, s->context, s->plan, candidates, 64, &s->count);
}

static void check_candidates(void *user, const char *when)
{
    subject *s = user;
    ck_assert_msg(s->count > 1, "%s: %zu candidates", when, s->count);
}

START_TEST(tuning)
{
    subject s = {0};
    char file[128], command[128];
    sweep_begin();
    make_databases(&s);
    operator_ = &operators[0];
    snprintf(file, sizeof file, "%s/a.json", directory);
    const husk_tuning_params ways[] = {HUSK_TUNING_PARAMS(.text = database), HUSK_TUNING_PARAMS(.path = file),
                                       HUSK_TUNING_PARAMS(.path = directory)};
    static const char *const names[] = {"text", "file", "folder"};
    for (int own = 0; own < 2; own++) {
        of_itself = own ? 4 : 0;
        test_setenv("HUSK_TUNING", own ? directory : "0");
        for (int i = 0; i < 3; i++) {
            char name[64];
            snprintf(name, sizeof name, "tuning %s%s", names[i], own ? ", beside others" : "");
            s.tuning = ways[i];
            SWEEP(name, make_context, run_load, expect_nothing_loaded, check_loaded);
        }
    }
    SWEEP("tuning stats", make_context, run_stats, NULL, expect_nothing_loaded);
    test_setenv("HUSK_TUNING", "0"); // kernels are looked at by the key alone
    SWEEP("tuning key", make_plan, run_key, NULL, check_key);
    SWEEP("tuning candidates", make_plan, run_candidates, NULL, check_candidates);
    test_restore_environment();
    sweep_end();
    snprintf(command, sizeof command, "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(enough_was_planted)
{
    sweep_report("choice", sweep_has_all() ? 3000 : 400);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("call_sweep");
    TCase *tests = tcase_create("calls");
    tcase_set_timeout(tests, 1200);
    tcase_add_test(tests, tuning);
    tcase_add_test(tests, prewarming);
    tcase_add_loop_test(tests, plans, 0, OPERATORS - 1);
    suite_add_tcase(suite, tests);
    TCase *transposed = tcase_create("transposed");
    tcase_set_timeout(transposed, 1200);
    tcase_add_test(transposed, transposed_convolution);
    suite_add_tcase(suite, transposed);
    TCase *networks = tcase_create("rnn");
    tcase_set_timeout(networks, 1200);
    tcase_add_loop_test(networks, plans, OPERATORS - 1, OPERATORS);
    suite_add_tcase(suite, networks);
    TCase *report = tcase_create("report");
    tcase_add_test(report, enough_was_planted);
    suite_add_tcase(suite, report);
    return test_main(suite);
}
