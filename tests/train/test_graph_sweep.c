// SPDX-License-Identifier: MIT
// ctest: tiers=faults,asan timeout=200 with=../support/faults/fault_layer,../support/faults/swept
// The floor of training, of whose calls every allocation of Husk's and every OpenCL call fails once: graphs with every
// kind of node are built, measured, compiled and trained, checkpoints saved and loaded, networks pruned and quantized,
// data read and fed. Each failure is a documented status with a text of its own, changes nothing that it must not, and
// leaves nothing behind; the same call on the same objects, once more, gives the bits of a run without a fault.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "train/swept_subject.h"

// ---- building ----

static husk_status run_build(void *user)
{
    swept_subject *s = user;
    s->graph = swept_build(s->network, s->dtype, &s->loss);
    if (!s->graph)
        return swept_error.status;
    return swept_of_graph(s->graph, husk_graph_error(s->graph)->status);
}

// For good.
static void expect_failed(void *user, const char *when)
{
    swept_subject *s = user;
    const husk_error before = swept_error;
    husk_error error;
    if (!s->graph)
        return;
    ck_assert_msg(husk_graph_compile(s->graph, &s->options, &error) == before.status &&
                      strcmp(error.text, before.text) == 0,
                  "%s: compiling answers: %s", when, error.text);
    ck_assert_int_eq(husk_graph_copy(s->graph, "more", 1), HUSK_NO_VALUE);
    swept_release(s);
}

static void expect_measured(void *user, const char *when)
{
    swept_subject *s = user;
    husk_error error;
    husk_graph_memory memory;
    s->options.loss = s->loss;
    ck_assert_msg(husk_graph_measure(s->graph, &s->options, &memory, &error) == HUSK_OK, "%s: %s", when, error.text);
    if (!s->memory.total)
        s->memory = memory;
    ck_assert_msg(memcmp(&memory, &s->memory, sizeof memory) == 0, "%s: it is another graph", when);
}

// ---- compiling ----

static void make_graph(void *user)
{
    swept_subject *s = user;
    test_ok_error(run_build(s), &swept_error);
    s->options.loss = s->loss;
}

static husk_status run_measure(void *user)
{
    swept_subject *s = user;
    husk_graph_memory memory;
    husk_status status = SWEPT(husk_graph_measure, s->graph, &s->options, &memory);
    SWEPT_ASSERT(status || memcmp(&memory, &s->memory, sizeof memory) == 0);
    return status;
}

static husk_status run_compile(void *user)
{
    swept_subject *s = user;
    return SWEPT(husk_graph_compile, s->graph, &s->options);
}

static void expect_trained(void *user, const char *when)
{
    swept_subject *s = user;
    ck_assert_msg(swept_train(s) == HUSK_OK, "%s: %s", when, swept_error.text);
    swept_expect(s, when);
}

// ---- steps ----

static void compile_graph(swept_subject *s)
{
    make_graph(s);
    test_ok_error(run_compile(s), &swept_error);
    swept_keep_start(s);
}

static void restart(void *user)
{
    swept_restart(user);
}

// What is learnt is changed by the update alone, and by all of it or nothing.
static void expect_old_or_new(void *user, const char *when)
{
    swept_expect_old_or_new(user, when);
    swept_restart(user);
}

static husk_status run_train(void *user)
{
    return swept_train(user);
}

static void check_trained(void *user, const char *when)
{
    swept_expect(user, when);
}

START_TEST(graphs)
{
    swept_subject s = {.network = &swept_networks[_i / 2], .dtype = _i % 2 ? HUSK_F16 : HUSK_F32};
    char name[4][80];
    static const char *const parts[] = {"build", "measure", "compile", "train"};
    for (int i = 0; i < 4; i++)
        snprintf(name[i], sizeof name[i], "%s %s, %s", s.network->name, husk_dtype_name(s.dtype), parts[i]);
    sweep_begin();
    swept_begin(&s);
    sweep(&(swept){name[0], &s, NULL, run_build, expect_failed, expect_measured, swept_release});
    sweep(&(swept){name[1], &s, make_graph, run_measure, NULL, expect_measured, swept_release});
    sweep(&(swept){name[2], &s, make_graph, run_compile, NULL, expect_trained, swept_release});
    compile_graph(&s);
    sweep(&(swept){name[3], &s, restart, run_train, expect_old_or_new, check_trained, NULL});
    swept_end(&s);
    sweep_end();
}
END_TEST

// ---- what is not finite ----

static bool of_input;

static void make_infinite(void *user)
{
    swept_subject *s = user;
    float images[4 * 2 * 6 * 6];
    swept_restart(s);
    test_ok_error(swept_write(s->network, s->graph), &swept_error);
    const uint32_t nan = 0x7fc00000;
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        images[i] = i % 2 ? 3e38f : -3e38f;
    if (of_input)
        memcpy(images, &nan, sizeof nan);
    ck_assert_int_eq(husk_graph_write(s->graph, "images", images, sizeof images), HUSK_OK);
}

static husk_status run_infinite(void *user)
{
    swept_subject *s = user;
    const husk_status status = SWEPT_STEP(husk_graph_step, s->graph);
    const char *found = of_input ? "is the input images" : "is what this node computed: ";
    SWEPT_ASSERT(status != HUSK_OK);
    return strstr(swept_error.text, found) ? HUSK_OK : status;
}

static void make_infinite_again(void *user, const char *when)
{
    swept_expect_old_or_new(user, when);
    make_infinite(user);
}

static void expect_untouched(void *user, const char *when)
{
    swept_expect_start(user, when);
}

// Where forward has kept no statistics they are those that the batch has made, whatever fails while it is looked at.
static void make_asked(void *user)
{
    swept_subject *s = user;
    make_infinite(s);
    ck_assert_int_eq(husk_graph_forward(s->graph, HUSK_GRAPH_TRAINING), HUSK_OK);
    swept_keep(s);
}

static husk_status run_asked(void *user)
{
    swept_subject *s = user;
    const husk_status status = SWEPT_STEP(husk_graph_check_finite, s->graph);
    SWEPT_ASSERT(status != HUSK_OK);
    return strstr(swept_error.text, "is the input images") ? HUSK_OK : status;
}

static void expect_same(void *user, const char *when)
{
    swept_expect_same(user, when);
}

START_TEST(what_is_not_finite)
{
    swept_subject s = {.network = &swept_networks[0], .dtype = HUSK_F32};
    sweep_begin();
    swept_begin(&s);
    compile_graph(&s);
    for (int i = 0; i < 2; i++) {
        of_input = i == 0;
        sweep(&(swept){i ? "overflow" : "NaN", &s, make_infinite, run_infinite, make_infinite_again, expect_untouched,
                       NULL});
    }
    swept_end(&s);
    swept_begin(&s);
    s.options.check_finite = 0;
    compile_graph(&s);
    of_input = true;
    sweep(&(swept){"NaN, when asked", &s, make_asked, run_asked, expect_same, expect_same, NULL});
    swept_end(&s);
    sweep_end();
}
END_TEST

START_TEST(files)
{
    sweep_begin();
    swept_files();
    sweep_end();
}
END_TEST

START_TEST(data)
{
    sweep_begin();
    swept_data();
    sweep_end();
}
END_TEST

START_TEST(metrics)
{
    sweep_begin();
    swept_metrics();
    sweep_end();
}
END_TEST

// ---- an input from device memory ----

static husk_buffer *ones;
enum { IMAGE_ELEMENTS = 4 * 2 * 6 * 6 };

static husk_status run_write_tensor(void *user)
{
    swept_subject *s = user;
    const husk_tensor from = husk_tensor_make(ones, HUSK_F32, 4, (int64_t[]){4, 2, 6, 6});
    return SWEPT_GRAPH(husk_graph_write_tensor, s->graph, "images", &from);
}

static void zero_images(void *user)
{
    static const float zeros[IMAGE_ELEMENTS];
    swept_subject *s = user;
    ck_assert_int_eq(husk_graph_write(s->graph, "images", zeros, sizeof zeros), HUSK_OK);
}

static void expect_ones(void *user, const char *when)
{
    swept_subject *s = user;
    float images[IMAGE_ELEMENTS] = {0};
    ck_assert_int_eq(husk_graph_read(s->graph, "images", images, sizeof images), HUSK_OK);
    for (int i = 0; i < IMAGE_ELEMENTS; i++)
        ck_assert_msg(images[i] == 1, "%s: element %d is %g", when, i, (double)images[i]);
}

START_TEST(inputs_from_the_device)
{
    swept_subject s = {.network = &swept_networks[0], .dtype = HUSK_F32};
    const float one = 1;
    sweep_begin();
    swept_begin(&s);
    compile_graph(&s);
    test_ok_error(husk_buffer_create(test_context(), sizeof one * IMAGE_ELEMENTS, &ones, &swept_error), &swept_error);
    test_ok(husk_buffer_fill(test_queue(), ones, 0, sizeof one * IMAGE_ELEMENTS, &one, sizeof one));
    test_ok(husk_queue_finish(test_queue()));
    sweep(&(swept){"write_tensor", &s, zero_images, run_write_tensor, NULL, expect_ones, NULL});
    husk_buffer_release(ones);
    swept_end(&s);
    sweep_end();
}
END_TEST

// ---- the scale of a loss ----

static husk_status run_set_scale(void *user)
{
    swept_subject *s = user;
    const husk_loss_scale scale = HUSK_LOSS_SCALE(.scale = 64, .good = 3);
    return SWEPT_GRAPH(husk_graph_set_loss_scale, s->graph, &scale);
}

static void set_another(void *user)
{
    swept_subject *s = user;
    const husk_loss_scale another = HUSK_LOSS_SCALE(.scale = 32);
    ck_assert_int_eq(husk_graph_set_loss_scale(s->graph, &another), HUSK_OK);
}

static void expect_scale(void *user, const char *when)
{
    swept_subject *s = user;
    husk_loss_scale scale = HUSK_LOSS_SCALE(.scale = 0);
    ck_assert_int_eq(husk_graph_get_loss_scale(s->graph, &scale), HUSK_OK);
    ck_assert_msg(scale.scale == 64 && scale.good == 3, "%s: scale %g", when, (double)scale.scale);
}

START_TEST(loss_scale)
{
    swept_subject s = {.network = &swept_networks[0], .dtype = HUSK_F16};
    sweep_begin();
    swept_begin(&s);
    compile_graph(&s);
    sweep(&(swept){"set_loss_scale", &s, set_another, run_set_scale, NULL, expect_scale, NULL});
    swept_end(&s);
    sweep_end();
}
END_TEST

START_TEST(enough_was_planted)
{
    sweep_report("training", sweep_has_all() ? 20000 : 1200);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph_sweep");
    for (int i = 0; i < SWEPT_NETWORKS; i++) {
        TCase *network = tcase_create(swept_networks[i].name);
        tcase_set_timeout(network, 2400);
        tcase_add_loop_test(network, graphs, 2 * i, 2 * i + 2);
        suite_add_tcase(suite, network);
    }
    TCase *tests = tcase_create("others");
    tcase_set_timeout(tests, 2400);
    tcase_add_test(tests, what_is_not_finite);
    tcase_add_test(tests, files);
    tcase_add_test(tests, data);
    suite_add_tcase(suite, tests);
    TCase *evaluation = tcase_create("evaluation");
    tcase_set_timeout(evaluation, 2400);
    tcase_add_test(evaluation, metrics);
    tcase_add_test(evaluation, inputs_from_the_device);
    tcase_add_test(evaluation, loss_scale);
    suite_add_tcase(suite, evaluation);
    TCase *report = tcase_create("report");
    tcase_add_test(report, enough_was_planted);
    suite_add_tcase(suite, report);
    return test_main(suite);
}
