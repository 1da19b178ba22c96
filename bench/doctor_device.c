// SPDX-License-Identifier: MIT
// Devices: which OpenCL lists, and of each whether its results are right, its clock tells the truth, and it holds its
// speed. All of it in worker processes.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "case_check.h"
#include "doctor.h"
#include "husk_contender.h"
#include "op.h"
#include "stats.h"
#include "suite.h"
#include "terminal.h"
#include "timer.h"

#define STEADY_SECONDS 3.0
#define STEADY         0.07 // changes of the sentinel by less are what it does by itself
#define CHECK_SECONDS  60.0
#define MOST_RATES     1024

// ---- the list ----

static void tell_same_card(bench_doctor *d, const json_t *a, const json_t *b)
{
    const json_t *ta = json_object_get(a, "traits"), *tb = json_object_get(b, "traits");
    const char *address = bench_doctor_text(ta, "pci_address");
    if (!address[0] || strcmp(address, bench_doctor_text(tb, "pci_address")) != 0)
        return;
    bench_doctor_advise(
        bench_doctor_find(d, BENCH_FINDING_NOTE, "same_card",
                          "%lld:%lld (%.100s) and %lld:%lld (%.100s) are the same card, at PCI address %s",
                          (long long)json_integer_value(json_object_get(ta, "platform_index")),
                          (long long)json_integer_value(json_object_get(ta, "device_index")),
                          bench_doctor_text(a, "platform"),
                          (long long)json_integer_value(json_object_get(tb, "platform_index")),
                          (long long)json_integer_value(json_object_get(tb, "device_index")),
                          bench_doctor_text(b, "platform"), address),
        "say which is meant with -d, and do not count it twice");
}

static void tell_devices(bench_doctor *d)
{
    size_t i;
    const json_t *device;
    json_array_foreach(d->devices, i, device)
    {
        const json_t *traits = json_object_get(device, "traits");
        const bool is_available = json_is_true(json_object_get(traits, "is_available"));
        json_t *finding =
            bench_doctor_find(d, is_available ? BENCH_FINDING_OK : BENCH_FINDING_PROBLEM,
                              is_available ? "device" : "device_unavailable",
                              "%lld:%lld %.200s (%s, %.200s)%s",
                              (long long)json_integer_value(json_object_get(traits, "platform_index")),
                              (long long)json_integer_value(json_object_get(traits, "device_index")),
                              bench_doctor_text(device, "name"), bench_doctor_text(traits, "class"),
                              bench_doctor_text(device, "platform"),
                              is_available ? "" : " says that it is not available");
        if (!is_available)
            bench_doctor_advise(
                finding,
                "another program may have it alone, or it has failed: dmesg, or restart the machine");
        for (size_t k = 0; k < i; k++)
            tell_same_card(d, json_array_get(d->devices, k), device);
    }
}

// What the library had to say about the list, but for drivers, which have been looked at one by one.
static void tell_notes(bench_doctor *d, const json_t *notes)
{
    size_t i;
    const json_t *note;
    json_array_foreach(notes, i, note)
    {
        const char *text = bench_doctor_text(note, "text");
        if (!strcmp(bench_doctor_text(note, "kind"), "warning") && !strstr(text, ".icd"))
            bench_doctor_find(d, BENCH_FINDING_NOTE, "list_note", "%.900s", text);
    }
}

static bench_reply probe_devices(const bench_doctor *d, json_t **reply, char reason[BENCH_REASON_TEXT])
{
    bench_process process;
    const char *arguments[] = {"clbench", BENCH_PROBE_ARGUMENT, "devices", "", NULL};
    *reply = NULL;
    if (!bench_process_start(&process, arguments, NULL, reason))
        return BENCH_REPLY_DIED;
    snprintf(process.who, sizeof process.who, "a driver");
    const bench_reply status = bench_process_receive(&process, d->patience, reply, reason);
    bench_process_stop(&process);
    return status;
}

static bool is_sound(const json_t *icd)
{
    return !strcmp(bench_doctor_text(icd, "state"), "ok");
}

// A folder that registers the sound drivers alone, so that the others keep nobody from looking at these.
static void leave_out_broken(bench_doctor *d)
{
    size_t i;
    const json_t *icd;
    snprintf(d->sound, sizeof d->sound, "/tmp/clbench-doctor-XXXXXX");
    if (!mkdtemp(d->sound)) {
        d->sound[0] = '\0';
        return;
    }
    json_array_foreach(d->icds, i, icd)
    {
        char path[128];
        snprintf(path, sizeof path, "%s/%zu.icd", d->sound, i);
        FILE *file = is_sound(icd) ? fopen(path, "w") : NULL;
        if (!file)
            continue;
        fprintf(file, "%s\n", bench_doctor_text(icd, "library"));
        fclose(file);
    }
    unsetenv("OCL_ICD_FILENAMES");
    setenv("OCL_ICD_VENDORS", d->sound, 1);
}

void bench_doctor_tidy(const bench_doctor *d)
{
    for (size_t i = 0; d->sound[0] && i < json_array_size(d->icds); i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%zu.icd", d->sound, i);
        unlink(path);
    }
    if (d->sound[0])
        rmdir(d->sound);
}

static bool has_broken(const bench_doctor *d)
{
    size_t i;
    const json_t *icd;
    json_array_foreach(d->icds, i, icd)
    {
        const char *state = bench_doctor_text(icd, "state");
        if (!strcmp(state, "crashes") || !strcmp(state, "hangs"))
            return true;
    }
    return false;
}

// True: the list is there.
static bool take_list(bench_doctor *d, bench_reply status, const json_t *reply, const char *reason)
{
    if (status == BENCH_REPLY_OK && !strcmp(bench_doctor_text(reply, "answer"), "ok")) {
        json_array_extend(d->devices, json_object_get(reply, "devices"));
        tell_notes(d, json_object_get(reply, "notes"));
        return true;
    }
    if (bench_interrupted)
        return false;
    if (status == BENCH_REPLY_OK && !strcmp(bench_doctor_text(reply, "stage"), "HUSK_NO_PLATFORM"))
        return true; // which is said with the drivers
    if (status == BENCH_REPLY_OK) {
        bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_PROBLEM, "listing_fails",
                                              "listing all devices fails: %.800s",
                                              bench_doctor_text(reply, "reason")),
                            "register drivers one at a time (OCL_ICD_VENDORS=FILE.icd) to see which");
        return false;
    }
    bench_doctor_advise(
        bench_doctor_find(d, BENCH_FINDING_PROBLEM,
                          status == BENCH_REPLY_TIMEOUT ? "listing_hangs" : "listing_crashes",
                          "listing all devices at once fails: %.800s", reason),
        "register drivers one at a time (OCL_ICD_VENDORS=FILE.icd) to see which, and update it");
    return false;
}

// A loader may find drivers where this program does not look: with devices, no file is no problem.
static void soften_missing_files(bench_doctor *d)
{
    size_t i;
    json_t *finding;
    json_array_foreach(d->findings, i, finding)
    {
        if (!strcmp(bench_doctor_text(finding, "id"), "no_icd"))
            json_object_set_new(finding, "level", json_string("note"));
    }
}

void bench_doctor_devices(bench_doctor *d)
{
    char reason[BENCH_REASON_TEXT] = "";
    json_t *reply = NULL;
    if (has_broken(d))
        leave_out_broken(d);
    bench_progress_show("doctor: listing devices");
    const bench_reply status = probe_devices(d, &reply, reason);
    const bool is_listed = take_list(d, status, reply, reason);
    json_decref(reply);
    tell_devices(d);
    if (json_array_size(d->devices) > 0)
        soften_missing_files(d);
    if (json_array_size(d->devices) == 0 && is_listed)
        bench_doctor_advise(
            bench_doctor_find(d, BENCH_FINDING_PROBLEM, "no_device", "there is no OpenCL device"),
            "for the CPU: apt-get install pocl-opencl-icd (Debian, Ubuntu), dnf install pocl (Fedora), pacman -S "
            "pocl (Arch)");
}

// ---- one device ----

typedef struct patient {
    bench_doctor *d;
    bench_contestant husk;
    char name[300], wish[128]; // "0:0 NAME", and what -d takes
    char quoted[4 * 128];      // that, as a shell takes it
} patient;

static void check_family(patient *p, const bench_case *c, size_t *right)
{
    bench_check check;
    const bench_check_options options = {.max_time = 2 * p->d->patience, .seed = p->d->options->seed};
    bench_check_case(&p->husk, c, &options, &check);
    const char *variant = bench_doctor_text(check.prepared, "variant");
    const bool is_wrong = check.state == BENCH_STATE_FAILED;
    *right += check.state == BENCH_STATE_OK;
    p->d->miscounted += is_wrong;
    if (!bench_interrupted && check.state != BENCH_STATE_OK && check.state != BENCH_STATE_UNSUPPORTED) {
        json_t *finding =
            bench_doctor_find(p->d, BENCH_FINDING_PROBLEM, is_wrong ? "miscomputes" : "operator_fails",
                              "%.300s: %s %s%s%s: %.500s", p->name, bench_op_row(c),
                              is_wrong ? "is computed wrong" : "does not end well",
                              variant[0] ? " by its variant " : "", variant, check.reason);
        bench_doctor_advise(
            finding,
            "update the driver; until then exclude the variant (HUSK_VARIANT), or take another device; the "
            "command below repeats it");
        char again[BENCH_CASE_TEXT + 800];
        snprintf(again, sizeof again, "clbench verify %s%s%s -d %s", c->canonical,
                 variant[0] ? " --variant " : "", variant, p->quoted);
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

static void check_results(patient *p)
{
    size_t chosen[BENCH_OP_COUNT * BENCH_DIRECTIONS], right = 0, i = 0;
    bench_suite suite;
    char reason[BENCH_REASON_TEXT], left[32];
    if (!bench_suite_load("smoke", &suite, reason))
        return;
    const size_t count = choose_cases(&suite, chosen), before = json_array_size(p->d->findings);
    const uint64_t start = bench_now_ns();
    const double budget = p->d->options->budget, limit = budget > 0   ? budget
                                                         : budget < 0 ? HUGE_VAL
                                                                      : CHECK_SECONDS;
    double spent = 0;
    for (; i < count && !bench_interrupted && spent < limit; i++) {
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
                              "%.300s: only %zu of %zu operators and gradients were checked within %.0f s",
                              p->name, i, count, limit),
            "give it more with --budget, or run clbench verify -d %s", p->quoted);
    if (json_array_size(p->d->findings) == before)
        bench_doctor_find(p->d, BENCH_FINDING_OK, "results",
                          "%.300s: %zu operators and gradients computed right", p->name, right);
}

static bool ask_number(patient *p, const char *what, const char *key, double *value,
                       char reason[BENCH_REASON_TEXT])
{
    json_t *reply = NULL;
    snprintf(reason, BENCH_REASON_TEXT, "%s", p->husk.why);
    const bench_reply status = bench_contestant_revive(&p->husk)
                                   ? bench_process_call(&p->husk.process, json_pack("{s:s}", "do", what),
                                                        2 * p->d->patience, &reply, reason)
                                   : BENCH_REPLY_DIED;
    const bool good = bench_state_of_reply(status, reply, reason) == BENCH_STATE_OK;
    *value = json_number_value(json_object_get(reply, key));
    json_decref(reply);
    return good;
}

static void check_clock(patient *p)
{
    char reason[BENCH_REASON_TEXT];
    double ratio = 0;
    bench_progress_show("doctor: %.100s: its clock", p->name);
    const bool is_timed = ask_number(p, "trust", "ratio", &ratio, reason);
    if (bench_interrupted)
        return;
    if (!is_timed)
        bench_doctor_advise(bench_doctor_find(p->d, BENCH_FINDING_PROBLEM, "cannot_measure",
                                              "%.300s does not run a kernel of 60 ms: %.500s", p->name,
                                              reason),
                            "update the driver; a display's watchdog may end long kernels");
    else if (ratio <= 0)
        bench_doctor_find(p->d, BENCH_FINDING_NOTE, "no_events",
                          "%.300s times no events: profiles (husk_profile) will be empty", p->name);
    else if (ratio < 0.8 || ratio > 1.25)
        bench_doctor_advise(
            bench_doctor_find(p->d, BENCH_FINDING_NOTE, "clock_lies",
                              "%.300s: its event timer says %.2f times what the wall clock says", p->name,
                              ratio),
            "do not trust profiles of this device; clbench times by the wall clock");
    else
        bench_doctor_find(p->d, BENCH_FINDING_OK, "clock",
                          "%.300s: its event timer agrees with the wall clock (%.2f)", p->name, ratio);
}

static double median_of(const double *values, size_t count)
{
    double copy[MOST_RATES];
    memcpy(copy, values, count * sizeof *copy);
    return bench_median(copy, count);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void judge_speed(patient *p, double *rates, size_t count)
{
    const size_t third = count / 3;
    const double first = median_of(rates, third), last = median_of(rates + count - third, third);
    qsort(rates, count, sizeof *rates, by_value);
    const double best = rates[count * 9 / 10], usual = rates[count / 2];
    if (last < (1 - 2 * STEADY) * first)
        bench_doctor_advise(
            bench_doctor_find(
                p->d, BENCH_FINDING_NOTE, "slows_down",
                "%.300s: within %.0f s of work it falls from %.0f to %.0f GFLOP/s: it throttles, or other work began",
                p->name, STEADY_SECONDS, first, last),
            "look at temperature, power limit and governor, and measure with --rounds 5");
    else if (usual < (1 - STEADY) * best)
        bench_doctor_advise(
            bench_doctor_find(
                p->d, BENCH_FINDING_NOTE, "contended",
                "%.300s: half of the time it has at most %.0f%% of its best speed: other work runs on it",
                p->name, 100 * usual / best),
            "end the other work, or measure with --rounds 5: medians of a busy machine are of little worth");
    else
        bench_doctor_find(p->d, BENCH_FINDING_OK, "speed",
                          "%.300s: it holds its speed (%.0f GFLOP/s f32, within %.0f%%)", p->name, usual,
                          100 * (1 - usual / best));
}

static void check_speed(patient *p)
{
    static double rates[MOST_RATES];
    char reason[BENCH_REASON_TEXT];
    size_t count = 0;
    const uint64_t start = bench_now_ns();
    double spent = 0, rate = 0;
    while (spent < STEADY_SECONDS && count < MOST_RATES && !bench_interrupted &&
           ask_number(p, "sentinel", "gflops", &rate, reason)) {
        rates[count++] = rate;
        spent = (double)(bench_now_ns() - start) * 1e-9;
        bench_progress_show("doctor: %.100s: its speed, %.0f s left", p->name, STEADY_SECONDS - spent);
    }
    if (count >= 9)
        judge_speed(p, rates, count);
}

static void examine_device(bench_doctor *d, const char *wish)
{
    patient *p = calloc(1, sizeof *p);
    if (!p)
        return;
    p->d = d;
    snprintf(p->wish, sizeof p->wish, "%.127s", wish);
    bench_shell_word(p->wish, p->quoted, sizeof p->quoted);
    snprintf(p->name, sizeof p->name, "%.100s", wish);
    bench_progress_show("doctor: opening %s", wish);
    bench_contestant_start(&p->husk, "husk", p->wish, 1, NULL);
    if (bench_contestant_await(&p->husk, d->patience)) {
        const json_t *device = json_object_get(p->husk.hello, "device");
        snprintf(p->name, sizeof p->name, "%.100s %.180s", wish, bench_doctor_text(device, "name"));
        bench_clean_line(p->name);
        check_clock(p);
        check_results(p);
        check_speed(p);
    } else if (!bench_interrupted) {
        bench_doctor_advise(
            bench_doctor_find(d, BENCH_FINDING_PROBLEM, "device_unusable", "%.100s cannot be used: %.800s",
                              wish, p->husk.why),
            "update its driver, or keep it out of the way: -d and HUSK_DEVICE name another device");
    }
    bench_contestant_stop(&p->husk);
    free(p);
}

void bench_doctor_measure(bench_doctor *d)
{
    char text[64];
    size_t i;
    const json_t *device;
    for (i = 0; i < d->options->device_count && !bench_interrupted; i++)
        examine_device(d, d->options->devices[i]);
    json_array_foreach(d->devices, i, device)
    {
        const json_t *traits = json_object_get(device, "traits");
        // A simulator would take hours.
        if (d->options->device_count || bench_interrupted ||
            !strcmp(bench_doctor_text(traits, "class"), "simulator") ||
            !json_is_true(json_object_get(traits, "is_available")))
            continue;
        snprintf(text, sizeof text, "%lld:%lld",
                 (long long)json_integer_value(json_object_get(traits, "platform_index")),
                 (long long)json_integer_value(json_object_get(traits, "device_index")));
        examine_device(d, text);
    }
}
