// SPDX-License-Identifier: MIT
// What only husk's own worker can answer: devices, notes, peaks, the sentinel, prewarming, memory, overhead.
#include "worker/husk_extra.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/data.h"
#include "cases/parse.h"
#include "common/text.h"
#include "system/timer.h"
#include "worker/husk_runner.h"
#include "worker/kernel_requests.h"
#include "worker/machine.h"
#include "worker/measure_peaks.h"
#include "worker/meter.h"
#include "worker/overhead.h"
#include "worker/peaks.h"
#include "worker/tuning.h"

// Drivers may say what a terminal obeys, or what is no UTF-8.
static void put_cleaned(json_t *object, const char *key, const char *text, void (*clean)(char *))
{
    char *copy = text ? bench_copy_text(text) : NULL;
    if (copy)
        clean(copy);
    json_object_set_new(object, key, copy ? json_string(copy) : json_null());
    free(copy);
}

static void put_text(json_t *object, const char *key, const char *text)
{
    put_cleaned(object, key, text, bench_clean_text);
}

static void put_line(json_t *object, const char *key, const char *text)
{
    put_cleaned(object, key, text, bench_clean_line);
}

static void put_integer(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

json_t *bench_device_json(const husk_device *device)
{
    const husk_device_traits *t = husk_device_get_traits(device);
    json_t *object = json_object(), *traits = json_object();
    put_line(object, "platform", t->platform_name);
    put_line(object, "name", t->name);
    put_line(object, "vendor", t->vendor);
    put_line(object, "driver", t->driver_version);
    put_line(object, "version", t->device_version);
    put_line(traits, "class", husk_device_class_text(t->device_class));
    put_line(traits, "opencl_c_version", t->opencl_c_version);
    put_line(traits, "extensions", t->extensions);
    put_line(traits, "pci_address", t->pci_address);
    put_integer(traits, "platform_index", t->platform_index);
    put_integer(traits, "device_index", t->device_index);
    json_object_set_new(traits, "is_cpu", json_boolean(t->device_class == HUSK_DEVICE_CPU));
    json_object_set_new(traits, "is_available", json_boolean(t->is_available));
    json_object_set_new(traits, "shares_host_memory", json_boolean(t->shares_host_memory));
    json_object_set_new(traits, "has_f64", json_boolean(t->has_f64));
    json_object_set_new(traits, "has_f16", json_boolean(t->has_f16));
    json_object_set_new(traits, "has_subgroups", json_boolean(t->has_subgroups));
    put_integer(traits, "compute_units", t->compute_units);
    put_integer(traits, "clock_mhz", t->clock_mhz);
    put_integer(traits, "vector_width", t->vector_width);
    put_integer(traits, "global_memory", t->global_memory);
    put_integer(traits, "max_allocation", t->max_allocation);
    put_integer(traits, "local_memory", t->local_memory);
    put_integer(traits, "work_group", t->work_group);
    put_integer(traits, "global_cache", t->global_cache);
    put_integer(traits, "profiling_resolution_ns", t->profiling_resolution_ns);
    json_object_set_new(object, "traits", traits);
    return object;
}

json_t *bench_notes_json(const husk_device_list *list)
{
    json_t *notes = json_array();
    for (size_t i = 0; list && i < husk_device_list_note_count(list); i++) {
        husk_note_kind kind = HUSK_NOTE_INFORMATION;
        const char *text = husk_device_list_note(list, i, &kind);
        json_t *note = json_object();
        put_text(note, "kind",
                 kind == HUSK_NOTE_MISSING_GPU ? "missing_gpu"
                 : kind == HUSK_NOTE_WARNING   ? "warning"
                                               : "information");
        put_text(note, "text", text);
        json_array_append_new(notes, note);
    }
    return notes;
}

static json_t *failure(const char *reason)
{
    json_t *reply = json_object();
    put_text(reply, "answer", "error");
    put_text(reply, "reason", reason);
    return reply;
}

static json_t *list_devices(const bench_husk_session *s)
{
    json_t *devices = json_array();
    for (size_t i = 0; s->list && i < husk_device_list_count(s->list); i++) {
        const husk_device *device = husk_device_list_get(s->list, i);
        json_t *object = bench_device_json(device);
        json_object_set_new(object, "is_default", json_boolean(device == s->device));
        json_array_append_new(devices, object);
    }
    return devices;
}

// Also after a failed open: then it says which devices there would have been.
static json_t *hello(const bench_husk_session *s)
{
    json_t *reply = json_object();
    put_text(reply, "status", husk_status_name(s ? s->status : HUSK_OUT_OF_HOST_MEMORY));
    put_integer(reply, "open_ns", s ? s->open_ns : 0);
    if (s && s->list) {
        json_object_set_new(reply, "notes", bench_notes_json(s->list));
        json_object_set_new(reply, "devices", list_devices(s));
    }
    if (s && s->device && s->status == HUSK_OK)
        json_object_set_new(reply, "device", bench_device_json(s->device));
    return reply;
}

// What its compiler gets wrong, or does badly, as "quirks"; and of what nobody knows, as "quirks_not_tried".
static void put_quirks(json_t *object, husk_context *context)
{
    json_t *found = json_array(), *not_tried = json_array();
    for (int i = 0; husk_quirk_text((husk_quirk)i)[0]; i++) {
        const husk_quirk quirk = (husk_quirk)i;
        husk_error error = {0};
        bool has = false;
        json_t *one = json_object();
        put_text(one, "name", husk_quirk_name(quirk));
        if (husk_context_quirk(context, quirk, &has, &error) != HUSK_OK) {
            put_text(one, "reason", error.text);
            json_array_append(not_tried, one);
        } else if (has) {
            put_text(one, "text", husk_quirk_text(quirk));
            put_text(one, "advice", husk_quirk_advice(quirk));
            json_array_append(found, one);
        }
        json_decref(one);
    }
    json_object_set_new(object, "quirks", found);
    json_object_set_new(object, "quirks_not_tried", not_tried);
}

static json_t *quirks(const bench_husk_session *s)
{
    json_t *reply = json_pack("{s:s}", "answer", "ok");
    put_quirks(reply, s->context);
    return reply;
}

static void note_build(void *user, husk_log_level level, const char *text)
{
    (void)level;
    bench_builds_note(user, text);
}

// The matrix engines that a device may have, each probed, and its quirks.
static json_t *engines(bench_husk_session *s, const json_t *request)
{
    const json_int_t platform = json_integer_value(json_object_get(request, "platform")),
                     number = json_integer_value(json_object_get(request, "device"));
    const husk_device *device = NULL;
    husk_context *context = NULL;
    husk_error error = {0};
    for (size_t i = 0; s->list && i < husk_device_list_count(s->list); i++) {
        const husk_device_traits *t = husk_device_get_traits(husk_device_list_get(s->list, i));
        if ((json_int_t)t->platform_index == platform && (json_int_t)t->device_index == number)
            device = husk_device_list_get(s->list, i);
    }
    if (!device)
        return failure("there is no such device");
    const husk_context_params params = HUSK_CONTEXT_PARAMS(.log = note_build, .log_user = &s->builds);
    if (husk_context_create(device, &params, &context, &error) != HUSK_OK)
        return failure(error.text);
    json_t *found = json_array();
    for (size_t i = 0; husk_engine_name(i); i++) {
        char text[256];
        const husk_engine_state state = husk_context_engine(context, i, text, sizeof text);
        const bool is_for_tests = state == HUSK_ENGINE_OFF && strncmp(husk_engine_name(i), "soft", 4) == 0;
        if (state != HUSK_ENGINE_ABSENT && !is_for_tests)
            json_array_append_new(found, json_pack("{s:s, s:s, s:s}", "name", husk_engine_name(i), "state",
                                                   husk_engine_state_name(state), "text", text));
    }
    json_t *reply = json_pack("{s:s, s:o}", "answer", "ok", "engines", found);
    put_quirks(reply, context);
    json_object_set_new(reply, "machine", bench_machine_json(husk_context_machine(context)));
    husk_context_release(context);
    return reply;
}

static json_t *calibrate(const bench_husk_session *s)
{
    char reason[BENCH_REASON_TEXT] = "";
    json_t *machine = bench_machine_calibrate(s->context, reason);
    if (!machine)
        return failure(reason);
    json_t *reply = json_pack("{s:s, s:o}", "answer", "ok", "machine", machine);
    put_text(reply, "warning", reason);
    return reply;
}

static json_t *prewarm(bench_husk_session *s)
{
    husk_error error = {0};
    husk_program_stats stats;
    uint64_t start = bench_now_ns();
    husk_status status = husk_context_prewarm(s->context, NULL, 0, &error);
    uint64_t spent = bench_now_ns() - start;
    if (status != HUSK_OK)
        return failure(error.text);
    husk_context_program_stats(s->context, &stats);
    json_t *reply = json_object();
    put_text(reply, "answer", "ok");
    put_integer(reply, "prewarm_ns", spent);
    put_integer(reply, "open_ns", s->open_ns);
    put_integer(reply, "builds", stats.builds);
    put_integer(reply, "cache_loads", stats.cache_loads);
    return reply;
}

// The first call of a process, from listing the devices to the result on the host; making up numbers does not count.
static json_t *first_result(bench_husk_session *s, const json_t *request)
{
    bench_case c;
    bench_data data;
    bench_output output = {0};
    void *state = NULL;
    char reason[BENCH_REASON_TEXT] = "no case";
    const char *line = json_string_value(json_object_get(request, "case"));
    const bench_prepare_options options = {0};
    if (!line || !bench_case_parse(line, &c, reason) || !bench_data_make(&c, &data, reason))
        return failure(reason);
    bench_answer answer = bench_output_make(&c, &data, &output, reason) ? BENCH_OK : BENCH_ERROR;
    const uint64_t start = bench_now_ns();
    if (answer == BENCH_OK)
        answer = bench_runner_husk.prepare(s, &c, &data, &options, &state, reason);
    if (answer == BENCH_OK)
        answer = bench_runner_husk.run(state, reason);
    if (answer == BENCH_OK)
        answer = bench_runner_husk.read(state, &output, reason);
    const uint64_t spent = bench_now_ns() - start;
    if (state)
        bench_runner_husk.release(state);
    bench_output_free(&output);
    bench_data_free(&c, &data);
    if (answer != BENCH_OK)
        return failure(reason);
    json_t *reply = json_object();
    put_text(reply, "answer", "ok");
    put_integer(reply, "first_ns", s->open_ns + spent);
    return reply;
}

static json_t *memory(const bench_husk_session *s)
{
    husk_memory_stats stats;
    husk_context_memory_stats(s->context, &stats);
    json_t *reply = json_object();
    put_text(reply, "answer", "ok");
    put_integer(reply, "peak_bytes", stats.peak_bytes);
    return reply;
}

json_t *bench_husk_extra(void *session, const char *what, json_t *request)
{
    bench_husk_session *s = session;
    char reason[BENCH_REASON_TEXT] = "";
    double ns = 0, gflops = 0, gbytes = 0;
    bench_peaks peaks;
    const unsigned wanted = (unsigned)json_integer_value(json_object_get(request, "wanted"));
    if (!strcmp(what, "hello"))
        return hello(s);
    if (!strcmp(what, "prewarm"))
        return prewarm(s);
    if (!strcmp(what, "engines"))
        return engines(s, request);
    if (!strcmp(what, "quirks"))
        return quirks(s);
    if (!strcmp(what, "calibrate"))
        return calibrate(s);
    if (!strcmp(what, "first"))
        return first_result(s, request);
    if (!strcmp(what, "tuning")) {
        json_t *tuning = bench_tuning_json(s, reason);
        return tuning ? tuning : failure(reason);
    }
    if (!strcmp(what, "kernels")) {
        json_t *kernels = bench_kernels_json(s, reason);
        return kernels ? kernels : failure(reason);
    }
    if (!strcmp(what, "memory"))
        return memory(s);
    if (!strcmp(what, "overhead")) {
        json_t *overhead = bench_overhead_measure(s, json_string_value(json_object_get(request, "case")), reason);
        return overhead ? json_pack("{s:s, s:o}", "answer", "ok", "overhead", overhead) : failure(reason);
    }
    if (!s->meter && (!strcmp(what, "peaks") || !strcmp(what, "sentinel") || !strcmp(what, "trust")))
        s->meter = bench_meter_create(s->context, wanted, reason);
    if (!strcmp(what, "peaks")) {
        const json_t *part = json_object_get(request, "part");
        const bench_peaks_request preference = {
            .quick = json_is_true(json_object_get(request, "quick")),
            .arithmetic = wanted,
            .part = part ? (int)json_integer_value(part) : -1,
        };
        if (!s->meter || !bench_meter_peaks(s->meter, &preference, &peaks, reason))
            return failure(reason);
        json_t *reply = bench_peaks_json(&peaks);
        put_text(reply, "answer", "ok");
        return reply;
    }
    if (!strcmp(what, "sentinel")) {
        if (!s->meter || !bench_meter_sentinel(s->meter, &ns, &gflops, reason))
            return failure(reason);
        if (json_is_true(json_object_get(request, "memory")) && !bench_meter_memory_sentinel(s->meter, &gbytes, reason))
            return failure(reason);
        return json_pack("{s:s, s:f, s:f, s:f}", "answer", "ok", "ns", ns, "gflops", gflops, "gbytes_per_s", gbytes);
    }
    if (!strcmp(what, "trust")) {
        if (!s->meter || !bench_meter_trust(s->meter, &ns, reason))
            return failure(reason);
        return json_pack("{s:s, s:f}", "answer", "ok", "ratio", ns);
    }
    return bench_kernel_request(s, what, request);
}
