// SPDX-License-Identifier: MIT
// clbench doctor: what is wrong with a machine, and what to do about it.
#include "doctor/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "doctor/access.h"
#include "doctor/device.h"
#include "doctor/findings.h"
#include "doctor/host.h"
#include "doctor/icd.h"
#include "doctor/list.h"
#include "doctor/loader.h"
#include "doctor/machine.h"
#include "doctor/node.h"
#include "doctor/system.h"
#include "system/interrupt.h"
#include "system/process.h"
#include "system/terminal.h"

// ---- what people read ----

static size_t count_level(const bench_doctor *d, bench_finding_level level)
{
    size_t count = 0, i;
    const json_t *finding;
    json_array_foreach(d->findings, i, finding) count +=
        !strcmp(bench_text_of(finding, "level"), bench_finding_level_text(level));
    return count;
}

static void print_group(const bench_doctor *d, bench_finding_level level, const char *heading, bench_colour colour)
{
    size_t i;
    const json_t *finding;
    if (count_level(d, level))
        printf("%s%s%s\n", bench_colour_on(colour), heading, bench_colour_off());
    json_array_foreach(d->findings, i, finding)
    {
        const char *todo = bench_text_of(finding, "todo"), *again = bench_text_of(finding, "reproduce");
        if (strcmp(bench_text_of(finding, "level"), bench_finding_level_text(level)) != 0)
            continue;
        printf("  %s\n", bench_text_of(finding, "text"));
        if (todo[0])
            printf("      -> %s\n", todo);
        if (again[0])
            printf("      again: %s\n", again);
    }
}

static void write_verdict(const bench_doctor *d, char *text, size_t size)
{
    const size_t problems = count_level(d, BENCH_FINDING_PROBLEM), notes = count_level(d, BENCH_FINDING_NOTE);
    if (bench_interrupted)
        snprintf(text, size, "Interrupted: not everything was looked at.");
    else if (problems)
        snprintf(text, size, "%zu problem%s, %zu note%s.", problems, problems == 1 ? "" : "s", notes,
                 notes == 1 ? "" : "s");
    else if (notes)
        snprintf(text, size, "Nothing is wrong; %zu note%s.", notes, notes == 1 ? "" : "s");
    else
        snprintf(text, size, "Nothing is wrong.");
}

static void print_all(const bench_doctor *d, const char *verdict)
{
    if (!d->options->quiet)
        print_group(d, BENCH_FINDING_OK, "ok", BENCH_GOOD);
    print_group(d, BENCH_FINDING_NOTE, "notes", BENCH_WARN);
    print_group(d, BENCH_FINDING_PROBLEM, "problems", BENCH_BAD);
    printf("%s%s\n", json_array_size(d->findings) ? "\n" : "", verdict);
}

static void print_json(const bench_doctor *d, const char *verdict, int code)
{
    json_t *all =
        json_pack("{s:s, s:s, s:s, s:i, s:O, s:O, s:O, s:O, s:O}", "schema", "clbench-doctor/1", "husk_version",
                  husk_version(), "verdict", verdict, "exit_code", code, "findings", d->findings, "icds", d->icds,
                  "gpus", d->gpus, "device_files", d->nodes, "devices", d->devices);
    json_dumpf(all, stdout, JSON_INDENT(1) | JSON_ENSURE_ASCII); // no terminal obeys what files are called
    putchar('\n');
    json_decref(all);
}

static int exit_code(const bench_doctor *d)
{
    if (bench_interrupted)
        return bench_interrupted_exit();
    if (d->miscounted)
        return BENCH_EXIT_VERIFICATION;
    if (json_array_size(d->devices) == 0 || d->unfit)
        return BENCH_EXIT_NO_DEVICE;
    return count_level(d, BENCH_FINDING_PROBLEM) ? BENCH_EXIT_ERROR : BENCH_EXIT_OK;
}

// ---- the order ----

static bool is_in_container(const bench_doctor *d)
{
    return bench_doctor_exists(d, "/.dockerenv") || bench_doctor_exists(d, "/run/.containerenv") ||
           (!*d->root && (getenv("container") || getenv("KUBERNETES_SERVICE_HOST")));
}

static void examine(bench_doctor *d)
{
    bench_doctor_loader(d);
    // What a test's folder registers is what the workers are to meet.
    if (*d->root && !getenv("OCL_ICD_VENDORS"))
        setenv("OCL_ICD_VENDORS", d->vendors, 1);
    bench_doctor_icds(d);
    bench_doctor_devices(d);
    bench_doctor_nodes(d);
    if (!bench_interrupted) // a list that was not waited for lacks every GPU
        bench_doctor_system(d);
    bench_doctor_host(d);
    if (!d->options->quick)
        bench_doctor_measure(d);
    bench_doctor_tidy(d);
    bench_progress_clear();
}

int bench_command_doctor(const bench_options *options)
{
    const char *root = getenv("HUSK_DOCTOR_ROOT");
    char verdict[200];
    bench_doctor d = {
        .options = options,
        .root = root ? root : "",
        .patience = options->max_time,
        .findings = json_array(),
        .icds = json_array(),
        .devices = json_array(),
        .gpus = json_array(),
        .nodes = json_array(),
    };
    bench_progress_start(options->quiet);
    bench_catch_interrupt();
    bench_doctor_take_user(&d);
    d.in_container = is_in_container(&d);
    examine(&d);
    write_verdict(&d, verdict, sizeof verdict);
    const int code = exit_code(&d);
    if (options->json)
        print_json(&d, verdict, code);
    else
        print_all(&d, verdict);
    json_decref(d.findings);
    json_decref(d.icds);
    json_decref(d.devices);
    json_decref(d.gpus);
    json_decref(d.nodes);
    return code;
}
