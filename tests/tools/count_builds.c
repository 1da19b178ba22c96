// SPDX-License-Identifier: MIT
// Preloaded into every test of the default tier: a line for each program that is handed to an OpenCL compiler, by
// whatever process of the test and through whatever library, in the file that HUSK_TEST_BUILDS names: the process, a
// hash of source and options, and whether the build came from a binary; and one with the first warning of a compiler
// that has something to say of a kernel of Husk's (PoCL's prints to the process's stderr that it has).
// check_builds.sh looks at them.
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
typedef cl_int (*log_function)(cl_program, cl_device_id, cl_program_build_info, size_t, void *, size_t *);

static uint64_t add_to_hash(uint64_t hash, const char *text)
{
    for (; text && *text; ++text)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3); // FNV-1a
    return hash;
}

static void append(const char *path, const char *line, int length)
{
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (file < 0)
        return;
    if (write(file, line, (size_t)length) != length) // one write: lines of several processes do not mix
        fprintf(stderr, "count_builds: %s cannot be written\n", path);
    close(file);
}

// A program that is built: who builds it, which one it is, and its source, NULL where it was made of a binary.
typedef struct build {
    const char *path; // of the list; NULL: nobody counts
    char who[304];
    unsigned long long hash;
    char *source;
} build;

static build begin(cl_program program, const char *options)
{
    build b = {.path = getenv("HUSK_TEST_BUILDS")};
    info_function info = (info_function)dlsym(RTLD_NEXT, "clGetProgramInfo");
    if (!b.path || !*b.path || !info) {
        b.path = NULL;
        return b;
    }
    char line[400], path_of[1024];
    size_t size = 0;
    if (info(program, CL_PROGRAM_SOURCE, 0, NULL, &size) == CL_SUCCESS && size > 1 && (b.source = calloc(1, size + 1)))
        info(program, CL_PROGRAM_SOURCE, size, b.source, NULL);
    b.hash = add_to_hash(add_to_hash(UINT64_C(0xcbf29ce484222325), b.source), options);
    ssize_t got = readlink("/proc/self/exe", path_of, sizeof path_of - 1);
    path_of[got > 0 ? got : 0] = '\0';
    const char *slash = strrchr(path_of, '/');
    snprintf(b.who, sizeof b.who, "%.300s", slash ? slash + 1 : "?");
    int length = snprintf(line, sizeof line, "%s %016llx %s\n", b.who, b.hash, b.source ? "source" : "binary");
    append(b.path, line, length);
    return b;
}

static void note_warning(const build *b, cl_program program, const cl_device_id *devices)
{
    log_function ask = (log_function)dlsym(RTLD_NEXT, "clGetProgramBuildInfo");
    size_t size = 0;
    if (!b->path || !b->source || !strstr(b->source, "__kernel void husk_") || !devices || !ask ||
        ask(program, devices[0], CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS)
        return;
    char line[700], *log = calloc(1, size + 1);
    if (log && ask(program, devices[0], CL_PROGRAM_BUILD_LOG, size, log, NULL) == CL_SUCCESS) {
        char *warning = strstr(log, "warning: ");
        if (warning) {
            warning[strcspn(warning, "\n")] = '\0';
            append(b->path, line, snprintf(line, sizeof line, "%s %016llx %.300s\n", b->who, b->hash, warning));
        }
    }
    free(log);
}

cl_int clBuildProgram(cl_program program, cl_uint device_count, const cl_device_id *devices, const char *options,
                      void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    build_function build_program = (build_function)dlsym(RTLD_NEXT, "clBuildProgram");
    build b = begin(program, options);
    const cl_int error =
        build_program ? build_program(program, device_count, devices, options, notify, user) : CL_INVALID_OPERATION;
    if (error == CL_SUCCESS)
        note_warning(&b, program, devices);
    free(b.source);
    return error;
}
