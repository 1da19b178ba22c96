// SPDX-License-Identifier: MIT
// Matrix multiplication of bytes: validate -> resolve -> choose -> launch. What the CPU family does is in
// ops/quantized/products.c. Kernels: cl/quantized/gemm_*.cl.
#include "machine/predict.h"
#include "ops/quantized/gemm_problem.h"

#include <string.h>

#include "base/checked.h"
#include "base/params.h"
#include "base/tensor.h"
#include "ops/shared/matrices.h"

typedef husk__quantized_gemm_problem problem;
typedef husk__quantized_run arguments;

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__products_describe(&own->products, key);
    husk__key_tensor(key, &own->tensors.input);
    husk__key_tensor(key, &own->tensors.weights);
    husk__key_tensor(key, &own->tensors.output);
    husk__key_tensor(key, own->tensors.has_scale ? &own->tensors.scale : NULL);
    husk__key_tensor(key, own->tensors.has_bias ? &own->tensors.bias : NULL);
    husk__key_i64(key, own->tensors.is_packed);
}

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    husk__text_format(text, " %s %s b=%s", husk_dtype_name(own->tensors.input.dtype),
                      husk_dtype_name(own->tensors.output.dtype),
                      own->tensors.is_packed        ? "packed"
                      : own->products.b_column == 1 ? "rows"
                                                    : "columns");
    husk__class_size(text, "batch", own->products.groups);
    husk__class_size(text, "m", own->products.m);
    husk__class_size(text, "n", own->products.n);
    husk__class_size(text, "k", own->products.k);
}

// Whether B lies as cases with tb=1 have it, as [n, k].
static bool is_turned(const husk_tensor *b)
{
    const int32_t last = b->rank - 1;
    return b->shape[last] > 1 && b->strides[last] != 1 && b->strides[last - 1] == 1 &&
           b->strides[last] == b->shape[last - 1];
}

static void write_case(const void *untyped, const void *untyped_run, husk__case *c)
{
    const problem *own = untyped;
    const arguments *given = untyped_run;
    const husk__products *p = &own->products;
    const bool is_packed = own->tensors.is_packed || (given && given->weights->packed);
    husk__case_begin(c, "quantized_gemm");
    husk__case_size(c, "m", p->m);
    husk__case_size(c, "n", p->n);
    husk__case_size(c, "k", p->k);
    husk__case_word(c, "c", husk_dtype_name(own->tensors.output.dtype == HUSK_U8 ? HUSK_I8 : own->tensors.output.dtype),
                    "f32");
    husk__case_integer(c, "tb", !is_packed && is_turned(&own->tensors.weights), 0);
    husk__case_integer(c, "u8", own->tensors.input.dtype == HUSK_U8, 0);
    husk__case_integer(c, "bias", own->tensors.has_bias, 0);
    husk__case_act(c, (husk_act)p->activation, p->slope);
    husk__case_integer(c, "packed", is_packed, 0);
    if (p->groups != 1)
        husk__case_note(c, "batch of %lld", (long long)p->groups);
    husk__case_tensor(c, "a", &own->tensors.input);
    if (!is_packed && !is_turned(&own->tensors.weights))
        husk__case_tensor(c, "b", &own->tensors.weights);
    husk__case_tensor(c, "c", &own->tensors.output);
    if (own->tensors.output.dtype == HUSK_U8)
        husk__case_note(c, "c is u8");
}

// ---- packed: CPU devices ----

static const husk__products_kernels kernels = {"quantized/gemm_packed.cl", "husk_quantized_gemm_pack",
                                               "husk_quantized_gemm_packed"};

static bool supports_packed(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    return husk__products_supports(&((const problem *)candidate->problem)->products, reason);
}

// Cycles to copy a byte of B into panels.
static const double PACK_CYCLES = 0.35;

// Nanoseconds: to copy B into panels as well, in a launch of its own.
static double cost_packed(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    const double bytes = (double)husk__products_panel_bytes(&own->products, candidate);
    const husk_machine *machine = candidate->machine;
    const husk_machine_rates *rates = &machine->rates;
    const double packing =
        own->tensors.is_packed ? 0.0 : rates->launch_ns + husk__cycles_ns(rates, PACK_CYCLES * bytes / machine->cores);
    return husk__products_cost(&own->products, candidate) + packing;
}

static uint64_t workspace_packed(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    return husk__products_workspace(&own->products, candidate, own->tensors.is_packed);
}

static husk_status prepare_packed(husk_plan *plan, const husk__scope *scope)
{
    return husk__products_prepare(plan, &((const problem *)plan->problem)->products, &kernels, scope);
}

static husk_status run_packed(const husk_plan *plan, husk_queue *queue, const void *untyped,
                              const husk__scratch *scratch, const husk__scope *scope)
{
    const arguments *given = untyped;
    const husk__products_run run = {.a = HUSK__ARG_TENSOR(given->input),
                                    .c = HUSK__ARG_TENSOR(given->output),
                                    .b = given->weights,
                                    .b_scale = given->scale,
                                    .bias = given->bias,
                                    .a_quantization = given->input_quantization,
                                    .c_quantization = given->output_quantization};
    return husk__products_run_all(plan, queue, &((const problem *)plan->problem)->products, &run, scratch, 0, scope);
}

static husk_status pack_panels(const husk_plan *plan, husk_queue *queue, const husk_tensor *b, husk_packed **packed,
                               const husk__scope *scope)
{
    const problem *own = plan->problem;
    const husk__candidate candidate = husk__candidate_of(plan);
    husk__products products = own->products;
    husk_tensor plain = *b;
    husk__tensor_resolve(&plain);
    products.b_strides[3] = plain.strides[0];
    products.b_column = plain.strides[1];
    const bool has_tiles = plan->variant == &husk__quantized_gemm_cpu_matrix;
    const uint64_t bytes = has_tiles ? husk__quantized_gemm_cpu_matrix_bytes(&products)
                                     : husk__products_panel_bytes(&products, &candidate);
    husk_status status = husk__packed_create(plan, bytes, &own->tensors.weights, packed, scope);
    if (status != HUSK_OK || products.n == 0)
        return status;
    const husk__arg to = HUSK__ARG_BUFFER((*packed)->buffer, 0, 4);
    status = has_tiles ? husk__quantized_gemm_cpu_matrix_pack(plan, queue, &products, b, &to, scope)
                       : husk__products_pack(plan, queue, &products, b, &to, scope);
    if (status != HUSK_OK) {
        husk_packed_release(*packed);
        *packed = NULL;
    }
    return status;
}

static const husk__variant packed_variant = {
    .name = "packed",
    .family = HUSK__FAMILY_CPU,
    .configurations = husk__products_menu,
    .configuration_count = HUSK__PRODUCTS_MENU,
    .supports = supports_packed,
    .cost = cost_packed,
    .workspace = workspace_packed,
    .flops = husk__quantized_gemm_flops,
    .prepare = prepare_packed,
    .run = run_packed,
};

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&husk__quantized_gemm_cpu_matrix, &packed_variant,
                                                &husk__quantized_gemm_tiled, &husk__quantized_gemm_matrix, NULL};

const husk__op husk__op_quantized_gemm = {
    .name = "quantized_gemm",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
    .write_case = write_case,
    .packed_argument = "b",
    .describe_packed = husk__quantized_gemm_describe_packed,
};

// ---- validation ----

static husk_status check_matrix(const husk_tensor *tensor, const char *argument, const husk__scope *scope)
{
    if (tensor->rank != 2 && tensor->rank != 3)
        return husk__reject(scope, argument, "has rank %d; a matrix has 2, a batch of matrices 3", (int)tensor->rank);
    return HUSK_OK;
}

static int64_t batch_of(const husk_tensor *matrix)
{
    return matrix->rank == 3 ? matrix->shape[0] : 1;
}

static husk_status check_sizes(const husk_tensor *a, const husk_tensor *b, const husk_tensor *c,
                               const husk__scope *scope)
{
    const int64_t m = a->shape[a->rank - 2], k = a->shape[a->rank - 1];
    const int64_t n = b->shape[b->rank - 1], batch = batch_of(c);
    char text[HUSK__SHAPE_TEXT];
    if (b->shape[b->rank - 2] != k)
        return husk__reject(scope, "b", "is %s, a has k = %lld", husk__shape_text(b, text), (long long)k);
    if (c->shape[c->rank - 2] != m || c->shape[c->rank - 1] != n)
        return husk__reject(scope, "c", "is %s, a and b make [%lld, %lld]", husk__shape_text(c, text), (long long)m,
                            (long long)n);
    if (batch_of(a) != batch && batch_of(a) != 1)
        return husk__reject(scope, "a", "has %lld matrices, c has %lld", (long long)batch_of(a), (long long)batch);
    if (batch_of(b) != batch && batch_of(b) != 1)
        return husk__reject(scope, "b", "has %lld matrices, c has %lld", (long long)batch_of(b), (long long)batch);
    return husk__matrices_check(batch, m, n, k, scope);
}

// Dimensions of one element may have any stride; the kernels ask whether it is 1.
static int64_t stride_of(const husk_tensor *matrix, int32_t from_last)
{
    const int32_t d = matrix->rank - 1 - from_last;
    return matrix->shape[d] > 1 ? matrix->strides[d] : 1;
}

static int64_t batch_stride(const husk_tensor *matrix)
{
    return batch_of(matrix) > 1 ? matrix->strides[0] : 0;
}

static void set_products(problem *own)
{
    const husk_tensor *a = &own->tensors.input, *b = &own->tensors.weights, *c = &own->tensors.output;
    husk__products *p = &own->products;
    p->groups = batch_of(c);
    p->m = a->shape[a->rank - 2];
    p->k = a->shape[a->rank - 1];
    p->n = b->shape[b->rank - 1];
    p->rows[0] = p->rows[1] = 1;
    p->rows[2] = husk__max_i64(p->m, 1);
    p->a[3] = stride_of(a, 1);
    p->a_group = batch_stride(a);
    const bool is_run = stride_of(a, 0) == 1;
    p->run = is_run ? p->k : 1;
    p->steps[0] = p->steps[1] = 1;
    p->steps[2] = is_run ? 1 : p->k;
    p->strides[2] = stride_of(a, 0);
    for (int i = 0; i < 4; ++i)
        p->b_steps[i] = i == 3 ? p->k : 1;
    p->b_strides[3] = stride_of(b, 1);
    p->b_column = stride_of(b, 0);
    p->b_group = batch_stride(b);
    p->b_groups = batch_of(b);
    p->c[3] = stride_of(c, 1);
    p->c_column = stride_of(c, 0);
    p->c_group = batch_stride(c);
    p->a_dtype = a->dtype;
    p->c_dtype = c->dtype;
}

static bool is_empty(const void *untyped)
{
    const problem *own = untyped;
    return own->products.groups == 0 || own->products.m == 0 || own->products.n == 0;
}

static husk_status pack(const husk_plan *plan, husk_queue *queue, const husk_tensor *b, husk_packed **packed,
                        const husk__scope *scope)
{
    if (((const problem *)plan->problem)->tensors.weights.rank == 3)
        return husk__fail(scope, HUSK_UNSUPPORTED, "b: is a batch of matrices; one matrix can be packed");
    if (plan->variant != &packed_variant && plan->variant != &husk__quantized_gemm_cpu_matrix)
        return husk__fail(scope, HUSK_UNSUPPORTED, "b: variant %s takes it as it is", plan->variant->name);
    return pack_panels(plan, queue, b, packed, scope);
}

static const husk__quantized_calls calls = {.op = &husk__op_quantized_gemm,
                                            .input = "a",
                                            .weights = "b",
                                            .scale = "b_scale",
                                            .output = "c",
                                            .input_quantization = "a_quantization",
                                            .output_quantization = "c_quantization",
                                            .is_empty = is_empty,
                                            .pack = pack};

// Every argument but memory and the values of a run.
static husk_status resolve(const husk_quantized_gemm_params *params, const husk__quantized_arguments *call,
                           problem *own, husk__preference *preference, const husk__scope *scope)
{
    const husk_tensor *a = call->input, *b = call->weights, *c = call->output;
    husk_quantized_gemm_params given;
    memset(own, 0, sizeof *own);
    husk_status status = husk__params_read(&given, sizeof given, "HUSK_QUANTIZED_GEMM_PARAMS", params, scope);
    if (status == HUSK_OK)
        status = husk__products_check_byte(a, "a", scope);
    if (status == HUSK_OK)
        status = check_matrix(a, "a", scope);
    if (status == HUSK_OK)
        status = husk__quantized_check_weights(&calls, b, scope);
    if (status == HUSK_OK)
        status = check_matrix(b, "b", scope);
    if (status == HUSK_OK)
        status = husk__products_check_output(c, "c", scope);
    if (status == HUSK_OK)
        status = check_matrix(c, "c", scope);
    if (status == HUSK_OK)
        status = check_sizes(a, b, c, scope);
    if (status == HUSK_OK)
        status =
            husk__products_check_activation(given.activation, given.activation_slope, c->dtype, &own->products, scope);
    if (status == HUSK_OK)
        status = husk__products_check_channels(call->scale, "b_scale", call->bias, c, "c", b->shape[b->rank - 1],
                                               &own->products, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(c, "c", scope);
    if (status != HUSK_OK)
        return status;
    husk__quantized_keep(call, &own->tensors);
    set_products(own);
    *preference = husk__quantized_preference(given.variant, given.workspace_limit, call, &own->tensors);
    return HUSK_OK;
}

// ---- the calls ----

husk_status husk_quantized_gemm(husk_queue *queue, const husk_quantized_gemm_params *params, const husk_tensor *a,
                                const husk_quantization *a_quantization, const husk_tensor *b,
                                const husk_tensor *b_scale, const husk_tensor *bias, const husk_tensor *c,
                                const husk_quantization *c_quantization)
{
    const husk__quantized_arguments given = {a, b, b_scale, bias, c, a_quantization, c_quantization};
    husk__scope scope;
    problem own;
    husk__preference preference = {0};
    husk_status status = husk__call_begin(queue, "husk_quantized_gemm", &scope);
    if (status == HUSK_OK)
        status = resolve(params, &given, &own, &preference, &scope);
    return status == HUSK_OK ? husk__quantized_call(queue, &calls, &own, &preference, &given, &scope) : status;
}

husk_status husk_quantized_gemm_plan_create(husk_context *context, const husk_quantized_gemm_params *params,
                                            const husk_tensor *a, const husk_tensor *b, const husk_tensor *b_scale,
                                            const husk_tensor *bias, const husk_tensor *c, husk_plan **plan,
                                            husk_error *error)
{
    const husk__quantized_arguments given = {a, b, b_scale, bias, c, NULL, NULL};
    husk__scope scope;
    problem own;
    husk__preference preference = {0};
    husk_status status = husk__context_call_begin(context, "husk_quantized_gemm_plan_create", error, &scope);
    if (status == HUSK_OK && !plan)
        return husk__reject(&scope, "plan", "is NULL");
    if (plan)
        *plan = NULL;
    if (status == HUSK_OK)
        status = resolve(params, &given, &own, &preference, &scope);
    if (status != HUSK_OK)
        return status;
    return husk__packed_plan_create(context, calls.op, &own, &preference, b->packed, plan, &scope);
}

husk_status husk_quantized_gemm_plan_run(husk_plan *plan, husk_queue *queue, const husk_tensor *a,
                                         const husk_quantization *a_quantization, const husk_tensor *b,
                                         const husk_tensor *b_scale, const husk_tensor *bias, const husk_tensor *c,
                                         const husk_quantization *c_quantization)
{
    const husk__quantized_arguments given = {a, b, b_scale, bias, c, a_quantization, c_quantization};
    husk__scope scope;
    const husk_status status = husk__call_begin(queue, "husk_quantized_gemm_plan_run", &scope);
    return status == HUSK_OK ? husk__quantized_plan_run(plan, queue, &calls, &given, &scope) : status;
}

husk_status husk_quantized_gemm_plan_pack(husk_plan *plan, husk_queue *queue, const husk_tensor *b,
                                          husk_packed **packed)
{
    husk__scope scope;
    if (packed)
        *packed = NULL;
    const husk_status status = husk__call_begin(queue, "husk_quantized_gemm_plan_pack", &scope);
    return status == HUSK_OK ? husk__quantized_plan_pack(plan, queue, &calls, b, packed, &scope) : status;
}

// A small matrix, to floats.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    enum { SIZE = 64 };
    const int64_t shape[] = {SIZE, SIZE}, one[] = {1};
    husk_buffer *buffer = NULL;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 8 * SIZE * SIZE, &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor a = husk_tensor_make(buffer, HUSK_I8, 2, shape);
    husk_tensor b = a, c = husk_tensor_make(buffer, HUSK_F32, 2, shape);
    husk_tensor scale = husk_tensor_make(buffer, HUSK_F32, 1, one);
    b.offset = SIZE * SIZE;
    c.offset = SIZE * SIZE / 2;
    scale.offset = 3 * SIZE * SIZE / 2;
    status = husk_quantized_gemm(queue, NULL, &a, NULL, &b, &scale, NULL, &c, NULL);
    if (status != HUSK_OK && scope->error->status == HUSK_OK)
        *scope->error = *husk_queue_error(queue);
    husk_buffer_release(buffer);
    return status;
}
