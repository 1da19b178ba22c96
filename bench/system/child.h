/* SPDX-License-Identifier: MIT */
/*
 * bench/system/child.h: a worker process and its pipes: started, asked, ended. Before a reply it may say in lines of
 * their own what it is doing ("at", "building", "first_launch").
 */
#ifndef BENCH_SYSTEM_CHILD_H
#define BENCH_SYSTEM_CHILD_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/text.h"

/*
 * A process that gets another one's last request again, behind what prepared its slot, to see whether it crashes on the
 * same program. It is ended as soon as it has launched a kernel: what crashes later may be that kernel's doing.
 */
typedef struct bench_suspicion {
    const char *mark; /* of the program */
    bool is_confirmed;
} bench_suspicion;

typedef struct bench_process {
    pid_t pid; /* 0: not running */
    int requests, replies;
    char who[32]; /* as reasons name it: "the driver or Husk"; "": "the worker process" */
    char at[80];  /* what it is doing, behind "while" */
    char *building, *mark; /* bench/worker/builds.h; NULL: none */
    char *launched; /* by this request, for the first time, and the last of these: "husk_pool of pool.cl"; or NULL */
    bool has_launched; /* a kernel at any time, of other files than the runtime's: those are its probes */
    char **arguments, **environment; /* that it was started with; NULL: none, or there was no memory */
    char *request, *prepare;         /* the last one, and the last that prepared a slot; or NULL */
    bench_suspicion *suspicion;      /* or NULL */
    char *buffer; /* what has arrived of the next line */
    size_t used, capacity;
} bench_process;

/*
 * arguments[0] is the program where it has a "/"; otherwise this one is started again. environment: names and values in
 * turn, NULL-ended, set beside the parent's; NULL for none. The worker has a process group of its own, which a kill
 * ends as a whole, and ends when clbench does, whatever ends that (on Linux).
 */
bool bench_process_start(bench_process *process, const char *const *arguments, const char *const *environment,
                         char reason[BENCH_REASON_TEXT]);
/* Ask it to quit, wait a moment, and kill it if it has not. */
void bench_process_stop(bench_process *process);
/* False: it cannot be ended, since its driver hangs inside the system. It is left behind and forgotten. */
bool bench_process_kill(bench_process *process);

typedef enum bench_reply {
    BENCH_REPLY_OK,
    BENCH_REPLY_TIMEOUT, /* the worker has been killed */
    BENCH_REPLY_DIED     /* it crashed or left; reason says how */
} bench_reply;

/* Send a request (the reference is taken over). False when it is not running or died. */
bool bench_process_send(bench_process *process, json_t *request);

/* A process' status where somebody else has waited for it; and where there is none to tell of. */
enum { BENCH_STATUS_UNKNOWN = -1, BENCH_STATUS_NONE = -2 };

/*
 * Wait for the reply, a new reference. seconds <= 0: as long as it takes. Of one that has died, status is how, reason
 * is not written, and it is to be forgotten when that has been said; where status is BENCH_STATUS_NONE both are done.
 */
bench_reply bench_child_receive(bench_process *process, double seconds, json_t **reply, int *status,
                                char reason[BENCH_REASON_TEXT]);
/* Of one that has ended: close its pipes and free what is kept of it. */
void bench_child_forget(bench_process *process);

/* What it is doing, as reasons say behind "while", and who does it. */
enum { BENCH_DOING_TEXT = 600 };
void bench_process_doing(const bench_process *process, char text[BENCH_DOING_TEXT]);
const char *bench_process_who(const bench_process *process);

/* Called twice a second while a reply is waited for: what the worker is doing, and for how long. NULL: nobody is. */
typedef void bench_process_watcher(const char *at, double seconds);
void bench_process_watch(bench_process_watcher *watcher);

/* In the worker: the descriptors of its end. */
enum { BENCH_WORKER_REQUESTS = 3, BENCH_WORKER_REPLIES = 4 };

/*
 * The hidden argument that makes clbench look at what may crash or hang: clbench --probe icd LIBRARY,
 * devices PREFERENCE, threads PREFERENCE, or open FILE.
 */
#define BENCH_PROBE_ARGUMENT "--probe"

#endif
