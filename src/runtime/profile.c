// SPDX-License-Identifier: MIT
// Per-command times from events, for queues that were created to keep them, and wrapped ones that are asked for them.
#include "runtime/profile.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "os/write_file.h"
#include "runtime/begin.h"
#include "runtime/fork.h"
#include "runtime/lost.h"
#include "runtime/queue_struct.h"
#include "runtime/watch.h"

cl_event *husk__profile_event(husk_queue *queue, cl_event *event)
{
    *event = NULL;
    return queue->profiling ? event : NULL;
}

// Losing a record for want of memory is not worth failing the command that has been enqueued.
void husk__profile_keep(husk_queue *queue, const char *name, cl_event event)
{
    if (!event)
        return;
    if (queue->profile_count == queue->profile_capacity) {
        size_t capacity = queue->profile_capacity ? 2 * queue->profile_capacity : 256;
        husk__profile_entry *grown = realloc(queue->profile, capacity * sizeof *grown);
        if (!grown) {
            clReleaseEvent(event);
            return;
        }
        queue->profile = grown;
        queue->profile_capacity = capacity;
    }
    queue->profile[queue->profile_count++] = (husk__profile_entry){name, event};
}

void husk_queue_profile_clear(husk_queue *queue)
{
    if (!queue || husk__is_forked())
        return;
    for (size_t i = 0; i < queue->profile_count; ++i)
        clReleaseEvent(queue->profile[i].event);
    queue->profile_count = 0;
    queue->profiling = queue->can_profile;
}

static cl_int read_times(cl_event event, husk_profile_record *record)
{
    uint64_t *const times[] = {&record->queued_ns, &record->submitted_ns, &record->started_ns, &record->ended_ns};
    static const cl_profiling_info infos[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                              CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    for (int i = 0; i < 4; ++i) {
        cl_ulong time = 0;
        const cl_int code = clGetEventProfilingInfo(event, infos[i], sizeof time, &time, NULL);
        if (code != CL_SUCCESS && code != CL_PROFILING_INFO_NOT_AVAILABLE)
            return code;
        *times[i] = time;
    }
    return CL_SUCCESS;
}

static husk_status collect(husk_queue *queue, const husk_profile_record **records, size_t *count,
                           const husk__scope *scope)
{
    if (!queue->can_profile)
        return husk__fail(scope, HUSK_UNSUPPORTED, "the queue was created without profiling");
    queue->profiling = true;
    const husk_status status = husk__queue_finish(queue, scope);
    if (status != HUSK_OK)
        return status;
    husk_profile_record *made = realloc(queue->records, (queue->profile_count + 1) * sizeof *made);
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for %zu records", queue->profile_count);
    queue->records = made;
    for (size_t i = 0; i < queue->profile_count; ++i) {
        made[i] = (husk_profile_record){.name = queue->profile[i].name};
        const cl_int code = read_times(queue->profile[i].event, &made[i]);
        if (code != CL_SUCCESS)
            return husk__opencl_failed(queue->context, scope, "clGetEventProfilingInfo", code);
    }
    *records = made;
    *count = queue->profile_count;
    return HUSK_OK;
}

husk_status husk_queue_profile(husk_queue *queue, const husk_profile_record **records, size_t *count)
{
    husk__scope scope;
    husk_status status = husk__call_begin(queue, "husk_queue_profile", &scope);
    if (status != HUSK_OK)
        return status;
    if (!records)
        return husk__reject(&scope, "records", "is NULL");
    if (!count)
        return husk__reject(&scope, "count", "is NULL");
    return collect(queue, records, count, &scope);
}

// Not by %f, whose decimal point depends on the application's locale.
static void append_microseconds(husk__text *text, const char *key, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t ns = to_ns > from_ns ? to_ns - from_ns : 0;
    husk__text_format(text, "\"%s\": %llu.%03u", key, (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
}

static void append_event(husk__text *text, const char *separator, const husk_profile_record *record, uint64_t origin)
{
    husk__text_format(text, "%s\n{\"name\": \"%s\", \"ph\": \"X\", \"pid\": 1, \"tid\": 1, ", separator, record->name);
    append_microseconds(text, "ts", origin, record->started_ns);
    husk__text_format(text, ", ");
    append_microseconds(text, "dur", record->started_ns, record->ended_ns);
    husk__text_format(text, ", \"args\": {");
    append_microseconds(text, "queued_to_start_us", record->queued_ns, record->started_ns);
    husk__text_format(text, "}}");
}

husk_status husk_queue_profile_export(husk_queue *queue, const char *path)
{
    husk__scope scope;
    husk_status status = husk__call_begin(queue, "husk_queue_profile_export", &scope);
    if (status != HUSK_OK)
        return status;
    if (!path)
        return husk__reject(&scope, "path", "is NULL");
    const husk_profile_record *records;
    size_t count;
    status = collect(queue, &records, &count, &scope);
    if (status != HUSK_OK)
        return status;

    // The trace event format of Chrome's about:tracing and Perfetto: complete events, microseconds.
    husk__text text = {0};
    uint64_t origin = count ? records[0].queued_ns : 0;
    husk__text_format(&text, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [");
    for (size_t i = 0; i < count; ++i)
        append_event(&text, i ? "," : "", &records[i], origin);
    husk__text_format(&text, "\n]}\n");
    if (text.failed)
        status = husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the trace");
    else if (!husk__write_named_file(path, text.bytes, text.size))
        status = husk__fail(&scope, HUSK_IO, "path: %s cannot be written", path);
    husk__text_free(&text);
    return status;
}
