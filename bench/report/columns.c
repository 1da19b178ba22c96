// SPDX-License-Identifier: MIT
// The report's table: a row a case, with its samples as a small picture.
#include "report/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/stats.h"
#include "common/text.h"
#include "record/row_json.h"
#include "record/rival.h"
#include "report/page.h"

#define BINS        24
#define LANE        7  // pixels a process
#define MOST_LANES  12 // of more processes the last ones are left out
#define MOST_POINTS 60 // of a process; of more samples every second, third, ...

// What a picture shows: three interquartile ranges below the quartiles to three above; what lies beyond is at its edge.
typedef struct window {
    double low, wide, median;
} window;

static double place(const window *w, double ns)
{
    return fmin(fmax((ns - w->low) / w->wide, 0), 1);
}

static void open_picture(FILE *file, size_t height)
{
    fprintf(file,
            "<svg class=\"r-dist\" width=\"98\" height=\"%zu\" viewBox=\"0 0 98 %zu\" role=\"img\" "
            "aria-label=\"samples\">",
            height, height);
}

// A line of points a process, in their order from above, each with its median.
static void draw_processes(const window *w, const json_t *processes, const json_t *samples, FILE *file)
{
    const size_t all = json_array_size(processes), count = all < MOST_LANES ? all : MOST_LANES;
    size_t at = 0;
    open_picture(file, LANE * count + 2);
    for (size_t i = 0; i < count; i++) {
        const json_t *process = json_array_get(processes, i);
        const size_t n = (size_t)json_integer_value(json_object_get(process, "n")), step = n / MOST_POINTS + 1;
        const double y = LANE * ((double)i + 0.5) + 1, x = 1 + 96 * place(w, bench_number_of(process, "median_ns"));
        for (size_t k = 0; k < n; k += step)
            fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"1.3\"/>",
                    1 + 96 * place(w, json_number_value(json_array_get(samples, at + k))), y);
        fprintf(file, "<path d=\"M%.1f,%.1fv%d\"/>", x, y - LANE / 2.0, LANE);
        at += n;
    }
    fputs("</svg>", file);
}

static void draw_samples(const json_t *time, FILE *file)
{
    const json_t *samples = json_object_get(time, "samples_ns"), *processes = json_object_get(time, "processes");
    const double q1 = bench_number_of(time, "q1_ns"), q3 = bench_number_of(time, "q3_ns"),
                 median = bench_number_of(time, "median_ns");
    const double reach = fmax(3 * (q3 - q1), 0.005 * median);
    const window w = {q1 - reach, q3 - q1 + 2 * reach, median};
    size_t bins[BINS] = {0}, most = 1;
    if (!(w.wide > 0))
        return;
    if (json_array_size(processes) > 1) {
        draw_processes(&w, processes, samples, file);
        return;
    }
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const double at = place(&w, json_number_value(json_array_get(samples, i))) * BINS;
        const size_t bin = at >= BINS ? BINS - 1 : (size_t)at;
        most = ++bins[bin] > most ? bins[bin] : most;
    }
    open_picture(file, 22);
    for (size_t i = 0; i < BINS; i++)
        if (bins[i])
            fprintf(file, "<rect x=\"%.1f\" y=\"%.1f\" width=\"3.4\" height=\"%.1f\"/>", 1 + 4.0 * (double)i,
                    21 - 19.0 * (double)bins[i] / (double)most, 19.0 * (double)bins[i] / (double)most + 0.5);
    fprintf(file, "<path d=\"M%.1f,0V22\"/></svg>", 1 + 96 * place(&w, w.median));
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
    const char *state = bench_text_of(row, "state");
    const bool is_ok = !strcmp(state, "ok");
    const char *disagreement = bench_text_of(json_object_get(row, "time"), "disagreement"),
               *reason = is_ok ? disagreement : bench_text_of(row, "reason");
    const bool is_bad = !strcmp(state, "failed") || !strcmp(state, "error") || !strcmp(state, "timeout");
    fprintf(file, "<td data-v=\"%s\" class=\"%s\" title=\"", state, is_ok ? "r-good" : is_bad ? "r-bad" : "r-warn");
    bench_report_text(file, reason);
    fprintf(file, "\">%s%s",
            !is_ok                        ? state
            : bench_row_is_unchecked(row) ? "unchecked"
                                          : "right",
            !strcmp(bench_text_of(row, "temperature"), "cold") ? ", cold" : "");
    if (is_ok && *disagreement) {
        fputs("<br>", file);
        bench_report_text(file, disagreement);
    }
    fputs("</td>", file);
}

static void write_row(FILE *file, const json_t *row, const json_t *rivals)
{
    const json_t *time = json_object_get(row, "time");
    const double median = bench_number_of(time, "median_ns"), low = bench_number_of(time, "ci_low_ns"),
                 high = bench_number_of(time, "ci_high_ns"), percent = bench_number_of(row, "percent_of_peak");
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
