// SPDX-License-Identifier: MIT
#include "verify/kernel_devices.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/json.h"
#include "run/select.h"
#include "system/temporary.h"

static bool contains(const char *text, const char *part)
{
    for (; *text; text++) {
        size_t i = 0;
        while (part[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
            i++;
        if (!part[i])
            return true;
    }
    return false;
}

bool bench_device_is_called(const json_t *device, const char *name)
{
    static const char *const members[] = {"platform", "name", "vendor", "version"};
    // PoCL's platform has its long name, and what comes from it has the short one in few versions.
    const char *wanted = !strcmp(name, "pocl") ? "Portable Computing Language" : name;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const char *text = json_string_value(json_object_get(device, members[i]));
        if (text && contains(text, wanted))
            return true;
    }
    return false;
}

static bool is_available(const json_t *device)
{
    return json_is_true(json_object_get(json_object_get(device, "traits"), "is_available"));
}

static void take(bench_options *options, const json_t *device)
{
    const json_t *traits = json_object_get(device, "traits");
    char text[sizeof *options->device_texts];
    snprintf(text, sizeof text, "%lld:%lld", (long long)json_integer_value(json_object_get(traits, "platform_index")),
             (long long)json_integer_value(json_object_get(traits, "device_index")));
    for (size_t i = 0; i < options->device_count; i++) {
        if (!strcmp(options->devices[i], text))
            return;
    }
    if (options->device_count == BENCH_MAX_DEVICES) {
        fprintf(stderr, "clbench: only the first %d devices are taken; name others with -d\n", BENCH_MAX_DEVICES);
        return;
    }
    snprintf(options->device_texts[options->device_count], sizeof text, "%s", text);
    options->devices[options->device_count] = options->device_texts[options->device_count];
    options->device_count++;
}

// ---- Oclgrind ----

static const char simulator_name[] = "oclgrind";

// Where its packages put it: Debian's has a folder of its own, and a build is installed beside other libraries.
static void find_library(char path[300])
{
    static const char *const folders[] = {
        "/usr/lib/oclgrind",         "/usr/local/lib", "/usr/lib64", "/usr/lib", "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, 300, "%s/liboclgrind-rt-icd.so", folders[i]);
        FILE *file = fopen(path, "r");
        if (file) {
            fclose(file);
            return;
        }
    }
    path[0] = '\0';
}

void bench_simulator_begin(bench_simulator *simulator)
{
    memset(simulator, 0, sizeof *simulator);
    find_library(simulator->library);
    char reason[BENCH_REASON_TEXT];
    if (bench_temporary_folder(simulator->folder, sizeof simulator->folder, reason))
        snprintf(simulator->log, sizeof simulator->log, "%s/log", simulator->folder);
    else
        simulator->folder[0] = '\0';
    // OCL_ICD_VENDORS names a library to ocl-icd, and OCL_ICD_FILENAMES to Khronos' loader.
    // Oclgrind 21.10 has no shadow for what LLVM's optimiser makes of vectors and divisions, and calls it
    // uninitialised. Copies of structs, as inlining makes them, crash it.
    const char *const variables[] = {
        "OCL_ICD_VENDORS",        simulator->library,
        "OCL_ICD_FILENAMES",      simulator->library,
        "OCLGRIND_DATA_RACES",    "1",
        "OCLGRIND_LOG",           simulator->log,
        "OCLGRIND_UNINITIALIZED", "1",
        "OCLGRIND_CHECK_API",     "1",
        "OCLGRIND_BUILD_OPTIONS", "-cl-opt-disable -Dalways_inline=",
    };
    const size_t count = sizeof variables / sizeof *variables;
    memcpy(simulator->environment, variables, count * sizeof *variables);
}

void bench_simulator_end(bench_simulator *simulator)
{
    bench_temporary_remove(simulator->folder);
}

bool bench_simulator_is_meant(const bench_simulator *simulator, const char *preference)
{
    return simulator->library[0] && preference && !strcasecmp(preference, simulator_name);
}

// ---- the devices of the command line ----

// The next of a comma-separated list, into name; false past the last.
static bool next_name(const char **list, char *name, size_t size)
{
    while (**list == ',' || **list == ' ')
        (*list)++;
    const size_t length = strcspn(*list, ", ");
    snprintf(name, size, "%.*s", (int)length, *list);
    *list += length;
    return length > 0;
}

static void take_simulator(bench_options *options, const bench_simulator *simulator)
{
    if (simulator->library[0] && options->device_count < BENCH_MAX_DEVICES)
        options->devices[options->device_count++] = simulator_name;
}

// The device of a list that a name means, or the simulator that no list has.
static void take_named(bench_options *options, const json_t *devices, const char *name,
                       const bench_simulator *simulator)
{
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *device = json_array_get(devices, i);
        if (is_available(device) && bench_device_is_called(device, name)) {
            take(options, device);
            return;
        }
    }
    if (bench_simulator_is_meant(simulator, name))
        take_simulator(options, simulator);
}

void bench_kernel_devices(bench_options *options, const bench_simulator *simulator)
{
    const bool wants_all = options->device_count == 1 && !strcmp(options->devices[0], "all");
    const bool takes_required = options->required && !options->device_count && !options->platform;
    char name[100], reason[BENCH_REASON_TEXT];
    json_t *reply = NULL;
    if (!wants_all && !takes_required)
        return;
    bench_list_devices(NULL, options->max_time, &reply, reason);
    const json_t *devices = json_object_get(reply, "devices");
    options->device_count = 0;
    bool has_simulator = false;
    for (size_t i = 0; i < json_array_size(devices) && wants_all; i++) {
        const json_t *device = json_array_get(devices, i);
        has_simulator = has_simulator || bench_device_is_called(device, simulator_name);
        if (is_available(device))
            take(options, device);
    }
    if (wants_all && !has_simulator)
        take_simulator(options, simulator);
    for (const char *list = options->required ? options->required : "";
         takes_required && next_name(&list, name, sizeof name);)
        take_named(options, devices, name, simulator);
    json_decref(reply);
}
