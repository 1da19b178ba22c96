/* SPDX-License-Identifier: MIT */
/* bench/run/machine.h: a device as the library's choices see it, for people; and measuring it anew. */
#ifndef BENCH_RUN_MACHINE_H
#define BENCH_RUN_MACHINE_H

#include <jansson.h>

#include "cli/options.h"

/* Lines of clbench devices; machine is what bench/worker/machine.h makes. */
void bench_print_machine(const json_t *machine);

/* clbench calibrate. The exit code. */
int bench_command_calibrate(const bench_options *options);

#endif
