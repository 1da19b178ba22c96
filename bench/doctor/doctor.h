/* SPDX-License-Identifier: MIT */
/*
 * bench/doctor/doctor.h: the inside of `clbench doctor`, for its own files: what was found, in groups, each a
 * sentence with what to do about it.
 *
 *     doctor.c   the command: its order, what it prints, what it leaves with
 *     loader.c   OpenCL loaders, and the variables that lead them
 *     icd.c      the drivers that are registered: each loaded and listed in a process of its own
 *     system.c   GPUs that the system has without an OpenCL device, and why
 *     node.c     device files, and whether they open
 *     access.c   whose rights count, and whose Husk's folders are
 *     host.c     what the process may use, cache folders, variables
 *     list.c     devices: which OpenCL lists, and which are meant
 *     device.c   devices: results and clocks
 *     speed.c    devices: whether they hold their speed
 *     threads.c  devices: whether a CPU's driver binds its threads
 *     probe.c    what runs in those processes
 *
 * For tests alone: HUSK_DOCTOR_ROOT is a folder that stands for / where /sys, /dev, /proc, /etc and /usr are looked at,
 * and HUSK_DOCTOR_USER=UID:GID,GID... whose rights are looked at. Neither changes what the devices do.
 */
#ifndef BENCH_DOCTOR_DOCTOR_H
#define BENCH_DOCTOR_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "cli/options.h"
#include "common/text.h"
#include "measure/contestant.h"

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
    size_t unfit;                    /* wishes (-d) that fit no device */
    size_t miscounted;               /* results that were wrong */
    char vendors[BENCH_DOCTOR_PATH]; /* where the user has drivers registered */
    char sound[64]; /* a folder that registers the sound drivers alone, beside broken ones; "": none */
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
/* access.c: whose rights count. In a probe: become that user; false: that is not allowed. */
void bench_doctor_take_user(bench_doctor *d);
bool bench_doctor_is_in_group(const bench_doctor *d, gid_t group);
bool bench_doctor_become_user(void);
/* node.c: whether there is a file of that name, or of that name and a number. */
bool bench_doctor_has_node(const bench_doctor *d, const char *name, bool numbered);
/* What can be opened, and, where a GPU is missed, what cannot: how many of GPUs those are. */
size_t bench_doctor_tell_nodes(bench_doctor *d, bool is_missed);
/* A finding: what opening the file, or several alike, ended with, by errno. */
void bench_doctor_tell_node(bench_doctor *d, const char *paths, const struct stat *status, int error);
/* A folder of Husk's: whether files can be kept there. A private one is neither a link nor open to others' writing. */
void bench_doctor_folder(bench_doctor *d, const char *variable, const char *below_home, const char *what,
                         bool must_be_private);

/* "0000:03:00.0", "03:00.0", "00000000:03:00.0": the same card. */
bool bench_doctor_same_address(const char *a, const char *b);

/* The examinations, in this order. */
void bench_doctor_loader(bench_doctor *d);
void bench_doctor_icds(bench_doctor *d);
void bench_doctor_devices(bench_doctor *d); /* lists them */
void bench_doctor_nodes(bench_doctor *d);   /* opens device files */
void bench_doctor_system(bench_doctor *d);
void bench_doctor_host(bench_doctor *d);
void bench_doctor_measure(bench_doctor *d); /* results, clock and speed of each */

/* ---- one device ---- */

typedef struct bench_patient {
    bench_doctor *d;
    bench_contestant husk;
    char name[300], wish[128]; /* "0:0 NAME", and what -d takes */
    char quoted[4 * 128];      /* that, as a shell takes it */
} bench_patient;

/* Ask its worker for a number; false: reason. */
bool bench_doctor_ask(bench_patient *p, const char *what, const char *key, double *value,
                      char reason[BENCH_REASON_TEXT]);

/* Seconds for which it is kept busy, and those that its operators are given: HUGE_VAL for no limit. */
double bench_doctor_heat_seconds(const bench_options *options);
double bench_doctor_check_seconds(const bench_options *options);

/* Keep it busy, and say whether it becomes slower. */
void bench_doctor_heat(bench_patient *p);

/* Say whether its threads are left unbound. */
void bench_doctor_threads(bench_patient *p);

/* What rates say that were taken at times, seconds from the start on, of a device that was busy for so long. */
typedef struct bench_speed {
    double first, last; /* of the first and the last fifth of the time */
    double change;      /* last over first, less one */
    double noise;       /* half of its 95% interval */
    double least;       /* what of a fall is left at that interval's end; negative: none is sure */
    double usual, best; /* of 25 parts of the time: the median, and what a tenth is above */
    bool slows, is_contended;
} bench_speed;
/* False: there are too few for that. */
bool bench_doctor_judge_speed(const double *rates, const double *times, size_t count, double seconds,
                              bench_speed *speed);

/* Remove what it has made. */
void bench_doctor_tidy(const bench_doctor *d);

/* "NVIDIA", "AMD", "Intel" or "" for a driver's library, and the packages that have it or the vendor's; "" unknown. */
const char *bench_doctor_vendor_of(const char *library);
const char *bench_doctor_packages(const char *library);

/* probe.c: in the child. The exit code of the process. */
int bench_doctor_probe(const char *what, const char *argument);

/* clbench doctor. The exit code. */
int bench_command_doctor(const bench_options *options);

#endif
