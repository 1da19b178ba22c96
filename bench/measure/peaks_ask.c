// SPDX-License-Identifier: MIT
// A device's peaks as the parent process asks for them: part by part, so that it can say how far it is.
#include "measure/peaks_ask.h"

#include "measure/row.h"

size_t bench_peaks_steps(bool quick, double *seconds)
{
    double own;
    size_t count = 0;
    *seconds = 0;
    while (bench_peaks_part(count, quick, &own)) {
        *seconds += own;
        count++;
    }
    return count;
}

json_t *bench_peaks_ask(bench_process *husk, const char *name, const bench_peaks_request *preference, double seconds,
                        bench_steps *steps, char reason[BENCH_REASON_TEXT])
{
    json_t *reply = NULL;
    const char *part;
    double usual;
    bool good = true;
    for (int i = 0; good && (part = bench_peaks_part((size_t)i, preference->quick, &usual)); i++) {
        bench_steps_next(steps, usual, "%s: measuring %s", name, part);
        json_decref(reply);
        const bench_reply status =
            bench_process_call(husk,
                               json_pack("{s:s, s:b, s:i, s:i}", "do", "peaks", "quick", preference->quick, "wanted",
                                         (int)(preference->arithmetic & 0xffff), "part", i),
                               seconds, &reply, reason);
        good = bench_state_of_reply(status, reply, reason) == BENCH_STATE_OK;
    }
    if (good)
        json_object_del(reply, "answer");
    else
        json_decref(reply);
    return good ? reply : NULL;
}
