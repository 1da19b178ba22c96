// SPDX-License-Identifier: MIT
// One way of doing a case with oneDNN, as steps to execute.

#include "baseline/onednn_program.h"

#include <stdio.h>
#include <string.h>

onednn_program *onednn_program_create(const onednn_session *session, const char *name, dnnl_data_type_t type)
{
    onednn_program *program = calloc(1, sizeof *program);
    if (!program)
        return NULL;
    program->session = session;
    program->type = type;
    snprintf(program->name, sizeof program->name, "%s", name);
    return program;
}

void onednn_program_destroy(onednn_program *program)
{
    if (!program)
        return;
    for (size_t i = program->owned_count; i-- > 0;)
        program->owned[i].destroy(program->owned[i].object);
    free(program->owned);
    free(program->steps);
    free(program);
}

bool onednn_program_ok(const onednn_program *program)
{
    return program->status == dnnl_success;
}

void onednn_program_check(onednn_program *program, dnnl_status_t status, const char *what)
{
    if (program->status != dnnl_success || status == dnnl_success)
        return;
    program->status = status;
    program->failed = what;
}

// Room for one more element; NULL and a failed program when there is none.
static void *grow(onednn_program *program, void **array, size_t *count, size_t *capacity, size_t size)
{
    if (*count == *capacity) {
        size_t wanted = *capacity ? 2 * *capacity : 16;
        void *larger = realloc(*array, wanted * size);
        if (!larger) {
            onednn_program_check(program, dnnl_out_of_memory, "memory of the program");
            return NULL;
        }
        *array = larger;
        *capacity = wanted;
    }
    void *element = (char *)*array + *count * size;
    memset(element, 0, size);
    (*count)++;
    return element;
}

void onednn_program_own(onednn_program *program, void *object, void (*destroy)(void *object))
{
    if (!object)
        return;
    void *array = program->owned;
    onednn_owned *owned = grow(program, &array, &program->owned_count, &program->owned_capacity, sizeof *owned);
    program->owned = array;
    if (owned)
        *owned = (onednn_owned){object, destroy};
    else
        destroy(object);
}

static onednn_step *add_step(onednn_program *program, onednn_stage stage)
{
    void *array = program->steps;
    onednn_step *step = grow(program, &array, &program->step_count, &program->step_capacity, sizeof *step);
    program->steps = array;
    if (step)
        step->stage = stage;
    return step;
}

dnnl_status_t onednn_program_execute(const onednn_program *program, onednn_stage stage)
{
    dnnl_status_t status = program->status;
    for (size_t i = 0; i < program->step_count && status == dnnl_success; i++) {
        const onednn_step *step = &program->steps[i];
        if (step->stage != stage)
            continue;
        status = step->primitive ? dnnl.primitive_execute(step->primitive, program->session->stream,
                                                          step->argument_count, step->arguments)
                                 : step->call(step->context);
    }
    if (status == dnnl_success)
        status = dnnl.stream_wait(program->session->stream);
    return status;
}

static void destroy_md(void *object)
{
    onednn_md_destroy(object);
}

static void destroy_memory(void *object)
{
    dnnl.memory_destroy(object);
}

static void destroy_attr(void *object)
{
    dnnl.primitive_attr_destroy(object);
}

static void destroy_pd(void *object)
{
    dnnl.primitive_desc_destroy(object);
}

static void destroy_primitive(void *object)
{
    dnnl.primitive_destroy(object);
}

const onednn_md *onednn_program_md_of(onednn_program *program, dnnl_data_type_t type, int rank, const int64_t *dims,
                                      const int64_t *strides)
{
    onednn_md *md = NULL;
    if (!onednn_program_ok(program))
        return NULL;
    onednn_program_check(program, onednn_md_strided(&md, type, rank, dims, strides), "a memory descriptor");
    onednn_program_own(program, md, destroy_md);
    return onednn_program_ok(program) ? md : NULL;
}

const onednn_md *onednn_program_md(onednn_program *program, int rank, const int64_t *dims, const int64_t *strides)
{
    return onednn_program_md_of(program, program->type, rank, dims, strides);
}

const onednn_md *onednn_program_md_packed(onednn_program *program, int rank, const int64_t *dims)
{
    int64_t strides[DNNL_MAX_NDIMS];
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= dims[i] > 0 ? dims[i] : 1;
    }
    return onednn_program_md(program, rank, dims, strides);
}

const onednn_md *onednn_program_md_tagged_of(onednn_program *program, dnnl_data_type_t type, int rank,
                                             const int64_t *dims, dnnl_format_tag_t tag)
{
    onednn_md *md = NULL;
    if (!onednn_program_ok(program))
        return NULL;
    onednn_program_check(program, onednn_md_tagged(&md, type, rank, dims, tag), "a memory descriptor");
    onednn_program_own(program, md, destroy_md);
    return onednn_program_ok(program) ? md : NULL;
}

const onednn_md *onednn_program_md_tagged(onednn_program *program, int rank, const int64_t *dims, dnnl_format_tag_t tag)
{
    return onednn_program_md_tagged_of(program, program->type, rank, dims, tag);
}

const onednn_md *onednn_program_md_any(onednn_program *program, int rank, const int64_t *dims)
{
    return onednn_program_md_tagged(program, rank, dims, dnnl_format_tag_any);
}

dnnl_memory_t onednn_program_memory(onednn_program *program, const onednn_md *md, void *data)
{
    dnnl_memory_t memory = NULL;
    if (!onednn_program_ok(program))
        return NULL;
    onednn_program_check(program,
                         dnnl.memory_create(&memory, md, program->session->engine, data ? data : DNNL_MEMORY_ALLOCATE),
                         "memory of an operand");
    onednn_program_own(program, memory, destroy_memory);
    return onednn_program_ok(program) ? memory : NULL;
}

bool onednn_activation(husk_act act, dnnl_alg_kind_t *kind, float *alpha, float *beta)
{
    *alpha = *beta = 0;
    switch (act) {
    case HUSK_ACT_RELU:
        *kind = dnnl_eltwise_relu;
        return true;
    case HUSK_ACT_LEAKY_RELU:
        *kind = dnnl_eltwise_relu;
        *alpha = BENCH_LEAKY_SLOPE;
        return true;
    case HUSK_ACT_RELU6:
        *kind = dnnl_eltwise_clip;
        *beta = 6;
        return true;
    case HUSK_ACT_GELU:
        *kind = dnnl_eltwise_gelu_erf;
        return true;
    case HUSK_ACT_GELU_TANH:
        *kind = dnnl_eltwise_gelu_tanh;
        return true;
    case HUSK_ACT_SILU:
        *kind = dnnl_eltwise_swish;
        *alpha = 1;
        return true;
    case HUSK_ACT_SIGMOID:
        *kind = dnnl_eltwise_logistic;
        return true;
    case HUSK_ACT_TANH:
        *kind = dnnl_eltwise_tanh;
        return true;
    default:
        return false;
    }
}

static dnnl_status_t append_post_ops(dnnl_post_ops_t ops, const onednn_epilogue *epilogue)
{
    dnnl_status_t status = dnnl_success;
    if (epilogue->alpha != 1)
        status = onednn_append_eltwise(ops, dnnl_eltwise_linear, epilogue->alpha, 0);
    if (status == dnnl_success && epilogue->beta != 0)
        status = onednn_append_sum(ops, epilogue->beta);
    if (status == dnnl_success && epilogue->add)
        status = dnnl.post_ops_append_binary(ops, dnnl_binary_add, epilogue->add);
    if (status == dnnl_success && epilogue->act != HUSK_ACT_NONE) {
        dnnl_alg_kind_t kind;
        float alpha, beta;
        status = onednn_activation(epilogue->act, &kind, &alpha, &beta) ? onednn_append_eltwise(ops, kind, alpha, beta)
                                                                        : dnnl_unimplemented;
    }
    return status;
}

const_dnnl_primitive_attr_t onednn_program_attr(onednn_program *program, const onednn_epilogue *epilogue)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t ops = NULL;
    if (!onednn_program_ok(program))
        return NULL;
    onednn_program_check(program, dnnl.primitive_attr_create(&attr), "attributes");
    onednn_program_own(program, attr, destroy_attr);
    onednn_program_check(program, dnnl.post_ops_create(&ops), "post-operations");
    if (onednn_program_ok(program))
        onednn_program_check(program, append_post_ops(ops, epilogue), "post-operations");
    if (onednn_program_ok(program))
        onednn_program_check(program, dnnl.primitive_attr_set_post_ops(attr, ops), "post-operations");
    if (onednn_program_ok(program) && epilogue->precision == HUSK_PRECISION_MEDIUM)
        onednn_program_check(program, dnnl.primitive_attr_set_fpmath_mode(attr, dnnl_fpmath_mode_bf16),
                             "bf16 arithmetic");
    if (ops)
        dnnl.post_ops_destroy(ops);
    return onednn_program_ok(program) ? attr : NULL;
}

// MEDIUM's bound with parts of bf16, in units of 2^-24.
void onednn_program_allow(onednn_program *program, husk_precision precision, int64_t products)
{
    if (precision == HUSK_PRECISION_MEDIUM)
        program->error_factor = 0x1p17 + 0x1p8 + 2.5 * (double)products + 4;
}

// "brgemm:avx512_core" joins the name, once for each that differs.
static void append_implementation(onednn_program *program, dnnl_primitive_desc_t pd)
{
    const char *text = NULL;
    if (dnnl.primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &text) != dnnl_success || !text)
        return;
    if (strncmp(text, "ref", 3) == 0)
        program->reference = true;
    if (strstr(program->name, text))
        return;
    size_t length = strlen(program->name);
    snprintf(program->name + length, sizeof program->name - length, "%s%s", strchr(program->name, ':') ? " + " : ": ",
             text);
}

void onednn_program_pd(onednn_program *program, dnnl_status_t made, dnnl_primitive_desc_t pd, const char *what)
{
    onednn_program_check(program, made, what);
    if (made != dnnl_success)
        return;
    onednn_program_own(program, pd, destroy_pd);
    if (onednn_program_ok(program))
        append_implementation(program, pd);
}

void onednn_program_mistrust(onednn_program *program, const char *implementation, int fixed, const char *what)
{
    const dnnl_version_t *v = dnnl.version();
    if (onednn_program_ok(program) && v->major == 3 && (!fixed || v->minor < fixed) &&
        strstr(program->name, implementation))
        onednn_program_check(program, dnnl_unimplemented, what);
}

static bool has_vnni(void)
{
    const unsigned isa = (unsigned)dnnl.get_effective_cpu_isa(), narrow = dnnl_cpu_isa_avx2_vnni,
                   wide = dnnl_cpu_isa_avx512_core_vnni;
    return (isa & narrow) == narrow || (isa & wide) == wide;
}

void onednn_program_refuse_without_vnni(onednn_program *program, const char *what)
{
    static const char *const inexact[] = {"gemm:jit", "gemm_s8", "jit_uni_int8", "jit_uni_x8s8s32", "jit_int8"};
    if (!onednn_program_ok(program) || has_vnni())
        return;
    for (size_t i = 0; i < sizeof inexact / sizeof *inexact; i++)
        if (strstr(program->name, inexact[i]))
            onednn_program_check(program, dnnl_unimplemented, what);
    if (program->reference)
        onednn_program_check(program, dnnl_unimplemented, "more than a reference of it, without VNNI");
}

const onednn_md *onednn_program_query(onednn_program *program, dnnl_primitive_desc_t pd, dnnl_query_t what, int index)
{
    if (!onednn_program_ok(program))
        return NULL;
    const onednn_md *md = dnnl.primitive_desc_query_md(pd, what, index);
    onednn_program_check(program, md ? dnnl_success : dnnl_unimplemented, "a memory descriptor's query");
    return md;
}

static void add_primitive(onednn_program *program, onednn_stage stage, dnnl_primitive_desc_t pd, int count,
                          const dnnl_exec_arg_t *arguments)
{
    dnnl_primitive_t primitive = NULL;
    onednn_program_check(program, dnnl.primitive_create(&primitive, pd), "a primitive");
    onednn_program_own(program, primitive, destroy_primitive);
    onednn_step *step = onednn_program_ok(program) ? add_step(program, stage) : NULL;
    if (!step)
        return;
    step->primitive = primitive;
    for (int i = 0; i < count; i++) {
        if (arguments[i].memory)
            step->arguments[step->argument_count++] = arguments[i];
    }
}

void onednn_program_step(onednn_program *program, onednn_stage stage, dnnl_primitive_desc_t pd, int count,
                         const dnnl_exec_arg_t *arguments)
{
    if (count > ONEDNN_MAX_ARGUMENTS)
        onednn_program_check(program, dnnl_invalid_arguments, "the number of arguments");
    if (onednn_program_ok(program))
        add_primitive(program, stage, pd, count, arguments);
}

void onednn_program_call(onednn_program *program, onednn_stage stage, dnnl_status_t (*call)(const void *context),
                         const void *context)
{
    onednn_step *step = onednn_program_ok(program) ? add_step(program, stage) : NULL;
    if (step) {
        step->call = call;
        step->context = context;
    }
}

void onednn_program_reorder(onednn_program *program, onednn_stage stage, const onednn_md *from_md, dnnl_memory_t from,
                            const onednn_md *to_md, dnnl_memory_t to)
{
    dnnl_primitive_desc_t pd = NULL;
    if (!onednn_program_ok(program))
        return;
    dnnl_engine_t engine = program->session->engine;
    dnnl_status_t made = dnnl.reorder_primitive_desc_create(&pd, from_md, engine, to_md, engine, NULL);
    onednn_program_check(program, made, "a reorder");
    if (made != dnnl_success)
        return;
    onednn_program_own(program, pd, destroy_pd);
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    if (onednn_program_ok(program))
        add_primitive(program, stage, pd, 2, arguments);
}

dnnl_memory_t onednn_program_input(onednn_program *program, onednn_stage stage, const onednn_md *from_md,
                                   dnnl_memory_t from, const onednn_md *to)
{
    if (!onednn_program_ok(program) || dnnl.memory_desc_equal(from_md, to))
        return from;
    dnnl_memory_t copy = onednn_program_memory(program, to, NULL);
    onednn_program_reorder(program, stage, from_md, from, to, copy);
    return copy;
}
