// SPDX-License-Identifier: MIT
// ctest: timeout=300 with=doctor_machine
// clbench doctor on machines that are laid out below a folder (doctor_machine.h) and have a GPU that is no OpenCL
// device: why, by kernel drivers, device files, containers and variables.
#define _DEFAULT_SOURCE // struct sockaddr_un
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "doctor/address.h"
#include "doctor/findings.h"
#include "doctor/node.h"
#include "doctor_machine.h"

static void another_gpu(const char *vendor, const char *driver, const char *words, const char *todo)
{
    machine_gpu("0000:05:00.0", vendor, driver);
    machine_examine(1, "");
    doctor_expect("problem", "gpu_without_device", "0000:05:00.0", "");
    doctor_expect("problem", "gpu_without_device", words, todo);
}

START_TEST(a_gpu_without_a_kernel_driver)
{
    another_gpu("0x8086\n", NULL, "no kernel driver is bound to it", "load i915 or xe");
}
END_TEST

START_TEST(accelerators_of_others_are_no_gpus)
{
    machine_gpu("0000:00:0b.0", "0x8086\n", "intel_vpu");
    machine_put("/sys/bus/pci/devices/0000:00:0b.0/class", "0x120000\n");
    machine_examine(0, "");
    ck_assert_uint_eq(json_array_size(json_object_get(doctor_document, "gpus")), 1);
    machine_put("/sys/bus/pci/devices/0000:03:00.0/class", "0x120000\n"); // AMD's are
    machine_examine(0, "");
    doctor_expect("ok", "gpu", "0000:03:00.0", "");
}
END_TEST

START_TEST(a_gpu_that_a_virtual_machine_has)
{
    another_gpu("0x10de\n", "vfio-pci", "vfio-pci keeps it", "bind it to nvidia");
}
END_TEST

START_TEST(a_gpu_that_nouveau_has)
{
    another_gpu("0x10de\n", "nouveau", "nouveau has it", "nvidia-opencl-icd");
}
END_TEST

START_TEST(an_nvidia_gpu_without_device_files)
{
    another_gpu("0x10de\n", "nvidia", "there is no /dev/nvidiactl", "nvidia-smi");
    machine_put("/.dockerenv", "");
    machine_put("/dev/nvidiactl", "");
    machine_examine(1, "");
    doctor_expect("problem", "gpu_without_device", "there is no /dev/nvidiaN", "--gpus all");
}
END_TEST

START_TEST(an_nvidia_gpu_in_a_container_without_the_capability)
{
    machine_put("/.dockerenv", "");
    machine_put("/dev/nvidia0", "");
    machine_put("/dev/nvidiactl", "");
    another_gpu("0x10de\n", "nvidia", "no OpenCL driver of NVIDIA is registered", "nvidia.icd");
    machine_let("NVIDIA_DRIVER_CAPABILITIES=utility");
    machine_examine(1, "");
    doctor_expect("problem", "gpu_without_device", "no OpenCL driver",
                  "NVIDIA_DRIVER_CAPABILITIES=utility lacks compute");
}
END_TEST

START_TEST(mesa_shows_what_its_variable_names)
{
    machine_install("libRusticlOpenCL.so.1", "rusticl.icd");
    another_gpu("0x8086\n", "i915", "RUSTICL_ENABLE names, which is not set", "RUSTICL_ENABLE=iris");
    machine_let("RUSTICL_ENABLE=radeonsi");
    machine_examine(1, "");
    doctor_expect("problem", "gpu_without_device", "RUSTICL_ENABLE names, which is radeonsi", "iris");
}
END_TEST

START_TEST(variables_that_hide_cards)
{
    machine_put("/dev/nvidia0", "");
    machine_put("/dev/nvidiactl", "");
    machine_install("libnvidia-opencl.so.1", "nvidia.icd");
    machine_let("CUDA_VISIBLE_DEVICES=-1");
    another_gpu("0x10de\n", "nvidia", "CUDA_VISIBLE_DEVICES=-1 may hide it", "unset CUDA_VISIBLE_DEVICES");
}
END_TEST

START_TEST(a_gpu_without_render_nodes)
{
    machine_drop("/dev/dri/renderD128");
    another_gpu("0x8086\n", "i915", "no /dev/dri/renderD*", "nomodeset");
    machine_put("/.dockerenv", "");
    machine_examine(1, "");
    doctor_expect("problem", "gpu_without_device", "no /dev/dri/renderD*", "--device /dev/dri");
}
END_TEST

// ---- device files ----

static void place_folder(const char *path)
{
    ck_assert_int_eq(mkdir(machine_place(path), 0755), 0);
}

static const char *open_files(void)
{
    const json_t *finding = doctor_find("device_files");
    return finding ? doctor_text(finding, "text") : "";
}

// A container is given some of the cards, and their numbers do not begin with 0.
START_TEST(nvidias_cards_have_any_number)
{
    machine_put("/dev/nvidiactl", "");
    machine_put("/dev/nvidia3", "");
    machine_put("/dev/nvidia12", "");
    machine_put("/dev/nvidia-modeset", "");
    machine_put("/dev/nvidia4x", "");
    another_gpu("0x10de\n", "nvidia", "no OpenCL driver of NVIDIA is registered", "nvidia-opencl-icd");
    ck_assert_str_eq(open_files(), "this user can open /dev/dri/renderD128, /dev/nvidia3, /dev/nvidia12, "
                                   "/dev/nvidiactl, /dev/kfd");
    // Which one it is, the kernel's driver says.
    machine_put("/proc/driver/nvidia/gpus/0000:05:00.0/information", "Model: X\nDevice Minor: \t 7\n");
    machine_examine(1, "");
    doctor_expect("problem", "gpu_without_device", "there is no /dev/nvidia7", "nvidia-smi");
}
END_TEST

START_TEST(nvidias_files_alone_are_gpus)
{
    char command[200];
    snprintf(command, sizeof command, "rm -r '%s/sys/bus' '%s/dev'", machine_root, machine_root);
    ck_assert_int_eq(system(command), 0);
    machine_put("/dev/nvidia5", "");
    machine_put("/dev/nvidiactl", "");
    machine_examine(1, "");
    doctor_expect("problem", "gpu_without_device", "a GPU of NVIDIA (/dev/nvidia5) has no OpenCL device", "");
    machine_let("HUSK_TEST_ICD_VENDOR=NVIDIA");
    machine_examine(0, "");
    doctor_expect("ok", "gpu", "/dev/nvidia5", "");
}
END_TEST

START_TEST(device_files_that_are_closed)
{
    machine_let("HUSK_TEST_ICD=empty HUSK_DOCTOR_USER=54321:54321");
    ck_assert_int_eq(chmod(machine_place("/dev/dri/renderD128"), 0660), 0);
    if (geteuid() == 0)
        ck_assert_int_eq(chown(machine_place("/dev/dri/renderD128"), 0, 12345), 0);
    ck_assert_int_eq(chmod(machine_place("/dev/kfd"), 0600), 0);
    machine_put("/dev/accel/accel0", "");
    ck_assert_int_eq(chmod(machine_place("/dev/accel/accel0"), 0600), 0);
    machine_examine(6, "");
    doctor_expect_any("device_file_closed", "/dev/kfd (mode 600", "udevadm");
    doctor_expect_any("device_file_closed", "/dev/dri/renderD128 (mode 660", "");
    doctor_expect_any("device_file_closed", "/dev/accel/accel0 (mode 600", "udevadm");
    doctor_expect("problem", "gpu_without_device", "its device files cannot be opened by this user", "beside them");
    ck_assert_str_eq(open_files(), "");
    if (geteuid() != 0)
        return;
    doctor_expect_any("device_file_closed", "renderD128", "usermod -aG 12345");
    machine_put("/.dockerenv", "");
    machine_examine(6, "");
    doctor_expect_any("device_file_closed", "renderD128", "--group-add 12345");
    machine_let("HUSK_DOCTOR_USER=54321:54321,12345"); // a member of the group
    machine_examine(6, "");
    ck_assert_ptr_null(strstr(doctor_said, "renderD128 (mode"));
    ck_assert_str_eq(open_files(), "this user can open /dev/dri/renderD128");
}
END_TEST

// Nobody waits for an accelerator's file: worth knowing, where all GPUs are served.
START_TEST(an_accelerators_file_that_is_closed_is_noted)
{
    machine_let("HUSK_DOCTOR_USER=54321:54321");
    machine_put("/dev/accel/accel0", "");
    ck_assert_int_eq(chmod(machine_place("/dev/accel/accel0"), 0600), 0);
    ck_assert_int_eq(chmod(machine_place("/dev/kfd"), 0600), 0);
    machine_drop("/home/.cache/husk/x"); // the folders are not this user's
    machine_examine(1, "");
    doctor_expect("note", "device_file_closed", "/dev/accel/accel0 (mode 600", "udevadm");
    ck_assert_ptr_null(strstr(doctor_said, "/dev/kfd (mode"));
}
END_TEST

// A file's bits are not all that decides.
START_TEST(what_the_mode_allows_may_be_denied)
{
    if (geteuid() != 0)
        return;
    machine_let("HUSK_TEST_ICD=empty HUSK_DOCTOR_USER=54321:54321");
    ck_assert_int_eq(chmod(machine_place("/dev/dri/renderD128"), 0666), 0);
    ck_assert_int_eq(chmod(machine_place("/dev/dri"), 0700), 0); // stands for an access list
    machine_examine(6, "");
    doctor_expect("problem", "device_file_closed", "renderD128 (mode 666", "its mode would allow it");
}
END_TEST

// A socket answers ENXIO, as a device file does that no driver is bound to.
static void plant_unbound(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int file = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_lt(snprintf(address.sun_path, sizeof address.sun_path, "%s", machine_place(path)),
                     (int)sizeof address.sun_path);
    ck_assert_int_eq(bind(file, (const struct sockaddr *)(const void *)&address, sizeof address), 0);
    close(file);
    ck_assert_int_eq(chmod(address.sun_path, 0666), 0);
}

START_TEST(files_without_a_driver_are_told_together)
{
    machine_put("/dev/nvidiactl", "");
    plant_unbound("/dev/nvidia0");
    plant_unbound("/dev/nvidia1");
    machine_install("libnvidia-opencl.so.1", "nvidia.icd");
    another_gpu("0x10de\n", "nvidia", "its device files cannot be opened", "beside them");
    doctor_expect("problem", "device_file_closed", "/dev/nvidia0, /dev/nvidia1 (mode 666", "load nvidia by modprobe");
    doctor_expect("problem", "device_file_closed", "no kernel driver is bound behind it (ENXIO)", "dmesg");
}
END_TEST

START_TEST(what_stands_in_a_files_place)
{
    machine_drop("/dev/dri/renderD128");
    machine_link("/dev/dri/renderD128", "/no/such/file");
    machine_link("/dev/dri/renderD129", "renderD129");
    machine_link("/dev/nvidia0", "../gone");
    place_folder("/dev/nvidia1");
    machine_let("HUSK_TEST_ICD=empty");
    machine_examine(6, "");
    doctor_expect_any("device_file_closed", "/dev/dri/renderD128, /dev/nvidia0 (mode 777", "udevadm");
    doctor_expect_any("device_file_closed", "it is a link to nothing (ENOENT)", "udevadm");
    doctor_expect_any("device_file_closed", "/dev/nvidia1 (mode 755", "--device instead of -v");
    doctor_expect_any("device_file_closed", "it is a link to itself", "remove it");
    doctor_expect("problem", "gpu_without_device", "there is no /dev/dri/renderD*", "nomodeset");
}
END_TEST

// What only hardware and containers bring about, by the number that open() leaves in errno.
START_TEST(each_errno_has_its_meaning)
{
    static const struct {
        int error;
        bool in_container;
        const char *path, *means, *todo;
    } cases[] = {
        {EPERM, true, "/dev/nvidia0, /dev/nvidia1", "control group", "--device /dev/nvidia0 (NVIDIA: --gpus all)"},
        {EPERM, false, "/dev/kfd", "control group", "DeviceAllow=/dev/kfd rw"},
        {ENODEV, false, "/dev/kfd", "no kernel driver is bound behind it (ENODEV)", "load amdgpu by modprobe"},
        {ENXIO, false, "/dev/dri/renderD128", "(ENXIO)", "amdgpu, i915, xe or nouveau"},
        {ENXIO, false, "/dev/nvidia-uvm", "(ENXIO)", "load nvidia-uvm"},
        {EIO, false, "/dev/nvidia0", "does not answer its driver (EIO)", "restart the machine"},
        {EBUSY, false, "/dev/nvidia0", "another program has it alone", "fuser"},
        {ETIMEDOUT, false, "/dev/nvidia0", "does not come back", "dmesg"},
        {ENOMEM, false, "/dev/nvidia0", "annot allocate memory", "dmesg"},
    };
    const struct stat status = {.st_mode = S_IFCHR | 0666, .st_gid = 44};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench_doctor d = {.root = "", .in_container = cases[i].in_container, .findings = json_array()};
        bench_doctor_tell_node(&d, cases[i].path, &status, cases[i].error);
        const json_t *finding = json_array_get(d.findings, 0);
        const char *text = doctor_text(finding, "text"), *todo = doctor_text(finding, "todo");
        ck_assert_str_eq(doctor_text(finding, "level"), "problem");
        ck_assert_msg(strstr(text, cases[i].path) && strstr(text, cases[i].means), "%s", text);
        ck_assert_msg(strstr(todo, cases[i].todo) != NULL, "%s", todo);
        json_decref(d.findings);
    }
}
END_TEST

START_TEST(a_gpu_of_which_only_the_device_file_is_here)
{
    char command[200];
    snprintf(command, sizeof command, "rm -r '%s/sys/bus'", machine_root);
    ck_assert_int_eq(system(command), 0);
    machine_examine(0, ""); // /dev/kfd is the AMD GPU that the driver shows
    doctor_expect("ok", "gpu", "/dev/kfd", "");
    machine_let("HUSK_TEST_ICD_VENDOR=Nobody");
    machine_examine(1, "");
    doctor_expect("problem", "gpu_without_device", "/dev/kfd", "");
}
END_TEST

START_TEST(a_render_node_of_an_unknown_card)
{
    char command[200];
    snprintf(command, sizeof command, "rm -r '%s/sys/bus' '%s/dev/kfd'", machine_root, machine_root);
    ck_assert_int_eq(system(command), 0);
    machine_examine(0, ""); // the driver shows a GPU: it is that one's
    ck_assert_ptr_null(doctor_find("render_node_without_device"));
    machine_let("HUSK_TEST_ICD=empty");
    machine_examine(6, "");
    doctor_expect("note", "render_node_without_device", "no GPU is an OpenCL device", "intel-opencl-icd");
}
END_TEST

// ---- Windows ----

START_TEST(linux_in_windows_has_no_card_of_its_own)
{
    char command[200];
    snprintf(command, sizeof command, "rm -r '%s/sys/bus' '%s/dev'", machine_root, machine_root);
    ck_assert_int_eq(system(command), 0);
    machine_put("/dev/dxg", "");
    machine_put("/dev/dri/renderD128", ""); // there is one beside it, of no card
    machine_examine(0, "");                 // the driver shows a GPU: it is that one's
    doctor_expect_none("note");
    ck_assert_ptr_null(doctor_find("no_gpu"));
    machine_let("HUSK_TEST_ICD=empty");
    machine_examine(6, "");
    doctor_expect("note", "wsl_without_device", "/dev/dxg leads to the GPUs of Windows", "intel-opencl-icd (21.30");
    ck_assert_ptr_null(doctor_find("render_node_without_device"));
    ck_assert_ptr_null(doctor_find("gpu_without_device"));
    machine_install("libigdrcl.so", "intel.icd");
    machine_examine(6, "");
    doctor_expect("note", "wsl_without_device", "vendors/intel.icd", "wsl --update");
}
END_TEST

// ---- addresses ----

START_TEST(addresses_are_compared_by_their_numbers)
{
    ck_assert(bench_doctor_same_address("0000:03:00.0", "03:00.0"));
    ck_assert(bench_doctor_same_address("00000000:0A:00.0", "0000:0a:00.0"));
    ck_assert(!bench_doctor_same_address("0000:03:00.0", "0001:03:00.0"));
    ck_assert(!bench_doctor_same_address("0000:03:00.0", "0000:03:00.1"));
    ck_assert(!bench_doctor_same_address("", ""));
    ck_assert(!bench_doctor_same_address("/dev/kfd", "/dev/kfd"));
}
END_TEST

// The fake driver says domain 0 of its card, as drivers do that cannot say it.
START_TEST(a_card_in_another_domain_is_its_drivers)
{
    char command[200];
    snprintf(command, sizeof command, "rm -r '%s/sys/bus/pci'", machine_root);
    ck_assert_int_eq(system(command), 0);
    machine_gpu("0001:03:00.0", "0x1002\n", "amdgpu");
    machine_examine(0, "");
    doctor_expect("ok", "gpu", "0001:03:00.0", "");
    machine_gpu("0000:03:00.0", "0x1002\n", "amdgpu"); // which is meant, where it is there
    machine_examine(1, "");
    doctor_expect("ok", "gpu", "0000:03:00.0", "");
    doctor_expect("problem", "gpu_without_device", "0001:03:00.0", "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("doctor, GPUs");
    TCase *tcase = tcase_create("machines");
    const TTest *const tests[] = {
        a_gpu_without_a_kernel_driver,
        accelerators_of_others_are_no_gpus,
        a_gpu_that_a_virtual_machine_has,
        a_gpu_that_nouveau_has,
        an_nvidia_gpu_without_device_files,
        an_nvidia_gpu_in_a_container_without_the_capability,
        mesa_shows_what_its_variable_names,
        variables_that_hide_cards,
        a_gpu_without_render_nodes,
        nvidias_cards_have_any_number,
        nvidias_files_alone_are_gpus,
        device_files_that_are_closed,
        an_accelerators_file_that_is_closed_is_noted,
        what_the_mode_allows_may_be_denied,
        files_without_a_driver_are_told_together,
        what_stands_in_a_files_place,
        each_errno_has_its_meaning,
        a_gpu_of_which_only_the_device_file_is_here,
        a_render_node_of_an_unknown_card,
        linux_in_windows_has_no_card_of_its_own,
        addresses_are_compared_by_their_numbers,
        a_card_in_another_domain_is_its_drivers,
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
