// SPDX-License-Identifier: MIT
#include "ops/lookup/embedding_problem.h"

#include <string.h>

#include "base/tensor.h"

void husk__embedding_describe(const void *untyped, husk__key *key)
{
    const husk__embedding_problem *own = untyped;
    husk__key_tensor(key, &own->table);
    husk__key_tensor(key, &own->indices);
    husk__key_tensor(key, &own->rows);
    husk__key_i64(key, own->skipped);
    husk__key_i64(key, own->adds);
    husk__key_i64(key, own->means);
}

void husk__embedding_classify(const void *untyped, husk__text *text)
{
    const husk__embedding_problem *own = untyped;
    husk__text_format(text, " %s %s", husk_dtype_name(own->table.dtype), husk_dtype_name(own->indices.dtype));
    husk__class_size(text, "lookups", husk__embedding_lookups(own));
    husk__class_size(text, "rows", own->table.shape[0]);
    husk__class_size(text, "columns", husk__embedding_columns(own));
}

void husk__embedding_write_case(const husk__embedding_problem *own, bool is_gradient, husk__case *c)
{
    husk__case_begin(c, "embedding");
    husk__case_size(c, "lookups", husk__embedding_lookups(own));
    husk__case_size(c, "rows", own->table.shape[0]);
    husk__case_size(c, "columns", husk__embedding_columns(own));
    husk__case_dtype(c, own->table.dtype);
    if (is_gradient)
        husk__case_word(c, "dir", "bwd", NULL);
    if (own->indices.dtype != HUSK_I32)
        husk__case_note(c, "indices are %s", husk_dtype_name(own->indices.dtype));
    husk__case_tensor(c, is_gradient ? "dtable" : "table", &own->table);
    husk__case_tensor(c, "indices", &own->indices);
    husk__case_tensor(c, is_gradient ? "dy" : "y", &own->rows);
    if (is_gradient && own->skipped >= 0)
        husk__case_note(c, "without row %lld", (long long)own->skipped);
    if (is_gradient && own->means)
        husk__case_note(c, "scaled by frequency");
    if (is_gradient && own->adds)
        husk__case_note(c, "accumulates");
}

int64_t husk__embedding_lookups(const husk__embedding_problem *problem)
{
    return husk__tensor_count(&problem->indices);
}

int64_t husk__embedding_columns(const husk__embedding_problem *problem)
{
    return problem->table.shape[1];
}

int64_t husk__embedding_column_stride(const husk__embedding_problem *problem)
{
    return problem->rows.strides[problem->rows.rank - 1];
}

static husk_status check_shapes(const husk_embedding_params *params, const husk_tensor *table, const char *table_name,
                                const husk_tensor *indices, const husk_tensor *rows, const char *rows_name,
                                const husk__scope *scope)
{
    if (table->rank != 2)
        return husk__reject(scope, table_name, "has %d dimensions, not rows and columns", (int)table->rank);
    if (indices->rank >= HUSK_MAX_RANK)
        return husk__reject(scope, "indices", "has %d dimensions; %s would have one more than %d", (int)indices->rank,
                            rows_name, HUSK_MAX_RANK);
    const int64_t padding = params->padding_index;
    if (params->has_padding && (padding < -table->shape[0] || padding >= table->shape[0]))
        return husk__reject(scope, "params", "padding_index %lld is none of %lld rows", (long long)padding,
                            (long long)table->shape[0]);
    int64_t shape[HUSK_MAX_RANK];
    memcpy(shape, indices->shape, (size_t)indices->rank * sizeof *shape);
    shape[indices->rank] = table->shape[1];
    return husk__tensor_check_shape(rows, rows_name, indices->rank + 1, shape, "indices' and the table's columns",
                                    scope);
}

husk_status husk__embedding_validate(husk_queue *queue, const husk_embedding_params *params, const husk_tensor *table,
                                     const char *table_name, const husk_tensor *indices, const husk_tensor *rows,
                                     const char *rows_name, const husk__scope *scope)
{
    if (params->has_padding > 1)
        return husk__reject(scope, "params", "has_padding is %u, neither 0 nor 1", (unsigned)params->has_padding);
    if (params->padding_index && !params->has_padding)
        return husk__reject(scope, "params", "padding_index is %lld, but has_padding is 0",
                            (long long)params->padding_index);
    if (params->scale_by_frequency > 1)
        return husk__reject(scope, "params", "scale_by_frequency is %u, neither 0 nor 1",
                            (unsigned)params->scale_by_frequency);
    if (params->accumulate > HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate %u has bits that mean nothing", (unsigned)params->accumulate);
    husk_status status = husk__tensor_check_real(queue, table, table_name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_indices(indices, "indices", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(rows, table->dtype, rows_name, scope);
    if (status == HUSK_OK)
        status = check_shapes(params, table, table_name, indices, rows, rows_name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, table, table_name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, indices, "indices", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, rows, rows_name, scope);
    return status;
}

husk__embedding_problem husk__embedding_resolve(const husk_embedding_params *params, const husk_tensor *table,
                                                const husk_tensor *indices, const husk_tensor *rows)
{
    husk__embedding_problem own = {.table = *table,
                                   .indices = *indices,
                                   .rows = *rows,
                                   .skipped = -1,
                                   .adds = (params->accumulate & HUSK_ACCUMULATE_PARAMETERS) != 0,
                                   .means = params->scale_by_frequency != 0};
    if (params->has_padding)
        own.skipped = params->padding_index + (params->padding_index < 0 ? table->shape[0] : 0);
    husk__tensor_bare(&own.table);
    husk__tensor_bare(&own.indices);
    husk__tensor_bare(&own.rows);
    return own;
}
