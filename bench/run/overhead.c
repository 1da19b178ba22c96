// SPDX-License-Identifier: MIT
#include "run/overhead.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases/op.h"
#include "cli/take_stdout.h"
#include "common/text.h"
#include "measure/row.h"
#include "system/interrupt.h"
#include "system/output.h"
#include "system/steps.h"
#include "system/terminal.h"
#include "run/select.h"
#include "worker/overhead.h"

#define USUAL_SECONDS 0.4 // a case, its programs compiled before

static size_t count_cases(void)
{
    size_t count = 0;
    while (bench_overhead_case(count))
        count++;
    return count;
}

json_t *bench_overhead_ask(bench_runner_process *husk, double seconds, char reason[BENCH_REASON_TEXT])
{
    json_t *all = json_array();
    bench_steps steps;
    bool good = true;
    const size_t count = count_cases();
    bench_steps_begin(&steps, count, (double)count * USUAL_SECONDS);
    for (size_t i = 0; i < count && good; i++) {
        json_t *reply = NULL;
        bench_steps_next(&steps, USUAL_SECONDS, "what a call costs: %s", bench_overhead_case(i));
        const bench_reply status = bench_process_call(
            &husk->process, json_pack("{s:s, s:s}", "do", "overhead", "case", bench_overhead_case(i)), seconds, &reply,
            reason);
        good = bench_state_of_reply(status, reply, reason) == BENCH_STATE_OK;
        json_array_extend(all, json_object_get(reply, "overhead"));
        json_decref(reply);
    }
    bench_steps_end(&steps);
    if (good)
        return all;
    json_decref(all);
    return NULL;
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

double bench_overhead_largest(const json_t *overhead, const char **which)
{
    double largest = NAN;
    for (size_t i = 0; i < json_array_size(overhead); i++) {
        const json_t *one = json_array_get(overhead, i);
        if (number_of(one, "overhead_ns") <= largest)
            continue;
        largest = number_of(one, "overhead_ns");
        if (which)
            *which = json_string_value(json_object_get(one, "case"));
    }
    return largest;
}

static void print_table(const json_t *overhead)
{
    size_t longest = 4;
    for (size_t i = 0; bench_overhead_case(i); i++) {
        const size_t length = strlen(bench_overhead_case(i));
        longest = length > longest ? length : longest;
    }
    const int width = bench_name_width(longest, 43);
    bench_print_name("case", width);
    printf("  %8s  %9s  %9s  %9s\n", "launches", "immediate", "bare", "overhead");
    for (size_t i = 0; i < json_array_size(overhead); i++) {
        const json_t *one = json_array_get(overhead, i);
        bench_print_name(json_string_value(json_object_get(one, "case")), width);
        printf("  %8.0f  %6.2f us  %6.2f us  %6.2f us\n", number_of(one, "launches"),
               1e-3 * number_of(one, "immediate_ns"), 1e-3 * number_of(one, "bare_ns"),
               1e-3 * number_of(one, "overhead_ns"));
    }
}

void bench_overhead_print(const json_t *overhead, bool all)
{
    if (all)
        print_table(overhead);
    const char *which = "";
    double largest = bench_overhead_largest(overhead, &which);
    if (!isnan(largest))
        bench_print(2, "immediate calls: at most %.2f us more than the bare enqueue of the same kernels (%s)\n",
                    1e-3 * largest, which);
}

// What was measured on one device goes to the list; on several, each line says which it is of.
static int measure_device(const bench_options *options, const char *preference, json_t *list)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_runner_process husk;
    int code = bench_open_husk(&husk, preference, NULL, options->max_time);
    const json_t *device = json_object_get(husk.hello, "device");
    json_t *overhead = code == BENCH_EXIT_OK ? bench_overhead_ask(&husk, options->compile_time, reason) : NULL, *one;
    size_t i;
    if (bench_interrupted) {
        code = bench_interrupted_exit();
    } else if (code == BENCH_EXIT_OK && !overhead) {
        fprintf(stderr, "clbench: the overhead could not be measured: %s\nclbench doctor looks for why.\n", reason);
        code = BENCH_EXIT_ERROR;
    }
    if (overhead && !options->json) {
        bench_print(2, "%s%s\n", json_array_size(list) ? "\n" : "", json_string_value(json_object_get(device, "name")));
        bench_overhead_print(overhead, true);
        fflush(stdout);
    }
    json_array_foreach(overhead, i, one)
    {
        json_object_set(one, "device", json_object_get(device, "name"));
        json_array_append(list, one);
    }
    json_decref(overhead);
    bench_runner_process_stop(&husk);
    return code;
}

int bench_command_overhead(const bench_options *given)
{
    char buffer[64], stdout_path[32] = "";
    bench_options options = *given;
    json_t *list = json_array();
    int code = BENCH_EXIT_OK;
    if (options.json) { // nothing else on stdout, warnings about GPUs neither
        options.json_path = "-";
        bench_output_take_stdout(&options, stdout_path);
    }
    bench_progress_start(options.quiet);
    bench_catch_interrupt();
    bench_expand_devices(&options);
    const size_t devices = options.device_count ? options.device_count : 1;
    for (size_t i = 0; i < devices && !bench_interrupted; i++) {
        const int answer = measure_device(&options, bench_device_preference(&options, i, buffer), list);
        code = code == BENCH_EXIT_OK ? answer : code;
    }
    if (options.json && json_array_size(list) && !bench_output_write_json(list, options.json_path))
        code = BENCH_EXIT_ERROR;
    json_decref(list);
    return bench_interrupted ? bench_interrupted_exit() : code;
}
