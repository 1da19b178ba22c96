// SPDX-License-Identifier: MIT
// The report's table: a row a case, with its samples as a small picture.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "rival.h"
#include "stats.h"
#include "text.h"

#define BINS 24

// Samples in bins from three interquartile ranges below the quartiles to three above; those beyond are in the last
// ones.
static void draw_samples(const json_t *time, FILE *file)
{
    const json_t *samples = json_object_get(time, "samples_ns");
    const double q1 = bench_number_of(time, "q1_ns"), q3 = bench_number_of(time, "q3_ns"),
                 median = bench_number_of(time, "median_ns");
    const double reach = fmax(3 * (q3 - q1), 0.005 * median), low = q1 - reach, wide = q3 + reach - low;
    size_t bins[BINS] = {0}, most = 1;
    if (!(wide > 0))
        return;
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const double at = (json_number_value(json_array_get(samples, i)) - low) / wide * BINS;
        const size_t bin = at < 0 ? 0 : at >= BINS ? BINS - 1 : (size_t)at;
        most = ++bins[bin] > most ? bins[bin] : most;
    }
    fputs(
        "<svg class=\"r-dist\" width=\"98\" height=\"22\" viewBox=\"0 0 98 22\" role=\"img\" aria-label=\"samples\">",
        file);
    for (size_t i = 0; i < BINS; i++)
        if (bins[i])
            fprintf(file, "<rect x=\"%.1f\" y=\"%.1f\" width=\"3.4\" height=\"%.1f\"/>", 1 + 4.0 * (double)i,
                    21 - 19.0 * (double)bins[i] / (double)most, 19.0 * (double)bins[i] / (double)most + 0.5);
    fprintf(file, "<path d=\"M%.1f,0V22\"/></svg>", 1 + 96 * (median - low) / wide);
}

static void number_cell(FILE *file, double value, const char *text)
{
    if (isfinite(value))
        fprintf(file, "<td class=\"r-n\" data-v=\"%.10g\">%s</td>", value, text);
    else
        fputs("<td class=\"r-n\" data-v=\"\"></td>", file);
}

// Of fewer than six samples there is no interval at 95%: how many there are is said, and they come last.
static void spread_cell(FILE *file, const json_t *time, double half)
{
    const double n = bench_number_of(time, "n");
    char text[64];
    snprintf(text, sizeof text, "%.1f%%", half);
    if (n < 6)
        fprintf(file, "<td class=\"r-n\" data-v=\"\">n=%.0f</td>", n);
    else
        number_cell(file, half, text);
}

static void text_cell(FILE *file, const char *kind, const char *text)
{
    fprintf(file, "<td%s data-v=\"", kind);
    bench_report_text(file, text);
    fputs("\">", file);
    bench_report_text(file, text);
    fputs("</td>", file);
}

static void state_cell(FILE *file, const json_t *row)
{
    const char *state = bench_text_of(row, "state"), *reason = bench_text_of(row, "reason");
    const bool is_ok = !strcmp(state, "ok");
    const bool is_bad = !strcmp(state, "failed") || !strcmp(state, "error") || !strcmp(state, "timeout");
    fprintf(file, "<td data-v=\"%s\" class=\"%s\" title=\"", state,
            is_ok    ? "r-good"
            : is_bad ? "r-bad"
                     : "r-warn");
    bench_report_text(file, reason);
    fprintf(file, "\">%s%s</td>", is_ok ? "right" : state,
            !strcmp(bench_text_of(row, "temperature"), "cold") ? ", cold" : "");
}

static void write_row(FILE *file, const json_t *row, const json_t *rivals)
{
    const json_t *time = json_object_get(row, "time");
    const double median = bench_number_of(time, "median_ns"), low = bench_number_of(time, "ci_low_ns"),
                 high = bench_number_of(time, "ci_high_ns"),
                 percent = bench_number_of(row, "percent_of_peak");
    const bool is_bandwidth = json_is_true(json_object_get(row, "is_bandwidth"));
    const double rate = bench_number_of(row, is_bandwidth ? "gbytes_per_s" : "gflops"),
                 half = median > 0 ? 50 * (high - low) / median : NAN;
    const char *name;
    char text[64];
    json_t *ignored;
    fputs("<tr>", file);
    text_cell(file, " class=\"r-case\"", bench_text_of(row, "case"));
    text_cell(file, "", bench_text_of(row, "variant"));
    state_cell(file, row);
    bench_format_ns(median, text, sizeof text);
    number_cell(file, median, text);
    spread_cell(file, time, half);
    snprintf(text, sizeof text, "%.3g %s", rate, is_bandwidth ? "GB/s" : "GFLOP/s");
    number_cell(file, rate, text);
    snprintf(text, sizeof text, "%.0f%%", percent);
    number_cell(file, percent, text);
    json_object_foreach((json_t *)(uintptr_t)rivals, name, ignored)
    {
        const double speedup = bench_rival_speedup(row, name, NULL);
        snprintf(text, sizeof text, "%.2fx", speedup);
        number_cell(file, speedup, text);
    }
    fprintf(file, "<td data-v=\"%.6g\">", isfinite(half) ? half : 0);
    if (json_is_object(time))
        draw_samples(time, file);
    fputs("</td></tr>\n", file);
}

static void head(FILE *file, const char *text, bool is_number)
{
    fprintf(file, "<th scope=\"col\"%s><button type=\"button\">", is_number ? " class=\"r-n\"" : "");
    bench_report_text(file, text);
    fputs("</button></th>", file);
}

void bench_report_table(const bench_column *column, FILE *file)
{
    const json_t *rows = json_object_get(column->document, "results");
    json_t *rivals = bench_rival_names(rows), *ignored;
    const char *name;
    char text[100];
    fputs("<div class=\"r-wide\"><table class=\"r-sort\"><thead><tr>", file);
    head(file, "case", false);
    head(file, "variant", false);
    head(file, "result", false);
    head(file, "median", true);
    head(file, "\xc2\xb1", true);
    head(file, "rate", true);
    head(file, "of peak", true);
    json_object_foreach(rivals, name, ignored)
    {
        snprintf(text, sizeof text, "\xc3\x97 %.60s", name);
        head(file, text, true);
    }
    fputs("<th scope=\"col\">samples</th></tr></thead><tbody>\n", file);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if ((size_t)json_integer_value(json_object_get(row, "device")) == column->device)
            write_row(file, row, rivals);
    }
    fputs("</tbody></table></div>\n", file);
    json_decref(rivals);
}
