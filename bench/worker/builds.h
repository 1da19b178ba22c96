/* SPDX-License-Identifier: MIT */
/*
 * bench/worker/builds.h: which programs a driver's compiler is building, and which kernels are launched for the first
 * time, as the library's log tells. A worker tells it its parent, which then knows what a compiler was about that has
 * crashed or does not come back.
 */
#ifndef BENCH_WORKER_BUILDS_H
#define BENCH_WORKER_BUILDS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * program: "gemm/tiled.cl with ..."; mark: the file that keeps the library from building it again, NULL where there is
 * none. NULL, NULL: nothing is being built any more.
 */
typedef void bench_building(const char *program, const char *mark);

/* kernel: "husk_pool of pool.cl", which is about to be launched for the first time. */
typedef void bench_launching(const char *kernel);

enum { BENCH_MOST_BUILDS = 16 };

typedef struct bench_builds {
    bench_building *building;   /* NULL: nobody wants to know */
    bench_launching *launching; /* likewise */
    pthread_mutex_t lock; /* operators are made ready by several threads */
    size_t count;
    struct {
        pthread_t thread;
        char *line;
    } under_way[BENCH_MOST_BUILDS];
} bench_builds;

void bench_builds_begin(bench_builds *builds, bench_building *building, bench_launching *launching);
/* A line of the library's log, from whichever thread. */
void bench_builds_note(bench_builds *builds, const char *line);
void bench_builds_end(bench_builds *builds);

#endif
