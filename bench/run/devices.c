// SPDX-License-Identifier: MIT
// clbench devices: what is here. The enumeration runs in a worker, since some ICDs abort.
#include "run/devices.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "measure/peaks_ask.h"
#include "measure/peaks_show.h"
#include "measure/row.h"
#include "system/interrupt.h"
#include "system/steps.h"
#include "system/terminal.h"
#include "run/machine.h"
#include "run/select.h"
#include "worker/measure_peaks.h"
#include "worker/peaks.h"

#define ENGINES_SECONDS 0.5 // to ask one device for its engines, with what that compiles there already

static const char *string_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text && *text ? text : "unknown";
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static const char *yes(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key)) ? "yes" : "no";
}

#define INDENT 18 // of what goes on in a further line

static void print_engines(const json_t *device)
{
    const json_t *engines = json_object_get(device, "engines");
    char text[2000] = "";
    for (size_t i = 0; i < json_array_size(engines); i++) {
        const json_t *engine = json_array_get(engines, i);
        bench_append(text, sizeof text, "%s%s %s (%s)", i ? ", " : "", string_of(engine, "name"),
                     string_of(engine, "state"), string_of(engine, "text"));
    }
    if (!json_is_array(engines))
        bench_append(text, sizeof text, "unknown: %s; clbench doctor looks further",
                     string_of(device, "engines_error"));
    bench_print(INDENT, "     engines      %s\n", text[0] ? text : "none");
}

// Reasons may go on with a compiler's log: the first line says what it was.
static void print_quirks(const json_t *device)
{
    size_t i;
    const json_t *quirk;
    json_array_foreach(json_object_get(device, "quirks"), i, quirk)
    {
        bench_print(INDENT, "     quirk        %s: %s\n", string_of(quirk, "name"), string_of(quirk, "text"));
    }
    json_array_foreach(json_object_get(device, "quirks_not_tried"), i, quirk)
    {
        const char *reason = string_of(quirk, "reason");
        bench_print(INDENT, "     quirk        %s: not tried: %.*s\n", string_of(quirk, "name"),
                    (int)strcspn(reason, "\n"), reason);
    }
}

static void print_device(const json_t *device)
{
    const json_t *t = json_object_get(device, "traits");
    char memory[32], allocation[32], local[32], cache[32];
    bench_format_bytes(number_of(t, "global_memory"), memory, sizeof memory);
    bench_format_bytes(number_of(t, "max_allocation"), allocation, sizeof allocation);
    bench_format_bytes(number_of(t, "local_memory"), local, sizeof local);
    bench_format_bytes(number_of(t, "global_cache"), cache, sizeof cache);
    bool is_default = json_is_true(json_object_get(device, "is_default"));
    bench_print(5, "%.0f:%.0f  %s%s\n", number_of(t, "platform_index"), number_of(t, "device_index"),
                string_of(device, "name"), is_default ? "  <- the default" : "");
    bench_print(INDENT, "     class        %s\n", string_of(t, "class"));
    bench_print(INDENT, "     platform     %s\n", string_of(device, "platform"));
    bench_print(INDENT, "     driver       %s, %s, %s\n", string_of(device, "driver"), string_of(device, "version"),
                string_of(t, "opencl_c_version"));
    if (strcmp(string_of(t, "pci_address"), "unknown"))
        bench_print(INDENT, "     PCI          %s\n", string_of(t, "pci_address"));
    bench_print(INDENT, "     units        %.0f, %.0f MHz as advertised, vectors of %.0f floats\n",
                number_of(t, "compute_units"), number_of(t, "clock_mhz"), number_of(t, "vector_width"));
    bench_print(INDENT, "     memory       %s, one buffer %s, local %s, cache %s\n", memory, allocation, local, cache);
    bench_print(INDENT, "     work-group   %.0f\n", number_of(t, "work_group"));
    bench_print(INDENT, "     has          f64 %s, f16 arithmetic %s, sub-groups %s, host's memory %s\n",
                yes(t, "has_f64"), yes(t, "has_f16"), yes(t, "has_subgroups"), yes(t, "shares_host_memory"));
    bench_print_machine(json_object_get(device, "machine"));
    print_engines(device);
    print_quirks(device);
    bench_print(INDENT, "     extensions   %s\n", string_of(t, "extensions"));
    const json_t *measured = json_object_get(device, "peaks");
    bench_peaks peaks = {0};
    bench_read_peaks(measured, &peaks);
    if (json_is_object(measured))
        bench_print_peaks(&peaks, "     ");
    else if (measured)
        bench_print(INDENT, "     peaks        could not be measured: %s\n", string_of(device, "peaks_error"));
}

// Each device gets its "peaks" by a worker of its own: null where they cannot be measured, and why in "peaks_error".
static void ask_for_peaks(json_t *devices, const bench_options *options)
{
    const bench_peaks_request all = {.arithmetic = (1 << BENCH_ARITHMETICS) - 1, .part = -1};
    double usual;
    const size_t parts = bench_peaks_steps(false, &usual), count = json_array_size(devices);
    bench_steps steps;
    bench_steps_begin(&steps, count * parts, (double)count * usual);
    for (size_t i = 0; i < count && !bench_interrupted; i++) {
        char preference[32], reason[BENCH_REASON_TEXT] = "";
        json_t *device = json_array_get(devices, i), *traits = json_object_get(device, "traits"), *peaks = NULL;
        bench_runner_process husk;
        snprintf(preference, sizeof preference, "%.0f:%.0f", number_of(traits, "platform_index"),
                 number_of(traits, "device_index"));
        bench_runner_process_start(&husk, "husk", preference, 1, NULL);
        if (bench_runner_process_await(&husk, options->max_time))
            peaks =
                bench_peaks_ask(&husk.process, string_of(device, "name"), &all, options->compile_time, &steps, reason);
        else
            snprintf(reason, sizeof reason, "%s", husk.why);
        json_object_set_new(device, "peaks", peaks ? peaks : json_null());
        json_t *why = peaks ? NULL : json_string(reason);
        if (why)
            json_object_set_new(device, "peaks_error", why);
        bench_runner_process_stop(&husk);
        bench_steps_skip_to(&steps, (i + 1) * parts, (double)(i + 1) * usual);
    }
    bench_steps_end(&steps);
}

// Each device gets its "engines", "quirks", "quirks_not_tried" and "machine": null where its driver does not survive
// the question.
static void ask_for_engines(bench_runner_process *husk, json_t *devices, double seconds)
{
    bench_steps steps;
    bench_steps_begin(&steps, json_array_size(devices), ENGINES_SECONDS * (double)json_array_size(devices));
    for (size_t i = 0; i < json_array_size(devices); i++) {
        char reason[BENCH_REASON_TEXT] = "the question was not answered";
        json_t *reply = NULL;
        const json_t *traits = json_object_get(json_array_get(devices, i), "traits");
        bench_steps_next(&steps, ENGINES_SECONDS, "%s: asking for matrix engines and quirks",
                         string_of(json_array_get(devices, i), "name"));
        const bool answered = bench_runner_process_revive(husk) &&
                              bench_process_call(&husk->process,
                                                 json_pack("{s:s, s:O, s:O}", "do", "engines", "platform",
                                                           json_object_get(traits, "platform_index"), "device",
                                                           json_object_get(traits, "device_index")),
                                                 seconds, &reply, reason) == BENCH_REPLY_OK;
        static const char *const keys[] = {"engines", "quirks", "quirks_not_tried", "machine"};
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            json_t *found = answered ? json_object_get(reply, keys[k]) : NULL;
            json_object_set_new(json_array_get(devices, i), keys[k], found ? json_incref(found) : json_null());
        }
        json_t *why = answered ? NULL : json_string(reason);
        if (why)
            json_object_set_new(json_array_get(devices, i), "engines_error", why);
        json_decref(reply);
    }
    bench_steps_end(&steps);
}

// Whether any of the preferences stands for it: the library says so of a list of its own.
static json_t *choose(const bench_options *options, const json_t *all, char reason[BENCH_REASON_TEXT])
{
    json_t *chosen = json_array();
    for (size_t w = 0; w < options->device_count; w++) {
        json_t *reply = NULL;
        const bench_reply status = bench_list_devices(options->devices[w], options->max_time, &reply, reason);
        const json_t *devices = json_object_get(reply, "devices");
        const size_t before = json_array_size(chosen);
        for (size_t i = 0; i < json_array_size(devices) && i < json_array_size(all); i++) {
            if (json_is_true(json_object_get(json_array_get(devices, i), "is_default")))
                json_array_append(chosen, json_array_get(all, i));
        }
        if (status == BENCH_REPLY_OK && json_array_size(chosen) == before)
            snprintf(reason, BENCH_REASON_TEXT, "%s", string_of(reply, "unfit"));
        json_decref(reply);
        if (json_array_size(chosen) == before) {
            json_decref(chosen);
            return NULL;
        }
    }
    return chosen;
}

static void print_notes(const json_t *notes, bool first)
{
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const json_t *note = json_array_get(notes, i);
        bool is_missing_gpu = !strcmp(string_of(note, "kind"), "missing_gpu");
        if (is_missing_gpu == first)
            bench_print(2, "%s: %s\n", is_missing_gpu ? "warning" : string_of(note, "kind"), string_of(note, "text"));
    }
}

static void print_json(const json_t *devices, const json_t *notes, const char *error)
{
    json_t *all = json_object(), *why = error ? json_string(error) : NULL;
    json_object_set_new(all, "devices", devices ? json_incref((json_t *)(uintptr_t)devices) : json_array());
    json_object_set_new(all, "notes", notes ? json_incref((json_t *)(uintptr_t)notes) : json_array());
    json_object_set_new(all, "error", why ? why : json_null());
    json_dumpf(all, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(all);
}

static void print_text(const json_t *devices, const json_t *notes, bool opened)
{
    print_notes(notes, true);
    for (size_t i = 0; i < json_array_size(devices); i++)
        print_device(json_array_get(devices, i));
    print_notes(notes, false);
    if (opened)
        bench_print(0,
                    "\nThe default is HUSK_DEVICE's, where that is set; else a discrete GPU before an integrated one, "
                    "an accelerator and a CPU. Simulators are taken only by name.\n");
}

int bench_command_devices(const bench_options *options)
{
    bench_runner_process husk;
    char reason[BENCH_REASON_TEXT] = "";
    bench_progress_start(options->quiet);
    bench_catch_interrupt();
    bench_runner_process_start(&husk, "husk", NULL, 1, NULL);
    bool opened = bench_runner_process_await(&husk, options->max_time);
    // Copies: a worker that has to be started again says hello again.
    json_t *devices = json_deep_copy(json_object_get(husk.hello, "devices"));
    json_t *notes = json_deep_copy(json_object_get(husk.hello, "notes"));
    // What is asked for by name does not depend on HUSK_DEVICE, nor on whether the default opens.
    if (!opened && json_array_size(devices) && options->device_count) {
        bench_runner_process_stop(&husk);
        bench_runner_process_start(&husk, "husk", options->devices[0], 1, NULL);
        opened = bench_runner_process_await(&husk, options->max_time);
    }
    int code = BENCH_EXIT_OK;
    snprintf(reason, sizeof reason, "%s", husk.why);
    if (!opened)
        code = !strncmp(string_of(husk.hello, "status"), "HUSK_NO_", 8) ? BENCH_EXIT_NO_DEVICE : BENCH_EXIT_ERROR;
    if (opened && options->device_count) {
        json_t *chosen = choose(options, devices, reason);
        code = chosen ? BENCH_EXIT_OK : BENCH_EXIT_NO_DEVICE;
        json_decref(devices);
        devices = chosen;
    }
    if (code == BENCH_EXIT_OK)
        ask_for_engines(&husk, devices, options->compile_time);
    if (code == BENCH_EXIT_OK && options->peaks)
        ask_for_peaks(devices, options);
    bench_progress_clear();
    if (options->json)
        print_json(devices, notes, code == BENCH_EXIT_OK ? NULL : reason);
    else
        print_text(devices, notes, code == BENCH_EXIT_OK);
    if (code != BENCH_EXIT_OK)
        fprintf(stderr, "clbench: %s\n", reason);
    json_decref(devices);
    json_decref(notes);
    bench_runner_process_stop(&husk);
    return bench_interrupted ? bench_interrupted_exit() : code;
}
