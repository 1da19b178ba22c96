// SPDX-License-Identifier: MIT
#include "dist/task.h"

#include <stdio.h>
#include <stdlib.h>

#include "dist/failure.h"

// ---- the library's thread ----

husk_status husk__task_send(husk_dist *dist, husk__task *task, const void *data, size_t bytes, int32_t peer, int tag,
                            husk_error *error)
{
    int code = MPI_Isend(data, (int)bytes, MPI_BYTE, peer, tag, dist->comm, &task->requests[task->open]);
    task->peers[task->open] = peer;
    task->open += code == MPI_SUCCESS;
    return husk__mpi_failed(code, "MPI_Isend", error);
}

husk_status husk__task_receive(husk_dist *dist, husk__task *task, void *data, size_t bytes, int32_t peer, int tag,
                               husk_error *error)
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

int32_t husk__task_waits_for(const husk__task *task)
{
    for (int i = 0; i < task->open; i++) {
        int flag = 0;
        if (task->requests[i] != MPI_REQUEST_NULL &&
            MPI_Request_get_status(task->requests[i], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag)
            return task->peers[i];
    }
    return HUSK__NONE;
}

// ---- the program's thread ----

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

husk_status husk__task_wait(husk_dist *dist, husk__task *task, const husk__dist_scope *scope)
{
    pthread_mutex_lock(&dist->lock);
    while (!task->has_ended && !dist->has_failed)
        pthread_cond_wait(&dist->done, &dist->lock);
    pthread_mutex_unlock(&dist->lock);
    return husk__dist_check(dist, scope);
}
