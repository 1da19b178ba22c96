/* SPDX-License-Identifier: MIT */
/*
 * bench/cli/table.h: what the command line knows, once: commands, options, exit codes, variables. Parsing (parse.c),
 * the help (help.c), the manual's page and the completions (pages.c) come from it.
 */
#ifndef BENCH_CLI_TABLE_H
#define BENCH_CLI_TABLE_H

#include "cli/options.h"

typedef enum bench_option_kind {
    BENCH_OPTION_FLAG,
    BENCH_OPTION_TEXT,
    BENCH_OPTION_INTEGER,
    BENCH_OPTION_DURATION,
    BENCH_OPTION_DEVICE, /* may be repeated */
    BENCH_OPTION_MERGED, /* may be repeated */
    BENCH_OPTION_KERNELS /* may be repeated */
} bench_option_kind;

typedef struct bench_cli_option {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    bench_option_kind kind;
    size_t offset;        /* of its member in bench_options */
    int commands;         /* bits of the commands that know it */
    const char *argument; /* as the help shows it; NULL: a flag */
    const char *values;   /* what completions offer: words, "FILE", "SUITE", or "": nothing */
    const char *help;
} bench_cli_option;

/* What may stand behind a command beside options. */
typedef enum bench_cli_words {
    BENCH_WORDS_NONE,
    BENCH_WORDS_CASES,
    BENCH_WORDS_FILES,
    BENCH_WORDS_HISTORY
} bench_cli_words;

typedef struct bench_cli_command {
    const char *name;  /* "" for clbench without a command */
    const char *usage; /* behind the name */
    const char *help;  /* a line */
    bench_cli_words words;
} bench_cli_command;

typedef struct bench_cli_line {
    const char *name, *text;
} bench_cli_line;

/* By bench_command; NULL past the end, which for lines is a NULL name. */
const bench_cli_command *bench_cli_command_at(size_t index);
const bench_cli_option *bench_cli_option_at(size_t index);
extern const bench_cli_line bench_cli_exit_codes[], bench_cli_variables[], bench_cli_examples[];

/* Whether a command knows an option. */
bool bench_cli_knows(bench_command command, const bench_cli_option *option);

#endif
