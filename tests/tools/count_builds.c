// SPDX-License-Identifier: MIT
// Preloaded into every test of the default tier: a line for each program that is handed to an OpenCL compiler, by
// whatever process of the test and through whatever library, in the file that HUSK_TEST_BUILDS names: the process, a
// hash of source and options, and whether the build came from a binary. check_builds.sh counts them.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <husk/opencl.h>

// Not in every version of dlfcn.h without _GNU_SOURCE.
#ifndef RTLD_NEXT
#define RTLD_NEXT ((void *)-1L)
#endif

typedef cl_int (*build_function)(cl_program, cl_uint, const cl_device_id *, const char *,
                                 void(CL_CALLBACK *)(cl_program, void *), void *);
typedef cl_int (*info_function)(cl_program, cl_program_info, size_t, void *, size_t *);

static uint64_t add_to_hash(uint64_t hash, const char *text)
{
    for (; text && *text; ++text)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3); // FNV-1a
    return hash;
}

static void note(cl_program program, const char *options)
{
    const char *path = getenv("HUSK_TEST_BUILDS");
    info_function info = (info_function)dlsym(RTLD_NEXT, "clGetProgramInfo");
    if (!path || !*path || !info)
        return;
    char line[400], path_of[1024];
    size_t size = 0;
    char *source = NULL;
    if (info(program, CL_PROGRAM_SOURCE, 0, NULL, &size) == CL_SUCCESS && size > 1 &&
        (source = calloc(1, size + 1)))
        info(program, CL_PROGRAM_SOURCE, size, source, NULL);
    uint64_t hash = add_to_hash(add_to_hash(UINT64_C(0xcbf29ce484222325), source), options);
    ssize_t got = readlink("/proc/self/exe", path_of, sizeof path_of - 1);
    path_of[got > 0 ? got : 0] = '\0';
    const char *slash = strrchr(path_of, '/');
    int length = snprintf(line, sizeof line, "%.300s %016llx %s\n", slash ? slash + 1 : "?",
                          (unsigned long long)hash, source ? "source" : "binary");
    free(source);
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (file < 0)
        return;
    if (write(file, line, (size_t)length) != length) // one write: lines of several processes do not mix
        fprintf(stderr, "count_builds: %s cannot be written\n", path);
    close(file);
}

cl_int clBuildProgram(cl_program program, cl_uint device_count, const cl_device_id *devices,
                      const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    build_function build = (build_function)dlsym(RTLD_NEXT, "clBuildProgram");
    note(program, options);
    return build ? build(program, device_count, devices, options, notify, user) : CL_INVALID_OPERATION;
}
