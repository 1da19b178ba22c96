// SPDX-License-Identifier: MIT
// ctest: tiers=faults,asan timeout=720 with=../support/faults/fault_layer
// Every operator, gradient and variant, of whose call every OpenCL call fails once with each of four errors, and every
// allocation that Husk makes: the call answers a documented status, its text names the call that failed, the context
// lives on and gives a right result at once, and nothing is left behind. Warm: a call whose plan, programs, kernels and
// scratch memory are there. Cold: the first call of a context, which makes them; one variant of each operator. A row of
// the library that was not swept both ways fails the test; a variant that computes none of the cases here is named.
// Outside of the tier faults, as under AddressSanitizer, it is one point of so many, another one in each case.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cases/data.h"
#include "cases/op_lists.h"
#include "cases/ops.h"
#include "cases/parse.h"
#include "support/environment.h"
#include "support/faults/fault_layer.h"
#include "support/faults/fault_memory.h"
#include "support/support.h"
#include "worker/husk_runner.h"

// ---- what fails ----

typedef struct fault {
    const char *name;
    cl_int code; // 0: an allocation of Husk's
    husk_status status;
} fault;

static const fault faults[] = {
    {"CL_MEM_OBJECT_ALLOCATION_FAILURE", CL_MEM_OBJECT_ALLOCATION_FAILURE, HUSK_OUT_OF_MEMORY},
    {"CL_OUT_OF_RESOURCES", CL_OUT_OF_RESOURCES, HUSK_OPENCL},
    {"CL_OUT_OF_HOST_MEMORY", CL_OUT_OF_HOST_MEMORY, HUSK_OUT_OF_HOST_MEMORY},
    {"CL_INVALID_COMMAND_QUEUE", CL_INVALID_COMMAND_QUEUE, HUSK_OPENCL},
    {"allocation", 0, HUSK_OUT_OF_HOST_MEMORY},
};
enum { FAULTS = sizeof faults / sizeof *faults, MOST_CALLS = 2000 };

static void arm(const fault *f, long number)
{
    fault_plan(f && f->code ? number : 0, f ? f->code : 0, false);
    fault_plan_allocation(f && !f->code ? number : 0);
}

// Calls or allocations since it was armed.
static long reached(const fault *f)
{
    return f->code ? fault_calls() : fault_allocations();
}

static void disarm(void)
{
    fault_plan_allocation(0);
    fault_plan(0, 0, false);
}

// ---- a case ----

typedef struct subject {
    bench_case c;
    bench_data data;
    char form[64], text[BENCH_CASE_TEXT + 80];
    bench_husk_session *session;
    void *state;
    long objects, blocks; // that there were before: of a case that failed
} subject;

typedef struct tally {
    long points, answered, survived;
    long clean; // points after which everything was right
} tally;
static tally cold, warm;

static void close_session(subject *s)
{
    bench_runner_husk.close(s->session);
    s->session = NULL;
    ck_assert_msg(fault_objects() == s->objects, "%s: %ld OpenCL objects are left", s->text,
                  fault_objects() - s->objects);
    for (int i = 0; i < 100 && fault_blocks() != s->blocks; ++i) // a driver's thread may be the last to let go
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    ck_assert_msg(fault_blocks() == s->blocks, "%s: %ld blocks of host memory are left", s->text,
                  fault_blocks() - s->blocks);
}

// False where the variant cannot prepare it, as weights to be packed.
static bool begin(subject *s)
{
    s->objects = fault_objects();
    s->blocks = fault_blocks();
    char reason[BENCH_REASON_TEXT] = "";
    void *session = NULL;
    const bench_open_options open = {.device = NULL};
    const bench_prepare_options options = {.form = s->form};
    ck_assert_msg(bench_runner_husk.open(&open, &session, reason) == BENCH_OK, "%s", reason);
    s->session = session;
    const bench_answer answer = bench_runner_husk.prepare(session, &s->c, &s->data, &options, &s->state, reason);
    ck_assert_msg(answer == BENCH_OK || answer == BENCH_UNSUPPORTED, "%s: %s", s->text, reason);
    if (answer != BENCH_OK)
        close_session(s);
    return answer == BENCH_OK;
}

static void end(subject *s)
{
    bench_runner_husk.release(s->state);
    s->state = NULL;
    close_session(s);
}

// What the outputs hold now, against the reference.
static void expect_present(subject *s, const char *when)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_output output = {0};
    bench_verdict verdict;
    bench_details details = {0};
    ck_assert(bench_output_make(&s->c, &s->data, &output, reason));
    const bench_answer answer = bench_runner_husk.read(s->state, &output, reason);
    ck_assert_msg(answer == BENCH_OK, "%s, %s: %s", s->text, when, reason);
    bench_runner_husk.details(s->state, &details);
    const bench_verify_options options = {
        .seed = 1, .error_factor = details.error_factor, .widening = details.widening};
    bench_verdict_begin(&verdict);
    bench_op_get(s->c.op)->verify(&s->c, &s->data, &output, &options, &verdict);
    ck_assert_msg(verdict.pass, "%s, %s: %s", s->text, when, verdict.text);
    bench_output_free(&output);
}

// A run and its result.
static void expect_right(subject *s, const char *when)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_answer answer = bench_runner_husk.reset(s->state, reason);
    if (answer == BENCH_OK)
        answer = bench_runner_husk.run(s->state, reason);
    ck_assert_msg(answer == BENCH_OK, "%s, %s: %s", s->text, when, reason);
    expect_present(s, when);
}

// A queue keeps its last error through calls that succeed: what stands there before a fault has to be none that a fault
// could have left.
static void forget_error(subject *s)
{
    husk_queue *queue = bench_husk_job_of(s->state)->queue;
    ck_assert_int_eq(husk_buffer_write(queue, NULL, 0, 0, NULL), HUSK_INVALID_ARGUMENT);
}

// What the queue says after a call that failed; answered is the status that it had, and its text.
static void expect_explained(const subject *s, const fault *f, long number, const char *call, const char *answered)
{
    const husk_error *error = husk_queue_error(bench_husk_job_of(s->state)->queue);
    const char *name = husk_status_name(error->status);
    ck_assert_msg(strncmp(answered, name, strlen(name)) == 0 && answered[strlen(name)] == ':',
                  "%s: %s at %ld (%s): the call answers %.60s, and the queue says %s: %s", s->text, f->name, number,
                  call ? call : "", answered, name, error->text);
    // A launch or a build for which resources do not suffice is the variant's fault, and another one's chance. Some
    // drivers have no other word for memory.
    const bool is_launch = call && strcmp(call, "clEnqueueNDRangeKernel") == 0 && error->status == HUSK_UNSUPPORTED;
    const bool is_build = call && strcmp(call, "clBuildProgram") == 0 && error->status == HUSK_BUILD_FAILED;
    const bool is_memory = call && strcmp(call, "clCreateBuffer") == 0 && error->status == HUSK_OUT_OF_MEMORY;
    ck_assert_msg(error->status == f->status ||
                      (f->code == CL_OUT_OF_RESOURCES && (is_launch || is_build || is_memory)),
                  "%s: %s at %ld (%s) answers %s: %s", s->text, f->name, number, call ? call : "",
                  husk_status_name(error->status), error->text);
    if (call) {
        ck_assert_msg(strstr(error->text, call) && strstr(error->text, f->name), "%s: %s of %s (%ld) is told as: %s",
                      s->text, f->name, call, number, error->text);
        ck_assert_msg(error->opencl_code == f->code, "%s: %s of %s (%ld): opencl_code is %d: %s", s->text, f->name,
                      call, number, (int)error->opencl_code, error->text);
    } else
        ck_assert_msg(strstr(error->text, "memory") && error->opencl_code == 0,
                      "%s: an allocation (%ld) is told as: %s (%d)", s->text, number, error->text,
                      (int)error->opencl_code);
    const char *op = bench_op_get(s->c.op)->name;
    const bool is_of_parts = strstr(s->text, "form=composed") != NULL; // several public calls
    ck_assert_msg(strncmp(error->text, "husk_", 5) == 0 &&
                      (is_of_parts || strncmp(error->text + 5, op, strlen(op)) == 0 ||
                       strncmp(error->text, "husk_queue_finish:", 18) == 0),
                  "%s: the text begins without the public call: %s", s->text, error->text);
    ck_assert_msg(husk_context_status(s->session->context) == HUSK_OK, "%s: %s at %ld lost the context", s->text,
                  f->name, number);
}

// One fault in one run. False where the run was over before.
static bool plant(subject *s, const fault *f, long number, tally *t)
{
    char reason[BENCH_REASON_TEXT] = "", when[200];
    ck_assert_msg(bench_runner_husk.reset(s->state, reason) == BENCH_OK, "%s: %s", s->text, reason);
    forget_error(s);
    arm(f, number);
    const bench_answer answer = bench_runner_husk.run(s->state, reason);
    const bool met = reached(f) >= number;
    const char *call = fault_name();
    disarm();
    snprintf(when, sizeof when, "after %s at %ld (%s)", f->name, number, call ? call : "");
    if (!met)
        return false;
    ++t->points;
    if (answer != BENCH_OK) {
        ++t->answered;
        expect_explained(s, f, number, call, reason);
    } else {
        ++t->survived; // what need not fail may go on, to a right result
        expect_present(s, when);
    }
    expect_right(s, when);
    ++t->clean;
    return true;
}

enum { SAMPLE = 9 }; // coprime to FAULTS: each fault meets each call somewhere

static bool has_all(void)
{
    return test_tier_is("faults");
}

static long first_of(int f, int number)
{
    return has_all() ? 1 : 1 + (f + (long)FAULTS * number) % SAMPLE;
}

static long step(void)
{
    return has_all() ? 1 : SAMPLE;
}

static void sweep_warm(subject *s, int number_of_case)
{
    ck_assert(begin(s));
    expect_right(s, "without a fault");
    for (int f = 0; f < FAULTS; ++f)
        for (long number = first_of(f, number_of_case); plant(s, &faults[f], number, &warm); number += step())
            ck_assert_int_lt(number, MOST_CALLS);
    end(s);
}

static void sweep_cold(subject *s, int number_of_case)
{
    for (int f = 0; f < FAULTS; ++f) {
        bool met = true;
        for (long number = first_of(f, number_of_case); met; number += step()) {
            ck_assert_int_lt(number, MOST_CALLS);
            ck_assert(begin(s));
            met = plant(s, &faults[f], number, &cold);
            end(s);
        }
    }
}

// ---- the cases: of the list memory the first that each operator, direction and variant computes; spare ones, for
// variants that none of those computes, are every case of memory and races by every variant ----

enum { MOST_CASES = 6000, TEXT = BENCH_CASE_TEXT + 80 };
static char cases[MOST_CASES][TEXT]; // "CASE --variant NAME"
static char keys[MOST_CASES][160]; // "OPERATOR DIRECTION NAME"
static int rows[MOST_CASES]; // the length of "OPERATOR DIRECTION "
static bool is_spare[MOST_CASES];
static bool is_swept[MOST_CASES], is_swept_cold[MOST_CASES];
static int case_count;

// Before the tests begin: a mistake in the list of cases.
static void stop(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void add_case(const bench_case *c, const char *line, const char *variant, bool spare)
{
    if (case_count == MOST_CASES)
        stop(line, "there are more cases than the test has room for");
    char *key = keys[case_count];
    rows[case_count] = snprintf(key, sizeof keys[0], "%s %d ", bench_op_row(c), (int)c->dir);
    snprintf(key + rows[case_count], sizeof keys[0] - (size_t)rows[case_count], "%s", variant);
    is_spare[case_count] = spare;
    snprintf(cases[case_count++], TEXT, "%s --variant %s", line, variant);
}

// Whether the key of case i was swept; of a spare one, its variant in any configuration.
static bool has_its_sweep(int i)
{
    const size_t length = strlen(keys[i]);
    for (int k = 0; k < case_count; ++k)
        if (is_swept[k] && strncmp(keys[k], keys[i], length) == 0 &&
            (!keys[k][length] || (is_spare[i] && keys[k][length] == ':')))
            return true;
    return false;
}

static bool is_row_cold(const char *key, size_t row)
{
    for (int k = 0; k < case_count; ++k)
        if (is_swept_cold[k] && strncmp(keys[k], key, row) == 0)
            return true;
    return false;
}

// HUSK_TEST_ROWS names the operators and gradients that are swept, with blanks between; NULL: all.
static const char *wanted_rows(void)
{
    const char *rows_text = getenv("HUSK_TEST_ROWS");
    return rows_text && *rows_text ? rows_text : NULL;
}

static bool is_wanted(const char *row)
{
    const char *wanted = wanted_rows();
    const size_t length = strlen(row);
    if (!wanted)
        return true;
    for (const char *at = wanted; *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strcspn(at, " ") == length && strncmp(at, row, length) == 0)
            return true;
    }
    return false;
}

// A line names a variant, or is for all of them, as a spare one is. CLBlast's calls are its own.
static void add_line(char *line, bool spare)
{
    char reason[BENCH_REASON_TEXT];
    char *variant = strstr(line, " --variant ");
    bench_case c;
    if (variant)
        *variant = 0;
    if (!bench_case_parse(line, &c, reason))
        stop(line, reason);
    if (!is_wanted(bench_op_row(&c)))
        return;
    if (variant && !spare)
        add_case(&c, line, variant + strlen(" --variant "), spare);
    const char *name;
    for (size_t i = 0; (!variant || spare) && (name = husk_op_variant(bench_op_row(&c), i)); ++i)
        if (strcmp(name, "clblast") != 0)
            add_case(&c, line, name, spare);
}

static void list_cases(const char *list, bool spare)
{
    char *lines = bench_op_lists(list), *next;
    if (!lines || !*lines)
        stop(list, "no operator has cases for it");
    for (char *line = lines; *line; line = next) {
        next = line + strcspn(line, "\n");
        *next++ = 0;
        add_line(line, spare);
    }
    free(lines);
}

// What a matrix engine computes alone.
static bool is_of_engine(const char *variant)
{
    const size_t length = strcspn(variant, ":");
    return (length == 6 && strncmp(variant, "matrix", 6) == 0) ||
           (length == 10 && strncmp(variant, "cpu_matrix", 10) == 0);
}

// A device's own engine, or else a soft one; none that the variant does not need, since others are chosen beside it.
static void allow_engines(const char *variant)
{
    if (is_of_engine(variant))
        test_setenv("HUSK_ENGINES", "nv_mma,amd_mfma,amd_wmma,intel_dpas,amx,soft_nv_mma,soft_amx");
    else
        test_restore_environment();
}

static void read_case(const char *text, subject *s)
{
    char line[TEXT], reason[BENCH_REASON_TEXT];
    snprintf(line, sizeof line, "%s", text);
    char *variant = strstr(line, " --variant ");
    snprintf(s->form, sizeof s->form, "%s", variant + strlen(" --variant "));
    snprintf(s->text, sizeof s->text, "%s", text);
    allow_engines(s->form);
    *variant = 0;
    ck_assert_msg(bench_case_parse(line, &s->c, reason), "%s: %s", line, reason);
    ck_assert_msg(bench_data_make(&s->c, &s->data, reason), "%s: %s", line, reason);
}

// Whether the variant computes the case at all.
static bool computes(subject *s)
{
    char reason[BENCH_REASON_TEXT] = "";
    if (!begin(s))
        return false;
    const bench_answer answer = bench_runner_husk.run(s->state, reason);
    end(s);
    ck_assert_msg(answer == BENCH_OK || answer == BENCH_UNSUPPORTED, "%s: %s", s->text, reason);
    return answer == BENCH_OK;
}

START_TEST(every_fault_is_answered)
{
    subject s = {0};
    const tally before_cold = cold, before_warm = warm;
    if (has_its_sweep(_i))
        return;
    read_case(cases[_i], &s);
    if (computes(&s)) {
        is_swept[_i] = true;
        sweep_warm(&s, _i);
        if (!is_row_cold(keys[_i], (size_t)rows[_i]) || is_of_engine(s.form)) {
            is_swept_cold[_i] = true;
            sweep_cold(&s, _i);
        }
        printf("%s: %ld cold, %ld warm\n", s.text, cold.points - before_cold.points, warm.points - before_warm.points);
        fflush(stdout);
    }
    bench_data_free(&s.c, &s.data);
    test_restore_environment();
}
END_TEST

// Variants that no case here has to meet, and why.
static const struct {
    const char *row, *variant, *why;
} exceptions[] = {
    {"gemm", "clblast", "its OpenCL calls are another library's"},
};

static const char *exception_of(const char *row, const char *variant)
{
    for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; ++i)
        if (strcmp(exceptions[i].row, row) == 0 && strcmp(exceptions[i].variant, variant) == 0)
            return exceptions[i].why;
    return NULL;
}

// Every operator and gradient in every variant, but for the exceptions.
START_TEST(every_row_was_swept)
{
    int swept = 0, excepted = 0, missed = 0;
    for (int op = 0; op < BENCH_OP_COUNT; ++op)
        for (int dir = 0; dir < BENCH_DIRECTIONS; ++dir) {
            const bench_case c = {.op = (bench_op_kind)op, .dir = (bench_direction)dir};
            const char *row = bench_op_row(&c), *variant;
            char key[160];
            if (row && !is_wanted(row))
                continue;
            const int length = row ? snprintf(key, sizeof key, "%s %d ", row, dir) : 0;
            ck_assert_msg(!row || is_row_cold(key, (size_t)length), "%s was not swept", row);
            for (size_t i = 0; row && (variant = husk_op_variant(row, i)); ++i) {
                bool any = false;
                snprintf(key + length, sizeof key - (size_t)length, "%s", variant);
                for (int k = 0; k < case_count; ++k)
                    any = any || (is_swept[k] && strncmp(keys[k], key, strlen(key)) == 0 &&
                                  (!keys[k][strlen(key)] || keys[k][strlen(key)] == ':'));
                const char *why = any ? NULL : exception_of(row, variant);
                swept += any;
                excepted += why != NULL;
                missed += !any && !why;
                if (!any)
                    printf("not swept: %s %s: %s\n", row, variant, why ? why : "it computes no case here");
            }
        }
    printf("variants: %d swept, %d exceptions, %d missed\n", swept, excepted, missed);
    ck_assert_msg(missed == 0, "%d variants were not swept: the cases here or the exceptions want one more", missed);
}
END_TEST

START_TEST(enough_was_planted)
{
    printf("injection points: %ld cold (%ld answered, %ld survived), %ld warm (%ld answered, %ld survived); "
           "all well after %ld\n",
           cold.points, cold.answered, cold.survived, warm.points, warm.answered, warm.survived,
           cold.clean + warm.clean);
    ck_assert_int_eq(cold.clean + warm.clean, cold.points + warm.points);
    // Queries of the device and what else may be done without go on; most of what fails is told.
    ck_assert_int_gt(cold.answered, cold.survived);
    ck_assert_int_gt(warm.answered, warm.survived);
    ck_assert_int_ge(cold.points + warm.points, wanted_rows() ? 1 : has_all() ? 10000 : 1500);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fault_sweep");
    TCase *tests = tcase_create("fault_sweep");
    list_cases("memory", false);
    list_cases("memory", true);
    list_cases("races", true);
    // Thousands of contexts build the same programs, for which PoCL's own cache is the fastest; Husk's is on in
    // tests/runtime/test_fault.c.
    setenv("HUSK_CACHE", "0", 1);
    tcase_set_timeout(tests, 1800);
    tcase_add_loop_test(tests, every_fault_is_answered, 0, case_count);
    tcase_add_test(tests, every_row_was_swept);
    tcase_add_test(tests, enough_was_planted);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
