// SPDX-License-Identifier: MIT
// clbench devices: what is here. The enumeration runs in a worker, since some ICDs abort.
#include <stdio.h>
#include <string.h>

#include "measure.h"
#include "peaks.h"
#include "run.h"
#include "terminal.h"
#include "text.h"
#include "timer.h"

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

static void print_engines(const json_t *engines)
{
    if (json_is_null(engines))
        printf("unknown: the question was not answered");
    else if (json_array_size(engines) == 0)
        printf("none");
    for (size_t i = 0; i < json_array_size(engines); i++) {
        const json_t *engine = json_array_get(engines, i);
        printf("%s%s %s (%s)", i ? ", " : "", string_of(engine, "name"), string_of(engine, "state"),
               string_of(engine, "text"));
    }
    putchar('\n');
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
    printf("%.0f:%.0f  %s%s\n", number_of(t, "platform_index"), number_of(t, "device_index"),
           string_of(device, "name"), is_default ? "  <- the default" : "");
    printf("     class        %s\n", string_of(t, "class"));
    printf("     platform     %s\n", string_of(device, "platform"));
    printf("     driver       %s, %s, %s\n", string_of(device, "driver"), string_of(device, "version"),
           string_of(t, "opencl_c_version"));
    if (strcmp(string_of(t, "pci_address"), "unknown"))
        printf("     PCI          %s\n", string_of(t, "pci_address"));
    printf("     units        %.0f, %.0f MHz as advertised, vectors of %.0f floats\n",
           number_of(t, "compute_units"), number_of(t, "clock_mhz"), number_of(t, "vector_width"));
    printf("     memory       %s, one buffer %s, local %s, cache %s\n", memory, allocation, local, cache);
    printf("     work-group   %.0f\n", number_of(t, "work_group"));
    printf("     has          f64 %s, f16 arithmetic %s, sub-groups %s, host's memory %s\n",
           yes(t, "has_f64"), yes(t, "has_f16"), yes(t, "has_subgroups"), yes(t, "shares_host_memory"));
    printf("     engines      ");
    print_engines(json_object_get(device, "engines"));
    printf("     extensions   %s\n", string_of(t, "extensions"));
    const json_t *measured = json_object_get(device, "peaks");
    bench_peaks peaks = {0};
    bench_read_peaks(measured, &peaks);
    if (json_is_object(measured))
        bench_print_peaks(&peaks, "     ");
    else if (measured)
        printf("     peaks        could not be measured: %s\n", string_of(device, "peaks_error"));
}

// Each device gets its "peaks" by a worker of its own: null where they cannot be measured, and why in "peaks_error".
static void ask_for_peaks(json_t *devices)
{
    const uint64_t start = bench_now_ns();
    char left[32];
    for (size_t i = 0; i < json_array_size(devices); i++) {
        char wish[32], reason[BENCH_REASON_TEXT] = "";
        json_t *device = json_array_get(devices, i), *traits = json_object_get(device, "traits"),
               *reply = NULL;
        bench_contestant husk;
        snprintf(wish, sizeof wish, "%.0f:%.0f", number_of(traits, "platform_index"),
                 number_of(traits, "device_index"));
        bench_time_left(left, (double)(bench_now_ns() - start) * 1e-9, i, json_array_size(devices));
        bench_progress_show("[%zu/%zu%s] measuring %s", i + 1, json_array_size(devices), left,
                            string_of(device, "name"));
        bench_contestant_start(&husk, "husk", wish, 1, NULL);
        bench_reply status = BENCH_REPLY_DIED;
        if (bench_contestant_await(&husk, 120))
            status = bench_process_call(&husk.process,
                                        json_pack("{s:s, s:b, s:i}", "do", "peaks", "quick", 0, "wanted",
                                                  (1 << BENCH_ARITHMETICS) - 1),
                                        600, &reply, reason);
        else
            snprintf(reason, sizeof reason, "%s", husk.why);
        const bool good =
            status == BENCH_REPLY_OK && bench_state_of_reply(status, reply, reason) == BENCH_STATE_OK;
        json_object_set_new(device, "peaks", good ? json_incref(reply) : json_null());
        json_t *why = good ? NULL : json_string(reason);
        if (why)
            json_object_set_new(device, "peaks_error", why);
        json_object_del(json_object_get(device, "peaks"), "answer");
        json_decref(reply);
        bench_contestant_stop(&husk);
        bench_progress_clear();
    }
}

// Each device gets its "engines": null where its driver does not survive the question.
static void ask_for_engines(bench_contestant *husk, json_t *devices)
{
    for (size_t i = 0; i < json_array_size(devices); i++) {
        char reason[BENCH_REASON_TEXT];
        json_t *reply = NULL;
        bench_progress_show("[%zu/%zu] asking for matrix engines", i + 1, json_array_size(devices));
        const bool answered =
            bench_contestant_revive(husk) &&
            bench_process_call(&husk->process, json_pack("{s:s, s:I}", "do", "engines", "device", (json_int_t)i), 120,
                               &reply, reason) == BENCH_REPLY_OK;
        json_t *engines = answered ? json_object_get(reply, "engines") : NULL;
        json_object_set_new(json_array_get(devices, i), "engines", engines ? json_incref(engines) : json_null());
        json_decref(reply);
    }
}

static void print_notes(const json_t *notes, bool first)
{
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const json_t *note = json_array_get(notes, i);
        bool is_missing_gpu = !strcmp(string_of(note, "kind"), "missing_gpu");
        if (is_missing_gpu == first)
            printf("%s: %s\n", is_missing_gpu ? "warning" : string_of(note, "kind"), string_of(note, "text"));
    }
}

int bench_command_devices(const bench_options *options)
{
    bench_contestant husk;
    bench_contestant_start(&husk, "husk", NULL, 1, NULL);
    bool opened = bench_contestant_await(&husk, 120);
    // Copies: a worker that has to be started again says hello again.
    json_t *devices = json_deep_copy(json_object_get(husk.hello, "devices"));
    json_t *notes = json_deep_copy(json_object_get(husk.hello, "notes"));
    int code = BENCH_EXIT_OK;
    bench_progress_start(options->quiet);
    if (!opened)
        code = !strncmp(string_of(husk.hello, "status"), "HUSK_NO_", 8) ? BENCH_EXIT_NO_DEVICE : BENCH_EXIT_ERROR;
    else
        ask_for_engines(&husk, devices);
    if (opened && options->peaks)
        ask_for_peaks(devices);
    bench_progress_clear();
    if (options->json) {
        json_t *all = json_object();
        json_object_set_new(all, "devices", devices ? json_incref(devices) : json_array());
        json_object_set_new(all, "notes", notes ? json_incref(notes) : json_array());
        json_object_set_new(all, "error", opened ? json_null() : json_string(husk.why));
        json_dumpf(all, stdout, JSON_INDENT(1));
        putchar('\n');
        json_decref(all);
    } else {
        print_notes(notes, true);
        for (size_t i = 0; i < json_array_size(devices); i++)
            print_device(json_array_get(devices, i));
        print_notes(notes, false);
        if (opened)
            printf(
                "\nThe default is HUSK_DEVICE's, where that is set; else a discrete GPU before an integrated one, an\n"
                "accelerator and a CPU. Simulators are taken only by name.\n");
    }
    if (!opened)
        fprintf(stderr, "clbench: %s\n", husk.why);
    json_decref(devices);
    json_decref(notes);
    bench_contestant_stop(&husk);
    return code;
}
