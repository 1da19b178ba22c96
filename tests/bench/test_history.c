// SPDX-License-Identifier: MIT
// ctest: timeout=60
// What was measured is kept, found again by its age and its name, and a disk that takes nothing is no disaster.
#include <check.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/json.h"
#include "common/text.h"
#include "compare/history.h"
#include "record/result_file.h"

static char folder[] = "/tmp/husk-test-history-XXXXXX", output[1 << 16], reason[BENCH_REASON_TEXT];

static void begin(void)
{
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(setenv("XDG_DATA_HOME", folder, 1), 0);
}

static void end(void)
{
    char command[200];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

// A kept result under another date, on another device.
static json_t *document(const char *started, const char *driver, const char *case_name)
{
    json_t *root = bench_result_read(HUSK_TESTS_DIR "/bench/data/cpu_result.json", reason);
    ck_assert_msg(root != NULL, "%s", reason);
    json_t *rows = json_object_get(root, "results");
    while (json_array_size(rows) > 1)
        json_array_remove(rows, 1);
    json_object_set_new(root, "started", json_string(started));
    json_object_set_new(json_array_get(rows, 0), "case", json_string(case_name));
    json_object_set_new(json_array_get(json_object_get(root, "devices"), 0), "driver", json_string(driver));
    return root;
}

static void keep(json_t *root)
{
    ck_assert_msg(bench_history_keep(root, reason), "%s", reason);
    json_decref(root);
}

static void expect_name(size_t index, size_t wanted, const char *name)
{
    size_t count;
    char **names = bench_history_names(&count);
    ck_assert_uint_eq(count, wanted);
    ck_assert_str_eq(names[index], name);
    free(names);
}

static void expect_path(const char *word, const json_t *like, const char *name)
{
    char path[BENCH_PATH_TEXT], wanted[200];
    ck_assert_msg(bench_history_resolve(word, like, path, reason), "%s", reason);
    snprintf(wanted, sizeof wanted, "%s/husk/history/%s", folder, name);
    ck_assert_str_eq(path, wanted);
}

START_TEST(results_are_kept_and_found_again)
{
    begin();
    char path[BENCH_PATH_TEXT];
    ck_assert(!bench_history_resolve("last", NULL, path, reason));
    ck_assert_ptr_nonnull(strstr(reason, "has no such result"));
    keep(document("2026-01-01T10:00:00Z", "1", "gemm m=1 n=1 k=1"));
    keep(document("2026-01-02T10:00:00Z", "2", "gemm m=1 n=1 k=1"));
    keep(document("2026-01-03T10:00:00Z", "1", "gemm m=2 n=1 k=1"));
    keep(document("2026-01-04T10:00:00Z", "1", "gemm m=1 n=1 k=1"));
    keep(document("2026-01-04T10:00:00Z", "1", "gemm m=1 n=1 k=1")); // another in the same second
    expect_name(0, 5, "2026-01-01T10-00-00Z.json");
    expect_path("last~1", NULL, "2026-01-04T10-00-00Z.json");
    expect_path("last~4", NULL, "2026-01-01T10-00-00Z.json");
    expect_path("2026-01-02T10-00-00Z", NULL, "2026-01-02T10-00-00Z.json");
    ck_assert(!bench_history_resolve("last~5", NULL, path, reason));
    // Beside another result: of its device, with a case in common, and older.
    json_t *like = document("2026-01-04T10:00:00Z", "1", "gemm m=1 n=1 k=1");
    expect_path("last", like, "2026-01-01T10-00-00Z.json");
    json_decref(like);
    like = document("2026-01-09T10:00:00Z", "3", "gemm m=1 n=1 k=1");
    ck_assert(!bench_history_resolve("last", like, path, reason));
    ck_assert_ptr_nonnull(strstr(reason, "of this device and driver"));
    json_decref(like);
    // What is a file is that file, and what is neither is left as it is.
    ck_assert(bench_history_resolve("/no/such/file", NULL, path, reason));
    ck_assert_str_eq(path, "/no/such/file");
    end();
}
END_TEST

START_TEST(a_run_that_went_on_takes_its_own_place)
{
    begin();
    keep(document("2026-01-01T10:00:00Z", "1", "gemm m=1 n=1 k=1"));
    json_t *resumed = document("2026-01-01T10:00:00Z", "1", "gemm m=2 n=1 k=1");
    json_object_set_new(resumed, "resumed", json_pack("[s]", "2026-01-01T11:00:00Z"));
    keep(resumed);
    expect_name(0, 1, "2026-01-01T10-00-00Z.json");
    end();
}
END_TEST

static json_t *run_of(const char *case_line)
{
    json_t *root = document("2026-01-01T10:00:00Z", "1", case_line);
    json_object_set_new(root, "run", json_pack("{s:[[s, i]]}", "cases", case_line, 1));
    return root;
}

// Two of one second: what went on is the second, and the first is another's.
START_TEST(a_run_that_went_on_leaves_others_alone)
{
    begin();
    keep(run_of("gemm m=1 n=1 k=1"));
    keep(run_of("gemm m=2 n=1 k=1"));
    json_t *resumed = run_of("gemm m=2 n=1 k=1");
    json_object_set_new(resumed, "resumed", json_pack("[s]", "2026-01-01T11:00:00Z"));
    keep(resumed);
    expect_name(0, 2, "2026-01-01T10-00-00Z.json");
    expect_name(1, 2, "2026-01-01T10-00-00Z-2.json");
    char path[BENCH_PATH_TEXT];
    ck_assert(bench_history_resolve("2026-01-01T10-00-00Z", NULL, path, reason));
    json_t *first = json_load_file(path, 0, NULL);
    ck_assert_str_eq(bench_text_of(json_array_get(json_object_get(first, "results"), 0), "case"), "gemm m=1 n=1 k=1");
    json_decref(first);
    end();
}
END_TEST

static int entries(void)
{
    char path[200];
    int count = 0;
    snprintf(path, sizeof path, "%s/husk/history", folder);
    DIR *directory = opendir(path);
    for (struct dirent *e; directory && (e = readdir(directory));)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (directory)
        closedir(directory);
    return count;
}

START_TEST(a_disk_that_takes_nothing_is_said)
{
    begin();
    json_t *root = document("2026-01-01T10:00:00Z", "1", "gemm m=1 n=1 k=1");
    ck_assert_int_eq(setenv("XDG_DATA_HOME", "/dev/null/x", 1), 0);
    ck_assert(!bench_history_keep(root, reason));
    ck_assert_ptr_nonnull(strstr(reason, "/dev/null/x: Not a directory"));
    ck_assert_int_eq(setenv("XDG_DATA_HOME", "/proc/nothing", 1), 0); // where nobody may make a folder
    ck_assert(!bench_history_keep(root, reason));
    ck_assert_int_eq(setenv("XDG_DATA_HOME", folder, 1), 0);
    // As full as a disk can be: the half that was written is taken away.
    struct rlimit before, little;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = before;
    little.rlim_cur = 1000;
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
    const bool kept = bench_history_keep(root, reason);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    ck_assert(!kept);
    ck_assert_msg(strstr(reason, "File too large") != NULL, "%s", reason);
    ck_assert_int_eq(entries(), 0);
    json_decref(root);
    end();
}
END_TEST

START_TEST(folders_follow_the_specification)
{
    char path[BENCH_PATH_TEXT], home[500];
    const char *before = getenv("HOME");
    snprintf(home, sizeof home, "%s", before ? before : "/");
    ck_assert_int_eq(setenv("HOME", "/home/x", 1), 0);
    ck_assert_int_eq(setenv("XDG_DATA_HOME", "/data", 1), 0);
    ck_assert(bench_history_folder(path, reason));
    ck_assert_str_eq(path, "/data/husk/history");
    ck_assert_int_eq(setenv("XDG_DATA_HOME", "relative", 1), 0); // is to be ignored
    ck_assert(bench_history_folder(path, reason));
    ck_assert_str_eq(path, "/home/x/.local/share/husk/history");
    ck_assert_int_eq(unsetenv("HOME"), 0);
    ck_assert(!bench_history_folder(path, reason));
    ck_assert_int_eq(setenv("HOME", home, 1), 0);
}
END_TEST

static void expect(const char *arguments, int code, const char *part)
{
    char command[1000];
    snprintf(command, sizeof command, "cd %s && OCL_ICD_VENDORS=/nonexistent '%s' %s 2>&1 < /dev/null", folder,
             HUSK_CLBENCH, arguments);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
    const int status = pclose(pipe);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == code, "%s: not %d but %d\n%s", arguments, code,
                  WEXITSTATUS(status), output);
    ck_assert_msg(strstr(output, part) != NULL, "%s: '%s' is not in\n%s", arguments, part, output);
}

START_TEST(the_command_lists_and_shows)
{
    char path[200];
    begin();
    expect("history", 0, "0 results in ");
    expect("history show", 2, "has no such result");
    expect("compare last", 2, "has no such result");
    keep(document("2026-01-01T10:00:00Z", "1", "gemm m=1 n=1 k=1"));
    keep(document("2026-01-02T10:00:00Z", "2", "gemm m=1 n=1 k=1"));
    expect("compare last", 2, "of this device and driver");
    keep(document("2026-01-03T10:00:00Z", "1", "gemm m=1 n=1 k=1"));
    expect("history", 0, "3 results in ");
    expect("history list", 0, "2026-01-02T10-00-00Z  Husk 0.1.0");
    expect("history show last~1", 0, "driver 2");
    expect("history show 2026-01-01T10-00-00Z", 0, "gemm m=1 n=1 k=1");
    json_t *all = document("2026-01-04T10:00:00Z", "1", "gemm m=1 n=1 k=1"), *rows = json_object_get(all, "results");
    json_array_append_new(rows, json_deep_copy(json_array_get(rows, 0)));
    static const char *const variants[2] = {"packed", "tiled"};
    for (size_t i = 0; i < 2; i++) {
        json_object_set_new(json_array_get(rows, i), "variant", json_string(variants[i]));
        json_object_set_new(json_array_get(rows, i), "asked", json_string(variants[i]));
    }
    keep(all);
    expect("history show", 0, "gemm m=1 n=1 k=1 (packed)  ok ");
    ck_assert_ptr_nonnull(strstr(output, "gemm m=1 n=1 k=1 (tiled)   ok "));
    snprintf(path, sizeof path, "%s/husk/history/2026-01-04T10-00-00Z.json", folder);
    unlink(path);
    expect("history shwo", 2, "'show'");
    expect("compare last --fail-on never", 0, "old  ");
    ck_assert_ptr_nonnull(strstr(output, "2026-01-01T10-00-00Z.json"));
    expect("compare last~2 last --fail-on never", 0, "2026-01-01T10-00-00Z.json");
    expect("roofline last -o -", 0, "</svg>");
    snprintf(path, sizeof path, "%s/husk/history/2026-02-01T10-00-00Z.json", folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs("{", file);
    fclose(file);
    expect("history", 0, "cannot be read");
    end();
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("history");
    tcase_add_test(tests, results_are_kept_and_found_again);
    tcase_add_test(tests, a_run_that_went_on_takes_its_own_place);
    tcase_add_test(tests, a_run_that_went_on_leaves_others_alone);
    tcase_add_test(tests, a_disk_that_takes_nothing_is_said);
    tcase_add_test(tests, folders_follow_the_specification);
    tcase_add_test(tests, the_command_lists_and_shows);
    Suite *suite = suite_create("history");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
