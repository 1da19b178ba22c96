// SPDX-License-Identifier: MIT
// ctest: timeout=240 processors=1 with=fake_runner
// Runs that are ended before they are over: killed at any moment, interrupted, and gone on with. This program is
// clbench run with a device that computes on the host, so that a run takes seconds and needs no driver.
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "cli/parse.h"
#include "fake_runner.h"
#include "measure/runner_process.h"
#include "system/host.h"
#include "system/timer.h"
#include "record/resume.h"
#include "run/runners.h"
#include "run/run.h"
#include "worker/worker.h"

#define CASES 8
#define KILLS 8

// ---- the device ----

static const char *preference = "";

static const char *environment(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

// FAKE_WAITS, "peaks" or "first": until it is ended, in peaks that are measured again or in a first call. FAKE_MARK is
// a file that says so.
static void wait_for_ever(void)
{
    FILE *file = fopen(environment("FAKE_MARK", "/dev/null"), "w");
    if (file)
        fclose(file);
    for (;;)
        pause();
}

// FAKE_MOVES: a file that the first worker makes. Those that find it are on a device with another driver.
static const char *driver(void)
{
    const char *path = environment("FAKE_MOVES", "");
    if (*path && access(path, F_OK) == 0)
        return "2";
    FILE *file = *path ? fopen(path, "w") : NULL;
    if (file)
        fclose(file);
    return environment("FAKE_DRIVER", "1");
}

// FAKE_SENTINELS is a file with a letter for each: so far is the run.
static void count_sentinel(void)
{
    FILE *file = fopen(environment("FAKE_SENTINELS", "/dev/null"), "a");
    if (!file)
        return;
    fputc('.', file);
    fclose(file);
}

static json_t *device_extra(void *session, const char *what, json_t *request)
{
    (void)session;
    if (!strcmp(what, "hello"))
        return json_pack("{s:s, s:[], s:[], s:{s:s, s:s, s:s, s:s, s:{s:s, s:b, s:i}}}", "status", "HUSK_OK", "devices",
                         "notes", "device", "platform", "Fake", "name", *preference ? preference : "Host", "driver",
                         driver(), "version", "OpenCL 1.2", "traits", "class", "CPU", "is_cpu", 1, "compute_units",
                         atoi(environment("FAKE_UNITS", "1")));
    if (!strcmp(what, "peaks") && *environment("FAKE_PEAKS", ""))
        return json_pack("{s:s, s:s}", "answer", "error", "reason", "busy");
    if (!strcmp(what, "peaks") && *environment("FAKE_WAITS", "") && !json_object_get(request, "part"))
        wait_for_ever();
    if (!strcmp(what, "peaks"))
        return json_pack("{s:s, s:f, s:f, s:f, s:[{s:f, s:f}]}", "answer", "ok", "fma_gflops", 1e6, "launch_ns", 1e3,
                         "trust_ratio", 1.0, "copy", "bytes", 1e5, "gbytes_per_s",
                         *environment("FAKE_WAITS", "") == 'p' ? 1e-9 : 1e6);
    if (!strcmp(what, "kernels"))
        return json_pack("{s:s, s:s}", "answer", "ok", "kernels", environment("FAKE_KERNELS", "1"));
    if (!strcmp(what, "sentinel"))
        count_sentinel();
    if (!strcmp(what, "sentinel"))
        return json_pack("{s:s, s:f, s:f}", "answer", "ok", "ns", 1e7, "gflops", 10.0);
    if (!strcmp(what, "memory"))
        return json_pack("{s:s, s:I}", "answer", "ok", "peak_bytes", (json_int_t)1000);
    return NULL;
}

// ---- the disk ----

static ino_t synced;

// In place of the system's, which takes its time and leaves no trace that a test could look for.
int fsync(int descriptor)
{
    struct stat about;
    if (fstat(descriptor, &about) != 0)
        return -1;
    synced = about.st_ino;
    return 0;
}

// What takes the place of a file has to be on the disk before: where the machine goes down, neither would be there.
int rename(const char *from, const char *to)
{
    struct stat about;
    if (stat(from, &about) == 0 && about.st_ino != synced)
        _exit(97);
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

// ---- runs ----

static char folder[] = "/tmp/husk-resume-XXXXXX", cases[64], result[64], said[64];

static void setup(void)
{
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(cases, sizeof cases, "%s/cases.txt", folder);
    snprintf(result, sizeof result, "%s/result.json", folder);
    snprintf(said, sizeof said, "%s/said.txt", folder);
    FILE *file = fopen(cases, "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < CASES; i++)
        fprintf(file, "activation count=%d * %d\n", 100 + i, i + 1);
    fclose(file);
}

static void teardown(void)
{
    char command[128];
    unsetenv("HUSK_VARIANT");
    unsetenv("FAKE_DRIVER");
    unsetenv("FAKE_MOVES");
    unsetenv("FAKE_KERNELS");
    unsetenv("FAKE_NAME");
    unsetenv("FAKE_PEAKS");
    unsetenv("FAKE_SENTINELS");
    unsetenv("FAKE_UNITS");
    unsetenv("FAKE_WAITS");
    unsetenv("FAKE_MARK");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static pid_t start(const char *const *arguments)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen(said, "w", stdout) || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
            _exit(98);
        execv("/proc/self/exe", (char *const *)(uintptr_t)arguments);
        _exit(99);
    }
    ck_assert_int_gt(pid, 0);
    return pid;
}

static int wait_for(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static pid_t start_new(const char *more, const char *value)
{
    const char *const arguments[] = {"clbench", "run", "--quick", "--budget", "0",  "--baseline", "none",
                                     "--file",  cases, "--json",  result,     more, value,        NULL};
    return start(arguments);
}

static int resume(void)
{
    const char *const arguments[] = {"clbench", "run", "--resume", result, NULL};
    return wait_for(start(arguments));
}

static void expect_said(const char *part)
{
    static char text[20000];
    FILE *file = fopen(said, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    ck_assert_msg(strstr(text, part) != NULL, "'%s' is not in\n%s", part, text);
}

static json_t *read_result(void)
{
    json_error_t error;
    json_t *document = json_load_file(result, 0, &error);
    ck_assert_msg(document != NULL, "%s: line %d", error.text, error.line);
    return document;
}

static size_t rows_of(const json_t *document)
{
    return json_array_size(json_object_get(document, "results"));
}

static void nap(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void wait_for_rows(size_t wanted) // beside other work, too: the test's own limit ends what hangs
{
    for (int i = 0; i < 12000; i++, nap(10)) {
        json_t *document = json_load_file(result, 0, NULL);
        const size_t rows = rows_of(document);
        json_decref(document);
        if (rows >= wanted)
            return;
    }
    ck_abort_msg("%zu rows were not measured in time", wanted);
}

static void expect_whole(void)
{
    json_t *document = read_result(), *rows = json_object_get(document, "results");
    ck_assert_uint_eq(rows_of(document), CASES);
    for (int i = 0; i < CASES; i++) {
        char line[64];
        size_t found = 0;
        snprintf(line, sizeof line, "activation count=%d", 100 + i);
        for (size_t k = 0; k < CASES; k++) {
            const json_t *row = json_array_get(rows, k);
            if (strcmp(json_string_value(json_object_get(row, "case")), line) != 0)
                continue;
            found++;
            ck_assert_str_eq(json_string_value(json_object_get(row, "state")), "ok");
            ck_assert_int_eq(json_integer_value(json_object_get(row, "count")), i + 1);
            ck_assert_int_gt(json_array_size(json_object_get(json_object_get(row, "time"), "samples_ns")), 0);
        }
        ck_assert_msg(found == 1, "%s: %zu rows", line, found);
    }
    ck_assert(json_is_string(json_object_get(document, "finished")));
    ck_assert_int_eq(
        json_integer_value(json_object_get(json_object_get(json_object_get(document, "summary"), "counts"), "ok")),
        CASES);
    ck_assert_uint_eq(json_array_size(json_object_get(document, "devices")), 1);
    json_decref(document);
}

// Killed at moments that a seed draws, readable each time, and gone on with from there.
START_TEST(a_run_that_is_killed_is_readable_and_goes_on)
{
    size_t before = 0, killed = 0;
    const char *const again[] = {"clbench", "run", "--resume", result, NULL};
    srand(6);
    for (int i = 0; i < KILLS; i++) {
        pid_t pid = access(result, R_OK) == 0 ? start(again) : start_new(NULL, NULL);
        for (int wait = 0; wait < 10000 && access(result, R_OK) != 0; wait++)
            nap(1);
        nap(rand() % 300);
        kill(pid, SIGKILL);
        killed += wait_for(pid) == -SIGKILL;
        json_t *document = read_result();
        const size_t rows = rows_of(document);
        ck_assert_uint_ge(rows, before); // nothing that was measured is lost
        ck_assert(!json_object_get(document, "finished") || rows == CASES);
        before = rows;
        json_decref(document);
    }
    ck_assert_uint_gt(killed, 3); // the rest had come to their end
    ck_assert_int_eq(resume(), BENCH_EXIT_OK);
    expect_whole();
    ck_assert_int_eq(resume(), BENCH_EXIT_OK); // with nothing left to do
    expect_whole();
}
END_TEST

// Memory that is a folder below /dev is scratch space like any other.
START_TEST(a_result_in_memory_is_whole_after_every_row)
{
    char memory[] = "/dev/shm/husk-resume-XXXXXX", command[64];
    if (!mkdtemp(memory)) // there is none
        return;
    snprintf(result, sizeof result, "%s/result.json", memory);
    pid_t pid = start_new(NULL, NULL);
    wait_for_rows(2);
    kill(pid, SIGKILL);
    const int code = wait_for(pid), again = resume();
    json_t *document = json_load_file(result, 0, NULL);
    const size_t rows = rows_of(document);
    json_decref(document);
    snprintf(command, sizeof command, "rm -rf %s", memory);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(code, -SIGKILL); // and not at its end
    ck_assert_int_eq(again, BENCH_EXIT_OK);
    ck_assert_uint_eq(rows, CASES);
}
END_TEST

static size_t files_in_folder(void)
{
    size_t count = 0;
    DIR *directory = opendir(folder);
    ck_assert_ptr_nonnull(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

// Two jobs in one folder, or a run that is gone on with while it still lives.
START_TEST(a_file_that_is_being_written_is_refused)
{
    pid_t pid = start_new(NULL, NULL);
    wait_for_rows(1);
    ck_assert_int_eq(resume(), BENCH_EXIT_USAGE);
    expect_said("another clbench is writing it");
    ck_assert_int_eq(wait_for(start_new(NULL, NULL)), BENCH_EXIT_USAGE);
    expect_said("another clbench is writing it");
    ck_assert_int_eq(wait_for(pid), BENCH_EXIT_OK);
    expect_whole();
    ck_assert_int_eq(resume(), BENCH_EXIT_OK); // now it may be
    expect_whole();
    ck_assert_uint_eq(files_in_folder(), 3); // cases, said and result
}
END_TEST

// Both begin before either has a row to write: the first to have one has the file.
START_TEST(of_two_that_begin_together_one_has_the_file)
{
    setenv("FAKE_NAME", "good", 1);
    const pid_t first = start_new(NULL, NULL), second = start_new(NULL, NULL);
    const int codes[] = {wait_for(first), wait_for(second)};
    ck_assert(codes[0] == BENCH_EXIT_OK || codes[1] == BENCH_EXIT_OK);
    ck_assert_int_ne(codes[0], codes[1]);
    expect_whole();
    ck_assert_uint_eq(files_in_folder(), 3);
}
END_TEST

static void expect_interrupted(int number, int code)
{
    int got = 0;
    for (int attempt = 0; attempt < 5 && got != code; attempt++) { // it may have ended before the signal came
        pid_t pid = start_new(NULL, NULL);
        wait_for_rows(2);
        kill(pid, number);
        got = wait_for(pid);
        ck_assert_msg(got == code || got == BENCH_EXIT_OK, "exit code %d", got);
        if (got != code)
            unlink(result);
    }
    ck_assert_int_eq(got, code);
    expect_said("--resume");
    json_t *document = read_result();
    ck_assert_uint_ge(rows_of(document), 2);
    ck_assert_ptr_null(json_object_get(document, "finished"));
    json_decref(document);
    ck_assert_int_eq(resume(), BENCH_EXIT_OK);
    expect_whole();
    unlink(result);
}

START_TEST(what_was_measured_before_a_signal_is_kept)
{
    expect_interrupted(SIGINT, 130);
    expect_interrupted(SIGTERM, 143);
}
END_TEST

// Whether the text is in what the run has said, and only once.
static bool was_said_once(const char *part)
{
    static char text[20000];
    FILE *file = fopen(said, "r");
    text[file ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
    const char *first = strstr(text, part);
    return first && !strstr(first + 1, part);
}

static char shelf[64], away[64]; // the result's own folder, and where that is meanwhile

static pid_t start_with_lost_disk(void)
{
    pid_t pid = start_new(NULL, NULL);
    wait_for_rows(1);
    ck_assert_int_eq(renameat(AT_FDCWD, shelf, AT_FDCWD, away), 0);
    for (int i = 0; i < 1000 && !was_said_once("could not be written"); i++)
        nap(10);
    return pid;
}

// A file that cannot be written for a while is written again with all that was measured meanwhile.
START_TEST(a_disk_that_is_gone_for_a_moment_costs_no_row)
{
    snprintf(shelf, sizeof shelf, "%s/shelf", folder);
    snprintf(away, sizeof away, "%s/away", folder);
    snprintf(result, sizeof result, "%s/shelf/result.json", folder);
    ck_assert_int_eq(mkdir(shelf, 0700), 0);
    pid_t pid = start_with_lost_disk();
    nap(300);
    ck_assert_int_eq(renameat(AT_FDCWD, away, AT_FDCWD, shelf), 0);
    ck_assert_int_eq(wait_for(pid), BENCH_EXIT_OK);
    expect_whole();
    ck_assert(was_said_once("could not be written") && was_said_once("is written again"));
    unlink(result);
    pid = start_with_lost_disk();
    ck_assert_int_eq(wait_for(pid), BENCH_EXIT_ERROR);
    ck_assert(was_said_once("could not be written"));
    ck_assert_int_eq(renameat(AT_FDCWD, away, AT_FDCWD, shelf), 0);
    json_t *document = read_result(); // what was there stays
    ck_assert_uint_ge(rows_of(document), 1);
    json_decref(document);
}
END_TEST

// What another has left, or is writing, beside the file is in nobody's way.
START_TEST(no_name_beside_the_file_is_taken_for_granted)
{
    char part[80];
    snprintf(part, sizeof part, "%s.part", result);
    ck_assert_int_eq(mkdir(part, 0700), 0);
    ck_assert_int_eq(wait_for(start_new(NULL, NULL)), BENCH_EXIT_OK);
    expect_whole();
    ck_assert_int_eq(rmdir(part), 0);
}
END_TEST

static void expect_first_row_unfinished(const char *waits, const char *more)
{
    char mark[80];
    snprintf(mark, sizeof mark, "%s/%s", folder, waits);
    setenv("FAKE_WAITS", waits, 1);
    setenv("FAKE_MARK", mark, 1);
    pid_t pid = start_new(more, NULL);
    for (int i = 0; i < 3000 && access(mark, F_OK) != 0; i++)
        nap(10);
    kill(pid, SIGINT);
    ck_assert_int_eq(wait_for(pid), 130);
    ck_assert_int_eq(access(mark, F_OK), 0);
    json_t *document = read_result();
    ck_assert_uint_eq(rows_of(document), 0);
    json_decref(document);
    unsetenv("FAKE_WAITS");
    ck_assert_int_eq(resume(), BENCH_EXIT_OK);
    expect_whole();
}

// A signal behind the last sample, while peaks or a first call are measured: what it would leave is false.
START_TEST(a_row_is_whole_when_all_of_it_is_measured)
{
    expect_first_row_unfinished("peaks", NULL);
    unlink(result);
    expect_first_row_unfinished("first", "--compile");
    json_t *document = read_result(), *rows = json_object_get(document, "results");
    for (size_t i = 0; i < CASES; i++)
        ck_assert(json_is_integer(json_object_get(json_object_get(json_array_get(rows, i), "compile"), "cold_ns")));
    json_decref(document);
}
END_TEST

// The first call is of what the row was measured with. (This device computes by no variant that was not named.)
START_TEST(the_first_call_is_of_the_variant_that_was_asked_for)
{
    const char *const arguments[] = {"clbench", "run",  "--quick",    "activation", "count=9",   "--variant", "vector",
                                     "--json",  result, "--baseline", "none",       "--compile", NULL};
    setenv("FAKE_NAME", "obeys", 1);
    ck_assert_int_eq(wait_for(start(arguments)), BENCH_EXIT_OK);
    json_t *document = read_result();
    const json_t *row = json_array_get(json_object_get(document, "results"), 0);
    const json_t *compile = json_object_get(row, "compile");
    ck_assert(json_is_integer(json_object_get(compile, "cold_ns")));
    ck_assert(json_is_integer(json_object_get(compile, "cached_ns")));
    json_decref(document);
}
END_TEST

static void expect_asked(size_t rows, const char *variant)
{
    json_t *document = read_result();
    ck_assert_uint_eq(rows_of(document), rows);
    for (size_t i = 0; i < rows; i++) {
        const json_t *row = json_array_get(json_object_get(document, "results"), i);
        const char *asked = json_string_value(json_object_get(row, "asked"));
        const char *again = json_string_value(json_object_get(row, "reproduce"));
        ck_assert_msg(asked && !strcmp(asked, variant), "%s", asked ? asked : "null");
        ck_assert_ptr_nonnull(strstr(again, " --variant vector"));
    }
    json_decref(document);
}

// A variant that is named for all rows is in each; a file that has it once is gone on with all the same.
START_TEST(rows_say_which_variant_was_asked_for)
{
    pid_t pid = start_new("--variant", "vector");
    wait_for_rows(3);
    kill(pid, SIGTERM);
    ck_assert_int_eq(wait_for(pid), 143);
    json_t *document = read_result(), *rows = json_object_get(document, "results");
    ck_assert_uint_lt(json_array_size(rows), CASES);
    expect_asked(json_array_size(rows), "vector");
    for (size_t i = 0; i < json_array_size(rows); i++)
        json_object_set_new(json_array_get(rows, i), "asked", json_null());
    json_object_set_new(json_array_get(rows, 0), "state", json_string("timeout")); // and is measured again
    ck_assert_int_eq(json_dump_file(document, result, 0), 0);
    json_decref(document);
    ck_assert_int_eq(resume(), BENCH_EXIT_OK);
    expect_whole();
    unlink(result);
    ck_assert_int_eq(wait_for(start_new("--variant", "vector")), BENCH_EXIT_OK);
    expect_asked(CASES, "vector");
    ck_assert_int_eq(resume(), BENCH_EXIT_OK);
    expect_said("nothing is missing");
    expect_asked(CASES, "vector");
}
END_TEST

// Rounds that are missing are a reason to measure a row again; the file has what there is meanwhile.
START_TEST(rows_with_rounds_missing_are_measured_again)
{
    pid_t pid = start_new("--rounds", "2");
    wait_for_rows(3);
    kill(pid, SIGTERM);
    ck_assert_int_eq(wait_for(pid), 143);
    expect_said("  right  "); // the rows that are begun are printed, too
    json_t *document = read_result();
    ck_assert_int_lt(
        json_integer_value(json_object_get(json_array_get(json_object_get(document, "results"), 0), "rounds")), 2);
    json_decref(document);
    ck_assert_int_eq(resume(), BENCH_EXIT_OK);
    expect_whole();
    document = read_result();
    for (size_t i = 0; i < CASES; i++)
        ck_assert_int_eq(
            json_integer_value(json_object_get(json_array_get(json_object_get(document, "results"), i), "rounds")), 2);
    json_decref(document);
}
END_TEST

static json_int_t fewest_rounds(size_t *rows)
{
    json_t *document = json_load_file(result, 0, NULL), *all = json_object_get(document, "results");
    json_int_t fewest = 1000;
    *rows = json_array_size(all);
    for (size_t i = 0; i < *rows; i++) {
        const json_int_t rounds = json_integer_value(json_object_get(json_array_get(all, i), "rounds"));
        fewest = rounds < fewest ? rounds : fewest;
    }
    json_decref(document);
    return fewest;
}

static void wait_for_bytes(const char *path, off_t wanted)
{
    struct stat about;
    for (int i = 0; i < 3000 && (stat(path, &about) != 0 || about.st_size < wanted); i++)
        nap(10);
    ck_assert(stat(path, &about) == 0 && about.st_size >= wanted);
}

// A run that goes on measures such rows from their first round on: until it has as many as there were, those stay.
START_TEST(rounds_that_were_measured_are_not_given_up_for_fewer)
{
    char sentinels[80];
    size_t rows = 0;
    pid_t pid = start_new("--rounds", "3");
    for (int i = 0; i < 3000 && (fewest_rounds(&rows) < 2 || rows < CASES); i++)
        nap(10);
    kill(pid, SIGTERM);
    ck_assert_int_eq(wait_for(pid), 143);
    ck_assert_int_eq(fewest_rounds(&rows), 2);
    snprintf(sentinels, sizeof sentinels, "%s/sentinels", folder);
    setenv("FAKE_SENTINELS", sentinels, 1);
    const char *const again[] = {"clbench", "run", "--resume", result, NULL};
    pid = start(again);
    wait_for_bytes(sentinels, 25); // four a row, and eight for what seems disturbed: two rows have their first round
    kill(pid, SIGTERM);
    ck_assert_int_eq(wait_for(pid), 143);
    ck_assert_int_eq(fewest_rounds(&rows), 2);
    ck_assert_uint_eq(rows, CASES);
    ck_assert_int_eq(resume(), BENCH_EXIT_OK);
    expect_whole();
    ck_assert_int_eq(fewest_rounds(&rows), 3);
}
END_TEST

START_TEST(rows_that_failed_to_be_measured_are_tried_again)
{
    setenv("FAKE_NAME", "crashes", 1);
    ck_assert_int_eq(wait_for(start_new(NULL, NULL)), BENCH_EXIT_ERROR);
    json_t *document = read_result();
    ck_assert_uint_eq(rows_of(document), CASES);
    const char *reason =
        json_string_value(json_object_get(json_array_get(json_object_get(document, "results"), 0), "reason"));
    ck_assert_msg(strstr(reason, "the driver or Husk crashed: SIGABRT") != NULL, "%s", reason);
    json_decref(document);
    unsetenv("FAKE_NAME");
    ck_assert_int_eq(resume(), BENCH_EXIT_OK);
    expect_whole();
}
END_TEST

static void move_after_the_first_worker(void)
{
    char moved[80];
    snprintf(moved, sizeof moved, "%s/moved", folder);
    unlink(moved);
    unlink(result);
    setenv("FAKE_MOVES", moved, 1);
}

// A card that is lost leaves the next best device to a worker that is started again: its samples are not the card's.
START_TEST(samples_of_another_device_are_not_mixed_in)
{
    move_after_the_first_worker();
    ck_assert_int_eq(wait_for(start_new("--rounds", "2")), BENCH_EXIT_ERROR);
    expect_said("driver was 1, and is 2");
    json_t *document = read_result(), *rows = json_object_get(document, "results");
    ck_assert_uint_eq(rows_of(document), CASES);
    for (size_t i = 0; i < CASES; i++) {
        const json_t *row = json_array_get(rows, i), *rounds = json_object_get(row, "sentinels");
        ck_assert_str_eq(json_string_value(json_object_get(row, "state")), "error");
        const size_t count = json_array_size(rounds); // beside a fake's sentinel rounds are measured again
        ck_assert_uint_ge(count, 2);
        ck_assert_int_gt(json_integer_value(json_object_get(json_array_get(rounds, 0), "samples")), 0);
        ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(rounds, count - 1), "samples")), 0);
    }
    json_decref(document);
    unsetenv("FAKE_MOVES");
    ck_assert_int_eq(resume(), BENCH_EXIT_OK);
    expect_whole();
}
END_TEST

// Processes beside the one that is measured choose a device, too: a baseline's, and those of first calls.
START_TEST(every_process_is_on_the_device_that_is_measured)
{
    if (bench_runner_find("ref")) { // built with baselines
        move_after_the_first_worker();
        ck_assert_int_eq(wait_for(start_new("--baseline", "ref")), BENCH_EXIT_OK);
        expect_said("baseline ref cannot be used: the device's driver was 1, and is 2");
        expect_whole();
    }
    move_after_the_first_worker();
    ck_assert_int_eq(wait_for(start_new("--compile", NULL)), BENCH_EXIT_OK);
    json_t *document = read_result();
    const json_t *row = json_array_get(json_object_get(document, "results"), 0);
    ck_assert(json_is_null(json_object_get(json_object_get(row, "compile"), "cold_ns")));
    json_decref(document);
}
END_TEST

// Peaks that cannot be measured again are what they were, and so is what rows are measured by.
START_TEST(peaks_that_fail_leave_those_that_are_there)
{
    pid_t pid = start_new(NULL, NULL);
    wait_for_rows(2);
    kill(pid, SIGKILL);
    wait_for(pid);
    setenv("FAKE_PEAKS", "fail", 1);
    ck_assert_int_eq(resume(), BENCH_EXIT_OK);
    expect_whole();
    json_t *document = read_result(), *rows = json_object_get(document, "results");
    const json_t *peaks = json_object_get(json_array_get(json_object_get(document, "devices"), 0), "peaks"),
                 *copy = json_array_get(json_object_get(peaks, "copy"), 0);
    ck_assert_double_eq(json_number_value(json_object_get(copy, "gbytes_per_s")), 1e6);
    for (size_t i = 0; i < CASES; i++)
        ck_assert(json_is_number(json_object_get(json_array_get(rows, i), "percent_of_peak")));
    json_decref(document);
}
END_TEST

// Ended while they were measured, or without them: a run that goes on has them.
START_TEST(peaks_that_are_missing_are_measured)
{
    setenv("FAKE_PEAKS", "fail", 1);
    pid_t pid = start_new(NULL, NULL);
    wait_for_rows(2);
    kill(pid, SIGKILL);
    wait_for(pid);
    unsetenv("FAKE_PEAKS");
    json_t *document = read_result();
    ck_assert(json_is_null(json_object_get(json_object_get(document, "device"), "peaks")));
    json_decref(document);
    ck_assert_int_eq(resume(), BENCH_EXIT_OK);
    expect_whole();
    document = read_result();
    const json_t *first = json_array_get(json_object_get(document, "devices"), 0);
    ck_assert(json_is_object(json_object_get(first, "peaks")));
    ck_assert(json_equal(json_object_get(document, "device"), first));
    json_decref(document);
}
END_TEST

// Killed within the second device, a run goes on there, and leaves the first as it is.
START_TEST(devices_are_gone_on_with_one_by_one)
{
    const char *const arguments[] = {"clbench", "run",    "--quick", "--budget", "0",   "--baseline", "none", "--file",
                                     cases,     "--json", result,    "-d",       "one", "-d",         "two",  NULL};
    pid_t pid = start(arguments);
    wait_for_rows(CASES + 2);
    kill(pid, SIGKILL);
    wait_for(pid);
    json_t *before = read_result();
    ck_assert_int_eq(resume(), BENCH_EXIT_OK);
    expect_said("one: nothing is missing");
    json_t *after = read_result(), *rows = json_object_get(after, "results");
    ck_assert_uint_eq(json_array_size(rows), 2 * CASES);
    ck_assert_uint_eq(json_array_size(json_object_get(after, "devices")), 2);
    for (size_t i = 0; i < 2 * CASES; i++) {
        const json_t *row = json_array_get(rows, i);
        ck_assert_int_eq(json_integer_value(json_object_get(row, "device")), i < CASES ? 0 : 1);
        ck_assert_str_eq(json_string_value(json_object_get(row, "state")), "ok");
        if (i < CASES)
            ck_assert(json_equal(json_object_get(row, "time"),
                                 json_object_get(json_array_get(json_object_get(before, "results"), i), "time")));
    }
    ck_assert(json_is_string(json_object_get(after, "finished")));
    json_decref(before);
    json_decref(after);
}
END_TEST

static void write_result(const char *text)
{
    FILE *file = fopen(result, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static int run_on(const char *first, const char *second)
{
    const char *const arguments[] = {"clbench", "run",    "--quick", "--budget", "0",   "--baseline", "none", "--file",
                                     cases,     "--json", result,    "-d",       first, "-d",         second, NULL};
    return wait_for(start(arguments));
}

// What cannot be opened does not hide a wrong result.
START_TEST(a_wrong_result_comes_before_a_device_that_is_closed)
{
    ck_assert_int_eq(run_on("good", "closed"), BENCH_EXIT_ERROR);
    ck_assert_int_eq(run_on("wrong", "closed"), BENCH_EXIT_VERIFICATION);
    ck_assert_int_eq(run_on("closed", "wrong"), BENCH_EXIT_VERIFICATION);
}
END_TEST

// Numbers of two devices, drivers or versions do not go into one file.
START_TEST(what_has_changed_is_refused)
{
    pid_t pid = start_new(NULL, NULL);
    wait_for_rows(1);
    kill(pid, SIGKILL);
    wait_for(pid);
    json_t *before = read_result();
    setenv("FAKE_DRIVER", "2", 1);
    ck_assert_int_eq(resume(), BENCH_EXIT_USAGE);
    expect_said("driver was 1, and is 2");
    unsetenv("FAKE_DRIVER");
    setenv("FAKE_UNITS", "2", 1);
    ck_assert_int_eq(resume(), BENCH_EXIT_USAGE);
    expect_said("compute units were 1, and are 2");
    unsetenv("FAKE_UNITS");
    json_t *after = read_result();
    ck_assert_uint_eq(rows_of(after), rows_of(before));
    json_object_set_new(after, "husk_version", json_string("0.0.0"));
    ck_assert_int_eq(json_dump_file(after, result, 0), 0);
    ck_assert_int_eq(resume(), BENCH_EXIT_USAGE);
    expect_said("it was measured by Husk 0.0.0");
    json_object_del(before, "run");
    ck_assert_int_eq(json_dump_file(before, result, 0), 0);
    ck_assert_int_eq(resume(), BENCH_EXIT_USAGE);
    expect_said("what was asked for");
    write_result("{\"schema\": \"clben");
    ck_assert_int_eq(resume(), BENCH_EXIT_USAGE);
    expect_said("cannot be resumed");
    unlink(result);
    ck_assert_int_eq(resume(), BENCH_EXIT_USAGE);
    const char *const beside[] = {"clbench", "run", "--resume", result, "--quick", NULL};
    ck_assert_int_eq(wait_for(start(beside)), BENCH_EXIT_USAGE);
    expect_said("--quick cannot stand beside it");
    json_decref(before);
    json_decref(after);
}
END_TEST

static void expect_refusal(const char *part)
{
    json_t *before = read_result();
    ck_assert_int_eq(resume(), BENCH_EXIT_USAGE);
    expect_said(part);
    json_t *after = read_result();
    ck_assert(json_equal(json_object_get(before, "results"), json_object_get(after, "results")));
    ck_assert(!json_object_get(after, "resumed"));
    json_decref(before);
    json_decref(after);
}

static void kill_after_a_row(pid_t pid)
{
    wait_for_rows(1);
    kill(pid, SIGKILL);
    wait_for(pid);
}

// Nor of other kernels, or of variables that decide what is computed, and with what.
START_TEST(what_computes_has_to_be_the_same)
{
    kill_after_a_row(start_new(NULL, NULL));
    setenv("HUSK_VARIANT", "grid", 1);
    expect_refusal("HUSK_VARIANT was not set, and is grid");
    unsetenv("HUSK_VARIANT");
    setenv("FAKE_KERNELS", "2", 1);
    expect_refusal("kernels");
    unsetenv("FAKE_KERNELS");
    json_t *document = read_result();
    json_object_del(json_object_get(document, "run"), "environment");
    ck_assert_int_eq(json_dump_file(document, result, 0), 0);
    json_decref(document);
    expect_refusal("which variables were set");
    unlink(result);
    setenv("HUSK_VARIANT", "direct", 1);
    kill_after_a_row(start_new(NULL, NULL));
    setenv("HUSK_VARIANT", "grid", 1);
    expect_refusal("HUSK_VARIANT was direct, and is grid");
    unsetenv("HUSK_VARIANT");
    expect_refusal("HUSK_VARIANT was direct, and is not set");
    setenv("HUSK_VARIANT", "direct", 1);
    ck_assert_int_eq(resume(), BENCH_EXIT_OK);
    expect_whole();
}
END_TEST

// Another version of a rival is another rival.
START_TEST(rivals_have_to_be_the_same)
{
    if (!bench_runner_find("ref"))
        return; // built without baselines
    const char *const arguments[] = {"clbench", "run",    "--quick", "--budget", "0",    "--baseline",
                                     "ref",     "--file", cases,     "--json",   result, NULL};
    kill_after_a_row(start(arguments));
    setenv("FAKE_NAME", "newer", 1);
    expect_refusal("baseline ref was Fake 1.0 good, and is Fake 1.0 newer");
    unsetenv("FAKE_NAME");
    ck_assert_int_eq(resume(), BENCH_EXIT_OK);
    expect_whole();
}
END_TEST

// A typing error in -d costs no older result, and a folder is refused before anything is measured.
START_TEST(what_is_there_stays_until_a_device_is_open)
{
    char text[16] = "";
    write_result("older");
    ck_assert_int_eq(run_on("closed", "closed"), BENCH_EXIT_ERROR);
    FILE *file = fopen(result, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
    fclose(file);
    ck_assert_str_eq(text, "older");
    ck_assert_uint_eq(files_in_folder(), 3); // cases, said and result
    ck_assert_int_eq(run_on("closed", "good"), BENCH_EXIT_ERROR);
    json_t *document = read_result();
    ck_assert_uint_eq(rows_of(document), CASES);
    json_decref(document);
    snprintf(result, sizeof result, "%s", folder);
    ck_assert_int_eq(run_on("one", "two"), BENCH_EXIT_ERROR);
    expect_said("Is a directory");
    file = fopen(said, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
    fclose(file);
    ck_assert(!strncmp(text, "clbench: ", 9)); // the first word of all
}
END_TEST

// Two equal cards, of which the first could not be opened then: the rows are the second's.
START_TEST(an_equal_card_is_another_device)
{
    char reason[BENCH_REASON_TEXT] = "";
    json_t *document = json_pack("{s:[{s:s, s:s, s:{s:s}}]}", "devices", "platform", "P", "name", "card", "traits",
                                 "pci_address", "0000:02:00.0");
    json_t *device = json_deep_copy(json_array_get(json_object_get(document, "devices"), 0));
    ck_assert(bench_resume_same_device(document, 0, device, reason));
    json_object_set_new(json_object_get(device, "traits"), "pci_address", json_string("0000:01:00.0"));
    ck_assert(!bench_resume_same_device(document, 0, device, reason));
    ck_assert_msg(strstr(reason, "0000:02:00.0, and is 0000:01:00.0") != NULL, "%s", reason);
    json_object_set_new(device, "traits", json_object()); // a driver that does not say
    ck_assert(bench_resume_same_device(document, 0, device, reason));
    json_decref(device);
    json_decref(document);
}
END_TEST

static json_t *document_of(const char *cpu, json_int_t cores, int units, int is_cpu)
{
    return json_pack("{s:{s:s, s:I}, s:[{s:s, s:s, s:{s:i, s:b}}], s:[{s:s, s:i, s:[]}]}", "host", "cpu", cpu, "cores",
                     cores, "devices", "platform", "P", "name", "device", "traits", "compute_units", units, "is_cpu",
                     is_cpu, "results", "case", "activation count=1", "device", 0, "baselines");
}

// By "" it is the same.
static void expect_mixing(json_t *document, int units, int is_cpu, const char *part)
{
    char reason[BENCH_REASON_TEXT] = "";
    json_t *device = json_pack("{s:s, s:s, s:{s:i, s:b}}", "platform", "P", "name", "device", "traits", "compute_units",
                               units, "is_cpu", is_cpu);
    ck_assert_int_eq(bench_resume_same_device(document, 0, device, reason), !*part);
    ck_assert_msg(strstr(reason, part) != NULL, "'%s' is not in '%s'", part, reason);
    json_decref(device);
    json_decref(document);
}

// Some of the cores, or another CPU: a CPU's rows and baselines are others there; what a card does alone is not.
START_TEST(rows_of_other_cores_are_not_mixed)
{
    json_t *host = bench_host_json();
    const char *cpu = json_string_value(json_object_get(host, "cpu"));
    const json_int_t cores = json_integer_value(json_object_get(host, "cores"));
    expect_mixing(document_of(cpu, cores, 8, 1), 8, 1, "");
    expect_mixing(document_of(cpu, cores, 8, 1), 2, 1, "compute units were 8, and are 2");
    expect_mixing(document_of(cpu, cores, 8, 0), 2, 0, "compute units were 8, and are 2");
    expect_mixing(document_of(cpu, cores + 6, 8, 1), 8, 1, "the cores that clbench may use were ");
    expect_mixing(document_of("another", cores, 8, 1), 8, 1, "the host's CPU was another, and is ");
    expect_mixing(document_of("another", cores + 6, 8, 0), 8, 0, "");
    json_t *document = document_of("another", cores, 8, 0);
    json_t *row = json_array_get(json_object_get(document, "results"), 0);
    json_array_append_new(json_object_get(row, "baselines"), json_pack("{s:s}", "name", "onednn"));
    json_object_set_new(row, "device", json_integer(1)); // another device's
    expect_mixing(json_deep_copy(document), 8, 0, "");
    json_object_set_new(row, "device", json_integer(0));
    expect_mixing(document, 8, 0, "the host's CPU was another, and is ");
    json_decref(host);
}
END_TEST

// What is refused stays what it was: finished.
START_TEST(a_refusal_leaves_the_file_as_it_was)
{
    ck_assert_int_eq(wait_for(start_new(NULL, NULL)), BENCH_EXIT_OK);
    expect_whole();
    json_t *before = read_result();
    setenv("FAKE_DRIVER", "2", 1);
    ck_assert_int_eq(resume(), BENCH_EXIT_USAGE);
    expect_said("driver was 1, and is 2");
    json_t *after = read_result();
    ck_assert(json_equal(before, after));
    json_decref(before);
    json_decref(after);
}
END_TEST

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc == 5 && !strcmp(argv[1], BENCH_WORKER_ARGUMENT)) {
        preference = argv[3];
        const bool is_named = !strcmp(preference, "closed") || !strcmp(preference, "wrong");
        fake_set_name(is_named ? preference : environment("FAKE_NAME", "good"));
        // The cache of a first call's process is a folder of its own.
        if (*environment("FAKE_WAITS", "") == 'f' && strstr(environment("POCL_CACHE_DIR", ""), "/clbench-"))
            wait_for_ever();
        return bench_worker_serve(&(bench_worker_options){.runner = &fake_runner, .extra = device_extra});
    }
    if (argc > 1) {
        bench_options options;
        char reason[BENCH_REASON_TEXT];
        if (bench_cli_parse(argc, argv, &options, reason)) {
            options.quick_seconds = 0.02; // a row need not be precise, but has to be there while one looks
            return bench_command_run(&options);
        }
        fprintf(stderr, "clbench: %s\n", reason);
        return BENCH_EXIT_USAGE;
    }
    TCase *tests = tcase_create("resume");
    tcase_set_timeout(tests, 200);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_run_that_is_killed_is_readable_and_goes_on);
    tcase_add_test(tests, a_result_in_memory_is_whole_after_every_row);
    tcase_add_test(tests, a_file_that_is_being_written_is_refused);
    tcase_add_test(tests, of_two_that_begin_together_one_has_the_file);
    tcase_add_test(tests, peaks_that_fail_leave_those_that_are_there);
    tcase_add_test(tests, peaks_that_are_missing_are_measured);
    tcase_add_test(tests, what_was_measured_before_a_signal_is_kept);
    tcase_add_test(tests, a_disk_that_is_gone_for_a_moment_costs_no_row);
    tcase_add_test(tests, no_name_beside_the_file_is_taken_for_granted);
    tcase_add_test(tests, a_row_is_whole_when_all_of_it_is_measured);
    tcase_add_test(tests, the_first_call_is_of_the_variant_that_was_asked_for);
    tcase_add_test(tests, rows_say_which_variant_was_asked_for);
    tcase_add_test(tests, rows_with_rounds_missing_are_measured_again);
    tcase_add_test(tests, rounds_that_were_measured_are_not_given_up_for_fewer);
    tcase_add_test(tests, rows_that_failed_to_be_measured_are_tried_again);
    tcase_add_test(tests, samples_of_another_device_are_not_mixed_in);
    tcase_add_test(tests, every_process_is_on_the_device_that_is_measured);
    tcase_add_test(tests, devices_are_gone_on_with_one_by_one);
    tcase_add_test(tests, a_wrong_result_comes_before_a_device_that_is_closed);
    tcase_add_test(tests, what_has_changed_is_refused);
    tcase_add_test(tests, what_computes_has_to_be_the_same);
    tcase_add_test(tests, rivals_have_to_be_the_same);
    tcase_add_test(tests, an_equal_card_is_another_device);
    tcase_add_test(tests, rows_of_other_cores_are_not_mixed);
    tcase_add_test(tests, what_is_there_stays_until_a_device_is_open);
    tcase_add_test(tests, a_refusal_leaves_the_file_as_it_was);
    Suite *suite = suite_create("clbench resume");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
