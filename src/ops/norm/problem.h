/* SPDX-License-Identifier: MIT */
/*
 * ops/norm/problem.h: normalisation and its gradients with every option resolved, between ops/norm/norm.c and
 * ops/norm/backward.c, which make it, and the variants; and what they share.
 */
#ifndef HUSK_OPS_NORM_PROBLEM_H
#define HUSK_OPS_NORM_PROBLEM_H

#include <husk/ops/norm.h>

#include "select/plan.h"

/* The tensors of x's shape: x and y; backward: x, dy and dx. */
enum { HUSK__NORM_X, HUSK__NORM_Y, HUSK__NORM_Z, HUSK__NORM_TENSORS };

/* Every option resolved, every shape and stride, no buffer. */
typedef struct husk__norm_problem {
    husk_norm_kind kind;
    int32_t dimensions; /* LAYER, RMS */
    int64_t groups;     /* others: of channels, by which sets are numbered; BATCH: C */
    float epsilon, momentum;
    bool uses_running; /* BATCH without training */
    bool is_backward;
    uint32_t accumulate;
    bool wants_input, wants_parameters;    /* backward: dx; dscale or dbias */
    husk_tensor tensors[HUSK__NORM_TENSORS]; /* forward, and without dx: the last are as the first */
} husk__norm_problem;

/* What a run is given beside the plan. NULL for what is not there. */
typedef struct husk__norm_arguments {
    const husk_tensor *x, *scale, *bias, *running_mean, *running_variance, *y, *mean, *rstd;
    const husk_tensor *dy, *dx, *dscale, *dbias; /* backward */
} husk__norm_arguments;

typedef struct husk__norm_dimension {
    int64_t extent;
    int64_t strides[HUSK__NORM_TENSORS];
    int64_t parameter; /* what a step means in scale and bias */
    int64_t statistic; /* ... and in mean and rstd */
} husk__norm_dimension;

/* Dimensions that cannot be merged, largest strides of x first; those of one element are left out. */
typedef struct husk__norm_list {
    int32_t rank;
    husk__norm_dimension dimensions[HUSK_MAX_RANK + 1];
} husk__norm_list;

/* Where sets begin and their elements lie; or where what shares a parameter begins and lies. */
typedef struct husk__norm_lists {
    husk__norm_list outer, inner;
    int64_t outer_count, inner_count;
} husk__norm_lists;

husk__norm_lists husk__norm_sets(const husk__norm_problem *problem);
husk__norm_lists husk__norm_parameters(const husk__norm_problem *problem);
/* The same list for x alone: more of it can be merged. */
husk__norm_list husk__norm_of_x(const husk__norm_list *list);
/* Take the last dimension out; extent 1 and strides of 1 where there is none. */
husk__norm_dimension husk__norm_take_last(husk__norm_list *list);

/* Images as rows of channels: GROUP, INSTANCE and BATCH whose channels lie at stride 1. */
typedef struct husk__norm_columns {
    int64_t images; /* 1 for BATCH */
    int64_t rows, columns;
    int64_t group; /* columns of a set */
    int64_t image_strides[HUSK__NORM_TENSORS], row_strides[HUSK__NORM_TENSORS];
    /* How the work is cut up; all but share depend on the shape alone. */
    int64_t pitch, block_rows, blocks, strip, units, finish_columns, finish_units;
} husk__norm_columns;

bool husk__norm_as_columns(const husk__norm_problem *problem, husk__norm_columns *columns);
/* supports() of variants for that. */
bool husk__norm_columns_supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY]);

/* Bits of the kernels' `mode`, as in cl/lib/norm.clh. */
enum {
    HUSK__NORM_CENTRED = 1,
    HUSK__NORM_RUNNING = 2,
    HUSK__NORM_UPDATES = 4,
    HUSK__NORM_JOINT = 8,
    HUSK__NORM_ADD_INPUTS = 16,
    HUSK__NORM_ADD_PARAMETERS = 32,
    HUSK__NORM_STREAMS = 64
};
int32_t husk__norm_mode(const husk__norm_problem *problem);
/* HUSK__NORM_STREAMS where the tensors are more than the caches hold; not for an output in an input's place. */
int32_t husk__norm_streams(const husk__norm_problem *problem, const husk_device_traits *traits);
int32_t husk__norm_mode_to(int32_t mode, const husk_tensor *x, const husk_tensor *dy, const husk_tensor *output);

/* Launching on CPU devices: units that a work-group takes, so that a group has some work and the cores have groups. */
/* Bytes of what kernels compute with and keep in scratch memory. */
uint64_t husk__norm_accumulator_size(const husk__norm_problem *problem);
int64_t husk__norm_share(const husk_device_traits *traits, int64_t units, int64_t unit_elements);

/* Kernel arguments. Each returns the end. */
enum { HUSK__NORM_STATISTICS_ARGS = 7, HUSK__NORM_LIST_ARGS = 24, HUSK__NORM_COLUMNS_ARGS = 8 };
husk__arg *husk__norm_write_statistics(const husk__norm_problem *problem, const husk__norm_arguments *given,
                                       husk__arg *end);
husk__arg *husk__norm_write_list(const husk__norm_list *list, husk__arg *end);
husk__arg *husk__norm_write_columns(const husk__norm_columns *columns, int64_t share, husk__arg *end);
/* A dimension's strides: tensors of them, parameter, statistic. */
husk__arg *husk__norm_write_strides(const husk__norm_dimension *dimension, int tensors, husk__arg *end);

/* Whether dimensions fit the kernels' lists; what a general variant's configuration is asked: its work-items too. */
bool husk__norm_workgroup_lists_fit(const husk__norm_problem *problem, char reason[HUSK__REASON_CAPACITY]);
bool husk__norm_workgroup_supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY]);
double husk__norm_workgroup_cost(const husk__candidate *candidate);
/* Sets or parameters that a work-group takes at once, a power of two; the groups of a launch. */
int32_t husk__norm_lanes(const husk__norm_lists *lists);
husk__range husk__norm_workgroup_range(const husk__norm_lists *lists, int32_t lanes, int32_t items,
                                       const husk_device_traits *traits);
/* "-DINDEX_64" where elements of a list lie beyond what 32 bits count, or "". */
const char *husk__norm_index_option(const husk_plan *plan, const husk__norm_lists *lists);
/* "-DDTYPE_... -DWG=..." and that. */
void husk__norm_workgroup_options(const husk_plan *plan, const husk__norm_lists *lists, char *text, size_t capacity);

extern const husk__configuration husk__norm_cpu_menu[1];
extern const husk__variant husk__norm_rows, husk__norm_columns_variant, husk__norm_registers;
extern const husk__variant husk__norm_workgroup;
extern const husk__variant husk__norm_backward_rows, husk__norm_backward_columns, husk__norm_backward_workgroup;

/* ---- validation and resolution, shared by forward and backward ---- */

/* kind, dimensions, groups, epsilon, momentum, accumulate against x. */
husk_status husk__norm_check_params(const husk_norm_params *params, const husk_tensor *x, const husk__scope *scope);
/*
 * One of the small tensors: packed, parameters of x's dtype, statistics f32, or f64 as x is. NULL is right unless
 * is_needed.
 */
typedef enum husk__norm_belonging { HUSK__NORM_PARAMETER, HUSK__NORM_STATISTIC } husk__norm_belonging;
husk_status husk__norm_check_small(const husk_norm_params *params, const husk_tensor *x, const husk_tensor *small,
                                   husk__norm_belonging belonging, bool is_needed, const char *argument,
                                   const husk__scope *scope);
/* mean and rstd; RMS has no mean. */
husk_status husk__norm_check_saved(const husk_norm_params *params, const husk_tensor *x, const husk_tensor *mean,
                                   const husk_tensor *rstd, bool is_needed, const husk__scope *scope);
husk__norm_problem husk__norm_resolve(const husk_norm_params *params, const husk_tensor *x, const husk_tensor *y,
                                      const husk_tensor *z);
void husk__norm_describe(const void *problem, husk__key *key);
void husk__norm_classify(const void *problem, husk__text *text);
void husk__norm_write_case(const void *problem, const void *arguments, husk__case *c);

#endif
