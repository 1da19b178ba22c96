// SPDX-License-Identifier: MIT
// Whether the device has a feature: a kernel that needs it builds and computes the numbers it should.
#include "runtime/probe.h"

#include <stdio.h>

#include "base/tensor.h"
#include "runtime/fork.h"
#include "runtime/launch.h"
#include "runtime/opencl_error.h"
#include "runtime/pocl.h"
#include "runtime/queue_struct.h"

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
        return traits->device_class == HUSK_DEVICE_CPU && traits->vector_width == 16 && // nobody advertises it
               !husk__breaks_on_assembly(traits);
    }
    return false;
}

// What item i of every probe writes when all is well.
static float expected(int i)
{
    return (float)(i + 1);
}

// In one group, as compilers vectorise over it, where the device has groups of that size.
static husk_status launch(husk_queue *queue, const husk__kernel *kernel, const husk_buffer *buffer,
                          const husk__scope *scope)
{
    const husk_device_traits *traits = &queue->context->device->traits;
    size_t items = PROBE_ITEMS;
    while (items > 1 && (items > kernel->max_work_items || items > traits->work_item_sizes[0]))
        items /= 2;
    const husk__range range = {{PROBE_ITEMS / items, 1, 1}, {items, 1, 1}};
    return HUSK__LAUNCH(queue, kernel, &range, scope, HUSK__ARG_BUFFER(buffer, 0, sizeof(float)));
}

static husk_status run_probe(husk_context *context, husk_feature feature, float *values, husk_error *error)
{
    husk__scope scope = {"husk_context_has", error};
    const husk__kernel *kernel;
    husk_queue *queue = NULL;
    husk_buffer *buffer = NULL;
    husk_status status =
        husk__kernel_get(context, "runtime/probe.cl", probe_options[feature], "husk_runtime_probe", &kernel, &scope);
    if (status == HUSK_OK)
        status = husk_queue_create(context, NULL, &queue, error);
    if (status == HUSK_OK)
        status = husk_buffer_create(context, PROBE_ITEMS * sizeof *values, &buffer, error);
    if (status == HUSK_OK)
        status = launch(queue, kernel, buffer, &scope);
    if (status == HUSK_OK)
        status = husk_buffer_read(queue, buffer, 0, PROBE_ITEMS * sizeof *values, values);
    if (status != HUSK_OK && error->status == HUSK_OK) // transfers leave theirs on the queue
        *error = *husk_queue_error(queue);
    husk_buffer_release(buffer);
    husk_queue_release(queue);
    return status;
}

static bool is_right(const husk_context *context, husk_feature feature, const float *values)
{
    for (int i = 0; i < PROBE_ITEMS; ++i) {
        if (values[i] == expected(i))
            continue;
        if (feature != HUSK_FEATURE_DOT_I8) // a CPU without it answers so
            husk__log_write(&context->log, HUSK_LOG_WARNING, "%s is advertised, but computes %g where %g is right",
                            husk_feature_name(feature), (double)values[i], (double)expected(i));
        return false;
    }
    return true;
}

husk_status husk__context_probe(husk_context *context, husk_feature feature, bool *has, const husk__scope *scope)
{
    float values[PROBE_ITEMS];
    husk_error error = {0};
    const int known = atomic_load(&context->features[feature]);
    *has = known > 0;
    if (known != 0)
        return HUSK_OK;
    const bool is_asked = is_advertised(&context->device->traits, feature);
    const husk_status status = is_asked ? run_probe(context, feature, values, &error) : HUSK_OK;
    if (status != HUSK_OK)
        husk__log_write(&context->log, HUSK_LOG_INFORMATION, "%s is advertised, but its probe fails: %s",
                        husk_feature_name(feature), error.text);
    // Asked again the next time. What failed on the way to a probe that was made is no reason.
    if (status != HUSK_OK && husk__may_pass(&error))
        return husk__fail_opencl(scope, status, error.opencl_code, "the probe of %s: %s", husk_feature_name(feature),
                                 error.text);
    *has = is_asked && status == HUSK_OK && is_right(context, feature, values);
    atomic_store(&context->features[feature], *has ? 1 : -1);
    return HUSK_OK;
}

bool husk_context_has(husk_context *context, husk_feature feature)
{
    bool has;
    if (!context || (unsigned)feature >= HUSK__FEATURES || atomic_load(&context->is_lost) || husk__is_forked())
        return false;
    husk__context_probe(context, feature, &has, NULL);
    return has;
}

husk_status husk__dtype_check(husk_context *context, husk_dtype dtype, const char *argument, const husk__scope *scope)
{
    bool has = true;
    const husk_status status =
        dtype == HUSK_F64 ? husk__context_probe(context, HUSK_FEATURE_F64, &has, scope) : HUSK_OK;
    if (status != HUSK_OK)
        return status;
    if (!has)
        return husk__fail(scope, HUSK_UNSUPPORTED, "%s: is f64, which this device does not compute in", argument);
    return HUSK_OK;
}

husk_status husk__tensor_check_real(husk_queue *queue, const husk_tensor *tensor, const char *argument,
                                    const husk__scope *scope)
{
    const husk_status status = husk__tensor_check_number(tensor, argument, scope);
    return status == HUSK_OK ? husk__dtype_check(queue->context, tensor->dtype, argument, scope) : status;
}
