// SPDX-License-Identifier: MIT
#include "verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

husk_ref_array bench_ref_array(const bench_array *array)
{
    husk_ref_array view = {.data = array->data, .dtype = array->dtype, .rank = array->rank};
    memcpy(view.shape, array->shape, sizeof view.shape);
    memcpy(view.strides, array->strides, sizeof view.strides);
    return view;
}

void bench_verdict_begin(bench_verdict *verdict)
{
    memset(verdict, 0, sizeof *verdict);
    verdict->pass = true;
}

void bench_verdict_add(bench_verdict *verdict, const char *name, const husk_ref_report *report)
{
    char text[400];
    husk_ref_report_text(report, text, sizeof text);
    bool pass = husk_ref_report_pass(report);
    bool worse = report->max_ratio >= verdict->max_ratio || isnan(report->max_ratio);
    // The first failure explains itself; without one the largest error is worth a line.
    if (verdict->pass && (!pass || worse || !verdict->text[0]))
        snprintf(verdict->text, sizeof verdict->text, "%s: %s", name, text);
    if (worse) {
        verdict->max_ratio = report->max_ratio;
        verdict->bound = report->max_bound;
    }
    if (report->max_error > verdict->max_error || isnan(report->max_error))
        verdict->max_error = report->max_error;
    verdict->checked += report->checked;
    verdict->pass = verdict->pass && pass;
    verdict->mistrusted = verdict->mistrusted || husk_ref_report_mistrusted(report);
}

void bench_verdict_fail(bench_verdict *verdict, const char *text)
{
    verdict->pass = false;
    snprintf(verdict->text, sizeof verdict->text, "%s", text);
}
