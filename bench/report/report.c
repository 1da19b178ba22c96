// SPDX-License-Identifier: MIT
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/stats.h"
#include "common/text.h"
#include "record/network.h"
#include "record/result_file.h"
#include "record/rival.h"
#include "report/columns.h"
#include "report/nearness.h"
#include "report/page.h"
#include "report/roofline.h"
#include "report/roofline_svg.h"

// The rows of one device, as a list of their own.
static json_t *rows_of(const bench_column *column)
{
    const json_t *all = json_object_get(column->document, "results");
    json_t *rows = json_array();
    for (size_t i = 0; i < json_array_size(all); i++) {
        json_t *row = json_array_get(all, i);
        if ((size_t)json_integer_value(json_object_get(row, "device")) == column->device)
            json_array_append(rows, row);
    }
    return rows;
}

// ---- what the device is ----

static void fact(FILE *file, const char *name, const char *text)
{
    if (!*text)
        return;
    fprintf(file, "<dt>%s</dt><dd>", name);
    bench_report_text(file, text);
    fputs("</dd>\n", file);
}

static void write_peaks(const json_t *peaks, FILE *file)
{
    const json_t *copy = json_object_get(peaks, "copy");
    const double fma = bench_number_of(peaks, "fma_gflops"), launch = bench_number_of(peaks, "launch_ns");
    char text[300] = "", time[32];
    double nearest = 0;
    for (size_t i = 0; i < json_array_size(copy); i++)
        nearest = fmax(nearest, bench_number_of(json_array_get(copy, i), "gbytes_per_s"));
    if (!(fma > 0) || !json_array_size(copy))
        return;
    bench_format_ns(launch, time, sizeof time);
    snprintf(text, sizeof text, "%.0f GFLOP/s in f32; memory %.0f GB/s in the nearest cache, %.1f GB/s beyond all", fma,
             nearest, bench_number_of(json_array_get(copy, json_array_size(copy) - 1), "gbytes_per_s"));
    if (!isnan(launch))
        bench_append(text, sizeof text, "; a launch takes %s", time);
    fact(file, "measured peaks", text);
}

static void write_timer(const json_t *timer, FILE *file)
{
    const double ratio = bench_number_of(timer, "trust_ratio");
    char text[200];
    if (!(ratio > 0))
        snprintf(text, sizeof text, "wall clock; the device times no events");
    else if (json_is_true(json_object_get(timer, "events_trusted")))
        snprintf(text, sizeof text, "wall clock; the device's events agree (%.2f)", ratio);
    else
        snprintf(text, sizeof text, "wall clock; events are not to be trusted: they say %.2f times what it says",
                 ratio);
    fact(file, "timer", text);
}

static void write_facts(const bench_column *column, const json_t *rows, FILE *file)
{
    const json_t *d = bench_device_of(column->document, column->device),
                 *host = json_object_get(column->document, "host"), *traits = json_object_get(d, "traits");
    char text[600], memory[32];
    fputs("<dl class=\"r-facts\">\n", file);
    snprintf(text, sizeof text, "%.200s, driver %.100s", bench_text_of(d, "platform"), bench_text_of(d, "driver"));
    fact(file, "platform", text);
    snprintf(text, sizeof text, "%s, %lld compute units", bench_text_of(traits, "class"),
             (long long)json_integer_value(json_object_get(traits, "compute_units")));
    fact(file, "device", text);
    write_peaks(json_object_get(d, "peaks"), file);
    if (column->device == 0)
        write_timer(json_object_get(column->document, "timer"), file);
    bench_format_bytes(floor(bench_number_of(host, "memory") / 1048576) * 1048576, memory, sizeof memory);
    snprintf(text, sizeof text, "%.200s, %lld cores, %s, %.200s", bench_text_of(host, "cpu"),
             (long long)json_integer_value(json_object_get(host, "cores")), memory, bench_text_of(host, "os"));
    fact(file, "host", text);
    snprintf(text, sizeof text, "Husk %.60s, %s, %zu cases", bench_text_of(column->document, "husk_version"),
             bench_text_of(column->document, "started"), json_array_size(rows));
    fact(file, "measured by", text);
    fact(file, "file", column->file);
    const json_t *rivals = json_object_get(json_array_get(rows, 0), "baselines");
    for (size_t i = 0; i < json_array_size(rivals); i++)
        fact(file, "baseline", bench_text_of(json_array_get(rivals, i), "version"));
    if (!json_is_true(json_object_get(traits, "is_cpu")))
        fact(file, "transfers", "between host and device are not in the times");
    fputs("</dl>\n", file);
}

// ---- the verdict ----

static size_t count_state(const json_t *rows, const char *state)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(rows); i++)
        count += !strcmp(bench_text_of(json_array_get(rows, i), "state"), state);
    return count;
}

static void write_counts(const json_t *rows, FILE *file)
{
    static const char *const others[][2] = {
        {"unsupported", "not supported"},    {"skipped", "skipped"},
        {"inconclusive", "proving nothing"}, {"suspect", "faster than the device can be"},
        {"error", "ended with an error"},    {"timeout", "not finished in time"},
    };
    const size_t total = json_array_size(rows), right = count_state(rows, "ok"), wrong = count_state(rows, "failed");
    fputs("<p class=\"r-lead\">", file);
    if (wrong)
        fprintf(file, "<span class=\"r-bad\">%zu of %zu results are WRONG.</span>", wrong, total);
    else if (right == total)
        fprintf(file, "<span class=\"r-good\">All %zu results are right.</span>", total);
    else
        fprintf(file, "%zu of %zu results are right, none is wrong.", right, total);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const size_t count = count_state(rows, others[i][0]);
        if (count)
            fprintf(file, " %zu %s.", count, others[i][1]);
    }
    fputs("</p>\n", file);
}

static void write_nearness(const json_t *root, const json_t *rows, FILE *file)
{
    static const char *const ends[BENCH_PLACES] = {
        [BENCH_BY_ARITHMETIC] = "of the measured multiply-adds are reached where arithmetic is the limit",
        [BENCH_IN_CACHES] =
            "of what copying or reading as much reaches, where memory is the limit and caches hold the data",
        [BENCH_NOT_TOLD] = "of that where the driver does not tell whether a cache holds them",
        [BENCH_IN_MEMORY] = "of that where no cache holds them",
    };
    const bench_nearness near = bench_nearness_of(root, rows);
    for (int place = 0; place < BENCH_PLACES; place++) {
        if (near.count[place] && ends[place])
            fprintf(file, "<p>%.0f%% %s (median of %zu).</p>\n", near.median[place], ends[place], near.count[place]);
    }
    if (near.count[BENCH_BY_LAUNCH])
        fprintf(file, "<p>%zu not counted there: the data move in less time than a launch takes (%.0f &micro;s).</p>\n",
                near.count[BENCH_BY_LAUNCH], near.launch_ns * 1e-3);
}

static void write_verdict(const json_t *root, const json_t *rows, FILE *file)
{
    json_t *names = bench_rival_names(rows), *ignored;
    const char *name, *who = "";
    size_t count, rivals = 0;
    double worst;
    write_counts(rows, file);
    write_nearness(root, rows, file);
    json_object_foreach(names, name, ignored)
    {
        const double mean = bench_rival_geomean(rows, name, NULL, &count);
        rivals += strcmp(name, "ref") != 0;
        if (isnan(mean))
            continue;
        fprintf(file, "<p><strong>%.2f times</strong> as fast as ", mean);
        bench_report_text(file, name);
        fprintf(file, " (geometric mean of %zu cases).</p>\n", count);
    }
    const double best = bench_rival_geomean(rows, BENCH_BEST, NULL, &count);
    if (rivals > 1 && !isnan(best))
        fprintf(file, "<p><strong>%.2f times</strong> as fast as the fastest rival of each of %zu cases.</p>\n", best,
                count);
    const json_t *row = bench_rival_worst(rows, &worst, &who);
    if (row) {
        char name_of_row[BENCH_ROW_NAME];
        bench_row_name(row, name_of_row);
        fprintf(file, "<p class=\"r-soft\">%s: ",
                worst < 1 ? "Worst" : "No case is slower than its fastest rival; the nearest");
        bench_report_text(file, name_of_row);
        fprintf(file, ", %.4g times %s ", worst < 1 ? ceil(100 / worst) / 100 : floor(100 * worst) / 100,
                worst < 1 ? "slower than" : "as fast as");
        bench_report_text(file, who);
        fputs(".</p>\n", file);
    }
    json_decref(names);
}

// What the terminal says of the run itself: other work, and times that are shorter than they should be.
static void write_conditions(const json_t *rows, FILE *file)
{
    double drift = 0;
    bool was_cut = false;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        drift = fmax(drift, fabs(bench_number_of(row, "sentinel_drift"))); // fmax leaves NaN out
        was_cut = was_cut || !strcmp(bench_text_of(json_object_get(row, "time"), "stop"), "budget");
    }
    if (drift > BENCH_SAID_DRIFT)
        fprintf(file,
                "<p class=\"r-soft\">The machine's speed changed by up to %.0f%% during the run: other work, or "
                "throttling.</p>\n",
                100 * drift);
    if (was_cut)
        fputs(
            "<p class=\"r-soft\">Measurements were cut short to keep within the run's time: --budget 0 takes the time "
            "they need.</p>\n",
            file);
}

// ---- pictures ----

static void write_roofline(const bench_column *column, size_t number, FILE *file)
{
    char reason[BENCH_REASON_TEXT];
    bench_roofline roofline;
    json_t *part = json_copy((json_t *)(uintptr_t)column->document), *rows = rows_of(column);
    for (size_t i = 0; i < json_array_size(rows); i++) { // it draws the first device's
        json_t *row = json_copy(json_array_get(rows, i));
        json_object_set_new(row, "device", json_integer(0));
        json_array_set_new(rows, i, row);
    }
    json_object_set_new(part, "results", rows);
    json_object_set(part, "device", (json_t *)(uintptr_t)bench_device_of(column->document, column->device));
    if (bench_roofline_make(part, &roofline, reason)) {
        snprintf(roofline.id, sizeof roofline.id, "roofline-%zu", number);
        fputs("<h3>Roofline</h3><div class=\"r-wide\">", file);
        bench_roofline_draw(&roofline, file);
        fputs("</div>\n", file);
        bench_roofline_free(&roofline);
    } else {
        fputs("<p class=\"r-soft\">There is no roofline: ", file);
        bench_report_text(file, reason);
        fputs(".</p>\n", file);
    }
    json_decref(part);
}

// From the mark at 1 outwards, on a logarithmic scale: right is faster.
static void write_bar(FILE *file, double value, double low, double high, int series, const char *name)
{
    const double one = 100 * log(1 / low) / log(high / low), at = 100 * log(value / low) / log(high / low);
    fprintf(file, "<div class=\"r-value\" title=\"");
    bench_report_text(file, name);
    fprintf(
        file,
        ": %.2f\"><div class=\"r-track\"><div class=\"r-fill r-b%d\" style=\"margin-left:%.2f%%;width:%.2f%%\"></div>"
        "<div class=\"r-one\" style=\"left:%.2f%%\"></div></div><span>%.2f\xc3\x97</span></div>\n",
        value, series % 4, fmin(one, at), fmax(fabs(at - one), 0.3), one, value);
}

static void write_bars(const json_t *rows, FILE *file)
{
    json_t *names = bench_rival_names(rows), *ignored;
    const char *name;
    double low = 0.5, high = 2;
    int series;
    if (isnan(bench_rival_geomean(rows, BENCH_BEST, NULL, NULL))) {
        json_decref(names);
        return;
    }
    for (int op = 0; op < BENCH_OP_COUNT; op++)
        json_object_foreach(names, name, ignored)
        {
            const double mean = bench_rival_geomean(rows, name, bench_op_text((bench_op_kind)op), NULL);
            low = mean / 1.1 < low ? mean / 1.1 : low;
            high = mean * 1.1 > high ? mean * 1.1 : high;
        }
    fputs("<h3>Against the baselines</h3><p class=\"r-soft\">Geometric mean of each operator's cases, on a logarithmic "
          "scale; the line is equal speed, to its right what was measured is faster.",
          file);
    series = 0;
    json_object_foreach(names, name, ignored)
    {
        fprintf(file, "%s<span class=\"r-key r-k%d\">", series ? ", " : " ", series % 4);
        bench_report_text(file, name);
        fputs("</span>", file);
        series++;
    }
    fputs(".</p>\n<div class=\"r-bars\">\n", file);
    for (int op = 0; op < BENCH_OP_COUNT; op++) {
        const char *op_name = bench_op_text((bench_op_kind)op);
        if (isnan(bench_rival_geomean(rows, BENCH_BEST, op_name, NULL)))
            continue;
        fprintf(file, "<div class=\"r-name\">%s</div><div>", op_name);
        series = 0;
        json_object_foreach(names, name, ignored)
        {
            const double mean = bench_rival_geomean(rows, name, op_name, NULL);
            if (mean > 0)
                write_bar(file, mean, low, high, series, name);
            series++;
        }
        fputs("</div>\n", file);
    }
    fputs("</div>\n", file);
    json_decref(names);
}

static void write_networks(const json_t *rows, size_t device, FILE *file)
{
    json_t *networks = bench_networks(rows, device);
    if (json_array_size(networks))
        fputs(
            "<h3>Networks</h3><p class=\"r-soft\">Predicted from count times time of their layers, one after another: "
            "no measurement of the network.</p>\n",
            file);
    for (size_t i = 0; i < json_array_size(networks); i++) {
        const json_t *n = json_array_get(networks, i), *top = json_object_get(n, "top");
        char text[BENCH_CASE_TEXT + 400];
        bench_network_text(n, text, sizeof text);
        fputs("<p>", file);
        bench_report_text(file, text);
        fputs(".</p>\n", file);
        if (json_array_size(top))
            fputs("<ol class=\"r-top\">", file);
        for (size_t k = 0; k < json_array_size(top); k++) {
            const json_t *l = json_array_get(top, k);
            fprintf(file, "<li>%.1f%% <code>", 100 * bench_number_of(l, "share"));
            bench_report_text(file, bench_text_of(l, "case"));
            fprintf(file, "</code> \xc3\x97 %lld</li>", (long long)json_integer_value(json_object_get(l, "count")));
        }
        if (json_array_size(top))
            fputs("</ol>\n", file);
    }
    json_decref(networks);
}

// ---- the page ----

static void write_device(const bench_column *column, size_t number, bool is_only, FILE *file)
{
    json_t *rows = rows_of(column);
    fprintf(file, "<section id=\"device-%zu\">\n<h%d>", number, is_only ? 1 : 2);
    bench_report_text(file, bench_text_of(bench_device_of(column->document, column->device), "name"));
    fprintf(file, "</h%d>\n", is_only ? 1 : 2);
    if (!json_array_size(rows)) {
        fputs("<p>Nothing was measured on it.</p>\n", file);
    } else {
        write_verdict(column->document, rows, file);
        write_conditions(rows, file);
        write_facts(column, rows, file);
        write_roofline(column, number, file);
        write_bars(rows, file);
        write_networks(rows, column->device, file);
        fputs(
            "<h3>All cases</h3><p class=\"r-soft\">A heading sorts. \xc2\xb1 is half of the median's 95% interval, or "
            "how many samples there are where those are too few for one; samples are drawn around their "
            "median, the line.</p>\n",
            file);
        bench_report_table(column, file);
    }
    fputs("</section>\n", file);
    json_decref(rows);
}

static void write_overview(const bench_column *columns, size_t count, FILE *file)
{
    json_t *table = bench_columns_json(columns, count);
    json_t *ops = json_object_get(table, "ops");
    json_array_append(ops, json_object_get(table, "all"));
    fputs("<h1>Devices and runs beside each other</h1>\n<nav>\n", file);
    for (size_t k = 0; k < count; k++) {
        fprintf(file, "<a href=\"#device-%zu\">%s: ", k, bench_column_named(k).text);
        bench_report_text(file, bench_text_of(bench_device_of(columns[k].document, columns[k].device), "name"));
        fputs(": ", file);
        bench_report_text(file, columns[k].file);
        fputs("</a>\n", file);
    }
    fputs("</nav>\n<p class=\"r-soft\">How many times as fast as the first, geometric means over the first one's cases."
          "</p>\n<div class=\"r-wide\"><table><thead><tr><th>operator</th>",
          file);
    for (size_t k = 0; k < count; k++)
        fprintf(file, "<th class=\"r-n\">%s</th>", bench_column_named(k).text);
    fputs("</tr></thead><tbody>\n", file);
    for (size_t i = 0; i < json_array_size(ops); i++) {
        const json_t *op = json_array_get(ops, i), *speeds = json_object_get(op, "speeds");
        const char *name = json_string_value(json_object_get(op, "op"));
        fputs("<tr><td>", file);
        bench_report_text(file, name ? name : "all together");
        fputs("</td>", file);
        for (size_t k = 0; k < count; k++) {
            const json_t *speed = json_array_get(speeds, k);
            if (json_is_number(speed))
                fprintf(file, "<td class=\"r-n\">%.2f\xc3\x97</td>", json_number_value(speed));
            else
                fputs("<td class=\"r-n\">none</td>", file);
        }
        fputs("</tr>\n", file);
    }
    fputs("</tbody></table></div>\n", file);
    json_decref(table);
}

void bench_report_write(const bench_column *columns, size_t count, FILE *file)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>clbench: ",
          file);
    bench_report_text(file, bench_text_of(bench_device_of(columns[0].document, columns[0].device), "name"));
    fputs("</title>\n", file);
    bench_report_style(file);
    fputs("</head>\n<body>\n<main>\n", file);
    if (count > 1)
        write_overview(columns, count, file);
    for (size_t k = 0; k < count; k++)
        write_device(&columns[k], k, count == 1, file);
    fputs("</main>\n", file);
    bench_report_script(file);
    fputs("</body>\n</html>\n", file);
}
