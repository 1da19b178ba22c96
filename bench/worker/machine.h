/* SPDX-License-Identifier: MIT */
/* bench/worker/machine.h: a device as the library's choices see it (husk/machine.h), for the parent process. */
#ifndef BENCH_WORKER_MACHINE_H
#define BENCH_WORKER_MACHINE_H

#include <jansson.h>

#include <husk/machine.h>

#include "common/text.h"

/* Every member by its name, the typical rates left out; "measured" says whether rates were. */
json_t *bench_machine_json(const husk_machine *machine);
/* Measured anew, and kept: NULL where that fails. reason also says where only keeping it did. */
json_t *bench_machine_calibrate(husk_context *context, char reason[BENCH_REASON_TEXT]);

#endif
