/* SPDX-License-Identifier: MIT */
/* bench/run/select.h: what the command line selects: cases and devices. */
#ifndef BENCH_RUN_SELECT_H
#define BENCH_RUN_SELECT_H

#include "cases/suite.h"
#include "cli/options.h"
#include "measure/runner_process.h"

/* The cases that the options name: positional ones, a file, a suite, or fallback. False: reason. */
bool bench_select_cases(const bench_options *options, const char *fallback, bench_suite *suite,
                        char reason[BENCH_REASON_TEXT]);

/* --variant: a name that some of the cases' operators have, with a configuration of its menu or none; or all. */
bool bench_check_variant(const char *variant, const bench_suite *suite, char reason[BENCH_REASON_TEXT]);

/*
 * The preference that -d or -p stand for; NULL: none. buffer is where it may be written: of a platform's number the one
 * of its devices that is the default, for which they are listed.
 */
const char *bench_device_preference(const bench_options *options, size_t index, char buffer[64]);

/* "all" among the preferences becomes every device that is usable, simulators left out. */
void bench_expand_devices(bench_options *options);
bool bench_is_usual_device(const json_t *device);

/*
 * Devices and notes, listed by a process of its own, in which none is opened; is_default is the one that the preference
 * chooses (NULL: the default), and unfit says why none does.
 */
bench_reply bench_list_devices(const char *preference, double seconds, json_t **reply, char reason[BENCH_REASON_TEXT]);
/* To be read before all else: a GPU that the system has and OpenCL does not show; other warnings go to stderr. */
void bench_print_notes(const json_t *notes);

/*
 * Start husk's worker on a device; environment: as bench_runner_process_start's. BENCH_EXIT_OK, or
 * BENCH_EXIT_NO_DEVICE or BENCH_EXIT_ERROR after saying why on stderr. A GPU that is present but not usable is said on
 * stdout, before anything else. seconds: as in await.
 */
int bench_open_husk(bench_runner_process *husk, const char *preference, const char *const *environment, double seconds);

#endif
