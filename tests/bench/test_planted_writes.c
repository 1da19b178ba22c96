// SPDX-License-Identifier: MIT
// ctest: tiers=long timeout=60
// Of every operator and gradient one store of a kernel writes an element further: past the end of its output. The bands
// around a verified case's memory show each of them, and clbench says which operand was passed.
// This program is its own worker: the parent starts it again with --worker, as clbench does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cases/op_lists.h"
#include "cases/ops.h"
#include "cases/parse.h"
#include "support/environment.h"
#include "support/support.h"
#include "support/wrong_kernels.h"
#include "verify/check.h"
#include "worker/husk_runner.h"
#include "worker/husk_extra.h"
#include "worker/worker.h"

#ifndef HUSK_CLBENCH
#error "HUSK_CLBENCH is the path of clbench; bench/CMakeLists.txt defines it"
#endif

// Lines of the list writes: "OPERATOR | VARIANT | CASE | FILE | RIGHT | WRONG". The first RIGHT of a kernel's file
// becomes WRONG; rows whose kernels share a file share its store, and end with the file.
typedef struct planted {
    char *op, *variant, *line, *file, *right, *wrong;
} planted;

enum { MOST_PLANTS = 100 };
static planted plants[MOST_PLANTS];
static size_t plant_count;
static char *writes;

// Cuts " | " off behind a column; what follows it, NULL past the last.
static char *cut_column(char *column)
{
    char *bar = column ? strstr(column, " | ") : NULL;
    if (!bar)
        return NULL;
    *bar = '\0';
    return bar + 3;
}

static void read_plants(void)
{
    writes = bench_op_lists("writes");
    ck_assert_ptr_nonnull(writes);
    char *next;
    for (char *line = writes; *line; line = next) {
        ck_assert_uint_lt(plant_count, MOST_PLANTS);
        next = line + strcspn(line, "\n");
        *next++ = '\0';
        planted *p = &plants[plant_count++];
        char **const columns[] = {&p->op, &p->variant, &p->line, &p->file, &p->right, &p->wrong};
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
            *columns[i] = line;
            line = cut_column(line);
        }
        ck_assert_msg(p->file && !p->right == !p->wrong, "[writes]: %s has too few columns", p->op);
    }
}

static char folder[] = "/tmp/husk-writes-XXXXXX";

static void setup(void)
{
    read_plants();
    test_copy_kernels(folder);
    for (size_t i = 0; i < plant_count; i++)
        if (plants[i].right)
            test_plant(folder, plants[i].file, plants[i].right, plants[i].wrong);
    test_setenv("HUSK_KERNEL_DIR", folder);
}

static void teardown(void)
{
    test_remove_kernels(folder);
    free(writes);
}

START_TEST(every_operator_is_there)
{
    const char *name;
    for (size_t i = 0; (name = husk_op_name(i)); i++) {
        size_t at = 0;
        while (at < plant_count && strcmp(plants[at].op, name) != 0)
            at++;
        ck_assert_msg(at < plant_count, "%s: no write past its output is planted", name);
    }
}
END_TEST

static bench_check check_of(bench_runner_process *husk, const planted *p)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_case c;
    bench_check check;
    const bench_check_options options = {.form = p->variant, .max_time = 60, .compile_time = 300, .seed = 1};
    ck_assert_msg(bench_case_parse(p->line, &c, reason), "%s: %s", p->line, reason);
    ck_assert_str_eq(bench_op_row(&c), p->op);
    bench_check_case(husk, &c, &options, &check);
    return check;
}

START_TEST(each_write_is_found)
{
    bench_runner_process husk;
    ck_assert(bench_runner_process_start(&husk, "husk", NULL, 1, NULL));
    ck_assert_msg(bench_runner_process_await(&husk, 120), "%s", husk.why);
    int missed = 0;
    for (size_t i = 0; i < plant_count; i++) {
        bench_check check = check_of(&husk, &plants[i]);
        const bool is_found = check.state == BENCH_STATE_FAILED && strstr(check.reason, "memory outside a buffer") &&
                              strstr(check.reason, "behind its end");
        if (!is_found)
            fprintf(stderr, "%s (%s): %s: %s\n", plants[i].op, plants[i].variant, bench_state_text(check.state),
                    check.reason);
        missed += !is_found;
        bench_check_free(&check);
    }
    bench_runner_process_stop(&husk);
    ck_assert_msg(missed == 0, "%d of %zu planted writes are not found", missed, plant_count);
}
END_TEST

// What a command says, with stderr, and its exit code.
static int say(const char *arguments, char *text, size_t size)
{
    char command[1024];
    snprintf(command, sizeof command, "{ HUSK_TUNING=0 '%s' %s; } 2>&1 < /dev/null", HUSK_CLBENCH, arguments);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    text[fread(text, 1, size - 1, pipe)] = '\0';
    return WEXITSTATUS(pclose(pipe));
}

static void expect_said(const char *text, const char *wanted)
{
    ck_assert_msg(strstr(text, wanted) != NULL, "not said: %s\n%.2000s", wanted, text);
}

#define BEHIND_C "memory outside a buffer of 884 bytes was written: bytes 0 to 3 behind its end"

START_TEST(the_commands_say_it)
{
    static char text[1 << 16];
    char arguments[512];
    ck_assert_int_eq(say("verify 'gemm m=13 n=17 k=19' --variant tiled", text, sizeof text), 3);
    expect_said(text, "failed  tiled  C: 221 of 221 outputs wrong, first [0, 0]"); // all lie an element further
    expect_said(text, "; the output: " BEHIND_C "; the last kernel that used it is husk_gemm_tiled");
    snprintf(arguments, sizeof arguments,
             "run 'gemm m=13 n=17 k=19' --variant tiled --quick --baseline none --json '%s/run.json' > '%s/run.txt'; "
             "code=$?; cat '%s/run.json'; exit $code",
             folder, folder, folder);
    ck_assert_int_eq(say(arguments, text, sizeof text), 3);
    expect_said(text, "\"state\": \"failed\"");
    expect_said(text, "the output: " BEHIND_C);
    expect_said(text, "\"guards\": \"touched\"");
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], BENCH_WORKER_ARGUMENT)) {
        const bench_worker_options options = {.runner = &bench_runner_husk, .extra = bench_husk_extra};
        return bench_worker_serve(&options);
    }
    Suite *suite = suite_create("planted_writes");
    TCase *tests = tcase_create("planted_writes");
    tcase_set_timeout(tests, 1800);
    tcase_add_unchecked_fixture(tests, setup, teardown);
    tcase_add_test(tests, every_operator_is_there);
    tcase_add_test(tests, each_write_is_found);
    tcase_add_test(tests, the_commands_say_it);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
