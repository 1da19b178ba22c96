// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=60
// Early stopping, progress and logs: nothing of this needs a device.
#define _XOPEN_SOURCE   700 // pseudo-terminals
#define _DEFAULT_SOURCE     // ioctl
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <husk/train/loop.h>

#include "support/support.h"
#include "train/loop/progress.h"

static husk_error error;

// ---- early stopping ----

typedef struct stopping_case {
    husk_stopping_params params;
    int count;
    double values[8];
    char best[9]; // b: the best so far
    int stops;    // at which value; -1: at none
    uint64_t best_step;
} stopping_case;

START_TEST(it_stops_when_nothing_gets_better)
{
    const stopping_case cases[] = {
        {HUSK_STOPPING_PARAMS(.patience = 2), 6, {3, 2, 2, 1.5, 1.5, 1.6}, "bb.b..", 5, 103},
        {HUSK_STOPPING_PARAMS(.patience = 1), 3, {3, 2, 2}, "bb.", 2, 101},
        {HUSK_STOPPING_PARAMS(.patience = 3, .better = HUSK_MORE_IS_BETTER), 5, {3, 2, 4, 4, 5}, "b.b.b", -1, 104},
        // Half is no more than half better; from 3 the next has to be below 2.5.
        {HUSK_STOPPING_PARAMS(.patience = 3, .min_delta = 0.5), 6, {3, 2.5, 2.4, 2, 1.95, 1.8}, "b.b..b", -1, 105},
        {HUSK_STOPPING_PARAMS(.patience = 2, .min_delta = 1, .better = HUSK_MORE_IS_BETTER),
         3,
         {1, 2, 2},
         "b..",
         2,
         100},
        {HUSK_STOPPING_PARAMS(.patience = 3), 6, {NAN, 2, NAN, 3, NAN, 1}, ".b...b", 4, 105},
        {HUSK_STOPPING_PARAMS(.patience = 2), 2, {NAN, NAN}, "..", 1, 0},
        {HUSK_STOPPING_PARAMS(.patience = 2), 3, {INFINITY, 1, -INFINITY}, "bbb", -1, 102},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        husk_stopping stopping = {0};
        int stopped = -1;
        for (int v = 0; v < cases[i].count; v++) {
            char text[HUSK_STATE_TEXT];
            test_ok_error(husk_stopping_save(&stopping, text, &error), &error);
            memset(&stopping, 0x5a, sizeof stopping);
            test_ok_error(husk_stopping_load(text, &stopping, &error), &error);
            test_ok_error(
                husk_stopping_step(&cases[i].params, &stopping, 100 + (uint64_t)v, cases[i].values[v], &error), &error);
            ck_assert_msg(stopping.is_best == (cases[i].best[v] == 'b'), "case %zu, value %d", i, v);
            if (stopping.stop && stopped < 0)
                stopped = v;
        }
        ck_assert_msg(stopped == cases[i].stops, "case %zu stopped at %d", i, stopped);
        ck_assert_uint_eq(stopping.best_step, cases[i].best_step);
    }
}
END_TEST

START_TEST(wrong_stopping_is_refused)
{
    husk_stopping stopping = {0}, zeros = {0};
    const husk_stopping_params none = HUSK_STOPPING_PARAMS(0),
                               negative = HUSK_STOPPING_PARAMS(.patience = 1, .min_delta = -1),
                               neither = HUSK_STOPPING_PARAMS(.patience = 1, .better = (husk_better)3),
                               right = HUSK_STOPPING_PARAMS(.patience = 1);
    char text[HUSK_STATE_TEXT];
    test_refused_error(husk_stopping_step(&none, &stopping, 0, 1, &error), &error, HUSK_INVALID_ARGUMENT,
                       "husk_stopping_step: params: patience has to be 1 or more");
    test_refused_error(husk_stopping_step(&negative, &stopping, 0, 1, &error), &error, HUSK_INVALID_ARGUMENT,
                       "min_delta is -1; it has to be finite and 0 or more");
    test_refused_error(husk_stopping_step(&neither, &stopping, 0, 1, &error), &error, HUSK_INVALID_ARGUMENT,
                       "better is 3; it is 0 for less or 1 for more");
    test_refused_error(husk_stopping_step(NULL, &stopping, 0, 1, &error), &error, HUSK_INVALID_ARGUMENT,
                       "params: it is NULL");
    test_refused_error(husk_stopping_step(&right, NULL, 0, 1, &error), &error, HUSK_INVALID_ARGUMENT,
                       "stopping: it is NULL");
    test_refused_error(husk_stopping_load("stopping 1 2 3", &stopping, &error), &error, HUSK_INVALID_ARGUMENT,
                       "text: it is not \"stopping\" and 6 hexadecimal numbers");
    test_refused_error(husk_stopping_load(NULL, &stopping, &error), &error, HUSK_INVALID_ARGUMENT, "text: it is NULL");
    test_refused_error(husk_stopping_load("", NULL, &error), &error, HUSK_INVALID_ARGUMENT, "stopping: it is NULL");
    test_refused_error(husk_stopping_save(NULL, text, &error), &error, HUSK_INVALID_ARGUMENT, "stopping: it is NULL");
    test_refused_error(husk_stopping_save(&stopping, NULL, &error), &error, HUSK_INVALID_ARGUMENT, "text: it is NULL");
    ck_assert(memcmp(&stopping, &zeros, sizeof zeros) == 0);
}
END_TEST

// ---- progress ----

START_TEST(times_are_short)
{
    const struct {
        double seconds;
        const char *text;
    } times[] = {{0, "0:00"},
                 {7.4, "0:07"},
                 {59.5, "1:00"},
                 {3599, "59:59"},
                 {3600, "1:00:00"},
                 {86399, "23:59:59"},
                 {86400 + 7200, "1 d 02 h"},
                 {-1, "-:--"},
                 {INFINITY, "-:--"},
                 {NAN, "-:--"}};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        char text[HUSK__PROGRESS_TIME];
        husk__progress_time(times[i].seconds, text);
        ck_assert_str_eq(text, times[i].text);
    }
}
END_TEST

START_TEST(a_line_says_how_long_it_will_take)
{
    const struct {
        husk__progress_line line;
        const char *text;
    } lines[] = {
        {{"digits", "loss 0.5", 0, 15, 30, 12, 100}, "digits  [##########..........]  50%  15/30  0:12 left  loss 0.5"},
        // Ten of those 20 were done before; 10 took 5 s, so 80 take 40 s.
        {{NULL, NULL, 10, 20, 100, 5, 60}, "[####................]  20%  20/100  0:40 left"},
        {{NULL, NULL, 10, 10, 100, 5, 60}, "[##..................]  10%  10/100  -:-- left"},
        {{"x", "", 0, 100, 100, 5, 60}, "x  [####################]  100%  100/100  0:00 left"},
        {{"x", NULL, 0, 120, 100, 5, 60}, "x  [####################]  100%  120/100  0:00 left"},
        // Narrow: no bar; and cut off, never inside a character.
        {{"x", "loss", 0, 1, 4, 1, 59}, "x  25%  1/4  0:03 left  loss"},
        {{"x", "loss", 0, 1, 4, 1, 26}, "x  25%  1/4  0:03 left  lo"},
        {{NULL, "\xc3\xa4\xc3\xb6\xc3\xbc", 0, 1, 4, 1, 23}, "25%  1/4  0:03 left  \xc3\xa4\xc3\xb6"},
        {{NULL, "a\x1b[2J\nb", 0, 1, 4, 1, 59}, "25%  1/4  0:03 left  a [2J b"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char text[HUSK__PROGRESS_LINE];
        size_t used = husk__progress_line_write(&lines[i].line, text);
        ck_assert_str_eq(text, lines[i].text);
        ck_assert_uint_eq(used, strlen(text));
    }
    static char longest[2000];
    memset(longest, 'y', sizeof longest - 1);
    char text[HUSK__PROGRESS_LINE];
    ck_assert_uint_eq(husk__progress_line_write(&(husk__progress_line){longest, longest, 0, 1, 2, 1, 4000}, text),
                      HUSK__PROGRESS_LINE - 1);
}
END_TEST

// What a run of three steps writes.
static char *written(husk_progress_params params)
{
    static char text[1000];
    FILE *file = tmpfile();
    husk_progress *progress;
    params.stream = file;
    test_ok_error(husk_progress_create(&params, &progress, &error), &error);
    husk_progress_show(progress, 1, "first");
    husk_progress_show(progress, 2, "second");
    husk_progress_show(progress, 3, "third");
    husk_progress_release(progress);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

START_TEST(a_line_is_written_over_and_over)
{
    // The second comes too soon after the first, the last is always shown.
    husk_progress_params params =
        HUSK_PROGRESS_PARAMS(.mode = HUSK_PROGRESS_ALWAYS, .total = 3, .label = "x", .interval = 1000, .columns = 40);
    char *text = written(params); // but for the time
    ck_assert(strncmp(text, "\rx  33%  1/3  ", 14) == 0 && !strstr(text, "second"));
    ck_assert(strstr(text, " left  first\033[K\rx  100%  3/3  0:00 left  third\033[K\n"));
    params.interval = 1e-9;
    text = written(params);
    ck_assert(strstr(text, "second") && strstr(text, "third"));
    params.mode = HUSK_PROGRESS_AUTO; // a file is no terminal
    ck_assert_str_eq(written(params), "");
    params.mode = HUSK_PROGRESS_NEVER;
    ck_assert_str_eq(written(params), "");
    husk_progress *progress;
    params = HUSK_PROGRESS_PARAMS(.mode = HUSK_PROGRESS_ALWAYS, .total = 3);
    test_ok_error(husk_progress_create(&params, &progress, &error), &error);
    husk_progress_show(progress, 1, NULL); // there is no stream
    husk_progress_release(progress);
    husk_progress_show(NULL, 1, NULL);
    husk_progress_release(NULL);
}
END_TEST

// A terminal of 30 columns, of which the last stays free.
START_TEST(a_terminal_has_its_own_width)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
        printf("there are no pseudo-terminals here\n");
        return;
    }
    struct winsize window = {.ws_row = 10, .ws_col = 30};
    ck_assert_int_eq(ioctl(master, TIOCSWINSZ, &window), 0);
    FILE *stream = fopen(ptsname(master), "w");
    ck_assert_ptr_nonnull(stream);
    husk_progress *progress;
    husk_progress_params params = HUSK_PROGRESS_PARAMS(.stream = stream, .total = 4, .label = "x");
    test_ok_error(husk_progress_create(&params, &progress, &error), &error);
    husk_progress_show(progress, 4, "a long text that does not fit");
    char text[200];
    ssize_t used = read(master, text, sizeof text - 1);
    ck_assert(used > 0);
    text[used] = 0;
    ck_assert_str_eq(text, "\rx  100%  4/4  0:00 left  a lo\033[K");
    husk_progress_release(progress);
    fclose(stream);
    close(master);
}
END_TEST

START_TEST(wrong_progress_is_refused)
{
    husk_progress *progress = (husk_progress *)&error;
    const struct {
        husk_progress_params params;
        const char *text;
    } refused[] = {{HUSK_PROGRESS_PARAMS(0), "total has to be 1 or more"},
                   {HUSK_PROGRESS_PARAMS(.total = 1, .mode = (husk_progress_mode)3), "mode 3 does not exist"},
                   {HUSK_PROGRESS_PARAMS(.total = 1, .interval = -1), "interval is -1"},
                   {HUSK_PROGRESS_PARAMS(.total = 1, .columns = -1), "columns is -1"}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        test_refused_error(husk_progress_create(&refused[i].params, &progress, &error), &error, HUSK_INVALID_ARGUMENT,
                           refused[i].text);
        ck_assert_ptr_null(progress);
    }
    test_refused_error(husk_progress_create(NULL, &progress, &error), &error, HUSK_INVALID_ARGUMENT,
                       "params: it is NULL");
    test_refused_error(husk_progress_create(&refused[0].params, NULL, &error), &error, HUSK_INVALID_ARGUMENT,
                       "progress: it is NULL");
}
END_TEST

// ---- logs ----

static char folder[] = "/tmp/husk-loop-XXXXXX";
static char path[64];
static const char *const columns[] = {"step", "loss", "rate"};

static husk_log *open_log(husk_log_mode mode, double at)
{
    husk_log *log;
    husk_log_params params = HUSK_LOG_PARAMS(.columns = columns, .count = 3, .mode = mode, .resume_at = at);
    test_ok_error(husk_log_open(path, &params, &log, &error), &error);
    return log;
}

static void write_row(husk_log *log, double step, double loss, double rate)
{
    test_ok_error(husk_log_write(log, (double[]){step, loss, rate}, &error), &error);
}

static void put(const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static const char *get(void)
{
    static char text[4000];
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

START_TEST(rows_are_there_at_once)
{
    husk_log *log = open_log(HUSK_LOG_ANEW, 0);
    ck_assert_str_eq(get(), "# step loss rate\n");
    write_row(log, 0, 2.302585093, 1e-3);
    ck_assert_str_eq(get(), "# step loss rate\n0 2.30258509 0.001\n");
    write_row(log, 12345678901, NAN, -INFINITY);
    write_row(log, -0.5, 1e-30, 1e300);
    husk_log_close(log);
    ck_assert_str_eq(get(), "# step loss rate\n0 2.30258509 0.001\n12345678901 nan -inf\n-0.5 1e-30 1e+300\n");
    husk_log_close(open_log(HUSK_LOG_ANEW, 0)); // anew
    ck_assert_str_eq(get(), "# step loss rate\n");
    husk_log_close(NULL);
}
END_TEST

#define HEADER "# step loss rate\n"

START_TEST(a_resumed_run_goes_on_in_its_log)
{
    const struct {
        const char *before;
        double at;
        const char *after;
    } cases[] = {
        {HEADER "0 1 2\n1 nan 2\n2 0.5 1e-09\n", INFINITY, HEADER "0 1 2\n1 nan 2\n2 0.5 1e-09\n"},
        {HEADER "0 1 2\n1 1 2\n2 1 2\n", 2, HEADER "0 1 2\n1 1 2\n"},
        {HEADER "0 1 2\n1 1 2\n2 1 2\n", 1.5, HEADER "0 1 2\n1 1 2\n"},
        {HEADER "0.5 1 2\n1.25e+01 1 2\n", 12.5, HEADER "0.5 1 2\n"},
        {HEADER "0 1 2\n1 1 2\n2 1 2\n", 0, HEADER},
        {HEADER "0 1 2\n5 1 2\n1 1 2\n", 2, HEADER "0 1 2\n"}, // nothing behind a row that is dropped
        {HEADER "0 1 2\n1 1 2\n2 0.", INFINITY, HEADER "0 1 2\n1 1 2\n"}, // killed while it wrote
        {HEADER "0 1 2\n1 1 2\n2 0.5 7", INFINITY, HEADER "0 1 2\n1 1 2\n"},
        {"# step lo", INFINITY, HEADER},
        {"", INFINITY, HEADER},
        {HEADER "-inf 1 -2.5e-07\n", INFINITY, HEADER "-inf 1 -2.5e-07\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char wanted[400];
        put(cases[i].before);
        husk_log *log = open_log(HUSK_LOG_RESUME, cases[i].at);
        ck_assert_str_eq(get(), cases[i].after);
        write_row(log, 9, 8, 7);
        husk_log_close(log);
        snprintf(wanted, sizeof wanted, "%s9 8 7\n", cases[i].after);
        ck_assert_str_eq(get(), wanted);
    }
    unlink(path);
    husk_log_close(open_log(HUSK_LOG_RESUME, 3));
    ck_assert_str_eq(get(), HEADER);
}
END_TEST

START_TEST(foreign_logs_stay_as_they_are)
{
    const struct {
        const char *before, *text;
    } cases[] = {
        {"# step loss\n0 1\n", "its first line is not \"# step loss rate\""},
        {"# step loss rate more\n0 1 2 3\n", "its first line is not"},
        {"root:x:0:0\n", "its first line is not"},
        {"#", NULL},
        {HEADER "0 1\n", "line 2 has not got 3 numbers"},
        {HEADER "0 1 2\n0 1 2 3\n", "line 3 has not got 3 numbers"},
        {HEADER "0 1 2\n\n", "line 3 has not got 3 numbers"},
        {HEADER "0 1 x\n", "line 2 has not got 3 numbers"},
        {HEADER "0  1 2\n", "line 2 has not got 3 numbers"},
        {HEADER "0 1 2 \n", "line 2 has not got 3 numbers"},
        {HEADER "0 - 2\n", "line 2 has not got 3 numbers"},
    };
    husk_log *log = NULL;
    husk_log_params params = HUSK_LOG_PARAMS(.columns = columns, .count = 3, .mode = HUSK_LOG_APPEND);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put(cases[i].before);
        husk_status status = husk_log_open(path, &params, &log, &error);
        if (!cases[i].text) { // the beginning of its own first line
            test_ok_error(status, &error);
            husk_log_close(log);
            continue;
        }
        test_refused_error(status, &error, HUSK_INVALID_ARGUMENT, cases[i].text);
        ck_assert_ptr_null(log);
        ck_assert_str_eq(get(), cases[i].before);
    }
    test_refused_error(husk_log_open(folder, &params, &log, &error), &error, HUSK_INVALID_ARGUMENT,
                       "it is no plain file");
    params.mode = HUSK_LOG_ANEW;
    test_refused_error(husk_log_open(folder, &params, &log, &error), &error, HUSK_IO,
                       "it cannot be opened for writing");
    test_refused_error(husk_log_open("/dev/full", &params, &log, &error), &error, HUSK_IO, "it cannot be written");
}
END_TEST

// ---- a log that cannot be written ----

static bool cannot_cut;

int __real_ftruncate(int file, off_t size);
int __wrap_ftruncate(int file, off_t size);
int __wrap_ftruncate(int file, off_t size)
{
    if (!cannot_cut)
        return __real_ftruncate(file, size);
    errno = EIO;
    return -1;
}

// Files have at most so many bytes, as on a disk that is full then; RLIM_INFINITY: as before.
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN); // as the program has to that sets such a limit
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

#define WHOLE HEADER "12 0.5 1\n"
#define ROW   "13 0.25 1\n"

// For every part of a row that gets into the file: it is cut off at once, and where that fails before the next row.
START_TEST(a_row_that_fails_is_not_the_beginning_of_the_next)
{
    for (size_t i = 0; i < 2 * strlen(ROW); i++) {
        const size_t room = i / 2;
        const double row[] = {13, 0.25, 1};
        husk_log *log = open_log(HUSK_LOG_ANEW, 0);
        write_row(log, 12, 0.5, 1);
        limit_files(strlen(WHOLE) + room);
        cannot_cut = i % 2;
        test_refused_error(husk_log_write(log, row, &error), &error, HUSK_IO, "it cannot be written");
        limit_files(RLIM_INFINITY);
        if (cannot_cut)
            test_refused_error(husk_log_write(log, row, &error), &error, HUSK_IO, "cannot be cut off");
        else
            ck_assert_str_eq(get(), WHOLE);
        cannot_cut = false;
        write_row(log, 13, 0.25, 1);
        ck_assert_str_eq(get(), WHOLE ROW);
        husk_log_close(log);
        husk_log_close(open_log(HUSK_LOG_RESUME, INFINITY));
        ck_assert_str_eq(get(), WHOLE ROW);
    }
}
END_TEST

START_TEST(a_first_line_that_fails_is_written_by_the_next)
{
    for (size_t room = 0; room < strlen(HEADER); room++) {
        husk_log *log;
        limit_files(room);
        test_refused_error(husk_log_open(path, &HUSK_LOG_PARAMS(.columns = columns, .count = 3), &log, &error), &error,
                           HUSK_IO, "it cannot be written");
        limit_files(RLIM_INFINITY);
        ck_assert_uint_eq(strlen(get()), room);
        husk_log_close(open_log(HUSK_LOG_APPEND, 0));
        ck_assert_str_eq(get(), HEADER);
    }
}
END_TEST

START_TEST(wrong_logs_are_refused)
{
    char longest[62];
    memset(longest, 'x', 61);
    longest[61] = 0;
    const char *names[] = {"", "two words", "t\x01", "\xc3\xa4", NULL, longest};
    husk_log *log = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *const pair[] = {"step", names[i]};
        test_refused_error(husk_log_open(path, &HUSK_LOG_PARAMS(.columns = pair, .count = 2), &log, &error), &error,
                           HUSK_INVALID_ARGUMENT, "the name of column 1 has to be 1 to 60 printable characters");
    }
    longest[60] = 0;
    test_ok_error(husk_log_open(path, &HUSK_LOG_PARAMS(.columns = &names[5], .count = 1), &log, &error), &error);
    test_refused_error(husk_log_write(log, NULL, &error), &error, HUSK_INVALID_ARGUMENT, "values: it is NULL");
    husk_log_close(log);
    const husk_log_params none = HUSK_LOG_PARAMS(.columns = columns),
                          many = HUSK_LOG_PARAMS(.columns = columns, .count = 65), absent = HUSK_LOG_PARAMS(.count = 1),
                          right = HUSK_LOG_PARAMS(.columns = columns, .count = 1),
                          unknown = HUSK_LOG_PARAMS(.columns = columns, .count = 1, .mode = 3),
                          nowhere = HUSK_LOG_PARAMS(.columns = columns, .count = 1, .mode = HUSK_LOG_RESUME,
                                                    .resume_at = NAN);
    test_refused_error(husk_log_open(path, &none, &log, &error), &error, HUSK_INVALID_ARGUMENT, "0 columns; 1 to 64");
    test_refused_error(husk_log_open(path, &many, &log, &error), &error, HUSK_INVALID_ARGUMENT, "65 columns; 1 to 64");
    test_refused_error(husk_log_open(path, &absent, &log, &error), &error, HUSK_INVALID_ARGUMENT, "columns is NULL");
    test_refused_error(husk_log_open(path, &nowhere, &log, &error), &error, HUSK_INVALID_ARGUMENT, "resume_at is NaN");
    test_refused_error(husk_log_open(path, &unknown, &log, &error), &error, HUSK_INVALID_ARGUMENT,
                       "mode 3 does not exist");
    test_refused_error(husk_log_open(path, NULL, &log, &error), &error, HUSK_INVALID_ARGUMENT, "params: it is NULL");
    test_refused_error(husk_log_open(NULL, &right, &log, &error), &error, HUSK_INVALID_ARGUMENT, "path: it is NULL");
    test_refused_error(husk_log_open(path, &right, NULL, &error), &error, HUSK_INVALID_ARGUMENT, "log: it is NULL");
    test_refused_error(husk_log_write(NULL, (double[]){1}, &error), &error, HUSK_INVALID_ARGUMENT, "log: it is NULL");
}
END_TEST

// Where the decimal point is a comma a log still has points.
START_TEST(locales_do_not_matter)
{
    const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "ps_AF.UTF-8"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !found; i++)
        found = setlocale(LC_NUMERIC, names[i]) != NULL;
    if (!found) { // glibc makes one anywhere
        char command[400];
        snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' > /dev/null 2>&1", folder);
        setenv("LOCPATH", folder, 1);
        found = system(command) == 0 && setlocale(LC_NUMERIC, names[0]);
    }
    husk_log *log = open_log(HUSK_LOG_ANEW, 0);
    write_row(log, 0.5, 1.25e-7, 3);
    husk_log_close(log);
    husk_log_close(open_log(HUSK_LOG_APPEND, 0));
    setlocale(LC_NUMERIC, "C");
    ck_assert_str_eq(get(), HEADER "0.5 1.25e-07 3\n");
    printf("another locale's decimal point: %s\n", found ? "a comma" : "no such locale is to be had");
}
END_TEST

static int shell(const char *command)
{
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(gnuplot_draws_it)
{
    if (shell("command -v gnuplot > /dev/null 2>&1") != 0) {
        printf("gnuplot is not installed: nothing was drawn\n");
        return;
    }
    husk_log *log = open_log(HUSK_LOG_ANEW, 0);
    for (int step = 0; step < 50; step++)
        write_row(log, step, step == 20 ? NAN : exp(-0.1 * step), 0.001 * step);
    husk_log_close(log);
    char command[1000], picture[80];
    snprintf(picture, sizeof picture, "%s/log.svg", folder);
    snprintf(command, sizeof command, "gnuplot -e \"log='%s'\" '%s/examples/plot_log.gp' > '%s' 2> '%s/said'", path,
             HUSK_SOURCE_DIR, picture, folder);
    ck_assert_int_eq(shell(command), 0);
    // Both curves, the names of the axes, nothing said.
    snprintf(command, sizeof command,
             "test ! -s '%s/said' && grep -q '>loss<' '%s' && grep -q '>rate<' '%s' && grep -q '>step<' '%s' && "
             "test \"$(grep -c 'gnuplot_plot_1' '%s')\" -ge 2",
             folder, picture, picture, picture, picture);
    ck_assert_int_eq(shell(command), 0);
    snprintf(command, sizeof command, "gnuplot '%s/examples/plot_log.gp' > /dev/null 2>&1", HUSK_SOURCE_DIR);
    ck_assert_int_ne(shell(command), 0);
}
END_TEST

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/run.log", folder);
    Suite *suite = suite_create("loop");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, it_stops_when_nothing_gets_better);
    tcase_add_test(tests, wrong_stopping_is_refused);
    tcase_add_test(tests, times_are_short);
    tcase_add_test(tests, a_line_says_how_long_it_will_take);
    tcase_add_test(tests, a_line_is_written_over_and_over);
    tcase_add_test(tests, a_terminal_has_its_own_width);
    tcase_add_test(tests, wrong_progress_is_refused);
    tcase_add_test(tests, rows_are_there_at_once);
    tcase_add_test(tests, a_resumed_run_goes_on_in_its_log);
    tcase_add_test(tests, foreign_logs_stay_as_they_are);
    tcase_add_test(tests, a_row_that_fails_is_not_the_beginning_of_the_next);
    tcase_add_test(tests, a_first_line_that_fails_is_written_by_the_next);
    tcase_add_test(tests, wrong_logs_are_refused);
    tcase_add_test(tests, locales_do_not_matter);
    tcase_add_test(tests, gnuplot_draws_it);
    suite_add_tcase(suite, tests);
    int result = test_main(suite);
    char command[80];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return shell(command) ? 1 : result;
}
