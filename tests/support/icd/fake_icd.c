// SPDX-License-Identifier: MIT
// An OpenCL driver of which only the list works, or not even that: what HUSK_TEST_ICD says.
//
//     crash       SIGSEGV while its platforms are listed       none    it has no platform
//     hang        it does not come back from that              empty   a platform without a device
//     device      a platform with a GPU at PCI address HUSK_TEST_ICD_PCI (bus, hexadecimal), of HUSK_TEST_ICD_VENDOR
//     twice       two platforms with that same card            away    as device, which is not available
//     behind      a platform with a CPU before that card
//
// HUSK_TEST_ICD_NAME is its GPU's name.
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <husk/opencl.h>

// The table's first calls, in the order of cl_khr_icd; nobody may get further than that.
typedef struct table {
    void *get_platform_ids;
    cl_int(CL_API_CALL *get_platform_info)(cl_platform_id, cl_platform_info, size_t, void *, size_t *);
    cl_int(CL_API_CALL *get_device_ids)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *);
    cl_int(CL_API_CALL *get_device_info)(cl_device_id, cl_device_info, size_t, void *, size_t *);
    void *others[200];
} table;

typedef struct object {
    const table *calls;
} object;

static bool wants(const char *word)
{
    const char *mode = getenv("HUSK_TEST_ICD");
    return mode && strcmp(mode, word) == 0;
}

static cl_int answer(const void *bytes, size_t have, size_t size, void *value, size_t *needed)
{
    if (value && size < have)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, bytes, have);
    if (needed)
        *needed = have;
    return CL_SUCCESS;
}

static cl_int answer_text(const char *text, size_t size, void *value, size_t *needed)
{
    return answer(text, strlen(text) + 1, size, value, needed);
}

static cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info what, size_t size, void *value,
                                            size_t *needed)
{
    (void)platform;
    enum { ICD_SUFFIX = 0x0920 };
    const char *text = what == CL_PLATFORM_NAME      ? "Fake platform"
                       : what == CL_PLATFORM_VERSION ? "OpenCL 1.2 fake"
                       : what == CL_PLATFORM_PROFILE ? "FULL_PROFILE"
                       : what == ICD_SUFFIX          ? "FAKE"
                                                     : "cl_khr_icd";
    return answer_text(text, size, value, needed);
}

static cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint count, cl_device_id *ids,
                                         cl_uint *found);
static cl_int CL_API_CALL get_device_info(cl_device_id id, cl_device_info what, size_t size, void *value,
                                          size_t *needed);

static const table calls = {
    .get_platform_info = get_platform_info, .get_device_ids = get_device_ids, .get_device_info = get_device_info};
static object platforms[2] = {{&calls}, {&calls}}, devices[2] = {{&calls}, {&calls}}, cpu = {&calls};

static cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint count, cl_device_id *ids,
                                         cl_uint *found)
{
    const size_t which = (const object *)(const void *)platform == &platforms[1];
    cl_device_id have[2];
    cl_uint own = 0;
    if (wants("behind") && (type & CL_DEVICE_TYPE_CPU))
        have[own++] = (cl_device_id)(void *)&cpu;
    if (!wants("empty") && (type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)))
        have[own++] = (cl_device_id)(void *)&devices[which];
    if (own == 0)
        return CL_DEVICE_NOT_FOUND;
    for (cl_uint i = 0; ids && i < own && i < count; i++)
        ids[i] = have[i];
    if (found)
        *found = own;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_device_info(cl_device_id id, cl_device_info what, size_t size, void *value,
                                          size_t *needed)
{
    const bool is_cpu = id == (cl_device_id)(void *)&cpu;
    enum { PCI_BUS_INFO = 0x410F };
    const char *vendor = getenv("HUSK_TEST_ICD_VENDOR"), *bus = getenv("HUSK_TEST_ICD_PCI"),
               *name = getenv("HUSK_TEST_ICD_NAME");
    const cl_device_type type = is_cpu ? CL_DEVICE_TYPE_CPU : CL_DEVICE_TYPE_GPU;
    const cl_bool yes = CL_TRUE, available = !wants("away");
    const cl_uint pci[4] = {0, bus ? (cl_uint)strtoul(bus, NULL, 16) : 0, 0, 0}, few = 4;
    const cl_ulong bytes = (cl_ulong)1 << 30;
    switch (what) {
    case CL_DEVICE_TYPE:
        return answer(&type, sizeof type, size, value, needed);
    case CL_DEVICE_AVAILABLE:
        return answer(&available, sizeof available, size, value, needed);
    case CL_DEVICE_COMPILER_AVAILABLE:
        return answer(&yes, sizeof yes, size, value, needed);
    case PCI_BUS_INFO:
        return answer(pci, sizeof pci, size, value, needed);
    case CL_DEVICE_NAME:
        return answer_text(is_cpu ? "Fake CPU" : name ? name : "Fake GPU", size, value, needed);
    case CL_DEVICE_VENDOR:
        return answer_text(vendor ? vendor : "Nobody", size, value, needed);
    case CL_DEVICE_EXTENSIONS:
        return answer_text(bus ? "cl_khr_pci_bus_info" : "", size, value, needed);
    case CL_DRIVER_VERSION:
    case CL_DEVICE_VERSION:
    case CL_DEVICE_OPENCL_C_VERSION:
        return answer_text("OpenCL 1.2 fake", size, value, needed);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return answer(&bytes, sizeof bytes, size, value, needed);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
        return answer(&few, sizeof few, size, value, needed);
    default:
        return CL_INVALID_VALUE;
    }
}

static cl_int CL_API_CALL list_platforms(cl_uint count, cl_platform_id *ids, cl_uint *found)
{
    const cl_uint have = wants("twice") ? 2 : 1;
    if (wants("crash")) {
        signal(SIGSEGV, SIG_DFL); // sanitizers have a handler of their own
        raise(SIGSEGV);
    }
    while (wants("hang"))
        pause();
    if (wants("none"))
        return -1001; // CL_PLATFORM_NOT_FOUND_KHR
    for (cl_uint i = 0; ids && i < have && i < count; i++)
        ids[i] = (cl_platform_id)(void *)&platforms[i];
    if (found)
        *found = have;
    return CL_SUCCESS;
}

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    void *address = NULL;
    cl_int(CL_API_CALL * list)(cl_uint, cl_platform_id *, cl_uint *) = list_platforms;
    cl_int(CL_API_CALL * info)(cl_platform_id, cl_platform_info, size_t, void *, size_t *) = get_platform_info;
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
        memcpy(&address, &list, sizeof address); // ISO C has no cast from functions to data
    else if (strcmp(name, "clGetPlatformInfo") == 0)
        memcpy(&address, &info, sizeof address);
    return address;
}
