// SPDX-License-Identifier: MIT
#include "compare/devices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/stats.h"
#include "common/text.h"
#include "compare/rows.h"
#include "system/terminal.h"
#include "record/result_file.h"

const json_t *bench_device_of(const json_t *document, size_t device)
{
    const json_t *all = json_object_get(document, "devices"), *one = json_object_get(document, "device");
    return all ? json_array_get(all, device) : device == 0 && json_is_object(one) ? one : NULL;
}

size_t bench_device_count(const json_t *document)
{
    const json_t *all = json_object_get(document, "devices");
    return all ? json_array_size(all) : json_is_object(json_object_get(document, "device"));
}

// What stands in a column beside a row of the first one.
static const json_t *row_in(const bench_column *columns, size_t index, const json_t *row)
{
    return bench_match_row(columns[index].document, columns[index].device, columns[0].document, columns[0].device, row);
}

static double median_in(const bench_column *columns, size_t index, const json_t *like)
{
    const json_t *row = row_in(columns, index, like);
    return row && !strcmp(bench_text_of(row, "state"), "ok")
               ? bench_number_of(json_object_get(row, "time"), "median_ns")
               : NAN;
}

// How many times as fast as the first; NaN: one of them has no right time.
static double speed_in(const bench_column *columns, size_t index, const json_t *row)
{
    const double first = median_in(columns, 0, row), own = median_in(columns, index, row);
    return first > 0 && own > 0 ? first / own : NAN;
}

static bool is_first_device(const bench_column *column, const json_t *row)
{
    return (size_t)json_integer_value(json_object_get(row, "device")) == column->device;
}

// The geometric mean over an operator's cases; op NULL: over all.
static double mean_in(const bench_column *columns, size_t index, const char *op, size_t *used)
{
    const json_t *rows = json_object_get(columns[0].document, "results");
    double *ratios = calloc(json_array_size(rows) + 1, sizeof *ratios);
    *used = 0;
    for (size_t i = 0; ratios && i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const double speed = speed_in(columns, index, row);
        if (is_first_device(&columns[0], row) && !isnan(speed) && (!op || !strcmp(bench_text_of(row, "op"), op)))
            ratios[(*used)++] = speed;
    }
    const double mean = bench_geometric_mean(ratios, *used);
    free(ratios);
    return mean;
}

// The operators of the first column's rows, in their order.
static size_t list_ops(const bench_column *columns, const char **ops, size_t most)
{
    const json_t *rows = json_object_get(columns[0].document, "results");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *op = bench_text_of(json_array_get(rows, i), "op");
        size_t known = 0;
        while (known < count && strcmp(ops[known], op) != 0)
            known++;
        if (known == count && count < most && is_first_device(&columns[0], json_array_get(rows, i)))
            ops[count++] = op;
    }
    return count;
}

bool bench_columns_add(bench_column *columns, size_t *count, const json_t *document, const char *file,
                       char reason[BENCH_REASON_TEXT])
{
    const size_t devices = bench_device_count(document);
    if (!devices)
        return bench_explain(reason, BENCH_REASON_TEXT, "%.300s: no device was measured in it", file);
    if (devices > BENCH_MAX_COLUMNS - *count)
        return bench_explain(reason, BENCH_REASON_TEXT,
                             "%.300s: with it there are more than %d devices, the most that stand beside each other",
                             file, BENCH_MAX_COLUMNS);
    for (size_t k = 0; k < devices; k++)
        columns[(*count)++] = (bench_column){document, k, file};
    return true;
}

bench_column_name bench_column_named(size_t index)
{
    const char last = (char)('A' + index % 26);
    bench_column_name name = {{last}};
    if (index >= 26)
        name = (bench_column_name){{(char)('A' + (index / 26 - 1) % 26), last}};
    return name;
}

static void format_cell(const bench_column *columns, size_t index, const json_t *row, char text[32])
{
    const json_t *own = row_in(columns, index, row);
    const double speed = speed_in(columns, index, row);
    if (!isnan(speed))
        snprintf(text, 32, "%.2fx", speed);
    else
        snprintf(text, 32, "%s",
                 !own                                        ? "none"
                 : strcmp(bench_text_of(own, "state"), "ok") ? bench_text_of(own, "state")
                                                             : "-");
}

static void describe(const bench_column *column, size_t index, char *text, size_t size)
{
    const json_t *device = bench_device_of(column->document, column->device);
    snprintf(text, size, "%s: %s (%s, driver %s), Husk %s: %s", bench_column_named(index).text,
             bench_text_of(device, "name"), bench_text_of(device, "platform"), bench_text_of(device, "driver"),
             bench_text_of(column->document, "husk_version"), column->file);
}

#define CELL 13 // columns, with their gap

// The cells of one line, behind a name of that width; where they are too many for the terminal, on further lines.
static void print_cells(size_t count, char cells[][32], int width)
{
    const int columns = bench_terminal_columns();
    int at = width;
    for (size_t k = 0; k < count; k++) {
        if (columns > 0 && at + CELL > columns && at > width) {
            printf("\n%*s", width, "");
            at = width;
        }
        printf("  %11s", cells[k]);
        at += CELL;
    }
    putchar('\n');
}

static void print_means(const bench_column *columns, size_t count, const char *op, int width)
{
    char cells[BENCH_MAX_COLUMNS][32] = {"1.00x"};
    size_t used;
    for (size_t k = 1; k < count; k++) {
        const double mean = mean_in(columns, k, op, &used);
        if (isnan(mean))
            snprintf(cells[k], sizeof *cells, "-");
        else
            snprintf(cells[k], sizeof *cells, "%.2fx", mean);
    }
    fputs(op ? "" : bench_colour_on(BENCH_STRONG), stdout);
    bench_print_name(op ? op : "all together", width);
    print_cells(count, cells, width);
    fputs(op ? "" : bench_colour_off(), stdout);
}

// Means over different cases do not stand beside each other without a word.
static void print_counts(const bench_column *columns, size_t count)
{
    const json_t *rows = json_object_get(columns[0].document, "results");
    char text[16 * BENCH_MAX_COLUMNS] = "";
    size_t all = 0, used;
    for (size_t i = 0; i < json_array_size(rows); i++)
        all += is_first_device(&columns[0], json_array_get(rows, i));
    for (size_t k = 1; k < count; k++) {
        mean_in(columns, k, NULL, &used);
        if (used < all)
            bench_append(text, sizeof text, "%s%s %zu", text[0] ? ", " : "", bench_column_named(k).text, used);
    }
    if (text[0])
        bench_print(2, "A mean is over the cases that are right in A and in the other: of %zu, %s.\n", all, text);
}

static void print_cases(const bench_column *columns, size_t count, int width)
{
    const json_t *rows = json_object_get(columns[0].document, "results");
    char cells[BENCH_MAX_COLUMNS][32], name[BENCH_ROW_NAME];
    for (size_t k = 0; k < count; k++)
        snprintf(cells[k], sizeof *cells, "%s", bench_column_named(k).text);
    printf("\nA's time, and how many times as fast the others are.\n\n%s", bench_colour_on(BENCH_STRONG));
    bench_print_name("case", width);
    print_cells(count, cells, width);
    fputs(bench_colour_off(), stdout);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (!is_first_device(&columns[0], row))
            continue;
        bench_format_ns(median_in(columns, 0, row), cells[0], sizeof *cells);
        for (size_t k = 1; k < count; k++)
            format_cell(columns, k, row, cells[k]);
        bench_row_name(row, name);
        bench_print_name(name, width);
        print_cells(count, cells, width);
    }
}

void bench_columns_print(const bench_column *columns, size_t count)
{
    const char *ops[64];
    char text[600];
    for (size_t k = 0; k < count; k++) {
        describe(&columns[k], k, text, sizeof text);
        bench_print(3, "%s\n", text);
    }
    const int width = bench_name_width(bench_longest_name(columns[0].document, 20), CELL * (int)count);
    print_cases(columns, count, width);
    printf("\nGeometric means:\n");
    const size_t op_count = list_ops(columns, ops, sizeof ops / sizeof *ops);
    for (size_t i = 0; i < op_count; i++)
        print_means(columns, count, ops[i], width);
    print_means(columns, count, NULL, width);
    print_counts(columns, count);
}

bool bench_columns_markdown(const bench_column *columns, size_t count, FILE *file)
{
    const json_t *rows = json_object_get(columns[0].document, "results");
    const char *ops[64];
    char text[600], cell[32], name[BENCH_ROW_NAME];
    size_t used;
    for (size_t k = 0; k < count; k++) {
        describe(&columns[k], k, text, sizeof text);
        fprintf(file, "- %s\n", text);
    }
    fputs("\n| case | A |", file);
    for (size_t k = 1; k < count; k++)
        fprintf(file, " %s |", bench_column_named(k).text);
    fputs("\n|---|", file);
    for (size_t k = 0; k < count; k++)
        fputs("---:|", file);
    fputc('\n', file);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (!is_first_device(&columns[0], row))
            continue;
        bench_format_ns(median_in(columns, 0, row), cell, sizeof cell);
        bench_row_name(row, name);
        fprintf(file, "| `%s` | %s |", name, cell);
        for (size_t k = 1; k < count; k++) {
            format_cell(columns, k, row, cell);
            fprintf(file, " %s |", cell);
        }
        fputc('\n', file);
    }
    size_t op_count = list_ops(columns, ops, sizeof ops / sizeof *ops - 1);
    ops[op_count++] = NULL;
    for (size_t i = 0; i < op_count; i++) {
        fprintf(file, "| %s | 1.00x |", ops[i] ? ops[i] : "**all together**");
        for (size_t k = 1; k < count; k++) {
            const double mean = mean_in(columns, k, ops[i], &used);
            if (isnan(mean))
                fputs(" - |", file);
            else
                fprintf(file, " %.2fx |", mean);
        }
        fputc('\n', file);
    }
    return !ferror(file);
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *mean_json(const bench_column *columns, size_t count, const char *op)
{
    json_t *speeds = json_array(), *counts = json_array();
    for (size_t k = 0; k < count; k++) {
        size_t used;
        const double mean = mean_in(columns, k, op, &used);
        json_array_append_new(speeds, number(mean));
        json_array_append_new(counts, json_integer((json_int_t)used));
    }
    return json_pack("{s:o, s:o, s:o}", "op", op ? json_string(op) : json_null(), "speeds", speeds, "counts", counts);
}

json_t *bench_columns_json(const bench_column *columns, size_t count)
{
    const json_t *rows = json_object_get(columns[0].document, "results");
    json_t *heads = json_array(), *cases = json_array(), *means = json_array();
    const char *ops[64];
    for (size_t k = 0; k < count; k++) {
        const json_t *device = bench_device_of(columns[k].document, columns[k].device);
        json_array_append_new(
            heads, json_pack("{s:s, s:s, s:s, s:s}", "file", columns[k].file, "name", bench_text_of(device, "name"),
                             "platform", bench_text_of(device, "platform"), "driver", bench_text_of(device, "driver")));
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        json_t *medians = json_array(), *speeds = json_array();
        for (size_t k = 0; k < count; k++) {
            json_array_append_new(medians, number(median_in(columns, k, row)));
            json_array_append_new(speeds, number(speed_in(columns, k, row)));
        }
        json_t *entry =
            json_pack("{s:s, s:s, s:s, s:o, s:o}", "case", bench_text_of(row, "case"), "op", bench_text_of(row, "op"),
                      "variant", bench_text_of(row, "variant"), "medians_ns", medians, "speeds", speeds);
        if (is_first_device(&columns[0], row))
            json_array_append(cases, entry);
        json_decref(entry);
    }
    const size_t op_count = list_ops(columns, ops, sizeof ops / sizeof *ops);
    for (size_t i = 0; i < op_count; i++)
        json_array_append_new(means, mean_json(columns, count, ops[i]));
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "schema", "clbench-devices/1", "columns", heads, "results", cases,
                     "ops", means, "all", mean_json(columns, count, NULL));
}
