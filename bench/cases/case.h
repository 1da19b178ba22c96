/* SPDX-License-Identifier: MIT */
/*
 * bench/cases/case.h: a case, one line that names one measurement: `conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1`.
 *
 * Parsing gives a bench_case with every default resolved. Its canonical form, the required keys and those
 * that differ from their default in a fixed order, is the case's identity in results and its reproducer.
 */
#ifndef BENCH_CASES_CASE_H
#define BENCH_CASES_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <husk/husk.h>

#include "bench_ops.h"
#include "common/text.h"

#define BENCH_CASE_TEXT 512 /* bytes a canonical form may take */

/* BENCH_GEMM, BENCH_CONV ... and BENCH_OP_COUNT; bench_ops.h is made by CMake from the husk_add_op lines. */
typedef enum bench_op_kind {
#define BENCH_OP_ENUM(lower, upper) BENCH_##upper,
    BENCH_OP_LIST(BENCH_OP_ENUM)
#undef BENCH_OP_ENUM
        BENCH_OP_COUNT,
    BENCH_OP_DESCRIBED /* a kernel of the user's own, which computes no operator: bench/cases/described.h */
} bench_op_kind;

typedef enum bench_direction {
    BENCH_FWD,
    BENCH_BWD_DATA,
    BENCH_BWD_WEIGHT,
    BENCH_BWD,
    BENCH_FWD_BWD,
    BENCH_DIRECTIONS /* how many there are */
} bench_direction;

typedef enum bench_layout {
    BENCH_NCHW, /* channels first, packed */
    BENCH_NHWC  /* channels last, packed */
} bench_layout;

/* leaky_relu's slope, as PyTorch and ONNX have it. */
#define BENCH_LEAKY_SLOPE 0.01f

typedef struct bench_case {
    bench_op_kind op;
    husk_dtype dtype;
    husk_act act; /* gemm, conv: the epilogue; activation: the function itself */
    husk_precision precision;
    bench_layout layout;
    bench_direction dir;
    bool packed; /* prepacked weights: ours through a plan, the rivals in their own layouts */
    union {      /* as.gemm, as.conv ...: bench/cases/<op>.h */
#define BENCH_OP_MEMBER(lower, upper) bench_##lower lower;
        BENCH_OP_LIST(BENCH_OP_MEMBER)
#undef BENCH_OP_MEMBER
        struct {
            double flops, bytes; /* of a run; flops 0: not said */
            bool is_guess;       /* bytes: by the buffers' sizes, of which a run may need a part */
            double room;         /* bytes that a set of operands takes; 0: not known */
        } described;
    } as;
    char canonical[BENCH_CASE_TEXT];
} bench_case;

/* "gemm" ...; NULL past the end. The names are those of the library's operators. */
const char *bench_op_text(bench_op_kind op);

/* Bytes of an element of what has the case's dtype; labels, indices and what is kept in f32 have sizes of their own. */
double bench_case_element(const bench_case *c);
/* The seed of the case's numbers: from its canonical form without packed=, so that both forms share them. */
uint64_t bench_case_seed(const bench_case *c);

#endif
