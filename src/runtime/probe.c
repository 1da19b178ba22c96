// SPDX-License-Identifier: MIT
// Whether the device has a feature: a kernel that needs it builds and computes the numbers it should.
#include <stdio.h>

#include "runtime/call.h"
#include "runtime/internal.h"

enum { PROBE_ITEMS = 32 };

static const char *const probe_options[HUSK__FEATURES] = {
    [HUSK_FEATURE_F64] = "-DPROBE_F64",
    [HUSK_FEATURE_F16] = "-DPROBE_F16",
    [HUSK_FEATURE_SUBGROUPS] = "-DPROBE_SUBGROUPS",
    [HUSK_FEATURE_FMA] = "-DPROBE_FMA",
    [HUSK_FEATURE_DOT_I8] = "-DPROBE_DOT_I8",
};

const char *husk_feature_name(husk_feature feature)
{
    switch (feature) {
    case HUSK_FEATURE_F64:
        return "f64";
    case HUSK_FEATURE_F16:
        return "f16";
    case HUSK_FEATURE_SUBGROUPS:
        return "subgroups";
    case HUSK_FEATURE_FMA:
        return "fma";
    case HUSK_FEATURE_DOT_I8:
        return "dot_i8";
    }
    return "unknown";
}

static bool is_advertised(const husk_device_traits *traits, husk_feature feature)
{
    switch (feature) {
    case HUSK_FEATURE_F64:
        return traits->has_f64;
    case HUSK_FEATURE_F16:
        return traits->has_f16;
    case HUSK_FEATURE_SUBGROUPS:
        return traits->has_subgroups;
    case HUSK_FEATURE_FMA:
        return true; // part of OpenCL C 1.2: the question is whether it is right
    case HUSK_FEATURE_DOT_I8:
        return traits->device_class == HUSK_DEVICE_CPU && traits->vector_width == 16; // nobody advertises it
    }
    return false;
}

// What item i of every probe writes when all is well.
static float expected(int i)
{
    return (float)(i + 1);
}

static husk_status run_probe(husk_context *context, husk_feature feature, float *values, husk_error *error)
{
    husk__scope scope = {"husk_context_has", error};
    const husk__kernel *kernel;
    husk_queue *queue = NULL;
    husk_buffer *buffer = NULL;
    husk__range range = {{1, 1, 1}, {PROBE_ITEMS, 1, 1}};
    husk_status status = husk__kernel_get(context, "runtime_probe.cl", probe_options[feature],
                                          "husk_runtime_probe", &kernel, &scope);
    if (status == HUSK_OK)
        status = husk_queue_create(context, NULL, &queue, error);
    if (status == HUSK_OK)
        status = husk_buffer_create(context, PROBE_ITEMS * sizeof *values, &buffer, error);
    if (status == HUSK_OK)
        status = HUSK__LAUNCH(queue, kernel, &range, &scope, HUSK__ARG_BUFFER(buffer, 0, sizeof *values));
    if (status == HUSK_OK)
        status = husk_buffer_read(queue, buffer, 0, PROBE_ITEMS * sizeof *values, values);
    husk_buffer_release(buffer);
    husk_queue_release(queue);
    return status;
}

static bool probe(husk_context *context, husk_feature feature)
{
    float values[PROBE_ITEMS];
    husk_error error = {0};
    const char *name = husk_feature_name(feature);
    if (!is_advertised(&context->device->traits, feature))
        return false;
    if (run_probe(context, feature, values, &error) != HUSK_OK) {
        husk__log_write(&context->log, HUSK_LOG_INFORMATION, "%s is advertised, but its probe fails: %s",
                        name, error.text);
        return false;
    }
    for (int i = 0; i < PROBE_ITEMS; ++i) {
        if (values[i] == expected(i))
            continue;
        if (feature == HUSK_FEATURE_DOT_I8) // a CPU without it answers so
            return false;
        husk__log_write(&context->log, HUSK_LOG_WARNING,
                        "%s is advertised, but computes %g where %g is right", name, (double)values[i],
                        (double)expected(i));
        return false;
    }
    return true;
}

bool husk_context_has(husk_context *context, husk_feature feature)
{
    if (!context || (unsigned)feature >= HUSK__FEATURES || atomic_load(&context->is_lost))
        return false;
    int known = atomic_load(&context->features[feature]);
    if (known == 0) {
        known = probe(context, feature) ? 1 : -1;
        atomic_store(&context->features[feature], known);
    }
    return known > 0;
}
