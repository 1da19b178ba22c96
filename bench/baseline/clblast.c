// SPDX-License-Identifier: MIT
// The runner clblast: CLBlast's matrix multiplication on the same OpenCL device, in a context of its own.
//
// CLBlast compiles its kernels when a routine is first called (on PoCL that takes seconds), so prepare() runs
// every case once and reports that time apart. It has no epilogue: bias and activation are a kernel after it.
#include <stdio.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <clblast_c.h>

#include <husk/opencl.h>

#include "baseline/baselines.h"
#include "baseline/operand.h"
#include "common/embedded.h"
#include "common/json.h"
#include "worker/husk_extra.h"

typedef struct clblast_session {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    json_t *about; /* the device, as bench_device_json has it */
} clblast_session;

typedef struct operands {
    cl_mem a, b, c;
} operands;

typedef struct state {
    clblast_session *session;
    bench_gemm g;
    husk_act act;
    const bench_data *data;
    int copies, next, last;
    operands *sets;
    cl_mem bias;
    cl_program program; /* the epilogue; NULL: there is none */
    cl_kernel kernel;
    uint64_t first_ns;
    char variant[96];
} state;

static bench_answer explain_cl(cl_int error, const char *what, char reason[BENCH_REASON_TEXT])
{
    if (error == CL_SUCCESS)
        return BENCH_OK;
    snprintf(reason, BENCH_REASON_TEXT, "clblast: %s: OpenCL error %d", what, (int)error);
    return BENCH_ERROR;
}

// ---- session

static void session_close(void *session)
{
    clblast_session *s = session;
    if (!s)
        return;
    CLBlastClearCache(); // its programs would outlive the context
    if (s->queue)
        clReleaseCommandQueue(s->queue);
    if (s->context)
        clReleaseContext(s->context);
    json_decref(s->about);
    free(s);
}

// The OpenCL device that the preference means; Husk is asked, so that both mean the same one.
static bench_answer find_device(clblast_session *s, const char *preference, char reason[BENCH_REASON_TEXT])
{
    husk_error error = {0};
    husk_device_list *list = NULL;
    const husk_device *device = NULL;
    husk_context *context = NULL;
    husk_status status = husk_device_list_create(&list, &error);
    if (status == HUSK_OK)
        status = husk_device_list_select(list, preference, &device, &error);
    if (status == HUSK_OK)
        status = husk_context_create(device, NULL, &context, &error);
    if (status == HUSK_OK) {
        s->device = husk_context_opencl_device(context);
        s->about = bench_device_json(device);
    } else {
        snprintf(reason, BENCH_REASON_TEXT, "%.1000s", error.text);
    }
    if (context)
        husk_context_release(context);
    if (list)
        husk_device_list_release(list);
    return status == HUSK_OK ? BENCH_OK : BENCH_ERROR;
}

static bench_answer session_open(const bench_open_options *options, void **session, char reason[BENCH_REASON_TEXT])
{
    clblast_session *s = calloc(1, sizeof *s);
    if (!s) {
        snprintf(reason, BENCH_REASON_TEXT, "out of memory");
        return BENCH_ERROR;
    }
    cl_int error = CL_SUCCESS;
    bench_answer answer = find_device(s, options->device, reason);
    if (answer == BENCH_OK) {
        s->context = clCreateContext(NULL, 1, &s->device, NULL, NULL, &error);
        answer = explain_cl(error, "clCreateContext", reason);
    }
    if (answer == BENCH_OK) {
        s->queue = clCreateCommandQueue(s->context, s->device, 0, &error);
        answer = explain_cl(error, "clCreateCommandQueue", reason);
    }
    if (answer != BENCH_OK) {
        session_close(s);
        return answer;
    }
    *session = s;
    return BENCH_OK;
}

static void version(void *session, char *text, size_t size)
{
    const clblast_session *s = session;
    const char *name = bench_text_of(s->about, "name");
#ifdef CLBLAST_VERSION_MAJOR
    snprintf(text, size, "CLBlast %d.%d.%d (%s)", CLBLAST_VERSION_MAJOR, CLBLAST_VERSION_MINOR, CLBLAST_VERSION_PATCH,
             name);
#else
    snprintf(text, size, "CLBlast before 1.5.3 (%s)", name);
#endif
}

static json_t *device_of(void *session)
{
    const clblast_session *s = session;
    return json_incref(s->about);
}

static const char *form(void *session, const bench_case *c, size_t index)
{
    (void)session;
    (void)c;
    (void)index;
    return NULL;
}

// ---- a case

static bench_answer multiply(const state *s, const operands *set, char reason[BENCH_REASON_TEXT])
{
    const bench_gemm *g = &s->g;
    const CLBlastTranspose ta = g->ta ? CLBlastTransposeYes : CLBlastTransposeNo;
    const CLBlastTranspose tb = g->tb ? CLBlastTransposeYes : CLBlastTransposeNo;
    const size_t m = (size_t)g->m, n = (size_t)g->n, k = (size_t)g->k;
    const size_t lda = (size_t)g->lda, ldb = (size_t)g->ldb, ldc = (size_t)g->ldc;
    cl_command_queue queue = s->session->queue;
    CLBlastStatusCode status;
    if (g->batch == 1)
        status = CLBlastSgemm(CLBlastLayoutRowMajor, ta, tb, m, n, k, (float)g->alpha, set->a, 0, lda, set->b, 0, ldb,
                              (float)g->beta, set->c, 0, ldc, &queue, NULL);
    else
        status = CLBlastSgemmStridedBatched(CLBlastLayoutRowMajor, ta, tb, m, n, k, (float)g->alpha, set->a, 0, lda,
                                            (g->ta ? k : m) * lda, set->b, 0, ldb, (g->tb ? n : k) * ldb,
                                            (float)g->beta, set->c, 0, ldc, m * ldc, (size_t)g->batch, &queue, NULL);
    if (status == CLBlastSuccess)
        return BENCH_OK;
    snprintf(reason, BENCH_REASON_TEXT, "CLBlast: status %d", (int)status);
    return BENCH_ERROR;
}

static bench_answer finish_c(const state *s, const operands *set, char reason[BENCH_REASON_TEXT])
{
    if (!s->kernel)
        return BENCH_OK;
    const bench_gemm *g = &s->g;
    const cl_long ldc = g->ldc, batch_stride = g->m * g->ldc;
    const size_t size[3] = {(size_t)g->n, (size_t)g->m, (size_t)g->batch};
    const struct {
        size_t size;
        const void *value;
    } arguments[] = {
        {sizeof set->c, &set->c}, {sizeof ldc, &ldc}, {sizeof batch_stride, &batch_stride}, {sizeof s->bias, &s->bias}};
    cl_int error = CL_SUCCESS;
    for (cl_uint i = 0; i < 4 && error == CL_SUCCESS; i++)
        error = clSetKernelArg(s->kernel, i, arguments[i].size, arguments[i].value);
    if (error == CL_SUCCESS)
        error = clEnqueueNDRangeKernel(s->session->queue, s->kernel, 3, NULL, size, NULL, 0, NULL, NULL);
    return explain_cl(error, "epilogue", reason);
}

static bench_answer run_batch(void *opaque, int64_t count, char reason[BENCH_REASON_TEXT])
{
    state *s = opaque;
    bench_answer answer = BENCH_OK;
    for (int64_t i = 0; i < count && answer == BENCH_OK; i++) {
        s->last = s->next;
        s->next = s->next + 1 < s->copies ? s->next + 1 : 0;
        answer = multiply(s, &s->sets[s->last], reason);
        if (answer == BENCH_OK)
            answer = finish_c(s, &s->sets[s->last], reason);
    }
    bench_answer finished = explain_cl(clFinish(s->session->queue), "clFinish", reason);
    return answer == BENCH_OK ? finished : answer;
}

static bench_answer run(void *opaque, char reason[BENCH_REASON_TEXT])
{
    return run_batch(opaque, 1, reason);
}

static void release(void *opaque)
{
    state *s = opaque;
    if (!s)
        return;
    for (int i = 0; s->sets && i < s->copies; i++) {
        const cl_mem all[] = {s->sets[i].a, s->sets[i].b, s->sets[i].c};
        for (int j = 0; j < 3; j++) {
            if (all[j])
                clReleaseMemObject(all[j]);
        }
    }
    if (s->bias)
        clReleaseMemObject(s->bias);
    if (s->kernel)
        clReleaseKernel(s->kernel);
    if (s->program)
        clReleaseProgram(s->program);
    free(s->sets);
    free(s);
}

static cl_mem make_buffer(const state *s, const bench_array *array, cl_int *error)
{
    if (*error != CL_SUCCESS || !array->data)
        return NULL;
    return clCreateBuffer(s->session->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                          (size_t)array->count * sizeof(float), array->data, error);
}

static bench_answer make_buffers(state *s, char reason[BENCH_REASON_TEXT])
{
    cl_int error = CL_SUCCESS;
    s->sets = calloc((size_t)s->copies, sizeof *s->sets);
    if (!s->sets)
        return explain_cl(CL_OUT_OF_HOST_MEMORY, "operands", reason);
    for (int i = 0; i < s->copies; i++) {
        s->sets[i].a = make_buffer(s, &s->data->x, &error);
        s->sets[i].b = make_buffer(s, &s->data->w, &error);
        s->sets[i].c = make_buffer(s, &s->data->y, &error);
    }
    s->bias = make_buffer(s, &s->data->bias, &error);
    return explain_cl(error, "clCreateBuffer", reason);
}

static bench_answer make_epilogue(state *s, char reason[BENCH_REASON_TEXT])
{
    if (s->g.bias == BENCH_BIAS_NONE && s->act == HUSK_ACT_NONE)
        return BENCH_OK;
    char options[64];
    const char *source = bench_embedded_text("kernels/clblast_epilogue.cl");
    cl_int error = source ? CL_SUCCESS : CL_INVALID_PROGRAM;
    if (source)
        s->program = clCreateProgramWithSource(s->session->context, 1, &source, NULL, &error);
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DBIAS=%d -DACT=%d", (int)s->g.bias, (int)s->act);
    if (error == CL_SUCCESS)
        error = clBuildProgram(s->program, 1, &s->session->device, options, NULL, NULL);
    if (error == CL_SUCCESS)
        s->kernel = clCreateKernel(s->program, "clblast_epilogue", &error);
    return explain_cl(error, "epilogue", reason);
}

static bool supports(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const bench_gemm *g = &c->as.gemm;
    const char *lack = c->op != BENCH_GEMM                   ? "CLBlast has matrix multiplication alone"
                       : c->dir != BENCH_FWD                 ? "only forward is compared"
                       : c->dtype != HUSK_F32                ? "only f32 is compared"
                       : !(g->m && g->n && g->k && g->batch) ? "CLBlast refuses empty matrices"
                                                             : NULL;
    if (lack)
        snprintf(reason, BENCH_REASON_TEXT, "%s", lack);
    return !lack;
}

static bench_answer reset(void *opaque, char reason[BENCH_REASON_TEXT])
{
    const state *s = opaque;
    cl_int error = CL_SUCCESS;
    for (int i = 0; i < s->copies && error == CL_SUCCESS; i++)
        error = clEnqueueWriteBuffer(s->session->queue, s->sets[i].c, CL_TRUE, 0,
                                     (size_t)s->data->y.count * sizeof(float), s->data->y.data, 0, NULL, NULL);
    return explain_cl(error, "clEnqueueWriteBuffer", reason);
}

static bench_answer prepare(void *session, const bench_case *c, const bench_data *data,
                            const bench_prepare_options *options, void **out, char reason[BENCH_REASON_TEXT])
{
    if (!supports(c, reason))
        return BENCH_UNSUPPORTED;
    state *s = calloc(1, sizeof *s);
    if (!s)
        return explain_cl(CL_OUT_OF_HOST_MEMORY, "case", reason);
    *s = (state){.session = session,
                 .g = c->as.gemm,
                 .act = c->act,
                 .data = data,
                 .copies = options->copies > 1 ? options->copies : 1};
    const uint64_t begin = bench_operand_now_ns();
    bench_answer answer = make_buffers(s, reason);
    if (answer == BENCH_OK)
        answer = make_epilogue(s, reason);
    if (answer == BENCH_OK)
        answer = run(s, reason);
    s->first_ns = bench_operand_now_ns() - begin;
    s->next = 0;
    if (answer == BENCH_OK)
        answer = reset(s, reason);
    if (answer != BENCH_OK) {
        release(s);
        return answer;
    }
    snprintf(s->variant, sizeof s->variant, "%s%s", s->g.batch > 1 ? "GemmStridedBatched" : "Gemm",
             s->kernel ? ", bias and activation in a kernel after it" : "");
    *out = s;
    return BENCH_OK;
}

static void details(void *opaque, bench_details *details)
{
    const state *s = opaque;
    *details = (bench_details){.variant = s->variant, .build_ns = s->first_ns, .on_device = true};
}

static bench_answer read_back(void *opaque, bench_output *output, char reason[BENCH_REASON_TEXT])
{
    const state *s = opaque;
    return explain_cl(clEnqueueReadBuffer(s->session->queue, s->sets[s->last].c, CL_TRUE, 0,
                                          (size_t)output->y.count * sizeof(float), output->y.data, 0, NULL, NULL),
                      "clEnqueueReadBuffer", reason);
}

const bench_runner bench_runner_clblast = {
    .name = "clblast",
    .description = "CLBlast, matrix multiplication on OpenCL devices",
    .open = session_open,
    .close = session_close,
    .version = version,
    .device = device_of,
    .form = form,
    .prepare = prepare,
    .release = release,
    .details = details,
    .run = run,
    .run_batch = run_batch,
    .reset = reset,
    .read = read_back,
};
