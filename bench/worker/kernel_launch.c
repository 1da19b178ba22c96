// SPDX-License-Identifier: MIT
#include "worker/kernel_launch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/fill.h"

static bench_answer failed(const char *call, cl_int code, char reason[BENCH_REASON_TEXT])
{
    bench_explain(reason, BENCH_REASON_TEXT, "%s answered %s", call, husk_opencl_error_name(code));
    return BENCH_ERROR;
}

bool bench_kernel_launcher_begin(bench_kernel_launcher *launcher, husk_context *context, bool is_guarded,
                                 char reason[BENCH_REASON_TEXT])
{
    cl_int error = CL_SUCCESS;
    *launcher = (bench_kernel_launcher){.context = context,
                                        .cl = husk_context_opencl(context),
                                        .device = husk_context_opencl_device(context),
                                        .is_guarded = is_guarded};
    launcher->programs.context = launcher->cl;
    launcher->programs.device = launcher->device;
    launcher->queue = clCreateCommandQueue(launcher->cl, launcher->device, 0, &error);
    if (!launcher->queue)
        failed("clCreateCommandQueue", error, reason);
    // A simulator knows itself what was written.
    if (launcher->queue && is_guarded)
        bench_kernel_poison_begin(&launcher->poison, launcher->cl, launcher->device);
    return launcher->queue != NULL;
}

void bench_kernel_launcher_end(bench_kernel_launcher *launcher)
{
    bench_kernel_programs_free(&launcher->programs);
    bench_kernel_poison_end(&launcher->poison);
    if (launcher->queue)
        clReleaseCommandQueue(launcher->queue);
}

// ---- what the device cannot do ----

static bench_answer refuse(char reason[BENCH_REASON_TEXT], const char *text)
{
    bench_explain(reason, BENCH_REASON_TEXT, "%s", text);
    return BENCH_UNSUPPORTED;
}

static cl_ulong device_number(const bench_kernel_launcher *launcher, cl_device_info what)
{
    cl_ulong value = 0;
    clGetDeviceInfo(launcher->device, what, sizeof value, &value, NULL);
    return value;
}

static bench_answer check_device(const bench_kernel_launcher *launcher, const bench_spec *spec,
                                 char reason[BENCH_REASON_TEXT])
{
    cl_device_fp_config config = 0;
    bool wants_double = false;
    for (int i = 0; i < spec->buffer_count; i++)
        wants_double = wants_double || spec->buffers[i].element == BENCH_ELEMENT_DOUBLE;
    if (!wants_double)
        return BENCH_OK;
    clGetDeviceInfo(launcher->device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof config, &config, NULL);
    return config ? BENCH_OK : refuse(reason, "the device has no double (cl_khr_fp64)");
}

// ---- programs ----

bench_answer bench_kernel_compile(bench_kernel_launcher *launcher, bench_point *point, char **log,
                                  char reason[BENCH_REASON_TEXT])
{
    bench_answer answer = check_device(launcher, point->spec, reason);
    *log = NULL;
    for (int i = 0; i < point->spec->step_count && answer == BENCH_OK; i++) {
        free(*log);
        *log = NULL;
        answer = BENCH_OK;
        cl_program program = bench_kernel_program_get(&launcher->programs, launcher->description, point,
                                                      &point->spec->steps[i], &answer, log, reason);
        answer = program ? BENCH_OK : answer;
    }
    return answer;
}

// The kernels of a program, for a name that is none of them.
static void list_kernels(cl_program program, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    if (clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &length) != CL_SUCCESS || length > size)
        return;
    clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, size, text, NULL);
}

static bool is_among(const char *names, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = names; (at = strstr(at, name)); at += length) {
        if ((at == names || at[-1] == ';') && (at[length] == ';' || !at[length]))
            return true;
    }
    return false;
}

static bench_answer make_kernel(bench_kernel_job *job, int number, char reason[BENCH_REASON_TEXT])
{
    const bench_step *step = &job->point->spec->steps[number];
    bench_answer answer = BENCH_OK;
    cl_int error = CL_SUCCESS;
    char *log = NULL;
    cl_program program = bench_kernel_program_get(&job->launcher->programs, job->launcher->description, job->point,
                                                  step, &answer, &log, reason);
    free(log); // bench_kernel_compile has given it to whoever wants it
    if (!program)
        return answer;
    job->steps[number].kernel = clCreateKernel(program, step->function, &error);
    if (error == CL_INVALID_KERNEL_NAME) {
        char names[400];
        list_kernels(program, names, sizeof names);
        // As Oclgrind says of one that calls a function that it lacks.
        if (is_among(names, step->function))
            bench_explain(reason, BENCH_REASON_TEXT, "the device cannot prepare %s for running", step->function);
        else
            bench_explain(reason, BENCH_REASON_TEXT, "the program has no kernel %s%s%s", step->function,
                          names[0] ? ", it has " : "", names);
        return BENCH_ERROR;
    }
    return job->steps[number].kernel ? BENCH_OK : failed("clCreateKernel", error, reason);
}

// ---- arguments ----

// "float*" of a buffer, "float" of a number; types that the program names itself are taken as they are.
static bench_answer check_type(cl_kernel kernel, const bench_spec *spec, const bench_argument *argument, cl_uint at,
                               char reason[BENCH_REASON_TEXT])
{
    char type[100] = "", name[100] = "";
    if (clGetKernelArgInfo(kernel, at, CL_KERNEL_ARG_TYPE_NAME, sizeof type, type, NULL) != CL_SUCCESS)
        return BENCH_OK;
    if (clGetKernelArgInfo(kernel, at, CL_KERNEL_ARG_NAME, sizeof name, name, NULL) != CL_SUCCESS)
        snprintf(name, sizeof name, "number %u", at + 1);
    char *star = strchr(type, '*');
    const bool is_pointer = star != NULL, is_scalar = argument->kind == BENCH_ARGUMENT_SCALAR;
    if (star)
        *star = '\0';
    const bench_element there = bench_element_find(type);
    const bench_element said =
        argument->kind == BENCH_ARGUMENT_BUFFER ? spec->buffers[argument->buffer].element : argument->element;
    const bool is_plain = there != BENCH_ELEMENTS && (!is_scalar || argument->width == 1);
    const bool is_known = is_pointer || there != BENCH_ELEMENTS;
    if (is_known && is_pointer == is_scalar) {
        bench_explain(reason, BENCH_REASON_TEXT, "argument %s of the kernel is %s, and the description has %s there",
                      name, is_pointer ? "a pointer" : "a number", is_scalar ? "a number" : "memory");
        return BENCH_ERROR;
    }
    // Signed and unsigned are the same bits, and so is what a kernel casts: sizes have to agree.
    const bool is_same = !is_plain || there == said ||
                         (bench_element_is_real(there) == bench_element_is_real(said) &&
                          bench_element_bytes(there) == bench_element_bytes(said));
    if (is_same)
        return BENCH_OK;
    bench_explain(reason, BENCH_REASON_TEXT, "argument %s of the kernel is of %s, and the description says %s", name,
                  type, bench_element_name(said));
    return BENCH_ERROR;
}

bool bench_kernel_scalar(bench_point *point, const bench_argument *argument, uint64_t cells[BENCH_MOST_WIDTH],
                         char reason[BENCH_REASON_TEXT])
{
    for (int i = 0; i < argument->width; i++) {
        const bench_expression *value = &argument->values[argument->value_count > 1 ? i : 0];
        int64_t integer = 0;
        double real = 0;
        if (bench_element_is_real(argument->element)) {
            if (!bench_point_real(point, value, &real, reason))
                return false;
            bench_element_store(argument->element, cells, i, real);
            continue;
        }
        if (!bench_point_integer(point, value, &integer, reason))
            return false;
        if (integer < bench_element_least(argument->element) || integer > bench_element_most(argument->element))
            return bench_explain(reason, BENCH_REASON_TEXT, "%" PRId64 " does not fit into the kernel's %s", integer,
                                 bench_element_name(argument->element));
        bench_element_store_integer(argument->element, cells, i, integer);
    }
    return true;
}

// A vector of 3 takes the room of 4.
static bench_answer set_scalar(bench_kernel_job *job, cl_kernel kernel, const bench_argument *argument, cl_uint at,
                               char reason[BENCH_REASON_TEXT])
{
    uint64_t cells[BENCH_MOST_WIDTH] = {0};
    if (!bench_kernel_scalar(job->point, argument, cells, reason))
        return BENCH_ERROR;
    const size_t width = argument->width == 3 ? 4 : (size_t)argument->width;
    const cl_int error = clSetKernelArg(kernel, at, width * bench_element_bytes(argument->element), cells);
    return error == CL_SUCCESS ? BENCH_OK : failed("clSetKernelArg", error, reason);
}

static bench_answer set_local(bench_kernel_job *job, cl_kernel kernel, const bench_argument *argument, cl_uint at,
                              char reason[BENCH_REASON_TEXT])
{
    int64_t count = 0;
    if (!bench_point_integer(job->point, &argument->values[0], &count, reason))
        return BENCH_ERROR;
    if (count < 1) {
        bench_explain(reason, BENCH_REASON_TEXT, "local memory of %" PRId64 " elements", count);
        return BENCH_ERROR;
    }
    const size_t element = bench_element_bytes(argument->element);
    if ((uint64_t)count > device_number(job->launcher, CL_DEVICE_LOCAL_MEM_SIZE) / element)
        return refuse(reason, "the device has less local memory");
    const size_t bytes = (size_t)count * element;
    const cl_int error = clSetKernelArg(kernel, at, bytes, NULL);
    return error == CL_SUCCESS ? BENCH_OK : failed("clSetKernelArg", error, reason);
}

static bench_answer set_arguments(bench_kernel_job *job, int number, char reason[BENCH_REASON_TEXT])
{
    const bench_spec *spec = job->point->spec;
    const bench_step *step = &spec->steps[number];
    cl_kernel kernel = job->steps[number].kernel;
    cl_uint count = 0;
    clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
    if (count != (cl_uint)step->argument_count) {
        bench_explain(reason, BENCH_REASON_TEXT, "%s has %u arguments, and the description %d", step->function,
                      (unsigned)count, step->argument_count);
        return BENCH_ERROR;
    }
    bench_answer answer = BENCH_OK;
    for (cl_uint i = 0; i < count && answer == BENCH_OK; i++) {
        const bench_argument *argument = &step->arguments[i];
        answer = check_type(kernel, spec, argument, i, reason);
        if (answer != BENCH_OK)
            return answer;
        if (argument->kind == BENCH_ARGUMENT_SCALAR) {
            answer = set_scalar(job, kernel, argument, i, reason);
        } else if (argument->kind == BENCH_ARGUMENT_LOCAL) {
            answer = set_local(job, kernel, argument, i, reason);
        } else {
            const cl_int error = clSetKernelArg(kernel, i, sizeof(cl_mem), &job->buffers[argument->buffer].mem);
            answer = error == CL_SUCCESS ? BENCH_OK : failed("clSetKernelArg", error, reason);
        }
    }
    return answer;
}

// ---- ranges ----

static bool set_range(bench_kernel_job *job, const bench_expression *expressions, int count, const char *what,
                      size_t *range, char reason[BENCH_REASON_TEXT])
{
    for (int i = 0; i < count; i++) {
        int64_t value = 0;
        if (!bench_point_integer(job->point, &expressions[i], &value, reason))
            return false;
        if (value < 1 || value > ((int64_t)1 << 40))
            return bench_explain(reason, BENCH_REASON_TEXT, "%s is %" PRId64 " in dimension %d: at least 1 is wanted",
                                 what, value, i + 1);
        range[i] = (size_t)value;
    }
    return true;
}

// Whether the description says the work-groups that the kernel itself asks for.
static bench_answer check_wanted(bench_kernel_job *job, const bench_kernel_step *step, char reason[BENCH_REASON_TEXT])
{
    size_t wanted[3] = {0};
    clGetKernelWorkGroupInfo(step->kernel, job->launcher->device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof wanted,
                             wanted, NULL);
    bool is_said = true;
    for (cl_uint i = 0; i < step->dimensions; i++)
        is_said = is_said && wanted[i] == step->local[i];
    if (!wanted[0] || is_said)
        return BENCH_OK;
    bench_explain(reason, BENCH_REASON_TEXT,
                  "the kernel wants work-groups of %zux%zux%zu (reqd_work_group_size): say so by `local`", wanted[0],
                  wanted[1], wanted[2]);
    return BENCH_ERROR;
}

// Whether a work-group of this size can be launched here.
static bench_answer check_group(bench_kernel_job *job, const bench_kernel_step *step, char reason[BENCH_REASON_TEXT])
{
    size_t most = 0, items = 1, each[16] = {0};
    clGetKernelWorkGroupInfo(step->kernel, job->launcher->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    clGetDeviceInfo(job->launcher->device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof each, each, NULL);
    for (cl_uint i = 0; i < step->dimensions; i++) {
        items *= step->local[i];
        if (step->global[i] % step->local[i]) {
            bench_explain(reason, BENCH_REASON_TEXT,
                          "global is %zu in dimension %u, which is no multiple of local, %zu: write "
                          "ceil(n/local)*local, or groups",
                          step->global[i], (unsigned)i + 1, step->local[i]);
            return BENCH_ERROR;
        }
        if (each[i] && step->local[i] > each[i])
            return refuse(reason, "the device has smaller work-groups in this dimension");
    }
    if (most && items > most) {
        bench_explain(reason, BENCH_REASON_TEXT, "the device runs this kernel in work-groups of up to %zu", most);
        return BENCH_UNSUPPORTED;
    }
    return BENCH_OK;
}

static bench_answer set_ranges(bench_kernel_job *job, int number, char reason[BENCH_REASON_TEXT])
{
    const bench_step *from = &job->point->spec->steps[number];
    bench_kernel_step *step = &job->steps[number];
    step->dimensions = (cl_uint)from->dimensions;
    step->has_local = from->local_dimensions > 0;
    if (!set_range(job, from->global, from->dimensions, from->is_groups ? "groups" : "global", step->global, reason) ||
        !set_range(job, from->local, from->local_dimensions, "local", step->local, reason))
        return BENCH_ERROR;
    for (int i = 0; i < from->dimensions && from->is_groups; i++)
        step->global[i] *= step->local[i];
    const bench_answer answer = check_wanted(job, step, reason);
    return answer == BENCH_OK && step->has_local ? check_group(job, step, reason) : answer;
}

// ---- buffers ----

static bench_answer make_buffer(bench_kernel_job *job, int number, uint64_t seed, char reason[BENCH_REASON_TEXT])
{
    const bench_spec *spec = job->point->spec;
    const bench_buffer *from = &spec->buffers[number];
    bench_kernel_buffer *buffer = &job->buffers[number];
    bench_kernel_launcher *launcher = job->launcher;
    bench_binding *binding = &job->point->bindings[from->symbol];
    cl_int error = CL_SUCCESS;
    buffer->bytes = (size_t)binding->count * bench_element_bytes(from->element);
    if (buffer->bytes > device_number(launcher, CL_DEVICE_MAX_MEM_ALLOC_SIZE))
        return refuse(reason, "the device has no buffer of this size");
    if (from->is_constant && buffer->bytes > device_number(launcher, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE))
        return refuse(reason, "the device has less constant memory");
    buffer->before = malloc(buffer->bytes);
    buffer->after = malloc(buffer->bytes);
    if (!buffer->before || !buffer->after) {
        bench_explain(reason, BENCH_REASON_TEXT, "host memory does not suffice");
        return BENCH_ERROR;
    }
    if (!bench_fill(job->point, launcher->description, number, seed, buffer->before, reason))
        return BENCH_ERROR;
    binding->data = buffer->before;
    if (from->is_restored) {
        buffer->kept = clCreateBuffer(launcher->cl, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, buffer->bytes,
                                      buffer->before, &error);
        if (!buffer->kept)
            return failed("clCreateBuffer", error, reason);
    }
    if (!launcher->is_guarded) {
        buffer->mem = clCreateBuffer(launcher->cl, CL_MEM_READ_WRITE, buffer->bytes, NULL, &error);
        return buffer->mem ? BENCH_OK : failed("clCreateBuffer", error, reason);
    }
    husk_error husk;
    if (husk_buffer_create(launcher->context, buffer->bytes, &buffer->block, &husk) != HUSK_OK) {
        bench_explain(reason, BENCH_REASON_TEXT, "%.900s", husk.text);
        return husk.status == HUSK_OUT_OF_MEMORY ? BENCH_UNSUPPORTED : BENCH_ERROR;
    }
    const cl_buffer_region region = {(size_t)husk_buffer_opencl_offset(buffer->block), buffer->bytes};
    buffer->mem = clCreateSubBuffer(husk_buffer_opencl(buffer->block), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                    &region, &error);
    return buffer->mem ? BENCH_OK : failed("clCreateSubBuffer", error, reason);
}

bench_answer bench_kernel_job_begin(bench_kernel_job *job, bench_kernel_launcher *launcher, bench_point *point,
                                    uint64_t seed, char reason[BENCH_REASON_TEXT])
{
    *job = (bench_kernel_job){.launcher = launcher, .point = point};
    bench_answer answer = check_device(launcher, point->spec, reason);
    // The program first: what does not compile is worth more than what does not fit.
    for (int i = 0; i < point->spec->step_count && answer == BENCH_OK; i++)
        answer = make_kernel(job, i, reason);
    for (int i = 0; i < point->spec->buffer_count && answer == BENCH_OK; i++)
        answer = make_buffer(job, i, seed, reason);
    for (int i = 0; i < point->spec->step_count && answer == BENCH_OK; i++) {
        answer = set_ranges(job, i, reason);
        if (answer == BENCH_OK)
            answer = set_arguments(job, i, reason);
    }
    return answer;
}

void bench_kernel_job_end(bench_kernel_job *job)
{
    if (job->launcher->queue)
        clFinish(job->launcher->queue);
    for (int i = 0; i < BENCH_MOST_STEPS; i++) {
        if (job->steps[i].kernel)
            clReleaseKernel(job->steps[i].kernel);
    }
    for (int i = 0; i < BENCH_MOST_BUFFERS; i++) {
        bench_kernel_buffer *buffer = &job->buffers[i];
        if (buffer->mem)
            clReleaseMemObject(buffer->mem);
        if (buffer->kept)
            clReleaseMemObject(buffer->kept);
        if (buffer->block)
            husk_buffer_release(buffer->block);
        free(buffer->before);
        free(buffer->after);
    }
}

// ---- running ----

bench_answer bench_kernel_reset(bench_kernel_job *job, int which, char reason[BENCH_REASON_TEXT])
{
    const bench_spec *spec = job->point->spec;
    for (int i = 0; i < spec->buffer_count; i++) {
        bench_kernel_buffer *buffer = &job->buffers[i];
        const bench_buffer *from = &spec->buffers[i];
        if (from->generator.filling == BENCH_FILL_POISON)
            bench_fill_poison(from->element, buffer->before, job->point->bindings[from->symbol].count, which);
        const cl_int error = clEnqueueWriteBuffer(job->launcher->queue, buffer->mem, CL_TRUE, 0, buffer->bytes,
                                                  buffer->before, 0, NULL, NULL);
        if (error != CL_SUCCESS)
            return failed("clEnqueueWriteBuffer", error, reason);
    }
    return BENCH_OK;
}

static bench_answer enqueue(bench_kernel_job *job, const bench_kernel_step *step, char reason[BENCH_REASON_TEXT])
{
    const cl_int error = clEnqueueNDRangeKernel(job->launcher->queue, step->kernel, step->dimensions, NULL,
                                                step->global, step->has_local ? step->local : NULL, 0, NULL, NULL);
    if (error == CL_SUCCESS)
        return BENCH_OK;
    failed("clEnqueueNDRangeKernel", error, reason);
    // The device may find only now that it lacks the room.
    return error == CL_OUT_OF_RESOURCES ? BENCH_UNSUPPORTED : BENCH_ERROR;
}

bench_answer bench_kernel_finish(const bench_kernel_launcher *launcher, char reason[BENCH_REASON_TEXT])
{
    const cl_int error = clFinish(launcher->queue);
    return error == CL_SUCCESS ? BENCH_OK : failed("clFinish", error, reason);
}

bench_answer bench_kernel_enqueue(bench_kernel_job *job, char reason[BENCH_REASON_TEXT])
{
    const bench_spec *spec = job->point->spec;
    bench_answer answer = BENCH_OK;
    for (int i = 0; i < spec->buffer_count; i++) {
        const bench_kernel_buffer *buffer = &job->buffers[i];
        const cl_int error = buffer->kept ? clEnqueueCopyBuffer(job->launcher->queue, buffer->kept, buffer->mem, 0, 0,
                                                                buffer->bytes, 0, NULL, NULL)
                                          : CL_SUCCESS;
        if (error != CL_SUCCESS)
            return failed("clEnqueueCopyBuffer", error, reason);
    }
    for (int i = 0; i < spec->step_count && answer == BENCH_OK; i++)
        answer = enqueue(job, &job->steps[i], reason);
    return answer;
}

bench_answer bench_kernel_run(bench_kernel_job *job, int which, char reason[BENCH_REASON_TEXT])
{
    bench_answer answer = BENCH_OK;
    for (int i = 0; i < job->point->spec->step_count && answer == BENCH_OK; i++) {
        bench_kernel_poison_local(&job->launcher->poison, job->launcher->queue, which);
        answer = enqueue(job, &job->steps[i], reason);
    }
    return answer == BENCH_OK ? bench_kernel_finish(job->launcher, reason) : answer;
}

bench_answer bench_kernel_read(bench_kernel_job *job, char reason[BENCH_REASON_TEXT])
{
    for (int i = 0; i < job->point->spec->buffer_count; i++) {
        const bench_kernel_buffer *buffer = &job->buffers[i];
        const cl_int error = clEnqueueReadBuffer(job->launcher->queue, buffer->mem, CL_TRUE, 0, buffer->bytes,
                                                 buffer->after, 0, NULL, NULL);
        if (error != CL_SUCCESS)
            return failed("clEnqueueReadBuffer", error, reason);
    }
    return BENCH_OK;
}

bench_answer bench_kernel_guards(bench_kernel_job *job, char found[BENCH_REASON_TEXT], char reason[BENCH_REASON_TEXT])
{
    const bench_spec *spec = job->point->spec;
    found[0] = '\0';
    for (int i = 0; i < spec->buffer_count && job->launcher->is_guarded; i++) {
        husk_error error;
        const husk_status status = husk_buffer_check_guards(job->buffers[i].block, &error);
        if (status == HUSK_OK)
            continue;
        char *text = strstr(error.text, ": ");
        if (status != HUSK_INTERNAL) {
            bench_explain(reason, BENCH_REASON_TEXT, "%.900s", error.text);
            return BENCH_ERROR;
        }
        // Which kernel it was last used by is Husk's to know of its own kernels alone.
        char *end = text ? strstr(text, "; no kernel") : NULL;
        if (end)
            *end = '\0';
        if (!found[0])
            snprintf(found, BENCH_REASON_TEXT, "%s: %.900s", spec->symbols.items[spec->buffers[i].symbol].name,
                     text ? text + 2 : error.text);
    }
    return BENCH_OK;
}
