// SPDX-License-Identifier: MIT
// Preloaded before Oclgrind's library: no buffer's number is ever given to another buffer.
//
// Oclgrind (21.10) keeps a map of what is initialised for every buffer, by the buffer's number, and does not drop it
// when the buffer is released: the next buffer of that number starts with the map of the last one, and what lies
// beyond its end counts as uninitialised whatever is written there. So every buffer gets a reference more than its
// owner knows of, and its number stays taken. Releases are passed on, and still checked.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/opencl.h>

typedef cl_mem create_function(cl_context, cl_mem_flags, size_t, void *, cl_int *);

// POSIX lets an object's address become a function's; ISO C has no cast for it.
static create_function *next_create(void)
{
    void *address = dlsym(RTLD_NEXT, "clCreateBuffer");
    create_function *next;
    memcpy(&next, &address, sizeof next);
    if (!next) {
        fprintf(stderr, "oclgrind_memory: there is no clCreateBuffer\n");
        abort();
    }
    return next;
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code)
{
    cl_mem buffer = next_create()(context, flags, size, host, code);
    if (buffer)
        clRetainMemObject(buffer);
    return buffer;
}
