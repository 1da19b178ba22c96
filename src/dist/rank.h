/* SPDX-License-Identifier: MIT */
/*
 * dist/rank.h: a rank, its thread, and the tasks that the thread carries out.
 *
 * The program's thread posts tasks and waits for them; the library's thread alone calls MPI. It never blocks: each task
 * goes on as far as it can, again and again, so that the thread always hears and is heard (dist/progress.c). All
 * messages are from one rank to another, so whoever is late can be named.
 */
#ifndef HUSK_DIST_RANK_H
#define HUSK_DIST_RANK_H

#include <pthread.h>
#include <stdbool.h>

#include <mpi.h>

#include "dist/error.h"

#define HUSK__NAME_BYTES 64
#define HUSK__NONE (-1) /* no rank */
#define HUSK__WINDOW 4  /* windowed tasks that are under way at once */
#define HUSK__MS     ((uint64_t)1000000) /* ns */

enum {
    HUSK__TAG_BEAT = 1,
    HUSK__TAG_FAILURE = 2,
    HUSK__TAG_LEAVE = 3,
    HUSK__TAG_GATHER = 16,
    HUSK__TAG_BROADCAST = 17,
    HUSK__TAG_PARTS = 1024,  /* and on: two a part */
    HUSK__TAG_STAGES = 12288 /* and on, by tensor, direction and micro-batch */
};

typedef struct husk__task husk__task;
struct husk__task {
    husk__task *next;
    /*
     * Goes on as far as it can, and says when it has ended. A failure's text goes to error. It has requests open only
     * between two calls of it, all of them in `requests`.
     */
    husk_status (*advance)(husk_dist *dist, husk__task *task, bool *has_ended, husk_error *error);
    char what[96];         /* "the gradients' part 3" */
    MPI_Request *requests; /* room for all that it may have open */
    int32_t *peers;        /* whom each is with */
    MPI_Status *statuses;  /* of each, when they were last asked */
    int open;
    int32_t too_long_from; /* a failure's reason, or HUSK__NONE */
    int steps;             /* counted up by what goes on, so that patience begins anew */
    int seen_steps;
    uint64_t since;        /* the last of them, ns */
    bool is_windowed;
    bool has_begun;
    bool has_ended;        /* under the lock */
};

/* What a rank says of itself at the beginning. */
typedef struct husk__identity {
    char version[32];
    char host[HUSK__NAME_BYTES];
    char refused[HUSK__NAME_BYTES]; /* the rule that its params break, or "" */
    int64_t process;
} husk__identity;

typedef struct husk__failure {
    int32_t status;
    int32_t rank;
    char text[HUSK_ERROR_TEXT_CAPACITY];
} husk__failure;

struct husk_dist {
    husk_dist_params params;
    MPI_Comm comm;
    bool owns_mpi;
    int32_t rank, count, local_rank, local_count;
    husk__identity *ranks;
    husk_error error; /* the last call's, the program's thread alone */

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    bool has_thread, has_lock;

    /* Under the lock. */
    husk__task *posted, **posted_end;
    bool has_failed, to_announce, is_leaving, is_ending;
    husk__failure failure;
    uint64_t failed_at;

    /* The thread's alone. */
    husk__task *active;
    int32_t beat_out, beat_in, next, previous;
    bool said_goodbye, heard_goodbye;
    uint64_t said_at, heard_at, looked_at;
    MPI_Request beat_sent, beat_received;
    husk__failure heard_failure, told_failure;
    MPI_Request failure_received, *failure_sent;
    bool has_announced;
    MPI_Request *leave_received, *leave_sent;
    uint64_t *left_at; /* by rank: when it was heard to leave; 0: not yet */
    bool has_left;
    uint64_t has_left_at;
    char leave_byte;
};

/* "rank 2 (host, process 123)" */
const char *husk__rank_text(const husk_dist *dist, int32_t rank, char text[128]);
uint64_t husk__dist_now(void);

#endif
