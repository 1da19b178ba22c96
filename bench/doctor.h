/* SPDX-License-Identifier: MIT */
/*
 * bench/doctor.h: the inside of `clbench doctor`, for its own files: what was found, in groups, each a sentence with
 * what to do about it.
 *
 *     doctor.c          the command: its order, what it prints, what it leaves with
 *     doctor_loader.c   OpenCL loaders, and the variables that lead them
 *     doctor_icd.c      the drivers that are registered: each loaded and listed in a process of its own
 *     doctor_system.c   GPUs that the system has without an OpenCL device, and why
 *     doctor_access.c   device files, and whose they are
 *     doctor_host.c     what the process may use, cache folders, variables
 *     doctor_device.c   devices: results, clocks, and whether they hold their speed
 *     doctor_probe.c    what runs in those processes
 *
 * For tests alone: HUSK_DOCTOR_ROOT is a folder that stands for / where /sys, /dev, /proc, /etc and /usr are looked at,
 * and HUSK_DOCTOR_USER=UID:GID,GID... whose rights are looked at. Neither changes what the devices do.
 */
#ifndef BENCH_DOCTOR_H
#define BENCH_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli.h"
#include "text.h"

#define BENCH_PROBE_ARGUMENT "--probe" /* clbench --probe icd LIBRARY, clbench --probe devices WISH */
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
    double patience;   /* seconds a driver is waited for */
    json_t *findings;  /* [{level, id, text, todo, reproduce}] */
    json_t *icds;      /* [{file, library, state, reason, platforms[{name, devices}]}] */
    json_t *devices;   /* as bench_device_json */
    json_t *gpus;      /* that the system shows: [{where, vendor, id, driver, served}] */
    size_t miscounted; /* results that were wrong */
    char sound[64];    /* a folder that registers the sound drivers alone, beside broken ones; "": none */
} bench_doctor;

/* Add a finding: one sentence. The result is borrowed, for what follows. */
json_t *bench_doctor_find(bench_doctor *d, bench_finding_level level, const char *id, const char *format, ...)
    BENCH_PRINTF(4, 5);
/* What to do about it. */
void bench_doctor_advise(json_t *finding, const char *format, ...) BENCH_PRINTF(2, 3);

/* A path on the machine that is looked at, and a file's text there: malloc'ed, NULL where it cannot be read. */
void bench_doctor_path(const bench_doctor *d, char path[BENCH_DOCTOR_PATH], const char *format, ...)
    BENCH_PRINTF(3, 4);
char *bench_doctor_read(const bench_doctor *d, const char *path, size_t *size);
bool bench_doctor_exists(const bench_doctor *d, const char *path);
/* A member of an object as text; "" where there is none. */
const char *bench_doctor_text(const json_t *object, const char *key);

/* doctor_access.c: whose rights count; whether they open a device file; "crw-rw---- root:render". */
void bench_doctor_take_user(bench_doctor *d);
bool bench_doctor_may_open(const bench_doctor *d, const char *path);
/* Device files of GPUs that are closed to the user: how many, each group of them a finding. */
size_t bench_doctor_closed_files(bench_doctor *d);
/* A folder of Husk's: whether files can be kept there. A private one is neither a link nor open to others' writing. */
void bench_doctor_folder(bench_doctor *d, const char *variable, const char *below_home, const char *what,
                         bool must_be_private);

/* The examinations, in this order. */
void bench_doctor_loader(bench_doctor *d);
void bench_doctor_icds(bench_doctor *d);
void bench_doctor_devices(bench_doctor *d); /* lists them */
void bench_doctor_system(bench_doctor *d);
void bench_doctor_host(bench_doctor *d);
void bench_doctor_measure(bench_doctor *d); /* results, clock and speed of each */

/* Remove what it has made. */
void bench_doctor_tidy(const bench_doctor *d);

/* The folder in which drivers are registered, as the loader is told; "" where a variable names a single file. */
const char *bench_doctor_vendors(const bench_doctor *d);
/* "NVIDIA", "AMD", "Intel" or "" for a driver's library, and the packages that have it or the vendor's; "" unknown. */
const char *bench_doctor_vendor_of(const char *library);
const char *bench_doctor_packages(const char *library);

/* doctor_probe.c: in the child. The exit code of the process. */
int bench_doctor_probe(const char *what, const char *argument);

#endif
