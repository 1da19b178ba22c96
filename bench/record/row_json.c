// SPDX-License-Identifier: MIT
// A row as the JSON document has it.
#include "record/row_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases/described.h"
#include "cases/parse.h"
#include "cases/size.h"
#include "common/json.h"
#include "measure/plausible.h"

// JSON knows neither NaN nor infinity.
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text(const char *value)
{
    json_t *string = value && *value ? json_string(value) : NULL;
    return string ? string : json_null();
}

// By the process that took the samples: how many, their median, and how many CPUs it kept busy meanwhile.
static json_t *processes_json(const bench_entrant *e)
{
    json_t *processes = json_array();
    const double *values = e->samples.values;
    for (size_t i = 0; i < e->parts.count; values += e->parts.values[i++].count) {
        const bench_part *part = &e->parts.values[i];
        const bench_samples own = {.values = (double *)(uintptr_t)values, .count = part->count}; // only read
        bench_summary s;
        if (part->count && bench_summarise(&own, &s))
            json_array_append_new(processes, json_pack("{s:I, s:I, s:f, s:o}", "process", (json_int_t)part->number, "n",
                                                       (json_int_t)part->count, "median_ns", s.median, "busy_cpus",
                                                       number(part->busy_ns / part->spent_ns)));
    }
    return processes;
}

// The faster and the slower time of processes that disagree.
static json_t *speeds_json(const bench_levels *levels)
{
    return levels->disagree ? json_pack("[f, f]", levels->speeds[0], levels->speeds[1]) : json_null();
}

static json_t *time_json(const bench_entrant *e)
{
    const bench_summary *s = &e->summary;
    json_t *samples = json_array(), *time = json_object();
    char disagreement[96];
    bench_levels_text(&e->levels, disagreement);
    for (size_t i = 0; i < e->samples.count; i++)
        json_array_append_new(samples, json_real(e->samples.values[i]));
    json_object_set_new(time, "median_ns", number(s->median));
    json_object_set_new(time, "ci_low_ns", number(s->ci_low));
    json_object_set_new(time, "ci_high_ns", number(s->ci_high));
    json_object_set_new(time, "min_ns", number(s->min));
    json_object_set_new(time, "q1_ns", number(s->q1));
    json_object_set_new(time, "q3_ns", number(s->q3));
    json_object_set_new(time, "max_ns", number(s->max));
    json_object_set_new(time, "n", json_integer((json_int_t)s->n));
    json_object_set_new(time, "outliers", json_integer((json_int_t)s->outliers));
    json_object_set_new(time, "batch", json_integer(e->batch));
    json_object_set_new(time, "latency_ns", number(e->latency_ns));
    json_object_set_new(time, "stop", text(bench_stop_text(e->stop)));
    json_object_set_new(time, "settled", json_boolean(e->settled));
    json_object_set_new(time, "samples_ns", samples);
    json_object_set_new(time, "processes", processes_json(e));
    json_object_set_new(time, "between", number(e->levels.between));
    json_object_set_new(time, "speeds_ns", speeds_json(&e->levels));
    json_object_set_new(time, "disagreement", text(disagreement));
    return time;
}

static json_t *verify_json(const bench_entrant *e)
{
    json_t *verify = json_object();
    static const char *const keys[] = {"max_error", "bound", "pass", "max_ratio", "checked", "text"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *value = json_object_get(e->verified, keys[i]);
        const bool is_none = !value || (json_is_number(value) && json_number_value(value) < 0);
        json_object_set_new(verify, keys[i], is_none ? json_null() : json_incref(value));
    }
    json_t *guards = json_object_get(e->verified, "guards"); // of husk alone
    if (guards)
        json_object_set(verify, "guards", guards);
    return verify;
}

static bool is_rival(const bench_entrant *e)
{
    return e->state == BENCH_STATE_OK && e->summary.n > 0;
}

// All forms of one runner; the fastest right one is the rival.
static json_t *baseline_json(const bench_row *row, size_t first, double ours)
{
    const bench_entrant *best = NULL, *head = &row->entrants[first];
    json_t *forms = json_array();
    for (size_t i = first; i < row->entrant_count; i++) {
        const bench_entrant *e = &row->entrants[i];
        if (e->runner != head->runner)
            continue;
        json_t *form = json_object();
        json_object_set_new(form, "form", text(e->form));
        json_object_set_new(form, "variant", text(json_string_value(json_object_get(e->prepared, "variant"))));
        json_object_set_new(form, "state", text(bench_state_text(e->state)));
        json_object_set_new(form, "reason", e->state != BENCH_STATE_OK ? text(e->reason) : json_null());
        if (e->summary.n > 0)
            json_object_set_new(form, "time", time_json(e));
        if (e->verified)
            json_object_set_new(form, "verify", verify_json(e));
        json_array_append_new(forms, form);
        if (is_rival(e) && (!best || e->summary.median < best->summary.median))
            best = e;
    }
    json_t *baseline = json_object();
    json_object_set_new(baseline, "name", text(head->runner->name));
    json_object_set_new(baseline, "version", text(head->runner->version));
    json_object_set_new(baseline, "program", head->runner->program[0] ? text(head->runner->program) : json_null());
    json_object_set_new(baseline, "state", text(bench_state_text(best ? BENCH_STATE_OK : head->state)));
    json_object_set_new(baseline, "reason", best ? json_null() : text(head->reason));
    json_object_set_new(baseline, "form", best ? text(best->form) : json_null());
    json_object_set_new(baseline, "median_ns", best ? number(best->summary.median) : json_null());
    json_object_set_new(baseline, "speedup", best ? number(best->summary.median / ours) : json_null());
    json_object_set_new(baseline, "forms", forms);
    return baseline;
}

// Whether the runner can do the case in any of its forms, or should have been able to.
static bool takes_part(const bench_row *row, const bench_runner_process *runner)
{
    for (size_t i = 0; i < row->entrant_count; i++)
        if (row->entrants[i].runner == runner && row->entrants[i].state != BENCH_STATE_UNSUPPORTED)
            return true;
    return false;
}

static json_t *baselines_json(const bench_row *row)
{
    json_t *baselines = json_array();
    for (size_t i = 1; i < row->entrant_count; i++) {
        const bench_entrant *e = &row->entrants[i];
        // Without a time of ours there is nothing to compare; an unsupported one is left out.
        if (e->slot == 0 && e->runner != row->entrants[0].runner && takes_part(row, e->runner))
            json_array_append_new(baselines, baseline_json(row, i, row->entrants[0].summary.median));
    }
    return baselines;
}

static json_t *compile_json(const bench_entrant *e)
{
    static const char *const keys[] = {"prepare_ns", "first_ns", "build_ns", "builds", "cache_loads"};
    json_t *compile = json_object();
    // Cold and cached are measured in processes of their own (--compile).
    json_object_set_new(compile, "cold_ns", json_null());
    json_object_set_new(compile, "cached_ns", json_null());
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *value = json_object_get(e->prepared, keys[i]);
        json_object_set_new(compile, keys[i], value ? json_incref(value) : json_null());
    }
    return compile;
}

static json_t *rate(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

// Two runs are compared by how fast the machine was beside each round.
static json_t *sentinels_json(const bench_sentinels *all)
{
    json_t *sentinels = json_array();
    for (size_t i = 0; i < all->count; i++) {
        const bench_sentinel *s = &all->values[i];
        json_array_append_new(
            sentinels, json_pack("{s:o, s:o, s:o, s:o, s:f, s:I, s:I}", "before_gflops", rate(s->before_gflops),
                                 "after_gflops", rate(s->after_gflops), "before_gbytes_per_s",
                                 rate(s->before_gbytes_per_s), "after_gbytes_per_s", rate(s->after_gbytes_per_s),
                                 "at_s", s->at, "samples", (json_int_t)s->samples, "process", (json_int_t)s->process));
    }
    return sentinels;
}

// What of a described kernel is worth keeping: whose it is, where, and what computes the same.
static json_t *kernel_json(const json_t *kernel)
{
    static const char *const keys[] = {"name", "path", "configuration", "operation", "compares"};
    json_t *json = kernel ? json_object() : json_null();
    for (size_t i = 0; kernel && i < sizeof keys / sizeof *keys; i++)
        json_object_set(json, keys[i], json_object_get(kernel, keys[i]));
    return json;
}

json_t *bench_row_json(const bench_row *row, const bench_peaks *peaks)
{
    const bench_entrant *e = &row->entrants[0];
    json_t *object = json_object();
    bench_state state = e->state;
    const char *reason = e->reason;
    double executed = json_number_value(json_object_get(e->prepared, "executed_flops"));
    const double predicted = json_number_value(json_object_get(e->prepared, "predicted_ns"));
    const bool is_cold = row->copies > 1;
    const double working_set = bench_case_bytes(&row->c) * (is_cold ? row->copies : 1);
    bench_plausibility p = {.percent_of_peak = NAN};
    if (state == BENCH_STATE_OK || state == BENCH_STATE_INCONCLUSIVE) {
        // A kernel's name is no variant's, whatever it is called.
        p = bench_plausible(&row->c, row->kernel ? NULL : json_string_value(json_object_get(e->prepared, "variant")),
                            executed, working_set, e->summary.median, peaks);
        if (p.is_suspect && state == BENCH_STATE_OK) {
            state = BENCH_STATE_SUSPECT;
            reason = p.reason;
        }
    }
    bool is_timed = e->summary.n > 0;
    const char *variant = json_string_value(json_object_get(e->prepared, "variant"));
    json_object_set_new(object, "case", json_string(bench_row_text(row)));
    const char *op = bench_op_text(row->c.op);
    json_object_set_new(object, "op", text(op ? op : bench_text_of(row->kernel, "name")));
    json_object_set_new(object, "kernel", kernel_json(row->kernel));
    json_object_set_new(object, "dtype", text(husk_dtype_name(row->c.dtype)));
    json_object_set_new(object, "variant", text(variant ? variant : e->form));
    json_object_set_new(object, "configuration",
                        text(json_string_value(json_object_get(e->prepared, "configuration"))));
    json_object_set_new(object, "choice", text(json_string_value(json_object_get(e->prepared, "choice"))));
    json_object_set_new(object, "asked", text(row->asked));
    json_object_set_new(object, "reproduce", text(row->reproducer));
    json_object_set_new(object, "rounds", json_integer((json_int_t)row->rounds));
    json_object_set_new(object, "count", json_integer(row->count));
    json_object_set_new(object, "state", text(bench_state_text(state)));
    json_object_set_new(object, "reason", state == BENCH_STATE_OK ? json_null() : text(reason));
    json_object_set_new(object, "verify", e->verified ? verify_json(e) : json_null());
    json_object_set_new(object, "time", is_timed ? time_json(e) : json_null());
    json_object_set_new(object, "gflops",
                        is_timed ? number(bench_case_flops(&row->c) / e->summary.median) : json_null());
    json_object_set_new(object, "gbytes_per_s",
                        is_timed ? number(bench_case_bytes(&row->c) / e->summary.median) : json_null());
    json_object_set_new(object, "percent_of_peak", number(p.percent_of_peak));
    json_object_set_new(object, "bound_by", is_timed ? text(p.bound_by_memory ? "memory" : "arithmetic") : json_null());
    json_object_set_new(object, "is_bandwidth", json_boolean(bench_case_is_bandwidth(&row->c)));
    json_object_set_new(object, "executed_flops", number(executed > 0 ? executed : bench_case_flops(&row->c)));
    json_object_set_new(object, "predicted_ns", predicted > 0 ? number(predicted) : json_null());
    json_object_set_new(object, "flops", number(bench_case_flops(&row->c)));
    json_object_set_new(object, "bytes", number(bench_case_bytes(&row->c)));
    json_object_set_new(object, "temperature", json_string(is_cold ? "cold" : "hot"));
    json_object_set_new(object, "copies", json_integer(is_cold ? row->copies : 1));
    json_object_set_new(object, "working_set", number(working_set));
    json_object_set_new(object, "sentinel_drift", number(row->sentinel_drift));
    json_object_set_new(object, "sentinels", sentinels_json(&row->sentinels));
    json_object_set_new(object, "workspace",
                        e->prepared ? json_incref(json_object_get(e->prepared, "workspace")) : json_null());
    json_object_set_new(object, "baselines", baselines_json(row));
    json_object_set_new(object, "compile", compile_json(e));
    return object;
}

bool bench_row_is_unchecked(const json_t *row)
{
    return json_is_false(json_object_get(json_object_get(row, "kernel"), "compares"));
}

bool bench_row_case(const json_t *row, bench_case *c)
{
    char reason[BENCH_REASON_TEXT];
    const json_t *kernel = json_object_get(row, "kernel");
    const char *operation = bench_text_of(kernel, "operation"), *line = bench_text_of(row, "case");
    if (!json_is_object(kernel) || *operation)
        return bench_case_parse(*operation ? operation : line, c, reason);
    static const husk_dtype others[] = {HUSK_F16, HUSK_F64, HUSK_I8, HUSK_U8, HUSK_I32, HUSK_I64};
    husk_dtype dtype = HUSK_F32;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (bench_has_text(row, "dtype", husk_dtype_name(others[i])))
            dtype = others[i];
    }
    bench_case_describe(c, line, dtype, json_number_value(json_object_get(row, "flops")),
                        json_number_value(json_object_get(row, "bytes")));
    return true;
}
