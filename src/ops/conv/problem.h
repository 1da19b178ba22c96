/* SPDX-License-Identifier: MIT */
/*
 * ops/conv/problem.h: what conv's own files share: the resolved problem, and what every variant is made of.
 */
#ifndef HUSK_OPS_CONV_PROBLEM_H
#define HUSK_OPS_CONV_PROBLEM_H

#include <husk/ops/conv.h>

#include "select/plan.h"

/*
 * The convolution in three dimensions (depth, height, width), however many the tensors have, with channels
 * and filters counted in one group. Dimensions that are next to one another in memory are merged where the
 * filter does not look across them. Every number fits an int32_t, the strides apart.
 */
/* Of the strides below: from a column to the next. */
enum { HUSK__OF_COLUMNS = 4 };

typedef struct husk__conv_geometry {
    int64_t batch, groups, channels, filters;
    int64_t in[3], out[3], kernel[3], stride[3], pad[3], dilation[3];
    int64_t x_strides[5], w_strides[5], y_strides[5]; /* N, C, depth, height, width; K, C, ... of w */
} husk__conv_geometry;

typedef struct husk__conv_problem {
    husk_tensor x, w, bias, y; /* strides resolved, no buffers */
    husk_dtype dtype; /* of the inputs: what the kernels are built for */
    bool wide_output; /* the output (y, or a gradient) is f32 all the same */
    bool has_bias;
    bool has_packed_weights;
    bool accumulates; /* a gradient that is added to what is there */
    bool is_bias_alone; /* the gradients by the weights, of which dw is not wanted */
    bool packs_every_call; /* an immediate call with plain weights: its packing counts as its time */
    husk_act activation;
    float slope;
    husk_precision precision;
    bool allows_winograd;                               /* by params, or by a precision below HIGHEST */
    int64_t stride[3], pad[3], pad_end[3], dilation[3]; /* one a space dimension of x */
    husk__conv_geometry geometry;
} husk__conv_problem;

typedef struct husk__conv_arguments {
    const husk_tensor *x, *w, *bias, *y; /* bias may be NULL */
} husk__conv_arguments;

/* What every variant's plan keeps; a variant that keeps more has a struct of its own, which begins with this one. */
typedef struct husk__conv_state {
    const husk__kernel *kernel, *pack;
    husk__range range, pack_range;
    const husk__kernel *lay_out; /* runs before, where a variant copies x first */
    husk__range lay_out_range;
    int64_t packed_count; /* elements of the packed weights, of the accumulator's size */
    uint32_t packed_unit; /* bytes that kernels count in there; 0: the accumulator's size */
    int64_t packed_form;  /* what else than w's shape and dtype they depend on, where they do */
    int64_t pack_filters, pack_channels;
    float low, slope, high; /* of a piecewise linear activation, see cl/lib/activation.clh */
} husk__conv_state;

/* Whether Winograd's algorithm is allowed: by the problem, or because the variant is named. Writes why not. */
bool husk__conv_may_transform(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY]);

/* The register tile of a configuration of the CPU family, whose values begin so; what follows is the variant's. */
typedef struct husk__conv_tile {
    int32_t rows;    /* TILE_M */
    int32_t vectors; /* TILE_NV, of a row */
    int32_t width;   /* floats in a vector of the devices that it is meant for */
} husk__conv_tile;
enum { HUSK__CONV_TILE_VALUES = 3 };
husk__conv_tile husk__conv_tile_of(const husk__configuration *configuration);
/* Whether the device's vectors are of that width. Writes why not. */
bool husk__conv_tile_fits(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY]);

/* How work is divided among work-groups of the CPU family. */
typedef struct husk__conv_split {
    int64_t column_items, filter_items;
    double cycles; /* predicted, of the whole, by typical rates */
} husk__conv_split;

/* Cycles of a work-item that has so many columns (in the variant's units) and panels of filters. */
typedef double husk__conv_item_cycles(const husk__candidate *candidate, const husk_machine_rates *rates,
                                      int64_t columns, int64_t filter_panels);

/*
 * Few large work-items, so that each shares as much as it can, but as many as keep every compute unit busy to
 * the end.
 */
husk__conv_split husk__conv_divide(const husk__candidate *candidate, int64_t columns, int64_t filter_panels,
                                   husk__conv_item_cycles *cycles);
/* Nanoseconds of such a division by the machine's measured rates. */
double husk__conv_split_time(const husk__candidate *candidate, const husk__conv_split *split, int64_t columns,
                             int64_t filter_panels, husk__conv_item_cycles *cycles);

/* `flags` of the kernels, with these bits of cl/lib/convolution.clh: HAS_BIAS, WIDE_BIAS, WIDE_Y. */
int32_t husk__conv_flags(const husk__conv_problem *problem);
/* Whether y is f32 beside narrower x and w, which not every variant computes; then the reason as well. */
bool husk__conv_has_wide_y(const husk__conv_problem *problem, char *reason);
/* Likewise whether it is f64. */
bool husk__conv_is_double(const husk__conv_problem *problem, char *reason);
/* Elements of a vector of the register tiles: VW of cl/lib/vector.clh with HALF_VECTORS. */
int64_t husk__conv_vector_width(const husk__candidate *candidate);

extern const husk__op husk__op_conv;
/* Of the three operators alike: every field of the problem, and the class of its shape. */
void husk__conv_describe(const void *problem, husk__key *key);
void husk__conv_classify(const void *problem, husk__text *text);
/* dir: of the case. is_packed: of a run's weights, or the problem's. */
void husk__conv_write_case(const husk__conv_problem *problem, const char *dir, bool is_packed, husk__case *c);
extern const husk__variant husk__conv_implicit_gemm, husk__conv_winograd_2x2, husk__conv_winograd_4x4;
extern const husk__variant husk__conv_direct_filters, husk__conv_direct_patches, husk__conv_direct_positions;
extern const husk__variant husk__conv_cpu_matrix, husk__conv_depthwise;
extern const husk__variant husk__conv_tiled, husk__conv_matrix, husk__conv_tiled_depthwise;

/* The caller's params, which may be NULL or an older version's, as ours. */
husk_status husk__conv_read_params(const husk_conv_params *given, husk_conv_params *params, const husk__scope *scope);
/*
 * What a call's tensors are: those of a gradient have other names and another output. is_forward checks that y is an
 * output whose elements are all distinct.
 */
typedef struct husk__conv_names {
    const char *x, *w, *bias, *y;
    bool is_forward;
    enum { HUSK__CONV_Y, HUSK__CONV_X, HUSK__CONV_W } output; /* which of them the call writes */
    bool is_transposed;    /* x, which is written, may be longer than what y reaches */
    const husk__op *packs; /* the operator that w may have been packed by; NULL: w is plain */
} husk__conv_names;
/* Fill in strides, geometry and everything else. Answers why not. */
husk_status husk__conv_resolve(const husk_conv_params *params, const husk_tensor *x, const husk_tensor *w,
                               const husk_tensor *bias, const husk_tensor *y, const husk__conv_names *names,
                               husk__conv_problem *problem, const husk__scope *scope);
/* One that is read is packed; its gradient may have any stride. */
husk_status husk__conv_check_bias(const husk_tensor *bias, const char *name, int64_t filters, bool is_read,
                                  const husk__scope *scope);
/* A bias is of the inputs' dtype, which argument `of` has, or f32. */
husk_status husk__conv_check_bias_dtype(const husk_tensor *bias, const char *name, husk_dtype dtype, const char *of,
                                        const husk__scope *scope);
/* Whether the device has the dtype, which argument `of` has. The precision, if not given, becomes the context's. */
husk_status husk__conv_check_device(husk_context *context, husk__conv_problem *problem, const char *of,
                                    const husk__scope *scope);
/* What gradients ask of params: no activation, known bits of accumulate. */
husk_status husk__conv_check_gradient(const husk_conv_params *params, const husk__scope *scope);
/* The part of it that needs no bias and y; shape has x's rank. */
husk_status husk__conv_resolve_shape(const husk_conv_params *params, const husk_tensor *x, const husk_tensor *w,
                                     const husk__conv_names *names, husk__conv_problem *problem,
                                     int64_t shape[HUSK_MAX_RANK], const husk__scope *scope);
/* Normalise the problem to three dimensions. */
void husk__conv_set_geometry(husk__conv_problem *problem, int64_t groups);

/* Elements of one filter, and the factor of the header's error bound. */
int64_t husk__conv_filter_count(const husk__conv_problem *problem);
double husk__conv_error_factor(const husk__candidate *candidate);
double husk__conv_flops(const husk__candidate *candidate);

/* The key that packed weights must share with a plan, which is prepared. */
void husk__conv_describe_packed(const husk_plan *plan, husk__key *key);

/* plan->state, of so many bytes: zeros, with the activation filled in and both kernels of a file made. */
husk_status husk__conv_prepare(husk_plan *plan, size_t state_size, const char *file, const char *kernel,
                               const char *pack, const husk__scope *scope);
/* The same with the options of the configuration given, where they are more than those of its row. */
husk_status husk__conv_prepare_with(husk_plan *plan, size_t state_size, const char *configuration, const char *file,
                                    const char *kernel, const char *pack, const husk__scope *scope);
/* Another kernel of the same program. */
husk_status husk__conv_kernel(const husk_plan *plan, const char *configuration, const char *file, const char *name,
                              const husk__kernel **kernel, const husk__scope *scope);
/* Bytes of scratch that packing weights anew takes, aligned for what lies behind. */
uint64_t husk__conv_packing_bytes(const husk__conv_problem *problem, int64_t packed_count);
/* Nanoseconds that packing adds to a call; 0 where weights come packed or the caller can pack them once. */
double husk__conv_packing_cost(const husk__candidate *candidate, int64_t packed_count);
/* Enqueue the packing of plain weights. */
husk_status husk__conv_pack(const husk_plan *plan, husk_queue *queue, const husk_tensor *w, const husk_buffer *packed,
                            const husk__scope *scope);
/* Weights as a kernel argument: those that came packed, checked, or plain ones packed into scratch. */
husk_status husk__conv_weights(const husk_plan *plan, husk_queue *queue, const husk__conv_arguments *arguments,
                               const husk__scratch *scratch, husk__arg *weights, const husk__scope *scope);
/* Enqueue the copy of x into an image: state->lay_out, with at most 2 arguments behind x, image and CONV_PARAMS. */
husk_status husk__conv_lay_out(const husk_plan *plan, husk_queue *queue, const husk_tensor *x, husk__arg image,
                               const husk__arg *extra, size_t extra_count, const husk__scope *scope);
/* Enqueue: the arguments all kernels share, extra ones (at most 9), the activation. */
husk_status husk__conv_launch(const husk_plan *plan, husk_queue *queue, const husk__conv_arguments *arguments,
                              husk__arg weights, const husk__arg *extra, size_t extra_count, const husk__scope *scope);

/* The same of an x that lies elsewhere, or otherwise. */
typedef struct husk__conv_input {
    husk__arg x;
    int64_t strides[5]; /* as x_strides of the geometry */
} husk__conv_input;
husk_status husk__conv_launch_on(const husk_plan *plan, husk_queue *queue, const husk__conv_arguments *arguments,
                                 const husk__conv_input *input, husk__arg weights, const husk__arg *extra,
                                 size_t extra_count, const husk__scope *scope);

/* Write CONV_PARAMS of cl/lib/convolution.clh; returns their number. */
enum { HUSK__CONV_GEOMETRY_ARGUMENTS = 32 };
size_t husk__conv_geometry_arguments(husk__arg *list, const husk__conv_geometry *geometry);

#endif
