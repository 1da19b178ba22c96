// SPDX-License-Identifier: MIT
// A rank: its beginning, its end, and what it is.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dist/failure.h"
#include "dist/identity.h"
#include "dist/progress.h"

enum { SILENCE_MS = 5000, PATIENCE_MS = 600000, LEAST_SILENCE_MS = 100 };

// ---- beginning ----

// First of all, for nothing bounds the wait of the others' MPI_Init.
static husk_status begin_mpi(bool *owns_mpi, const husk__dist_scope *scope)
{
    int is_initialised = 0, is_finalised = 0, level = MPI_THREAD_SINGLE;
    MPI_Initialized(&is_initialised);
    MPI_Finalized(&is_finalised);
    if (is_finalised)
        return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "MPI has been finalised in this process");
    if (!is_initialised) {
        int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
        husk_error error;
        if (husk__mpi_failed(code, "MPI_Init_thread", &error))
            return husk__dist_refuse(scope, HUSK_IO, "%s", error.text);
        *owns_mpi = true;
    } else
        MPI_Query_thread(&level);
    if (level < MPI_THREAD_SERIALIZED)
        return husk__dist_refuse(scope, HUSK_UNSUPPORTED,
                                 "MPI allows no other thread than the first one (MPI_THREAD_SERIALIZED is "
                                 "needed)");
    return HUSK_OK;
}

// Where ranks are missing, MPI_Finalize would wait for them, too. A program that ends without it is ended by its
// launcher, with all ranks.
static void end_mpi(bool owns_mpi, bool has_met)
{
    int count = 1;
    if (!owns_mpi)
        return;
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    if (has_met || count == 1)
        MPI_Finalize();
}

// What is broken goes into `refused`: all ranks are told by the one that it is.
static void take_params(husk_dist *dist, const husk_dist_params *params, char refused[HUSK__NAME_BYTES])
{
    husk_error said;
    const husk__dist_scope scope = {"", &said};
    if (husk__dist_struct(&dist->params, sizeof dist->params, "HUSK_DIST_PARAMS", params, "params", &scope))
        snprintf(refused, HUSK__NAME_BYTES, "%.*s", HUSK__NAME_BYTES - 1, said.text + strlen(": "));
    else if (dist->params.silence_ms && dist->params.silence_ms < LEAST_SILENCE_MS)
        snprintf(refused, HUSK__NAME_BYTES, "params: silence_ms: at least %d", LEAST_SILENCE_MS);
    if (dist->params.silence_ms == 0)
        dist->params.silence_ms = SILENCE_MS;
    if (dist->params.patience_ms == 0)
        dist->params.patience_ms = PATIENCE_MS;
}

static MPI_Comm whole(const husk_dist *dist)
{
    return dist->params.communicator ? *(const MPI_Comm *)dist->params.communicator : MPI_COMM_WORLD;
}

// All ranks have come, with what can fail in one alone behind them: from here on MPI's own calls may block.
static husk_status meet(husk_dist *dist, const char *refused, const husk__dist_scope *scope)
{
    const struct timespec moment = {0, 200000};
    const uint64_t since = husk__dist_now(), patience = dist->params.patience_ms * HUSK__MS;
    husk_error error;
    MPI_Request met;
    int count = 1, flag = 0;
    MPI_Comm_size(whole(dist), &count);
    dist->ranks = calloc((size_t)count, sizeof *dist->ranks);
    if (!dist->ranks)
        return husk__dist_no_memory(scope);
    husk_status status = husk__mpi_failed(MPI_Ibarrier(whole(dist), &met), "MPI_Ibarrier", &error);
    while (!status && !flag && husk__dist_now() - since <= patience) {
        status = husk__mpi_failed(MPI_Test(&met, &flag, MPI_STATUS_IGNORE), "MPI_Test", &error);
        if (!flag)
            nanosleep(&moment, NULL);
    }
    if (status)
        return husk__dist_refuse(scope, status, "%s", error.text);
    if (!flag && refused[0])
        return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "%s", refused);
    if (!flag)
        return husk__dist_refuse(scope, HUSK_TIMEOUT, "not all ranks have come to it for %.1f s (patience_ms)",
                                 (double)(husk__dist_now() - since) / 1e9);
    return HUSK_OK;
}

static husk_status find_place(husk_dist *dist, const husk__dist_scope *scope)
{
    husk_error error;
    MPI_Comm local = MPI_COMM_NULL;
    int rank = 0, count = 1, local_rank = 0, local_count = 1;
    husk_status status = husk__mpi_failed(MPI_Comm_dup(whole(dist), &dist->comm), "MPI_Comm_dup", &error);
    if (!status)
        status =
            husk__mpi_failed(MPI_Comm_set_errhandler(dist->comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", &error);
    if (!status) {
        MPI_Comm_rank(dist->comm, &rank);
        MPI_Comm_size(dist->comm, &count);
        status = husk__mpi_failed(MPI_Comm_split_type(dist->comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &local),
                                  "MPI_Comm_split_type", &error);
    }
    if (status)
        return husk__dist_refuse(scope, status, "%s", error.text);
    MPI_Comm_rank(local, &local_rank);
    MPI_Comm_size(local, &local_count);
    MPI_Comm_free(&local);
    dist->rank = rank;
    dist->count = count;
    dist->local_rank = local_rank;
    dist->local_count = local_count;
    return HUSK_OK;
}

static husk_status exchange_identities(husk_dist *dist, const char *refused, const husk__dist_scope *scope)
{
    husk__identity own = {.process = (int64_t)getpid()};
    husk_error error;
    snprintf(own.refused, sizeof own.refused, "%s", refused);
    snprintf(own.version, sizeof own.version, "%s", husk_version());
    if (gethostname(own.host, sizeof own.host - 1))
        snprintf(own.host, sizeof own.host, "unknown host");
    husk_status status = husk__mpi_failed(
        MPI_Allgather(&own, (int)sizeof own, MPI_BYTE, dist->ranks, (int)sizeof own, MPI_BYTE, dist->comm),
        "MPI_Allgather", &error);
    if (status)
        return husk__dist_refuse(scope, status, "%s", error.text);
    char text[HUSK_ERROR_TEXT_CAPACITY];
    if (husk__versions_differ(dist, text, sizeof text))
        return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "%s", text);
    for (int32_t r = 0; r < dist->count; r++) // in all ranks: none waits for one that is refused
        if (dist->ranks[r].refused[0])
            return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "%s: %s", husk__rank_text(dist, r, text),
                                     dist->ranks[r].refused);
    return HUSK_OK;
}

// Launchers speak of processes when one of them ends.
static void introduce(const husk_dist *dist)
{
    char text[128];
    for (int32_t r = 0; r < dist->count && dist->rank == 0 && dist->params.log; r++)
        dist->params.log(dist->params.log_user, HUSK_LOG_INFORMATION, husk__rank_text(dist, r, text));
}

static void forget(husk_dist *dist)
{
    const bool has_met = dist->comm != MPI_COMM_NULL;
    if (has_met)
        MPI_Comm_free(&dist->comm);
    end_mpi(dist->owns_mpi, has_met);
    if (dist->has_lock) {
        pthread_mutex_destroy(&dist->lock);
        pthread_cond_destroy(&dist->work);
        pthread_cond_destroy(&dist->done);
    }
    free(dist->ranks);
    free(dist->failure_sent);
    free(dist->leave_sent);
    free(dist->leave_received);
    free(dist->left_at);
    free(dist);
}

husk_status husk_dist_create(const husk_dist_params *params, husk_dist **dist, husk_error *error)
{
    const husk__dist_scope scope = {"husk_dist_create", error};
    if (!dist)
        return husk__dist_refuse(&scope, HUSK_INVALID_ARGUMENT, "dist: it is NULL");
    *dist = NULL;
    bool owns_mpi = false;
    char refused[HUSK__NAME_BYTES] = "";
    husk_status status = begin_mpi(&owns_mpi, &scope);
    husk_dist *own = status ? NULL : calloc(1, sizeof *own);
    if (!own) {
        end_mpi(owns_mpi, false);
        return status ? status : husk__dist_no_memory(&scope);
    }
    own->comm = MPI_COMM_NULL;
    own->owns_mpi = owns_mpi;
    take_params(own, params, refused);
    status = meet(own, refused, &scope);
    if (!status)
        status = find_place(own, &scope);
    if (!status)
        status = exchange_identities(own, refused, &scope);
    if (!status)
        status = husk__dist_start(own, &scope);
    if (status) {
        forget(own);
        return status;
    }
    introduce(own);
    *dist = own;
    return HUSK_OK;
}

void husk_dist_release(husk_dist *dist)
{
    if (!dist)
        return;
    if (!husk__dist_stop(dist))
        husk__dist_end_all(dist);
    husk__dist_stop_listening(dist);
    forget(dist);
}

// ---- what it is ----

int32_t husk_dist_rank(const husk_dist *dist)
{
    return dist ? dist->rank : 0;
}

int32_t husk_dist_count(const husk_dist *dist)
{
    return dist ? dist->count : 1;
}

int32_t husk_dist_local_rank(const husk_dist *dist)
{
    return dist ? dist->local_rank : 0;
}

int32_t husk_dist_local_count(const husk_dist *dist)
{
    return dist ? dist->local_count : 1;
}

const husk_error *husk_dist_error(const husk_dist *dist)
{
    static const husk_error none = {HUSK_INVALID_ARGUMENT, 0, "dist is NULL"};
    return dist ? &dist->error : &none;
}

void husk_dist_fail(husk_dist *dist, const husk_error *error)
{
    if (dist)
        husk__dist_fail(dist, error && error->status ? error->status : HUSK_INTERNAL,
                        error && error->text[0] ? error->text : "it cannot go on");
}
