// SPDX-License-Identifier: MIT
// ctest: timeout=120
// clbench doctor on machines that are laid out below a folder, with a driver that does what is asked of it
// (tests/support/icd): each finding is planted, and found, and a healthy machine has none. Nothing is computed here;
// test_doctor_device.c has what a device can do wrong.
#include <check.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#ifndef HUSK_CLBENCH
#error "HUSK_CLBENCH is the path of clbench; bench/CMakeLists.txt defines it"
#endif

static char root[64], said[1 << 17];
static char variables[2048]; // what the next run has in its environment
static json_t *document;

// ---- the machine ----

// A path below the root, its folders made.
static const char *place(const char *path)
{
    static char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(full, 0777);
        *at = '/';
    }
    return full;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(place(path), "w");
    ck_assert_msg(file != NULL, "%s", path);
    fputs(text, file);
    fclose(file);
}

static void let(const char *format, ...)
{
    va_list arguments;
    const size_t used = strlen(variables);
    va_start(arguments, format);
    vsnprintf(variables + used, sizeof variables - used, format, arguments);
    va_end(arguments);
    strcat(variables, " ");
}

// The fake driver under a name of its own, and the .icd file that names it.
static void install(const char *name, const char *icd)
{
    char path[600], text[700];
    snprintf(path, sizeof path, "/usr/lib/%s", name);
    snprintf(text, sizeof text, "%s", place(path));
    ck_assert_int_eq(symlink(HUSK_TEST_ICD_LIBRARY, text), 0);
    strcat(text, "\n");
    snprintf(path, sizeof path, "/etc/OpenCL/vendors/%s", icd);
    put(path, text);
}

static void gpu(const char *address, const char *vendor, const char *driver)
{
    char path[200], target[200];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", address);
    put(path, "0x030000\n");
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", address);
    put(path, vendor);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/device", address);
    put(path, "0x73bf\n");
    if (!driver)
        return;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/driver", address);
    snprintf(target, sizeof target, "../../../bus/pci/drivers/%s", driver);
    ck_assert_int_eq(symlink(target, place(path)), 0);
}

// A machine on which nothing is wrong: one loader, one driver, its GPU, device files that are open, folders.
static void build_machine(void)
{
    static const char cache[] = "glibc-ld.so.cache1.1 libOpenCL.so.1";
    put("/usr/lib/libOpenCL.so.1", "");
    put("/etc/ld.so.cache", cache);
    FILE *file = fopen(place("/etc/ld.so.cache"), "w");
    fwrite(cache, 1, sizeof cache, file);
    fwrite("/usr/lib/libOpenCL.so.1", 1, 24, file);
    fclose(file);
    put("/sys/devices/system/cpu/online", "0-3\n");
    put("/proc/self/cgroup", "0::/\n");
    gpu("0000:03:00.0", "0x1002\n", "amdgpu");
    put("/dev/dri/renderD128", "");
    put("/dev/kfd", "");
    install("libamdocl64.so", "amdocl64.icd");
    put("/home/.cache/husk/x", "");
    put("/home/.local/share/husk/x", "");
}

static void setup(void)
{
    strcpy(root, "/tmp/husk-doctor-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    umask(022);
    variables[0] = '\0';
    build_machine();
    let("HUSK_TEST_ICD=device HUSK_TEST_ICD_VENDOR=AMD HUSK_TEST_ICD_PCI=3");
}

static void teardown(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    ck_assert_int_eq(system(command), 0);
    json_decref(document);
    document = NULL;
}

// ---- the doctor ----

static void examine(int code)
{
    char command[4096];
    // Sanitizers have their options in the environment; everything else is the test's own.
    snprintf(command, sizeof command,
             "env -i ${LD_PRELOAD:+LD_PRELOAD=\"$LD_PRELOAD\"} ASAN_OPTIONS=\"$ASAN_OPTIONS\" "
             "LSAN_OPTIONS=\"$LSAN_OPTIONS\" HOME='%s/home' "
             "HUSK_DOCTOR_ROOT='%s' %s '%s' doctor --quick --json 2> /dev/null < /dev/null",
             root, root, variables, HUSK_CLBENCH);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    const size_t size = fread(said, 1, sizeof said - 1, pipe);
    said[size] = '\0';
    const int status = pclose(pipe), got = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ck_assert_msg(got == code, "exit code %d instead of %d\n%.3000s", got, code, said);
    json_decref(document);
    document = json_loads(said, 0, NULL);
    ck_assert_msg(document != NULL, "%.3000s", said);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static const json_t *find(const char *id)
{
    size_t i;
    const json_t *finding;
    json_array_foreach(json_object_get(document, "findings"), i, finding)
    {
        if (!strcmp(text_of(finding, "id"), id))
            return finding;
    }
    return NULL;
}

// There is such a finding, of that level; its sentence has the words, and what to do has others.
static void expect(const char *level, const char *id, const char *words, const char *todo)
{
    const json_t *finding = find(id);
    ck_assert_msg(finding != NULL, "no %s in\n%.3000s", id, said);
    ck_assert_msg(!strcmp(text_of(finding, "level"), level), "%s is %s", id, text_of(finding, "level"));
    ck_assert_msg(strstr(text_of(finding, "text"), words) != NULL, "%s lacks '%s': %.1500s", id, words,
                  text_of(finding, "text"));
    ck_assert_msg(strstr(text_of(finding, "todo"), todo) != NULL, "%s lacks '%s': %.1500s", id, todo,
                  text_of(finding, "todo"));
}

static void expect_none(const char *level)
{
    size_t i;
    const json_t *finding;
    json_array_foreach(json_object_get(document, "findings"), i, finding)
        ck_assert_msg(strcmp(text_of(finding, "level"), level) != 0, "%s: %s", level,
                      text_of(finding, "text"));
}

// ---- a healthy machine ----

START_TEST(a_healthy_machine_has_no_finding)
{
    examine(0);
    expect_none("note");
    expect_none("problem");
    ck_assert_str_eq(text_of(document, "verdict"), "Nothing is wrong.");
    expect("ok", "gpu", "0000:03:00.0", "");
    expect("ok", "icd", "Fake platform, 1 device", "");
    expect("ok", "loader", "/usr/lib/libOpenCL.so.1", "");
    ck_assert_uint_eq(json_array_size(json_object_get(document, "devices")), 1);
}
END_TEST

// ---- drivers ----

START_TEST(a_library_that_is_missing_is_quoted)
{
    put("/etc/OpenCL/vendors/intel.icd", "/no/such/libigdrcl.so\n");
    examine(1);
    expect("problem", "icd_not_loaded", "/no/such/libigdrcl.so: cannot open shared object file",
           "intel-opencl-icd");
}
END_TEST

START_TEST(files_that_name_no_driver_are_said)
{
    char text[600];
    put("/etc/OpenCL/vendors/empty.icd", "\n");
    put("/usr/lib/libnonsense.so", "this is no library");
    snprintf(text, sizeof text, "%s\n", place("/usr/lib/libnonsense.so"));
    put("/etc/OpenCL/vendors/nonsense.icd", text);
    put("/etc/OpenCL/vendors/other.icd", "libm.so.6\n");
    examine(1);
    expect("problem", "icd_empty", "empty.icd names no library", "remove the file");
    expect("problem", "icd_not_loaded", "nonsense.icd", "install the driver again");
    expect("problem", "icd_is_none", "libm.so.6 is no OpenCL driver", "name the driver's own library");
}
END_TEST

START_TEST(no_driver_at_all_is_no_device)
{
    ck_assert_int_eq(unlink(place("/etc/OpenCL/vendors/amdocl64.icd")), 0);
    examine(6);
    expect("problem", "no_icd", "/etc/OpenCL/vendors has no .icd file", "pocl-opencl-icd");
    expect("problem", "gpu_without_device", "no OpenCL driver of AMD is registered", "rocm-opencl-icd");
}
END_TEST

START_TEST(a_driver_that_crashes_is_named_and_left_out)
{
    let("HUSK_TEST_ICD=crash");
    examine(6);
    expect("problem", "icd_crashes", "SIGSEGV (Segmentation fault) while listing its platforms",
           "amdocl64.icd.off");
    ck_assert_ptr_null(find("listing_crashes")); // it is not asked again
    expect("problem", "gpu_without_device", "cannot be used: crashes", "mend that first");
}
END_TEST

START_TEST(a_driver_that_hangs_is_named)
{
    let("HUSK_TEST_ICD=hang");
    strcat(variables, "sh -c 'exec \"$0\" \"$@\" --max-time 1' ");
    examine(6);
    expect("problem", "icd_hangs", "no answer within 1 s while listing its platforms", "update or reinstall");
}
END_TEST

START_TEST(a_driver_without_a_device_is_noted)
{
    let("HUSK_TEST_ICD=empty");
    examine(6);
    expect("note", "icd_without_device", "amdocl64.icd", "where its hardware is not here");
    expect("problem", "no_device", "no OpenCL device", "pocl-opencl-icd");
    expect("problem", "gpu_without_device", "loads and does not show it", "dmesg");
    let("HUSK_TEST_ICD=none");
    examine(6);
    expect("note", "icd_without_device", "amdocl64.icd", "");
}
END_TEST

START_TEST(the_same_card_twice_and_one_that_is_away)
{
    let("HUSK_TEST_ICD=twice");
    examine(0);
    expect("note", "same_card",
           "0:0 (Fake platform) and 1:0 (Fake platform) are the same card, at PCI address 0000:03:00.0",
           "-d");
    let("HUSK_TEST_ICD=away");
    examine(1);
    expect("problem", "device_unavailable", "not available", "dmesg");
}
END_TEST

// Who is tired of waiting for a driver has not found that it hangs.
START_TEST(an_interrupt_is_no_finding)
{
    let("HUSK_TEST_ICD=hang");
    strcat(variables, "timeout --preserve-status -s INT 2 ");
    examine(130);
    expect_none("problem");
    ck_assert_ptr_nonnull(strstr(text_of(document, "verdict"), "Interrupted"));
}
END_TEST

// A loader that takes a library's name without an ending lists what no file registers.
START_TEST(devices_without_a_file_are_a_note)
{
    char name[600];
    snprintf(name, sizeof name, "%s", place("/other/driver"));
    ck_assert_int_eq(symlink(HUSK_TEST_ICD_LIBRARY, name), 0);
    let("OCL_ICD_VENDORS='%s'", name);
    char command[sizeof variables + 300];
    snprintf(command, sizeof command, "%s '%s' run -n gemm m=1 n=1 k=1 2>&1 | grep -q 'Fake platform'",
             variables, HUSK_CLBENCH);
    if (system(command) != 0)
        return; // this loader wants a file
    examine(0);
    expect("note", "no_icd", "no OpenCL driver is registered", "");
}
END_TEST

START_TEST(two_files_for_one_library_are_noted)
{
    char text[600];
    snprintf(text, sizeof text, "%s\n", place("/usr/lib/libamdocl64.so"));
    put("/etc/OpenCL/vendors/again.icd", text);
    examine(0);
    expect("note", "icd_twice", "again.icd", "remove one");
}
END_TEST

// ---- variables that lead astray ----

START_TEST(variables_that_point_nowhere_are_said)
{
    let("OCL_ICD_VENDORS=/no/such/folder");
    examine(6);
    expect("problem", "vendors_astray", "names what does not exist", "unset OCL_ICD_VENDORS");
    variables[0] = '\0';
    let("OCL_ICD_VENDORS='%s/home'", root);
    examine(6);
    expect("problem", "vendors_astray", "has no .icd file", "unset OCL_ICD_VENDORS");
}
END_TEST

START_TEST(drivers_from_elsewhere_are_noted)
{
    char text[600];
    snprintf(text, sizeof text, "%s\n", place("/usr/lib/libamdocl64.so"));
    put("/other/amd.icd", text);
    let("OCL_ICD_VENDORS='%s/other'", root);
    examine(0);
    expect("note", "vendors_elsewhere", "and its 1 .icd files", "unset OCL_ICD_VENDORS");
    let("OCL_ICD_FILENAMES=/no/such/libfoo.so");
    examine(1);
    const json_t *known = find("filenames_set"), *unknown = find("filenames_unknown");
    ck_assert(known || unknown); // as the loader that is here has it
    expect("problem", "icd_not_loaded", "OCL_ICD_FILENAMES: its library does not load", "");
}
END_TEST

START_TEST(husks_variables_are_noted_and_typing_errors_too)
{
    let("HUSK_VARIANT=gemm:simple HUSK_TUNNING=0 POCL_MAX_PTHREAD_COUNT=1");
    examine(0);
    expect("note", "variable", "HUSK_VARIANT=gemm:simple chooses variants", "unset HUSK_VARIANT");
    expect("note", "variable_unknown", "HUSK_TUNNING is set, and nothing reads it", "is HUSK_TUNING meant?");
    ck_assert_ptr_nonnull(strstr(said, "POCL_MAX_PTHREAD_COUNT=1 limits"));
    let("HUSK_LIMITS=local_memory=x");
    examine(0);
    expect("note", "list_note", "HUSK_LIMITS", "");
}
END_TEST

// ---- loaders ----

START_TEST(a_loader_of_32_bits_is_none)
{
    put("/usr/local/cuda/lib64/libOpenCL.so.1", sizeof(void *) == 8 ? "\177ELF\1" : "\177ELF\2");
    examine(0);
    expect_none("note");
    expect("ok", "loader", "one OpenCL loader: /usr/lib/libOpenCL.so.1", "");
    put("/usr/local/cuda/lib64/libOpenCL.so.1", sizeof(void *) == 8 ? "\177ELF\2" : "\177ELF\1");
    examine(0);
    expect("note", "several_loaders", "2 OpenCL loaders", "");
}
END_TEST

START_TEST(two_loaders_are_listed)
{
    put("/usr/local/cuda/lib64/libOpenCL.so.1", "");
    examine(0);
    expect("note", "several_loaders",
           "2 OpenCL loaders: /usr/lib/libOpenCL.so.1 (ldconfig's cache), "
           "/usr/local/cuda/lib64/libOpenCL.so.1",
           "LD_LIBRARY_PATH");
    ck_assert_ptr_nonnull(strstr(said, "; this process has /"));
    put("/opt/vendor/libOpenCL.so.1", "");
    let("LD_LIBRARY_PATH=/opt/vendor");
    examine(0);
    expect("note", "several_loaders", "/opt/vendor/libOpenCL.so.1 (LD_LIBRARY_PATH)", "");
}
END_TEST

START_TEST(links_to_one_loader_are_one)
{
    place("/usr/local/cuda/lib64/x");
    char target[600];
    snprintf(target, sizeof target, "%s", place("/usr/lib/libOpenCL.so.1"));
    ck_assert_int_eq(symlink(target, place("/usr/local/cuda/lib64/libOpenCL.so.1")), 0);
    examine(0);
    expect("ok", "loader", "one OpenCL loader", "");
    ck_assert_int_eq(unlink(place("/usr/lib/libOpenCL.so.1")), 0);
    examine(1);
    expect("problem", "no_loader", "no OpenCL loader", "ocl-icd-libopencl1");
}
END_TEST

// ---- GPUs without a device ----

static void another_gpu(const char *vendor, const char *driver, const char *words, const char *todo)
{
    gpu("0000:05:00.0", vendor, driver);
    examine(1);
    expect("problem", "gpu_without_device", "0000:05:00.0", "");
    expect("problem", "gpu_without_device", words, todo);
}

START_TEST(a_gpu_without_a_kernel_driver)
{
    another_gpu("0x8086\n", NULL, "no kernel driver is bound to it", "load i915 or xe");
}
END_TEST

START_TEST(accelerators_of_others_are_no_gpus)
{
    gpu("0000:00:0b.0", "0x8086\n", "intel_vpu");
    put("/sys/bus/pci/devices/0000:00:0b.0/class", "0x120000\n");
    examine(0);
    ck_assert_uint_eq(json_array_size(json_object_get(document, "gpus")), 1);
    put("/sys/bus/pci/devices/0000:03:00.0/class", "0x120000\n"); // AMD's are
    examine(0);
    expect("ok", "gpu", "0000:03:00.0", "");
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
    another_gpu("0x10de\n", "nvidia", "/dev/nvidia0 or /dev/nvidiactl is not there", "nvidia-smi");
    put("/.dockerenv", "");
    examine(1);
    expect("problem", "gpu_without_device", "is not there", "--gpus all");
}
END_TEST

START_TEST(an_nvidia_gpu_in_a_container_without_the_capability)
{
    put("/.dockerenv", "");
    put("/dev/nvidia0", "");
    put("/dev/nvidiactl", "");
    another_gpu("0x10de\n", "nvidia", "no OpenCL driver of NVIDIA is registered", "nvidia.icd");
    let("NVIDIA_DRIVER_CAPABILITIES=utility");
    examine(1);
    expect("problem", "gpu_without_device", "no OpenCL driver",
           "NVIDIA_DRIVER_CAPABILITIES=utility lacks compute");
}
END_TEST

START_TEST(mesa_shows_what_its_variable_names)
{
    install("libRusticlOpenCL.so.1", "rusticl.icd");
    another_gpu("0x8086\n", "i915", "RUSTICL_ENABLE names, which is not set", "RUSTICL_ENABLE=iris");
    let("RUSTICL_ENABLE=radeonsi");
    examine(1);
    expect("problem", "gpu_without_device", "RUSTICL_ENABLE names, which is radeonsi", "iris");
}
END_TEST

START_TEST(variables_that_hide_cards)
{
    put("/dev/nvidia0", "");
    put("/dev/nvidiactl", "");
    install("libnvidia-opencl.so.1", "nvidia.icd");
    let("CUDA_VISIBLE_DEVICES=-1");
    another_gpu("0x10de\n", "nvidia", "CUDA_VISIBLE_DEVICES=-1 may hide it", "unset CUDA_VISIBLE_DEVICES");
}
END_TEST

START_TEST(a_gpu_without_render_nodes)
{
    ck_assert_int_eq(unlink(place("/dev/dri/renderD128")), 0);
    another_gpu("0x8086\n", "i915", "no /dev/dri/renderD*", "nomodeset");
    put("/.dockerenv", "");
    examine(1);
    expect("problem", "gpu_without_device", "no /dev/dri/renderD*", "--device /dev/dri");
}
END_TEST

START_TEST(device_files_that_are_closed)
{
    let("HUSK_TEST_ICD=empty HUSK_DOCTOR_USER=54321:54321");
    ck_assert_int_eq(chmod(place("/dev/dri/renderD128"), 0660), 0);
    if (geteuid() == 0)
        ck_assert_int_eq(chown(place("/dev/dri/renderD128"), 0, 12345), 0);
    ck_assert_int_eq(chmod(place("/dev/kfd"), 0600), 0);
    examine(6);
    expect("problem", "device_file_closed", "/dev/kfd (mode 600", "udevadm");
    ck_assert_ptr_nonnull(strstr(said, "/dev/dri/renderD128 (mode 660"));
    expect("problem", "gpu_without_device", "its device files are not open to this user", "group");
    if (geteuid() != 0)
        return;
    ck_assert_ptr_nonnull(strstr(said, "usermod -aG 12345"));
    put("/.dockerenv", "");
    examine(6);
    ck_assert_ptr_nonnull(strstr(said, "--group-add 12345"));
    let("HUSK_DOCTOR_USER=54321:54321,12345"); // a member of the group
    examine(6);
    ck_assert_ptr_null(strstr(said, "renderD128 (mode"));
}
END_TEST

START_TEST(a_gpu_of_which_only_the_device_file_is_here)
{
    char command[200];
    snprintf(command, sizeof command, "rm -r '%s/sys/bus'", root);
    ck_assert_int_eq(system(command), 0);
    examine(0); // /dev/kfd is the AMD GPU that the driver shows
    expect("ok", "gpu", "/dev/kfd", "");
    let("HUSK_TEST_ICD_VENDOR=Nobody");
    examine(1);
    expect("problem", "gpu_without_device", "/dev/kfd", "");
}
END_TEST

START_TEST(a_render_node_of_an_unknown_card)
{
    char command[200];
    snprintf(command, sizeof command, "rm -r '%s/sys/bus' '%s/dev/kfd'", root, root);
    ck_assert_int_eq(system(command), 0);
    examine(0); // the driver shows a GPU: it is that one's
    ck_assert_ptr_null(find("render_node_without_device"));
    let("HUSK_TEST_ICD=empty");
    examine(6);
    expect("note", "render_node_without_device", "no GPU is an OpenCL device", "intel-opencl-icd");
}
END_TEST

// ---- the host ----

START_TEST(limits_of_a_container_are_noted)
{
    put("/proc/self/cgroup", "0::/box\n");
    put("/sys/fs/cgroup/box/cpu.max", "150000 100000\n");
    examine(0);
    expect("note", "processors_limited", "2 of 4 processors (the control group's quota: 1.5)", "--cpus");
    put("/sys/fs/cgroup/box/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/box/cpuset.cpus.effective", "0-1\n");
    examine(0);
    expect("note", "processors_limited", "the control group's set: 2", "taskset");
}
END_TEST

START_TEST(folders_that_cannot_be_used_are_said)
{
    char command[200];
    ck_assert_int_eq(chmod(place("/home/.cache/husk"), 0777), 0);
    examine(1);
    expect("problem", "folder_unusable", "compiled programs cannot be kept", "chmod 700");
    snprintf(command, sizeof command, "rm -r '%s/home/.cache/husk' && ln -s /tmp '%s/home/.cache/husk'", root,
             root);
    ck_assert_int_eq(system(command), 0);
    examine(1);
    expect("problem", "folder_unusable", "is a link", "rm");
    snprintf(command, sizeof command, "rm '%s/home/.cache/husk' && touch '%s/home/.cache/husk'", root, root);
    ck_assert_int_eq(system(command), 0);
    examine(1);
    expect("problem", "folder_unusable", "is no folder", "rm");
    ck_assert_int_eq(unlink(place("/home/.cache/husk")), 0);
    examine(0); // where there is none yet, Husk makes it
    let("HUSK_DOCTOR_USER=54321:54321");
    examine(1);
    expect("problem", "folder_unusable", "results and tuning cannot be kept", "chown");
}
END_TEST

// Nothing in it is run: results may be shared, and lie elsewhere.
START_TEST(results_may_lie_behind_a_link_and_be_shared)
{
    char command[400];
    place("/elsewhere/x");
    snprintf(command, sizeof command,
             "rm -r '%s/home/.local/share/husk' && chmod 770 '%s/elsewhere' && "
             "ln -s '%s/elsewhere' '%s/home/.local/share/husk'",
             root, root, root, root);
    ck_assert_int_eq(system(command), 0);
    examine(0);
    expect_none("problem");
    ck_assert_int_eq(rmdir(place("/elsewhere")), 0); // a link to nothing
    examine(1);
    expect("problem", "folder_unusable", "results and tuning cannot be kept", "");
}
END_TEST

START_TEST(control_characters_are_not_printed)
{
    put("/etc/OpenCL/vendors/escape.icd", "/no/such/\033[31mlib.so\n");
    examine(1);
    expect("problem", "icd_not_loaded", "/no/such/ [31mlib.so: cannot open", "");
}
END_TEST

// A limit of file sizes stands for a disk that is full.
START_TEST(a_disk_that_is_full_is_said)
{
    strcat(variables, "sh -c 'ulimit -f 1; exec \"$0\" \"$@\"' ");
    examine(1);
    expect("problem", "folder_unusable", "takes no file of 1 MiB", "make room");
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
        a_driver_that_hangs_is_named,
        an_interrupt_is_no_finding,
        devices_without_a_file_are_a_note,
        a_driver_without_a_device_is_noted,
        the_same_card_twice_and_one_that_is_away,
        two_files_for_one_library_are_noted,
        variables_that_point_nowhere_are_said,
        drivers_from_elsewhere_are_noted,
        husks_variables_are_noted_and_typing_errors_too,
        a_loader_of_32_bits_is_none,
        two_loaders_are_listed,
        links_to_one_loader_are_one,
        a_gpu_without_a_kernel_driver,
        accelerators_of_others_are_no_gpus,
        a_gpu_that_a_virtual_machine_has,
        a_gpu_that_nouveau_has,
        an_nvidia_gpu_without_device_files,
        an_nvidia_gpu_in_a_container_without_the_capability,
        mesa_shows_what_its_variable_names,
        variables_that_hide_cards,
        a_gpu_without_render_nodes,
        device_files_that_are_closed,
        a_gpu_of_which_only_the_device_file_is_here,
        a_render_node_of_an_unknown_card,
        limits_of_a_container_are_noted,
        folders_that_cannot_be_used_are_said,
        results_may_lie_behind_a_link_and_be_shared,
        control_characters_are_not_printed,
        a_disk_that_is_full_is_said,
    };
    tcase_add_checked_fixture(tcase, setup, teardown);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
