// SPDX-License-Identifier: MIT
// Devices: whether the driver of a CPU binds its threads. clbench has it do so for its own workers (os/child.c), so
// this is asked in a process that has not: what is said is said of other programs.
#include "doctor/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "system/host.h"
#include "system/process.h"
#include "system/terminal.h"

static bool leaves_threads_unbound(const bench_patient *p)
{
    bench_process process;
    char reason[BENCH_REASON_TEXT];
    json_t *reply = NULL;
    const char *arguments[] = {"clbench", BENCH_PROBE_ARGUMENT, "threads", p->preference, NULL};
    static const char *const as_by_default[] = {"POCL_AFFINITY", "0", NULL};
    if (!bench_process_start(&process, arguments, getenv("POCL_AFFINITY") ? NULL : as_by_default, reason))
        return false;
    snprintf(process.who, sizeof process.who, "a driver");
    const bool is_known = bench_process_receive(&process, p->d->patience, &reply, reason) == BENCH_REPLY_OK;
    const bool are_unbound = is_known && json_is_true(json_object_get(reply, "unbound"));
    json_decref(reply);
    bench_process_stop(&process);
    return are_unbound;
}

void bench_doctor_threads(bench_patient *p)
{
    const json_t *device = json_object_get(p->husk.hello, "device");
    bench_progress_show("doctor: %.100s: its threads", p->name);
    if (!leaves_threads_unbound(p))
        return;
    const bool is_pocl = strstr(bench_text_of(device, "platform"), "Portable Computing Language");
    bench_doctor_advise(
        bench_doctor_find(p->d, BENCH_FINDING_NOTE, "threads_unbound",
                          "%.300s: the driver does not bind its threads, so two may share a processor while another "
                          "is idle, and programs may be half as fast at random (clbench binds them for itself)",
                          p->name),
        "programs that embed Husk can call husk_context_bind_threads%s",
        is_pocl && bench_host_begins_at_0() ? "; others can be started with POCL_AFFINITY=1" : "");
}
