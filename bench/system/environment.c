// SPDX-License-Identifier: MIT
#include "system/environment.h"

#include <stdlib.h>
#include <string.h>

#include "common/text.h"

static const bench_variable variables[] = {
    {"HUSK_VARIANT", "chooses variants, whatever would be the fastest"},
    {"HUSK_ENGINES", "decides which matrix engines may be used"},
    {"HUSK_LIMITS", "makes devices smaller than they are"},
    {"HUSK_KERNEL_DIR", "takes the kernels from a folder, and not those that were tested with this version"},
    {"HUSK_PROGRAM_DIR", "writes every program to a folder, which takes time"},
    {"HUSK_VERBOSE", "waits for the device before and behind every call, and writes a line about it"},
    {"HUSK_TUNING", "takes another tuning database, or none"},
    {"HUSK_MACHINE", "chooses variants by typical rates instead of measured ones"},
    {"HUSK_CACHE", "turns the cache of programs on or off for every device"},
    {"HUSK_DEVICE", "decides which device is the default"},
    {"POCL_MAX_PTHREAD_COUNT", "limits the threads of PoCL's CPU device"},
    {"POCL_CPU_MAX_CU_COUNT", "limits the threads of PoCL's CPU device"},
    {"POCL_MAX_COMPUTE_UNITS", "limits the threads of PoCL's CPU device"},
    {"POCL_MAX_WORK_GROUP_SIZE", "makes PoCL's CPU device smaller than it is"},
    {"POCL_DEVICES", "decides which devices PoCL has"},
    {"OMP_NUM_THREADS", "limits the threads of CPU baselines"},
    {"OPENBLAS_NUM_THREADS", "limits the threads of CPU baselines"},
    {"OPENCL_LAYERS", "puts a layer between programs and drivers"},
};

const bench_variable *bench_variable_at(size_t index)
{
    return index < sizeof variables / sizeof *variables ? &variables[index] : NULL;
}

// "" is as good as not set.
static const char *value_of(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

// PoCL has given it another name twice, and goes by the first of these that is set.
const char *bench_environment_pocl_threads(size_t index)
{
    static const char *const names[] = {"POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT", "POCL_MAX_COMPUTE_UNITS"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

json_t *bench_environment_json(void)
{
    json_t *set = json_object();
    const bench_variable *v;
    for (size_t i = 0; (v = bench_variable_at(i)); i++) {
        char *text = bench_copy_text(value_of(v->name));
        if (text)
            bench_clean_line(text); // as it is read back
        if (text && *text)
            json_object_set_new(set, v->name, json_string(text));
        free(text);
    }
    return set;
}

bool bench_environment_is_same(const json_t *before, char reason[BENCH_REASON_TEXT])
{
    json_t *now = bench_environment_json();
    const bench_variable *v, *other = NULL;
    for (size_t i = 0; !other && (v = bench_variable_at(i)); i++) {
        const json_t *then = json_object_get(before, v->name), *here = json_object_get(now, v->name);
        if (then != here && !json_equal(then, here))
            other = v;
    }
    if (other) {
        const char *then = json_string_value(json_object_get(before, other->name));
        const char *here = json_string_value(json_object_get(now, other->name));
        bench_explain(reason, BENCH_REASON_TEXT, "%s was %.200s, and is %.200s", other->name, then ? then : "not set",
                      here ? here : "not set");
    }
    json_decref(now);
    return !other;
}
