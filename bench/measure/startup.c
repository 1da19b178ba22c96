// SPDX-License-Identifier: MIT
#include "measure/startup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/runner_process.h"
#include "system/interrupt.h"
#include "system/steps.h"
#include "system/temporary.h"

// One request to a new worker whose caches lie in folder (NULL: where they always lie).
static json_t *ask_new_worker(const bench_startup_options *options, const char *folder, json_t *request,
                              double max_time)
{
    bench_runner_process c;
    char reason[BENCH_REASON_TEXT];
    json_t *reply = NULL;
    const char *const environment[] = {
        "XDG_CACHE_HOME",
        folder,
        "POCL_CACHE_DIR",
        folder,
        "CUDA_CACHE_PATH",
        folder,
        "NEO_CACHE_DIR",
        folder,
        "MESA_SHADER_CACHE_DIR",
        folder,
        "AMD_COMGR_CACHE_DIR",
        folder,
        NULL,
    };
    bench_runner_process_start(&c, "husk", options->preference, 1, folder ? environment : NULL);
    bench_runner_process_expect(&c, options->device);
    if (bench_runner_process_await(&c, options->max_time))
        bench_process_call(&c.process, json_incref(request), max_time, &reply, reason);
    json_decref(request);
    bench_runner_process_stop(&c);
    const char *answer = json_string_value(json_object_get(reply, "answer"));
    if (answer && !strcmp(answer, "ok"))
        return reply;
    json_decref(reply);
    return NULL;
}

static json_t *or_null(json_t *value)
{
    return value ? value : json_null();
}

static const char *const first_cases[2][2] = {
    {"gemm_ns", "gemm m=256 n=256 k=256"},
    {"conv_ns", "conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1"},
};

// What these take on a CPU of two cores.
#define WARM_SECONDS  1.5
#define COLD_SECONDS  60.0
#define FIRST_SECONDS 0.7
#define FIRST_COLD    4.0
#define PREWARM_LIMIT 6 // times what one program is given: prewarming builds all of them

typedef struct start_measurement {
    const bench_startup_options *options;
    bench_steps steps;
} start_measurement;

// A program's first result, context included: {gemm_ns, conv_ns}, each in a new process.
static json_t *first_results(start_measurement *m, const char *const folders[2])
{
    json_t *firsts = json_object();
    for (int i = 0; i < 2 && !bench_interrupted; i++) {
        bench_steps_next(&m->steps, folders[i] ? FIRST_COLD : FIRST_SECONDS,
                         "the first result in a new process, %s caches: %s", folders[i] ? "empty" : "warm",
                         first_cases[i][1]);
        json_t *reply =
            ask_new_worker(m->options, folders[i], json_pack("{s:s, s:s}", "do", "first", "case", first_cases[i][1]),
                           m->options->compile_time);
        json_t *ns = json_object_get(reply, "first_ns");
        json_object_set_new(firsts, first_cases[i][0], ns ? json_incref(ns) : json_null());
        json_decref(reply);
    }
    return firsts;
}

static json_t *start_of(start_measurement *m, const char *folder)
{
    if (bench_interrupted)
        return json_null();
    bench_steps_next(&m->steps, folder ? COLD_SECONDS : WARM_SECONDS,
                     "a context with every operator prewarmed, %s caches", folder ? "empty" : "warm");
    return or_null(ask_new_worker(m->options, folder, json_pack("{s:s}", "do", "prewarm"),
                                  PREWARM_LIMIT * m->options->compile_time));
}

json_t *bench_startup_json(const bench_startup_options *options)
{
    char folders[3][256];
    const char *const as_they_are[2] = {NULL, NULL}, *const empty[2] = {folders[1], folders[2]};
    start_measurement m = {.options = options};
    json_t *startup = json_object();
    char reason[BENCH_REASON_TEXT];
    bool made[3];
    for (int i = 0; i < 3; i++)
        made[i] = bench_temporary_folder(folders[i], sizeof folders[i], reason);
    bench_steps_begin(&m.steps, 9, 2 * WARM_SECONDS + COLD_SECONDS + 4 * FIRST_SECONDS + 2 * FIRST_COLD);
    // The first ones fill the caches where they have not been filled, the second are what a user sees.
    json_decref(start_of(&m, NULL));
    json_decref(first_results(&m, as_they_are));
    json_t *warm = start_of(&m, NULL), *cold = json_null();
    if (json_is_object(warm))
        json_object_set_new(warm, "first", first_results(&m, as_they_are));
    if (made[0] && made[1] && made[2])
        cold = start_of(&m, folders[0]);
    if (json_is_object(cold))
        json_object_set_new(cold, "first", first_results(&m, empty));
    bench_steps_end(&m.steps);
    json_object_set_new(startup, "warm", warm);
    json_object_set_new(startup, "cold", cold);
    for (int i = 0; i < 3; i++)
        if (made[i])
            bench_temporary_remove(folders[i]);
    return startup;
}

static json_t *first_call(const bench_startup_options *options, const char *folder, const char *case_line,
                          const char *form)
{
    json_t *request = json_pack("{s:s, s:s, s:i}", "do", "prepare", "case", case_line, "slot", 0), *ns = NULL;
    if (form[0])
        json_object_set_new(request, "form", json_string(form));
    json_t *reply = ask_new_worker(options, folder, request, options->compile_time);
    if (reply)
        ns = json_integer(json_integer_value(json_object_get(reply, "prepare_ns")) +
                          json_integer_value(json_object_get(reply, "first_ns")));
    json_decref(reply);
    return or_null(ns);
}

json_t *bench_first_call_json(const bench_startup_options *options, const char *case_line, const char *form)
{
    char folder[256], reason[BENCH_REASON_TEXT];
    json_t *compile = json_object();
    if (!bench_temporary_folder(folder, sizeof folder, reason))
        return compile;
    json_object_set_new(compile, "cold_ns", first_call(options, folder, case_line, form));
    json_object_set_new(compile, "cached_ns", first_call(options, folder, case_line, form));
    bench_temporary_remove(folder);
    return compile;
}
