// SPDX-License-Identifier: MIT
// Building programs before they are needed, an operator a thread.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "select/op.h"

enum { MAX_THREADS = 16, MAX_OPS = 128 };

typedef struct job {
    husk_context *context;
    const husk__op *op;
    husk_status status;
    husk_error error;
    pthread_t thread;
} job;

static void *run_job(void *argument)
{
    job *own = argument;
    husk_queue *queue;
    husk__scope scope = {"husk_context_prewarm", &own->error};
    own->status = husk_queue_create(own->context, NULL, &queue, &own->error);
    if (own->status != HUSK_OK)
        return NULL;
    own->status = own->op->prewarm(queue, &scope);
    if (own->status == HUSK_OK)
        own->status = husk_queue_finish(queue);
    if (own->status != HUSK_OK && own->error.status == HUSK_OK) // calls on a queue leave theirs there
        own->error = *husk_queue_error(queue);
    husk_queue_release(queue);
    return NULL;
}

static husk_status run_jobs(job *jobs, size_t count, const husk__scope *scope)
{
    husk_status status = HUSK_OK;
    for (size_t first = 0; first < count; first += MAX_THREADS) {
        size_t batch = count - first < MAX_THREADS ? count - first : MAX_THREADS;
        bool is_started[MAX_THREADS];
        for (size_t i = 0; i < batch; ++i) {
            is_started[i] = pthread_create(&jobs[first + i].thread, NULL, run_job, &jobs[first + i]) == 0;
            if (!is_started[i])
                run_job(&jobs[first + i]);
        }
        for (size_t i = 0; i < batch; ++i)
            if (is_started[i])
                pthread_join(jobs[first + i].thread, NULL);
    }
    for (size_t i = 0; i < count && status == HUSK_OK; ++i) {
        status = jobs[i].status;
        if (status != HUSK_OK)
            husk__fail_opencl(scope, status, jobs[i].error.opencl_code, "%s: %s", jobs[i].op->name, jobs[i].error.text);
    }
    return status;
}

husk_status husk_context_prewarm(husk_context *context, const char *const *ops, size_t count, husk_error *error)
{
    husk__scope scope;
    husk_status status = husk__context_call_begin(context, "husk_context_prewarm", error, &scope);
    if (status != HUSK_OK)
        return status;
    if (count > 0 && !ops)
        return husk__reject(&scope, "ops", "is NULL, but count is %zu", count);
    if (count == 0 && ops)
        return HUSK_OK; // a list that happens to be empty
    const husk__op *all[MAX_OPS];
    size_t known = 0;
    for (size_t i = 0; husk__ops[i] && known < MAX_OPS; ++i) {
        if (!strstr(husk__ops[i]->name, "_backward")) // who only infers waits for no gradient
            all[known++] = husk__ops[i];
    }
    size_t job_count = count ? count : known;
    job *jobs = calloc(job_count ? job_count : 1, sizeof *jobs);
    if (!jobs)
        return husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory to prewarm");
    for (size_t i = 0; i < job_count && status == HUSK_OK; ++i) {
        jobs[i].context = context;
        jobs[i].op = count ? husk__op_find(ops[i]) : all[i];
        if (!jobs[i].op)
            status = husk__reject(&scope, "ops", "\"%s\" is no operator", ops[i] ? ops[i] : "(null)");
    }
    if (status == HUSK_OK)
        status = run_jobs(jobs, job_count, &scope);
    free(jobs);
    return status;
}
