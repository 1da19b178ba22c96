// SPDX-License-Identifier: MIT
// build_programs EVERY FILE...: builds each EVERY-th of the programs that list_programs or HUSK_PROGRAM_DIR has written
// on HUSK_DEVICE, which has to be a CPU (77: it is not), and launches none of them. Before that it asks Husk for every
// feature, which makes the probes of those that the device advertises. On stdout: each log that is not empty, the
// device and how many were built; on stderr what the platform writes there, and nothing else.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/husk.h>
#include <husk/opencl.h>

static const char begins[] = "// options: ";

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        const long size = ftell(file);
        rewind(file);
        text = size < 0 ? NULL : calloc(1, (size_t)size + 1);
        if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
            free(text);
            text = NULL;
        }
    }
    if (file)
        fclose(file);
    return text;
}

// Whether the log is empty: some compilers end theirs with a line that is.
static int print_log(cl_program program, cl_device_id device, const char *path)
{
    char log[8192] = "";
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    if (strspn(log, " \n") == strlen(log))
        return 0;
    printf("%s:\n%s\n", path, log);
    return 1;
}

// 0: built, and nothing was said.
static int build(cl_context context, cl_device_id device, const char *path)
{
    char *text = read_text(path);
    if (!text || strncmp(text, begins, strlen(begins)) != 0) {
        printf("%s is no program with its options\n", path);
        free(text);
        return 1;
    }
    char *options = text + strlen(begins), *source = options + strcspn(options, "\n");
    if (*source)
        *source++ = '\0';
    const char *strings = source;
    cl_int code;
    cl_program program = clCreateProgramWithSource(context, 1, &strings, NULL, &code);
    if (program)
        code = clBuildProgram(program, 1, &device, options, NULL, NULL);
    int said = program ? print_log(program, device, path) : 0;
    if (code != CL_SUCCESS)
        printf("%s was not built: %d\n", path, code);
    if (program)
        clReleaseProgram(program);
    free(text);
    return said || code != CL_SUCCESS;
}

static void probe_features(husk_context *context)
{
    for (int feature = 0; strcmp(husk_feature_name((husk_feature)feature), "unknown") != 0; ++feature)
        husk_context_has(context, (husk_feature)feature);
}

int main(int count, char **arguments)
{
    husk_error error;
    husk_context *context;
    const int every = count > 2 ? atoi(arguments[1]) : 0;
    if (every < 1) {
        printf("usage: build_programs EVERY FILE...\n");
        return 2;
    }
    if (husk_context_create(NULL, NULL, &context, &error) != HUSK_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    int built = 0, failed = 0;
    const int is_cpu = husk_context_traits(context)->device_class == HUSK_DEVICE_CPU;
    probe_features(context);
    for (int i = 2; is_cpu && i < count; i += every, ++built)
        failed += build(husk_context_opencl(context), husk_context_opencl_device(context), arguments[i]);
    printf("%s: %d programs built, of %d something was said\n", husk_context_traits(context)->name, built, failed);
    husk_context_release(context);
    return !is_cpu ? 77 : failed > 0;
}
