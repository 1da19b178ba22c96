// SPDX-License-Identifier: MIT
#include "run/machine.h"

#include <stdio.h>
#include <string.h>

#include "cli/take_stdout.h"
#include "common/text.h"
#include "measure/row.h"
#include "system/interrupt.h"
#include "system/output.h"
#include "system/terminal.h"
#include "run/select.h"

#define INDENT 18 // of what goes on in a further line

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void print_caches(const json_t *machine)
{
    char l1[32], l2[32], l3[32];
    bench_format_bytes(number_of(machine, "l1"), l1, sizeof l1);
    bench_format_bytes(number_of(machine, "l2"), l2, sizeof l2);
    bench_format_bytes(number_of(machine, "l3"), l3, sizeof l3);
    char last[80] = "no L3";
    if (number_of(machine, "l3") > 0)
        snprintf(last, sizeof last, "L3 %s, shared by %.0f", l3, number_of(machine, "l3_cores"));
    bench_print(INDENT, "     machine      %s: %.0f registers of %.0f floats; a core has L1 %s, L2 %s; %s\n",
                json_string_value(json_object_get(machine, "isa")), number_of(machine, "registers"),
                number_of(machine, "vector_width"), l1, l2, last);
}

void bench_print_machine(const json_t *machine)
{
    const json_t *rates = json_object_get(machine, "rates");
    if (!json_is_object(machine) || number_of(machine, "registers") == 0) // of GPUs the traits say as much
        return;
    print_caches(machine);
    bench_print(INDENT,
                "     rates        %s: %.2f GHz, %.1f vectors multiplied a cycle; a core reads %.0f GB/s from L2, %.0f "
                "from L3, %.0f from memory, all together %.0f; launch %.1f us, waking cores %.1f us\n",
                json_is_true(json_object_get(machine, "measured")) ? "measured" : "typical",
                number_of(rates, "clock_ghz"), number_of(rates, "fma_per_cycle"), number_of(rates, "l2_rate"),
                number_of(rates, "l3_rate"), number_of(rates, "memory_rate"), number_of(rates, "memory_rate_all"),
                1e-3 * number_of(rates, "launch_ns"), 1e-3 * number_of(rates, "wake_ns"));
}

// What was measured on one device goes to the list.
static int calibrate_device(const bench_options *options, const char *preference, json_t *list)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_runner_process husk;
    json_t *reply = NULL;
    int code = bench_open_husk(&husk, preference, NULL, options->max_time);
    if (code == BENCH_EXIT_OK) {
        const bench_reply status = bench_process_call(&husk.process, json_pack("{s:s}", "do", "calibrate"),
                                                      options->compile_time, &reply, reason);
        code = bench_state_of_reply(status, reply, reason) == BENCH_STATE_OK ? BENCH_EXIT_OK : BENCH_EXIT_ERROR;
        if (bench_interrupted)
            code = bench_interrupted_exit();
        else if (code != BENCH_EXIT_OK)
            fprintf(stderr, "clbench: the device could not be calibrated: %s\n", reason);
    }
    json_t *machine = json_object_get(reply, "machine");
    if (machine) {
        const char *warning = json_string_value(json_object_get(reply, "warning"));
        json_object_set(machine, "device", json_object_get(json_object_get(husk.hello, "device"), "name"));
        json_array_append(list, machine);
        if (warning && *warning) {
            fprintf(stderr, "clbench: measured, but not kept: %s\n", warning);
            code = BENCH_EXIT_ERROR;
        }
        if (!options->json) {
            bench_print(2, "%s\n", json_string_value(json_object_get(machine, "device")));
            bench_print_machine(machine);
            fflush(stdout);
        }
    }
    json_decref(reply);
    bench_runner_process_stop(&husk);
    return code;
}

int bench_command_calibrate(const bench_options *given)
{
    char buffer[64], stdout_path[32] = "";
    bench_options options = *given;
    json_t *list = json_array();
    int code = BENCH_EXIT_OK;
    if (options.json) { // nothing else on stdout
        options.json_path = "-";
        bench_output_take_stdout(&options, stdout_path);
    }
    bench_progress_start(options.quiet);
    bench_catch_interrupt();
    bench_expand_devices(&options);
    const size_t devices = options.device_count ? options.device_count : 1;
    for (size_t i = 0; i < devices && !bench_interrupted; i++) {
        const int answer = calibrate_device(&options, bench_device_preference(&options, i, buffer), list);
        code = code == BENCH_EXIT_OK ? answer : code;
    }
    if (options.json && json_array_size(list) && !bench_output_write_json(list, options.json_path))
        code = BENCH_EXIT_ERROR;
    json_decref(list);
    return bench_interrupted ? bench_interrupted_exit() : code;
}
