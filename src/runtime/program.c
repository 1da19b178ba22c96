// SPDX-License-Identifier: MIT
// Programs are built where a kernel in them is first asked for.
#include "runtime/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/version.h>

#include "base/hash.h"
#include "base/text.h"
#include "os/environment.h"
#include "os/file_lock.h"
#include "os/time.h"
#include "os/write_file.h"
#include "runtime/context_struct.h"
#include "runtime/kernel_source.h"
#include "runtime/lost.h"
#include "runtime/opencl_error.h"
#include "runtime/pocl.h"

// What every program is built with. No option here lets a compiler assume that NaN or infinity do not occur.
static void common_options(const husk_context *context, const husk__program *program, bool flushes, husk__text *text)
{
    husk__text_format(text, "-cl-std=CL1.2%s -DVW=%u", flushes ? " -cl-denorms-are-zero" : "",
                      (unsigned)context->device->traits.vector_width);
    if (*program->options)
        husk__text_format(text, " %s", program->options);
}

// Everything the binary depends on, in words: a difference anywhere is another cache entry.
static void cache_key(const husk_context *context, const char *options, const husk__text *source, husk__text *key)
{
    const husk_device_traits *traits = &context->device->traits;
    char hash[33];
    husk__hash128_text(husk__hash128_of(source->bytes, source->size), hash);
    husk__text_format(
        key, "husk %s\nplatform %s\ndevice %s\nvendor %s\nversion %s\ndriver %s\npointers %zu\noptions %s\nsource %s\n",
        husk_version(), traits->platform_name, traits->name, traits->vendor, traits->device_version,
        traits->driver_version, 8 * sizeof(void *), options, hash);
}

static char *build_log(cl_program cl, cl_device_id device)
{
    size_t size = 0;
    if (clGetProgramBuildInfo(cl, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS)
        return NULL;
    char *log = calloc(1, size + 1);
    if (log)
        clGetProgramBuildInfo(cl, device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    return log;
}

static cl_program build_from_binary(husk_context *context, const char *options, const char *key)
{
    size_t size;
    unsigned char *binary = husk__cache_load(&context->cache, key, &size);
    if (!binary)
        return NULL;
    cl_int code, binary_status;
    cl_program cl = clCreateProgramWithBinary(context->cl, 1, &context->device->id, &size,
                                              (const unsigned char **)&binary, &binary_status, &code);
    free(binary);
    if (cl && (binary_status != CL_SUCCESS ||
               clBuildProgram(cl, 1, &context->device->id, options, NULL, NULL) != CL_SUCCESS)) {
        clReleaseProgram(cl);
        cl = NULL;
    }
    if (cl)
        atomic_fetch_add(&context->cache_loads, 1);
    return cl;
}

// A binary may be longer or shorter than its driver has just said: PoCL makes one of a folder to which other processes,
// and first launches of kernels, add files, or from which they take some, and writes what is there by then. It is not
// whole then, and is not kept.
enum { BINARY_GROWTH = 16 << 20, MARK = 64 };

static size_t announced_size(cl_program cl)
{
    size_t size = 0;
    return clGetProgramInfo(cl, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) == CL_SUCCESS ? size : 0;
}

static bool is_filled(const unsigned char *bytes, size_t size, unsigned char fill)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != fill)
            return false;
    return true;
}

// Whether the driver writes all that it has announced, to its last byte, and nothing behind it. That byte may happen to
// be what lay there before: then it is asked once more, over another one.
static bool read_binary(cl_program cl, unsigned char *binary, size_t size)
{
    static const unsigned char fills[] = {0xa5, 0x5a};
    for (size_t i = 0; i < sizeof fills; i++) {
        memset(binary, fills[i], size + MARK);
        if (clGetProgramInfo(cl, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) != CL_SUCCESS ||
            !is_filled(binary + size, MARK, fills[i]))
            return false;
        if (binary[size - 1] != fills[i])
            return announced_size(cl) == size;
    }
    return false;
}

static void store_binary(husk_context *context, cl_program cl, const char *key)
{
    const size_t size = context->cache.directory ? announced_size(cl) : 0;
    if (size == 0 || size > SIZE_MAX - BINARY_GROWTH)
        return;
    unsigned char *binary = malloc(size + BINARY_GROWTH); // pages that nobody touches cost nothing
    if (binary && read_binary(cl, binary, size))
        husk__cache_store(&context->cache, key, binary, size);
    free(binary);
}

// What a compiler says of a kernel's text, which will not change; want of memory and the like may pass.
// INVALID_BINARY and NVIDIA's unnamed error are what an assembler's refusal comes as.
static bool is_verdict(cl_int code)
{
    enum { NVIDIA_UNKNOWN = -9999 };
    return code == CL_BUILD_PROGRAM_FAILURE || code == CL_COMPILE_PROGRAM_FAILURE || code == CL_LINK_PROGRAM_FAILURE ||
           code == CL_INVALID_BINARY || code == NVIDIA_UNKNOWN || code == CL_INVALID_BUILD_OPTIONS ||
           code == CL_INVALID_COMPILER_OPTIONS || code == CL_INVALID_LINKER_OPTIONS ||
           code == CL_COMPILER_NOT_AVAILABLE || code == CL_LINKER_NOT_AVAILABLE || code == CL_INVALID_KERNEL_NAME ||
           code == CL_INVALID_KERNEL_DEFINITION || code == CL_INVALID_PROGRAM_EXECUTABLE;
}

// What to do about a failure that is the platform's own.
static const char *build_advice(const char *log)
{
    if (log && strstr(log, "unknown target CPU"))
        return "(the platform's compiler is older than this CPU: a newer version of it, such as PoCL's, helps)\n";
    return "";
}

// PoCL (3.1) takes away a file of its cache and writes it anew while another process does the same with it, and then
// calls that a failed build: no compiler has found an error, and the next one that comes by itself succeeds.
static bool is_failure_of_pocls_cache(const husk_context *context, cl_int code, const char *log)
{
    return code == CL_BUILD_PROGRAM_FAILURE && !(log && husk__contains_ignoring_case(log, "error")) &&
           husk__is_pocl(&context->device->traits);
}

// Where it fails, no program, and *log is what the compiler has said, to be freed, or NULL.
static cl_int compile(husk_context *context, const char *options, cl_program *cl, char **log)
{
    cl_int code = clBuildProgram(*cl, 1, &context->device->id, options, NULL, NULL);
    *log = code == CL_SUCCESS || code == CL_OUT_OF_HOST_MEMORY ? NULL : build_log(*cl, context->device->id);
    if (code != CL_SUCCESS) {
        clReleaseProgram(*cl);
        *cl = NULL;
    }
    return code;
}

// A verdict lets another variant take this one's place. What may pass is the call's failure: to be called again. Want
// of resources on a device that answers is what some drivers say of a kernel that is too large for it, so that others
// are tried; but it is no verdict for good.
static husk_status build_failed(husk_context *context, const husk__program *program, const char *options, cl_int code,
                                const char *log, const husk__scope *scope)
{
    husk__log_write(&context->log, HUSK_LOG_WARNING, "kernel file %s does not build with \"%s\" (%s):\n%s",
                    program->file, options, husk__opencl_name(code), log ? log : "");
    if (!is_verdict(code) || is_failure_of_pocls_cache(context, code, log)) {
        const husk_status status = husk__opencl_failed(context, scope, "clBuildProgram", code);
        if (code != CL_OUT_OF_RESOURCES || status == HUSK_DEVICE_LOST)
            return status;
    }
    return husk__fail_opencl(scope, HUSK_BUILD_FAILED, code,
                             "kernel file %s does not build with \"%s\": clBuildProgram answered %s\n%s%s",
                             program->file, options, husk__opencl_name(code), build_advice(log), log ? log : "");
}

/*
 * A compiler may take the process with it, and a library neither forks nor catches signals: it says to the log what is
 * built, and by which file it is not built again. A host that runs it in a process of its own, as clbench does, and
 * has seen that end makes the file; its first line is told. Without a cache of binaries there is no such file.
 */
static void announce(husk_context *context, const husk__program *program, const char *options, const char *key)
{
    husk__text mark = {0};
    if (husk__cache_mark_path(&context->cache, key, &mark))
        husk__log_write(&context->log, HUSK_LOG_DEBUG, "building %s with \"%s\" (refused where there is %s)",
                        program->file, options, mark.bytes);
    else
        husk__log_write(&context->log, HUSK_LOG_DEBUG, "building %s with \"%s\"", program->file, options);
    husk__text_free(&mark);
}

static husk_status refuse_marked(husk_context *context, husk__program *program, const char *options, const char *key,
                                 const husk__scope *scope)
{
    enum { MOST_SAID = 200 }; // of its first line
    husk__text mark = {0};
    husk_status status = HUSK_OK;
    char *said = husk__cache_mark_path(&context->cache, key, &mark) ? husk__cache_read_mark(mark.bytes) : NULL;
    if (said) {
        const size_t length = strcspn(said, "\r\n");
        husk__log_write(&context->log, HUSK_LOG_WARNING,
                        "kernel file %s is not built with \"%s\", which has crashed the driver's compiler; %s says so",
                        program->file, options, mark.bytes);
        free(program->mark);
        program->mark = husk__copy_string(mark.bytes);
        status = husk__fail(scope, HUSK_BUILD_FAILED,
                            "kernel file %s is not built: it has crashed the driver's compiler (%.*s); delete %s to "
                            "have it tried again (with \"%s\")",
                            program->file, (int)(length < MOST_SAID ? length : MOST_SAID), said, mark.bytes, options);
    }
    free(said);
    husk__text_free(&mark);
    return status;
}

static husk_status build_from_source(husk_context *context, husk__program *program, const char *options,
                                     const husk__text *source, cl_program *cl, const husk__scope *scope)
{
    enum { ATTEMPTS = 5, PAUSE_NS = 10000000 };
    cl_int code;
    const char *text = source->bytes;
    char *log = NULL;
    for (int attempt = 1;; ++attempt) {
        *cl = clCreateProgramWithSource(context->cl, 1, &text, &source->size, &code);
        if (!*cl)
            return husk__opencl_failed(context, scope, "clCreateProgramWithSource", code);
        code = compile(context, options, cl, &log);
        if (attempt == ATTEMPTS || !is_failure_of_pocls_cache(context, code, log))
            break;
        free(log);
        husk__sleep_ns((uint64_t)PAUSE_NS << attempt);
    }
    atomic_fetch_add(&context->builds, 1);
    log = husk__kernel_log_by_files(source, log);
    const husk_status status = code == CL_SUCCESS ? HUSK_OK : build_failed(context, program, options, code, log, scope);
    free(log);
    return status;
}

// HUSK_PROGRAM_DIR: every program goes there as one self-contained file, for offline compilers and bug reports. Of
// gemm/packed.cl it is gemm_packed-HASH.cl, the hash being that of the options.
static void export_source(const husk__program *program, const char *options, const husk__text *source)
{
    const char *directory = husk__environment("HUSK_PROGRAM_DIR");
    if (!directory)
        return;
    husk__text path = {0}, text = {0};
    char hash[33];
    husk__hash128_text(husk__hash128_of(options, strlen(options)), hash);
    husk__text_format(&path, "%s/%.*s-%.8s.cl", directory, (int)strcspn(program->file, "."), program->file, hash);
    for (char *at = path.failed ? NULL : strchr(path.bytes + strlen(directory) + 1, '/'); at; at = strchr(at, '/'))
        *at = '_';
    husk__text_format(&text, "// options: %s\n", options);
    husk__text_append(&text, source->bytes, source->size);
    if (!path.failed && !text.failed)
        husk__write_file_atomically(path.bytes, text.bytes, text.size);
    husk__text_free(&path);
    husk__text_free(&text);
}

/*
 * One process builds, the others wait for its entry: longer than compilers take, and not for ever, as it may have been
 * stopped. Where there is no entry even so, since the disk is full or the kernel does not build, none of them waits for
 * the next one.
 */
static husk_status build_in_turn(husk_context *context, husk__program *program, const char *options,
                                 const husk__text *source, const char *key, const husk__scope *scope)
{
    const uint64_t patience_ns = UINT64_C(60000000000);
    int lock = husk__cache_lock(&context->cache, key, 0);
    const bool is_first = lock >= 0;
    if (!is_first)
        lock = husk__cache_lock(&context->cache, key, patience_ns);
    if (lock >= 0) { // another one may have written it since it was looked for
        program->cl = build_from_binary(context, options, key);
        if (program->cl || !is_first) {
            husk__unlock(lock);
            lock = -1;
        }
    }
    husk_status status = HUSK_OK;
    if (!program->cl) // the one that built may have died of it
        status = refuse_marked(context, program, options, key, scope);
    if (!program->cl && status == HUSK_OK) {
        announce(context, program, options, key);
        status = build_from_source(context, program, options, source, &program->cl, scope);
        if (status == HUSK_OK)
            store_binary(context, program->cl, key);
    }
    husk__unlock(lock);
    return status;
}

static husk_status build(husk_context *context, husk__program *program, bool flushes, const husk__scope *scope)
{
    husk__text source = {0}, options = {0}, key = {0};
    uint64_t start = husk__now_ns();
    husk_status status = husk__kernel_source(program->file, &source, scope);
    if (status == HUSK_OK)
        status = husk__refuse_full_folder(&context->device->traits, scope);
    if (status != HUSK_OK)
        goto cleanup;
    common_options(context, program, flushes, &options);
    if (!options.failed)
        cache_key(context, options.bytes, &source, &key);
    if (options.failed || key.failed) {
        status = husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory to build %s", program->file);
        goto cleanup;
    }
    export_source(program, options.bytes, &source);
    program->cl = build_from_binary(context, options.bytes, key.bytes);
    if (!program->cl)
        status = refuse_marked(context, program, options.bytes, key.bytes, scope);
    if (!program->cl && status == HUSK_OK)
        status = build_in_turn(context, program, options.bytes, &source, key.bytes, scope);
    uint64_t spent = husk__now_ns() - start;
    atomic_fetch_add(&context->build_ns, spent);
    if (status == HUSK_OK)
        husk__log_write(&context->log, HUSK_LOG_DEBUG, "built %s \"%s\" in %.0f ms", program->file, options.bytes,
                        (double)spent / 1e6);
    else
        husk__log_write(&context->log, HUSK_LOG_DEBUG, "not built: %s \"%s\"", program->file, options.bytes);
cleanup:
    husk__text_free(&source);
    husk__text_free(&options);
    husk__text_free(&key);
    return status;
}

// The file is looked at again at every call: a server that runs on may be told of it, and somebody deletes it.
static void forget_mark(husk__program *program)
{
    char *said = program->mark ? husk__cache_read_mark(program->mark) : NULL;
    if (program->mark && !said) {
        free(program->mark);
        program->mark = NULL;
        program->is_built = false;
    }
    free(said);
}

// A kernel that does not build is not built again at every call.
static husk_status build_once(husk_context *context, husk__program *program, bool flushes, const husk__scope *scope)
{
    pthread_mutex_lock(&program->lock);
    forget_mark(program);
    if (!program->is_built) {
        husk_error error = {0};
        husk__scope own = {scope->call, &error};
        program->status = build(context, program, flushes, &own);
        if (program->status != HUSK_OK) {
            free(program->failure);
            program->opencl_code = error.opencl_code;
            size_t prefix = strlen(scope->call) + 2; // "call: " is put before the text again
            program->failure = husk__copy_string(strlen(error.text) > prefix ? error.text + prefix : error.text);
        }
        program->is_built = program->status == HUSK_OK || (program->status == HUSK_BUILD_FAILED &&
                                                           (program->mark || is_verdict(program->opencl_code)));
    }
    husk_status status = program->status;
    if (status != HUSK_OK)
        husk__fail_opencl(scope, status, program->opencl_code, "%s",
                          program->failure ? program->failure : program->file);
    pthread_mutex_unlock(&program->lock);
    return status;
}

// A GPU's driver sets private memory aside for all the work-items that the device can have under way, some 2,048 a
// unit, and keeps it as long as the context lives: a kernel for CPUs with 256 KiB of it would take 69 GB of an H200
// (132 units), and where they are not free, launches and other processes' contexts fail. A sixteenth of the memory is
// the most that is taken. Intel's units are smaller: eight threads of up to 32 work-items.
enum { ITEMS_UNDER_WAY = 2048, INTEL_ITEMS_UNDER_WAY = 256, SHARE_OF_PRIVATE_MEMORY = 16 };

static husk_status check_private_memory(const husk_device_traits *traits, const char *name, cl_ulong bytes,
                                        const husk__scope *scope)
{
    const int items = strstr(traits->vendor, "Intel") ? INTEL_ITEMS_UNDER_WAY : ITEMS_UNDER_WAY;
    const double taken = (double)bytes * traits->compute_units * items;
    if (!husk__is_gpu(traits) || taken * SHARE_OF_PRIVATE_MEMORY <= (double)traits->global_memory)
        return HUSK_OK;
    return husk__fail(scope, HUSK_UNSUPPORTED,
                      "kernel %s needs %llu bytes of private memory a work-item, of which this GPU of %u units "
                      "with %llu MiB can have too many under way",
                      name, (unsigned long long)bytes, traits->compute_units,
                      (unsigned long long)(traits->global_memory >> 20));
}

// What the device says of the compiled kernel, against what the device has.
static husk_status examine(husk_context *context, husk__kernel *kernel, const husk__scope *scope)
{
    cl_int code;
    cl_kernel cl = clCreateKernel(kernel->program->cl, kernel->name, &code);
    if (!cl && code != CL_INVALID_KERNEL_NAME && code != CL_INVALID_KERNEL_DEFINITION &&
        code != CL_INVALID_PROGRAM_EXECUTABLE)
        return husk__opencl_failed(context, scope, "clCreateKernel", code);
    if (!cl)
        return husk__fail_opencl(scope, HUSK_BUILD_FAILED, code, "kernel %s of %s: clCreateKernel answered %s",
                                 kernel->name, kernel->program->file, husk__opencl_name(code));
    const husk_device_traits *traits = &context->device->traits;
    cl_device_id device = context->device->id;
    cl_ulong local_memory = 0, private_memory = 0;
    size_t required[3] = {0};
    code = clGetKernelWorkGroupInfo(cl, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof kernel->max_work_items,
                                    &kernel->max_work_items, NULL);
    if (code == CL_SUCCESS)
        code = clGetKernelWorkGroupInfo(cl, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof required, required, NULL);
    if (code == CL_SUCCESS)
        code = clGetKernelWorkGroupInfo(cl, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local_memory, &local_memory, NULL);
    if (code == CL_SUCCESS) {
        code = clGetKernelWorkGroupInfo(cl, device, CL_KERNEL_PRIVATE_MEM_SIZE, sizeof private_memory, &private_memory,
                                        NULL);
        if (code == CL_INVALID_VALUE) // OpenCL 1.0 has no such question
            code = CL_SUCCESS;
    }
    clReleaseKernel(cl);
    if (code != CL_SUCCESS)
        return husk__opencl_failed(context, scope, "clGetKernelWorkGroupInfo", code);
    kernel->has_required_work_group = required[0] != 0;
    for (int d = 0; d < 3; ++d)
        kernel->work_group[d] = required[d] ? required[d] : 1;
    if (kernel->max_work_items > traits->work_group)
        kernel->max_work_items = (size_t)traits->work_group;
    size_t items = kernel->work_group[0] * kernel->work_group[1] * kernel->work_group[2];
    if (items > kernel->max_work_items)
        return husk__fail(scope, HUSK_UNSUPPORTED, "kernel %s needs %zu work-items a group, this device allows it %zu",
                          kernel->name, items, kernel->max_work_items);
    for (int d = 0; d < 3; ++d)
        if (kernel->work_group[d] > traits->work_item_sizes[d])
            return husk__fail(scope, HUSK_UNSUPPORTED,
                              "kernel %s needs %zu work-items in dimension %d, this device allows %llu", kernel->name,
                              kernel->work_group[d], d, (unsigned long long)traits->work_item_sizes[d]);
    if (local_memory > traits->local_memory)
        return husk__fail(scope, HUSK_UNSUPPORTED, "kernel %s needs %llu bytes of local memory, this device has %llu",
                          kernel->name, (unsigned long long)local_memory, (unsigned long long)traits->local_memory);
    return check_private_memory(traits, kernel->name, private_memory, scope);
}

static husk_status add_kernel(husk_context *context, husk__program *program, const char *name,
                              const husk__kernel **kernel, const husk__scope *scope)
{
    husk__kernel *made = calloc(1, sizeof *made + strlen(name) + 1);
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for kernel %s", name);
    strcpy(made->name, name);
    made->program = program;
    husk_status status = examine(context, made, scope);
    if (status != HUSK_OK) {
        free(made);
        return status;
    }
    husk__programs *programs = &context->programs;
    pthread_mutex_lock(&programs->lock);
    husk__kernel *present = husk__programs_find_kernel(programs, program, name);
    if (present) {
        free(made);
        made = present;
    } else {
        made->id = programs->kernel_count++;
        made->next = programs->kernels;
        programs->kernels = made;
    }
    pthread_mutex_unlock(&programs->lock);
    *kernel = made;
    return HUSK_OK;
}

// With the lock held; *program is NULL where it is not known.
static husk__kernel *find(husk__programs *programs, const char *file, const char *options, const char *name,
                          husk__program **program)
{
    *program = husk__programs_find(programs, file, options);
    return *program ? husk__programs_find_kernel(programs, *program, name) : NULL;
}

const husk__kernel *husk__kernel_find(husk_context *context, const char *file, const char *options, const char *name)
{
    husk__program *program;
    pthread_mutex_lock(&context->programs.lock);
    const husk__kernel *kernel = find(&context->programs, file, options, name, &program);
    pthread_mutex_unlock(&context->programs.lock);
    return kernel;
}

husk_status husk__kernel_make(husk_context *context, const char *file, const char *options, const char *name,
                              bool flushes, const husk__kernel **kernel, const husk__scope *scope)
{
    husk__program *program;
    pthread_mutex_lock(&context->programs.lock);
    *kernel = find(&context->programs, file, options, name, &program);
    if (!program)
        program = husk__programs_add(&context->programs, file, options);
    pthread_mutex_unlock(&context->programs.lock);
    if (*kernel)
        return HUSK_OK;
    if (!program)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for program %s", file);
    const husk_status status = build_once(context, program, flushes, scope);
    return status == HUSK_OK ? add_kernel(context, program, name, kernel, scope) : status;
}
