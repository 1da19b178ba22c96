// SPDX-License-Identifier: MIT
#include "record/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/parse.h"
#include "cases/suite.h"
#include "cases/suites.h"
#include "common/json.h"
#include "common/text.h"
#include "system/terminal.h"
#include "record/rival.h"

#define MARK "# network "
#define TOP  5

typedef struct layer {
    const json_t *row; // NULL: not there, or not right
    int64_t count;
    double ns; // of all of them
} layer;

typedef struct suite_network {
    char name[80], unit[32]; // what a second of it is counted in, such as images
    double amount;           // so many units a pass
    bench_suite suite;       // its layers
} suite_network;

// ---- networks in the suites ----

// The line after a mark, up to the next one, as a suite of its own.
static bool parse_network(const char *mark, suite_network *n)
{
    char reason[BENCH_REASON_TEXT];
    const char *at = mark + strlen(MARK), *end = strchr(at, '\n'), *colon = strchr(at, ':');
    if (!end || !colon || colon > end || sscanf(colon + 1, "%lf %31s", &n->amount, n->unit) != 2)
        return false;
    snprintf(n->name, sizeof n->name, "%.*s", (int)(colon - at), at);
    char *text = bench_copy_text(end + 1);
    char *next = text ? strstr(text, MARK) : NULL;
    if (next)
        *next = '\0';
    const bool good = text && bench_suite_parse(text, n->name, &n->suite, reason);
    free(text);
    return good;
}

// All networks of all suites. The suites are compiled in, so they are read once, and stay.
static const suite_network *networks_of_suites(size_t *count)
{
    static suite_network *all;
    static size_t known;
    static bool is_read;
    const char *suite_name;
    for (size_t i = 0; !is_read && (suite_name = bench_suite_name(i)); i++) {
        const char *text = bench_suite_text(suite_name);
        for (const char *mark = text ? strstr(text, MARK) : NULL; mark; mark = strstr(mark + 1, MARK)) {
            suite_network *more = realloc(all, (known + 1) * sizeof *all);
            if (!more)
                break;
            all = more;
            known += parse_network(mark, &all[known]);
        }
    }
    is_read = true;
    *count = known;
    return all;
}

// The same layers in another dtype have another name.
static bool name_layer(const bench_case *c, const char *dtype, char name[BENCH_CASE_TEXT])
{
    char line[2 * BENCH_CASE_TEXT], reason[BENCH_REASON_TEXT];
    bench_case other;
    if (!strcmp(dtype, "f32")) {
        snprintf(name, BENCH_CASE_TEXT, "%s", c->canonical);
        return true;
    }
    snprintf(line, sizeof line, "%s dtype=%s", c->canonical, dtype);
    if (!bench_case_parse(line, &other, reason))
        return false;
    snprintf(name, BENCH_CASE_TEXT, "%s", other.canonical);
    return true;
}

typedef struct measured {
    const json_t *rows;
    size_t device;
    json_t *counts; // of the device's rows, by case
} measured;

static bool is_of(const json_t *row, size_t device)
{
    return (size_t)json_integer_value(json_object_get(row, "device")) == device;
}

static json_t *count_cases(const json_t *rows, size_t device)
{
    json_t *counts = json_object();
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *name = bench_text_of(row, "case");
        if (is_of(row, device))
            json_object_set_new(counts, name, json_integer(json_integer_value(json_object_get(counts, name)) + 1));
    }
    return counts;
}

// Of a case's rows with a variant each (--variant all) none is what a network would run; of a variant that was named
// for all of them (--variant NAME) it is.
static bool may_be_a_layer(const measured *m, const json_t *row)
{
    return is_of(row, m->device) && !strcmp(bench_text_of(row, "state"), "ok") &&
           json_integer_value(json_object_get(m->counts, bench_text_of(row, "case"))) == 1;
}

static const json_t *find_row(const measured *m, const char *name)
{
    for (size_t i = 0; i < json_array_size(m->rows); i++) {
        const json_t *row = json_array_get(m->rows, i);
        if (!strcmp(bench_text_of(row, "case"), name) && may_be_a_layer(m, row))
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

static json_t *score(const suite_network *n, const char *dtype, layer *layers, size_t count)
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
                              json_pack("{s:s, s:I, s:f, s:f}", "case", bench_text_of(layers[i].row, "case"), "count",
                                        (json_int_t)layers[i].count, "ns", layers[i].ns, "share", layers[i].ns / ns));
    return json_pack("{s:s, s:s, s:s, s:f, s:f, s:I, s:I, s:o, s:o}", "name", n->name, "unit", n->unit, "dtype", dtype,
                     "per_second", n->amount * 1e9 / ns, "seconds", ns * 1e-9, "layers", (json_int_t)total, "distinct",
                     (json_int_t)count, "best_rival_seconds",
                     isfinite(rival) && rival > 0 ? json_real(rival * 1e-9) : json_null(), "top", top);
}

// Three quarters of a network's layers have to be there for it to be spoken of.
static bool is_spoken_of(const suite_network *n, size_t layers)
{
    return 4 * layers >= 3 * n->suite.count;
}

static void add_network(json_t *networks, const suite_network *n, const char *dtype, const measured *m)
{
    char text[BENCH_CASE_TEXT], missing[BENCH_CASE_TEXT] = "";
    const size_t count = n->suite.count;
    layer *layers = calloc(count + 1, sizeof *layers);
    size_t found = 0;
    for (size_t i = 0; layers && i < count; i++) {
        const bench_suite_entry *entry = &n->suite.entries[i];
        if (!name_layer(&entry->c, dtype, text))
            continue;
        const json_t *row = find_row(m, text);
        const double median = bench_number_of(json_object_get(row, "time"), "median_ns");
        if (median > 0)
            layers[found++] = (layer){row, entry->count, median * (double)entry->count};
        else if (!missing[0])
            snprintf(missing, sizeof missing, "%s", text);
    }
    if (found && found == count)
        json_array_append_new(networks, score(n, dtype, layers, found));
    else if (is_spoken_of(n, found))
        json_array_append_new(networks, json_pack("{s:s, s:s, s:I, s:I, s:s}", "name", n->name, "dtype", dtype,
                                                  "distinct", (json_int_t)count, "missing", (json_int_t)(count - found),
                                                  "first_missing", missing));
    free(layers);
}

// So many rows of each dtype may be layers.
static json_t *count_dtypes(const measured *m)
{
    json_t *dtypes = json_object();
    for (size_t i = 0; i < json_array_size(m->rows); i++) {
        const json_t *row = json_array_get(m->rows, i);
        const char *dtype = bench_text_of(row, "dtype");
        const json_int_t known = json_integer_value(json_object_get(dtypes, dtype));
        if (may_be_a_layer(m, row))
            json_object_set_new(dtypes, dtype, json_integer(known + 1));
    }
    return dtypes;
}

json_t *bench_networks(const json_t *rows, size_t device)
{
    const measured m = {rows, device, count_cases(rows, device)};
    json_t *networks = json_array(), *dtypes = count_dtypes(&m), *count;
    const char *dtype;
    size_t known;
    const suite_network *all = networks_of_suites(&known);
    for (size_t i = 0; i < known; i++) {
        json_object_foreach(dtypes, dtype, count)
        {
            if (is_spoken_of(&all[i], (size_t)json_integer_value(count)))
                add_network(networks, &all[i], dtype, &m);
        }
    }
    json_decref(dtypes);
    json_decref(m.counts);
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
                     (long long)json_integer_value(json_object_get(n, "distinct")), bench_text_of(n, "first_missing"));
        return;
    }
    bench_append(text, size, "%.*f %s/s predicted (%s, the sum of count x time of %lld layers)",
                 rate < 9.95   ? 2
                 : rate < 99.5 ? 1
                               : 0,
                 rate, bench_text_of(n, "unit"), time, (long long)json_integer_value(json_object_get(n, "layers")));
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
