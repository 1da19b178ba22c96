// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Files that are written: none that is read is lost for it, and what was there stays until all of the new one is.
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/take_stdout.h"
#include "system/output.h"

#define KEPT HUSK_TESTS_DIR "/bench/data/cpu_result.json"

static char folder[] = "/tmp/husk-test-files-XXXXXX", output[1 << 16];

static void begin(void)
{
    char command[1000];
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(command, sizeof command,
             "cd %s && cp '%s' a.json && cp a.json b.json && ln b.json hard.json && ln -s b.json soft.json && "
             "echo 'gemm m=1 n=1 k=1' > cases.txt",
             folder, KEPT);
    ck_assert_int_eq(system(command), 0);
}

static void end(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

// A line of the shell in the folder, where $c is clbench; both streams are in output.
static void expect(const char *line, int code, const char *part)
{
    char command[2000];
    snprintf(command, sizeof command,
             "cd %s && { c='%s'; export HUSK_TUNING=0 OCL_ICD_VENDORS=/nonexistent; %s; } 2>&1 < /dev/null", folder,
             HUSK_CLBENCH, line);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
    const int status = pclose(pipe);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == code, "%s: not %d but %d\n%.2000s", line, code,
                  WEXITSTATUS(status), output);
    ck_assert_msg(strstr(output, part) != NULL, "%s: '%s' is not in\n%.2000s", line, part, output);
}

static size_t count_files(void)
{
    DIR *open = opendir(folder);
    size_t count = 0;
    ck_assert_ptr_nonnull(open);
    for (const struct dirent *entry; (entry = readdir(open));)
        count += entry->d_name[0] != '.';
    closedir(open);
    return count;
}

static void expect_inputs(void)
{
    expect("cmp a.json '" KEPT "' && cmp b.json a.json && grep -c . cases.txt", 0, "1\n");
}

START_TEST(what_is_read_is_not_written)
{
    static const char *const lines[] = {
        "$c report a.json -o a.json",
        "$c report a.json b.json -o ./b.json",
        "$c report b.json -o hard.json",
        "$c report b.json -o soft.json",
        "$c roofline a.json -o a.json",
        "$c compare a.json b.json --json a.json",
        "$c compare a.json b.json --json b.json",
        "$c compare a.json b.json --md a.json",
        "$c compare a.json b.json --md hard.json",
        "$c compare a.json b.json a.json --md b.json",
        "$c run --file cases.txt --csv cases.txt",
        "$c run --file cases.txt --json cases.txt",
        "$c run --suite ./cases.txt --md cases.txt",
        "$c verify --file cases.txt --digests cases.txt",
        "$c tune --merge a.json --export a.json",
    };
    begin();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        expect(lines[i], 2, "is read, and would be lost if it were written: name another file");
    expect("cp a.json report.html && $c report report.html", 2, "report.html is read");
    expect("cp a.json roofline.svg && $c roofline roofline.svg", 2, "roofline.svg is read");
    expect("$c run --resume b.json --csv hard.json", 2, "two kinds of results cannot go to one file: hard.json");
    expect_inputs();
    expect("$c compare a.json b.json --md - 2> /dev/null", 0, "| case |");
    end();
}
END_TEST

static void expect_kept(const char *line, int code, const char *part)
{
    char command[1000];
    const size_t files = count_files();
    snprintf(command, sizeof command, "echo old > out; %s", line);
    expect(command, code, part);
    expect("cat out; rm out", 0, "old\n");
    ck_assert_uint_eq(count_files(), files);
}

// On a disk that is full (here: a file that may not be longer) what was there stays, and so it does when it is killed.
START_TEST(what_was_there_stays_until_the_end)
{
    begin();
    static const char full[] = "trap '' XFSZ; ulimit -f 1; ";
    static const char *const lines[] = {
        "$c report a.json -o out",
        "$c roofline a.json -o out",
        "$c compare a.json b.json --json out",
        "$c compare a.json b.json --md out",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char line[500];
        snprintf(line, sizeof line, "%s%s", full, lines[i]);
        expect_kept(line, 1, "out could not be written: File too large");
        snprintf(line, sizeof line, "(ulimit -c 0; ulimit -f 1; %s) > /dev/null; rm -f out.??????; echo killed",
                 lines[i]);
        expect_kept(line, 0, "killed");
    }
    expect_kept("$c compare a.json b.json --md out --fail-on nothing", 2, "is wanted");
    expect_kept("$c report a.json cases.txt -o out", 2, "no JSON");
    expect_inputs();
    end();
}
END_TEST

// The name, the rights and the link are as they were.
START_TEST(a_file_is_replaced_where_it_is)
{
    begin();
    expect("umask 027; $c report a.json -o new.html && stat -c %a new.html", 0, "640\n");
    expect("echo old > out; chmod 604 out; $c report a.json -o out > /dev/null && stat -c %a out", 0, "604\n");
    expect("head -c 15 out", 0, "<!DOCTYPE html>");
    expect("echo old > out; ln -s out link; $c report a.json -o link > /dev/null; head -c 15 out; readlink link", 0,
           "<!DOCTYPE html>out\n");
    expect("ln -s later dangling; $c report a.json -o dangling > /dev/null; head -c 15 later", 0, "<!DOCTYPE html>");
    expect("$c report a.json -o /dev/stdout | head -c 15", 0, "<!DOCTYPE html>");
    expect("mkfifo pipe; { cat pipe > read; } & $c report a.json -o pipe > /dev/null; wait; head -c 15 read", 0,
           "<!DOCTYPE html>");
    expect("$c report a.json -o .", 1, ". cannot be written: Is a directory");
    expect("ls out.* link.* 2> /dev/null; true", 0, "");
    ck_assert_str_eq(output, "");
    end();
}
END_TEST

// A worker that goes on by itself would keep a pipe open behind clbench.
START_TEST(stdout_is_not_left_to_workers)
{
    bench_options options = {.json_path = "-"};
    char path[32] = "";
    int number = -1;
    fflush(stdout);
    const int before = dup(STDOUT_FILENO);
    bench_output_take_stdout(&options, path);
    dup2(before, STDOUT_FILENO);
    close(before);
    ck_assert_int_eq(sscanf(path, "/dev/fd/%d", &number), 1);
    ck_assert_int_gt(number, STDERR_FILENO);
    ck_assert(fcntl(number, F_GETFD) & FD_CLOEXEC);
    FILE *file = bench_output_file(path);
    ck_assert_ptr_nonnull(file);
    ck_assert(fcntl(fileno(file), F_GETFD) & FD_CLOEXEC);
    fclose(file);
    close(number);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("output files");
    tcase_add_test(tests, what_is_read_is_not_written);
    tcase_add_test(tests, what_was_there_stays_until_the_end);
    tcase_add_test(tests, a_file_is_replaced_where_it_is);
    tcase_add_test(tests, stdout_is_not_left_to_workers);
    Suite *suite = suite_create("output files");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
