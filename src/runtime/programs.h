/* SPDX-License-Identifier: MIT */
/*
 * runtime/programs.h: the programs of a context and the kernels in them.
 */
#ifndef HUSK_RUNTIME_PROGRAMS_H
#define HUSK_RUNTIME_PROGRAMS_H

#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <husk/status.h>

typedef struct husk__program {
    struct husk__program *next;
    char *file;
    char *options;
    pthread_mutex_t lock;
    bool is_built;
    char *mark; /* the file that says that it has crashed the driver's compiler, or NULL */
    husk_status status;
    char *failure;       /* text of the failed build */
    int32_t opencl_code; /* its OpenCL error */
    cl_program cl;
} husk__program;

typedef struct husk__kernel husk__kernel;
struct husk__kernel {
    struct husk__kernel *next;
    husk__program *program;
    uint32_t id; /* dense in its context: index into the queues' kernel objects */
    size_t work_group[3];
    size_t max_work_items;
    bool has_required_work_group;
    atomic_bool is_announced; /* the log has told of its first launch */
    char name[];
};

typedef struct husk__programs {
    pthread_mutex_t lock;
    husk__program *programs;
    husk__kernel *kernels;
    uint32_t kernel_count;
} husk__programs;

void husk__programs_init(husk__programs *programs);
void husk__programs_destroy(husk__programs *programs);
/* All with the lock held. NULL: there is none; no memory to add it. */
husk__program *husk__programs_find(husk__programs *programs, const char *file, const char *options);
husk__program *husk__programs_add(husk__programs *programs, const char *file, const char *options);
husk__kernel *husk__programs_find_kernel(husk__programs *programs, const husk__program *program, const char *name);

#endif
