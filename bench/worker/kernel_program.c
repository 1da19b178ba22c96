// SPDX-License-Identifier: MIT
#include "worker/kernel_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "system/input.h"

enum { LARGEST_SOURCE = 64 << 20 };

void bench_kernel_path(const bench_description *description, const bench_spec *spec, const bench_step *step, char *text,
                       size_t size)
{
    bench_description_path(description, step->file[0] ? step->file : spec->file, text, size);
}

// A path among options, which drivers split at blanks.
static bool add_include(const bench_description *description, const char *path, char *text, size_t size,
                        char reason[BENCH_REASON_TEXT])
{
    char there[2 * BENCH_PATH_TEXT];
    bench_description_path(description, path, there, sizeof there);
    if (strpbrk(there, " \t\"'"))
        return bench_explain(reason, BENCH_REASON_TEXT,
                             "include=%.300s: OpenCL's options cannot say a path with blanks or quotes", there);
    bench_append(text, size, "%s-I%s", text[0] ? " " : "", there[0] ? there : ".");
    return true;
}

bool bench_kernel_options(const bench_description *description, const bench_point *point, char *text, size_t size,
                          char reason[BENCH_REASON_TEXT])
{
    const bench_spec *spec = point->spec;
    char macros[BENCH_OPTIONS_TEXT];
    bench_point_macros(point, macros, sizeof macros);
    snprintf(text, size, "%s", spec->options);
    for (int i = 0; i < spec->include_count; i++) {
        if (!add_include(description, spec->includes[i], text, size, reason))
            return false;
    }
    // What a source includes may lie beside it, or below it.
    const char *slash = strrchr(spec->file, '/');
    char folder[BENCH_PATH_TEXT];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - spec->file) + 1 : 0, spec->file);
    if (spec->form == BENCH_FROM_SOURCE && !add_include(description, folder, text, size, reason))
        return false;
    bench_append(text, size, "%s", macros);
    // So that the types of arguments can be compared with the description's.
    if (spec->form == BENCH_FROM_SOURCE)
        bench_append(text, size, " -cl-kernel-arg-info");
    if (strlen(text) + 1 < size)
        return true;
    return bench_explain(reason, BENCH_REASON_TEXT, "the options are longer than %zu characters", size - 1);
}

static bench_kernel_program *find(bench_kernel_programs *programs, const char *path, const char *options)
{
    for (int i = 0; i < BENCH_KEPT_PROGRAMS; i++) {
        bench_kernel_program *program = &programs->kept[i];
        if (program->program && !strcmp(program->path, path) && !strcmp(program->options, options))
            return program;
    }
    return NULL;
}

static bench_kernel_program *make_room(bench_kernel_programs *programs)
{
    bench_kernel_program *oldest = &programs->kept[0];
    for (int i = 1; i < BENCH_KEPT_PROGRAMS; i++) {
        if (programs->kept[i].used < oldest->used)
            oldest = &programs->kept[i];
    }
    if (oldest->program)
        clReleaseProgram(oldest->program);
    *oldest = (bench_kernel_program){.program = NULL};
    return oldest;
}

static char *build_log(cl_program program, cl_device_id device)
{
    size_t size = 0;
    if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS || size < 2)
        return NULL;
    char *log = malloc(size + 1);
    if (!log)
        return NULL;
    log[0] = '\0';
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    log[size] = '\0';
    bench_clean_text(log);
    return log;
}

// OpenCL 2.1's call, by its address: a 1.2 loader has none.
typedef cl_program(CL_API_CALL *create_with_il)(cl_context, const void *, size_t, cl_int *);

static cl_program create_from_spirv(bench_kernel_programs *programs, const char *bytes, size_t size, cl_int *error,
                                    char reason[BENCH_REASON_TEXT])
{
    cl_platform_id platform = NULL;
    clGetDeviceInfo(programs->device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    create_with_il create = NULL;
    void *address = clGetExtensionFunctionAddressForPlatform(platform, "clCreateProgramWithILKHR");
    if (!address)
        address = clGetExtensionFunctionAddressForPlatform(platform, "clCreateProgramWithIL");
    memcpy(&create, &address, sizeof create);
    if (create)
        return create(programs->context, bytes, size, error);
    bench_explain(reason, BENCH_REASON_TEXT, "the device takes no SPIR-V (cl_khr_il_program)");
    *error = CL_SUCCESS;
    return NULL;
}

static cl_program create(bench_kernel_programs *programs, bench_program_form form, const char *bytes, size_t size,
                         cl_int *error, char reason[BENCH_REASON_TEXT])
{
    if (form == BENCH_FROM_SPIRV)
        return create_from_spirv(programs, bytes, size, error, reason);
    if (form == BENCH_FROM_BINARY) {
        const unsigned char *binary = (const unsigned char *)bytes;
        cl_int status = CL_SUCCESS;
        return clCreateProgramWithBinary(programs->context, 1, &programs->device, &size, &binary, &status, error);
    }
    return clCreateProgramWithSource(programs->context, 1, &bytes, &size, error);
}

cl_program bench_kernel_program_get(bench_kernel_programs *programs, const bench_description *description,
                                    const bench_point *point, const bench_step *step, bench_answer *answer, char **log,
                                    char reason[BENCH_REASON_TEXT])
{
    char path[2 * BENCH_PATH_TEXT], options[BENCH_OPTIONS_TEXT];
    size_t size = 0;
    cl_int error = CL_SUCCESS;
    *log = NULL;
    *answer = BENCH_ERROR;
    bench_kernel_path(description, point->spec, step, path, sizeof path);
    if (!bench_kernel_options(description, point, options, sizeof options, reason))
        return NULL;
    bench_kernel_program *there = find(programs, path, options);
    if (there) {
        there->used = ++programs->clock;
        return there->program;
    }
    char *bytes = bench_input_read(path, LARGEST_SOURCE, &size, reason);
    if (!bytes)
        return NULL;
    reason[0] = '\0';
    cl_program program = create(programs, point->spec->form, bytes, size, &error, reason);
    free(bytes);
    if (!program && reason[0]) {
        *answer = BENCH_UNSUPPORTED;
        return NULL;
    }
    if (program)
        error = clBuildProgram(program, 1, &programs->device, options, NULL, NULL);
    *log = program ? build_log(program, programs->device) : NULL;
    if (error != CL_SUCCESS) {
        bench_explain(reason, BENCH_REASON_TEXT, "%.300s does not compile (%s)", path, husk_opencl_error_name(error));
        if (program)
            clReleaseProgram(program);
        return NULL;
    }
    programs->built++;
    bench_kernel_program *room = make_room(programs);
    snprintf(room->path, sizeof room->path, "%s", path);
    snprintf(room->options, sizeof room->options, "%s", options);
    room->program = program;
    room->used = ++programs->clock;
    return program;
}

void bench_kernel_programs_free(bench_kernel_programs *programs)
{
    for (int i = 0; i < BENCH_KEPT_PROGRAMS; i++) {
        if (programs->kept[i].program)
            clReleaseProgram(programs->kept[i].program);
    }
}
