/* SPDX-License-Identifier: MIT */
/* bench/verify/kernel_devices.h: the devices that described kernels are verified on, and those that have to be here. */
#ifndef BENCH_VERIFY_KERNEL_DEVICES_H
#define BENCH_VERIFY_KERNEL_DEVICES_H

#include <jansson.h>

#include "cli/options.h"
#include "common/text.h"

enum { BENCH_SIMULATOR_VARIABLES = 16 };

/*
 * What a worker's environment needs to find Oclgrind, whose packages register it nowhere, and to hear of what it finds:
 * races and uninitialised values as well, in a file. Others are the same with it.
 */
typedef struct bench_simulator {
    char library[300]; /* "": it is not installed */
    char folder[64]; /* "": none can be made, and nobody hears what it finds */
    char log[80]; /* in it */
    const char *environment[2 * BENCH_SIMULATOR_VARIABLES + 1];
} bench_simulator;

void bench_simulator_begin(bench_simulator *simulator);
void bench_simulator_end(bench_simulator *simulator);
/* Whether a preference means Oclgrind where no driver of that name is registered. */
bool bench_simulator_is_meant(const bench_simulator *simulator, const char *preference);

/*
 * -d all becomes every device that is usable, simulators among them; --require without -d becomes the devices that it
 * names, as far as they are here.
 */
void bench_kernel_devices(bench_options *options, const bench_simulator *simulator);

/* Whether a device, as its worker describes it, or its platform is what the name says: pocl, oclgrind, part of one. */
bool bench_device_is_called(const json_t *device, const char *name);

#endif
