// SPDX-License-Identifier: MIT
#include "verify/check.h"

#include <stdio.h>
#include <string.h>

#include "cases/case.h"

static json_t *ask(bench_runner_process *husk, json_t *request, double max_time, bench_check *check)
{
    json_t *reply = NULL;
    check->state = BENCH_STATE_ERROR;
    if (!bench_runner_process_revive(husk)) {
        json_decref(request);
        snprintf(check->reason, sizeof check->reason, "%s", husk->why);
        return NULL;
    }
    const bench_reply status = bench_process_call(&husk->process, request, max_time, &reply, check->reason);
    check->state = bench_state_of_reply(status, reply, check->reason);
    const char *answer = json_string_value(json_object_get(reply, "answer"));
    if (answer && !strcmp(answer, "lost"))
        bench_process_kill(&husk->process);
    return reply;
}

void bench_check_case(bench_runner_process *husk, const bench_case *c, const bench_check_options *options,
                      bench_check *check)
{
    memset(check, 0, sizeof *check);
    json_t *request =
        json_pack("{s:s, s:s, s:i, s:b}", "do", "prepare", "case", c->canonical, "slot", 0, "guards", true);
    if (options->form)
        json_object_set_new(request, "form", json_string(options->form));
    const double compile_time = options->compile_time > 0 ? options->compile_time : options->max_time;
    check->prepared = ask(husk, request, compile_time, check);
    if (check->state != BENCH_STATE_OK)
        return;
    request = json_pack("{s:s, s:i, s:I}", "do", "verify", "slot", 0, "seed", (json_int_t)options->seed);
    check->verified = ask(husk, request, options->max_time, check);
    if (check->state != BENCH_STATE_OK)
        return;
    const char *text = json_string_value(json_object_get(check->verified, "text"));
    snprintf(check->reason, sizeof check->reason, "%s", text ? text : "");
    if (!json_is_true(json_object_get(check->verified, "pass")))
        check->state = BENCH_STATE_FAILED;
}

void bench_check_free(bench_check *check)
{
    json_decref(check->prepared);
    json_decref(check->verified);
    check->prepared = check->verified = NULL;
}
