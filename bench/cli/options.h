/* SPDX-License-Identifier: MIT */
/*
 * bench/cli/options.h: the command line. One table holds every command and option (bench/cli/table.h): parsing, the
 * help text, the spelling help, the manual's page and the completions come from it.
 */
#ifndef BENCH_CLI_OPTIONS_H
#define BENCH_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cases/case.h"

/* What clbench leaves with. */
enum {
    BENCH_EXIT_OK = 0,
    BENCH_EXIT_ERROR = 1,
    BENCH_EXIT_USAGE = 2,
    BENCH_EXIT_VERIFICATION = 3,
    BENCH_EXIT_REGRESSION = 4,
    BENCH_EXIT_AMBIGUOUS = 5,
    BENCH_EXIT_NO_DEVICE = 6,
    BENCH_EXIT_TIMEOUT = 124
};

typedef enum bench_command {
    BENCH_COMMAND_STANDARD = 0, /* no command: the standard suite */
    BENCH_COMMAND_RUN,
    BENCH_COMMAND_VERIFY,
    BENCH_COMMAND_TUNE,
    BENCH_COMMAND_LIST,
    BENCH_COMMAND_DEVICES,
    BENCH_COMMAND_DOCTOR,
    BENCH_COMMAND_OVERHEAD,
    BENCH_COMMAND_CALIBRATE,
    BENCH_COMMAND_COMPARE,
    BENCH_COMMAND_HISTORY,
    BENCH_COMMAND_REPORT,
    BENCH_COMMAND_ROOFLINE,
    BENCH_COMMAND_INIT_CI,
    BENCH_COMMAND_COUNT
} bench_command;

#define BENCH_MAX_DEVICES 8
#define BENCH_MAX_MERGED  16
#define BENCH_MAX_FILES   16
#define BENCH_MAX_KERNELS 64

#define BENCH_ROUNDS_UNSAID INT64_MIN
#define BENCH_REPEATS       2

typedef struct bench_options {
    bench_command command;
    const char *program;                    /* argv[0] */
    const char *devices[BENCH_MAX_DEVICES]; /* preferences; none: HUSK_DEVICE or the default */
    size_t device_count;
    const char *platform;
    const char *suite, *file;
    char cases[4096];      /* positional words, joined by blanks */
    const char *files[BENCH_MAX_FILES]; /* roofline, compare, history, report: positional words */
    size_t file_count;
    bool force;          /* compare */
    bool no_history;     /* run */
    const char *fail_on; /* compare */
    const char *baselines; /* comma-separated; NULL: all that are there; "none" */
    const char *variant;   /* a name, "all", or NULL */
    const char *dtype;
    const char *json_path, *csv_path, *md_path, *plain_path, *output_path;
    const char *resume_path;
    const char *not_with_resume; /* an option that was given and that only the resumed file may decide; NULL: none */
    const char *digests_path, *junit_path; /* verify */
    const char *kernels[BENCH_MAX_KERNELS]; /* verify, run, tune: files that describe kernels */
    size_t kernel_count;
    int64_t repeat;       /* verify: runs of each of these kernels */
    const char *required; /* verify: devices that have to be there, comma-separated */
    const char *annotate; /* verify: github */
    const char *offline;  /* verify: targets that kernels are compiled for, comma-separated */
    double fuzz;          /* verify: seconds on each device for sizes that are drawn */
    const char *t4_path;                  /* tune: of kernels of the user's own */
    const char *export_path;              /* tune */
    const char *merged[BENCH_MAX_MERGED]; /* tune: files to take entries from */
    size_t merged_count;
    bool show, again, predictions; /* tune */
    bool json, peaks; /* devices */
    bool list, dry_run, quiet, quick, help, version;
    bool compile, startup, no_startup, cold;
    int64_t rounds; /* BENCH_ROUNDS_UNSAID: as many as the suite usually has */
    int64_t warmup, seed;
    double quick_seconds; /* of each row with --quick; 0: as it says */
    double max_time, budget; /* seconds; budget 0: the command's own, negative: none */
    double heat;             /* doctor: the same */
    double compile_time;     /* seconds for what may compile: max_time, where that was given */
    char device_texts[BENCH_MAX_DEVICES][24]; /* preferences that "all" stands for */
} bench_options;

#endif
