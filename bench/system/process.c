// SPDX-License-Identifier: MIT
#include "system/process.h"

#include "system/crash.h"

bench_reply bench_process_receive(bench_process *process, double seconds, json_t **reply,
                                  char reason[BENCH_REASON_TEXT])
{
    int status;
    const bench_reply answer = bench_child_receive(process, seconds, reply, &status, reason);
    if (status != BENCH_STATUS_NONE) {
        bench_crash_tell(process, status, seconds, reason);
        bench_child_forget(process);
    }
    return answer;
}

bench_reply bench_process_call(bench_process *process, json_t *request, double seconds, json_t **reply,
                               char reason[BENCH_REASON_TEXT])
{
    // When the send fails the worker has died; receive finds out how.
    bench_process_send(process, request);
    return bench_process_receive(process, seconds, reply, reason);
}
