// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind
// Programs from files on disk (HUSK_KERNEL_DIR), build errors that name file and line, launches, and limits.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/call.h"
#include "runtime/kernel_source.h"
#include "runtime/launch.h"
#include "support/environment.h"
#include "support/support.h"

static char directory[] = "/tmp/husk-kernels-XXXXXX";
static husk_context *context;
static husk_queue *queue;
static char last_log[8192];

static void keep_log(void *user, husk_log_level level, const char *text)
{
    (void)user;
    if (level >= HUSK_LOG_WARNING)
        snprintf(last_log, sizeof last_log, "%s", text);
}

static void put(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void setup(void)
{
    husk_error error = {0};
    husk_context_params params = HUSK_CONTEXT_PARAMS(.log = keep_log, .cache = HUSK_CACHE_OFF);
    char library[128];
    strcpy(directory + sizeof directory - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(library, sizeof library, "%s/lib", directory);
    ck_assert_int_eq(mkdir(library, 0700), 0);
    put("lib/twice.clh", "// a library\n#define TWICE(x) ((x) * FACTOR)\n");
    put("test_twice.cl", "#ifndef FACTOR\n#error FACTOR is missing\n#endif\n#include \"lib/twice.clh\"\n"
                         "__kernel void husk_test_twice(__global float *x, long offset, int count)\n"
                         "{\n    int i = (int)get_global_id(0);\n    if (i < count)\n"
                         "        x[offset + i] = TWICE(x[offset + i]);\n}\n"
                         "__attribute__((reqd_work_group_size(64, 1, 1)))\n"
                         "__kernel void husk_test_wide(__global float *x, long offset) { x[offset] = 1.0f; }\n");
    test_setenv("HUSK_KERNEL_DIR", directory);
    last_log[0] = 0;
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
    test_ok_error(husk_queue_create(context, NULL, &queue, &error), &error);
}

static void teardown(void)
{
    char command[200];
    husk_queue_release(queue);
    husk_context_release(context);
    test_restore_environment();
    snprintf(command, sizeof command, "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
}

static husk_status get(const char *file, const char *options, const char *name, const husk__kernel **kernel,
                       husk_error *error)
{
    *error = (husk_error){0};
    husk__scope scope = {"husk_test", error};
    return husk__kernel_get(context, file, options, name, kernel, &scope);
}

START_TEST(a_kernel_builds_once_and_runs)
{
    husk_error error;
    husk__scope scope = {"husk_test", &error};
    const husk__kernel *kernel = NULL, *again = NULL, *other = NULL;
    husk_program_stats stats;
    test_ok_error(get("test_twice.cl", "-DFACTOR=2", "husk_test_twice", &kernel, &error), &error);
    test_ok_error(get("test_twice.cl", "-DFACTOR=2", "husk_test_twice", &again, &error), &error);
    ck_assert_ptr_eq(kernel, again);
    test_ok_error(get("test_twice.cl", "-DFACTOR=3", "husk_test_twice", &other, &error), &error);
    ck_assert_ptr_ne(kernel, other);
    husk_context_program_stats(context, &stats);
    ck_assert_uint_eq(stats.builds, 2);
    ck_assert_uint_gt(stats.build_ns, 0);

    float values[6] = {1, 2, 3, 4, 5, 6};
    husk_buffer *buffer = NULL, *view = NULL;
    test_ok_error(husk_buffer_create(context, sizeof values, &buffer, &error), &error);
    test_ok_error(husk_buffer_view(buffer, 4, 20, &view, &error), &error);
    test_ok(husk_buffer_write(queue, buffer, 0, sizeof values, values));
    /* element 1 of a view that begins at element 1: elements 2, 3, 4 */
    husk_tensor tensor = husk_tensor_make(view, HUSK_F32, 1, (int64_t[]){3});
    tensor.offset = 1;
    husk__range range = {{2, 1, 1}, {2, 1, 1}};
    test_ok_error(HUSK__LAUNCH(queue, kernel, &range, &scope, HUSK__ARG_TENSOR(&tensor), HUSK__ARG_I32(3)), &error);
    test_ok_error(HUSK__LAUNCH(queue, other, &range, &scope, HUSK__ARG_TENSOR(&tensor), HUSK__ARG_I32(1)), &error);
    test_ok(husk_buffer_read(queue, buffer, 0, sizeof values, values));
    const float expected[6] = {1, 2, 18, 8, 10, 6};
    ck_assert_mem_eq(values, expected, sizeof values);
    husk_buffer_release(view);
    husk_buffer_release(buffer);
}
END_TEST

START_TEST(no_groups_launch_nothing)
{
    husk_error error;
    husk__scope scope = {"husk_test", &error};
    const husk__kernel *kernel = NULL;
    test_ok_error(get("test_twice.cl", "-DFACTOR=2", "husk_test_twice", &kernel, &error), &error);
    husk__range range = {{1, 0, 1}, {1, 1, 1}};
    test_ok_error(HUSK__LAUNCH(queue, kernel, &range, &scope, HUSK__ARG_TENSOR(NULL), HUSK__ARG_I32(3)), &error);
}
END_TEST

// NVIDIA's compiler counts the lines of the whole program, which begins with nine that are of no file.
START_TEST(a_log_that_counts_the_programs_lines_names_files)
{
    static const struct {
        const char *log, *wanted;
    } cases[] = {
        {"", ""},
        {"test_twice.cl:3:1: error", "test_twice.cl:3:1: error"},
        {"<kernel>:1:2: warning: early", "<kernel>:1:2: warning: early"}, // before any file
        {"<kernel>:17:14: error: one\n  x\n<kernel>:17:14: note: two", "lib/twice.clh:3:14: error: one\n  x\n"
                                                                       "lib/twice.clh:3:14: note: two"},
        {"a <kernel>:11:1 b", "a test_twice.cl:1:1 b"},
        {"<kernel>:19: after", "test_twice.cl:5: after"},
        {"<kernel>:99999: beyond", "test_twice.cl:12: beyond"},
        {"<kernel>:none", "<kernel>:none"},
    };
    husk__text source = {0};
    husk_error error;
    const husk__scope scope = {"husk_test", &error};
    ck_assert_ptr_null(husk__kernel_log_by_files(&source, NULL));
    put("lib/twice.clh", "// a library\n#define TWICE(x) ((x) * FACTOR)\nfloat wrong( { }\n");
    test_ok_error(husk__kernel_source("test_twice.cl", &source, &scope), &error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *log = husk__kernel_log_by_files(&source, strdup(cases[i].log));
        ck_assert_str_eq(log, cases[i].wanted);
        free(log);
    }
    husk__text_free(&source);
}
END_TEST

START_TEST(a_syntax_error_names_file_and_line)
{
    husk_error error;
    const husk__kernel *kernel = NULL;
    put("lib/twice.clh", "// a library\n#define TWICE(x) ((x) * FACTOR)\nfloat wrong( { }\n");
    ck_assert_int_eq(get("test_twice.cl", "-DFACTOR=2", "husk_test_twice", &kernel, &error), HUSK_BUILD_FAILED);
    ck_assert_ptr_null(kernel);
    ck_assert_int_eq(error.status, HUSK_BUILD_FAILED);
    ck_assert_ptr_eq(strstr(error.text, "husk_test: kernel file test_twice.cl"), error.text);
    ck_assert_ptr_nonnull(strstr(error.text, "-DFACTOR=2"));
    /* compilers write file:line:column or file, line */
    ck_assert_msg(strstr(error.text, "lib/twice.clh:3") != NULL, "%s", error.text);
    ck_assert_msg(strstr(last_log, "lib/twice.clh:3") != NULL, "%s", last_log);
    /* the file's own lines go on counting after an include */
    put("lib/twice.clh", "#define TWICE(x) ((x) * FACTOR)\n");
    put("test_other.cl", "#include \"lib/twice.clh\"\n\n__kernel void f(__global float *x) { x[0] = nothing; }\n");
    ck_assert_int_eq(get("test_other.cl", "", "f", &kernel, &error), HUSK_BUILD_FAILED);
    ck_assert_msg(strstr(error.text, "test_other.cl:3") != NULL, "%s", error.text);
}
END_TEST

static size_t refused_bytes; // of an allocation that fails; 0: none does
void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
    if (refused_bytes == 0 || bytes != refused_bytes)
        return __real_malloc(bytes);
    errno = ENOMEM;
    return NULL;
}

// A file that cannot be read for want of memory is no program that does not build, and is read the next time.
START_TEST(want_of_memory_for_a_file_is_no_verdict)
{
    static const char text[] = "/* as long as no other file is */ __kernel void husk_test_alone(__global float *x)\n"
                               "{\n    x[0] = 1.0f;\n}\n";
    husk_error error;
    const husk__kernel *kernel = NULL;
    put("test_alone.cl", text);
    refused_bytes = sizeof text; // with the zero behind it
    ck_assert_int_eq(get("test_alone.cl", NULL, "husk_test_alone", &kernel, &error), HUSK_OUT_OF_HOST_MEMORY);
    ck_assert_msg(strstr(error.text, "test_alone.cl") != NULL, "%s", error.text);
    refused_bytes = 0;
    test_ok_error(get("test_alone.cl", NULL, "husk_test_alone", &kernel, &error), &error);
    ck_assert_int_eq(get("test_nowhere.cl", NULL, "f", &kernel, &error), HUSK_BUILD_FAILED);
}
END_TEST

// Nor is one for which the process has no descriptor left.
START_TEST(want_of_descriptors_for_a_file_is_no_verdict)
{
    husk_error error;
    const husk__kernel *kernel = NULL;
    struct rlimit before;
    put("test_alone.cl", "__kernel void husk_test_alone(__global float *x)\n{\n    x[0] = 1.0f;\n}\n");
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    const int next = open("/dev/null", O_RDONLY);
    ck_assert_int_ge(next, 0);
    close(next);
    struct rlimit few = before;
    few.rlim_cur = (rlim_t)next;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    const husk_status status = get("test_alone.cl", NULL, "husk_test_alone", &kernel, &error);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_eq(status, HUSK_IO);
    ck_assert_msg(strstr(error.text, "test_alone.cl") != NULL && husk__may_pass(&error), "%s", error.text);
    test_ok_error(get("test_alone.cl", NULL, "husk_test_alone", &kernel, &error), &error);
}
END_TEST

START_TEST(a_failed_build_is_remembered)
{
    husk_error error;
    const husk__kernel *kernel = NULL;
    husk_program_stats stats;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(get("test_twice.cl", NULL, "husk_test_twice", &kernel, &error), HUSK_BUILD_FAILED);
        ck_assert_ptr_nonnull(strstr(error.text, "FACTOR is missing"));
    }
    husk_context_program_stats(context, &stats);
    ck_assert_uint_eq(stats.builds, 1);
}
END_TEST

// For AMD's compiler alone inline functions are static, and before the first line of any file.
START_TEST(inline_functions_are_static_for_amd)
{
    husk_error error = {0};
    husk__text source = {0};
    put("test_inline.cl", "inline float twice(float x) { return 2 * x; }\n"
                          "__kernel void husk_test_inline(__global float *x) { x[0] = twice(x[0]); }\n");
    const husk__scope scope = {"husk_test", &error};
    ck_assert_int_eq(husk__kernel_source("test_inline.cl", &source, &scope), HUSK_OK);
    const char *begins = strstr(source.bytes, "#ifdef __AMDGCN__\n#define inline static inline\n#endif\n");
    ck_assert_ptr_eq(begins, source.bytes);
    ck_assert_ptr_nonnull(strstr(begins, "#line 1 \"test_inline.cl\"\ninline float twice"));
    husk__text_free(&source);
}
END_TEST

START_TEST(missing_things_are_named)
{
    husk_error error;
    const husk__kernel *kernel = NULL;
    ck_assert_int_eq(get("nothing.cl", "", "f", &kernel, &error), HUSK_BUILD_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "nothing.cl"));
    ck_assert_ptr_nonnull(strstr(error.text, directory));
    ck_assert_int_eq(get("test_twice.cl", "-DFACTOR=2", "husk_test_thrice", &kernel, &error), HUSK_BUILD_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "husk_test_thrice"));
    put("test_lost.cl", "#include \"lib/lost.clh\"\n");
    ck_assert_int_eq(get("test_lost.cl", "", "f", &kernel, &error), HUSK_BUILD_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "lib/lost.clh"));
    put("lib/round.clh", "#include \"lib/round.clh\"\n");
    put("test_round.cl", "#include \"lib/round.clh\"\n");
    ck_assert_int_eq(get("test_round.cl", "", "f", &kernel, &error), HUSK_BUILD_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "circle"));
}
END_TEST

/* Adreno allows 1024 in two dimensions and 64 in the third; a plan has to know before it runs. */
START_TEST(a_dimension_past_the_limit_is_unsupported)
{
    const husk__kernel *kernel = NULL;
    husk_error error;
    husk_device_traits *traits = (husk_device_traits *)husk_context_traits(context);
    const uint64_t before = traits->work_item_sizes[0];
    traits->work_item_sizes[0] = 32;
    const husk_status status = get("test_twice.cl", "-DFACTOR=2", "husk_test_wide", &kernel, &error);
    traits->work_item_sizes[0] = before;
    ck_assert_int_eq(status, HUSK_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "dimension 0"));
    ck_assert_int_eq(get("test_twice.cl", "-DFACTOR=2", "husk_test_wide", &kernel, &error), HUSK_OK);
}
END_TEST

START_TEST(a_work_group_past_the_limit_is_unsupported)
{
    husk_error error = {0};
    husk__scope scope = {"husk_test", &error};
    const husk__kernel *kernel = NULL;
    husk_device_list *list = NULL;
    const husk_device *device = NULL;
    husk_context *small = NULL;
    test_setenv("HUSK_LIMITS", "work_group=32");
    test_ok_error(husk_device_list_create(&list, &error), &error);
    test_ok_error(husk_device_list_select(list, NULL, &device, &error), &error);
    test_ok_error(husk_context_create(device, NULL, &small, &error), &error);
    husk_device_list_release(list);
    ck_assert_int_eq(husk__kernel_get(small, "test_twice.cl", "-DFACTOR=2", "husk_test_wide", &kernel, &scope),
                     HUSK_UNSUPPORTED);
    ck_assert_msg(strstr(error.text, "64") && strstr(error.text, "32"), "%s", error.text);
    /* a kernel without a work-group size of its own: the launch is checked */
    husk_queue *small_queue = NULL;
    test_ok_error(husk_queue_create(small, NULL, &small_queue, &error), &error);
    test_ok_error(husk__kernel_get(small, "test_twice.cl", "-DFACTOR=2", "husk_test_twice", &kernel, &scope), &error);
    husk__range range = {{1, 1, 1}, {33, 1, 1}};
    ck_assert_int_eq(HUSK__LAUNCH(small_queue, kernel, &range, &scope, HUSK__ARG_TENSOR(NULL), HUSK__ARG_I32(0)),
                     HUSK_UNSUPPORTED);
    husk_queue_release(small_queue);
    husk_context_release(small);
}
END_TEST

/* Threads ask for the same kernels at once: each program is built once, and all get the same kernel. */
enum { THREADS = 6 };

static void *ask(void *argument)
{
    husk_error error = {0};
    husk__scope scope = {"husk_test", &error};
    const husk__kernel **kernels = argument;
    husk__kernel_get(context, "test_twice.cl", "-DFACTOR=7", "husk_test_twice", &kernels[0], &scope);
    husk__kernel_get(context, "test_twice.cl", "-DFACTOR=8", "husk_test_twice", &kernels[1], &scope);
    husk__kernel_get(context, "test_twice.cl", "-DFACTOR=7", "husk_test_wide", &kernels[2], &scope);
    return NULL;
}

START_TEST(threads_share_what_is_built)
{
    pthread_t threads[THREADS];
    const husk__kernel *kernels[THREADS][3] = {{NULL}};
    husk_program_stats stats;
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask, kernels[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < 3; k++) {
            ck_assert_ptr_nonnull(kernels[i][k]);
            ck_assert_ptr_eq(kernels[i][k], kernels[0][k]);
        }
    husk_context_program_stats(context, &stats);
    ck_assert_uint_eq(stats.builds, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("program");
    TCase *tests = tcase_create("program");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_kernel_builds_once_and_runs);
    tcase_add_test(tests, no_groups_launch_nothing);
    tcase_add_test(tests, a_log_that_counts_the_programs_lines_names_files);
    tcase_add_test(tests, a_syntax_error_names_file_and_line);
    tcase_add_test(tests, want_of_memory_for_a_file_is_no_verdict);
    tcase_add_test(tests, want_of_descriptors_for_a_file_is_no_verdict);
    tcase_add_test(tests, a_failed_build_is_remembered);
    tcase_add_test(tests, inline_functions_are_static_for_amd);
    tcase_add_test(tests, missing_things_are_named);
    tcase_add_test(tests, a_dimension_past_the_limit_is_unsupported);
    tcase_add_test(tests, a_work_group_past_the_limit_is_unsupported);
    tcase_add_test(tests, threads_share_what_is_built);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
