// SPDX-License-Identifier: MIT
#include "doctor/patient.h"

#include <stdio.h>

#include "measure/row.h"
#include "system/process.h"

bool bench_doctor_ask(bench_patient *p, const char *what, const char *key, double *value,
                      char reason[BENCH_REASON_TEXT])
{
    json_t *reply = NULL;
    snprintf(reason, BENCH_REASON_TEXT, "%s", p->husk.why);
    const bench_reply status =
        bench_runner_process_revive(&p->husk)
            ? bench_process_call(&p->husk.process, json_pack("{s:s}", "do", what), 2 * p->d->patience, &reply, reason)
            : BENCH_REPLY_DIED;
    const bool good = bench_state_of_reply(status, reply, reason) == BENCH_STATE_OK;
    *value = json_number_value(json_object_get(reply, key));
    json_decref(reply);
    return good;
}
