// SPDX-License-Identifier: MIT
// OpenCL loaders: which one this process has, which others a program may meet, and the variables that lead them astray.
#define _GNU_SOURCE // dladdr
#include "doctor/loader.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <husk/opencl.h>

#include "doctor/machine.h"

#define LOADER_NAME  "libOpenCL.so.1"
#define MOST_LOADERS 16

typedef struct loader {
    char path[512]; // as a program finds it
    char real[512]; // behind links: two names of one file are one loader
    const char *where;
} loader;

typedef struct loaders {
    loader all[MOST_LOADERS];
    size_t count;
} loaders;

// Programs of this kind pass over files for other ones, such as 32-bit ones. What is no ELF file is none of those.
static bool is_of_another_class(const char *path)
{
    const unsigned char own = sizeof(void *) == 8 ? 2 : 1; // ELFCLASS64, ELFCLASS32
    unsigned char head[5] = {0};
    FILE *file = fopen(path, "rb");
    const size_t got = file ? fread(head, 1, sizeof head, file) : 0;
    if (file)
        fclose(file);
    return got == sizeof head && !memcmp(head, "\177ELF", 4) && head[4] != own;
}

static void add_loader(const bench_doctor *d, loaders *l, const char *path, const char *where)
{
    char full[BENCH_DOCTOR_PATH], resolved[4096];
    bench_doctor_path(d, full, "%.500s", path);
    if (l->count == MOST_LOADERS || !realpath(full, resolved) || is_of_another_class(resolved))
        return;
    for (size_t i = 0; i < l->count; i++) {
        if (!strcmp(l->all[i].real, resolved))
            return;
    }
    loader *one = &l->all[l->count++];
    snprintf(one->path, sizeof one->path, "%.511s", path);
    snprintf(one->real, sizeof one->real, "%.511s", resolved);
    one->where = where;
}

// The cache is binary; the paths in it end with a zero.
static void search_cache(const bench_doctor *d, loaders *l)
{
    size_t size = 0;
    char *bytes = bench_doctor_read(d, "/etc/ld.so.cache", &size);
    const char wanted[] = "/" LOADER_NAME;
    for (size_t i = 0; bytes && i + sizeof wanted <= size; i++) {
        if (memcmp(bytes + i, wanted, sizeof wanted) != 0)
            continue;
        size_t start = i;
        while (start > 0 && bytes[start - 1])
            start--;
        if (bytes[start] == '/')
            add_loader(d, l, bytes + start, "ldconfig's cache");
    }
    free(bytes);
}

// LD_LIBRARY_PATH comes before the cache.
static void search_library_path(const bench_doctor *d, loaders *l)
{
    const char *value = getenv("LD_LIBRARY_PATH");
    char *copy = value ? bench_copy_text(value) : NULL, *position = NULL;
    for (char *folder = copy ? strtok_r(copy, ":;", &position) : NULL; folder;
         folder = strtok_r(NULL, ":;", &position)) {
        char path[600];
        snprintf(path, sizeof path, "%.500s/" LOADER_NAME, folder);
        add_loader(d, l, path, "LD_LIBRARY_PATH");
    }
    free(copy);
}

// Toolkits bring one along, which programs built against the toolkit find by their run path.
static void search_toolkits(const bench_doctor *d, loaders *l)
{
    static const char *const folders[] = {
        "/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib", "/opt/rocm/lib",
        "/opt/rocm/opencl/lib",  "/opt/intel/oneapi/compiler/latest/lib",    "/usr/local/lib",
    };
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/" LOADER_NAME, folders[i]);
        add_loader(d, l, path, "a toolkit's folder");
    }
}

// The file that this process has its OpenCL from.
static const char *own_loader(void)
{
    static Dl_info info; // the linker's own text: it stays
    cl_int (*function)(cl_uint, cl_platform_id *, cl_uint *) = clGetPlatformIDs;
    void *address = NULL;
    memcpy(&address, &function, sizeof address);
    return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

static void find_loaders(bench_doctor *d)
{
    loaders l = {.count = 0};
    char text[2048] = "";
    search_library_path(d, &l);
    search_cache(d, &l);
    search_toolkits(d, &l);
    const char *own = own_loader();
    if (!*d->root && strstr(own, "libOpenCL")) // a run path leads where nobody else looks
        add_loader(d, &l, own, "this program's own");
    if (l.count == 0) {
        bench_doctor_advise(
            bench_doctor_find(d, BENCH_FINDING_PROBLEM, "no_loader",
                              "no OpenCL loader is where programs look for one (this process has %s)", own),
            "install it: apt-get install ocl-icd-libopencl1 (Debian, Ubuntu), dnf install ocl-icd (Fedora), pacman -S "
            "ocl-icd (Arch)");
        return;
    }
    for (size_t i = 0; i < l.count; i++)
        bench_append(text, sizeof text, "%s%s (%s)", i ? ", " : "", l.all[i].path, l.all[i].where);
    if (l.count == 1)
        bench_doctor_find(d, BENCH_FINDING_OK, "loader", "one OpenCL loader: %.1500s", text);
    else
        bench_doctor_advise(
            bench_doctor_find(d, BENCH_FINDING_NOTE, "several_loaders",
                              "programs may meet %zu OpenCL loaders: %.1500s; this process has %s", l.count, text, own),
            "use the system's: take the others' folders out of LD_LIBRARY_PATH, or let them be links to it");
}

static size_t count_icd_files(const char *folder)
{
    size_t count = 0;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        const size_t length = strlen(entry->d_name);
        count += length > 4 && !strcmp(entry->d_name + length - 4, ".icd");
    }
    if (directory)
        closedir(directory);
    return count;
}

// OCL_ICD_VENDORS takes the place of the folder in which drivers are registered.
static void examine_vendors_variable(bench_doctor *d)
{
    const char *value = getenv("OCL_ICD_VENDORS");
    struct stat status;
    char standard[BENCH_DOCTOR_PATH];
    if (!value || !*value)
        return;
    bench_doctor_path(d, standard, "/etc/OpenCL/vendors");
    json_t *finding = NULL;
    const bool is_there = stat(value, &status) == 0;
    if (!is_there && strchr(value, '/')) // without one it may be a library's name
        finding =
            bench_doctor_find(d, BENCH_FINDING_PROBLEM, "vendors_astray",
                              "OCL_ICD_VENDORS=%.300s names what does not exist, so that no driver is found", value);
    else if (is_there && S_ISDIR(status.st_mode) && count_icd_files(value) == 0)
        finding = bench_doctor_find(d, BENCH_FINDING_PROBLEM, "vendors_astray",
                                    "OCL_ICD_VENDORS=%.300s has no .icd file, so that no driver is found", value);
    else
        finding = bench_doctor_find(d, BENCH_FINDING_NOTE, "vendors_elsewhere",
                                    "OCL_ICD_VENDORS=%.300s takes the place of %s and its %zu .icd files", value,
                                    standard, count_icd_files(standard));
    bench_doctor_advise(finding, "unset OCL_ICD_VENDORS, unless that is meant");
}

// OCL_ICD_FILENAMES names libraries; older loaders do not know it.
static void examine_filenames_variable(bench_doctor *d)
{
    const char *value = getenv("OCL_ICD_FILENAMES");
    size_t size = 0;
    if (!value || !*value)
        return;
    FILE *file = fopen(own_loader(), "rb");
    char *bytes = file ? malloc((size_t)8 << 20) : NULL;
    if (bytes)
        size = fread(bytes, 1, (size_t)8 << 20, file);
    bool is_known = size == 0;
    for (size_t i = 0; !is_known && i + 17 <= size; i++)
        is_known = !memcmp(bytes + i, "OCL_ICD_FILENAMES", 17);
    free(bytes);
    if (file)
        fclose(file);
    if (is_known)
        bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_NOTE, "filenames_set",
                                              "OCL_ICD_FILENAMES=%.300s adds drivers that are not registered", value),
                            "unset OCL_ICD_FILENAMES, unless that is meant");
    else
        bench_doctor_advise(
            bench_doctor_find(d, BENCH_FINDING_PROBLEM, "filenames_unknown",
                              "OCL_ICD_FILENAMES=%.300s is set, but this loader (%s) does not know it", value,
                              own_loader()),
            "name the driver in a file of /etc/OpenCL/vendors or by OCL_ICD_VENDORS, or take Khronos' loader");
}

// As the loader is told: a folder, one .icd file, or a library. Kept, as the variable is changed to leave drivers out.
static void take_vendors(bench_doctor *d)
{
    const char *value = getenv("OCL_ICD_VENDORS");
    if (value && *value)
        snprintf(d->vendors, sizeof d->vendors, "%.1000s", value);
    else
        bench_doctor_path(d, d->vendors, "/etc/OpenCL/vendors");
}

void bench_doctor_loader(bench_doctor *d)
{
    take_vendors(d);
    find_loaders(d);
    examine_vendors_variable(d);
    examine_filenames_variable(d);
}
