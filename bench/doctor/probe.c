// SPDX-License-Identifier: MIT
// What the doctor does in a process of its own, since drivers crash and hang: load one driver and list it, open a
// device file, list everything as a program would, or ask for a device's threads. It answers as a worker does
// (bench/system/process.h): one line, and before it lines that say where it is.
#include "doctor/probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <husk/opencl.h>

#include "doctor/access.h"
#include "system/process.h"
#include "worker/husk_extra.h"

// The first calls of every driver's table, in the order that cl_khr_icd lays down.
typedef struct icd_table {
    void *get_platform_ids;
    cl_int(CL_API_CALL *get_platform_info)(cl_platform_id, cl_platform_info, size_t, void *, size_t *);
    cl_int(CL_API_CALL *get_device_ids)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *);
} icd_table;

typedef cl_int(CL_API_CALL *list_function)(cl_uint, cl_platform_id *, cl_uint *);
typedef void *(CL_API_CALL *address_function)(const char *);

#define MOST_PLATFORMS 16

static void send_line(json_t *line)
{
    char *text = json_dumps(line, JSON_COMPACT);
    json_decref(line);
    if (!text)
        return;
    size_t size = strlen(text), done = 0;
    text[size++] = '\n';
    while (done < size) {
        const ssize_t wrote = write(BENCH_WORKER_REPLIES, text + done, size - done);
        if (wrote < 0 && errno != EINTR)
            break;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    free(text);
}

static void say(const char *at)
{
    send_line(json_pack("{s:s}", "at", at));
}

// A driver's words may be no UTF-8, which JSON must be, and have what a terminal obeys.
static json_t *text_json(const char *text)
{
    char *copy = bench_copy_text(text ? text : "");
    if (copy)
        bench_clean_text(copy); // the library's own words may be a list
    json_t *json = json_string(copy ? copy : "");
    free(copy);
    return json;
}

static json_t *failure(const char *stage, const char *reason)
{
    return json_pack("{s:s, s:s, s:o}", "answer", "error", "stage", stage, "reason", text_json(reason));
}

static json_t *platform_json(cl_platform_id platform)
{
    const icd_table *table = *(const icd_table *const *)(const void *)platform;
    char name[256] = "", version[256] = "";
    cl_uint devices = 0;
    table->get_platform_info(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    table->get_platform_info(platform, CL_PLATFORM_VERSION, sizeof version - 1, version, NULL);
    say("listing its devices");
    const cl_int code = table->get_device_ids(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &devices);
    return json_pack("{s:o, s:o, s:i, s:i}", "name", text_json(name), "version", text_json(version), "devices",
                     code == CL_SUCCESS ? (int)devices : 0, "code", (int)code);
}

static json_t *list_icd(list_function list)
{
    cl_platform_id platforms[MOST_PLATFORMS];
    cl_uint count = 0;
    const cl_int code = list(MOST_PLATFORMS, platforms, &count);
    json_t *found = json_array();
    for (cl_uint i = 0; code == CL_SUCCESS && i < count && i < MOST_PLATFORMS; i++)
        json_array_append_new(found, platform_json(platforms[i]));
    return json_pack("{s:s, s:i, s:o}", "answer", "ok", "code", (int)code, "platforms", found);
}

static json_t *examine_icd(const char *library)
{
    say("loading its library");
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return failure("load", dlerror());
    address_function address = NULL;
    list_function list = NULL;
    void *symbol = dlsym(handle, "clGetExtensionFunctionAddress");
    memcpy(&address, &symbol, sizeof address); // ISO C has no cast from data to functions
    say("listing its platforms");
    symbol = address ? address("clIcdGetPlatformIDsKHR") : NULL;
    if (!symbol)
        symbol = dlsym(handle, "clIcdGetPlatformIDsKHR");
    memcpy(&list, &symbol, sizeof list);
    if (!list)
        return failure("entry", "it has no clIcdGetPlatformIDsKHR");
    return list_icd(list);
}

// As every program that uses Husk lists them: through the loader, all at once. is_default is what a preference chooses.
static json_t *list_devices(const char *preference)
{
    husk_device_list *list = NULL;
    husk_error error = {0};
    say("listing all platforms and devices");
    const husk_status status = husk_device_list_create(&list, &error);
    if (status != HUSK_OK)
        return failure(husk_status_name(status), error.text);
    json_t *devices = json_array();
    const husk_device *chosen = NULL;
    husk_error unfit = {0};
    husk_device_list_select(list, preference[0] ? preference : NULL, &chosen, &unfit);
    for (size_t i = 0; i < husk_device_list_count(list); i++) {
        json_t *device = bench_device_json(husk_device_list_get(list, i));
        json_object_set_new(device, "is_default", json_boolean(husk_device_list_get(list, i) == chosen));
        json_array_append_new(devices, device);
    }
    json_t *notes = bench_notes_json(list);
    husk_device_list_release(list);
    return json_pack("{s:s, s:o, s:o, s:o}", "answer", "ok", "devices", devices, "notes", notes, "unfit",
                     text_json(unfit.text));
}

// Whether a program's threads would share processors; no also where that cannot be asked.
static json_t *ask_threads(const char *preference)
{
    husk_device_list *list = NULL;
    const husk_device *device = NULL;
    husk_context *context = NULL;
    bool bound = true;
    say("asking for its threads");
    const bool is_known = husk_device_list_create(&list, NULL) == HUSK_OK &&
                          husk_device_list_select(list, preference, &device, NULL) == HUSK_OK &&
                          husk_context_create(device, NULL, &context, NULL) == HUSK_OK &&
                          husk_context_threads_bound(context, &bound, NULL) == HUSK_OK;
    const bool are_several = is_known && husk_context_traits(context)->compute_units > 1;
    husk_context_release(context);
    husk_device_list_release(list);
    return json_pack("{s:s, s:b}", "answer", "ok", "unbound", are_several && !bound);
}

// As a driver's library opens a device file.
static json_t *open_node(const char *path)
{
    if (!bench_doctor_become_user())
        return failure("user", "only root becomes another user");
    say("opening a device file");
    const int file = open(path, O_RDWR | O_CLOEXEC), error = file < 0 ? errno : 0;
    if (file >= 0)
        close(file);
    return json_pack("{s:s, s:i}", "answer", "ok", "error", error);
}

int bench_doctor_probe(const char *what, const char *argument)
{
    // What a driver starts must not hold the pipes open when this process has crashed.
    fcntl(BENCH_WORKER_REQUESTS, F_SETFD, FD_CLOEXEC);
    fcntl(BENCH_WORKER_REPLIES, F_SETFD, FD_CLOEXEC);
    send_line(!strcmp(what, "icd")       ? examine_icd(argument)
              : !strcmp(what, "open")    ? open_node(argument)
              : !strcmp(what, "threads") ? ask_threads(argument)
                                         : list_devices(argument));
    // A test's layer writes down at the end of a process what it has called.
    if (getenv("HUSK_TEST_REPORT"))
        exit(0);
    // The answer is there: what a driver does at the end of a process is not asked.
    _exit(0);
}
