// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>

#include "ref/freivalds.h"
#include "ref/projection.h"

// Projections of all rows that are kept at a time: beyond, blocks are wider.
#define MOST_PROJECTIONS 0x1p22

typedef struct table {
    int64_t rows;
    husk_ref_blocks blocks; // of the columns
    double *values, *norms; // [rows, blocks.count]: of what is added up
    double *terms;          // [rows]
} table;

static void add_up(const husk_ref_embedding_backward *op, const table *t)
{
    const husk_ref_array *indices = op->indices, *dy = op->dy;
    int64_t index[HUSK_MAX_RANK] = {0};
    do {
        const double wanted = husk_ref_load(indices, husk_ref_offset(indices, index));
        if (!(wanted >= 0 && wanted < (double)t->rows))
            continue;
        const int64_t row = (int64_t)wanted;
        t->terms[row]++;
        for (int64_t block = 0; block < t->blocks.count; block++) {
            const husk_ref_projection made =
                husk_ref_project_block(&t->blocks, dy, husk_ref_offset(dy, index), dy->strides[dy->rank - 1], block);
            t->values[row * t->blocks.count + block] += made.value;
            t->norms[row * t->blocks.count + block] += sqrt(made.squares);
        }
    } while (husk_ref_index_next(indices->rank, indices->shape, index));
}

// As husk_ref_embedding_backward_at has it.
static void check_block(const husk_ref_embedding_backward *op, const table *t, husk_ref_elements *elements, int64_t row,
                        int64_t block, husk_ref_report *report)
{
    static const husk_embedding_params defaults;
    const husk_embedding_params *params = op->params != NULL ? op->params : &defaults;
    const bool is_padding =
        params->has_padding && (row == params->padding_index || row == params->padding_index + op->rows);
    const double terms = is_padding ? 0.0 : t->terms[row];
    double expected = 0.0, magnitude = 0.0, bound = 0.0, roundings = terms;
    if (terms > 0.0) {
        expected = t->values[row * t->blocks.count + block];
        magnitude = t->norms[row * t->blocks.count + block];
        bound = husk_ref_sum_bound(0.0, (int64_t)terms, magnitude);
    }
    if (terms > 0.0 && params->scale_by_frequency) {
        expected /= terms;
        magnitude /= terms;
        bound = bound / terms + 4.0 * HUSK_REF_UNIT * magnitude + HUSK_REF_TINY;
        roundings = 2.0;
    }
    if (params->accumulate & HUSK_ACCUMULATE_PARAMETERS) {
        const husk_ref_projection before =
            husk_ref_project_block(&t->blocks, op->before, row * op->before->strides[0], op->before->strides[1], block);
        expected += before.value;
        magnitude += sqrt(before.squares);
        if (terms > 0.0) {
            bound += HUSK_REF_UNIT * magnitude + HUSK_REF_TINY;
            roundings++;
        }
    }
    const husk_ref_array *dtable = elements->out;
    husk_ref_projection actual =
        husk_ref_project_block(&t->blocks, dtable, row * dtable->strides[0], dtable->strides[1], block);
    const int64_t index[2] = {row, block * t->blocks.width};
    husk_ref_projection_settle(&actual, elements, index, t->blocks.signs + index[1], expected, magnitude, report);
    husk_ref_projection_check(&actual, dtable->dtype, expected, bound, magnitude, roundings, 2, index, report);
}

void husk_ref_embedding_backward_freivalds(const husk_ref_embedding_backward *op, const husk_ref_array *dtable,
                                           uint64_t seed, husk_ref_report *report)
{
    table t = {.rows = op->rows, .blocks.columns = op->dy->shape[op->dy->rank - 1]};
    if (t.rows <= 0 || t.blocks.columns <= 0)
        return;
    const int64_t lookups = husk_ref_array_count(op->indices);
    t.blocks.width = husk_ref_projection_width(dtable->dtype, 0.0, lookups / t.rows + 1, t.blocks.columns,
                                               MOST_PROJECTIONS / (double)t.rows);
    t.blocks.count = (t.blocks.columns + t.blocks.width - 1) / t.blocks.width;
    t.blocks.signs = calloc((size_t)(t.blocks.columns + t.rows * (2 * t.blocks.count + 1)), sizeof(*t.blocks.signs));
    if (t.blocks.signs == NULL) {
        report->allocation_failed = true;
        return;
    }
    t.values = t.blocks.signs + t.blocks.columns;
    t.norms = t.values + t.rows * t.blocks.count;
    t.terms = t.norms + t.rows * t.blocks.count;
    for (int64_t i = 0; i < t.blocks.columns; i++)
        t.blocks.signs[i] = husk_ref_random_sign(seed, i);
    if (lookups > 0)
        add_up(op, &t);
    husk_ref_elements elements = {husk_ref_embedding_backward_function(op), dtable, 1, 0.0};
    for (int64_t row = 0; row < t.rows; row++)
        for (int64_t block = 0; block < t.blocks.count; block++)
            check_block(op, &t, &elements, row, block, report);
    free(t.blocks.signs);
}

void husk_ref_embedding_backward_check(const husk_ref_embedding_backward *op, uint64_t seed,
                                       const husk_ref_array *dtable, husk_ref_report *report)
{
    const husk_ref_function function = husk_ref_embedding_backward_function(op);
    if (!husk_ref_check(&function, seed, dtable, report))
        husk_ref_embedding_backward_freivalds(op, dtable, seed, report);
}
