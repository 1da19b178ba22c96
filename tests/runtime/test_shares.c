// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind
// Shares of a launch (cl/lib/shares.clh): every one is taken once, whatever their number, launch after launch.
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "runtime/launch.h"
#include "support/environment.h"
#include "support/support.h"

enum { QUEUES = 2, SHARES_MOST = 100000 };

static char directory[] = "/tmp/husk-shares-XXXXXX";
static husk_context *context;

static void run_command(const char *before, const char *after)
{
    char command[400];
    snprintf(command, sizeof command, "%s '%s%s'", before, directory, after);
    ck_assert_int_eq(system(command), 0);
}

static void setup(void)
{
    husk_error error = {0};
    husk_context_params params = HUSK_CONTEXT_PARAMS(.cache = HUSK_CACHE_OFF);
    char path[100];
    ck_assert_ptr_nonnull(mkdtemp(directory));
    run_command("mkdir", "/lib");
    run_command("cp '" HUSK_SOURCE_DIR "/cl/lib/shares.clh'", "/lib");
    snprintf(path, sizeof path, "%s/test_shares.cl", directory);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs("#include \"lib/shares.clh\"\n"
          "__attribute__((reqd_work_group_size(1, 1, 1)))\n"
          "__kernel void husk_test_shares(__global int *y, long offset, SHARES_PARAM)\n"
          "{\n    const int3 place = group_place(shares);\n"
          "    y[offset + place.x + get_num_groups(0) * (place.y + get_num_groups(1) * place.z)] += 1;\n}\n",
          file);
    fclose(file);
    test_setenv("HUSK_KERNEL_DIR", directory);
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
}

static void teardown(void)
{
    husk_context_release(context);
    test_restore_environment();
    run_command("rm -rf", "");
}

static const size_t RANGES[][3] = {{1, 1, 1}, {2, 1, 1},   {3, 1, 1},  {1, 5, 1},    {32, 1, 1},
                                   {7, 3, 2}, {1, 1, 129}, {31, 1, 4}, {4000, 1, 1}, {50000, 2, 1}};
enum { RANGE_COUNT = sizeof RANGES / sizeof *RANGES, ROUNDS = 40 };

// Launches of all ranges on two queues in turns: each has its own table, which every launch leaves as it found it.
START_TEST(every_share_is_taken_once)
{
    husk_error error = {0};
    husk__scope scope = {"husk_test", &error};
    const husk__kernel *kernel = NULL;
    husk_queue *queues[QUEUES];
    husk_buffer *buffers[QUEUES][RANGE_COUNT];
    int32_t *counts = calloc(SHARES_MOST, sizeof *counts);
    ck_assert_ptr_nonnull(counts);
    test_ok_error(husk__kernel_get(context, "test_shares.cl", "", "husk_test_shares", &kernel, &scope), &error);
    for (int q = 0; q < QUEUES; ++q) {
        test_ok_error(husk_queue_create(context, NULL, &queues[q], &error), &error);
        for (int r = 0; r < RANGE_COUNT; ++r) {
            const size_t count = RANGES[r][0] * RANGES[r][1] * RANGES[r][2];
            test_ok_error(husk_buffer_create(context, count * sizeof *counts, &buffers[q][r], &error), &error);
            for (size_t i = 0; i < count; ++i)
                counts[i] = 0;
            test_ok(husk_buffer_write(queues[q], buffers[q][r], 0, count * sizeof *counts, counts));
        }
    }
    for (int round = 0; round < ROUNDS; ++round)
        for (int r = 0; r < RANGE_COUNT; ++r)
            for (int q = 0; q < QUEUES; ++q) {
                const husk__range range = {{RANGES[r][0], RANGES[r][1], RANGES[r][2]}, {1, 1, 1}};
                test_ok_error(HUSK__LAUNCH(queues[q], kernel, &range, &scope,
                                           HUSK__ARG_BUFFER(buffers[q][r], 0, sizeof *counts), HUSK__ARG_SHARES),
                              &error);
            }
    for (int q = 0; q < QUEUES; ++q) {
        for (int r = 0; r < RANGE_COUNT; ++r) {
            const size_t count = RANGES[r][0] * RANGES[r][1] * RANGES[r][2];
            test_ok(husk_buffer_read(queues[q], buffers[q][r], 0, count * sizeof *counts, counts));
            for (size_t i = 0; i < count; ++i)
                ck_assert_msg(counts[i] == ROUNDS, "share %zu of %zu was taken %d times in %d launches", i, count,
                              (int)counts[i], (int)ROUNDS);
            husk_buffer_release(buffers[q][r]);
        }
        husk_queue_release(queues[q]);
    }
    free(counts);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shares");
    TCase *tests = tcase_create("shares");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, every_share_is_taken_once);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
