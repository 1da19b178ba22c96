// SPDX-License-Identifier: MIT
#include "record/rival.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/case.h"
#include "common/stats.h"

static bool has_text(const json_t *object, const char *key, const char *wanted)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value && !strcmp(value, wanted);
}

static const char *name_of(const json_t *baseline)
{
    const char *name = json_string_value(json_object_get(baseline, "name"));
    return name ? name : "";
}

double bench_rival_speedup(const json_t *row, const char *baseline, const char **who)
{
    const json_t *all = json_object_get(row, "baselines");
    bool any = !strcmp(baseline, BENCH_BEST);
    double least = NAN;
    if (!has_text(row, "state", "ok"))
        return NAN;
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *b = json_array_get(all, i), *speedup = json_object_get(b, "speedup");
        bool counts = any ? strcmp(name_of(b), "ref") != 0 : !strcmp(name_of(b), baseline);
        if (!counts || !json_is_number(speedup) || json_number_value(speedup) >= least)
            continue;
        least = json_number_value(speedup);
        if (who)
            *who = name_of(b);
    }
    return least;
}

double bench_rival_geomean(const json_t *rows, const char *baseline, const char *op, size_t *count)
{
    size_t used = 0;
    double *ratios = calloc(json_array_size(rows) + 1, sizeof *ratios);
    for (size_t i = 0; ratios && i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        double ratio = bench_rival_speedup(row, baseline, NULL);
        if (!isnan(ratio) && (!op || has_text(row, "op", op)))
            ratios[used++] = ratio;
    }
    double mean = bench_geometric_mean(ratios, used);
    free(ratios);
    if (count)
        *count = used;
    return mean;
}

const json_t *bench_rival_worst(const json_t *rows, double *speedup, const char **who)
{
    const json_t *worst = NULL;
    *speedup = NAN;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *name = "";
        double ratio = bench_rival_speedup(row, BENCH_BEST, &name);
        if (isnan(ratio) || ratio >= *speedup)
            continue;
        worst = row;
        *speedup = ratio;
        *who = name;
    }
    return worst;
}

// Our speed-up over one form of a row's oneDNN; NaN where it was not timed.
static double against_form(const json_t *row, const char *wanted)
{
    const json_t *all = json_object_get(row, "baselines");
    double ours = json_number_value(json_object_get(json_object_get(row, "time"), "median_ns"));
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *forms = json_object_get(json_array_get(all, i), "forms");
        for (size_t k = 0; !strcmp(name_of(json_array_get(all, i)), "onednn") && k < json_array_size(forms); k++) {
            const json_t *form = json_array_get(forms, k);
            double theirs = json_number_value(json_object_get(json_object_get(form, "time"), "median_ns"));
            if (has_text(form, "form", wanted) && has_text(form, "state", "ok") && ours > 0 && theirs > 0)
                return theirs / ours;
        }
    }
    return NAN;
}

bench_rival_forms bench_rival_winograd(const json_t *rows)
{
    size_t total = json_array_size(rows), count = 0;
    double *own = calloc(2 * total + 2, sizeof *own), *least = own ? own + total + 1 : NULL;
    for (size_t i = 0; own && i < total; i++) {
        const json_t *row = json_array_get(rows, i);
        double automatic = against_form(row, "auto"), winograd = against_form(row, "winograd");
        if (!has_text(row, "op", "conv") || !has_text(row, "state", "ok") || isnan(automatic) || isnan(winograd))
            continue;
        own[count] = automatic;
        least[count++] = fmin(automatic, winograd);
    }
    bench_rival_forms forms = {count, bench_geometric_mean(own, count), bench_geometric_mean(least, count)};
    free(own);
    return forms;
}

json_t *bench_rival_names(const json_t *rows)
{
    json_t *names = json_object();
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *all = json_object_get(json_array_get(rows, i), "baselines");
        for (size_t k = 0; k < json_array_size(all); k++)
            json_object_set_new(names, name_of(json_array_get(all, k)), json_true());
    }
    return names;
}

static void put_mean(json_t *object, const char *key, double mean)
{
    if (isfinite(mean))
        json_object_set_new(object, key, json_real(mean));
}

static json_t *op_counts(const json_t *rows, const char *op)
{
    json_int_t total = 0, ok = 0;
    size_t compared;
    bench_rival_geomean(rows, BENCH_BEST, op, &compared);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        total += has_text(row, "op", op);
        ok += has_text(row, "op", op) && has_text(row, "state", "ok");
    }
    return total ? json_pack("{s:I, s:I, s:I}", "rows", total, "ok", ok, "compared", (json_int_t)compared) : NULL;
}

static json_t *worst_json(const json_t *rows)
{
    double speedup;
    const char *who = NULL;
    const json_t *worst = bench_rival_worst(rows, &speedup, &who);
    if (!worst)
        return json_null();
    return json_pack("{s:O, s:s, s:f}", "case", json_object_get(worst, "case"), "baseline", who, "speedup", speedup);
}

static json_t *winograd_json(const json_t *rows)
{
    bench_rival_forms forms = bench_rival_winograd(rows);
    if (!forms.count)
        return json_null();
    return json_pack("{s:I, s:f, s:f}", "count", (json_int_t)forms.count, "auto", forms.automatic, "fastest",
                     forms.fastest);
}

void bench_rival_summary(const json_t *rows, json_t *summary)
{
    json_t *means = json_object(), *by_op = json_object(), *counts = json_object();
    json_t *names = bench_rival_names(rows), *ignored;
    const char *name;
    json_object_set_new(names, BENCH_BEST, json_true());
    json_object_foreach(names, name, ignored)
    {
        put_mean(means, name, bench_rival_geomean(rows, name, NULL, NULL));
        for (int op = 0; op < BENCH_OP_COUNT; op++) {
            const char *op_name = bench_op_text((bench_op_kind)op);
            double mean = bench_rival_geomean(rows, name, op_name, NULL);
            if (isfinite(mean) && !json_object_get(by_op, op_name))
                json_object_set_new(by_op, op_name, json_object());
            put_mean(json_object_get(by_op, op_name), name, mean);
        }
    }
    for (int op = 0; op < BENCH_OP_COUNT; op++) {
        json_t *count = op_counts(rows, bench_op_text((bench_op_kind)op));
        if (count)
            json_object_set_new(counts, bench_op_text((bench_op_kind)op), count);
    }
    json_object_set_new(summary, "geomean_speedup", means);
    json_object_set_new(summary, "geomean_speedup_by_op", by_op);
    json_object_set_new(summary, "counts_by_op", counts);
    json_object_set_new(summary, "worst", worst_json(rows));
    json_object_set_new(summary, "conv_3x3_stride_1", winograd_json(rows));
    json_decref(names);
}
