/* SPDX-License-Identifier: MIT */
/*
 * baseline/onednn_program.h: one way of doing a case with oneDNN, as steps to execute.
 *
 * A program belongs to one set of operands. Its steps run in four stages: SETUP once, when it is made
 * (packing weights, bringing operands into oneDNN's layouts where the case permits it), RUN in every timed
 * run, RESET before outputs are verified, READ after. A failure sticks: the functions below do nothing on a
 * failed program, so that one check at the end suffices.
 */
#ifndef BENCH_BASELINE_ONEDNN_PROGRAM_H
#define BENCH_BASELINE_ONEDNN_PROGRAM_H

#include "baseline/onednn_compat.h"

typedef enum onednn_stage { ONEDNN_SETUP, ONEDNN_RUN, ONEDNN_RESET, ONEDNN_READ } onednn_stage;

typedef struct onednn_session {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    int threads;
} onednn_session;

#define ONEDNN_MAX_ARGUMENTS 24

typedef struct onednn_step {
    onednn_stage stage;
    dnnl_primitive_t primitive; /* NULL: call */
    dnnl_exec_arg_t arguments[ONEDNN_MAX_ARGUMENTS];
    int argument_count;
    dnnl_status_t (*call)(const void *context); /* what is no primitive: sgemm */
    const void *context;
} onednn_step;

/* What a program has to give back, whatever its kind. */
typedef struct onednn_owned {
    void *object;
    void (*destroy)(void *object);
} onednn_owned;

typedef struct onednn_program {
    const onednn_session *session;
    dnnl_data_type_t type;               /* of the case: of descriptors of which nothing else is said */
    dnnl_status_t status;
    const char *failed;                  /* what failed */
    char name[160];                      /* "convolution, own layouts (jit:avx512_core)" */
    bool reference;                      /* oneDNN chose an implementation it calls a reference */
    double executed_flops, error_factor, widening; /* as in bench_details */
    onednn_step *steps;
    size_t step_count, step_capacity;
    onednn_owned *owned;
    size_t owned_count, owned_capacity;
} onednn_program;

onednn_program *onednn_program_create(const onednn_session *session, const char *name, dnnl_data_type_t type);
void onednn_program_destroy(onednn_program *program);
bool onednn_program_ok(const onednn_program *program);
/* Record a failure, unless there was one. */
void onednn_program_check(onednn_program *program, dnnl_status_t status, const char *what);
/* Have an object destroyed with the program; destroy is called at once if that cannot be remembered. */
void onednn_program_own(onednn_program *program, void *object, void (*destroy)(void *object));
/* Execute the steps of a stage. */
dnnl_status_t onednn_program_execute(const onednn_program *program, onednn_stage stage);

/* Descriptors, of the case's type where nothing else is said; they belong to the program. */
const onednn_md *onednn_program_md(onednn_program *program, int rank, const int64_t *dims, const int64_t *strides);
const onednn_md *onednn_program_md_packed(onednn_program *program, int rank, const int64_t *dims);
const onednn_md *onednn_program_md_tagged(onednn_program *program, int rank, const int64_t *dims,
                                          dnnl_format_tag_t tag);
const onednn_md *onednn_program_md_of(onednn_program *program, dnnl_data_type_t type, int rank, const int64_t *dims,
                                      const int64_t *strides);
const onednn_md *onednn_program_md_tagged_of(onednn_program *program, dnnl_data_type_t type, int rank,
                                             const int64_t *dims, dnnl_format_tag_t tag);
/* Whatever layout oneDNN likes best. */
const onednn_md *onednn_program_md_any(onednn_program *program, int rank, const int64_t *dims);
/* Memory over data, or of its own where data is NULL. */
dnnl_memory_t onednn_program_memory(onednn_program *program, const onednn_md *md, void *data);

/* Attributes: what follows the operation itself. */
typedef struct onednn_epilogue {
    float alpha;          /* not 1: scale the result first */
    float beta;           /* not 0: then add beta times what was there */
    const onednn_md *add; /* not NULL: then add this, broadcast */
    husk_act act;         /* last */
    husk_precision precision;
} onednn_epilogue;
const_dnnl_primitive_attr_t onednn_program_attr(onednn_program *program, const onednn_epilogue *epilogue);
/* Sums of so many products may err as the precision that was asked for says (husk/context.h). */
void onednn_program_allow(onednn_program *program, husk_precision precision, int64_t products);
/* The activation as oneDNN knows it; false: it has no such. */
bool onednn_activation(husk_act act, dnnl_alg_kind_t *kind, float *alpha, float *beta);

/* Take over a primitive descriptor made with this status; its implementation joins the program's name. */
void onednn_program_pd(onednn_program *program, dnnl_status_t made, dnnl_primitive_desc_t pd, const char *what);
/*
 * Refuse what was just made, where `implementation` does it in a version, of those whose numbers begin with 3, before
 * 3.`fixed` (0: no version is known to be right): there it computes something else. `what` is said.
 */
void onednn_program_mistrust(onednn_program *program, const char *implementation, int fixed, const char *what);
/*
 * Refuse a product of bytes that was just made, where a CPU without VNNI adds pairs of products in 16 bits: these
 * saturate, or weights are halved first, which loses a bit (oneDNN, "Nuances of int8 computations"). Its reference
 * implementation is exact there, and no rival: a thousand times slower. `what` is said.
 */
void onednn_program_refuse_without_vnni(onednn_program *program, const char *what);
const onednn_md *onednn_program_query(onednn_program *program, dnnl_primitive_desc_t pd, dnnl_query_t what, int index);
/* Execute pd's primitive in this stage, with these arguments; those with NULL memory are left out. */
void onednn_program_step(onednn_program *program, onednn_stage stage, dnnl_primitive_desc_t pd, int count,
                         const dnnl_exec_arg_t *arguments);
void onednn_program_call(onednn_program *program, onednn_stage stage, dnnl_status_t (*call)(const void *context),
                         const void *context);
/* Copy from one memory to another of the same shape, whatever their layouts. */
void onednn_program_reorder(onednn_program *program, onednn_stage stage, const onednn_md *from_md, dnnl_memory_t from,
                            const onednn_md *to_md, dnnl_memory_t to);
/* The operand in layout `to`: itself where it has that layout, else a copy made in this stage. */
dnnl_memory_t onednn_program_input(onednn_program *program, onednn_stage stage, const onednn_md *from_md,
                                   dnnl_memory_t from, const onednn_md *to);

#endif
