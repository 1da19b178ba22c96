// SPDX-License-Identifier: MIT
// ctest: timeout=200 processors=2
// What clbench shows on a terminal: long work says how far it is and how long it will take, and no line is wider than
// the terminal.
#define _GNU_SOURCE
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/steps.h"
#include "system/terminal.h"

#ifndef HUSK_CLBENCH
#error "HUSK_CLBENCH is the path of clbench; bench/CMakeLists.txt defines it"
#endif

static char output[1 << 18], database[100];
static const char *interrupt_at; // clbench is interrupted when it has said this; NULL: never

// clbench with both streams on a terminal of that width; the exit code, and what it wrote in output.
static int run(int columns, const char *arguments)
{
    char command[2048];
    const struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    snprintf(command, sizeof command, "cd '%s/bench/data' && HUSK_TUNING='%s' NO_COLOR=1 TERM=xterm exec '%s' %s",
             HUSK_TESTS_DIR, strncmp(arguments, "tune", 4) ? "0" : database, HUSK_CLBENCH,
             arguments); // where names of files are short
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert_int_ge(master, 0);
    ck_assert_int_eq(grantpt(master) | unlockpt(master), 0);
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(slave, 0);
    ck_assert_int_eq(ioctl(slave, TIOCSWINSZ, &size), 0);
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(slave, STDOUT_FILENO);
        dup2(slave, STDERR_FILENO);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(slave);
    size_t used = 0;
    for (ssize_t got; (got = read(master, output + used, sizeof output - 1 - used)) != 0;) {
        if (got < 0 && errno != EINTR) // EIO: the other end is closed
            break;
        used += got > 0 ? (size_t)got : 0;
        output[used] = '\0';
        if (interrupt_at && strstr(output, interrupt_at)) {
            kill(pid, SIGINT);
            interrupt_at = NULL;
        }
    }
    output[used] = '\0';
    close(master);
    int status = 0;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// ---- progress ----

// Lines of progress "[AT/COUNT, about N s left] WHAT": from the first to the last, each with what is left.
static void expect_steps(const char *arguments, const char *what)
{
    const int code = run(200, arguments);
    size_t at, count, last = 0, all = 0, shown = 0;
    ck_assert_msg(code == 0, "clbench %s: exit code %d\n%.3000s", arguments, code, output);
    for (const char *line = output; (line = strstr(line, "\r\033[K[")); line++) {
        const size_t length = strcspn(line + 4, "\r\n");
        char text[300];
        snprintf(text, sizeof text, "%.*s", (int)length, line + 4);
        if (!strstr(text, what))
            continue;
        ck_assert_msg(sscanf(text, "[%zu/%zu,", &at, &count) == 2 && strstr(text, " left] "), "%s", text);
        ck_assert_msg(at == last || at == last + 1, "%zu steps after %zu: %s", at, last, text);
        ck_assert_msg(!all || count == all, "of %zu steps, and then of %zu", all, count);
        last = at;
        all = count;
        shown++;
    }
    ck_assert_msg(shown >= 2 && last == all, "clbench %s: %zu lines of progress, the last step %zu of %zu\n%.3000s",
                  arguments, shown, last, all, output);
}

START_TEST(long_work_says_how_long_it_takes)
{
    expect_steps("overhead", "what a call costs");
    expect_steps("devices --peaks", ": measuring ");
    expect_steps("run softmax outer=4 axis=50 --baseline none --quick --no-history", ": measuring ");
}
END_TEST

// Ended by then: prewarming everything from source takes a minute. Each start has a cache of its own: its programs are
// built anew, and not counted.
START_TEST(starting_says_how_long_it_takes)
{
    setenv("HUSK_TEST_BUILDS", "", 1);
    interrupt_at = "every operator prewarmed, warm";
    ck_assert_int_eq(run(200, "run softmax outer=4 axis=50 --baseline none --quick --no-history --startup"), 130);
    const char *line = strstr(output, "[1/9, about ");
    ck_assert_msg(line && strstr(line, " left] a context with every operator prewarmed, warm"), "%.3000s", output);
}
END_TEST

START_TEST(what_is_left_follows_the_pace)
{
    const uint64_t second = 1000000000;
    bench_steps steps = {.at = 1, .count = 3, .usual = 2, .all = 10, .start_ns = second, .at_ns = second};
    ck_assert_double_eq_tol(bench_steps_left(&steps, second), 10, 1e-6);
    ck_assert_double_eq_tol(bench_steps_left(&steps, 2 * second), 9, 1e-6);
    ck_assert_double_eq_tol(bench_steps_left(&steps, 10 * second), 9, 1e-6); // late: 1 s, and the 8 s behind it
    steps = (bench_steps){.at = 2, .count = 3, .usual = 3, .all = 10, .done = 2, .start_ns = second};
    steps.at_ns = 5 * second;
    ck_assert_double_eq_tol(bench_steps_left(&steps, 5 * second), 16, 1e-6); // the first took twice what it should
    ck_assert_double_eq_tol(bench_steps_left(&steps, 7 * second), 14, 1e-6);
}
END_TEST

START_TEST(no_terminal_no_progress)
{
    char command[1000];
    snprintf(command, sizeof command, "'%s' overhead 2>&1 < /dev/null", HUSK_CLBENCH);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
    ck_assert_int_eq(pclose(pipe), 0);
    ck_assert_ptr_null(strchr(output, '\r'));
    ck_assert_ptr_null(strstr(output, " left]"));
}
END_TEST

// ---- lines ----

static void fold(const char *text, int columns, int indent, const char *expected)
{
    char *made = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&made, &size);
    bench_fold(file, columns, indent, text);
    fclose(file);
    ck_assert_str_eq(made, expected);
    free(made);
}

START_TEST(lines_are_broken_between_words)
{
    fold("one two three\nfour\n", 8, 2, "one two\n  three\nfour\n");
    fold("one two three\n", 0, 2, "one two three\n");
    fold("  one two\n", 5, 4, "  one\n    two\n");
    fold("a_word_that_is_longer b\n", 8, 2, "a_word_that_is_longer\n  b\n");
    fold("\033[32mone\033[0m two\n", 7, 2, "\033[32mone\033[0m two\n"); // colours take no room
    fold("a   b\n", 4, 0, "a\nb\n"); // blanks at the break are nothing
    fold("", 8, 2, "");
}
END_TEST

static void expect_lines_to_fit(int columns, const char *arguments)
{
    const int code = run(columns, arguments);
    ck_assert_msg(code == 0 || code == 4 || code == 5, "clbench %s: exit code %d\n%.3000s", arguments, code, output);
    for (const char *line = output; *line;) {
        const size_t length = strcspn(line, "\r\n"), indent = strspn(line, " ");
        const bool is_word = indent + strcspn(line + indent, " \r\n") >= length; // which is not broken
        ck_assert_msg(length <= (size_t)columns || is_word, "clbench %s on %d columns: %zu are wanted\n%.*s", arguments,
                      columns, length, (int)length, line);
        line += length;
        line += strspn(line, "\r\n");
    }
}

START_TEST(every_line_fits_the_terminal)
{
    static const int widths[] = {60, 80, 100};
    static const char *const commands[] = {
        "--help",
        "doctor --help",
        "list",
        "list --suite training",
        "compare earlier_result.json cpu_result.json",
        ("compare earlier_result.json cpu_result.json old_form_result.json earlier_result.json gpu_result.json "
         "two_devices_result.json"),
        "history show earlier_result.json",
        "history show two_devices_result.json",
        "history",
        "devices -q",
        "run -n --suite training",
    };
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
            expect_lines_to_fit(widths[w], commands[i]);
}
END_TEST

START_TEST(every_line_of_what_is_measured_fits_the_terminal)
{
    static const int widths[] = {60, 80};
    static const char *const commands[] = {
        "overhead -q",
        ("run -q --quick --no-history conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1 act=relu bias=1 optimizer count=4 "
         "dtype=f16 softmax outer=4 axis=50"),
        "verify -q conv c=4 h=8 w=8 k=8 r=3 s=3 pad=1 softmax outer=4 axis=50",
        "tune -q --budget 5s softmax outer=60 axis=50",
        "tune -q --show",
    };
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
            expect_lines_to_fit(widths[w], commands[i]);
}
END_TEST

int main(void)
{
    char place[] = "/tmp/husk-test-terminal-XXXXXX";
    if (!mkdtemp(place))
        return EXIT_FAILURE;
    char command[100];
    snprintf(database, sizeof database, "%s/tuning.json", place);
    TCase *tests = tcase_create("terminal");
    tcase_set_timeout(tests, 190);
    tcase_add_test(tests, long_work_says_how_long_it_takes);
    tcase_add_test(tests, starting_says_how_long_it_takes);
    tcase_add_test(tests, what_is_left_follows_the_pace);
    tcase_add_test(tests, no_terminal_no_progress);
    tcase_add_test(tests, lines_are_broken_between_words);
    tcase_add_test(tests, every_line_fits_the_terminal);
    tcase_add_test(tests, every_line_of_what_is_measured_fits_the_terminal);
    Suite *suite = suite_create("terminal");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    snprintf(command, sizeof command, "rm -rf %s", place);
    return system(command) == 0 && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
