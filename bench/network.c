// SPDX-License-Identifier: MIT
#include "network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rival.h"
#include "suite.h"
#include "terminal.h"
#include "text.h"

#define MARK "# network "
#define TOP  5

typedef struct layer {
    const json_t *row; // NULL: not there, or not right
    int64_t count;
    double ns; // of all of them
} layer;

// ---- networks in the suites ----

// The line after a mark, up to the next one, as a suite of its own.
static bool parse_network(const char *mark, char name[80], char unit[32], double *amount, bench_suite *suite)
{
    char reason[BENCH_REASON_TEXT];
    const char *at = mark + strlen(MARK), *end = strchr(at, '\n'), *colon = strchr(at, ':');
    if (!end || !colon || colon > end || sscanf(colon + 1, "%lf %31s", amount, unit) != 2)
        return false;
    snprintf(name, 80, "%.*s", (int)(colon - at), at);
    char *text = bench_copy_text(end + 1);
    char *next = text ? strstr(text, MARK) : NULL;
    if (next)
        *next = '\0';
    const bool good = text && bench_suite_parse(text, name, suite, reason);
    free(text);
    return good;
}

// The same layers in another dtype have another name.
static bool name_layer(const bench_case *c, const char *dtype, char name[BENCH_CASE_TEXT])
{
    char line[2 * BENCH_CASE_TEXT], reason[BENCH_REASON_TEXT];
    bench_case other;
    snprintf(line, sizeof line, "%s%s%s", c->canonical, *dtype ? " dtype=" : "", dtype);
    if (!bench_case_parse(line, &other, reason))
        return false;
    snprintf(name, BENCH_CASE_TEXT, "%s", other.canonical);
    return true;
}

// Of rows that were asked for a variant each (--variant all) none is what a network would run.
static const json_t *find_row(const json_t *rows, size_t device, const char *name)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (bench_text_of(row, "asked")[0])
            continue;
        if ((size_t)json_integer_value(json_object_get(row, "device")) == device &&
            !strcmp(bench_text_of(row, "case"), name) && !strcmp(bench_text_of(row, "state"), "ok"))
            return row;
    }
    return NULL;
}

// ---- one network ----

static int compare_layers(const void *a, const void *b)
{
    const double x = ((const layer *)a)->ns, y = ((const layer *)b)->ns;
    return (x < y) - (x > y);
}

// The fastest rival's time of a layer; NaN: it has none.
static double rival_ns(const layer *l)
{
    return l->ns * bench_rival_speedup(l->row, BENCH_BEST, NULL);
}

static json_t *score(const char *name, const char *unit, double amount, const char *dtype, layer *layers,
                     size_t count)
{
    double ns = 0, rival = 0;
    int64_t total = 0;
    json_t *top = json_array();
    for (size_t i = 0; i < count; i++) {
        ns += layers[i].ns;
        rival += rival_ns(&layers[i]);
        total += layers[i].count;
    }
    qsort(layers, count, sizeof *layers, compare_layers);
    for (size_t i = 0; i < count && i < TOP; i++)
        json_array_append_new(top,
                              json_pack("{s:s, s:I, s:f, s:f}", "case", bench_text_of(layers[i].row, "case"),
                                        "count", (json_int_t)layers[i].count, "ns", layers[i].ns, "share",
                                        layers[i].ns / ns));
    return json_pack("{s:s, s:s, s:s, s:f, s:f, s:I, s:I, s:o, s:o}", "name", name, "unit", unit, "dtype",
                     *dtype ? dtype : "f32", "per_second", amount * 1e9 / ns, "seconds", ns * 1e-9, "layers",
                     (json_int_t)total, "distinct", (json_int_t)count, "best_rival_seconds",
                     isfinite(rival) && rival > 0 ? json_real(rival * 1e-9) : json_null(), "top", top);
}

static void add_network(json_t *networks, const char *mark, const char *dtype, const json_t *rows,
                        size_t device)
{
    char name[80], unit[32], text[BENCH_CASE_TEXT], missing[BENCH_CASE_TEXT] = "";
    double amount;
    bench_suite suite;
    if (!parse_network(mark, name, unit, &amount, &suite))
        return;
    layer *layers = calloc(suite.count + 1, sizeof *layers);
    size_t found = 0;
    for (size_t i = 0; layers && i < suite.count; i++) {
        if (!name_layer(&suite.entries[i].c, dtype, text))
            continue;
        const json_t *row = find_row(rows, device, text);
        const double median = bench_number_of(json_object_get(row, "time"), "median_ns");
        if (median > 0)
            layers[found++] = (layer){row, suite.entries[i].count, median * (double)suite.entries[i].count};
        else if (!missing[0])
            snprintf(missing, sizeof missing, "%s", text);
    }
    if (found && found == suite.count)
        json_array_append_new(networks, score(name, unit, amount, dtype, layers, found));
    else if (4 * found >= 3 * suite.count)
        json_array_append_new(networks, json_pack("{s:s, s:s, s:I, s:I, s:s}", "name", name, "dtype",
                                                  *dtype ? dtype : "f32", "distinct", (json_int_t)suite.count,
                                                  "missing", (json_int_t)(suite.count - found),
                                                  "first_missing", missing));
    free(layers);
    bench_suite_free(&suite);
}

json_t *bench_networks(const json_t *rows, size_t device)
{
    json_t *networks = json_array(), *dtypes = json_object(), *ignored;
    const char *dtype, *suite_name;
    for (size_t i = 0; i < json_array_size(rows); i++)
        json_object_set_new(dtypes, bench_text_of(json_array_get(rows, i), "dtype"), json_true());
    for (size_t i = 0; (suite_name = bench_suite_name(i)); i++) {
        const char *text = bench_suite_text(suite_name);
        for (const char *mark = text ? strstr(text, MARK) : NULL; mark; mark = strstr(mark + 1, MARK)) {
            json_object_foreach(dtypes, dtype, ignored)
                add_network(networks, mark, strcmp(dtype, "f32") ? dtype : "", rows, device);
        }
    }
    json_decref(dtypes);
    return networks;
}

// ---- showing them ----

static bool is_scored(const json_t *network)
{
    return json_object_get(network, "per_second") != NULL;
}

void bench_network_text(const json_t *n, char *text, size_t size)
{
    const double rate = bench_number_of(n, "per_second"), rival = bench_number_of(n, "best_rival_seconds"),
                 seconds = bench_number_of(n, "seconds");
    char time[32];
    const bool is_f32 = !strcmp(bench_text_of(n, "dtype"), "f32");
    bench_format_ns(seconds * 1e9, time, sizeof time);
    snprintf(text, size, "%s%s%s: ", bench_text_of(n, "name"), is_f32 ? "" : " in ",
             is_f32 ? "" : bench_text_of(n, "dtype"));
    if (!is_scored(n)) {
        bench_append(text, size, "no prediction, as %lld of %lld layers are not there or not right (%s)",
                     (long long)json_integer_value(json_object_get(n, "missing")),
                     (long long)json_integer_value(json_object_get(n, "distinct")),
                     bench_text_of(n, "first_missing"));
        return;
    }
    bench_append(text, size, "%.*f %s/s predicted (%s, the sum of count x time of %lld layers)",
                 rate < 9.95   ? 2
                 : rate < 99.5 ? 1
                               : 0,
                 rate, bench_text_of(n, "unit"), time,
                 (long long)json_integer_value(json_object_get(n, "layers")));
    if (!isnan(rival))
        bench_append(text, size, ", %.2f times as fast as the fastest rivals of each", rival / seconds);
}

static void format_layer(const json_t *l, char *text, size_t size)
{
    const long long count = json_integer_value(json_object_get(l, "count"));
    snprintf(text, size, "%4.1f%%  %s", 100 * bench_number_of(l, "share"), bench_text_of(l, "case"));
    if (count > 1)
        bench_append(text, size, "  x %lld", count);
}

void bench_networks_print(const json_t *networks, FILE *file)
{
    const int columns = file == stdout ? bench_terminal_columns() : 0;
    char text[BENCH_CASE_TEXT + 400], line[sizeof text + 8];
    for (size_t i = 0; i < json_array_size(networks); i++) {
        const json_t *n = json_array_get(networks, i), *top = json_object_get(n, "top");
        bench_network_text(n, text, sizeof text);
        snprintf(line, sizeof line, "%s.\n", text);
        bench_fold(file, columns, 2, line);
        for (size_t k = 0; k < json_array_size(top); k++) {
            format_layer(json_array_get(top, k), text, sizeof text);
            snprintf(line, sizeof line, "    %s\n", text);
            bench_fold(file, columns, 11, line);
        }
    }
}

void bench_networks_markdown(const json_t *networks, FILE *file)
{
    char text[BENCH_CASE_TEXT + 400];
    for (size_t i = 0; i < json_array_size(networks); i++) {
        const json_t *n = json_array_get(networks, i), *top = json_object_get(n, "top");
        bench_network_text(n, text, sizeof text);
        fprintf(file, "- %s\n", text);
        for (size_t k = 0; k < json_array_size(top); k++)
            fprintf(file, "  - %.1f%%: `%s` x %lld\n", 100 * bench_number_of(json_array_get(top, k), "share"),
                    bench_text_of(json_array_get(top, k), "case"),
                    (long long)json_integer_value(json_object_get(json_array_get(top, k), "count")));
    }
}
