/* SPDX-License-Identifier: MIT */
/*
 * bench/record/resume.h: a run that was ended, from its file. What was asked for stands in the document ("run"), so
 * that nothing has to be said again; what may have changed in between, the device, its driver, Husk, rivals and
 * variables, is compared.
 */
#ifndef BENCH_RECORD_RESUME_H
#define BENCH_RECORD_RESUME_H

#include <jansson.h>

#include "cases/suite.h"
#include "cli/options.h"

/* What was asked for, as the document has it. */
json_t *bench_resume_describe(const bench_options *options, const bench_suite *suite);

/*
 * Read the document at options->resume_path and take options and suite from it; their texts belong to the document.
 * False: reason says why it cannot be gone on with.
 */
bool bench_resume_load(bench_options *options, bench_suite *suite, json_t **document, char reason[BENCH_REASON_TEXT]);

/* The same of a document that was read. */
bool bench_resume_take(const json_t *document, bench_options *options, bench_suite *suite,
                       char reason[BENCH_REASON_TEXT]);

/*
 * Whether rows from this device may stand beside those of the document's index-th, and what is measured on this host
 * beside what the document has from its own: a CPU's rows, and baselines.
 */
bool bench_resume_same_device(const json_t *document, size_t index, const json_t *device,
                              char reason[BENCH_REASON_TEXT]);

/* Whether rows of these kernels (a hash; "": unknown) may stand beside those of the document's index-th device. */
bool bench_resume_same_kernels(const json_t *document, size_t index, const char *kernels,
                               char reason[BENCH_REASON_TEXT]);

/* Whether a baseline of this version may stand beside what that device's rows have of it. */
bool bench_resume_same_baseline(const json_t *document, size_t index, const char *name, const char *version,
                                char reason[BENCH_REASON_TEXT]);

/*
 * When a run that goes on begins, in seconds since the first one did: some minutes behind all that was measured, since
 * nobody knows how fast the machine was in between.
 */
double bench_resume_clock(const json_t *rows);

/* A row that needs no measuring: it came to a result, in as many rounds as were asked for. */
bool bench_resume_is_whole(const json_t *row, int64_t rounds);

#endif
