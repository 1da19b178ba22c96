// SPDX-License-Identifier: MIT
// Contexts: one device, its memory and programs.
#include "runtime/context.h"

#include <stdlib.h>
#include <string.h>

#include <husk/opencl.h>

#include "base/params.h"
#include "base/text.h"
#include "os/environment.h"
#include "runtime/context_struct.h"
#include "runtime/device_list.h"
#include "runtime/device_traits.h"
#include "runtime/fork.h"
#include "runtime/opencl_error.h"
#include "runtime/pocl.h"

enum { DEFAULT_PLAN_CACHE_CAPACITY = 512 };

static husk_status read_params(const husk_context_params *given, husk_context_params *params, const husk__scope *scope)
{
    husk_status status = husk__params_read(params, sizeof *params, "HUSK_CONTEXT_PARAMS", given, scope);
    if (status == HUSK_OK && (unsigned)params->cache > HUSK_CACHE_OFF)
        return husk__reject(scope, "params", "cache is %d, which is no husk_cache_mode", (int)params->cache);
    if (status == HUSK_OK && (unsigned)params->precision > HUSK_PRECISION_MEDIUM)
        return husk__reject(scope, "params", "precision %d is none of husk_precision", (int)params->precision);
    return status;
}

static int read_verbosity(const husk__log *log)
{
    const char *text = husk__environment("HUSK_VERBOSE");
    if (text && text[0] >= '0' && text[0] <= '2' && !text[1])
        return text[0] - '0';
    if (text)
        husk__log_write(log, HUSK_LOG_WARNING, "HUSK_VERBOSE is \"%s\", must be 0, 1 or 2; it is as if it were not set",
                        text);
    return 0;
}

static husk_context *allocate_context(const husk_device *device, const husk_context_params *params)
{
    husk_context *context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    atomic_init(&context->references, 1);
    pthread_mutex_init(&context->lock, NULL);
    husk__programs_init(&context->programs);
    husk__released_init(&context->released);
    pthread_mutex_init(&context->quirk_lock, NULL);
    pthread_mutex_init(&context->threads_lock, NULL);
    context->device = device;
    context->list = device->list;
    husk__device_list_retain(context->list);
    context->log = (husk__log){params->log, params->log_user, 0};
    context->log.verbosity = read_verbosity(&context->log);
    context->precision = params->precision ? params->precision : HUSK_PRECISION_HIGHEST;
    context->plan_cache_capacity =
        params->plan_cache_capacity ? params->plan_cache_capacity : DEFAULT_PLAN_CACHE_CAPACITY;
    husk__pool_init(&context->pool, params->memory_budget ? params->memory_budget : device->traits.global_memory,
                    device->pooled_memory);
    husk__guards_init(&context->guards);
    husk__cache_open(&context->cache, params, &device->traits, &context->log);
    return context;
}

// ---- a share of a device ----

static husk_status make_share(const husk_device *device, uint32_t units, cl_device_id *share, const husk__scope *scope)
{
    const cl_device_partition_property counts[] = {CL_DEVICE_PARTITION_BY_COUNTS, (cl_device_partition_property)units,
                                                   CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
    cl_uint all = 0;
    *share = NULL;
    cl_int code = clGetDeviceInfo(device->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof all, &all, NULL);
    if (code != CL_SUCCESS)
        return husk__opencl_error(scope, "clGetDeviceInfo", code);
    if (units > all)
        return husk__reject(scope, "params", "units is %u, and the device has %u", (unsigned)units, (unsigned)all);
    if (units == 0 || units == all)
        return HUSK_OK;
    code = clCreateSubDevices(device->id, counts, 1, share, NULL);
    if (code == CL_OUT_OF_HOST_MEMORY || code == CL_OUT_OF_RESOURCES)
        return husk__opencl_error(scope, "clCreateSubDevices", code);
    if (code != CL_SUCCESS) {
        *share = NULL;
        return husk__fail_opencl(scope, HUSK_UNSUPPORTED, code,
                                 "params: units is %u, and the device, of %u, cannot be divided by counts (%s)",
                                 (unsigned)units, (unsigned)all, husk__opencl_name(code));
    }
    return HUSK_OK;
}

// The share's own description, with the place in the list of what it is a part of.
static husk_status describe_share(cl_device_id share, const husk_device *whole, husk_device_list **list,
                                  const husk__scope *scope)
{
    const husk_status status = husk__device_list_wrap(share, list, scope);
    if (status != HUSK_OK)
        return status;
    (*list)->devices[0].traits.platform_index = whole->traits.platform_index;
    (*list)->devices[0].traits.device_index = whole->traits.device_index;
    return HUSK_OK;
}

static husk_status create_on(const husk_device *device, const husk_context_params *params, husk_context **context,
                             const husk__scope *scope)
{
    husk_device_list *own = NULL;
    cl_device_id share;
    cl_context cl = NULL;
    husk_status status = make_share(device, params->units, &share, scope);
    if (status == HUSK_OK && share)
        status = describe_share(share, device, &own, scope);
    const husk_device *used = own ? &own->devices[0] : device;
    if (status == HUSK_OK)
        status = husk__refuse_small_stacks(&used->traits, scope);
    if (status == HUSK_OK) {
        const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)device->platform, 0};
        cl_int code;
        cl = clCreateContext(properties, 1, &used->id, NULL, NULL, &code);
        if (!cl)
            status = husk__opencl_error(scope, "clCreateContext", code);
    }
    if (status == HUSK_OK && !(*context = allocate_context(used, params)))
        status = husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a context");
    husk_device_list_release(own); // a context keeps its own
    if (status == HUSK_OK) {
        (*context)->cl = cl;
        (*context)->share = share;
        return HUSK_OK;
    }
    if (cl)
        clReleaseContext(cl);
    if (share)
        clReleaseDevice(share);
    return status;
}

husk_status husk_context_create(const husk_device *device, const husk_context_params *given, husk_context **context,
                                husk_error *error)
{
    husk__scope scope = {"husk_context_create", error};
    if (!context)
        return husk__reject(&scope, "context", "is NULL");
    *context = NULL;
    husk_context_params params;
    husk_status status = read_params(given, &params, &scope);
    if (status == HUSK_OK)
        status = husk__open_process(&scope);
    if (status != HUSK_OK)
        return status;

    husk_device_list *list = NULL;
    if (!device) {
        status = husk_device_list_create(&list, error);
        if (status == HUSK_OK)
            status = husk_device_list_select(list, NULL, &device, error);
        if (status != HUSK_OK) {
            husk__name_outer(&scope);
            goto cleanup;
        }
    }
    status = create_on(device, &params, context, &scope);
cleanup:
    husk_device_list_release(list);
    return status;
}

// PoCL answers with the whole device where the context is one of a part of it. (A number that is no device at all no
// driver can be asked about.)
static bool is_part_of(cl_device_id device, cl_device_id whole)
{
    cl_device_id parent = NULL;
    husk__unanswered failed = {0};
    cl_platform_id platform = NULL;
    if (clGetDeviceInfo(whole, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) != CL_SUCCESS)
        return false;
    char *name = husk__platform_name(platform, &failed);
    const bool may_hide_parts = name && husk__contains_ignoring_case(name, "Portable Computing Language");
    free(name);
    for (parent = device; may_hide_parts && parent && parent != whole;) {
        cl_device_id above = NULL;
        if (clGetDeviceInfo(parent, CL_DEVICE_PARENT_DEVICE, sizeof above, &above, NULL) != CL_SUCCESS)
            return false;
        parent = above;
    }
    return may_hide_parts && parent;
}

static husk_status check_device(cl_context cl, cl_device_id device, const husk__scope *scope)
{
    size_t bytes = 0;
    cl_int code = clGetContextInfo(cl, CL_CONTEXT_DEVICES, 0, NULL, &bytes);
    if (code != CL_SUCCESS)
        return husk__opencl_error(scope, "clGetContextInfo", code);
    cl_device_id *devices = malloc(bytes ? bytes : 1);
    if (!devices)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the devices of the cl_context");
    bool found = false;
    code = clGetContextInfo(cl, CL_CONTEXT_DEVICES, bytes, devices, NULL);
    for (size_t i = 0; code == CL_SUCCESS && i < bytes / sizeof *devices; ++i)
        found = found || devices[i] == device;
    for (size_t i = 0; code == CL_SUCCESS && !found && i < bytes / sizeof *devices; ++i)
        found = is_part_of(device, devices[i]);
    free(devices);
    if (code != CL_SUCCESS)
        return husk__opencl_error(scope, "clGetContextInfo", code);
    return found ? HUSK_OK : husk__reject(scope, "device", "is not a device of the cl_context");
}

husk_status husk_context_from_opencl(cl_context cl, cl_device_id device, const husk_context_params *given,
                                     husk_context **context, husk_error *error)
{
    husk__scope scope = {"husk_context_from_opencl", error};
    if (!context)
        return husk__reject(&scope, "context", "is NULL");
    *context = NULL;
    husk_context_params params;
    husk_status status = read_params(given, &params, &scope);
    if (status != HUSK_OK)
        return status;
    if (!cl)
        return husk__reject(&scope, "cl_context_", "is NULL");
    if (!device)
        return husk__reject(&scope, "device", "is not a device of the cl_context");
    if (params.units)
        return husk__reject(&scope, "params", "units is %u: the cl_context has its device already",
                            (unsigned)params.units);
    status = husk__open_process(&scope);
    if (status == HUSK_OK)
        status = check_device(cl, device, &scope);
    if (status != HUSK_OK)
        return status;
    husk_device_list *list = NULL;
    status = husk__device_list_wrap(device, &list, &scope);
    if (status != HUSK_OK)
        return status;
    status = husk__refuse_small_stacks(&list->devices[0].traits, &scope);
    if (status == HUSK_OK && !(*context = allocate_context(&list->devices[0], &params)))
        status = husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a context");
    husk_device_list_release(list);
    if (status != HUSK_OK)
        return status;
    clRetainContext(cl);
    (*context)->cl = cl;
    return HUSK_OK;
}

void husk_context_retain(husk_context *context)
{
    if (context)
        atomic_fetch_add(&context->references, 1);
}

void husk_context_release(husk_context *context)
{
    if (!context || atomic_fetch_sub(&context->references, 1) != 1 || husk__is_forked())
        return;
    for (int i = HUSK__EXTENSIONS - 1; i >= 0; --i) {
        void *extension = atomic_load(&context->extensions[i]);
        if (extension)
            context->destroy_extension[i](extension);
    }
    for (int i = context->action_count - 1; i >= 0; --i)
        context->actions[i](context);
    husk__guards_destroy(&context->guards, &context->log); // names kernels
    husk__programs_destroy(&context->programs);
    husk__pool_destroy(&context->pool);
    husk__cache_close(&context->cache);
    clReleaseContext(context->cl);
    if (context->share)
        clReleaseDevice(context->share);
    husk_device_list_release(context->list);
    pthread_mutex_destroy(&context->threads_lock);
    pthread_mutex_destroy(&context->quirk_lock);
    pthread_mutex_destroy(&context->lock);
    husk__released_destroy(&context->released);
    free(context);
}

const husk_device_traits *husk_context_traits(const husk_context *context)
{
    return context ? &context->device->traits : NULL;
}

void husk_context_memory_stats(const husk_context *context, husk_memory_stats *stats)
{
    if (!stats)
        return;
    *stats = (husk_memory_stats){0};
    if (!context || husk__is_forked())
        return;
    husk__pool *pool = (husk__pool *)&context->pool;
    pthread_mutex_lock(&pool->lock);
    *stats = pool->stats;
    pthread_mutex_unlock(&pool->lock);
}

void husk_context_trim(husk_context *context, uint64_t keep_bytes)
{
    if (!context || husk__is_forked())
        return;
    husk__pool_trim(&context->pool, keep_bytes);
    husk__released_trim(&context->released);
}

void husk_context_program_stats(const husk_context *context, husk_program_stats *stats)
{
    if (!stats)
        return;
    *stats = (husk_program_stats){0};
    if (!context)
        return;
    stats->builds = atomic_load(&context->builds);
    stats->cache_loads = atomic_load(&context->cache_loads);
    stats->build_ns = atomic_load(&context->build_ns);
    stats->plans = atomic_load(&context->plans);
    stats->plan_hits = atomic_load(&context->plan_hits);
}

husk_status husk_context_status(const husk_context *context)
{
    if (!context)
        return HUSK_INVALID_ARGUMENT;
    if (husk__is_forked())
        return HUSK_UNSUPPORTED;
    return atomic_load(&context->is_lost) ? HUSK_DEVICE_LOST : HUSK_OK;
}

cl_context husk_context_opencl(const husk_context *context)
{
    return context ? context->cl : NULL;
}

cl_device_id husk_context_opencl_device(const husk_context *context)
{
    return context ? context->device->id : NULL;
}

void husk_context_log(husk_context *context, husk_log_level level, const char *text)
{
    if (context && text)
        husk__log_write(&context->log, level, "%s", text);
}

// ---- for the floors above ----

const husk__log *husk__context_log(const husk_context *context)
{
    return &context->log;
}

husk_precision husk__context_precision(const husk_context *context, husk_precision asked)
{
    return asked == HUSK_PRECISION_DEFAULT ? context->precision : asked;
}

size_t husk__context_plan_cache_capacity(const husk_context *context)
{
    return context->plan_cache_capacity;
}

const husk_device *husk__context_device(const husk_context *context)
{
    return context->device;
}

_Static_assert(HUSK__EXTENSION_SELECT + 1 == HUSK__EXTENSIONS, "a place for each");

void *husk__context_extension(husk_context *context, int which, void *(*create)(husk_context *context),
                              void (*destroy)(void *extension))
{
    void *extension = atomic_load(&context->extensions[which]);
    if (extension)
        return extension;
    pthread_mutex_lock(&context->lock);
    extension = atomic_load(&context->extensions[which]);
    if (!extension) {
        extension = create(context);
        context->destroy_extension[which] = destroy;
        atomic_store(&context->extensions[which], extension);
    }
    pthread_mutex_unlock(&context->lock);
    return extension;
}

husk_status husk__context_on_release(husk_context *context, void (*action)(husk_context *context),
                                     const husk__scope *scope)
{
    husk_status status = HUSK_OK;
    pthread_mutex_lock(&context->lock);
    bool known = false;
    for (int i = 0; i < context->action_count; ++i)
        known = known || context->actions[i] == action;
    if (!known && context->action_count < HUSK__RELEASE_ACTIONS)
        context->actions[context->action_count++] = action;
    else if (!known)
        status = husk__fail(scope, HUSK_INTERNAL, "too many release actions");
    pthread_mutex_unlock(&context->lock);
    return status;
}

void husk__context_count_plan(husk_context *context, bool hit)
{
    atomic_fetch_add_explicit(hit ? &context->plan_hits : &context->plans, 1, memory_order_relaxed);
}
