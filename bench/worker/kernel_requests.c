// SPDX-License-Identifier: MIT
#include "worker/kernel_requests.h"

#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "worker/described.h"
#include "worker/kernel_check.h"
#include "worker/session.h"
#include "worker/simulator_log.h"

static json_t *describe(bench_husk_session *session, const json_t *request)
{
    char reason[BENCH_REASON_TEXT] = "";
    const char *path = json_string_value(json_object_get(request, "path"));
    return bench_worker_answer(bench_described_read(session, path, reason) ? BENCH_OK : BENCH_ERROR, reason);
}

static json_t *compile(bench_described *d, const json_t *request)
{
    static bench_point point;
    char reason[BENCH_REASON_TEXT] = "", *log = NULL;
    if (!bench_described_point(d, request, &point, reason))
        return bench_worker_answer(BENCH_ERROR, reason);
    bench_worker_say("compiling the kernel");
    const bench_answer answer = bench_kernel_compile(&d->launcher, &point, &log, reason);
    json_t *reply = bench_worker_answer(answer, reason);
    bench_worker_put_text(reply, "log", log);
    free(log);
    return reply;
}

static json_t *check(bench_described *d, const json_t *request)
{
    static bench_kernel_job job;
    static bench_point point;
    char reason[BENCH_REASON_TEXT] = "", *log = NULL;
    bench_judgement judgement = {.is_right = true};
    if (!bench_described_point(d, request, &point, reason))
        return bench_worker_answer(BENCH_ERROR, reason);
    const uint64_t seed = (uint64_t)json_integer_value(json_object_get(request, "seed"));
    bench_simulator_log simulator = {.path = NULL};
    if (d->is_simulator)
        bench_simulator_log_begin(&simulator);
    bench_worker_say("compiling the kernel");
    const char *stage = "compile";
    bench_answer answer = bench_kernel_compile(&d->launcher, &point, &log, reason);
    if (answer == BENCH_OK) {
        bench_worker_say("preparing the kernel's buffers");
        stage = "prepare";
        answer = bench_kernel_job_begin(&job, &d->launcher, &point, seed, reason);
        if (answer == BENCH_OK) {
            bench_worker_say("running the kernel");
            stage = "run";
            answer = bench_kernel_check(&job, seed, json_integer_value(json_object_get(request, "repeat")), &judgement,
                                        reason);
        }
        bench_kernel_job_end(&job);
    }
    // What failed on the device may have taken the context with it: the next kernel gets a new one.
    const bool is_lost = answer == BENCH_ERROR && !strcmp(stage, "run") && !judgement.is_mistake;
    json_t *reply = bench_worker_answer(is_lost ? BENCH_LOST : answer, reason);
    json_object_set_new(reply, "stage", json_string(stage));
    bench_worker_put_text(reply, "log", log);
    free(log);
    if (d->is_simulator)
        json_object_set_new(reply, "findings", bench_simulator_log_take(&simulator));
    if (answer == BENCH_OK)
        bench_kernel_put_judgement(reply, &judgement);
    return reply;
}

json_t *bench_kernel_request(bench_husk_session *session, const char *what, json_t *request)
{
    if (!strcmp(what, "describe"))
        return describe(session, request);
    if (!strcmp(what, "compile_kernel"))
        return compile(session->described, request);
    if (!strcmp(what, "check_kernel"))
        return check(session->described, request);
    return NULL;
}
