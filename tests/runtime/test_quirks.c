// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=120
// What compilers get wrong: a probe says yes where the kernel computes what a wrong compiler would make of it, and no
// where it computes what is right; and what programs are built with depends on the answer.
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <husk/husk.h>

#include "runtime/context_struct.h"
#include "runtime/launch.h"
#include "runtime/quirk.h"
#include "support/environment.h"
#include "support/support.h"
#include "support/wrong_kernels.h"

static char kernels[] = "/tmp/husk-quirks-XXXXXX";
static char said[4096];

static void hear(void *user, husk_log_level level, const char *text)
{
    (void)user;
    if (level == HUSK_LOG_INFORMATION)
        snprintf(said, sizeof said, "%.4000s", text);
}

static husk_context *make_context(void)
{
    husk_context *context = NULL;
    husk_error error = {0};
    const husk_context_params params = HUSK_CONTEXT_PARAMS(.log = hear);
    said[0] = 0;
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
    return context;
}

/* Whether a context whose kernels have this mistake says that its compiler has the quirk. */
static bool is_found(husk_quirk quirk, const char *right, const char *wrong)
{
    test_copy_kernels(strcpy(kernels, "/tmp/husk-quirks-XXXXXX"));
    test_plant(kernels, "runtime/quirks.cl", right, wrong);
    test_setenv("HUSK_KERNEL_DIR", kernels);
    husk_context *context = make_context();
    const bool found = husk_context_has_quirk(context, quirk);
    ck_assert_int_eq(husk_context_has_quirk(context, quirk), found);
    husk_context_release(context);
    test_restore_environment();
    test_remove_kernels(kernels);
    return found;
}

START_TEST(what_a_wrong_compiler_makes_is_found)
{
    ck_assert(is_found(HUSK_QUIRK_LOCAL_LOAD, "= first;", "= scratch[63 - item];"));
    ck_assert_ptr_nonnull(strstr(said, "quirk local_load: "));
    ck_assert_ptr_nonnull(strstr(said, husk_quirk_advice(HUSK_QUIRK_LOCAL_LOAD)));
    ck_assert(is_found(HUSK_QUIRK_LOOP_EXIT, "j < n; j += 4", "j <= n; j += 4"));
    ck_assert_ptr_nonnull(strstr(said, "quirk loop_exit: "));
    /* one element too few is wrong, too */
    ck_assert(is_found(HUSK_QUIRK_LOOP_EXIT, "vstore4(sum, 0, y + j);", "y[j] = sum.x;"));
}
END_TEST

/* A kernel that could not be run is no answer, whichever way it failed; who asks for yes or no is told no. */
START_TEST(what_cannot_be_run_is_not_tried)
{
    test_copy_kernels(strcpy(kernels, "/tmp/husk-quirks-XXXXXX"));
    test_plant(kernels, "runtime/quirks.cl", "= first;", "= no_such_name;");
    test_setenv("HUSK_KERNEL_DIR", kernels);
    husk_context *context = make_context();
    for (int i = 0; i < 2; i++) {
        husk_error error = {0};
        bool has = true;
        ck_assert_int_eq(husk_context_quirk(context, HUSK_QUIRK_LOCAL_LOAD, &has, &error), HUSK_BUILD_FAILED);
        ck_assert(!has);
        ck_assert_msg(strstr(error.text, "kernel file runtime/quirks.cl does not build") != NULL, "%s", error.text);
        ck_assert(!husk_context_has_quirk(context, HUSK_QUIRK_LOCAL_LOAD));
        ck_assert_int_eq(husk_context_quirk(context, HUSK_QUIRK_ASSEMBLY, &has, &error), HUSK_OK);
        ck_assert_int_eq(husk_context_has_quirk(context, HUSK_QUIRK_ASSEMBLY), has);
    }
    husk_context_release(context);
    test_restore_environment();
    test_remove_kernels(kernels);
}
END_TEST

START_TEST(what_is_no_question_is_refused)
{
    husk_error error;
    bool has = true;
    ck_assert_int_eq(husk_context_quirk(NULL, HUSK_QUIRK_FLUSH, &has, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_context_quirk(test_context(), (husk_quirk)99, &has, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_context_quirk(test_context(), HUSK_QUIRK_FLUSH, NULL, &error), HUSK_INVALID_ARGUMENT);
    ck_assert(!has);
}
END_TEST

static bool is_cpu(void)
{
    return husk_context_traits(test_context())->device_class == HUSK_DEVICE_CPU;
}

/* Some devices flush denormal numbers without being told, as the probe of FLUSH finds. */
static bool flushes_anyway(void)
{
    husk_context_has_quirk(test_context(), HUSK_QUIRK_FLUSH);
    return atomic_load(&test_context()->flushes_anyway);
}

/* Some compilers take the option and keep denormal numbers all the same, as the probe's own kernel shows: Mesa's. */
static bool is_deaf(void)
{
    enum { COUNT = 32 }; // two vectors
    static const husk__range one_item = {{1, 1, 1}, {1, 1, 1}};
    float values[COUNT] = {1e-30f, 1e-9f};
    husk_error error;
    const husk__scope scope = {"test", &error};
    const husk__kernel *kernel;
    husk_buffer *buffer;
    test_ok_error(husk__kernel_get(test_context(), "runtime/quirks.cl", "-DQUIRK_FLUSH -cl-denorms-are-zero",
                                   "husk_runtime_quirk", &kernel, &scope),
                  &error);
    test_ok_error(husk_buffer_create(test_context(), sizeof values, &buffer, &error), &error);
    test_ok(husk_buffer_write(test_queue(), buffer, 0, sizeof values, values));
    test_ok_error(HUSK__LAUNCH(test_queue(), kernel, &one_item, &scope, HUSK__ARG_BUFFER(buffer, 0, sizeof(float)),
                               HUSK__ARG_I32(1), HUSK__ARG_I32(1)),
                  &error);
    test_ok(husk_buffer_read(test_queue(), buffer, 0, sizeof values, values));
    husk_buffer_release(buffer);
    return values[2] != 0.0f;
}

/* Four times the work where denormal numbers are flushed, which the kernel itself can see. */
#define SLOWER_WHERE_FLUSHED "round < (small == 0.0f ? 4 : 1) * rounds"

START_TEST(flushing_that_costs_time_is_found)
{
    if (!is_cpu() || flushes_anyway() || is_deaf()) // there both programs are as slow
        return;
    ck_assert(is_found(HUSK_QUIRK_FLUSH, "round < rounds", SLOWER_WHERE_FLUSHED));
    ck_assert_ptr_nonnull(strstr(said, "quirk flush: "));
}
END_TEST

START_TEST(what_runs_into_no_fault_is_none)
{
    /* an output that nobody has to read again, a loop that ends: right whatever the compiler does */
    ck_assert(!is_found(HUSK_QUIRK_LOCAL_LOAD, "= first;", "= 1.0f;"));
    ck_assert(!is_found(HUSK_QUIRK_LOOP_EXIT, "for (int j = 0; j < n; j += 4) {", "for (int j = 0; j == 0; j += 4) {"));
    ck_assert(!husk_context_has_quirk(NULL, HUSK_QUIRK_FLUSH));
    ck_assert(!husk_context_has_quirk(test_context(), (husk_quirk)99));
    ck_assert_str_eq(husk_quirk_name((husk_quirk)99), "unknown");
    ck_assert_str_eq(husk_quirk_text((husk_quirk)99), "");
    ck_assert_str_eq(husk_quirk_advice((husk_quirk)99), "");
    for (int quirk = HUSK_QUIRK_LOCAL_LOAD; quirk <= HUSK_QUIRK_ASSEMBLY; quirk++) {
        ck_assert_str_ne(husk_quirk_name((husk_quirk)quirk), "unknown");
        ck_assert_str_ne(husk_quirk_text((husk_quirk)quirk), "");
        ck_assert_str_ne(husk_quirk_advice((husk_quirk)quirk), "");
    }
}
END_TEST

/* How many of the programs written to the folder, each with its options in the first line, have this one. */
static int count_options(const char *folder, const char *wanted, int *programs)
{
    int count = 0;
    DIR *directory = opendir(folder);
    ck_assert_ptr_nonnull(directory);
    *programs = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        char path[512], line[1024] = "";
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        FILE *file = fopen(path, "r");
        ck_assert_ptr_nonnull(file);
        ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
        fclose(file);
        remove(path);
        if (strncmp(entry->d_name, "runtime_", 8) == 0) // the probes themselves
            continue;
        ++*programs;
        count += strstr(line, wanted) != NULL;
    }
    closedir(directory);
    return count;
}

/* A program of an operator, built where the probe's kernel has this mistake: does it flush? */
static bool flushes(const char *right, const char *wrong)
{
    char programs[] = "/tmp/husk-programs-XXXXXX";
    int count;
    ck_assert_ptr_nonnull(mkdtemp(programs));
    test_copy_kernels(strcpy(kernels, "/tmp/husk-quirks-XXXXXX"));
    if (right)
        test_plant(kernels, "runtime/quirks.cl", right, wrong);
    test_setenv("HUSK_KERNEL_DIR", kernels);
    test_setenv("HUSK_PROGRAM_DIR", programs);
    husk_context *context = make_context();
    husk_error error = {0};
    const char *op = "grad_scale";
    test_ok_error(husk_context_prewarm(context, &op, 1, &error), &error);
    husk_context_release(context);
    test_restore_environment();
    const int flushing = count_options(programs, "-cl-denorms-are-zero", &count);
    rmdir(programs);
    test_remove_kernels(kernels);
    ck_assert_int_gt(count, 0);
    ck_assert_msg(flushing == 0 || flushing == count, "%d of %d programs flush", flushing, count);
    return flushing > 0;
}

START_TEST(programs_flush_where_it_is_needed_and_free)
{
    if (!is_cpu()) {
        ck_assert(flushes(NULL, NULL));
        return;
    }
    const bool is_free = !husk_context_has_quirk(test_context(), HUSK_QUIRK_FLUSH);
    ck_assert_int_eq(flushes(NULL, NULL), is_free && !flushes_anyway());
    if (flushes_anyway()) // a device that keeps them has answered already
        ck_assert_int_eq(flushes("y[2] = small;", "y[2] = 1.0f;"), is_free);
    if (!is_deaf())
        ck_assert(!flushes("round < rounds", SLOWER_WHERE_FLUSHED));
    ck_assert(!flushes("y[2] = small;", "y[2] = 0.0f;")); // flushed without being told
}
END_TEST

// A processor may run at half its speed, and be at full speed again from one launch to the next.
START_TEST(a_machine_that_changes_its_speed_is_no_cost_of_flushing)
{
    enum { LAUNCHES = 2 * HUSK__FLUSH_PAIRS };
    for (int from = 0; from <= LAUNCHES; from++) {
        for (int to = from; to <= LAUNCHES; to++) { // slow from one launch to another
            uint64_t flushing[HUSK__FLUSH_PAIRS], plain[HUSK__FLUSH_PAIRS];
            uint64_t dear[HUSK__FLUSH_PAIRS], dearer[HUSK__FLUSH_PAIRS];
            for (int i = 0; i < HUSK__FLUSH_PAIRS; i++) {
                flushing[i] = 2 * i >= from && 2 * i < to ? 210 : 100;
                plain[i] = 2 * i + 1 >= from && 2 * i + 1 < to ? 210 : 100;
                dear[i] = 2 * flushing[i];
                dearer[i] = 4 * flushing[i];
            }
            ck_assert_msg(!husk__flush_costs(flushing, plain), "slow from launch %d to %d", from, to);
            ck_assert_msg(husk__flush_costs(dear, plain), "slow from launch %d to %d", from, to);
            ck_assert_msg(husk__flush_costs(dearer, plain), "slow from launch %d to %d", from, to);
        }
    }
}
END_TEST

// Where other processes want the processors every other launch waits for its turn, three to thirty times as long.
START_TEST(other_processes_are_no_cost_of_flushing)
{
    husk_ref_random random = {.seed = 4};
    for (int draw = 0; draw < 2000; draw++) {
        uint64_t flushing[HUSK__FLUSH_PAIRS], plain[HUSK__FLUSH_PAIRS];
        for (int i = 0; i < HUSK__FLUSH_PAIRS; i++) {
            const uint64_t waits[] = {
                (uint64_t)(test_one_in(&random, 2) ? 300 + husk_ref_random_below(&random, 2700) : 0),
                (uint64_t)(test_one_in(&random, 2) ? 300 + husk_ref_random_below(&random, 2700) : 0)};
            flushing[i] = 100 + waits[0];
            plain[i] = 100 + waits[1];
        }
        ck_assert_msg(!husk__flush_costs(flushing, plain), "draw %d", draw);
    }
}
END_TEST

// Four busy processes a processor: what is answered is what is answered on an idle machine.
START_TEST(a_busy_machine_changes_no_answer)
{
    enum { MOST = 256 };
    pid_t busy[MOST];
    int begun = 0;
    if (!is_cpu() || flushes_anyway() || is_deaf())
        return;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const int count = processors < MOST / 4 ? (int)(4 * processors) : MOST;
    const bool is_slow = husk_context_has_quirk(test_context(), HUSK_QUIRK_FLUSH);
    for (; begun < count; begun++) {
        busy[begun] = fork();
        if (busy[begun] == 0) {
            execl("/bin/sh", "sh", "-c", "while :; do :; done", (char *)NULL);
            _exit(1);
        }
        if (busy[begun] < 0) // as many as there may be
            break;
    }
    int found = 0, answered = 0;
    for (int i = 0; i < 4; i++) {
        found += is_found(HUSK_QUIRK_FLUSH, "round < rounds", "round < (small == 0.0f ? 3 : 1) * rounds");
        answered += is_found(HUSK_QUIRK_FLUSH, "y[2] = small;", "y[2] = 1.0f * small;");
    }
    for (int i = 0; i < begun; i++) {
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
    }
    ck_assert_int_gt(begun, 0);
    ck_assert_int_eq(found, 4);
    ck_assert_int_eq(answered, is_slow ? 4 : 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quirks");
    TCase *tests = tcase_create("quirks");
    tcase_add_test(tests, what_a_wrong_compiler_makes_is_found);
    tcase_add_test(tests, flushing_that_costs_time_is_found);
    tcase_add_test(tests, a_machine_that_changes_its_speed_is_no_cost_of_flushing);
    tcase_add_test(tests, other_processes_are_no_cost_of_flushing);
    tcase_add_test(tests, a_busy_machine_changes_no_answer);
    tcase_add_test(tests, what_runs_into_no_fault_is_none);
    tcase_add_test(tests, what_cannot_be_run_is_not_tried);
    tcase_add_test(tests, what_is_no_question_is_refused);
    tcase_add_test(tests, programs_flush_where_it_is_needed_and_free);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
