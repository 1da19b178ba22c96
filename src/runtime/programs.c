// SPDX-License-Identifier: MIT
#include "runtime/programs.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void husk__programs_init(husk__programs *programs)
{
    pthread_mutex_init(&programs->lock, NULL);
}

husk__program *husk__programs_find(husk__programs *programs, const char *file, const char *options)
{
    for (husk__program *program = programs->programs; program; program = program->next)
        if (strcmp(program->file, file) == 0 && strcmp(program->options, options) == 0)
            return program;
    return NULL;
}

husk__program *husk__programs_add(husk__programs *programs, const char *file, const char *options)
{
    husk__program *program = calloc(1, sizeof *program);
    if (!program)
        return NULL;
    program->file = husk__copy_string(file);
    program->options = husk__copy_string(options);
    if (!program->file || !program->options) {
        free(program->file);
        free(program->options);
        free(program);
        return NULL;
    }
    pthread_mutex_init(&program->lock, NULL);
    program->next = programs->programs;
    programs->programs = program;
    return program;
}

husk__kernel *husk__programs_find_kernel(husk__programs *programs, const husk__program *program, const char *name)
{
    for (husk__kernel *kernel = programs->kernels; kernel; kernel = kernel->next)
        if (kernel->program == program && strcmp(kernel->name, name) == 0)
            return kernel;
    return NULL;
}

void husk__programs_destroy(husk__programs *programs)
{
    while (programs->kernels) {
        husk__kernel *kernel = programs->kernels;
        programs->kernels = kernel->next;
        free(kernel);
    }
    while (programs->programs) {
        husk__program *program = programs->programs;
        programs->programs = program->next;
        if (program->cl)
            clReleaseProgram(program->cl);
        pthread_mutex_destroy(&program->lock);
        free(program->file);
        free(program->options);
        free(program->failure);
        free(program->mark);
        free(program);
    }
    pthread_mutex_destroy(&programs->lock);
}
