// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=300 processors=1 with=doctor_machine
// clbench doctor and devices that do what is wrong, planted by an OpenCL layer (tests/support/layer): results, clocks,
// speed, crashes; and drivers that break the list for all others. Programs are not counted here: each run of the doctor
// builds what measures speed. The default tier checks gemm alone, long every operator.
#include <check.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <husk/husk.h>

#include "doctor_machine.h"
#include "support/main.h"
#include "support/wrong_kernels.h"

static char folder[] = "/tmp/husk-doctor-XXXXXX";

static int run(const char *environment, const char *faults, const char *arguments)
{
    char command[4096];
    snprintf(command, sizeof command,
             "HUSK_TEST_BUILDS= HUSK_LIMITS=max_allocation=64M OPENCL_LAYERS='%s' HUSK_TEST_FAULTS='%s' %s '%s' doctor "
             "--json %s 2> /dev/null < /dev/null",
             HUSK_TEST_LAYER, faults, environment, HUSK_CLBENCH, arguments);
    return doctor_run(command);
}

static void expect_code(int code, const char *environment, const char *faults, const char *arguments)
{
    const int got = run(environment, faults, arguments);
    ck_assert_msg(got == code, "exit code %d instead of %d\n%.3000s", got, code, doctor_said);
    ck_assert_msg(doctor_document != NULL, "%.3000s", doctor_said);
}

static const json_t *expect(const char *level, const char *id, const char *words)
{
    return doctor_expect(level, id, words, "");
}

#define GEMM  "--budget 10ms --heat 0 " // time for the first operator alone
#define SPEED "--budget 4.01s --heat 4s "

// What depends on times is tried again where the machine was busy with something else.
static void examine_until_found(const char *id, const char *faults, const char *arguments)
{
    for (int attempt = 0; attempt < 3; attempt++) {
        expect_code(0, "", faults, arguments);
        if (doctor_find(id))
            return;
    }
}

// What a compiler gets wrong is a note with what to do about it, and no problem: Husk's own kernels avoid it.
START_TEST(a_compilers_fault_is_noted_with_what_to_do)
{
    char kernels[] = "/tmp/husk-quirks-XXXXXX", environment[128];
    test_copy_kernels(kernels);
    test_plant(kernels, "runtime/quirks.cl", "= first;", "= scratch[63 - item];");
    snprintf(environment, sizeof environment, "HUSK_KERNEL_DIR=%s", kernels);
    expect_code(0, environment, "", GEMM);
    const json_t *finding = expect("note", "quirk_local_load", husk_quirk_text(HUSK_QUIRK_LOCAL_LOAD));
    ck_assert_str_eq(json_string_value(json_object_get(finding, "todo")), husk_quirk_advice(HUSK_QUIRK_LOCAL_LOAD));
    // What was not found out is said, and is none.
    test_plant(kernels, "runtime/quirks.cl", "= scratch[63 - item];", "= no_such_name;");
    expect_code(0, environment, "", GEMM);
    expect("note", "quirk_not_tried", "not tried whether its compiler has the quirk local_load: husk_context_quirk: ");
    ck_assert_ptr_null(doctor_find("quirk_local_load"));
    test_remove_kernels(kernels);
}
END_TEST

// Said of other programs: clbench's own workers bind them. It depends on the driver alone, so a machine of one
// processor has no such note.
START_TEST(threads_that_share_processors_are_noted)
{
    expect_code(0, "POCL_AFFINITY=1", "", GEMM);
    ck_assert_ptr_null(doctor_find("threads_unbound"));
    expect_code(0, "env -u POCL_AFFINITY", "", GEMM);
    if (strstr(doctor_said, "Portable Computing Language") && sysconf(_SC_NPROCESSORS_ONLN) > 1)
        doctor_expect("note", "threads_unbound", "the driver does not bind its threads", "husk_context_bind_threads");
    expect_code(0, "env -u POCL_AFFINITY", "fail=-59 clEnqueueNativeKernel", GEMM); // that cannot be asked
    ck_assert_ptr_null(doctor_find("threads_unbound"));
}
END_TEST

START_TEST(a_sound_device_has_no_problem)
{
    // The machine may be busy, which is noted, and no problem.
    examine_until_found("clock", "", test_is_long() ? "--budget 600" : SPEED);
    ck_assert_ptr_null(doctor_find("miscomputes"));
    ck_assert_ptr_null(doctor_find("operator_fails"));
    doctor_check_outside();
    if (test_is_long())
        expect("ok", "results", "operators and gradients computed right");
    else
        expect("note", "not_all_checked", "only ");
    // Where it was, events and the wall clock may differ by what else ran.
    const bool is_busy = doctor_find("contended") || doctor_find("slows_down") || doctor_find("speed_unclear");
    ck_assert_msg(is_busy || doctor_find("speed"), "%.3000s", doctor_said);
    if (!is_busy || doctor_find("clock"))
        expect("ok", "clock", "agrees with the wall clock");
}
END_TEST

START_TEST(a_device_that_miscomputes_is_named_with_the_operator_and_its_variant)
{
    expect_code(3, "", "corrupt clEnqueueReadBuffer after=gemm", GEMM);
    const json_t *finding = expect("problem", "miscomputes", "gemm is computed wrong by its variant ");
    const char *again = doctor_text(finding, "reproduce");
    ck_assert_msg(!strncmp(again, "clbench verify gemm m=64 n=64 k=64 --variant ", 45), "%s", again);
    ck_assert_ptr_nonnull(strstr(again, " -d 0:0"));
}
END_TEST

START_TEST(an_operator_that_crashes_is_named)
{
    expect_code(1, "", "crash clEnqueueNDRangeKernel kernel=gemm", GEMM);
    expect("problem", "operator_fails", "gemm does not end well");
    ck_assert_ptr_nonnull(strstr(doctor_said, "SIGSEGV"));
}
END_TEST

START_TEST(an_operator_that_hangs_is_named)
{
    expect_code(1, "", "hang clFinish after=gemm", GEMM "--max-time 5");
    expect("problem", "operator_fails", "no answer within 10 s");
}
END_TEST

START_TEST(events_that_lie_are_noted)
{
    expect_code(0, "", "scale=2 clGetEventProfilingInfo", GEMM);
    expect("note", "clock_lies", "times what the wall clock says");
}
END_TEST

// A card takes its time to become warm: what begins after some seconds is found by whoever looks for longer.
START_TEST(a_device_that_slows_down_is_noted)
{
    examine_until_found("slows_down", "delay=200 clFinish after=husk_bench_fma since=4500", "--budget 8.01s --heat 8s");
    expect("note", "slows_down", "within 8 s of work it falls from");
}
END_TEST

START_TEST(little_work_says_little)
{
    expect_code(0, "", "", "--budget 40ms");
    doctor_expect("note", "not_heated", "0.01 s of work are too few", "--heat 20s");
    expect_code(0, "", "", GEMM);
    ck_assert_ptr_null(doctor_find("not_heated"));
}
END_TEST

START_TEST(a_device_that_does_not_stand_work_is_a_problem)
{
    expect_code(1, "", "crash clFinish after=husk_bench_fma since=2000", SPEED);
    doctor_expect("problem", "work_fails", "does not stand 4 s of work: ", "dmesg");
}
END_TEST

// Slow at first, then fast: the first rule that holds decides.
START_TEST(a_device_with_other_work_is_noted)
{
    examine_until_found("contended",
                        "delay=0 clFinish after=husk_bench_fma since=3000;"
                        "delay=100 clFinish after=husk_bench_fma since=500",
                        SPEED);
    expect("note", "contended", "other work runs on it");
}
END_TEST

START_TEST(a_device_that_cannot_be_opened_is_a_problem)
{
    expect_code(1, "", "crash clCreateContext", GEMM);
    expect("problem", "device_unusable", "SIGSEGV");
}
END_TEST

START_TEST(a_list_that_crashes_or_hangs_is_no_device)
{
    expect_code(6, "", "crash clGetDeviceIDs", "--quick");
    expect("problem", "listing_crashes", "SIGSEGV");
    expect_code(6, "", "fail=-6 clGetPlatformIDs", "--quick");
    expect("problem", "listing_fails", "listing all devices fails: ");
    expect_code(6, "", "hang clGetPlatformIDs", "--quick --max-time 2");
    expect("problem", "listing_hangs", "no answer within 2 s while listing all platforms and devices");
}
END_TEST

// PoCL lists no device then: to install what is installed would be no advice.
START_TEST(pocl_without_a_folder_is_told_what_it_lacks)
{
    expect_code(6, "env -u XDG_CACHE_HOME -u POCL_CACHE_DIR HOME=/dev/null", "", "--quick");
    doctor_expect("problem", "platform_empty", "/dev/null/.cache/pocl/kcache, which HOME names", "set POCL_CACHE_DIR");
    doctor_expect("problem", "no_device", "no OpenCL device", "said above");
    doctor_expect("note", "icd_without_device", "libpocl", "POCL_CACHE_DIR");
    ck_assert_ptr_null(strstr(doctor_said, "pocl-opencl-icd"));
}
END_TEST

static size_t left_in_tmp(void)
{
    size_t count = 0;
    DIR *directory = opendir("/tmp");
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        count += !strncmp(entry->d_name, "clbench-doctor-", 15);
    if (directory)
        closedir(directory);
    return count;
}

// A driver that crashes takes the whole list with it; the others are looked at without it.
START_TEST(a_broken_driver_does_not_hide_the_sound_ones)
{
    char command[600], environment[300];
    const size_t before = left_in_tmp();
    snprintf(command, sizeof command, "cp /etc/OpenCL/vendors/*.icd '%s' && echo '%s' > '%s/broken.icd'", folder,
             HUSK_TEST_ICD_LIBRARY, folder);
    ck_assert_int_eq(system(command), 0);
    snprintf(environment, sizeof environment, "OCL_ICD_VENDORS='%s' HUSK_TEST_ICD=crash", folder);
    expect_code(1, environment, "", "--quick");
    doctor_expect("problem", "icd_crashes", "broken.icd", "broken.icd.off");
    ck_assert_ptr_null(strstr(doctor_said, "clbench-doctor-"));
    expect("ok", "device", "");
    for (int i = 0; i < 200 && left_in_tmp() > before; i++) // another test's doctor, which ends
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    ck_assert_uint_le(left_in_tmp(), before);
}
END_TEST

// Not before 2.3 of ocl-icd, nor before 3.0.0 of Khronos' loader.
static bool loader_has_layers(void)
{
    return run("", "nonsense", "--quick") != 0;
}

int main(void)
{
    if (!mkdtemp(folder))
        return EXIT_FAILURE;
    if (!loader_has_layers()) {
        puts("this OpenCL loader knows no layers: nothing is planted");
        rmdir(folder);
        return 77; // CTest says "skipped"
    }
    TCase *tests = tcase_create("devices");
    tcase_set_timeout(tests, 1000);
    tcase_add_test(tests, a_compilers_fault_is_noted_with_what_to_do);
    tcase_add_test(tests, threads_that_share_processors_are_noted);
    tcase_add_test(tests, a_sound_device_has_no_problem);
    tcase_add_test(tests, a_device_that_miscomputes_is_named_with_the_operator_and_its_variant);
    tcase_add_test(tests, an_operator_that_crashes_is_named);
    tcase_add_test(tests, an_operator_that_hangs_is_named);
    tcase_add_test(tests, events_that_lie_are_noted);
    tcase_add_test(tests, a_device_that_slows_down_is_noted);
    tcase_add_test(tests, little_work_says_little);
    tcase_add_test(tests, a_device_that_does_not_stand_work_is_a_problem);
    tcase_add_test(tests, a_device_with_other_work_is_noted);
    tcase_add_test(tests, a_device_that_cannot_be_opened_is_a_problem);
    tcase_add_test(tests, a_list_that_crashes_or_hangs_is_no_device);
    tcase_add_test(tests, pocl_without_a_folder_is_told_what_it_lacks);
    tcase_add_test(tests, a_broken_driver_does_not_hide_the_sound_ones);
    Suite *suite = suite_create("clbench doctor on devices");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    json_decref(doctor_document);
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
