// SPDX-License-Identifier: MIT
#include "report/table.h"

#include <math.h>
#include <string.h>

#include "common/text.h"
#include "system/output.h"
#include "system/terminal.h"
#include "record/row_json.h"
#include "record/network.h"
#include "record/result_file.h"
#include "record/results.h"
#include "record/rival.h"

enum { RESULT = 13, MEDIAN = 10, SPREAD = 7, RATE = 13, PEAK = 7, VARIANT = 17, PREDICTED = 11 }; // with their gaps

// A speed-up has seven columns, unless the name of the rival above it is longer.
static int rival_width(const char *name)
{
    const int usual = 7, length = (int)strlen(name);
    return length > usual ? length : usual;
}

static int columns_beside(const bench_table *table)
{
    int rivals = 0;
    for (size_t i = 0; i < table->rival_count; i++)
        rivals += 2 + rival_width(table->rivals[i]);
    return RESULT + MEDIAN + (table->with_spread ? SPREAD : 0) + (table->with_rate ? RATE : 0) +
           (table->with_peak ? PEAK : 0) + rivals + (table->with_variant ? VARIANT + PREDICTED : 0);
}

void bench_table_begin(bench_table *table, const bench_suite *suite)
{
    size_t longest = 20;
    for (size_t i = 0; i < suite->count; i++) {
        size_t length = strlen(bench_suite_entry_text(&suite->entries[i]));
        longest = length > longest ? length : longest;
    }
    table->with_spread = table->with_rate = table->with_peak = true;
    table->case_width = bench_name_width(longest, columns_beside(table));
    const int columns = bench_terminal_columns();
    bool *const shown[] = {&table->with_spread, &table->with_rate, &table->with_peak};
    for (size_t i = 0; i < 3 && table->case_width == 0 && columns_beside(table) > columns; i++)
        *shown[i] = false;
}

void bench_table_header(const bench_table *table)
{
    fputs(bench_colour_on(BENCH_STRONG), stdout);
    bench_print_name("case", table->case_width);
    if (table->with_variant)
        printf("  %-15s", "variant");
    printf("  %-11s  %8s", "result", "median");
    if (table->with_variant)
        printf("  %9s", "predicted");
    if (table->with_spread)
        printf("  %-5s", "+-");
    if (table->with_rate)
        printf("  %11s", "rate");
    if (table->with_peak)
        printf("  %5s", "%peak");
    for (size_t i = 0; i < table->rival_count; i++)
        printf("  %*s", rival_width(table->rivals[i]), table->rivals[i]);
    printf("%s\n", bench_colour_off());
    fflush(stdout);
}

static const char *string_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void print_speedup(const json_t *row, const char *rival)
{
    const json_t *all = json_object_get(row, "baselines");
    const int width = rival_width(rival);
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *b = json_array_get(all, i);
        if (strcmp(string_of(b, "name"), rival))
            continue;
        double speedup = number_of(b, "speedup");
        if (isnan(speedup)) {
            printf("  %s%*s%s", bench_colour_on(BENCH_WARN), width, string_of(b, "state"), bench_colour_off());
            return;
        }
        bench_colour colour = speedup >= 1 ? BENCH_GOOD : BENCH_WARN;
        printf("  %s%*.2fx%s", bench_colour_on(colour), width - 1, speedup, bench_colour_off());
        return;
    }
    printf("  %s%*s%s", bench_colour_on(BENCH_FAINT), width, "none", bench_colour_off());
}

// What the library expected of the variant, where it has an expectation.
static void print_predicted(const json_t *row)
{
    const double most = 1e15; // more is no prediction: the variant is only taken by name
    const double predicted = number_of(row, "predicted_ns");
    char text[32] = "-";
    if (predicted < most)
        bench_format_ns(predicted, text, sizeof text);
    printf("  %9s", text);
}

static void print_time(const bench_table *table, const json_t *row)
{
    const json_t *time = json_object_get(row, "time");
    double median = number_of(time, "median_ns"), low = number_of(time, "ci_low_ns"),
           high = number_of(time, "ci_high_ns");
    bool is_bandwidth = json_is_true(json_object_get(row, "is_bandwidth"));
    double rate = number_of(row, is_bandwidth ? "gbytes_per_s" : "gflops"), percent = number_of(row, "percent_of_peak");
    char text[32], spread[16];
    bench_format_ns(median, text, sizeof text);
    double n = number_of(time, "n");
    if (n < 6 && json_array_size(json_object_get(time, "processes")) < 2) // no interval at 95%
        snprintf(spread, sizeof spread, "n=%.0f", n);
    else
        snprintf(spread, sizeof spread, "%.1f%%", 50 * (high - low) / median);
    printf("  %8s", text);
    if (table->with_variant)
        print_predicted(row);
    if (table->with_spread)
        printf("  %-5s", spread);
    if (table->with_rate)
        printf("  %6.*f %-4s", rate < 9.95 ? 2 : rate < 99.5 ? 1 : 0, rate, is_bandwidth ? "GB/s" : "GF/s");
    if (table->with_peak && isnan(percent))
        printf("  %5s", "-");
    else if (table->with_peak)
        printf("  %4.0f%%", percent);
}

void bench_table_row(const bench_table *table, const json_t *row)
{
    const char *state = string_of(row, "state");
    bool has_time = json_is_object(json_object_get(row, "time"));
    bool is_ok = !strcmp(state, "ok"), is_cold = !strcmp(string_of(row, "temperature"), "cold");
    bench_progress_clear();
    bench_print_name(string_of(row, "case"), table->case_width);
    if (table->with_variant)
        printf("  %-15.15s", string_of(row, "variant"));
    bench_colour colour = is_ok ? BENCH_GOOD : !strcmp(state, "unsupported") ? BENCH_FAINT : BENCH_BAD;
    printf("  %s%-11s%s", bench_colour_on(colour),
           !is_ok                        ? state
           : bench_row_is_unchecked(row) ? "unchecked"
           : is_cold                     ? "right, cold"
                                         : "right",
           bench_colour_off());
    if (has_time) {
        print_time(table, row);
        for (size_t i = 0; i < table->rival_count; i++)
            print_speedup(row, table->rivals[i]);
    }
    // Of a right one: that its processes disagree.
    const char *reason = string_of(is_ok ? json_object_get(row, "time") : row, is_ok ? "disagreement" : "reason");
    if (*reason && bench_terminal_columns()) // which may be long
        bench_print(4, "\n    %s\n", reason);
    else
        printf("%s%s\n", *reason ? "  " : "", reason);
    fflush(stdout);
}

static void csv_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static void csv_number(FILE *file, double value)
{
    if (!isnan(value))
        fprintf(file, ",%.10g", value);
    else
        fputc(',', file);
}

static void csv_row_end(FILE *file, const json_t *row)
{
    fprintf(file, ",%lld,%s,%s,%lld,%s\n", (long long)json_integer_value(json_object_get(row, "device")),
            string_of(row, "dtype"), string_of(row, "temperature"),
            (long long)json_integer_value(json_object_get(row, "count")), string_of(row, "variant"));
}

// One line a measured time: ours with an empty baseline, then a line for each form of each baseline.
bool bench_write_csv(const char *path, const json_t *rows)
{
    bench_writing writing;
    FILE *file = bench_output_open(&writing, path);
    if (!file)
        return false;
    fputs("case,runner,form,state,median_ns,ci_low_ns,ci_high_ns,min_ns,q1_ns,q3_ns,n,gflops,gbytes_per_s,"
          "percent_of_peak,device,dtype,temperature,count,variant\n",
          file);
    static const char *const times[] = {"median_ns", "ci_low_ns", "ci_high_ns", "min_ns", "q1_ns", "q3_ns", "n"};
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *all = json_object_get(row, "baselines");
        csv_text(file, string_of(row, "case"));
        fprintf(file, ",%s,%s,%s", json_is_object(json_object_get(row, "kernel")) ? "kernel" : "husk",
                string_of(row, "variant"), string_of(row, "state"));
        for (size_t k = 0; k < sizeof times / sizeof *times; k++)
            csv_number(file, number_of(json_object_get(row, "time"), times[k]));
        csv_number(file, number_of(row, "gflops"));
        csv_number(file, number_of(row, "gbytes_per_s"));
        csv_number(file, number_of(row, "percent_of_peak"));
        csv_row_end(file, row);
        for (size_t b = 0; b < json_array_size(all); b++) {
            const json_t *forms = json_object_get(json_array_get(all, b), "forms");
            for (size_t f = 0; f < json_array_size(forms); f++) {
                const json_t *form = json_array_get(forms, f);
                csv_text(file, string_of(row, "case"));
                fprintf(file, ",%s,%s,%s", string_of(json_array_get(all, b), "name"), string_of(form, "form"),
                        string_of(form, "state"));
                for (size_t k = 0; k < sizeof times / sizeof *times; k++)
                    csv_number(file, number_of(json_object_get(form, "time"), times[k]));
                fputs(",,,", file);
                csv_row_end(file, row);
            }
        }
    }
    return bench_output_close(&writing, path);
}

// A number without a unit's prefix, so that it needs no parsing: nanoseconds, GFLOP/s or GB/s, times.
static void plain_row(FILE *file, const json_t *row, const json_t *devices)
{
    char name[BENCH_ROW_NAME + 100];
    const json_t *time = json_object_get(row, "time"), *all = json_object_get(row, "baselines");
    const bool is_bandwidth = json_is_true(json_object_get(row, "is_bandwidth"));
    const double median = number_of(time, "median_ns"), rate = number_of(row, is_bandwidth ? "gbytes_per_s" : "gflops"),
                 percent = number_of(row, "percent_of_peak");
    bench_row_name(row, name);
    if (!strcmp(string_of(row, "temperature"), "cold"))
        bench_append(name, sizeof name, " cold");
    if (json_array_size(devices) > 1)
        bench_append(name, sizeof name, " on %lld", (long long)json_integer_value(json_object_get(row, "device")));
    if (strcmp(string_of(row, "state"), "ok") != 0) {
        fprintf(file, "%s state: %s\n", name, string_of(row, "state"));
        return;
    }
    fprintf(file, "%s time: %.10g ns\n", name, median);
    if (!isnan(rate))
        fprintf(file, "%s rate: %.10g %s\n", name, rate, is_bandwidth ? "GB/s" : "GFLOP/s");
    if (!isnan(percent))
        fprintf(file, "%s peak: %.4g %%\n", name, percent);
    for (size_t i = 0; i < json_array_size(all); i++) {
        const double speedup = number_of(json_array_get(all, i), "speedup");
        if (!isnan(speedup))
            fprintf(file, "%s against %s: %.4g x\n", name, string_of(json_array_get(all, i), "name"), speedup);
    }
}

static json_t *rows_of(const json_t *root, size_t device)
{
    return bench_results_of(json_object_get(root, "results"), device);
}

static size_t device_count(const json_t *root)
{
    const size_t count = json_array_size(json_object_get(root, "devices"));
    return count ? count : 1; // files of before there could be several
}

// Means and networks of a device; on: " on 1", where there are several.
static void plain_summary(FILE *file, const json_t *root, size_t device, const char *on)
{
    json_t *rows = rows_of(root, device), *summary = json_object(), *networks = bench_networks(rows, device), *mean;
    const char *name;
    bench_rival_summary(rows, summary);
    json_object_foreach(json_object_get(summary, "geomean_speedup"), name, mean)
        fprintf(file, "mean against %s%s: %.4g x\n", name, on, json_number_value(mean));
    for (size_t i = 0; i < json_array_size(networks); i++) {
        const json_t *n = json_array_get(networks, i);
        const double rate = number_of(n, "per_second");
        if (!isnan(rate))
            fprintf(file, "%s %s%s predicted: %.4g %s/s\n", string_of(n, "name"), string_of(n, "dtype"), on, rate,
                    string_of(n, "unit"));
    }
    json_decref(networks);
    json_decref(summary);
    json_decref(rows);
}

bool bench_write_plain(const char *path, const json_t *root)
{
    bench_writing writing;
    FILE *file = bench_output_open(&writing, path);
    const json_t *rows = json_object_get(root, "results"), *devices = json_object_get(root, "devices");
    if (!file)
        return false;
    for (size_t i = 0; i < json_array_size(rows); i++)
        plain_row(file, json_array_get(rows, i), devices);
    for (size_t d = 0; d < device_count(root); d++) {
        char on[32] = "";
        if (device_count(root) > 1)
            snprintf(on, sizeof on, " on %zu", d);
        plain_summary(file, root, d, on);
    }
    return bench_output_close(&writing, path);
}

static void markdown_speedups(FILE *file, const json_t *row, const json_t *means)
{
    const char *name;
    json_t *ignored;
    json_object_foreach((json_t *)(uintptr_t)means, name, ignored)
    {
        double speedup = bench_rival_speedup(row, name, NULL);
        if (isnan(speedup))
            fputs(" none |", file);
        else
            fprintf(file, " %.2f |", speedup);
    }
}

static void markdown_row(FILE *file, const json_t *row, bool is_bandwidth)
{
    const double median = number_of(json_object_get(row, "time"), "median_ns"),
                 rate = number_of(row, is_bandwidth ? "gbytes_per_s" : "gflops"),
                 percent = number_of(row, "percent_of_peak");
    char text[32] = "", name[BENCH_ROW_NAME];
    bench_row_name(row, name);
    if (!isnan(median))
        bench_format_ns(median, text, sizeof text);
    const char *state = string_of(row, "state");
    fprintf(file, "| `%s` | %s | %s |", name, bench_row_is_unchecked(row) && !strcmp(state, "ok") ? "unchecked" : state,
            text);
    if (isnan(rate))
        fputs(" |", file);
    else
        fprintf(file, " %.3g %s |", rate, is_bandwidth ? "GB/s" : "GFLOP/s");
    if (isnan(percent))
        fputs(" |", file);
    else
        fprintf(file, " %.0f |", percent);
}

static void markdown_device(FILE *file, const json_t *root, const json_t *device, size_t index)
{
    json_t *rows = rows_of(root, index), *summary = json_object(), *mean;
    const char *name;
    bench_rival_summary(rows, summary);
    json_t *means = json_object_get(summary, "geomean_speedup");
    fprintf(file, "%s (%s, driver %s), Husk %s\n\n", string_of(device, "name"), string_of(device, "platform"),
            string_of(device, "driver"), string_of(root, "husk_version"));
    fputs("| case | result | median | rate | % of peak |", file);
    json_object_foreach(means, name, mean) fprintf(file, " x %s |", name);
    fputs("\n|---|---|---:|---:|---:|", file);
    for (size_t i = 0; i < json_object_size(means); i++)
        fputs("---:|", file);
    fputc('\n', file);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        bool is_bandwidth = json_is_true(json_object_get(row, "is_bandwidth"));
        markdown_row(file, row, is_bandwidth);
        markdown_speedups(file, row, means);
        fputc('\n', file);
    }
    json_object_foreach(means, name, mean)
        fprintf(file, "\nGeometric mean against %s: %.2f\n",
                strcmp(name, BENCH_BEST) ? name : "the fastest rival of each case", json_number_value(mean));
    json_t *networks = bench_networks(rows, index);
    if (json_array_size(networks))
        fputc('\n', file);
    bench_networks_markdown(networks, file);
    json_decref(networks);
    json_decref(summary);
    json_decref(rows);
}

// A table for each device, below its name.
bool bench_write_markdown(const char *path, const json_t *root)
{
    bench_writing writing;
    FILE *file = bench_output_open(&writing, path);
    const json_t *devices = json_object_get(root, "devices");
    if (!file)
        return false;
    for (size_t d = 0; d < device_count(root); d++) {
        if (d > 0)
            fputc('\n', file);
        markdown_device(file, root, devices ? json_array_get(devices, d) : json_object_get(root, "device"), d);
    }
    return bench_output_close(&writing, path);
}
