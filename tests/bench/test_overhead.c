// SPDX-License-Identifier: MIT
// ctest: timeout=120
// What an immediate call costs beyond its OpenCL calls. The bound is lenient, as tests run beside each other; what is
// aimed at is 2 us, and `clbench overhead` on a quiet machine shows it.
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "run/overhead.h"
#include "worker/overhead.h"

// A sanitizer checks every access of ours and none of the driver's: its time is then no call's.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BOUND_NS 1e6
#else
#define BOUND_NS 1e4
#endif
#define ATTEMPTS 3

START_TEST(a_call_costs_little_more_than_its_launches)
{
    char reason[BENCH_REASON_TEXT] = "";
    void *session = NULL;
    const bench_open_options options = {.threads = 1};
    ck_assert_msg(bench_runner_husk.open(&options, &session, reason) == BENCH_OK, "%s", reason);
    double least = INFINITY;
    for (int i = 0; i < ATTEMPTS && least > BOUND_NS; i++) {
        json_t *overhead = bench_overhead_measure(session, NULL, reason);
        ck_assert_msg(overhead != NULL, "%s", reason);
        ck_assert_uint_ge(json_array_size(overhead), 6);
        for (size_t k = 0; k < json_array_size(overhead); k++) {
            const json_t *one = json_array_get(overhead, k);
            ck_assert_int_gt(json_integer_value(json_object_get(one, "launches")), 0);
            ck_assert_double_gt(json_number_value(json_object_get(one, "bare_ns")), 0);
        }
        bench_overhead_print(overhead, true);
        least = fmin(least, bench_overhead_largest(overhead, NULL));
        json_decref(overhead);
    }
    bench_runner_husk.close(session);
    ck_assert_double_le(least, BOUND_NS);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("overhead");
    tcase_set_timeout(tests, 110);
    tcase_add_test(tests, a_call_costs_little_more_than_its_launches);
    Suite *suite = suite_create("overhead");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
