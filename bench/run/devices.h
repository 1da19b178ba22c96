/* SPDX-License-Identifier: MIT */
/* bench/run/devices.h: clbench devices. */
#ifndef BENCH_RUN_DEVICES_H
#define BENCH_RUN_DEVICES_H

#include "cli/options.h"

/* The exit code. */
int bench_command_devices(const bench_options *options);

#endif
