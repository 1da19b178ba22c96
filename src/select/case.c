// SPDX-License-Identifier: MIT
#include "select/case.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/tensor.h"

void husk__case_free(husk__case *c)
{
    husk__text_free(&c->text);
    husk__text_free(&c->notes);
}

void husk__case_begin(husk__case *c, const char *op)
{
    husk__text_format(&c->text, "%s", op);
}

void husk__case_size(husk__case *c, const char *key, int64_t value)
{
    husk__text_format(&c->text, " %s=%" PRId64, key, value);
}

void husk__case_integer(husk__case *c, const char *key, int64_t value, int64_t usual)
{
    if (value != usual)
        husk__case_size(c, key, value);
}

void husk__case_real(husk__case *c, const char *key, double value, double usual)
{
    if (value != usual)
        husk__text_format(&c->text, " %s=%.9g", key, value);
}

void husk__case_word(husk__case *c, const char *key, const char *value, const char *usual)
{
    if (!usual || strcmp(value, usual) != 0)
        husk__text_format(&c->text, " %s=%s", key, value);
}

static bool are_all(const int64_t *values, int count, int64_t value)
{
    for (int i = 0; i < count; ++i)
        if (values[i] != value)
            return false;
    return true;
}

static void write_list(husk__text *text, const int64_t *values, int count)
{
    const int written = are_all(values, count, values[0]) ? 1 : count;
    for (int i = 0; i < written; ++i)
        husk__text_format(text, "%s%" PRId64, i ? "x" : "", values[i]);
}

void husk__case_list(husk__case *c, const char *key, const int64_t *values, int count, int64_t usual)
{
    if (count < 1 || are_all(values, count, usual))
        return;
    husk__text_format(&c->text, " %s=", key);
    write_list(&c->text, values, count);
}

void husk__case_pad(husk__case *c, const char *key, const int64_t *begin, const int64_t *end, int count)
{
    if (count < 1 || (are_all(begin, count, 0) && are_all(end, count, 0)))
        return;
    husk__text_format(&c->text, " %s=", key);
    write_list(&c->text, begin, count);
    if (memcmp(begin, end, (size_t)count * sizeof *begin) != 0) {
        husk__text_format(&c->text, ":");
        write_list(&c->text, end, count);
    }
}

void husk__case_dtype(husk__case *c, husk_dtype dtype)
{
    if (dtype == HUSK_F32 || dtype == HUSK_F16 || dtype == HUSK_BF16 || dtype == HUSK_F64)
        husk__case_word(c, "dtype", husk_dtype_name(dtype), "f32");
    else
        husk__case_note(c, "%s", husk_dtype_name(dtype));
}

void husk__case_precision(husk__case *c, husk_precision precision)
{
    if (precision == HUSK_PRECISION_HIGH || precision == HUSK_PRECISION_MEDIUM)
        husk__case_word(c, "precision", precision == HUSK_PRECISION_HIGH ? "high" : "medium", NULL);
}

void husk__case_act(husk__case *c, husk_act act, float slope)
{
    husk__case_word(c, "act", husk_act_name(act), husk_act_name(HUSK_ACT_NONE));
    if (act == HUSK_ACT_LEAKY_RELU && slope != 0.01f)
        husk__case_note(c, "slope %g", (double)slope);
}

void husk__case_matrix(husk__case *c, const char *name, const char *key, const husk_tensor *matrix)
{
    const int32_t last = matrix->rank - 1;
    const int64_t rows = matrix->shape[last - 1], columns = matrix->shape[last], row = matrix->strides[last - 1];
    const bool is_by_rows = columns < 2 || matrix->strides[last] == 1;
    const bool is_near = rows < 2 || row == columns;
    const bool is_batch = last == 2 && matrix->shape[0] > 1;
    if (!is_by_rows || (!is_near && row < columns))
        husk__case_note(c, "%s has strides", name);
    else if (!is_near)
        husk__case_size(c, key, row);
    else if (is_batch && matrix->strides[0] != rows * columns)
        husk__case_note(c, "%s has strides", name);
}

static int64_t elements(const husk_tensor *tensor)
{
    int64_t count = 1;
    for (int32_t i = 0; i < tensor->rank; ++i)
        count *= tensor->shape[i];
    return count;
}

static int64_t last_extent(const husk_tensor *tensor)
{
    return tensor->rank > 0 ? tensor->shape[tensor->rank - 1] : 1;
}

void husk__case_rows(husk__case *c, const husk_tensor *tensor)
{
    int64_t rows = 1;
    for (int32_t i = 0; i + 1 < tensor->rank; ++i)
        rows *= tensor->shape[i];
    husk__case_size(c, "rows", rows);
    husk__case_size(c, "columns", last_extent(tensor));
}

void husk__case_broadcast(husk__case *c, const char *key, const husk_tensor *part, const husk_tensor *whole)
{
    const int64_t count = elements(part), columns = last_extent(whole), all = elements(whole);
    const int64_t own_columns = last_extent(part);
    const bool is_row = own_columns == columns && count == columns;
    const bool is_column = own_columns == 1 && count * columns == all;
    char text[HUSK__SHAPE_TEXT];
    if (count == all)
        return;
    husk__case_word(c, key, count == 1 ? "scalar" : is_row ? "row" : "column", NULL);
    if (count != 1 && !is_row && !is_column)
        husk__case_note(c, "%s is %s", key, husk__shape_text(part, text));
}

void husk__case_layout(husk__case *c, const char *x_name, const husk_tensor *x, const char *y_name,
                       const husk_tensor *y)
{
    const bool are_first = husk__tensor_is_packed(x) && husk__tensor_is_packed(y);
    if (!are_first && husk__tensor_is_channels_last(x) && husk__tensor_is_channels_last(y)) {
        husk__case_word(c, "layout", "nhwc", NULL);
        return;
    }
    husk__case_tensor(c, x_name, x);
    husk__case_tensor(c, y_name, y);
}

void husk__case_note(husk__case *c, const char *format, ...)
{
    char note[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(note, sizeof note, format, arguments);
    va_end(arguments);
    husk__text_format(&c->notes, "%s%s", c->notes.size ? ", " : "", note);
}

void husk__case_tensor(husk__case *c, const char *name, const husk_tensor *tensor)
{
    if (tensor && !husk__tensor_is_packed(tensor))
        husk__case_note(c, "%s has strides", name);
}
