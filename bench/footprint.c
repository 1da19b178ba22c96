// SPDX-License-Identifier: MIT
#include "footprint.h"

#include <math.h>

#define MOST_COPIES 4096

// What lies between the rows of stored matrices, in elements: the last row ends them.
static double gaps(const bench_gemm *g, int64_t rows, int64_t columns, int64_t leading)
{
    return fmax((double)g->batch * (double)rows - 1, 0) * (double)(leading - columns);
}

// Rows are lda, ldb and ldc elements apart. dir=bwd has the gradients of A and B beside them, and of C's shape dy, what
// the activation's derivative is taken from, and dc.
static double gemm_gaps(const bench_case *c)
{
    const bench_gemm *g = &c->as.gemm;
    const double a = g->ta ? gaps(g, g->k, g->m, g->lda) : gaps(g, g->m, g->k, g->lda),
                 b = g->tb ? gaps(g, g->n, g->k, g->ldb) : gaps(g, g->k, g->n, g->ldb),
                 each = gaps(g, g->m, g->n, g->ldc);
    if (c->dir == BENCH_FWD)
        return a + b + each;
    return 2 * (a + b) + each * (1 + (c->act != HUSK_ACT_NONE) + (g->beta != 0));
}

// Rows of the table that no lookup names.
static double embedding_rest(const bench_case *c)
{
    const bench_embedding *e = &c->as.embedding;
    return c->dir == BENCH_FWD ? fmax((double)e->rows - (double)e->lookups, 0) * (double)e->columns : 0;
}

// Of the logarithms, one a row is read.
static double loss_rest(const bench_case *c)
{
    const bench_loss *l = &c->as.loss;
    const double rows = (double)l->n * (double)l->inner;
    return l->kind == HUSK_LOSS_NEGATIVE_LOG ? rows * ((double)l->c - (c->dir == BENCH_FWD)) : 0;
}

// The states of all layers: those at the end, those at the beginning where they are given, and their gradients.
static double rnn_states(const bench_case *c)
{
    const bench_rnn *r = &c->as.rnn;
    const double one = (double)r->layers * (double)r->directions * (double)r->b * (double)r->hidden,
                 all = one * (r->cell == HUSK_RNN_LSTM ? 2 : 1);
    return c->dir == BENCH_FWD ? all * (1 + (r->state != 0)) : all * (r->state ? 3 : 0);
}

// Beside bench_case_operands: elements of the case's dtype that are there and need not move.
static double rest_of(const bench_case *c)
{
    switch (c->op) {
    case BENCH_GEMM:
        return gemm_gaps(c);
    case BENCH_EMBEDDING:
        return embedding_rest(c);
    case BENCH_LOSS:
        return loss_rest(c);
    case BENCH_RNN:
        return rnn_states(c);
    default: // within a factor of about two: operands of gradients that are there for their shape alone
        return 0;
    }
}

double bench_case_footprint(const bench_case *c)
{
    return bench_case_operands(c) + rest_of(c) * (double)husk_dtype_size(c->dtype);
}

// Together they are twice the cache. Gaps between rows are never in it, and take memory nevertheless.
int bench_cold_copies(const bench_case *c, double cache_bytes, double room)
{
    const double bytes = bench_case_bytes(c);
    double copies = bytes > 0 ? ceil(2 * cache_bytes / bytes) : 0;
    copies = copies < 2 ? 2 : copies; // one that is larger than that still finds nothing of the run before
    if (!(bytes > 0) || copies > MOST_COPIES || copies * bench_case_footprint(c) > room)
        return 0;
    return (int)copies;
}
