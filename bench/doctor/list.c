// SPDX-License-Identifier: MIT
// Devices: which OpenCL lists, without the drivers that break the list, and which of them are meant.
#include "doctor/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "doctor/address.h"
#include "system/child.h"
#include "system/interrupt.h"
#include "system/process.h"
#include "system/temporary.h"
#include "system/terminal.h"

static void tell_same_card(bench_doctor *d, const json_t *a, const json_t *b)
{
    const json_t *ta = json_object_get(a, "traits"), *tb = json_object_get(b, "traits");
    const char *address = bench_text_of(ta, "pci_address");
    if (!bench_doctor_same_address(address, bench_text_of(tb, "pci_address")))
        return;
    // A driver that does not tell the domain may say the same of several.
    if (json_equal(json_object_get(ta, "platform_index"), json_object_get(tb, "platform_index")) &&
        !strstr(bench_text_of(ta, "extensions"), "cl_khr_pci_bus_info"))
        return;
    bench_doctor_advise(
        bench_doctor_find(
            d, BENCH_FINDING_NOTE, "same_card",
            "%lld:%lld (%.100s) and %lld:%lld (%.100s) are the same card, at PCI address %s",
            (long long)json_integer_value(json_object_get(ta, "platform_index")),
            (long long)json_integer_value(json_object_get(ta, "device_index")), bench_text_of(a, "platform"),
            (long long)json_integer_value(json_object_get(tb, "platform_index")),
            (long long)json_integer_value(json_object_get(tb, "device_index")), bench_text_of(b, "platform"), address),
        "say which is meant with -d, and do not count it twice");
}

static void tell_device(bench_doctor *d, const json_t *device)
{
    const json_t *traits = json_object_get(device, "traits");
    const bool is_available = json_is_true(json_object_get(traits, "is_available"));
    json_t *finding = bench_doctor_find(
        d, is_available ? BENCH_FINDING_OK : BENCH_FINDING_PROBLEM, is_available ? "device" : "device_unavailable",
        "%lld:%lld %.200s (%s, %.200s)%s", (long long)json_integer_value(json_object_get(traits, "platform_index")),
        (long long)json_integer_value(json_object_get(traits, "device_index")), bench_text_of(device, "name"),
        bench_text_of(traits, "class"), bench_text_of(device, "platform"),
        is_available ? "" : " says that it is not available");
    if (!is_available)
        bench_doctor_advise(finding,
                            "another program may have it alone, or it has failed: dmesg, or restart the machine");
}

// Those that are meant, where some are.
static void tell_devices(bench_doctor *d)
{
    size_t i;
    const json_t *device;
    json_array_foreach(d->devices, i, device)
    {
        if (!d->options->device_count || json_is_true(json_object_get(device, "is_examined")))
            tell_device(d, device);
        for (size_t k = 0; k < i; k++)
            tell_same_card(d, json_array_get(d->devices, k), device);
    }
}

// What the library had to say about the list, but for drivers, which have been looked at one by one.
#define PLATFORM_EMPTY "platform_empty" // a finding's name

static void tell_notes(bench_doctor *d, const json_t *notes)
{
    size_t i;
    const json_t *note;
    json_array_foreach(notes, i, note)
    {
        const char *text = bench_text_of(note, "text"), *todo = strstr(text, ". Set ");
        if (strcmp(bench_text_of(note, "kind"), "warning") != 0 || strstr(text, ".icd"))
            continue;
        if (strstr(text, "has no device") && todo) // a driver that is there, and what keeps it from having one
            bench_doctor_advise(
                bench_doctor_find(d, BENCH_FINDING_PROBLEM, PLATFORM_EMPTY, "%.*s", (int)(todo - text), text),
                "set %.400s", todo + strlen(". Set "));
        else
            bench_doctor_find(d, BENCH_FINDING_NOTE, "list_note", "%.900s", text);
    }
}

static bool has_finding(const bench_doctor *d, const char *id)
{
    size_t i;
    const json_t *finding;
    json_array_foreach(d->findings, i, finding)
    {
        if (!strcmp(bench_text_of(finding, "id"), id))
            return true;
    }
    return false;
}

// Which device the preference chooses is in it, too.
static bench_reply probe_devices(const bench_doctor *d, const char *preference, json_t **reply,
                                 char reason[BENCH_REASON_TEXT])
{
    bench_process process;
    const char *arguments[] = {"clbench", BENCH_PROBE_ARGUMENT, "devices", preference, NULL};
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
    return !strcmp(bench_text_of(icd, "state"), "ok");
}

// A folder that registers the sound drivers alone, so that the others keep nobody from looking at these.
static void leave_out_broken(bench_doctor *d)
{
    size_t i;
    const json_t *icd;
    char reason[BENCH_REASON_TEXT];
    if (!bench_temporary_folder(d->sound, sizeof d->sound, reason)) {
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
        fprintf(file, "%s\n", bench_text_of(icd, "library"));
        fclose(file);
    }
    unsetenv("OCL_ICD_FILENAMES");
    setenv("OCL_ICD_VENDORS", d->sound, 1);
}

void bench_doctor_tidy(const bench_doctor *d)
{
    bench_temporary_remove(d->sound);
}

static bool has_broken(const bench_doctor *d)
{
    size_t i;
    const json_t *icd;
    json_array_foreach(d->icds, i, icd)
    {
        const char *state = bench_text_of(icd, "state");
        if (!strcmp(state, "crashes") || !strcmp(state, "hangs"))
            return true;
    }
    return false;
}

static void tell_failure(bench_doctor *d, bench_reply status, const json_t *reply, const char *reason)
{
    char todo[600];
    // As the user has it, whatever was left out.
    snprintf(todo, sizeof todo,
             "register drivers one at a time (OCL_ICD_VENDORS=FILE, for the files of %.400s) to see "
             "which",
             d->vendors);
    if (status == BENCH_REPLY_OK)
        bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_PROBLEM, "listing_fails",
                                              "listing all devices fails: %.800s", bench_text_of(reply, "reason")),
                            "%s", todo);
    else
        bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_PROBLEM,
                                              status == BENCH_REPLY_TIMEOUT ? "listing_hangs" : "listing_crashes",
                                              "listing all devices at once fails: %.800s", reason),
                            "%s, and update it", todo);
}

// "0:0 NAME, 1:0 NAME".
static void format_choice(const bench_doctor *d, char text[900])
{
    size_t i;
    const json_t *device;
    text[0] = '\0';
    json_array_foreach(d->devices, i, device)
    {
        const json_t *traits = json_object_get(device, "traits");
        bench_append(text, 900, "%s%lld:%lld (%.100s)", i ? ", " : "",
                     (long long)json_integer_value(json_object_get(traits, "platform_index")),
                     (long long)json_integer_value(json_object_get(traits, "device_index")),
                     bench_text_of(device, "name"));
    }
}

// What a preference chooses of the reply to it is to be examined.
static void choose(bench_doctor *d, const char *preference, const json_t *reply)
{
    char choice[900];
    size_t i, chosen = 0;
    const json_t *device;
    json_array_foreach(json_object_get(reply, "devices"), i, device)
    {
        if (!json_is_true(json_object_get(device, "is_default")))
            continue;
        json_object_set_new(json_array_get(d->devices, i), "is_examined", json_true());
        chosen++;
    }
    if (chosen)
        return;
    d->unfit++;
    format_choice(d, choice);
    json_t *finding =
        bench_doctor_find(d, BENCH_FINDING_PROBLEM, "no_such_device", "-d %.200s fits no device", preference);
    if (choice[0])
        bench_doctor_advise(finding, "let -d name one of these: %s", choice);
    else
        bench_doctor_advise(finding, "there is none at all: see the other findings");
}

// Programs that name no device meet this one's preference.
static void examine_variable(bench_doctor *d, const json_t *reply)
{
    char choice[900];
    const char *preference = getenv("HUSK_DEVICE");
    if (!preference || !*preference || !bench_text_of(reply, "unfit")[0] || json_array_size(d->devices) == 0)
        return;
    format_choice(d, choice);
    bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_PROBLEM, "variable_unfit",
                                          "HUSK_DEVICE=%.200s fits no device, so that programs find none", preference),
                        "unset HUSK_DEVICE, or let it name one of these: %s", choice);
}

// Without a preference all that is available, but for simulators, which would take hours.
static void choose_all(bench_doctor *d)
{
    size_t i;
    json_t *device;
    json_array_foreach(d->devices, i, device)
    {
        const json_t *traits = json_object_get(device, "traits");
        const bool is_usable = strcmp(bench_text_of(traits, "class"), "simulator") != 0 &&
                               json_is_true(json_object_get(traits, "is_available"));
        json_object_set_new(device, "is_examined", json_boolean(is_usable && !d->options->device_count));
    }
}

// Lists them for a preference; the list itself is taken from the first answer, that to "". False: there is no list.
static bool list_for(bench_doctor *d, const char *preference)
{
    char reason[BENCH_REASON_TEXT] = "";
    json_t *reply = NULL;
    const bench_reply status = probe_devices(d, preference, &reply, reason);
    const bool is_listed = status == BENCH_REPLY_OK && !strcmp(bench_text_of(reply, "answer"), "ok");
    const bool is_empty = status == BENCH_REPLY_OK && !strcmp(bench_text_of(reply, "stage"), "HUSK_NO_PLATFORM");
    if (bench_interrupted) {
        json_decref(reply);
        return false;
    }
    if (!is_listed && !is_empty) // that there is no platform is said with the drivers
        tell_failure(d, status, reply, reason);
    else if (*preference)
        choose(d, preference, reply);
    else if (is_listed) {
        json_array_extend(d->devices, json_object_get(reply, "devices"));
        choose_all(d);
        tell_notes(d, json_object_get(reply, "notes"));
        examine_variable(d, reply);
    }
    json_decref(reply);
    return is_listed || is_empty;
}

// A loader may find drivers where this program does not look: with devices, no file is no problem.
static void soften_missing_files(bench_doctor *d)
{
    size_t i;
    json_t *finding;
    json_array_foreach(d->findings, i, finding)
    {
        if (!strcmp(bench_text_of(finding, "id"), "no_icd"))
            json_object_set_new(finding, "level", json_string("note"));
    }
}

void bench_doctor_devices(bench_doctor *d)
{
    if (has_broken(d))
        leave_out_broken(d);
    bench_progress_show("doctor: listing devices");
    bool is_listed = list_for(d, "");
    for (size_t i = 0; i < d->options->device_count && is_listed; i++)
        is_listed = list_for(d, d->options->devices[i]);
    tell_devices(d);
    if (json_array_size(d->devices) > 0)
        soften_missing_files(d);
    if (json_array_size(d->devices) == 0 && is_listed)
        bench_doctor_advise(
            bench_doctor_find(d, BENCH_FINDING_PROBLEM, "no_device", "there is no OpenCL device"), "%s",
            has_finding(d, PLATFORM_EMPTY)
                ? "the driver for the CPU is installed; what keeps it from having a device is said above"
                : "for the CPU: apt-get install pocl-opencl-icd (Debian, Ubuntu), dnf install pocl (Fedora), pacman -S "
                  "pocl (Arch)");
}
