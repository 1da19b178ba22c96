// SPDX-License-Identifier: MIT
// The thread that alone calls MPI: tasks, signs of life, failures, and the end.
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dist/dist.h"

enum { BEAT_GOODBYE = 0, BEAT_ALIVE = 1 };

static const uint64_t ms = 1000000;
static const uint64_t grace_ms = 2000; // from a failure to the end of all ranks, unless the program ends them
static const uint64_t leave_ms = 2000; // from a rank's leaving to the failure of what still waits for it

// ---- requests ----

husk_status husk__mpi_failed(int code, const char *call, husk_error *error)
{
    if (code == MPI_SUCCESS)
        return HUSK_OK;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    error->status = HUSK_IO;
    snprintf(error->text, sizeof error->text, "%s: %s", call, text);
    return HUSK_IO;
}

husk_status husk__task_send(husk_dist *dist, husk__task *task, const void *data, size_t bytes, int32_t peer,
                            int tag, husk_error *error)
{
    int code = MPI_Isend(data, (int)bytes, MPI_BYTE, peer, tag, dist->comm, &task->requests[task->open]);
    task->peers[task->open] = peer;
    task->open += code == MPI_SUCCESS;
    return husk__mpi_failed(code, "MPI_Isend", error);
}

husk_status husk__task_receive(husk_dist *dist, husk__task *task, void *data, size_t bytes, int32_t peer,
                               int tag, husk_error *error)
{
    int code = MPI_Irecv(data, (int)bytes, MPI_BYTE, peer, tag, dist->comm, &task->requests[task->open]);
    task->peers[task->open] = peer;
    task->open += code == MPI_SUCCESS;
    return husk__mpi_failed(code, "MPI_Irecv", error);
}

static int32_t find_too_long(const husk__task *task)
{
    for (int i = 0; i < task->open; i++) {
        int class = MPI_SUCCESS;
        if (MPI_Error_class(task->statuses[i].MPI_ERROR, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE)
            return task->peers[i];
    }
    return HUSK__NONE;
}

husk_status husk__task_settled(husk__task *task, bool *settled, husk_error *error)
{
    int flag = 0;
    int code = MPI_Testall(task->open, task->requests, &flag, task->statuses);
    *settled = flag != 0;
    task->too_long_from = code == MPI_ERR_IN_STATUS ? find_too_long(task) : HUSK__NONE;
    if (flag)
        task->open = 0;
    char call[sizeof task->what + 16] = "";
    if (code != MPI_SUCCESS)
        snprintf(call, sizeof call, "%s: MPI_Testall", task->what);
    return husk__mpi_failed(code, call, error);
}

husk_status husk__task_device(const husk__task *task, husk_event *event, bool *settled, husk_error *error)
{
    husk_status status = husk_event_wait(event, 0);
    *settled = status == HUSK_OK;
    if (status == HUSK_OK || status == HUSK_TIMEOUT)
        return HUSK_OK;
    error->status = status;
    snprintf(error->text, sizeof error->text, "%s: the device: %s", task->what, husk_status_text(status));
    return status;
}

// The first rank that a task waits for; HUSK__NONE: for the device.
static int32_t waits_for(const husk__task *task)
{
    for (int i = 0; i < task->open; i++) {
        int flag = 0;
        if (task->requests[i] != MPI_REQUEST_NULL &&
            MPI_Request_get_status(task->requests[i], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag)
            return task->peers[i];
    }
    return HUSK__NONE;
}

// ---- failures ----

static void fail(husk_dist *dist, int32_t rank, husk_status status, const char *text, bool announce)
{
    pthread_mutex_lock(&dist->lock);
    if (!dist->has_failed) {
        dist->has_failed = true;
        dist->to_announce = announce;
        dist->failure.status = status;
        dist->failure.rank = rank;
        snprintf(dist->failure.text, sizeof dist->failure.text, "%s", text);
        dist->failed_at = husk__dist_now();
    }
    pthread_cond_broadcast(&dist->done);
    pthread_cond_signal(&dist->work);
    pthread_mutex_unlock(&dist->lock);
}

void husk__dist_fail(husk_dist *dist, husk_status status, const char *text)
{
    char who[128], whole[HUSK_ERROR_TEXT_CAPACITY];
    husk__rank_text(dist, dist->rank, who);
    snprintf(whole, sizeof whole, "%s: %.1800s", who, text);
    fail(dist, dist->rank, status, whole, true);
}

static husk_status hear_failures(husk_dist *dist, husk_error *error)
{
    int flag = 0;
    if (dist->count == 1)
        return HUSK_OK;
    husk_status status = husk__mpi_failed(MPI_Test(&dist->failure_received, &flag, MPI_STATUS_IGNORE),
                                          "MPI_Test", error);
    if (status || !flag)
        return status;
    husk__failure *heard = &dist->heard_failure;
    heard->text[sizeof heard->text - 1] = 0;
    fail(dist, heard->rank, (husk_status)heard->status, heard->text, false);
    return HUSK_OK;
}

// Tells all others, once.
static void announce(husk_dist *dist)
{
    if (dist->has_announced)
        return;
    dist->has_announced = true;
    dist->told_failure = dist->failure;
    for (int32_t r = 0; r < dist->count; r++)
        if (r != dist->rank)
            MPI_Isend(&dist->told_failure, (int)sizeof dist->told_failure, MPI_BYTE, r, HUSK__TAG_FAILURE,
                      dist->comm, &dist->failure_sent[r]);
}

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

// ---- signs of life ----

static husk_status listen(husk_dist *dist, husk_error *error)
{
    int code = MPI_Irecv(&dist->beat_in, 1, MPI_INT32_T, dist->previous, HUSK__TAG_BEAT, dist->comm,
                         &dist->beat_received);
    return husk__mpi_failed(code, "MPI_Irecv", error);
}

// Each rank is heard by the next one, the last by the first.
static husk_status beat(husk_dist *dist, uint64_t now, husk_error *error)
{
    if (dist->count == 1)
        return HUSK_OK;
    int flag = 0;
    uint64_t silence = dist->params.silence_ms * ms;
    husk_status status =
        husk__mpi_failed(MPI_Test(&dist->beat_sent, &flag, MPI_STATUS_IGNORE), "MPI_Test", error);
    if (!status && flag && !dist->said_goodbye &&
        (dist->has_left || !dist->said_at || now - dist->said_at > silence / 10)) {
        dist->said_goodbye = dist->has_left;
        dist->beat_out = dist->has_left ? BEAT_GOODBYE : BEAT_ALIVE;
        dist->said_at = now;
        status = husk__mpi_failed(MPI_Isend(&dist->beat_out, 1, MPI_INT32_T, dist->next, HUSK__TAG_BEAT,
                                            dist->comm, &dist->beat_sent),
                                  "MPI_Isend", error);
    }
    // Whoever was stopped itself has not listened.
    if (now - dist->looked_at > silence / 2)
        dist->heard_at = now;
    dist->looked_at = now;
    if (status || dist->heard_goodbye)
        return status;
    status = husk__mpi_failed(MPI_Test(&dist->beat_received, &flag, MPI_STATUS_IGNORE), "MPI_Test", error);
    if (!status && flag) {
        dist->heard_at = now;
        dist->heard_goodbye = dist->beat_in == BEAT_GOODBYE;
        return dist->heard_goodbye ? HUSK_OK : listen(dist, error);
    }
    if (status || now - dist->heard_at <= silence)
        return status;
    char who[128];
    error->status = HUSK_TIMEOUT;
    snprintf(error->text, sizeof error->text,
             "%s has not been heard from for %.1f s: it has died, or is stopped",
             husk__rank_text(dist, dist->previous, who), (double)(now - dist->heard_at) / 1e9);
    return HUSK_TIMEOUT;
}

// ---- leaving ----

static husk_status hear_leaving(husk_dist *dist, uint64_t now, husk_error *error)
{
    for (int32_t r = 0; r < dist->count; r++) {
        int flag = 0;
        if (r == dist->rank || dist->left_at[r])
            continue;
        husk_status status = husk__mpi_failed(MPI_Test(&dist->leave_received[r], &flag, MPI_STATUS_IGNORE),
                                              "MPI_Test", error);
        if (status)
            return status;
        if (flag)
            dist->left_at[r] = now;
    }
    return HUSK_OK;
}

static husk_status say_leaving(husk_dist *dist, uint64_t now, husk_error *error)
{
    husk_status status = HUSK_OK;
    for (int32_t r = 0; r < dist->count && !status; r++)
        if (r != dist->rank)
            status = husk__mpi_failed(MPI_Isend(&dist->leave_byte, 0, MPI_BYTE, r, HUSK__TAG_LEAVE,
                                                dist->comm, &dist->leave_sent[r]),
                                      "MPI_Isend", error);
    dist->has_left = true;
    dist->has_left_at = now;
    return status;
}

// All have left, all is said and heard. A rank that hangs is not waited for longer than in any other common call.
static husk_status may_end(husk_dist *dist, uint64_t now, bool *may, husk_error *error)
{
    int flag = 0;
    *may = false;
    for (int32_t r = 0; r < dist->count; r++) {
        char who[128];
        if (r == dist->rank || dist->left_at[r])
            continue;
        if (now - dist->has_left_at <= dist->params.patience_ms * ms)
            return HUSK_OK;
        error->status = HUSK_TIMEOUT;
        snprintf(error->text, sizeof error->text,
                 "%s has not come to husk_dist_release for %.1f s (patience_ms), though it is alive",
                 husk__rank_text(dist, r, who), (double)(now - dist->has_left_at) / 1e9);
        return HUSK_TIMEOUT;
    }
    if (dist->count > 1 && (!dist->said_goodbye || !dist->heard_goodbye))
        return HUSK_OK;
    husk_status status = husk__mpi_failed(MPI_Test(&dist->beat_sent, &flag, MPI_STATUS_IGNORE), "MPI_Test",
                                          error);
    if (status || !flag)
        return status;
    status = husk__mpi_failed(MPI_Testall(dist->count, dist->leave_sent, &flag, MPI_STATUSES_IGNORE),
                              "MPI_Testall", error);
    *may = !status && flag;
    return status;
}

// ---- tasks ----

// What a task waits for in vain, in words; false: it may wait on.
static bool is_hopeless(husk_dist *dist, const husk__task *task, uint64_t now, husk_error *error)
{
    char who[128];
    double waited = (double)(now - task->since) / 1e9;
    int32_t rank = waits_for(task);
    error->status = HUSK_TIMEOUT;
    if (rank != HUSK__NONE && dist->left_at[rank] && now - dist->left_at[rank] > leave_ms * ms &&
        now - task->since > leave_ms * ms) {
        error->status = HUSK_INVALID_ARGUMENT;
        snprintf(error->text, sizeof error->text,
                 "%s has come to husk_dist_release, and is still needed: %s waits for it",
                 husk__rank_text(dist, rank, who), task->what);
        return true;
    }
    if (now - task->since <= dist->params.patience_ms * ms)
        return false;
    if (rank == HUSK__NONE)
        snprintf(error->text, sizeof error->text,
                 "%s: the device has not come to its end for %.1f s (patience_ms)", task->what, waited);
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
    husk_status status = hear_failures(dist, error);
    if (!status)
        status = beat(dist, now, error);
    if (!status)
        status = hear_leaving(dist, now, error);
    if (!status)
        status = advance_all(dist, now, busy, error);
    pthread_mutex_lock(&dist->lock);
    bool leaves = dist->is_leaving && !dist->has_left;
    pthread_mutex_unlock(&dist->lock);
    if (!status && leaves && !dist->active)
        status = say_leaving(dist, now, error);
    if (!status && dist->has_left)
        status = may_end(dist, now, may, error);
    return status;
}

// After a failure nothing goes on but the news of it.
static void after_failure(husk_dist *dist, bool is_ending)
{
    uint64_t since = husk__dist_now() - dist->failed_at;
    int flag = 0;
    if (dist->to_announce) {
        announce(dist);
        MPI_Testall(dist->count, dist->failure_sent, &flag, MPI_STATUSES_IGNORE);
    }
    if (!is_ending && since > grace_ms * ms) {
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

static husk_status listen_to_all(husk_dist *dist, husk_error *error)
{
    if (dist->count == 1)
        return HUSK_OK;
    husk_status status = listen(dist, error);
    for (int32_t r = 0; r < dist->count && !status; r++)
        if (r != dist->rank)
            status = husk__mpi_failed(MPI_Irecv(&dist->leave_byte, 0, MPI_BYTE, r, HUSK__TAG_LEAVE,
                                                dist->comm, &dist->leave_received[r]),
                                      "MPI_Irecv", error);
    return status ? status
                  : husk__mpi_failed(MPI_Irecv(&dist->heard_failure, (int)sizeof dist->heard_failure, MPI_BYTE,
                                               MPI_ANY_SOURCE, HUSK__TAG_FAILURE, dist->comm,
                                               &dist->failure_received),
                                     "MPI_Irecv", error);
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
    const husk_status status = listen_to_all(dist, &error);
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

// ---- tasks, in the program's thread ----

bool husk__task_init(husk__task *task, int requests)
{
    task->requests = malloc(sizeof *task->requests * (size_t)(requests + 1));
    task->peers = malloc(sizeof *task->peers * (size_t)(requests + 1));
    task->statuses = malloc(sizeof *task->statuses * (size_t)(requests + 1));
    if (task->requests && task->peers && task->statuses)
        return true;
    husk__task_clear(task);
    return false;
}

void husk__task_clear(husk__task *task)
{
    free(task->requests);
    free(task->peers);
    free(task->statuses);
    task->requests = NULL;
    task->peers = NULL;
    task->statuses = NULL;
}

void husk__task_post(husk_dist *dist, husk__task *task)
{
    task->next = NULL;
    task->open = task->steps = task->seen_steps = 0;
    task->too_long_from = HUSK__NONE;
    task->has_begun = task->has_ended = false;
    pthread_mutex_lock(&dist->lock);
    *dist->posted_end = task;
    dist->posted_end = &task->next;
    pthread_cond_signal(&dist->work);
    pthread_mutex_unlock(&dist->lock);
}

husk_status husk__dist_check(husk_dist *dist, const husk__dist_scope *scope)
{
    husk_status status = HUSK_OK;
    pthread_mutex_lock(&dist->lock);
    if (dist->has_failed)
        status = husk__dist_refuse(scope, (husk_status)dist->failure.status, "%s", dist->failure.text);
    pthread_mutex_unlock(&dist->lock);
    return status;
}

husk_status husk__task_wait(husk_dist *dist, husk__task *task, const husk__dist_scope *scope)
{
    pthread_mutex_lock(&dist->lock);
    while (!task->has_ended && !dist->has_failed)
        pthread_cond_wait(&dist->done, &dist->lock);
    pthread_mutex_unlock(&dist->lock);
    return husk__dist_check(dist, scope);
}

husk_status husk__dist_fail_with(husk_dist *dist, husk_status status, const char *text,
                                 const husk__dist_scope *scope)
{
    husk__dist_fail(dist, status, text);
    return husk__dist_refuse(scope, status, "%s", text);
}
