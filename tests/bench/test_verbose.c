// SPDX-License-Identifier: MIT
// ctest: timeout=600 with=../support/faults/fault_layer
// HUSK_VERBOSE: each call's line has the call as a case of clbench, which is the case that made it; what else lines
// say, and where they go. docs/debugging-kernels.md shows the lines of one call, which have to be those of today.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases/data.h"
#include "cases/op.h"
#include "cases/ops.h"
#include "cases/parse.h"
#include "cases/suite.h"
#include "cases/suites.h"
#include "support/environment.h"
#include "support/faults/fault_layer.h"
#include "support/support.h"
#include "worker/husk_runner.h"

// ---- what is written to stderr ----

enum { MOST_TEXT = 1 << 16 };

typedef struct capture {
    FILE *file;
    int kept; // stderr's descriptor
} capture;

static void capture_begin(capture *c)
{
    fflush(stderr);
    c->file = tmpfile();
    ck_assert_ptr_nonnull(c->file);
    c->kept = dup(STDERR_FILENO);
    ck_assert_int_ge(c->kept, 0);
    ck_assert_int_ge(dup2(fileno(c->file), STDERR_FILENO), 0);
}

static char captured[MOST_TEXT];

static const char *capture_end(capture *c)
{
    fflush(stderr);
    ck_assert_int_ge(dup2(c->kept, STDERR_FILENO), 0);
    close(c->kept);
    rewind(c->file);
    captured[fread(captured, 1, sizeof captured - 1, c->file)] = '\0';
    fclose(c->file);
    return captured;
}

// ---- the case of a call ----

// The case in the only line that begins with "husk call; ", without what it notes besides.
static void take_case(const char *text, const char *expected, char line[BENCH_CASE_TEXT])
{
    static const char begin[] = "husk call; ";
    const char *at = strstr(text, begin);
    ck_assert_msg(at == text && !strstr(at + 1, begin), "%s: not one line of a call: %s", expected, text);
    at += strlen(begin);
    const size_t length = strcspn(at, ";("), rest = strcspn(at, ";");
    ck_assert_uint_lt(length, BENCH_CASE_TEXT);
    snprintf(line, BENCH_CASE_TEXT, "%.*s", (int)(length - (at[length] == '(')), at);
    double predicted, measured;
    char variant[100], choice[40];
    ck_assert_msg(sscanf(at + rest, "; %99[^;]; choice=%39[^;]; predicted_us=%lf; measured_us=%lf", variant, choice,
                         &predicted, &measured) == 4 &&
                      strchr(variant, ':') && measured > 0,
                  "%s: %s", expected, text);
}

// What is wrong is printed, all of it.
static bool says_its_case(bench_husk_session *session, const bench_case *c, size_t *wrong)
{
    static const bench_prepare_options options;
    char reason[BENCH_REASON_TEXT] = "", line[BENCH_CASE_TEXT];
    const bench_op *op = bench_op_get(c->op);
    bench_data data;
    bench_case said;
    void *state;
    if (op->is_composed && op->is_composed(c))
        return false;
    ck_assert_msg(bench_data_make(c, &data, reason), "%s: %s", c->canonical, reason);
    if (bench_runner_husk.prepare(session, c, &data, &options, &state, reason) != BENCH_OK) {
        printf("%s: %s\n", c->canonical, reason);
        bench_data_free(c, &data);
        return false;
    }
    capture stderr_of_run;
    capture_begin(&stderr_of_run);
    const bench_answer answer = bench_runner_husk.run(state, reason);
    const char *text = capture_end(&stderr_of_run);
    ck_assert_msg(answer == BENCH_OK, "%s: %s", c->canonical, reason);
    take_case(text, c->canonical, line);
    const bool is_case = bench_case_parse(line, &said, reason);
    const bool is_its_own = is_case && !strcmp(said.canonical, c->canonical);
    if (!is_its_own)
        printf("%s\n    says: %s%s%s", c->canonical, text, is_case ? "" : reason, is_case ? "" : "\n");
    *wrong += !is_its_own;
    bench_runner_husk.release(state);
    bench_data_free(c, &data);
    return true;
}

START_TEST(a_line_has_the_case_of_its_call)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_suite suite;
    void *opened = NULL;
    const bench_open_options open = {.device = NULL};
    size_t count = 0, wrong = 0;
    setenv("HUSK_VERBOSE", "1", 1);
    ck_assert_msg(bench_suite_load("smoke", &suite, reason), "%s", reason);
    ck_assert_msg(bench_runner_husk.open(&open, &opened, reason) == BENCH_OK, "%s", reason);
    for (size_t i = 0; i < suite.count; i++)
        count += says_its_case(opened, &suite.entries[i].c, &wrong);
    printf("%zu calls\n", count);
    ck_assert_uint_gt(count, 100);
    ck_assert_uint_eq(wrong, 0);
    bench_suite_free(&suite);
    bench_runner_husk.close(opened);
}
END_TEST

// ---- what else is written, and where ----

// What a context's callback is told: the lines, and how many warnings.
typedef struct told {
    char lines[MOST_TEXT];
    size_t size;
    int warnings;
    char warning[200];
} told;

static void take_log(void *user, husk_log_level level, const char *text)
{
    told *own = user;
    if (level == HUSK_LOG_WARNING) {
        own->warnings++;
        snprintf(own->warning, sizeof own->warning, "%s", text);
    } else if (!strncmp(text, "husk ", 5)) {
        ck_assert_int_eq(level, HUSK_LOG_INFORMATION);
        own->size += (size_t)snprintf(own->lines + own->size, sizeof own->lines - own->size, "%s\n", text);
        ck_assert_uint_lt(own->size, sizeof own->lines);
    }
}

// A context of its own, whose plans are new.
typedef struct fresh {
    husk_context *context;
    husk_queue *queue;
    husk_buffer *buffer;
} fresh;

enum { ROWS = 200, COLUMNS = 1000 };
static const char softmax_case[] = "softmax outer=200 axis=1000";

// to: NULL for a context without a callback.
static fresh fresh_open(const char *verbosity, told *to)
{
    const husk_context_params params = HUSK_CONTEXT_PARAMS(.log = to ? take_log : NULL, .log_user = to);
    husk_error error;
    fresh own;
    test_setenv("HUSK_VERBOSE", verbosity);
    test_ok_error(husk_context_create(NULL, &params, &own.context, &error), &error);
    test_ok_error(husk_queue_create(own.context, NULL, &own.queue, &error), &error);
    test_ok_error(husk_buffer_create(own.context, ROWS * COLUMNS * sizeof(float), &own.buffer, &error), &error);
    const float zero = 0;
    ck_assert_int_eq(husk_buffer_fill(own.queue, own.buffer, 0, ROWS * COLUMNS * sizeof zero, &zero, sizeof zero),
                     HUSK_OK);
    return own;
}

static void fresh_close(fresh *own)
{
    husk_queue_finish(own->queue);
    husk_buffer_release(own->buffer);
    husk_queue_release(own->queue);
    husk_context_release(own->context);
    test_restore_environment();
}

static husk_status call_softmax(const fresh *own, const char *variant)
{
    const husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .axis = -1, .variant = variant);
    const husk_tensor x = husk_tensor_make(own->buffer, HUSK_F32, 2, (int64_t[]){ROWS, COLUMNS});
    return husk_softmax(own->queue, &params, &x, &x);
}

// A composite, two multiplications.
static husk_status call_gemm_backward(const fresh *own)
{
    enum { M = 20, N = 33, K = 17 };
    const husk_gemm_params params = HUSK_GEMM_PARAMS(0);
    const husk_tensor a = husk_tensor_make(own->buffer, HUSK_F32, 2, (int64_t[]){M, K});
    husk_tensor b = husk_tensor_make(own->buffer, HUSK_F32, 2, (int64_t[]){K, N});
    husk_tensor dy = husk_tensor_make(own->buffer, HUSK_F32, 2, (int64_t[]){M, N}), da = a, db = b;
    b.offset = COLUMNS;
    dy.offset = 2 * COLUMNS;
    da.offset = 3 * COLUMNS;
    db.offset = 4 * COLUMNS;
    return husk_gemm_backward(own->queue, &params, 1.0f, &a, &b, 0.0f, NULL, NULL, &dy, &da, &db, NULL, NULL);
}

// Check has no room for long texts in its messages.
static void expect(bool is_so, const char *what, const char *text)
{
    if (!is_so)
        printf("%s\n", text);
    ck_assert_msg(is_so, "%s", what);
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (; (text = strstr(text, what)); text += strlen(what))
        count++;
    return count;
}

// A softmax and a composite, each the first call of its problem.
static const told *told_of(const char *verbosity)
{
    static told to;
    memset(&to, 0, sizeof to);
    fresh own = fresh_open(verbosity, &to);
    ck_assert_int_eq(call_softmax(&own, NULL), HUSK_OK);
    ck_assert_int_eq(call_gemm_backward(&own), HUSK_OK);
    fresh_close(&own);
    return &to;
}

START_TEST(without_it_nothing_is_written)
{
    ck_assert_uint_eq(told_of(NULL)->size, 0);
    ck_assert_uint_eq(told_of("")->size, 0);
    ck_assert_uint_eq(told_of("0")->size, 0);
}
END_TEST

START_TEST(at_1_each_call_has_a_line)
{
    const told *to = told_of("1");
    expect(count_of(to->lines, "\n") == 2 && count_of(to->lines, "husk call; ") == 2, "a line a call", to->lines);
    expect(strstr(to->lines, "husk call; gemm m=20 n=33 k=17 dir=bwd; ") != NULL, "the composite's", to->lines);
}
END_TEST

START_TEST(at_2_candidates_and_inner_calls_have_too)
{
    const told *to = told_of("2");
    const size_t calls = count_of(to->lines, "husk call; "), inner = count_of(to->lines, "husk inner call; ");
    const size_t candidates = count_of(to->lines, "husk candidate; ");
    expect(calls == 2 && inner == 2 && calls + inner + candidates == count_of(to->lines, "\n"), "kinds", to->lines);
    expect(strstr(to->lines, "husk inner call; gemm m=20 n=17 k=33 ") &&
               strstr(to->lines, "husk inner call; gemm m=17 n=33 k=20 "),
           "two multiplications inside", to->lines);
    const char *variant, *configuration;
    for (size_t v = 0; (variant = husk_op_variant("softmax", v)); v++)
        for (size_t i = 0; (configuration = husk_op_configuration("softmax", variant, i)); i++) {
            char line[160];
            snprintf(line, sizeof line, "husk candidate; %s; %s:%s; ", softmax_case, variant, configuration);
            expect(count_of(to->lines, line) == 1, line, to->lines);
        }
}
END_TEST

START_TEST(another_value_is_warned_of)
{
    static const char *const values[] = {"3", "22", "yes", "-1"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const told *to = told_of(values[i]);
        ck_assert_msg(to->size == 0 && to->warnings == 1 && strstr(to->warning, "HUSK_VERBOSE"), "'%s': %d %s",
                      values[i], to->warnings, to->warning);
    }
}
END_TEST

START_TEST(lines_go_to_stderr_or_to_the_callback)
{
    static told to;
    for (int has_callback = 0; has_callback < 2; has_callback++) {
        capture of_call;
        memset(&to, 0, sizeof to);
        fresh own = fresh_open("1", has_callback ? &to : NULL);
        capture_begin(&of_call);
        const husk_status status = call_softmax(&own, NULL);
        const char *text = capture_end(&of_call);
        ck_assert_int_eq(status, HUSK_OK);
        ck_assert_uint_eq(count_of(text, "husk call; "), has_callback ? 0 : 1);
        ck_assert_uint_eq(count_of(to.lines, "husk call; "), has_callback ? 1 : 0);
        fresh_close(&own);
    }
}
END_TEST

START_TEST(a_call_that_fails_says_so)
{
    static told to;
    memset(&to, 0, sizeof to);
    fresh own = fresh_open("1", &to);
    ck_assert_int_eq(call_softmax(&own, NULL), HUSK_OK);
    to.lines[to.size = 0] = '\0';
    fault_fail("clEnqueueNDRangeKernel", 1, CL_OUT_OF_HOST_MEMORY);
    const husk_status status = call_softmax(&own, NULL);
    fault_plan(0, 0, false);
    ck_assert_int_eq(status, HUSK_OUT_OF_HOST_MEMORY);
    expect(count_of(to.lines, "\n") == 1 && strstr(to.lines, softmax_case) &&
               strstr(to.lines, "; failed=HUSK_OUT_OF_HOST_MEMORY\n") && !strstr(to.lines, "measured_us"),
           "one line, of the failure", to.lines);
    fresh_close(&own);
}
END_TEST

// A mean's parts lie in scratch memory, which the first call of a queue makes.
START_TEST(a_call_without_memory_says_so)
{
    static told to;
    memset(&to, 0, sizeof to);
    fresh own = fresh_open("1", &to);
    const husk_loss_params params = husk_loss_defaults(HUSK_LOSS_MEAN_SQUARE);
    const husk_tensor x = husk_tensor_make(own.buffer, HUSK_F32, 2, (int64_t[]){ROWS / 2, COLUMNS});
    husk_tensor target = x, loss = husk_tensor_make(own.buffer, HUSK_F32, 0, NULL);
    loss.offset = ROWS / 2 * COLUMNS;
    fault_fail("clCreateBuffer", 100, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    const husk_status status = husk_loss(own.queue, &params, &x, &target, NULL, NULL, &loss);
    fault_plan(0, 0, false);
    ck_assert_int_eq(status, HUSK_OUT_OF_MEMORY);
    expect(count_of(to.lines, "\n") == 1 && strstr(to.lines, "husk call; loss n=100 c=1000 kind=mean_square; ") &&
               strstr(to.lines, "; failed=HUSK_OUT_OF_MEMORY\n"),
           "one line, of the failure", to.lines);
    fresh_close(&own);
}
END_TEST

// columns is for elements whose neighbours along the axis are apart.
START_TEST(a_refused_variant_says_why)
{
    static const char begin[] = "husk candidate; softmax outer=200 axis=1000; columns:1; refused: it needs ";
    static told to;
    memset(&to, 0, sizeof to);
    fresh own = fresh_open("2", &to);
    ck_assert_int_eq(call_softmax(&own, "columns"), HUSK_UNSUPPORTED);
    expect(!strncmp(to.lines, begin, sizeof begin - 1) && count_of(to.lines, "\n") == 1, begin, to.lines);
    fresh_close(&own);
}
END_TEST

// ---- docs/debugging-kernels.md ----

// A line's end, and "_us=64.0" as "_us=N".
static void add_line(char *text, size_t size, const char *line, size_t length)
{
    size_t at = strlen(text);
    for (size_t i = 0; i < length && at + 2 < size; i++) {
        text[at++] = line[i];
        if (i < 3 || strncmp(line + i - 3, "_us=", 4) != 0)
            continue;
        text[at++] = 'N';
        while (i + 1 < length && strchr("0123456789.", line[i + 1]))
            i++;
    }
    text[at++] = '\n';
    text[at] = '\0';
}

static void add_lines(char *text, size_t size, const char *lines, size_t length, size_t indent)
{
    for (const char *line = lines; line < lines + length; line += strcspn(line, "\n") + 1) {
        ck_assert_uint_ge(strspn(line, " "), indent);
        add_line(text, size, line + indent, strcspn(line, "\n") - indent);
    }
}

START_TEST(the_page_shows_todays_lines)
{
    static const char begin[] = "<!-- verbose: softmax outer=200 axis=1000 -->\n", end[] = "<!-- verbose: end -->";
    static char page[MOST_TEXT], shown[MOST_TEXT], said[MOST_TEXT];
    static told to;
    FILE *file = fopen(HUSK_SOURCE_DIR "/docs/debugging-kernels.md", "rb");
    ck_assert_ptr_nonnull(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    const char *from = strstr(page, begin), *until = strstr(page, end);
    ck_assert_msg(from && until && from < until, "the page has no block of %s", softmax_case);
    from += sizeof begin - 1;
    add_lines(shown, sizeof shown, from, (size_t)(until - from), 4);
    test_context(); // which opens the device
    if (!test_device_is_home()) {
        puts("the page is not compared: other devices than PoCL's CPU may have other candidates");
        return;
    }
    memset(&to, 0, sizeof to);
    test_setenv("HUSK_LIMITS", "vector_width=8"); // as AVX2 has it, which the page is of
    fresh own = fresh_open("2", &to);
    ck_assert_int_eq(call_softmax(&own, NULL), HUSK_OK);
    fresh_close(&own);
    add_lines(said, sizeof said, to.lines, to.size, 0);
    if (strcmp(shown, said) != 0)
        printf("docs/debugging-kernels.md shows\n%s", shown);
    expect(!strcmp(shown, said), "the page does not show today's lines", said);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verbose");
    TCase *tests = tcase_create("verbose");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, without_it_nothing_is_written);
    tcase_add_test(tests, at_1_each_call_has_a_line);
    tcase_add_test(tests, at_2_candidates_and_inner_calls_have_too);
    tcase_add_test(tests, another_value_is_warned_of);
    tcase_add_test(tests, lines_go_to_stderr_or_to_the_callback);
    tcase_add_test(tests, a_call_that_fails_says_so);
    tcase_add_test(tests, a_call_without_memory_says_so);
    tcase_add_test(tests, a_refused_variant_says_why);
    tcase_add_test(tests, the_page_shows_todays_lines);

    tcase_add_test(tests, a_line_has_the_case_of_its_call);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
