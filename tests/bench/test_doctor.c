// SPDX-License-Identifier: MIT
// ctest: timeout=300
// clbench doctor on machines that are laid out below a folder (doctor_machine.h): each finding about drivers,
// variables, loaders, preferences and the host is planted, and found, and a healthy machine has none. Nothing is
// computed here; test_doctor_gpu.c has GPUs without a device, test_doctor_device.c what a device can do wrong.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor_machine.h"

// ---- a healthy machine ----

START_TEST(a_healthy_machine_has_no_finding)
{
    machine_examine(0, "");
    doctor_expect_none("note");
    doctor_expect_none("problem");
    ck_assert_str_eq(doctor_text(doctor_document, "verdict"), "Nothing is wrong.");
    doctor_expect("ok", "gpu", "0000:03:00.0", "");
    doctor_expect("ok", "icd", "Fake platform, 1 device", "");
    doctor_expect("ok", "loader", "/usr/lib/libOpenCL.so.1", "");
    ck_assert_uint_eq(json_array_size(json_object_get(doctor_document, "devices")), 1);
    doctor_check_outside();
}
END_TEST

// ---- drivers ----

START_TEST(a_library_that_is_missing_is_quoted)
{
    machine_put("/etc/OpenCL/vendors/intel.icd", "/no/such/libigdrcl.so\n");
    machine_examine(1, "");
    doctor_expect("problem", "icd_not_loaded", "/no/such/libigdrcl.so: cannot open shared object file",
                  "intel-opencl-icd");
}
END_TEST

START_TEST(files_that_name_no_driver_are_said)
{
    char text[600];
    machine_put("/etc/OpenCL/vendors/empty.icd", "\n");
    machine_put("/usr/lib/libnonsense.so", "this is no library");
    snprintf(text, sizeof text, "%s\n", machine_place("/usr/lib/libnonsense.so"));
    machine_put("/etc/OpenCL/vendors/nonsense.icd", text);
    machine_put("/etc/OpenCL/vendors/other.icd", "libm.so.6\n");
    machine_examine(1, "");
    doctor_expect("problem", "icd_empty", "empty.icd names no library", "remove the file");
    doctor_expect("problem", "icd_not_loaded", "nonsense.icd", "install the driver again");
    doctor_expect("problem", "icd_is_none", "libm.so.6 is no OpenCL driver", "let the driver's own library be named");
}
END_TEST

START_TEST(no_driver_at_all_is_no_device)
{
    machine_drop("/etc/OpenCL/vendors/amdocl64.icd");
    machine_examine(6, "");
    doctor_expect("problem", "no_icd", "/etc/OpenCL/vendors has no .icd file", "pocl-opencl-icd");
    doctor_expect("problem", "gpu_without_device", "no OpenCL driver of AMD is registered", "rocm-opencl-icd");
}
END_TEST

// The user's own file is named, and not the folder that stands in for theirs meanwhile.
START_TEST(a_driver_that_crashes_is_named_and_left_out)
{
    char todo[300], folder[200];
    machine_let("HUSK_TEST_ICD=crash");
    machine_gpu("0000:05:00.0", "0x8086\n", "i915");
    machine_examine(6, "");
    snprintf(todo, sizeof todo, "mv %s/etc/OpenCL/vendors/amdocl64.icd %s/etc/OpenCL/vendors/amdocl64.icd.off",
             machine_root, machine_root);
    snprintf(folder, sizeof folder, "no OpenCL driver of Intel is registered in %s/etc/OpenCL/vendors", machine_root);
    doctor_expect("problem", "icd_crashes", "SIGSEGV (Segmentation fault) while listing its platforms", todo);
    ck_assert_ptr_null(doctor_find("listing_crashes")); // it is not asked again
    doctor_expect_any("gpu_without_device", "cannot be used: crashes", "mend that first");
    doctor_expect_any("gpu_without_device", folder, "intel-opencl-icd");
    ck_assert_ptr_null(strstr(doctor_said, "clbench-doctor-"));
    doctor_check_outside();
}
END_TEST

// Where a variable names the library, there is no file to move.
START_TEST(a_driver_that_a_variable_names_is_taken_out_of_it)
{
    char library[200], todo[300];
    snprintf(library, sizeof library, "%s/usr/lib/libamdocl64.so", machine_root);
    machine_drop("/etc/OpenCL/vendors/amdocl64.icd");
    machine_let("HUSK_TEST_ICD=crash OCL_ICD_FILENAMES='%s'", library);
    machine_examine(6, "");
    snprintf(todo, sizeof todo, "keep it out of the way: take %s out of OCL_ICD_FILENAMES", library);
    doctor_expect("problem", "icd_crashes", "OCL_ICD_FILENAMES (", todo);
    ck_assert_ptr_null(strstr(doctor_said, "mv "));
    machine_let("OCL_ICD_FILENAMES= OCL_ICD_VENDORS='%s'", library);
    machine_examine(6, "");
    doctor_expect("problem", "icd_crashes", "OCL_ICD_VENDORS (", "keep it out of the way: unset OCL_ICD_VENDORS");
}
END_TEST

START_TEST(a_driver_that_hangs_is_named)
{
    machine_let("HUSK_TEST_ICD=hang");
    strcat(machine_variables, "sh -c 'exec \"$0\" \"$@\" --max-time 1' ");
    machine_examine(6, "");
    doctor_expect("problem", "icd_hangs", "no answer within 1 s while listing its platforms", "update or reinstall");
}
END_TEST

START_TEST(a_driver_without_a_device_is_noted)
{
    machine_let("HUSK_TEST_ICD=empty");
    machine_examine(6, "");
    doctor_expect("note", "icd_without_device", "amdocl64.icd", "where its hardware is not here");
    doctor_expect("problem", "no_device", "no OpenCL device", "pocl-opencl-icd");
    doctor_expect("problem", "gpu_without_device", "loads and does not show it", "dmesg");
    machine_let("HUSK_TEST_ICD=none");
    machine_examine(6, "");
    doctor_expect("note", "icd_without_device", "amdocl64.icd", "");
}
END_TEST

START_TEST(the_same_card_twice_and_one_that_is_away)
{
    machine_let("HUSK_TEST_ICD=twice");
    machine_examine(0, "");
    doctor_expect("note", "same_card",
                  "0:0 (Fake platform) and 1:0 (Fake platform) are the same card, at PCI address 0000:03:00.0", "-d");
    machine_let("HUSK_TEST_ICD=away");
    machine_examine(1, "");
    doctor_expect("problem", "device_unavailable", "not available", "dmesg");
}
END_TEST

// Who is tired of waiting for a driver has not found that it hangs.
START_TEST(an_interrupt_is_no_finding)
{
    machine_let("HUSK_TEST_ICD=hang");
    strcat(machine_variables, "timeout --foreground --preserve-status -s INT 2 ");
    machine_examine(130, "");
    doctor_expect_none("problem");
    ck_assert_ptr_nonnull(strstr(doctor_text(doctor_document, "verdict"), "Interrupted"));
}
END_TEST

// A loader that takes a library's name without an ending lists what no file registers.
START_TEST(devices_without_a_file_are_a_note)
{
    char name[600];
    snprintf(name, sizeof name, "%s", machine_place("/other/driver"));
    ck_assert_int_eq(symlink(HUSK_TEST_ICD_LIBRARY, name), 0);
    machine_let("OCL_ICD_VENDORS='%s'", name);
    char command[sizeof machine_variables + 300];
    snprintf(command, sizeof command, "%s '%s' run -n gemm m=1 n=1 k=1 2>&1 | grep -q 'Fake platform'",
             machine_variables, HUSK_CLBENCH);
    if (system(command) != 0)
        return; // this loader wants a file
    machine_examine(0, "");
    doctor_expect("note", "no_icd", "no OpenCL driver is registered", "");
}
END_TEST

START_TEST(two_files_for_one_library_are_noted)
{
    char text[600];
    snprintf(text, sizeof text, "%s\n", machine_place("/usr/lib/libamdocl64.so"));
    machine_put("/etc/OpenCL/vendors/again.icd", text);
    machine_examine(0, "");
    doctor_expect("note", "icd_twice", "again.icd", "vendors/amdocl64.icd");
}
END_TEST

// ---- which devices are meant ----

START_TEST(a_preference_that_fits_nothing_is_no_device)
{
    machine_examine(6, "-d nosuch");
    doctor_expect("problem", "no_such_device", "-d nosuch fits no device", "0:0 (Fake GPU)");
    machine_examine(6, "-d gpu -d nosuch");
    doctor_expect("problem", "no_such_device", "-d nosuch fits no device", "0:0 (Fake GPU)");
    doctor_expect("ok", "device", "0:0 Fake GPU", "");
    machine_drop("/etc/OpenCL/vendors/amdocl64.icd");
    machine_examine(6, "-d nosuch");
    doctor_expect("problem", "no_such_device", "-d nosuch fits no device", "none at all");
}
END_TEST

static bool is_examined(size_t index)
{
    const json_t *device = json_array_get(json_object_get(doctor_document, "devices"), index);
    return json_is_true(json_object_get(device, "is_examined"));
}

START_TEST(of_several_devices_those_are_told_that_are_meant)
{
    machine_let("HUSK_TEST_ICD=twice");
    machine_examine(0, "");
    ck_assert_ptr_nonnull(strstr(doctor_said, "\"0:0 Fake GPU ("));
    ck_assert(is_examined(0) && is_examined(1));
    machine_examine(0, "-d 1:0");
    doctor_expect("ok", "device", "1:0 Fake GPU", "");
    ck_assert_ptr_null(strstr(doctor_said, "\"0:0 Fake GPU"));
    ck_assert(!is_examined(0) && is_examined(1));
}
END_TEST

START_TEST(a_variable_that_fits_nothing_is_a_problem)
{
    machine_let("HUSK_DEVICE=nosuch");
    machine_examine(1, "");
    doctor_expect("problem", "variable_unfit", "HUSK_DEVICE=nosuch fits no device", "0:0 (Fake GPU)");
    machine_examine(1, "-d gpu");
    machine_let("HUSK_DEVICE=gpu");
    machine_examine(0, "");
}
END_TEST

// ---- variables that lead astray ----

START_TEST(variables_that_point_nowhere_are_said)
{
    machine_let("OCL_ICD_VENDORS=/no/such/folder");
    machine_examine(6, "");
    doctor_expect("problem", "vendors_astray", "names what does not exist", "unset OCL_ICD_VENDORS");
    machine_variables[0] = '\0';
    machine_let("OCL_ICD_VENDORS='%s/home'", machine_root);
    machine_examine(6, "");
    doctor_expect("problem", "vendors_astray", "has no .icd file", "unset OCL_ICD_VENDORS");
}
END_TEST

START_TEST(drivers_from_elsewhere_are_noted)
{
    char text[600];
    snprintf(text, sizeof text, "%s\n", machine_place("/usr/lib/libamdocl64.so"));
    machine_put("/other/amd.icd", text);
    machine_let("OCL_ICD_VENDORS='%s/other'", machine_root);
    machine_examine(0, "");
    doctor_expect("note", "vendors_elsewhere", "and its 1 .icd files", "unset OCL_ICD_VENDORS");
    machine_let("OCL_ICD_FILENAMES=/no/such/libfoo.so");
    machine_examine(1, "");
    const json_t *known = doctor_find("filenames_set"), *unknown = doctor_find("filenames_unknown");
    ck_assert(known || unknown); // as the loader that is here has it
    doctor_expect("problem", "icd_not_loaded", "OCL_ICD_FILENAMES (/no/such/libfoo.so): its library does not load", "");
}
END_TEST

START_TEST(husks_variables_are_noted_and_typing_errors_too)
{
    machine_let("HUSK_VARIANT=gemm:simple HUSK_TUNNING=0 POCL_MAX_PTHREAD_COUNT=1");
    machine_examine(0, "");
    doctor_expect("note", "variable", "HUSK_VARIANT=gemm:simple chooses variants", "unset HUSK_VARIANT");
    doctor_expect("note", "variable_unknown", "HUSK_TUNNING is set, and nothing reads it", "is HUSK_TUNING meant?");
    ck_assert_ptr_nonnull(strstr(doctor_said, "POCL_MAX_PTHREAD_COUNT=1 limits"));
    machine_let("HUSK_LIMITS=local_memory=x");
    machine_examine(0, "");
    doctor_expect("note", "list_note", "HUSK_LIMITS", "");
}
END_TEST

// ---- loaders ----

START_TEST(a_loader_of_32_bits_is_none)
{
    machine_put("/usr/local/cuda/lib64/libOpenCL.so.1", sizeof(void *) == 8 ? "\177ELF\1" : "\177ELF\2");
    machine_examine(0, "");
    doctor_expect_none("note");
    doctor_expect("ok", "loader", "one OpenCL loader: /usr/lib/libOpenCL.so.1", "");
    machine_put("/usr/local/cuda/lib64/libOpenCL.so.1", sizeof(void *) == 8 ? "\177ELF\2" : "\177ELF\1");
    machine_examine(0, "");
    doctor_expect("note", "several_loaders", "2 OpenCL loaders", "");
}
END_TEST

START_TEST(two_loaders_are_listed)
{
    machine_put("/usr/local/cuda/lib64/libOpenCL.so.1", "");
    machine_examine(0, "");
    doctor_expect("note", "several_loaders",
                  "2 OpenCL loaders: /usr/lib/libOpenCL.so.1 (ldconfig's cache), "
                  "/usr/local/cuda/lib64/libOpenCL.so.1",
                  "LD_LIBRARY_PATH");
    ck_assert_ptr_nonnull(strstr(doctor_said, "; this process has /"));
    machine_put("/opt/vendor/libOpenCL.so.1", "");
    machine_let("LD_LIBRARY_PATH=/opt/vendor");
    machine_examine(0, "");
    doctor_expect("note", "several_loaders", "/opt/vendor/libOpenCL.so.1 (LD_LIBRARY_PATH)", "");
}
END_TEST

START_TEST(links_to_one_loader_are_one)
{
    machine_place("/usr/local/cuda/lib64/x");
    char target[600];
    snprintf(target, sizeof target, "%s", machine_place("/usr/lib/libOpenCL.so.1"));
    ck_assert_int_eq(symlink(target, machine_place("/usr/local/cuda/lib64/libOpenCL.so.1")), 0);
    machine_examine(0, "");
    doctor_expect("ok", "loader", "one OpenCL loader", "");
    machine_drop("/usr/lib/libOpenCL.so.1");
    machine_examine(1, "");
    doctor_expect("problem", "no_loader", "no OpenCL loader", "ocl-icd-libopencl1");
}
END_TEST

// ---- the host ----

START_TEST(limits_of_a_container_are_noted)
{
    machine_put("/proc/self/cgroup", "0::/box\n");
    machine_put("/sys/fs/cgroup/box/cpu.max", "150000 100000\n");
    machine_examine(0, "");
    doctor_expect("note", "processors_limited", "2 of 4 processors (the control group's quota: 1.5)", "--cpus");
    machine_put("/sys/fs/cgroup/box/cpu.max", "max 100000\n");
    machine_put("/sys/fs/cgroup/box/cpuset.cpus.effective", "0-1\n");
    machine_examine(0, "");
    doctor_expect("note", "processors_limited", "the control group's set: 2", "taskset");
}
END_TEST

START_TEST(folders_that_cannot_be_used_are_said)
{
    char command[200];
    ck_assert_int_eq(chmod(machine_place("/home/.cache/husk"), 0777), 0);
    machine_examine(1, "");
    doctor_expect("problem", "folder_unusable", "compiled programs cannot be kept", "chmod 700");
    snprintf(command, sizeof command, "rm -r '%s/home/.cache/husk' && ln -s /tmp '%s/home/.cache/husk'", machine_root,
             machine_root);
    ck_assert_int_eq(system(command), 0);
    machine_examine(1, "");
    doctor_expect("problem", "folder_unusable", "is a link", "rm");
    snprintf(command, sizeof command, "rm '%s/home/.cache/husk' && touch '%s/home/.cache/husk'", machine_root,
             machine_root);
    ck_assert_int_eq(system(command), 0);
    machine_examine(1, "");
    doctor_expect("problem", "folder_unusable", "is no folder", "rm");
    machine_drop("/home/.cache/husk");
    machine_examine(0, ""); // where there is none yet, Husk makes it
    machine_let("HUSK_DOCTOR_USER=54321:54321");
    machine_examine(1, "");
    doctor_expect("problem", "folder_unusable", "results and tuning cannot be kept", "chown");
}
END_TEST

// Nothing in it is run: results may be shared, and lie elsewhere.
START_TEST(results_may_lie_behind_a_link_and_be_shared)
{
    char command[400];
    machine_place("/elsewhere/x");
    snprintf(command, sizeof command,
             "rm -r '%s/home/.local/share/husk' && chmod 770 '%s/elsewhere' && "
             "ln -s '%s/elsewhere' '%s/home/.local/share/husk'",
             machine_root, machine_root, machine_root, machine_root);
    ck_assert_int_eq(system(command), 0);
    machine_examine(0, "");
    doctor_expect_none("problem");
    ck_assert_int_eq(rmdir(machine_place("/elsewhere")), 0); // a link to nothing
    machine_examine(1, "");
    doctor_expect("problem", "folder_unusable", "results and tuning cannot be kept", "");
}
END_TEST

START_TEST(control_characters_are_not_printed)
{
    machine_put("/etc/OpenCL/vendors/escape.icd", "/no/such/\033[31mlib.so\n");
    machine_examine(1, "");
    doctor_expect("problem", "icd_not_loaded", "/no/such/ [31mlib.so: cannot open", "");
}
END_TEST

// C1: a terminal takes U+009B for ESC [, as a character and, of eight bits, as a byte.
START_TEST(nor_are_those_of_the_second_kind)
{
    machine_let("HUSK_TEST_ICD_NAME='A\302\23331m\233B \303\237 C' HUSK_TEST_ICD_VENDOR='\302\205AMD'");
    machine_put("/etc/OpenCL/vendors/escape.icd", "/no/such/\302\23331mlib.so\n");
    machine_examine(1, "");
    const json_t *device = json_array_get(json_object_get(doctor_document, "devices"), 0);
    ck_assert_str_eq(doctor_text(device, "name"), "A  31m B \303\237 C");
    ck_assert_str_eq(doctor_text(device, "vendor"), "  AMD");
    doctor_expect("ok", "device", "0:0 A  31m B \303\237 C", "");
    for (int words = 0; words <= 1; words++) {
        if (words)
            machine_examine_in_words(1, "");
        ck_assert_ptr_nonnull(strstr(doctor_said, "31mlib.so"));
        ck_assert_ptr_null(strstr(doctor_said, "\302\233"));
        ck_assert_ptr_null(strstr(doctor_said, "m\233"));
    }
}
END_TEST

// A limit of file sizes stands for a disk that is full.
START_TEST(a_disk_that_is_full_is_said)
{
    strcat(machine_variables, "sh -c 'ulimit -f 1; exec \"$0\" \"$@\"' ");
    machine_examine(1, "");
    doctor_expect("problem", "folder_unusable", "takes no file of 1 MiB", "make room");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("doctor");
    TCase *tcase = tcase_create("machines");
    const TTest *const tests[] = {
        a_healthy_machine_has_no_finding,
        a_library_that_is_missing_is_quoted,
        files_that_name_no_driver_are_said,
        no_driver_at_all_is_no_device,
        a_driver_that_crashes_is_named_and_left_out,
        a_driver_that_a_variable_names_is_taken_out_of_it,
        a_driver_that_hangs_is_named,
        an_interrupt_is_no_finding,
        devices_without_a_file_are_a_note,
        a_driver_without_a_device_is_noted,
        the_same_card_twice_and_one_that_is_away,
        two_files_for_one_library_are_noted,
        a_preference_that_fits_nothing_is_no_device,
        of_several_devices_those_are_told_that_are_meant,
        a_variable_that_fits_nothing_is_a_problem,
        variables_that_point_nowhere_are_said,
        drivers_from_elsewhere_are_noted,
        husks_variables_are_noted_and_typing_errors_too,
        a_loader_of_32_bits_is_none,
        two_loaders_are_listed,
        links_to_one_loader_are_one,
        limits_of_a_container_are_noted,
        folders_that_cannot_be_used_are_said,
        results_may_lie_behind_a_link_and_be_shared,
        control_characters_are_not_printed,
        nor_are_those_of_the_second_kind,
        a_disk_that_is_full_is_said,
    };
    tcase_add_checked_fixture(tcase, machine_build, machine_remove);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
