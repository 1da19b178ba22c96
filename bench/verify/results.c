// SPDX-License-Identifier: MIT
#include "verify/results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <husk/husk.h>
#include <husk/version.h>

#include "cases/case.h"
#include "common/json.h"
#include "common/text.h"
#include "system/output.h"

static void keep(bench_verify_results *r, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value))
        r->lacks_memory = true;
}

// Text of a driver or a kernel's build log may be no UTF-8.
static json_t *text_or_null(const char *text)
{
    char clean[BENCH_REASON_TEXT];
    if (!text || !*text)
        return json_null();
    snprintf(clean, sizeof clean, "%s", text);
    bench_clean_line(clean);
    return json_string(clean);
}

void bench_verify_results_begin(bench_verify_results *r)
{
    *r = (bench_verify_results){.devices = json_array()};
    r->lacks_memory = !r->devices;
}

void bench_verify_results_device(bench_verify_results *r, const json_t *device)
{
    json_t *object = r->devices ? json_object() : NULL;
    if (!r->devices)
        return;
    keep(r, object, "device", device ? json_deep_copy(device) : json_null());
    keep(r, object, "results", json_array());
    if (json_array_append_new(r->devices, object))
        r->lacks_memory = true;
}

// "inconclusive": right, which proves nothing.
static const char *verdict_of(const bench_check *check)
{
    switch (check->state) {
    case BENCH_STATE_OK:
        return json_is_true(json_object_get(check->verified, "inconclusive")) ? "inconclusive" : "right";
    case BENCH_STATE_FAILED:
        return "wrong";
    case BENCH_STATE_UNSUPPORTED:
        return "refused";
    case BENCH_STATE_TIMEOUT:
        return "timeout";
    default:
        return "error";
    }
}

void bench_verify_results_put(bench_verify_results *r, const bench_verify_row *row)
{
    const size_t count = json_array_size(r->devices);
    json_t *results = count ? json_object_get(json_array_get(r->devices, count - 1), "results") : NULL;
    json_t *object = results ? json_object() : NULL;
    if (!results)
        return;
    keep(r, object, "case", text_or_null(row->name));
    keep(r, object, "op", json_string(row->op));
    keep(r, object, "asked", text_or_null(row->asked));
    keep(r, object, "variant", text_or_null(row->variant));
    keep(r, object, "configuration", text_or_null(row->configuration));
    keep(r, object, "verdict", json_string(row->verdict));
    keep(r, object, "reason", text_or_null(row->reason));
    keep(r, object, "of_bound", isfinite(row->of_bound) && row->of_bound >= 0 ? json_real(row->of_bound) : json_null());
    keep(r, object, "seconds", json_real(row->seconds));
    if (row->reproducer)
        keep(r, object, "reproducer", text_or_null(row->reproducer));
    if (row->by)
        keep(r, object, "by", text_or_null(row->by));
    if (row->file)
        keep(r, object, "file", text_or_null(row->file));
    if (row->line)
        keep(r, object, "line", json_integer(row->line));
    if (json_array_append_new(results, object))
        r->lacks_memory = true;
}

void bench_verify_results_add(bench_verify_results *r, const bench_case *c, const char *op, const char *variant,
                              const bench_check *check, double seconds)
{
    const bench_verify_row row = {
        .name = c->canonical,
        .op = op,
        .asked = variant,
        .variant = bench_text_of(check->prepared, "variant"),
        .configuration = bench_text_of(check->prepared, "configuration"),
        .verdict = verdict_of(check),
        .reason = check->reason,
        .of_bound = bench_number_of(check->verified, "max_ratio"),
        .seconds = seconds,
    };
    bench_verify_results_put(r, &row);
}

void bench_verify_results_unopened(bench_verify_results *r, const char *preference, const char *why)
{
    bench_check check = {.state = BENCH_STATE_ERROR};
    bench_case c = {.canonical = ""};
    snprintf(c.canonical, sizeof c.canonical, "device %.100s", preference ? preference : "(the default)");
    snprintf(check.reason, sizeof check.reason, "%s", why);
    json_t *device = json_pack("{s:s}", "name", preference ? preference : "the default device");
    bench_verify_results_device(r, device);
    json_decref(device);
    bench_verify_results_add(r, &c, "device", NULL, &check, 0);
}

void bench_verify_results_free(bench_verify_results *r)
{
    json_decref(r->devices);
    *r = (bench_verify_results){0};
}

// ---- writing ----

static bool write_to(const bench_verify_results *r, const char *path,
                     void (*write)(const bench_verify_results *r, FILE *file))
{
    bench_writing writing;
    FILE *file = r->lacks_memory ? NULL : bench_output_open(&writing, path);
    if (r->lacks_memory)
        fprintf(stderr, "clbench: memory is short: %.300s is not written\n", path);
    if (!file)
        return false;
    write(r, file);
    return bench_output_close(&writing, path);
}

static void count(const json_t *device, const char *verdict, size_t *found)
{
    const json_t *results = json_object_get(device, "results");
    for (size_t i = 0; i < json_array_size(results); i++)
        *found += !strcmp(bench_text_of(json_array_get(results, i), "verdict"), verdict);
}

static void write_json(const bench_verify_results *r, FILE *file)
{
    json_t *document = json_pack("{s:s, s:s, s:O}", "schema", "clbench-verify/2", "husk_version", HUSK_VERSION_STRING,
                                 "devices", r->devices);
    if (document)
        json_dumpf(document, file,
                   JSON_INDENT(1) | JSON_REAL_PRECISION(10)); // what fails is found when it is closed
    fputc('\n', file);
    json_decref(document);
}

bool bench_verify_results_json(const bench_verify_results *r, const char *path)
{
    return write_to(r, path, write_json);
}

// XML 1.0 has no control characters.
static void put_escaped(const char *text, FILE *file)
{
    for (; *text; text++) {
        const unsigned char letter = (unsigned char)*text;
        if (letter == '<')
            fputs("&lt;", file);
        else if (letter == '>')
            fputs("&gt;", file);
        else if (letter == '&')
            fputs("&amp;", file);
        else if (letter == '"')
            fputs("&quot;", file);
        else
            fputc(letter < ' ' ? ' ' : letter, file);
    }
}

static void put_attribute(const char *name, const char *text, FILE *file)
{
    fprintf(file, " %s=\"", name);
    put_escaped(text, file);
    fputc('"', file);
}

// What a result is to JUnit: wrong is a failure, what did not come to a result an error, and what proves nothing, or is
// not computed here, is skipped.
static const char *element_of(const char *verdict)
{
    return !strcmp(verdict, "wrong")                                         ? "failure"
           : !strcmp(verdict, "error") || !strcmp(verdict, "timeout")        ? "error"
           : !strcmp(verdict, "refused") || !strcmp(verdict, "inconclusive") ? "skipped"
                                                                             : NULL;
}

static void put_case(const json_t *result, FILE *file)
{
    char name[BENCH_CASE_TEXT + 200], classname[100];
    const char *verdict = bench_text_of(result, "verdict"), *element = element_of(verdict),
               *asked = bench_text_of(result, "asked"), *reason = bench_text_of(result, "reason");
    const bool is_kernel = *bench_text_of(result, "reproducer") != '\0';
    snprintf(name, sizeof name, "%s [%s]", bench_text_of(result, "case"), *asked ? asked : "chosen");
    if (is_kernel && !*asked)
        snprintf(name, sizeof name, "%s", bench_text_of(result, "case"));
    snprintf(classname, sizeof classname, "clbench.%.80s", bench_text_of(result, "op"));
    fputs("    <testcase", file);
    put_attribute("classname", classname, file);
    put_attribute("name", name, file);
    fprintf(file, " time=\"%.3f\"", bench_number_of(result, "seconds"));
    if (!element) {
        fputs("/>\n", file);
        return;
    }
    fprintf(file, ">\n      <%s", element);
    put_attribute("message", *reason ? reason : verdict, file);
    if (strcmp(element, "skipped") != 0)
        put_attribute("type", verdict, file);
    const char *reproducer = bench_text_of(result, "reproducer");
    if (!*reproducer) {
        fputs("/>\n    </testcase>\n", file);
        return;
    }
    fputs(">", file);
    put_escaped(*reason ? reason : verdict, file);
    fputs("\n", file);
    put_escaped(reproducer, file);
    fprintf(file, "\n</%s>\n    </testcase>\n", element);
}

static void write_junit(const bench_verify_results *r, FILE *file)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"clbench verify\">\n", file);
    for (size_t d = 0; d < json_array_size(r->devices); d++) {
        const json_t *device = json_array_get(r->devices, d), *results = json_object_get(device, "results");
        size_t failures = 0, errors = 0, skipped = 0;
        double seconds = 0;
        count(device, "wrong", &failures);
        count(device, "error", &errors);
        count(device, "timeout", &errors);
        count(device, "refused", &skipped);
        count(device, "inconclusive", &skipped);
        for (size_t i = 0; i < json_array_size(results); i++)
            seconds += bench_number_of(json_array_get(results, i), "seconds");
        fputs("  <testsuite", file);
        put_attribute("name", bench_text_of(json_object_get(device, "device"), "name"), file);
        fprintf(file, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\">\n",
                json_array_size(results), failures, errors, skipped, seconds);
        for (size_t i = 0; i < json_array_size(results); i++)
            put_case(json_array_get(results, i), file);
        fputs("  </testsuite>\n", file);
    }
    fputs("</testsuites>\n", file);
}

bool bench_verify_results_junit(const bench_verify_results *r, const char *path)
{
    return write_to(r, path, write_junit);
}
