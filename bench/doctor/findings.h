/* SPDX-License-Identifier: MIT */
/*
 * bench/doctor/findings.h: what the doctor knows of a machine, and has found: in groups, each a sentence with what to
 * do about it.
 */
#ifndef BENCH_DOCTOR_FINDINGS_H
#define BENCH_DOCTOR_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/options.h"
#include "common/text.h"

#define BENCH_DOCTOR_PATH    1024
#define BENCH_DOCTOR_GROUPS  64

typedef enum bench_finding_level {
    BENCH_FINDING_OK,
    BENCH_FINDING_NOTE,   /* worth knowing; nothing is wrong */
    BENCH_FINDING_PROBLEM /* something is wrong, and can be mended */
} bench_finding_level;

typedef struct bench_doctor {
    const bench_options *options;
    const char *root; /* "" for this machine */
    uid_t user;
    gid_t groups[BENCH_DOCTOR_GROUPS];
    size_t group_count;
    bool in_container;
    double patience;                 /* seconds a driver is waited for */
    json_t *findings;                /* [{level, id, text, todo, reproduce}] */
    json_t *icds;                    /* [{file, library, variable, state, platforms[{name, devices}]}] */
    json_t *devices;                 /* as bench_device_json, with is_examined */
    json_t *gpus;                    /* that the system shows: [{where, vendor, id, driver, served}] */
    json_t *nodes;                   /* device files: [{path, mode, owner, error}], errno of opening it */
    size_t unfit;                    /* preferences (-d) that fit no device */
    size_t miscounted;               /* results that were wrong */
    char vendors[BENCH_DOCTOR_PATH]; /* where the user has drivers registered */
    char sound[64]; /* a folder that registers the sound drivers alone, beside broken ones; "": none */
} bench_doctor;

/* "ok", "note", "problem" */
const char *bench_finding_level_text(bench_finding_level level);

/* Add a finding: one sentence. The result is borrowed, for what follows. */
json_t *bench_doctor_find(bench_doctor *d, bench_finding_level level, const char *id, const char *format, ...)
    BENCH_PRINTF(4, 5);
/* What to do about it. */
void bench_doctor_advise(json_t *finding, const char *format, ...) BENCH_PRINTF(2, 3);

#endif
