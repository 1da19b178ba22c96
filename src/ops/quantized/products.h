/* SPDX-License-Identifier: MIT */
/*
 * ops/quantized/products.h: products of bytes as cl/lib/quantized.clh computes them, for quantized_gemm and
 * quantized_conv: rows of A, each made of runs of bytes, times packed B. In ops/quantized/products.c.
 */
#ifndef HUSK_OPS_QUANTIZED_PRODUCTS_H
#define HUSK_OPS_QUANTIZED_PRODUCTS_H

#include <husk/ops/activation.h>
#include <husk/ops/quantize.h>

#include "select/plan.h"

/* Everything but memory and the values of a run. In bytes or elements, which are the same but for c's. */
typedef struct husk__products {
    int64_t groups, m, n, k;
    int64_t rows[3]; /* a row's number is split into four, of which these are the last three's extents */
    int64_t a[4], a_group;
    int64_t run, steps[3], strides[3]; /* of a row of A */
    int64_t b_steps[4], b_strides[4], b_column, b_group;
    int64_t b_groups; /* 1: one B serves all groups */
    int64_t c[4], c_group, c_column;
    int64_t column_step; /* columns of b_scale and bias from a group to the next */
    int64_t scale_stride, bias_stride;
    husk_dtype a_dtype, c_dtype;
    /* As lib/activation.clh wants it. */
    int32_t activation;
    float low, slope, high;
    bool activation_is_smooth;
} husk__products;

/* What a run is given: a and c are whatever memory the strides go through. */
typedef struct husk__products_run {
    husk__arg a, c;
    const husk_tensor *b, *b_scale, *bias; /* the last two NULL where there are none */
    husk_quantization a_quantization, c_quantization;
    bool a_is_flipped; /* a's bytes are u8 already, and padding is their zero point */
} husk__products_run;

/* The names of the two kernels. */
typedef struct husk__products_kernels {
    const char *file, *pack, *multiply;
} husk__products_kernels;

/* Configurations: of the register tile, which has TILE_NV vectors of columns. */
extern const husk__configuration husk__products_menu[];
enum { HUSK__PRODUCTS_MENU = 4 };

bool husk__products_supports(const husk__products *own, char reason[HUSK__REASON_CAPACITY]);
/* Nanoseconds. */
double husk__products_cost(const husk__products *own, const husk__candidate *candidate);
/* Scratch memory of the rows, and of B where it is not packed. */
uint64_t husk__products_workspace(const husk__products *own, const husk__candidate *candidate, bool b_is_packed);
uint64_t husk__products_panel_bytes(const husk__products *own, const husk__candidate *candidate);

/* FINISH_PARAMS of cl/lib/quantized_grid.clh. */
enum { HUSK__PRODUCTS_FINISH_ARGS = 15 };
husk__arg *husk__products_write_finish(const husk__products *own, const husk_tensor *b_scale, const husk_tensor *bias,
                                       const husk_quantization *a, const husk_quantization *c, husk__arg *end);

/* HUSK_UNSUPPORTED where the device has no instruction for four products of bytes; fails where that is not known. */
husk_status husk__products_ask_quads(husk_context *context, const husk__scope *scope);
/* Builds the kernels into plan->state, which is freed with the plan. */
husk_status husk__products_prepare(husk_plan *plan, const husk__products *own, const husk__products_kernels *kernels,
                                   const husk__scope *scope);
/* Another kernel of the same program. */
husk_status husk__products_kernel(const husk_plan *plan, const husk__products *own, const char *file, const char *name,
                                  const husk__kernel **kernel, const husk__scope *scope);
/* b_view's strides are those of given->b. scratch: from scratch_offset, in bytes, on. */
husk_status husk__products_run_all(const husk_plan *plan, husk_queue *queue, const husk__products *own,
                                   const husk__products_run *given, const husk__scratch *scratch,
                                   uint64_t scratch_offset, const husk__scope *scope);
husk_status husk__products_pack(const husk_plan *plan, husk_queue *queue, const husk__products *own,
                                const husk_tensor *b, const husk__arg *to, const husk__scope *scope);

/* The arguments of both operators, checked. */
husk_status husk__products_check_byte(const husk_tensor *tensor, const char *argument, const husk__scope *scope);
husk_status husk__products_check_output(const husk_tensor *c, const char *argument, const husk__scope *scope);
/* b_scale and bias of n channels, by c's dtype; their strides go to own. */
husk_status husk__products_check_channels(const husk_tensor *b_scale, const char *scale_name, const husk_tensor *bias,
                                          const husk_tensor *c, const char *c_name, int64_t n, husk__products *own,
                                          const husk__scope *scope);
husk_status husk__products_check_activation(husk_act activation, float slope, husk_dtype c_dtype, husk__products *own,
                                            const husk__scope *scope);
/* given into *own: a scale that is a number, a zero point of the dtype. is_wanted: else it must be NULL. */
husk_status husk__products_check_quantization(const husk_quantization *given, const char *argument, husk_dtype dtype,
                                              bool is_wanted, husk_quantization *own, const husk__scope *scope);
void husk__products_describe(const husk__products *own, husk__key *key);

#endif
