// SPDX-License-Identifier: MIT
#include "dist/failure.h"

#include <stdio.h>

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

husk_status husk__dist_check(husk_dist *dist, const husk__dist_scope *scope)
{
    husk_status status = HUSK_OK;
    pthread_mutex_lock(&dist->lock);
    if (dist->has_failed)
        status = husk__dist_refuse(scope, (husk_status)dist->failure.status, "%s", dist->failure.text);
    pthread_mutex_unlock(&dist->lock);
    return status;
}

husk_status husk__dist_fail_with(husk_dist *dist, husk_status status, const char *text, const husk__dist_scope *scope)
{
    husk__dist_fail(dist, status, text);
    return husk__dist_refuse(scope, status, "%s", text);
}

husk_status husk__dist_hear_failures(husk_dist *dist, husk_error *error)
{
    int flag = 0;
    if (dist->count == 1)
        return HUSK_OK;
    husk_status status =
        husk__mpi_failed(MPI_Test(&dist->failure_received, &flag, MPI_STATUS_IGNORE), "MPI_Test", error);
    if (status || !flag)
        return status;
    husk__failure *heard = &dist->heard_failure;
    heard->text[sizeof heard->text - 1] = 0;
    fail(dist, heard->rank, (husk_status)heard->status, heard->text, false);
    return HUSK_OK;
}

void husk__dist_announce(husk_dist *dist)
{
    if (dist->has_announced)
        return;
    dist->has_announced = true;
    dist->told_failure = dist->failure;
    for (int32_t r = 0; r < dist->count; r++)
        if (r != dist->rank)
            MPI_Isend(&dist->told_failure, (int)sizeof dist->told_failure, MPI_BYTE, r, HUSK__TAG_FAILURE, dist->comm,
                      &dist->failure_sent[r]);
}
