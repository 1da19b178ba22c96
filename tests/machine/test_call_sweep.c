// SPDX-License-Identifier: MIT
// ctest: tiers=faults,asan timeout=120 with=../support/faults/fault_layer,../support/faults/swept
// Measuring a device anew, of which every allocation of Husk's and every OpenCL call fails once: a documented status
// with a text of its own, nothing left behind, and the same call once more measures.
#include <stdio.h>
#include <stdlib.h>

#include "support/environment.h"
#include "support/faults/swept.h"
#include "support/support.h"

typedef struct subject {
    husk_context *context;
    husk_machine machine;
} subject;

static char directory[] = "/tmp/husk-sweep-XXXXXX";

static void make_context(void *user)
{
    subject *s = user;
    husk_error error;
    husk_context_params params = HUSK_CONTEXT_PARAMS(.cache = HUSK_CACHE_OFF);
    test_ok_error(husk_context_create(NULL, &params, &s->context, &error), &error);
}

static void release(void *user)
{
    subject *s = user;
    husk_context_release(s->context);
    s->context = NULL;
}

static husk_status calibrate(void *user)
{
    subject *s = user;
    return SWEPT(husk_context_calibrate, s->context, &s->machine);
}

static void is_measured(void *user, const char *when)
{
    const subject *s = user;
    ck_assert_msg(s->machine.is_measured && s->machine.cores > 0, "%s", when);
}

START_TEST(calibrating)
{
    subject s = {0};
    char command[64];
    sweep_begin();
    ck_assert_ptr_nonnull(mkdtemp(directory));
    test_setenv("XDG_DATA_HOME", directory);
    if (husk_context_traits(test_context())->device_class == HUSK_DEVICE_CPU)
        sweep_sampled(&(swept){"husk_context_calibrate", &s, make_context, calibrate, NULL, is_measured, release});
    test_restore_environment();
    sweep_end();
    snprintf(command, sizeof command, "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(enough_was_planted)
{
    sweep_report("machine", sweep_has_all() ? 100 : 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("call_sweep");
    TCase *tests = tcase_create("calls");
    tcase_set_timeout(tests, 1200);
    tcase_add_test(tests, calibrating);
    tcase_add_test(tests, enough_was_planted);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
