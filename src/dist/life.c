// SPDX-License-Identifier: MIT
#include "dist/life.h"

#include <stdio.h>

enum { BEAT_GOODBYE = 0, BEAT_ALIVE = 1 };

static husk_status listen(husk_dist *dist, husk_error *error)
{
    int code =
        MPI_Irecv(&dist->beat_in, 1, MPI_INT32_T, dist->previous, HUSK__TAG_BEAT, dist->comm, &dist->beat_received);
    return husk__mpi_failed(code, "MPI_Irecv", error);
}

husk_status husk__dist_listen(husk_dist *dist, husk_error *error)
{
    if (dist->count == 1)
        return HUSK_OK;
    husk_status status = listen(dist, error);
    for (int32_t r = 0; r < dist->count && !status; r++)
        if (r != dist->rank)
            status = husk__mpi_failed(
                MPI_Irecv(&dist->leave_byte, 0, MPI_BYTE, r, HUSK__TAG_LEAVE, dist->comm, &dist->leave_received[r]),
                "MPI_Irecv", error);
    return status ? status
                  : husk__mpi_failed(MPI_Irecv(&dist->heard_failure, (int)sizeof dist->heard_failure, MPI_BYTE,
                                               MPI_ANY_SOURCE, HUSK__TAG_FAILURE, dist->comm, &dist->failure_received),
                                     "MPI_Irecv", error);
}

husk_status husk__dist_beat(husk_dist *dist, uint64_t now, husk_error *error)
{
    if (dist->count == 1)
        return HUSK_OK;
    int flag = 0;
    uint64_t silence = dist->params.silence_ms * HUSK__MS;
    husk_status status = husk__mpi_failed(MPI_Test(&dist->beat_sent, &flag, MPI_STATUS_IGNORE), "MPI_Test", error);
    if (!status && flag && !dist->said_goodbye &&
        (dist->has_left || !dist->said_at || now - dist->said_at > silence / 10)) {
        dist->said_goodbye = dist->has_left;
        dist->beat_out = dist->has_left ? BEAT_GOODBYE : BEAT_ALIVE;
        dist->said_at = now;
        status = husk__mpi_failed(
            MPI_Isend(&dist->beat_out, 1, MPI_INT32_T, dist->next, HUSK__TAG_BEAT, dist->comm, &dist->beat_sent),
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
    snprintf(error->text, sizeof error->text, "%s has not been heard from for %.1f s: it has died, or is stopped",
             husk__rank_text(dist, dist->previous, who), (double)(now - dist->heard_at) / 1e9);
    return HUSK_TIMEOUT;
}

husk_status husk__dist_hear_leaving(husk_dist *dist, uint64_t now, husk_error *error)
{
    for (int32_t r = 0; r < dist->count; r++) {
        int flag = 0;
        if (r == dist->rank || dist->left_at[r])
            continue;
        husk_status status =
            husk__mpi_failed(MPI_Test(&dist->leave_received[r], &flag, MPI_STATUS_IGNORE), "MPI_Test", error);
        if (status)
            return status;
        if (flag)
            dist->left_at[r] = now;
    }
    return HUSK_OK;
}

husk_status husk__dist_say_leaving(husk_dist *dist, uint64_t now, husk_error *error)
{
    husk_status status = HUSK_OK;
    for (int32_t r = 0; r < dist->count && !status; r++)
        if (r != dist->rank)
            status = husk__mpi_failed(
                MPI_Isend(&dist->leave_byte, 0, MPI_BYTE, r, HUSK__TAG_LEAVE, dist->comm, &dist->leave_sent[r]),
                "MPI_Isend", error);
    dist->has_left = true;
    dist->has_left_at = now;
    return status;
}

husk_status husk__dist_may_end(husk_dist *dist, uint64_t now, bool *may, husk_error *error)
{
    int flag = 0;
    *may = false;
    for (int32_t r = 0; r < dist->count; r++) {
        char who[128];
        if (r == dist->rank || dist->left_at[r])
            continue;
        if (now - dist->has_left_at <= dist->params.patience_ms * HUSK__MS)
            return HUSK_OK;
        error->status = HUSK_TIMEOUT;
        snprintf(error->text, sizeof error->text,
                 "%s has not come to husk_dist_release for %.1f s (patience_ms), though it is alive",
                 husk__rank_text(dist, r, who), (double)(now - dist->has_left_at) / 1e9);
        return HUSK_TIMEOUT;
    }
    if (dist->count > 1 && (!dist->said_goodbye || !dist->heard_goodbye))
        return HUSK_OK;
    husk_status status = husk__mpi_failed(MPI_Test(&dist->beat_sent, &flag, MPI_STATUS_IGNORE), "MPI_Test", error);
    if (status || !flag)
        return status;
    status =
        husk__mpi_failed(MPI_Testall(dist->count, dist->leave_sent, &flag, MPI_STATUSES_IGNORE), "MPI_Testall", error);
    *may = !status && flag;
    return status;
}
