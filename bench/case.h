/* SPDX-License-Identifier: MIT */
/*
 * bench/case.h: a case, one line that names one measurement: `conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1`.
 *
 * Parsing gives a bench_case with every default resolved. Its canonical form, the required keys and those
 * that differ from their default in a fixed order, is the case's identity in results and its reproducer.
 */
#ifndef BENCH_CASE_H
#define BENCH_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <husk/husk.h>

#define BENCH_CASE_TEXT 512   /* bytes a canonical form may take */
#define BENCH_REASON_TEXT 1024 /* bytes an explanation may take */

typedef enum bench_op_kind {
    BENCH_GEMM,
    BENCH_CONV,
    BENCH_POOL,
    BENCH_SOFTMAX,
    BENCH_ACTIVATION,
    BENCH_RNN,
    BENCH_OP_COUNT
} bench_op_kind;

typedef enum bench_direction {
    BENCH_FWD,
    BENCH_BWD_DATA,
    BENCH_BWD_WEIGHT,
    BENCH_BWD,
    BENCH_FWD_BWD
} bench_direction;

typedef enum bench_layout {
    BENCH_NCHW, /* channels first, packed */
    BENCH_NHWC  /* channels last, packed */
} bench_layout;

/* bias= of gemm: one value a column (row vector [n]), one a row ([m, 1]), or none. */
typedef enum bench_gemm_bias {
    BENCH_BIAS_NONE,
    BENCH_BIAS_ROW,   /* bias=1 or bias=row: [n], added to every row */
    BENCH_BIAS_COLUMN /* bias=col: [m, 1], added to every column */
} bench_gemm_bias;

/* C[m,n] = act(alpha * op(A) * op(B) + beta * C + bias), row-major, batch of them. */
typedef struct bench_gemm {
    int64_t m, n, k;
    int64_t batch;         /* 1; A, B and C each have the batch when it is more */
    int64_t ta, tb;        /* 1: A is stored [k, m]; B is stored [n, k] */
    int64_t lda, ldb, ldc; /* elements from a stored row to the next; resolved: never 0 */
    double alpha, beta;
    int64_t bias;          /* bench_gemm_bias */
} bench_gemm;

/* Space dimensions are listed in the order d, h, w; the first `space` entries of each list count. */
typedef struct bench_conv {
    int64_t n, c, k;
    int64_t d, h, w;       /* d 0: no such dimension; h 0 with d 0: one-dimensional */
    int64_t t, r, s;       /* filter extents along d, h, w; 0 where the dimension is not there */
    int64_t stride[3], pad[3], pad_end[3], dilation[3]; /* resolved: pad_end is the true number */
    int64_t groups;
    int64_t bias;          /* 1: [k] */
    /* derived */
    int64_t space;         /* 1, 2 or 3 */
    int64_t in[3], filter[3], out[3];
} bench_conv;

typedef struct bench_pool {
    int64_t kind;          /* husk_pool_kind */
    int64_t n, c;
    int64_t d, h, w;
    int64_t t, r, s;       /* window; for global the whole space */
    int64_t stride[3], pad[3], pad_end[3], dilation[3];
    int64_t ceil, count_pad, global;
    int64_t indices;       /* 1: MAX also writes i32 indices */
    /* derived */
    int64_t space;
    int64_t in[3], window[3], out[3];
} bench_pool;

/* x and y: [outer, axis, inner] */
typedef struct bench_softmax {
    int64_t outer, axis, inner;
    int64_t log;
} bench_softmax;

/* count elements, packed */
typedef struct bench_activation {
    int64_t count;
} bench_activation;

typedef struct bench_rnn {
    int64_t cell;          /* husk_rnn_cell */
    int64_t t, b, input, hidden;
    int64_t layers, bidir;
    int64_t reset;         /* husk_gru_reset */
    int64_t lengths;       /* 1: sequences of different length, see bench_data */
    int64_t bias;          /* 1 (default): input and hidden bias */
    int64_t state;         /* 1: h0 (and c0) are given, otherwise they are absent and zero */
    /* derived */
    int64_t gates, directions;
} bench_rnn;

typedef struct bench_case {
    bench_op_kind op;
    husk_dtype dtype;
    husk_act act;          /* gemm, conv: the epilogue; activation: the function itself */
    husk_precision precision;
    bench_layout layout;
    bench_direction dir;
    bool packed;           /* prepacked weights: ours through a plan, the rivals in their own layouts */
    union {
        bench_gemm gemm;
        bench_conv conv;
        bench_pool pool;
        bench_softmax softmax;
        bench_activation activation;
        bench_rnn rnn;
    } as;
    char canonical[BENCH_CASE_TEXT];
} bench_case;

/* "gemm" ...; NULL past the end. The names are those of the library's operators. */
const char *bench_op_text(bench_op_kind op);
/* "fwd" ... */
const char *bench_direction_text(bench_direction dir);

/*
 * Parse one line. False: reason says what is wrong and, for an unknown operator, key or value, which valid
 * spelling is the nearest.
 */
bool bench_case_parse(const char *line, bench_case *out, char reason[BENCH_REASON_TEXT]);

/* Floating-point operations by the operator's own definition (multiply and add count as two). */
double bench_case_flops(const bench_case *c);
/* Multiply-adds of the linear part; 0 for pool, softmax and activation. */
double bench_case_macs(const bench_case *c);
/* Bytes that must move at the least: every input read once, every output written once. */
double bench_case_bytes(const bench_case *c);
/* True when the case's figure of merit is GB/s instead of GFLOP/s (pool, softmax, activation). */
bool bench_case_is_bandwidth(const bench_case *c);

#endif
