// SPDX-License-Identifier: MIT
// Prints how many times slower this machine is at this moment than the one that the tests' time limits were found on,
// as a whole number from 1 to 20: what a thread a CPU, four at most, takes for work such as compilers do (branches that
// are hard to predict, memory beyond the first caches), other programs' share of the machine included.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

// Nanoseconds that it takes on two cores of an Emerald Rapids Xeon at 2.3 GHz in a virtual machine, with nothing beside
// it: the limits are for such a machine.
#define REFERENCE_NS 1.3e8

enum { NODES = 1 << 16, LOOK_UPS = 600000, MOST_THREADS = 4, MOST = 20 };

typedef struct node {
    uint32_t key;
    int32_t children[2]; // -1: none
} node;

static uint32_t next_of(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

// A tree of random keys, in which others are looked for.
static void *work(void *result)
{
    uint32_t state = 2463534242u, found = 0;
    node *tree = malloc(NODES * sizeof *tree);
    for (int32_t i = 0; tree && i < NODES; i++) {
        tree[i] = (node){next_of(&state), {-1, -1}};
        for (int32_t at = i ? 0 : -1; at >= 0;) {
            int32_t *child = &tree[at].children[tree[i].key > tree[at].key];
            at = *child;
            if (at < 0)
                *child = i;
        }
    }
    for (int i = 0; tree && i < LOOK_UPS; i++) {
        const uint32_t key = next_of(&state);
        for (int32_t at = 0; at >= 0; at = tree[at].children[key > tree[at].key])
            found += tree[at].key == key;
    }
    free(tree);
    *(uint32_t *)result = found;
    return NULL;
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

int main(void)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const int wanted = cpus < 1 ? 1 : cpus > MOST_THREADS ? MOST_THREADS : (int)cpus;
    pthread_t threads[MOST_THREADS];
    uint32_t found[MOST_THREADS];
    int count = 0;
    const double begin = now_ns();
    while (count < wanted && pthread_create(&threads[count], NULL, work, &found[count]) == 0)
        count++;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    const double times = (now_ns() - begin) / REFERENCE_NS;
    printf("%d\n", times < 1.25 ? 1 : times > MOST ? MOST : (int)(times + 0.75)); // a quarter is noise
    return count > 0 ? 0 : 1;
}
