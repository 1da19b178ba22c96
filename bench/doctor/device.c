// SPDX-License-Identifier: MIT
// Devices: of each whether its results are right, and its clock tells the truth; speed.c has its speed. All of
// it in worker processes.
#include "doctor/device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases/ops.h"
#include "cases/suite.h"
#include "cases/suites.h"
#include "common/json.h"
#include "common/stats.h"
#include "doctor/patient.h"
#include "doctor/speed.h"
#include "doctor/threads.h"
#include "system/interrupt.h"
#include "system/terminal.h"
#include "system/timer.h"
#include "verify/check.h"

#define CHECK_SECONDS 60.0

static void check_family(bench_patient *p, const bench_case *c, size_t *right)
{
    bench_check check;
    const bench_check_options options = {.max_time = 2 * p->d->patience, .seed = p->d->options->seed};
    bench_check_case(&p->husk, c, &options, &check);
    const char *variant = bench_text_of(check.prepared, "variant");
    const bool is_wrong = check.state == BENCH_STATE_FAILED;
    *right += check.state == BENCH_STATE_OK;
    p->d->miscounted += is_wrong;
    if (!bench_interrupted && check.state != BENCH_STATE_OK && check.state != BENCH_STATE_UNSUPPORTED) {
        json_t *finding = bench_doctor_find(p->d, BENCH_FINDING_PROBLEM, is_wrong ? "miscomputes" : "operator_fails",
                                            "%.300s: %s %s%s%s: %.500s", p->name, bench_op_row(c),
                                            is_wrong ? "is computed wrong" : "does not end well",
                                            variant[0] ? " by its variant " : "", variant, check.reason);
        bench_doctor_advise(
            finding, "update the driver; until then exclude the variant (HUSK_VARIANT), or take another device; the "
                     "command below repeats it");
        char again[BENCH_CASE_TEXT + 800];
        snprintf(again, sizeof again, "clbench verify %s%s%s -d %s", c->canonical, variant[0] ? " --variant " : "",
                 variant, p->quoted);
        json_object_set_new(finding, "reproduce", json_string(again));
    }
    bench_check_free(&check);
}

// The first case of each operator and direction in the suite of small cases: forward ones first.
static size_t choose_cases(const bench_suite *suite, size_t *chosen)
{
    bool is_taken[BENCH_OP_COUNT][BENCH_DIRECTIONS] = {{false}};
    size_t count = 0;
    for (int forward = 1; forward >= 0; forward--) {
        for (size_t i = 0; i < suite->count; i++) {
            const bench_case *c = &suite->entries[i].c;
            if ((c->dir == BENCH_FWD) != forward || is_taken[c->op][c->dir] || !bench_op_row(c))
                continue;
            is_taken[c->op][c->dir] = true;
            chosen[count++] = i;
        }
    }
    return count;
}

double bench_doctor_check_seconds(const bench_options *options)
{
    return options->budget > 0   ? options->budget - bench_doctor_heat_seconds(options)
           : options->budget < 0 ? HUGE_VAL
                                 : CHECK_SECONDS;
}

static void check_results(bench_patient *p)
{
    size_t chosen[BENCH_OP_COUNT * BENCH_DIRECTIONS], right = 0, i = 0;
    bench_suite suite;
    char reason[BENCH_REASON_TEXT], left[32];
    if (!bench_suite_load("smoke", &suite, reason))
        return;
    const size_t count = choose_cases(&suite, chosen), before = json_array_size(p->d->findings);
    const uint64_t start = bench_now_ns();
    const double limit = bench_doctor_check_seconds(p->d->options);
    double spent = 0;
    for (; i < count && !bench_interrupted && (i == 0 || spent < limit); i++) {
        const bench_case *c = &suite.entries[chosen[i]].c;
        bench_time_left(left, spent, i, count);
        bench_progress_show("doctor: %.60s [%zu/%zu%s] %s", p->name, i + 1, count, left, c->canonical);
        check_family(p, c, &right);
        spent = (double)(bench_now_ns() - start) * 1e-9;
    }
    bench_suite_free(&suite);
    if (i < count && !bench_interrupted)
        bench_doctor_advise(
            bench_doctor_find(p->d, BENCH_FINDING_NOTE, "not_all_checked",
                              "%.300s: only %zu of %zu operators and gradients were checked within %.3g s", p->name, i,
                              count, limit),
            "give it more with --budget, or run clbench verify -d %s", p->quoted);
    if (json_array_size(p->d->findings) == before)
        bench_doctor_find(p->d, BENCH_FINDING_OK, "results", "%.300s: %zu operators and gradients computed right",
                          p->name, right);
}

// False: it does not even run the kernel for that.
static bool check_clock(bench_patient *p)
{
    char reason[BENCH_REASON_TEXT];
    double ratio = 0;
    bench_progress_show("doctor: %.100s: its clock", p->name);
    const bool is_timed = bench_doctor_ask(p, "trust", "ratio", &ratio, reason);
    if (bench_interrupted)
        return false;
    if (!is_timed)
        bench_doctor_advise(bench_doctor_find(p->d, BENCH_FINDING_PROBLEM, "cannot_measure",
                                              "%.300s does not run a kernel of 60 ms: %.500s", p->name, reason),
                            "update the driver; a display's watchdog may end long kernels");
    else if (ratio <= 0)
        bench_doctor_find(p->d, BENCH_FINDING_NOTE, "no_events",
                          "%.300s times no events: profiles (husk_profile) will be empty", p->name);
    else if (ratio < 0.8 || ratio > 1.25)
        bench_doctor_advise(bench_doctor_find(p->d, BENCH_FINDING_NOTE, "clock_lies",
                                              "%.300s: its event timer says %.2f times what the wall clock says",
                                              p->name, ratio),
                            "do not trust profiles of this device; clbench times by the wall clock");
    else
        bench_doctor_find(p->d, BENCH_FINDING_OK, "clock", "%.300s: its event timer agrees with the wall clock (%.2f)",
                          p->name, ratio);
    return is_timed;
}

// What the device's compiler gets wrong: nothing that Husk's results suffer from, but other kernels may.
static void tell_quirks(bench_patient *p)
{
    json_t *reply = NULL;
    char reason[BENCH_REASON_TEXT];
    size_t i;
    const json_t *quirk;
    bench_progress_show("doctor: %.100s: its compiler", p->name);
    if (bench_runner_process_revive(&p->husk) &&
        bench_process_call(&p->husk.process, json_pack("{s:s}", "do", "quirks"), 2 * p->d->patience, &reply, reason) ==
            BENCH_REPLY_OK) {
        json_array_foreach(json_object_get(reply, "quirks"), i, quirk)
        {
            char id[64];
            snprintf(id, sizeof id, "quirk_%.50s", bench_text_of(quirk, "name"));
            bench_doctor_advise(
                bench_doctor_find(p->d, BENCH_FINDING_NOTE, id, "%.300s: %s", p->name, bench_text_of(quirk, "text")),
                "%s", bench_text_of(quirk, "advice"));
        }
        json_array_foreach(json_object_get(reply, "quirks_not_tried"), i, quirk)
        {
            const char *why = bench_text_of(quirk, "reason");
            const int length = (int)strcspn(why, "\n"); // a compiler's log may follow
            bench_doctor_find(p->d, BENCH_FINDING_NOTE, "quirk_not_tried",
                              "%.300s: not tried whether its compiler has the quirk %s: %.*s", p->name,
                              bench_text_of(quirk, "name"), length < 500 ? length : 500, why);
        }
    }
    json_decref(reply);
}

static void examine_device(bench_doctor *d, const char *preference)
{
    bench_patient *p = calloc(1, sizeof *p);
    if (!p)
        return;
    p->d = d;
    snprintf(p->preference, sizeof p->preference, "%.127s", preference);
    bench_shell_word(p->preference, p->quoted, sizeof p->quoted);
    snprintf(p->name, sizeof p->name, "%.100s", preference);
    bench_progress_show("doctor: opening %s", preference);
    bench_runner_process_start(&p->husk, "husk", p->preference, 1, NULL);
    if (bench_runner_process_await(&p->husk, d->patience)) {
        const json_t *device = json_object_get(p->husk.hello, "device");
        snprintf(p->name, sizeof p->name, "%.100s %.180s", preference, bench_text_of(device, "name"));
        bench_clean_line(p->name);
        const char *class = bench_text_of(json_object_get(device, "traits"), "class");
        // Before it is warm from the other examinations. A simulator's speed means nothing.
        if (strcmp(class, "simulator") != 0 && check_clock(p))
            bench_doctor_heat(p);
        check_results(p);
        if (!bench_interrupted)
            tell_quirks(p);
        if (!bench_interrupted)
            bench_doctor_threads(p);
    } else if (!bench_interrupted) {
        bench_doctor_advise(
            bench_doctor_find(d, BENCH_FINDING_PROBLEM, "device_unusable", "%.100s cannot be used: %.800s", preference,
                              p->husk.why),
            "do what the text says; where it says nothing, update its driver, or keep it out of the way: -d and "
            "HUSK_DEVICE name another device");
    }
    bench_runner_process_stop(&p->husk);
    free(p);
}

void bench_doctor_measure(bench_doctor *d)
{
    char text[64];
    size_t i;
    const json_t *device;
    json_array_foreach(d->devices, i, device)
    {
        const json_t *traits = json_object_get(device, "traits");
        if (bench_interrupted || !json_is_true(json_object_get(device, "is_examined")))
            continue;
        snprintf(text, sizeof text, "%lld:%lld",
                 (long long)json_integer_value(json_object_get(traits, "platform_index")),
                 (long long)json_integer_value(json_object_get(traits, "device_index")));
        examine_device(d, text);
    }
}
