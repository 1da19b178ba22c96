// SPDX-License-Identifier: MIT
// run_variants SUITE FIRST STEP: has PoCL compile what the library's variants run here, and says where it is. Of the
// operators, with their gradients, it takes every STEP-th from the number FIRST on. SUITE is a suite's name or file.
//
// Variants for CPUs run in every configuration of their menus: with all of the cases in f32, and with the first that
// they take in f16 and in bf16. Those for GPUs, which come behind them, run in their first configuration in f32. A line
// of the output, with tabs between its words:
//
//     operator NUMBER NAME                                   what follows is this one's
//     at FORM CASE                                           what runs next
//     has FILE KERNEL                                        a kernel in a program that was built
//     ran FAMILY FILE KERNEL FORM CASE OBJECT OPTIONS        a kernel that was enqueued, and its compiled form
//     missing FAMILY OPERATOR FORM REASON                    a configuration that took none of the cases
//
// OBJECT is a shared object in PoCL's cache (POCL_CACHE_DIR), which this process has loaded for the kernel. It is "-"
// for kernels with local memory of variants for GPUs: these are built and not launched, which takes PoCL most time and
// shows nothing that is asked for.
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/opencl.h>

#include "cases/case.h"
#include "cases/data.h"
#include "cases/ops.h"
#include "cases/parse.h"
#include "cases/suite.h"
#include "cases/suites.h"
#include "runtime/context_struct.h"
#include "select/op.h"
#include "worker/husk_runner.h"

enum { MAX_ROWS = 1024, MAX_OBJECTS = 16384, SKIPPED = 77 };

// A configuration of a variant, and in which dtypes it has run.
typedef struct row {
    const husk__op *op;
    const husk__variant *variant;
    const char *configuration;
    bool is_wanted, ran, ran_f16, ran_bf16;
    char reason[BENCH_REASON_TEXT]; // of the last refusal
} row;

static row rows[MAX_ROWS];
static size_t row_count;
static bench_husk_session session;
static const row *now; // what is run,
static const char *now_case; // and with which case

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "run_variants: %s: %s\n", what, why);
    exit(1);
}

static const char *family_of(const row *r)
{
    return r->variant->family == HUSK__FAMILY_GPU ? "gpu" : "cpu";
}

// ---- what a launch has loaded ----

static char *objects[MAX_OBJECTS];
static size_t object_count;

static bool is_new(const char *path)
{
    for (size_t i = 0; i < object_count; ++i)
        if (strcmp(objects[i], path) == 0)
            return false;
    if (object_count == MAX_OBJECTS || !(objects[object_count] = strdup(path)))
        stop(path, "there are more objects than MAX_OBJECTS, or memory is short");
    ++object_count;
    return true;
}

typedef struct launch {
    const char *file;
    char kernel[256], options[4096];
    cl_ulong local_memory;
} launch;

static void note(const launch *l, const char *object)
{
    printf("ran\t%s\t%s\t%s\t%s:%s\t%s\t%s\t%s\n", family_of(now), l->file, l->kernel, now->variant->name,
           now->configuration, now_case, object, l->options);
}

static int note_object(struct dl_phdr_info *object, size_t size, void *user)
{
    const char *folder = getenv("POCL_CACHE_DIR");
    (void)size;
    if (folder && strncmp(object->dlpi_name, folder, strlen(folder)) == 0 && is_new(object->dlpi_name))
        note(user, object->dlpi_name);
    return 0;
}

static const char *file_of(cl_program program)
{
    for (const husk__program *p = session.context->programs.programs; p; p = p->next)
        if (p->cl == program)
            return p->file;
    return "?";
}

static launch launch_of(cl_kernel kernel)
{
    launch l = {0};
    cl_program program = NULL;
    const cl_device_id device = session.device->id;
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof l.kernel - 1, l.kernel, NULL);
    clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof l.local_memory, &l.local_memory, NULL);
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof l.options - 1, l.options, NULL);
    l.file = file_of(program);
    return l;
}

// PoCL compiles a kernel for the sizes of its launch, at the latest when the launch is due. (run_variants is linked
// with --wrap.)
cl_int __real_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                     const size_t *global, const size_t *local, cl_uint wait_count,
                                     const cl_event *wait, cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                     const size_t *global, const size_t *local, cl_uint wait_count,
                                     const cl_event *wait, cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                     const size_t *global, const size_t *local, cl_uint wait_count,
                                     const cl_event *wait, cl_event *event)
{
    launch l = now ? launch_of(kernel) : (launch){0};
    if (now && now->variant->family == HUSK__FAMILY_GPU && l.local_memory > 0) {
        note(&l, "-");
        return clEnqueueMarkerWithWaitList(queue, wait_count, wait, event);
    }
    cl_int code =
        __real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, wait_count, wait, event);
    if (code == CL_SUCCESS && now && clFinish(queue) == CL_SUCCESS)
        dl_iterate_phdr(note_object, &l);
    return code;
}

static void list_kernels(void)
{
    for (const husk__program *p = session.context->programs.programs; p; p = p->next) {
        char names[8192] = "";
        if (!p->cl || clGetProgramInfo(p->cl, CL_PROGRAM_KERNEL_NAMES, sizeof names - 1, names, NULL) != CL_SUCCESS)
            continue;
        for (char *name = strtok(names, ";"); name; name = strtok(NULL, ";"))
            printf("has\t%s\t%s\n", p->file, name);
    }
}

// ---- dtypes ----

static void narrow(husk_tensor *tensor, husk_dtype from, husk_dtype to)
{
    if (tensor && tensor->buffer && tensor->dtype == from)
        tensor->dtype = to;
}

// All of a call's tensors, or its larger ones: x, y and their gradients. What they hold is of no interest.
static void narrow_set(bench_husk_job *job, husk_dtype from, husk_dtype to, bool all)
{
    bench_husk_set *set = &job->sets[0];
    husk_tensor *const large[] = {&set->x, &set->y, &set->dy, &set->gradients[0]};
    husk_tensor *const small[] = {&set->w,           &set->bias,     &set->h0,           &set->c0,
                                  &set->h_n,         &set->c_n,      &set->saved[0],     &set->saved[1],
                                  &set->saved[2],    &set->saved[3], &set->gradients[1], &set->gradients[2],
                                  &set->gradients[3]};
    for (size_t i = 0; i < sizeof large / sizeof *large; ++i)
        narrow(large[i], from, to);
    for (size_t i = 0; all && i < sizeof small / sizeof *small; ++i)
        narrow(small[i], from, to);
}

static husk_status enqueue(bench_husk_job *job, row *r)
{
    husk_status status = bench_op_get(job->c->op)->husk_enqueue(job, &job->sets[0]);
    if (status == HUSK_OK)
        status = husk_queue_finish(job->queue);
    if (status != HUSK_OK)
        snprintf(r->reason, sizeof r->reason, "%.1000s", husk_queue_error(job->queue)->text);
    if (status != HUSK_OK && status != HUSK_UNSUPPORTED && status != HUSK_INVALID_ARGUMENT)
        stop(job->c->canonical, r->reason);
    return status;
}

// Operators that clbench measures in f32 alone.
static bool enqueue_narrowed(bench_husk_job *job, row *r, husk_dtype dtype)
{
    for (int all = 1; all >= 0; --all) {
        narrow_set(job, HUSK_F32, dtype, all);
        const husk_status status = enqueue(job, r);
        narrow_set(job, dtype, HUSK_F32, true);
        if (status == HUSK_OK)
            return true;
    }
    return false;
}

// ---- running ----

static bool run_form(const bench_case *c, const bench_data *data, row *r, husk_dtype dtype)
{
    char form[160];
    void *state = NULL;
    snprintf(form, sizeof form, "%s:%s", r->variant->name, r->configuration);
    const bench_prepare_options options = {.form = form};
    printf("at\t%s\t%s\n", form, now_case);
    const bench_answer answer = bench_runner_husk.prepare(&session, c, data, &options, &state, r->reason);
    if (answer == BENCH_ERROR || answer == BENCH_LOST)
        stop(c->canonical, r->reason);
    if (answer != BENCH_OK)
        return false;
    bench_husk_job *job = bench_husk_job_of(state);
    const bool narrowed = dtype != HUSK_F32 && c->dtype == HUSK_F32;
    const bool ran = narrowed ? enqueue_narrowed(job, r, dtype) : enqueue(job, r) == HUSK_OK;
    bench_runner_husk.release(state);
    return ran;
}

static bool is_gpu(const row *r)
{
    return r->variant->family == HUSK__FAMILY_GPU;
}

// In f16 and bf16 only the first case that it takes.
static bool wants(const row *r, const bench_case *c, husk_dtype dtype, bool gpu)
{
    if (!r->is_wanted || is_gpu(r) != gpu || strcmp(r->op->name, bench_op_row(c)) != 0)
        return false;
    return dtype == HUSK_F32 || (r->ran && !(dtype == HUSK_F16 ? r->ran_f16 : r->ran_bf16));
}

static void run_rows(const bench_case *c, husk_dtype dtype, bool gpu)
{
    char reason[BENCH_REASON_TEXT];
    bench_data data;
    bool is_made = false;
    for (size_t i = 0; i < row_count; ++i) {
        row *r = &rows[i];
        if (!wants(r, c, dtype, gpu))
            continue;
        if (!is_made && !bench_data_make(c, &data, reason))
            stop(c->canonical, reason);
        is_made = true;
        now = r;
        if (run_form(c, &data, r, dtype))
            *(dtype == HUSK_F16 ? &r->ran_f16 : dtype == HUSK_BF16 ? &r->ran_bf16 : &r->ran) = true;
        now = NULL;
    }
    if (is_made)
        bench_data_free(c, &data);
}

// The case in this dtype. In another one than its own it is another case, or, where the operator is measured in f32
// alone, a change to its tensors.
static void run_case(const bench_case *given, husk_dtype dtype, bool gpu)
{
    char text[2 * BENCH_CASE_TEXT], reason[BENCH_REASON_TEXT];
    bench_case c = *given;
    if (dtype != HUSK_F32 && (given->dtype != HUSK_F32 || given->packed))
        return;
    snprintf(text, sizeof text, "%s dtype=%s", given->canonical, husk_dtype_name(dtype));
    if (dtype != HUSK_F32 && bench_op_get(given->op)->narrows && !bench_case_parse(text, &c, reason))
        return;
    const bool is_changed = dtype != HUSK_F32 && c.dtype == HUSK_F32;
    snprintf(text, sizeof text, "%s%s%s", c.canonical, is_changed ? " in " : "",
             is_changed ? husk_dtype_name(dtype) : "");
    now_case = text;
    run_rows(&c, dtype, gpu);
}

static void run_operator(const husk__op *op, const bench_suite *suite)
{
    static const husk_dtype dtypes[] = {HUSK_F32, HUSK_F16, HUSK_BF16};
    enum { DTYPES = sizeof dtypes / sizeof *dtypes };
    for (size_t d = 0; d <= DTYPES; ++d) // at last the variants for GPUs
        for (size_t i = 0; i < suite->count; ++i) {
            const char *name = bench_op_row(&suite->entries[i].c);
            if (name && strcmp(name, op->name) == 0)
                run_case(&suite->entries[i].c, d < DTYPES ? dtypes[d] : HUSK_F32, d == DTYPES);
        }
}

static void report(const husk__op *op)
{
    list_kernels();
    for (size_t i = 0; i < row_count; ++i)
        if (rows[i].is_wanted && rows[i].op == op && !rows[i].ran)
            printf("missing\t%s\t%s\t%s:%s\t%.300s\n", family_of(&rows[i]), op->name, rows[i].variant->name,
                   rows[i].configuration, rows[i].reason[0] ? rows[i].reason : "no case is its operator's");
}

static void run_operators(const bench_suite *suite, unsigned long first, unsigned long step)
{
    for (size_t o = 0; husk__ops[o]; ++o) {
        if (o < first || (o - first) % step != 0)
            continue;
        printf("operator\t%zu\t%s\n", o, husk__ops[o]->name);
        run_operator(husk__ops[o], suite);
        report(husk__ops[o]);
    }
}

static void make_rows(void)
{
    for (const husk__op *const *op = husk__ops; *op; ++op)
        for (const husk__variant *const *variant = (*op)->variants; *variant; ++variant)
            for (size_t i = 0; i < (*variant)->configuration_count; ++i) {
                if (row_count == MAX_ROWS)
                    stop((*op)->name, "there are more configurations than MAX_ROWS");
                row *r = &rows[row_count++];
                *r = (row){.op = *op, .variant = *variant, .configuration = (*variant)->configurations[i].name};
                r->is_wanted = strcmp((*variant)->name, "clblast") != 0 && // another library's kernels
                               (i == 0 || !is_gpu(r));
            }
}

static void open_session(bench_husk_session *s)
{
    husk_status status = husk_device_list_create(&s->list, &s->error);
    if (status == HUSK_OK)
        status = husk_device_list_select(s->list, NULL, &s->device, &s->error);
    if (status == HUSK_OK && !strstr(s->device->traits.platform_name, "Portable Computing Language")) {
        printf("%s is no device of PoCL's: no other driver keeps the machine code of kernels as files\n",
               s->device->traits.name);
        exit(SKIPPED);
    }
    if (status == HUSK_OK)
        status = husk_context_create(s->device, NULL, &s->context, &s->error);
    if (status == HUSK_OK)
        status = husk_queue_create(s->context, NULL, &s->queue, &s->error);
    if (status != HUSK_OK)
        stop("the device", s->error.text);
}

int main(int count, char **arguments)
{
    char reason[BENCH_REASON_TEXT];
    bench_suite suite;
    const unsigned long step = count == 4 ? strtoul(arguments[3], NULL, 10) : 0;
    if (step == 0)
        stop("usage", "run_variants SUITE FIRST STEP");
    const bool is_loaded = bench_suite_is_path(arguments[1]) ? bench_suite_load_file(arguments[1], &suite, reason)
                                                             : bench_suite_load(arguments[1], &suite, reason);
    if (!is_loaded)
        stop(arguments[1], reason);
    setvbuf(stdout, NULL, _IOLBF, 0);
    make_rows();
    open_session(&session);
    printf("device\t%s\t%s\n", session.device->traits.name, session.device->traits.driver_version);
    run_operators(&suite, strtoul(arguments[2], NULL, 10), step);
    bench_suite_free(&suite);
    husk_queue_release(session.queue);
    husk_context_release(session.context);
    husk_device_list_release(session.list);
    return 0;
}
