/* SPDX-License-Identifier: MIT */
/*
 * dist/dist.h: a rank, its thread, and the tasks that the thread carries out.
 *
 * The program's thread posts tasks and waits for them; the library's thread alone calls MPI. It never blocks: each task
 * goes on as far as it can, again and again, so that the thread always hears and is heard (dist/progress.c). All
 * messages are from one rank to another, so whoever is late can be named.
 */
#ifndef HUSK_DIST_DIST_H
#define HUSK_DIST_DIST_H

#include <pthread.h>
#include <stdbool.h>

#include <mpi.h>

#include <husk/dist.h>

#define HUSK__NAME_BYTES 64
#define HUSK__NONE (-1) /* no rank */
#define HUSK__WINDOW 4  /* windowed tasks that are under way at once */

enum {
    HUSK__TAG_BEAT = 1,
    HUSK__TAG_FAILURE = 2,
    HUSK__TAG_LEAVE = 3,
    HUSK__TAG_GATHER = 16,
    HUSK__TAG_BROADCAST = 17,
    HUSK__TAG_PARTS = 1024,  /* and on: two a part */
    HUSK__TAG_STAGES = 12288 /* and on, by tensor, direction and micro-batch */
};

typedef struct husk__dist_scope {
    const char *call;
    husk_error *error; /* may be NULL */
} husk__dist_scope;

#if defined(__GNUC__)
#define HUSK__DIST_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define HUSK__DIST_PRINTF(format_index, first)
#endif

/* Records "call: text" and returns status. */
husk_status husk__dist_refuse(const husk__dist_scope *scope, husk_status status, const char *format, ...)
    HUSK__DIST_PRINTF(3, 4);
/* What a call of libhusk or libhusk_train has said, in this one's name. */
husk_status husk__dist_pass(const husk__dist_scope *scope, husk_status status, const husk_error *cause);
/* A struct begins with its size: any other, 0 among them, is INVALID_ARGUMENT. made_by is the macro that sets it. */
husk_status husk__dist_size(uint32_t size, uint32_t wanted, const char *made_by, const char *argument,
                            const husk__dist_scope *scope);
/* A caller's struct that begins with its size into own; NULL gives zeros. */
husk_status husk__dist_struct(void *own, uint32_t own_size, const char *made_by, const void *given,
                              const char *argument, const husk__dist_scope *scope);
husk_status husk__dist_no_memory(const husk__dist_scope *scope);
uint64_t husk__dist_now(void);

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

/* ---- the program's thread -------------------------------------------------------------------------------- */

/* "rank 2 (host, process 123)" */
const char *husk__rank_text(const husk_dist *dist, int32_t rank, char text[128]);
husk_status husk__dist_start(husk_dist *dist, const husk__dist_scope *scope);
/* MPI no longer receives anything into it; without the thread, which alone calls MPI. */
void husk__dist_stop_listening(husk_dist *dist);
/* The thread's end, when all ranks have come to theirs; false: a failure, and the run is to be ended. */
bool husk__dist_stop(husk_dist *dist);
/* MPI_Abort; does not come back. */
void husk__dist_end_all(husk_dist *dist);

/* Room for so many requests; false: no memory. The task is zeros otherwise. */
bool husk__task_init(husk__task *task, int requests);
void husk__task_clear(husk__task *task);
void husk__task_post(husk_dist *dist, husk__task *task);
/* HUSK_OK when it has ended; else the failure of the run, as the scope's. */
husk_status husk__task_wait(husk_dist *dist, husk__task *task, const husk__dist_scope *scope);
/* The failure of the run, where there is one. */
husk_status husk__dist_check(husk_dist *dist, const husk__dist_scope *scope);
/* Note a failure and have all ranks told; the first one stays. Any thread. */
void husk__dist_fail(husk_dist *dist, husk_status status, const char *text);
/* The same, as the scope's too. Returns status. */
husk_status husk__dist_fail_with(husk_dist *dist, husk_status status, const char *text, const husk__dist_scope *scope);

/* A buffer, and its memory mapped for good, for transfers. */
husk_status husk__dist_staging(husk_context *context, husk_queue *queue, uint64_t bytes, husk_buffer **buffer,
                               void **host, const husk__dist_scope *scope);

/* Together: bytes of every rank, one behind the other. */
husk_status husk__dist_gather(husk_dist *dist, const void *own, size_t bytes, void *all, const char *what,
                              const husk__dist_scope *scope);
/* Together: rank 0's bytes. */
husk_status husk__dist_broadcast(husk_dist *dist, void *data, size_t bytes, const char *what,
                                 const husk__dist_scope *scope);

/* ---- tasks, in the library's thread ---------------------------------------------------------------------- */

husk_status husk__mpi_failed(int code, const char *call, husk_error *error);
husk_status husk__task_send(husk_dist *dist, husk__task *task, const void *data, size_t bytes, int32_t peer, int tag,
                            husk_error *error);
husk_status husk__task_receive(husk_dist *dist, husk__task *task, void *data, size_t bytes, int32_t peer, int tag,
                               husk_error *error);
/* Whether the device has come to an event. */
husk_status husk__task_device(const husk__task *task, husk_event *event, bool *settled, husk_error *error);
/* Whether all that is open has ended; then nothing is open. A message that was too long: `too_long_from` says whose. */
husk_status husk__task_settled(husk__task *task, bool *settled, husk_error *error);

#endif
