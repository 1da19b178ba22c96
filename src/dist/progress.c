// SPDX-License-Identifier: MIT
// The thread that alone calls MPI: tasks, signs of life, failures, and the end.
#include "dist/progress.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "dist/failure.h"
#include "dist/life.h"
#include "dist/task.h"

static const uint64_t grace_ms = 2000; // from a failure to the end of all ranks, unless the program ends them
static const uint64_t leave_ms = 2000; // from a rank's leaving to the failure of what still waits for it

// ---- failures ----

static void last_words(husk_dist *dist)
{
    char text[HUSK_ERROR_TEXT_CAPACITY + 64];
    snprintf(text, sizeof text, "husk: rank %d of %d ends the run: %s", (int)dist->rank, (int)dist->count,
             dist->failure.text);
    if (dist->params.log)
        dist->params.log(dist->params.log_user, HUSK_LOG_WARNING, text);
    else
        dprintf(STDERR_FILENO, "%s\n", text);
}

// ---- tasks ----

// What a task waits for in vain, in words; false: it may wait on.
static bool is_hopeless(husk_dist *dist, const husk__task *task, uint64_t now, husk_error *error)
{
    char who[128];
    double waited = (double)(now - task->since) / 1e9;
    int32_t rank = husk__task_waits_for(task);
    error->status = HUSK_TIMEOUT;
    if (rank != HUSK__NONE && dist->left_at[rank] && now - dist->left_at[rank] > leave_ms * HUSK__MS &&
        now - task->since > leave_ms * HUSK__MS) {
        error->status = HUSK_INVALID_ARGUMENT;
        snprintf(error->text, sizeof error->text,
                 "%s has come to husk_dist_release, and is still needed: %s waits for it",
                 husk__rank_text(dist, rank, who), task->what);
        return true;
    }
    if (now - task->since <= dist->params.patience_ms * HUSK__MS)
        return false;
    if (rank == HUSK__NONE)
        snprintf(error->text, sizeof error->text, "%s: the device has not come to its end for %.1f s (patience_ms)",
                 task->what, waited);
    else
        snprintf(error->text, sizeof error->text,
                 "%s: %s has not come to it for %.1f s (patience_ms), though it is alive", task->what,
                 husk__rank_text(dist, rank, who), waited);
    return true;
}

static husk_status advance(husk_dist *dist, husk__task *task, uint64_t now, bool *has_ended, bool *busy,
                           husk_error *error)
{
    *has_ended = false;
    if (!task->has_begun) {
        task->has_begun = true;
        task->since = now;
    }
    husk_status status = task->advance(dist, task, has_ended, error);
    if (status || *has_ended || task->steps != task->seen_steps) {
        task->seen_steps = task->steps;
        task->since = now;
        *busy = true;
        return status;
    }
    return is_hopeless(dist, task, now, error) ? error->status : HUSK_OK;
}

static husk_status advance_all(husk_dist *dist, uint64_t now, bool *busy, husk_error *error)
{
    husk__task **link = &dist->active;
    int windowed = 0;
    while (*link) {
        husk__task *task = *link;
        bool has_ended;
        if (task->is_windowed && ++windowed > HUSK__WINDOW) {
            link = &task->next;
            continue;
        }
        husk_status status = advance(dist, task, now, &has_ended, busy, error);
        if (status)
            return status;
        if (!has_ended) {
            link = &task->next;
            continue;
        }
        *link = task->next;
        pthread_mutex_lock(&dist->lock);
        task->has_ended = true;
        pthread_cond_broadcast(&dist->done);
        pthread_mutex_unlock(&dist->lock);
    }
    return HUSK_OK;
}

static void take_posted(husk_dist *dist)
{
    husk__task **end = &dist->active;
    while (*end)
        end = &(*end)->next;
    *end = dist->posted;
    dist->posted = NULL;
    dist->posted_end = &dist->posted;
}

// ---- the loop ----

// Under the lock. New tasks end the pause at once; messages are looked for again and again.
static void pause_for(husk_dist *dist, bool busy, int *idle)
{
    if (busy || dist->posted) { // what was posted since take_posted has signalled to nobody
        *idle = 0;
        return;
    }
    bool has_work = dist->active != NULL;
    ++*idle;
    if (has_work && *idle < 50) {
        pthread_mutex_unlock(&dist->lock);
        sched_yield();
        pthread_mutex_lock(&dist->lock);
        return;
    }
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    long pause_ns = has_work ? (*idle < 500 ? 50000 : 500000) : 20000000;
    until.tv_nsec += pause_ns;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&dist->work, &dist->lock, &until);
}

static husk_status go_on(husk_dist *dist, bool *busy, bool *may, husk_error *error)
{
    uint64_t now = husk__dist_now();
    husk_status status = husk__dist_hear_failures(dist, error);
    if (!status)
        status = husk__dist_beat(dist, now, error);
    if (!status)
        status = husk__dist_hear_leaving(dist, now, error);
    if (!status)
        status = advance_all(dist, now, busy, error);
    pthread_mutex_lock(&dist->lock);
    bool leaves = dist->is_leaving && !dist->has_left;
    pthread_mutex_unlock(&dist->lock);
    if (!status && leaves && !dist->active)
        status = husk__dist_say_leaving(dist, now, error);
    if (!status && dist->has_left)
        status = husk__dist_may_end(dist, now, may, error);
    return status;
}

// After a failure nothing goes on but the news of it.
static void after_failure(husk_dist *dist, bool is_ending)
{
    uint64_t since = husk__dist_now() - dist->failed_at;
    int flag = 0;
    if (dist->to_announce) {
        husk__dist_announce(dist);
        MPI_Testall(dist->count, dist->failure_sent, &flag, MPI_STATUSES_IGNORE);
    }
    if (!is_ending && since > grace_ms * HUSK__MS) {
        last_words(dist);
        MPI_Abort(dist->comm, 1);
    }
}

static void *run(void *user)
{
    husk_dist *dist = user;
    int idle = 0;
    bool may = false;
    pthread_mutex_lock(&dist->lock);
    while (!may) {
        take_posted(dist);
        bool has_failed = dist->has_failed, is_ending = dist->is_ending, busy = false;
        pthread_mutex_unlock(&dist->lock);
        husk_error error = {0};
        if (has_failed)
            after_failure(dist, is_ending);
        else {
            husk_status status = go_on(dist, &busy, &may, &error);
            if (status)
                husk__dist_fail(dist, status, error.text);
        }
        pthread_mutex_lock(&dist->lock);
        if (is_ending)
            break;
        if (!may)
            pause_for(dist, busy, &idle);
    }
    pthread_mutex_unlock(&dist->lock);
    return NULL;
}

// ---- begin and end, in the program's thread ----

static void cancel(MPI_Request *request)
{
    if (*request == MPI_REQUEST_NULL)
        return;
    MPI_Cancel(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

void husk__dist_stop_listening(husk_dist *dist)
{
    cancel(&dist->beat_received);
    cancel(&dist->failure_received);
    for (int32_t r = 0; r < dist->count; r++)
        cancel(&dist->leave_received[r]);
}

husk_status husk__dist_start(husk_dist *dist, const husk__dist_scope *scope)
{
    husk_error error = {0};
    dist->next = (dist->rank + 1) % dist->count;
    dist->previous = (dist->rank + dist->count - 1) % dist->count;
    dist->beat_sent = dist->beat_received = dist->failure_received = MPI_REQUEST_NULL;
    size_t count = (size_t)dist->count;
    dist->failure_sent = malloc(sizeof *dist->failure_sent * count);
    dist->leave_sent = malloc(sizeof *dist->leave_sent * count);
    dist->leave_received = malloc(sizeof *dist->leave_received * count);
    dist->left_at = calloc(count, sizeof *dist->left_at);
    if (!dist->failure_sent || !dist->leave_sent || !dist->leave_received || !dist->left_at)
        return husk__dist_no_memory(scope);
    for (int32_t r = 0; r < dist->count; r++)
        dist->failure_sent[r] = dist->leave_sent[r] = dist->leave_received[r] = MPI_REQUEST_NULL;
    dist->heard_at = dist->looked_at = husk__dist_now();
    const husk_status status = husk__dist_listen(dist, &error);
    if (status) {
        husk__dist_stop_listening(dist);
        return husk__dist_refuse(scope, status, "%s", error.text);
    }
    dist->posted_end = &dist->posted;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&dist->work, &attributes);
    pthread_cond_init(&dist->done, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&dist->lock, NULL);
    dist->has_lock = true;
    if (pthread_create(&dist->thread, NULL, run, dist)) {
        husk__dist_stop_listening(dist);
        return husk__dist_refuse(scope, HUSK_OUT_OF_HOST_MEMORY, "no thread could be started");
    }
    dist->has_thread = true;
    return HUSK_OK;
}

bool husk__dist_stop(husk_dist *dist)
{
    pthread_mutex_lock(&dist->lock);
    dist->is_leaving = true;
    pthread_cond_signal(&dist->work);
    pthread_mutex_unlock(&dist->lock);
    // It ends when all ranks have left, or fails; then it goes on with its news for a moment.
    pthread_mutex_lock(&dist->lock);
    bool has_failed = dist->has_failed;
    pthread_mutex_unlock(&dist->lock);
    if (!has_failed) {
        pthread_join(dist->thread, NULL);
        dist->has_thread = false;
    }
    return !dist->has_failed;
}

void husk__dist_end_all(husk_dist *dist)
{
    if (dist->has_thread) {
        struct timespec moment = {0, 300000000}; // for the news to arrive, and what was printed
        nanosleep(&moment, NULL);
        pthread_mutex_lock(&dist->lock);
        dist->is_ending = true;
        pthread_cond_signal(&dist->work);
        pthread_mutex_unlock(&dist->lock);
        pthread_join(dist->thread, NULL);
    }
    MPI_Abort(dist->comm, 1);
}
