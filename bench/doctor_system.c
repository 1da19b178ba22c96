// SPDX-License-Identifier: MIT
// GPUs that the system shows, on the PCI bus or as device files, and has no OpenCL device for: why, and what to do.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"

#define PCI_ROOT "/sys/bus/pci/devices"

enum { VENDOR_AMD = 0x1002, VENDOR_NVIDIA = 0x10de, VENDOR_INTEL = 0x8086 };

static const struct {
    unsigned id;
    const char *name, *words, *modules, *rusticl; // words: parts of what its drivers call the vendor
} vendors[] = {
    {VENDOR_AMD, "AMD", "AMD|Advanced Micro", "amdgpu", "radeonsi"},
    {VENDOR_NVIDIA, "NVIDIA", "NVIDIA", "nvidia", "nouveau"},
    {VENDOR_INTEL, "Intel", "Intel", "i915 or xe", "iris"},
};
#define VENDOR_COUNT (sizeof vendors / sizeof *vendors)

static int vendor_index(const char *name)
{
    for (size_t i = 0; i < VENDOR_COUNT; i++) {
        if (!strcmp(vendors[i].name, name))
            return (int)i;
    }
    return -1;
}

// ---- what the system shows ----

static bool read_hex(const bench_doctor *d, const char *address, const char *leaf, unsigned *value)
{
    char path[300];
    snprintf(path, sizeof path, PCI_ROOT "/%.200s/%s", address, leaf);
    char *text = bench_doctor_read(d, path, NULL);
    const bool found = text && sscanf(text, "%x", value) == 1;
    free(text);
    return found;
}

// The kernel driver that is bound to it, by its link's last part; "" for none.
static void bound_driver(const bench_doctor *d, const char *address, char *name, size_t size)
{
    char path[BENCH_DOCTOR_PATH], target[512];
    bench_doctor_path(d, path, PCI_ROOT "/%.200s/driver", address);
    const ssize_t length = readlink(path, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(target, '/');
    snprintf(name, size, "%.60s", slash ? slash + 1 : target);
}

static void add_gpu(bench_doctor *d, const char *where, const char *vendor, const char *id,
                    const char *driver)
{
    json_array_append_new(d->gpus, json_pack("{s:s, s:s, s:s, s:s}", "where", where, "vendor", vendor, "id",
                                             id, "driver", driver));
}

// Displays of the vendors that make GPUs for computing, and AMD's processing accelerators, since those of others are no
// GPUs; a virtual machine's plain display is none.
static void examine_pci(bench_doctor *d, const char *address)
{
    unsigned class = 0, vendor = 0, number = 0;
    char driver[64], id[32];
    if (!read_hex(d, address, "class", &class) || !read_hex(d, address, "vendor", &vendor) ||
        ((class >> 16) != 0x03 && !((class >> 16) == 0x12 && vendor == VENDOR_AMD)))
        return;
    read_hex(d, address, "device", &number);
    bound_driver(d, address, driver, sizeof driver);
    snprintf(id, sizeof id, "%04x:%04x", vendor, number);
    for (size_t i = 0; i < VENDOR_COUNT; i++) {
        if (vendors[i].id == vendor)
            add_gpu(d, address, vendors[i].name, id, driver);
    }
}

// A container may hide the PCI bus, and not the device files.
static void find_by_files(bench_doctor *d)
{
    if (bench_doctor_exists(d, "/dev/nvidia0"))
        add_gpu(d, "/dev/nvidia0", "NVIDIA", "", "nvidia");
    if (bench_doctor_exists(d, "/dev/kfd"))
        add_gpu(d, "/dev/kfd", "AMD", "", "amdgpu");
}

static void find_gpus(bench_doctor *d)
{
    char folder[BENCH_DOCTOR_PATH];
    bench_doctor_path(d, folder, PCI_ROOT);
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (entry->d_name[0] != '.')
            examine_pci(d, entry->d_name);
    }
    if (directory)
        closedir(directory);
    if (json_array_size(d->gpus) == 0)
        find_by_files(d);
}

// ---- what OpenCL shows of it ----

static bool is_gpu(const json_t *device)
{
    return strstr(bench_doctor_text(json_object_get(device, "traits"), "class"), "GPU") != NULL;
}

static bool is_of_vendor(const json_t *device, int vendor)
{
    const char *name = bench_doctor_text(device, "vendor");
    char words[64], *position = NULL;
    snprintf(words, sizeof words, "%s", vendors[vendor].words);
    for (char *word = strtok_r(words, "|", &position); word; word = strtok_r(NULL, "|", &position)) {
        if (strstr(name, word) || strstr(bench_doctor_text(device, "name"), word))
            return true;
    }
    return false;
}

// By its address, or by the vendor where the driver gives none.
static bool is_served(const bench_doctor *d, const json_t *gpu)
{
    const int vendor = vendor_index(bench_doctor_text(gpu, "vendor"));
    const char *where = bench_doctor_text(gpu, "where");
    size_t i;
    const json_t *device;
    json_array_foreach(d->devices, i, device)
    {
        const char *address = bench_doctor_text(json_object_get(device, "traits"), "pci_address");
        if (!is_gpu(device))
            continue;
        if (where[0] != '/' && !strcmp(address, where))
            return true;
        if ((where[0] == '/' || !address[0]) && is_of_vendor(device, vendor))
            return true;
    }
    return false;
}

// ---- why not ----

typedef struct cause {
    char why[400], todo[600];
} cause;

static bool explain_driver(const bench_doctor *d, const json_t *gpu, int vendor, cause *c)
{
    const char *driver = bench_doctor_text(gpu, "driver");
    const bool is_nvidia = vendors[vendor].id == VENDOR_NVIDIA;
    if (!driver[0] && !d->in_container) {
        snprintf(c->why, sizeof c->why, "no kernel driver is bound to it");
        snprintf(c->todo, sizeof c->todo, "load %s (modprobe; dmesg says why it does not take the card)%s",
                 vendors[vendor].modules,
                 is_nvidia ? ", from the package nvidia-driver"
                           : ", and have its firmware installed (linux-firmware, firmware-misc-nonfree)");
        return true;
    }
    if (!strncmp(driver, "vfio", 4) || !strcmp(driver, "pci-stub")) {
        snprintf(c->why, sizeof c->why, "the kernel driver %s keeps it for virtual machines", driver);
        snprintf(c->todo, sizeof c->todo, "bind it to %s, or run this inside the virtual machine that has it",
                 vendors[vendor].modules);
        return true;
    }
    if (!strcmp(driver, "nouveau")) {
        snprintf(c->why, sizeof c->why, "the kernel driver nouveau has it, which NVIDIA's OpenCL cannot use");
        snprintf(
            c->todo, sizeof c->todo,
            "install nvidia-driver and nvidia-opencl-icd, or mesa-opencl-icd with RUSTICL_ENABLE=nouveau");
        return true;
    }
    return false;
}

static bool has_render_node(const bench_doctor *d)
{
    char folder[BENCH_DOCTOR_PATH];
    bool found = false;
    bench_doctor_path(d, folder, "/dev/dri");
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        found = found || !strncmp(entry->d_name, "renderD", 7);
    if (directory)
        closedir(directory);
    return found;
}

// Drivers reach cards through device files, which a container has to be given.
static bool explain_files(const bench_doctor *d, int vendor, cause *c)
{
    const bool is_nvidia = vendors[vendor].id == VENDOR_NVIDIA, is_amd = vendors[vendor].id == VENDOR_AMD;
    if (is_nvidia && !(bench_doctor_exists(d, "/dev/nvidia0") && bench_doctor_exists(d, "/dev/nvidiactl"))) {
        snprintf(c->why, sizeof c->why, "/dev/nvidia0 or /dev/nvidiactl is not there");
        snprintf(c->todo, sizeof c->todo, "%s",
                 d->in_container ? "start the container with --gpus all (nvidia-container-toolkit) and "
                                   "NVIDIA_DRIVER_CAPABILITIES=compute,utility"
                                 : "run nvidia-smi once as root, or nvidia-modprobe: they make them");
        return true;
    }
    if (!is_nvidia && !has_render_node(d)) {
        snprintf(c->why, sizeof c->why, "there is no /dev/dri/renderD*");
        snprintf(c->todo, sizeof c->todo, "%s",
                 d->in_container
                     ? (is_amd ? "start the container with --device /dev/dri --device /dev/kfd"
                               : "start the container with --device /dev/dri")
                     : "boot without nomodeset: the kernel driver makes it when it has taken the card");
        return true;
    }
    return false;
}

// A registered driver of the vendor, or Mesa's; NULL: none.
static const json_t *icd_of(const bench_doctor *d, const char *vendor)
{
    size_t i;
    const json_t *icd;
    json_array_foreach(d->icds, i, icd)
    {
        if (!strcmp(bench_doctor_vendor_of(bench_doctor_text(icd, "library")), vendor))
            return icd;
    }
    return NULL;
}

static void explain_missing_driver(const bench_doctor *d, int vendor, cause *c)
{
    const char *name = vendors[vendor].name, *capabilities = getenv("NVIDIA_DRIVER_CAPABILITIES");
    snprintf(c->why, sizeof c->why, "no OpenCL driver of %s is registered in %.200s", name,
             bench_doctor_vendors(d));
    if (vendors[vendor].id == VENDOR_NVIDIA && d->in_container && capabilities &&
        !strstr(capabilities, "compute") && !strstr(capabilities, "all"))
        snprintf(c->todo, sizeof c->todo,
                 "NVIDIA_DRIVER_CAPABILITIES=%.100s lacks compute: start the container with compute,utility",
                 capabilities);
    else if (vendors[vendor].id == VENDOR_NVIDIA && d->in_container)
        snprintf(
            c->todo, sizeof c->todo,
            "start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility, and mkdir -p /etc/OpenCL/vendors && "
            "echo libnvidia-opencl.so.1 > /etc/OpenCL/vendors/nvidia.icd");
    else
        snprintf(c->todo, sizeof c->todo, "install %s; or mesa-opencl-icd with RUSTICL_ENABLE=%s",
                 bench_doctor_packages(name), vendors[vendor].rusticl);
}

// Variables by which programs are kept from devices.
static bool explain_hiding(int vendor, cause *c)
{
    static const struct {
        const char *variable;
        unsigned vendor;
    } hiding[] = {
        {"CUDA_VISIBLE_DEVICES", VENDOR_NVIDIA}, {"ROCR_VISIBLE_DEVICES", VENDOR_AMD},
        {"HIP_VISIBLE_DEVICES", VENDOR_AMD},     {"GPU_DEVICE_ORDINAL", VENDOR_AMD},
        {"ZE_AFFINITY_MASK", VENDOR_INTEL},
    };
    for (size_t i = 0; i < sizeof hiding / sizeof *hiding; i++) {
        const char *value = getenv(hiding[i].variable);
        if (!value || hiding[i].vendor != vendors[vendor].id)
            continue;
        snprintf(c->why, sizeof c->why, "%s=%.100s may hide it", hiding[i].variable, value);
        snprintf(c->todo, sizeof c->todo, "unset %s", hiding[i].variable);
        return true;
    }
    return false;
}

static void explain_driver_that_is_there(const json_t *icd, int vendor, cause *c)
{
    const char *state = bench_doctor_text(icd, "state"), *file = bench_doctor_text(icd, "file");
    const bool is_mesa = !strcmp(bench_doctor_vendor_of(bench_doctor_text(icd, "library")), "Mesa");
    const char *enabled = getenv("RUSTICL_ENABLE");
    if (strcmp(state, "ok") != 0 && strcmp(state, "empty") != 0) {
        snprintf(c->why, sizeof c->why, "its driver (%.200s) cannot be used: %s", file, state);
        snprintf(c->todo, sizeof c->todo, "mend that first");
    } else if (is_mesa && !(enabled && strstr(enabled, vendors[vendor].rusticl))) {
        snprintf(c->why, sizeof c->why, "Mesa's driver shows only what RUSTICL_ENABLE names, which is %.100s",
                 enabled ? enabled : "not set");
        snprintf(c->todo, sizeof c->todo, "set RUSTICL_ENABLE=%s; or install %s", vendors[vendor].rusticl,
                 bench_doctor_packages(vendors[vendor].name));
    } else if (!explain_hiding(vendor, c)) {
        snprintf(c->why, sizeof c->why, "its driver (%.200s) loads and does not show it", file);
        snprintf(
            c->todo, sizeof c->todo, "%s",
            vendors[vendor].id == VENDOR_NVIDIA
                ? "run nvidia-smi: versions of kernel module and libraries differ, or the card has failed; see dmesg"
                : "look into dmesg, and whether this version of the driver supports the card");
    }
}

static void explain_gpu(bench_doctor *d, const json_t *gpu, size_t closed)
{
    const char *name = bench_doctor_text(gpu, "vendor"), *id = bench_doctor_text(gpu, "id");
    const int vendor = vendor_index(name);
    const json_t *icd = icd_of(d, name);
    cause c = {.why = ""};
    icd = icd ? icd : icd_of(d, "Mesa");
    if (explain_driver(d, gpu, vendor, &c) || explain_files(d, vendor, &c))
        ;
    else if (!icd)
        explain_missing_driver(d, vendor, &c);
    else if (closed) {
        snprintf(c.why, sizeof c.why, "its device files are not open to this user");
        snprintf(c.todo, sizeof c.todo, "join their group, as said beside them");
    } else
        explain_driver_that_is_there(icd, vendor, &c);
    bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_PROBLEM, "gpu_without_device",
                                          "a GPU of %s%s%s (%s) has no OpenCL device: %s", name,
                                          id[0] ? ", " : "", id, bench_doctor_text(gpu, "where"), c.why),
                        "%s", c.todo);
}

// The bus is hidden, and somebody's render node is there: a container was given it, or a virtual machine has one.
static void explain_render_node(bench_doctor *d)
{
    size_t i;
    const json_t *device;
    json_array_foreach(d->devices, i, device)
    {
        if (is_gpu(device))
            return;
    }
    bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_NOTE, "render_node_without_device",
                                          "/dev/dri has a render node, and no GPU is an OpenCL device"),
                        "if it is a card for computing, install its driver: AMD %s; Intel %s",
                        bench_doctor_packages("AMD"), bench_doctor_packages("Intel"));
}

void bench_doctor_system(bench_doctor *d)
{
    size_t i, missing = 0;
    json_t *gpu;
    find_gpus(d);
    json_array_foreach(d->gpus, i, gpu)
    {
        const bool served = is_served(d, gpu);
        json_object_set_new(gpu, "served", json_boolean(served));
        missing += !served;
        if (served)
            bench_doctor_find(d, BENCH_FINDING_OK, "gpu", "the GPU of %s at %s is an OpenCL device",
                              bench_doctor_text(gpu, "vendor"), bench_doctor_text(gpu, "where"));
    }
    // Files that are closed to somebody whose GPUs are all there are no matter.
    const bool is_unknown = json_array_size(d->gpus) == 0 && has_render_node(d);
    const size_t closed = missing || is_unknown ? bench_doctor_closed_files(d) : 0;
    json_array_foreach(d->gpus, i, gpu)
    {
        if (!json_is_true(json_object_get(gpu, "served")))
            explain_gpu(d, gpu, closed);
    }
    if (is_unknown && !closed)
        explain_render_node(d);
    if (json_array_size(d->gpus) == 0 && !is_unknown)
        bench_doctor_find(d, BENCH_FINDING_OK, "no_gpu", "the system shows no GPU for computing");
}
