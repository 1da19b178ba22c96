// SPDX-License-Identifier: MIT
#include "measure/runner_process.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "measure/same_device.h"

static bool launch(bench_runner_process *c)
{
    char threads[16];
    snprintf(threads, sizeof threads, "%d", c->threads);
    const char *arguments[] = {c->program[0] ? c->program : "clbench",
                               BENCH_WORKER_ARGUMENT,
                               c->runner,
                               c->device ? c->device : "",
                               threads,
                               NULL};
    c->is_starting = bench_process_start(&c->process, arguments, c->environment, c->why);
    snprintf(c->process.who, sizeof c->process.who, "%s", strcmp(c->name, "husk") ? c->name : "the driver or Husk");
    return c->is_starting;
}

bool bench_runner_process_start_other(bench_runner_process *c, const char *name, const char *program,
                                      const char *runner_name, const char *device, int threads)
{
    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->runner, sizeof c->runner, "%s", runner_name);
    snprintf(c->program, sizeof c->program, "%s", program);
    c->device = device;
    c->threads = threads;
    return launch(c);
}

bool bench_runner_process_start(bench_runner_process *c, const char *name, const char *device, int threads,
                                const char *const *environment)
{
    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->runner, sizeof c->runner, "%s", name);
    c->device = device;
    c->threads = threads;
    c->environment = environment;
    return launch(c);
}

void bench_runner_process_expect(bench_runner_process *c, json_t *device)
{
    json_decref(c->expected);
    c->expected = json_incref(device);
}

// Where a card is lost the next best device answers to the same preference: its figures are not the card's.
static bool is_where_expected(bench_runner_process *c)
{
    json_t *device = json_object_get(c->hello, "device");
    if (!device)
        return true;
    if (!c->expected)
        bench_runner_process_expect(c, device);
    return bench_same_device(c->expected, device, c->why);
}

bool bench_runner_process_await(bench_runner_process *c, double seconds)
{
    if (!c->is_starting)
        return c->is_usable;
    c->is_starting = false;
    c->open_time = seconds;
    json_t *hello = NULL;
    if (bench_process_receive(&c->process, seconds, &hello, c->why) != BENCH_REPLY_OK) {
        if (c->program[0])
            bench_append(c->why, sizeof c->why, "; is %s a clbench with a runner '%s'?", c->program, c->runner);
        return c->is_usable = false;
    }
    json_decref(c->hello);
    c->hello = hello;
    const char *answer = json_string_value(json_object_get(hello, "answer"));
    const char *version = json_string_value(json_object_get(hello, "version"));
    c->is_usable = answer && !strcmp(answer, "ok");
    snprintf(c->version, sizeof c->version, "%s", version ? version : c->name);
    if (!c->is_usable) {
        const char *reason = json_string_value(json_object_get(hello, "reason"));
        snprintf(c->why, sizeof c->why, "%s", reason ? reason : "it did not say why");
    }
    c->is_usable = c->is_usable && is_where_expected(c);
    if (!c->is_usable)
        bench_process_stop(&c->process);
    return c->is_usable;
}

bool bench_runner_process_revive(bench_runner_process *c)
{
    if (c->process.pid)
        return true;
    if (!c->is_usable)
        return false;
    c->restarts++;
    return launch(c) && bench_runner_process_await(c, c->open_time);
}

void bench_runner_process_stop(bench_runner_process *c)
{
    bench_process_stop(&c->process);
    json_decref(c->hello);
    json_decref(c->expected);
    c->hello = c->expected = NULL;
}
