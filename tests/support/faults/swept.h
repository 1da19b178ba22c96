/* SPDX-License-Identifier: MIT */
/*
 * faults/swept.h: a call, or several, of which every allocation of Husk's and every OpenCL call fails once. The program
 * is linked with --wrap (tests/CMakeLists.txt).
 */
#ifndef HUSK_TESTS_SWEPT_H
#define HUSK_TESTS_SWEPT_H

#include <stdbool.h>

#include <check.h>

#include <husk/husk.h>

/* What is swept. Faults are planted in `run` alone. All but run and check may be NULL. */
typedef struct swept {
    const char *name;
    void *user;
    void (*before)(void *user);     /* makes what run works on */
    husk_status (*run)(void *user); /* by way of SWEPT, up to the first failure */
    /* After a failure: what is promised of it, and what has to be done before run is called again. */
    void (*failed)(void *user, const char *when);
    void (*check)(void *user, const char *when); /* after a run that succeeded: it has the right results */
    void (*after)(void *user);                   /* releases it */
} swept;

/* The call under test and what it says of a failure: run sets both. */
extern const char *swept_call;
extern husk_error swept_error;

/* For run: Check's assertions allocate, even those that hold. */
#define SWEPT_ASSERT(condition)      \
    do {                             \
        if (!(condition))            \
            ck_abort_msg(#condition); \
    } while (0)

/* One call whose text is in swept_error. */
#define SWEPT(call, ...) (swept_call = #call, call(__VA_ARGS__, &swept_error))
/* One whose text its queue has. */
#define SWEPT_QUEUE(call, queue, ...) (swept_call = #call, swept_of_queue(queue, call(queue, __VA_ARGS__)))
husk_status swept_of_queue(const husk_queue *queue, husk_status status);

/*
 * run, checked, without a fault; then with each of them, and after it once more without one. Outside of the tier
 * `faults`, as under AddressSanitizer, one of so many. Not planted: launches that answer CL_OUT_OF_RESOURCES, after
 * which another variant computes.
 */
void sweep(const swept *what);
/*
 * The same, and launches are refused for want of resources, too, since the results have the same bits in every
 * variant; after it not even what a queue may keep is left.
 */
void sweep_exactly(const swept *what);
/* As sweep, of what makes the same OpenCL calls hundreds of times: of those one in so many fails, in every tier. */
void sweep_sampled(const swept *what);
/* Before the first one and after the last one of a test: the device is closed, and nothing is left. */
void sweep_begin(void);
void sweep_end(void);
/* Prints and notes how many points there were; fails where they were fewer than that, or nothing was answered. */
void sweep_report(const char *of, long least);
/* Whether every point is wanted: the tier faults. */
bool sweep_has_all(void);

#endif
