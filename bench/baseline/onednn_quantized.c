// SPDX-License-Identifier: MIT
// oneDNN: what its products of bytes share.
#include "baseline/onednn_quantized.h"

#include <string.h>

#include "baseline/onednn_compat_quantized.h"

dnnl_data_type_t onednn_quantized_type(husk_dtype dtype)
{
    return dtype == HUSK_I8 ? dnnl_s8 : dtype == HUSK_U8 ? dnnl_u8 : dtype == HUSK_I32 ? dnnl_s32 : dnnl_f32;
}

// Whether dividing by the output's scale may come before the activation.
static bool is_homogeneous(husk_act act)
{
    return act == HUSK_ACT_NONE || act == HUSK_ACT_RELU || act == HUSK_ACT_LEAKY_RELU;
}

static float divisor_of(const onednn_quantized *q)
{
    return is_homogeneous(q->act) ? q->to.scale : 1.0f;
}

// ---- operands ----

bool onednn_quantized_make(const onednn_quantized *q, onednn_operands *operands)
{
    const float *by_channel = operands->saved[0], divisor = divisor_of(q);
    const size_t bytes = (size_t)q->channels * sizeof(float);
    if (q->out == HUSK_I32)
        return true;
    operands->scales = malloc(bytes);
    operands->scaled_bias = calloc(1, bytes);
    if (!operands->scales || !operands->scaled_bias)
        return false;
    for (int64_t i = 0; i < q->channels; i++) {
        const double scale = (double)q->from.scale * (double)by_channel[i];
        operands->scales[i] = (float)(scale / (double)divisor);
        if (operands->bias)
            operands->scaled_bias[i] =
                (float)((double)operands->bias[i] / (ONEDNN_SCALES_FOLLOW_BIAS ? scale : (double)divisor));
    }
    return true;
}

// Added after the scales, as part of the bias, the zero point's part would be rounded before most of it cancels; and
// what is left may be small.
bool onednn_quantized_zero_comes_first(void)
{
    return !ONEDNN_SCALES_FOLLOW_BIAS;
}

void onednn_quantized_fold_zero(const onednn_quantized *q, onednn_operands *operands, float *into, const int64_t *sums)
{
    for (int64_t i = 0; i < q->channels; i++) {
        const double lost = -(double)q->from.zero * (double)sums[i];
        const bool comes_first = onednn_quantized_zero_comes_first();
        into[i] = (float)(comes_first ? lost : (double)operands->scaled_bias[i] + lost);
    }
    if (onednn_quantized_zero_comes_first())
        operands->bias = operands->scaled_bias;
    operands->scaled_bias = into;
}

// ---- attributes ----

static dnnl_status_t append_late(dnnl_post_ops_t ops, const onednn_quantized *q)
{
    dnnl_status_t status = dnnl.post_ops_append_binary(ops, dnnl_binary_mul, q->late);
    if (status == dnnl_success && q->has_late_bias)
        status = dnnl.post_ops_append_binary(ops, dnnl_binary_add, q->late);
    return status;
}

static dnnl_status_t append_post_ops(dnnl_post_ops_t ops, const onednn_quantized *q)
{
    dnnl_status_t status = q->late ? append_late(ops, q) : dnnl_success;
    dnnl_alg_kind_t kind;
    float alpha, beta;
    if (status == dnnl_success && q->act != HUSK_ACT_NONE)
        status = onednn_activation(q->act, &kind, &alpha, &beta) ? onednn_append_eltwise(ops, kind, alpha, beta)
                                                                 : dnnl_unimplemented;
    if (status == dnnl_success && !is_homogeneous(q->act) && q->to.scale != 1.0f)
        status = onednn_append_eltwise(ops, dnnl_eltwise_linear, 1.0f / q->to.scale, 0);
    return status;
}

static dnnl_status_t set_attr(dnnl_primitive_attr_t attr, const onednn_quantized *q, bool has_zero,
                              const onednn_operands *operands)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t status = dnnl.post_ops_create(&ops);
    if (status == dnnl_success)
        status = append_post_ops(ops, q);
    if (status == dnnl_success)
        status = dnnl.primitive_attr_set_post_ops(attr, ops);
    if (status == dnnl_success && q->out != HUSK_I32 && !q->late)
        status = onednn_attr_scales(attr, q->channels, q->mask_of_output, q->mask_of_weights, operands->scales);
    if (status == dnnl_success && has_zero && q->from.zero != 0)
        status = onednn_attr_zero_point(attr, DNNL_ARG_SRC, &q->from.zero);
    if (status == dnnl_success && q->to.zero != 0)
        status = onednn_attr_zero_point(attr, DNNL_ARG_DST, &q->to.zero);
    if (ops)
        dnnl.post_ops_destroy(ops);
    return status;
}

static void destroy_attr(void *object)
{
    dnnl.primitive_attr_destroy(object);
}

const_dnnl_primitive_attr_t onednn_quantized_attr(onednn_program *program, const onednn_quantized *q, bool has_zero,
                                                  const onednn_operands *operands)
{
    dnnl_primitive_attr_t attr = NULL;
    if (!onednn_program_ok(program))
        return NULL;
    onednn_program_check(program, dnnl.primitive_attr_create(&attr), "attributes");
    onednn_program_own(program, attr, destroy_attr);
    if (onednn_program_ok(program))
        onednn_program_check(program, set_attr(attr, q, has_zero, operands), "scales and zero points");
    return onednn_program_ok(program) ? attr : NULL;
}

// ---- arguments ----

static dnnl_memory_t zero_memory(onednn_program *program, int32_t zero)
{
    const int64_t one = 1;
    void *data = NULL;
    dnnl_memory_t memory = onednn_program_memory(program, onednn_program_md_of(program, dnnl_s32, 1, &one, &one), NULL);
    if (memory && dnnl.memory_get_data_handle(memory, &data) == dnnl_success)
        memcpy(data, &zero, sizeof zero);
    return memory;
}

static void late_arguments(onednn_program *program, const onednn_quantized *q, const onednn_operands *operands,
                           dnnl_exec_arg_t arguments[2])
{
    arguments[0] = (dnnl_exec_arg_t){DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                                     onednn_program_memory(program, q->late, operands->scales)};
    if (q->has_late_bias)
        arguments[1] = (dnnl_exec_arg_t){DNNL_ARG_ATTR_MULTIPLE_POST_OP(1) | DNNL_ARG_SRC_1,
                                         onednn_program_memory(program, q->late, operands->bias)};
}

void onednn_quantized_arguments(onednn_program *program, const onednn_quantized *q, bool has_zero,
                                const onednn_operands *operands, dnnl_exec_arg_t arguments[ONEDNN_QUANTIZED_ARGUMENTS])
{
    memset(arguments, 0, ONEDNN_QUANTIZED_ARGUMENTS * sizeof *arguments);
    if (!ONEDNN_SCALES_ARGUMENT)
        return;
    if (q->late)
        late_arguments(program, q, operands, arguments);
    else if (q->out != HUSK_I32)
        arguments[0] = (dnnl_exec_arg_t){
            ONEDNN_SCALES_ARGUMENT,
            onednn_program_memory(program, onednn_program_md_packed(program, 1, &q->channels), operands->scales)};
    if (has_zero && q->from.zero != 0)
        arguments[1] = (dnnl_exec_arg_t){ONEDNN_ZERO_ARGUMENT | DNNL_ARG_SRC, zero_memory(program, q->from.zero)};
    if (q->to.zero != 0)
        arguments[2] = (dnnl_exec_arg_t){ONEDNN_ZERO_ARGUMENT | DNNL_ARG_DST, zero_memory(program, q->to.zero)};
}
