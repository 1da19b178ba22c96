// SPDX-License-Identifier: MIT
#include "cli.h"

#include <string.h>

#include "text.h"

#define MAX_TIME     120.0
#define COMPILE_TIME 600.0
#define LISTING_TIME 30.0 // doctor: some drivers start a compiler or wake a card

typedef enum option_kind { FLAG, TEXT, INTEGER, DURATION, DEVICE, MERGED } option_kind;

enum {
    ALL = -1,
    RUNS = 1 << BENCH_COMMAND_STANDARD | 1 << BENCH_COMMAND_RUN,
    VERIFY = 1 << BENCH_COMMAND_VERIFY,
    LIST = 1 << BENCH_COMMAND_LIST,
    DEVICES = 1 << BENCH_COMMAND_DEVICES,
    DOCTOR = 1 << BENCH_COMMAND_DOCTOR,
    OVERHEAD = 1 << BENCH_COMMAND_OVERHEAD,
    ROOFLINE = 1 << BENCH_COMMAND_ROOFLINE,
    TUNE = 1 << BENCH_COMMAND_TUNE,
    COMPARE = 1 << BENCH_COMMAND_COMPARE,
    HISTORY = 1 << BENCH_COMMAND_HISTORY,
    REPORT = 1 << BENCH_COMMAND_REPORT,
    FILES = ROOFLINE | COMPARE | HISTORY | REPORT // commands whose words are files
};

typedef struct option {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    option_kind kind;
    size_t offset;
    int commands;         /* bits of the commands that know it */
    const char *argument; /* as the help shows it */
    const char *help;
} option;

#define AT(member) offsetof(bench_options, member)

static const option options_table[] = {
    {"device", 'd', DEVICE, 0, RUNS | VERIFY | DOCTOR | OVERHEAD | TUNE, "D",
     "gpu, cpu, P:D or part of a name; run: may be repeated, or all"},
    {"platform", 'p', TEXT, AT(platform), RUNS | VERIFY | OVERHEAD | TUNE, "P",
     "the default device of the platform with this number or name"},
    {"suite", 0, TEXT, AT(suite), RUNS | VERIFY | LIST | TUNE, "S", "a named list of cases (clbench list)"},
    {"file", 'f', TEXT, AT(file), RUNS | VERIFY | LIST | TUNE, "F", "a file with a case a line"},
    {"baseline", 'b', TEXT, AT(baselines), RUNS, "B,...", "rivals: onednn, blas, clblast, ref, all or none"},
    {"variant", 0, TEXT, AT(variant), RUNS | VERIFY, "V",
     "a variant by name, or all; verify all: in every configuration"},
    {"dtype", 0, TEXT, AT(dtype), RUNS | VERIFY, "T", "the cases with this dtype in place of theirs"},
    {"quick", 0, FLAG, AT(quick), RUNS, NULL, "0.1 s a contender, 20 s in all"},
    {"quick", 0, FLAG, AT(quick), DOCTOR, NULL, "look at the system alone, and compute nothing"},
    {"budget", 0, DURATION, AT(budget), RUNS | TUNE | DOCTOR, "TIME",
     "time for the whole run, such as 60s; 0: no limit"},
    {"max-time", 0, DURATION, AT(max_time), RUNS | VERIFY | TUNE | DOCTOR, "TIME",
     "a case that takes longer is ended (default 120s, and 600s while it compiles)"},
    {"rounds", 'r', INTEGER, AT(rounds), RUNS, "N",
     "measure everything N times, in shuffled order (default 1)"},
    {"warmup", 'w', INTEGER, AT(warmup), RUNS, "N", "runs before measuring, at least (default 3)"},
    {"seed", 0, INTEGER, AT(seed), RUNS | VERIFY | TUNE, "N",
     "of the shuffling and of the samples that are verified"},
    {"again", 0, FLAG, AT(again), TUNE, NULL, "also the cases that the database has an answer for"},
    {"show", 0, FLAG, AT(show), TUNE, NULL, "say what is in the database"},
    {"export", 0, TEXT, AT(export_path), TUNE, "FILE",
     "write what differs from the prediction on this device"},
    {"merge", 0, MERGED, 0, TUNE, "FILE...", "take over the entries of other databases"},
    {"compile", 0, FLAG, AT(compile), RUNS, NULL,
     "also each case's first call in new processes, cold and cached"},
    {"startup", 0, FLAG, AT(startup), RUNS, NULL, "also the time to a ready context, cold and warm"},
    {"no-startup", 0, FLAG, AT(no_startup), RUNS, NULL, "leave that out"},
    {"cold", 0, FLAG, AT(cold), RUNS, NULL, "operands rotate over twice the last-level cache"},
    {"json", 0, TEXT, AT(json_path), RUNS, "FILE", "write results as JSON (schema clbench/1)"},
    {"resume", 0, TEXT, AT(resume_path), RUNS, "FILE", "go on with the run that wrote this file"},
    {"json", 0, FLAG, AT(json), DEVICES | DOCTOR | OVERHEAD, NULL, "print JSON"},
    {"json", 0, TEXT, AT(json_path), COMPARE, "FILE", "write the comparison as JSON"},
    {"no-history", 0, FLAG, AT(no_history), RUNS, NULL, "do not keep the result in the history"},
    {"peaks", 0, FLAG, AT(peaks), DEVICES, NULL, "also measure what each can do at most"},
    {"csv", 0, TEXT, AT(csv_path), RUNS, "FILE", "write results as CSV"},
    {"md", 0, TEXT, AT(md_path), RUNS | COMPARE, "FILE", "write results as a Markdown table"},
    {"plain", 0, TEXT, AT(plain_path), RUNS, "FILE", "write results as lines, name: value unit"},
    {"force", 0, FLAG, AT(force), COMPARE, NULL, "compare different devices or drivers nevertheless"},
    {"fail-on", 0, TEXT, AT(fail_on), COMPARE, "WHAT", "regression (the default), ambiguous or never"},
    {"digests", 0, TEXT, AT(digests_path), VERIFY, "FILE",
     "write a line a result: case, variant, a hash of all its bits"},
    {"output", 'o', TEXT, AT(output_path), ROOFLINE | REPORT, "FILE", "where the picture or the page goes"},
    {"list", 'l', FLAG, AT(list), RUNS | VERIFY | LIST | TUNE, NULL, "list the cases and do nothing else"},
    {"quiet", 'q', FLAG, AT(quiet), ALL, NULL, "no progress"},
    {"help", 'h', FLAG, AT(help), ALL, NULL, "this text"},
    {"version", 'V', FLAG, AT(version), ALL, NULL, "the version"},
};
#define OPTION_COUNT (sizeof options_table / sizeof *options_table)

static const char *const command_names[BENCH_COMMAND_COUNT] = {"",        "run",      "verify",   "list",
                                                               "devices", "doctor", "overhead", "roofline", "tune",
                                                               "compare", "history",  "report"};

void bench_cli_help(FILE *file)
{
    fputs(
        "clbench: deep-learning primitives on an OpenCL device: right, how fast, how near the device's limit,\n"
        "and how many times faster than this machine's CPU libraries.\n\n"
        "  clbench                        the standard suite on the default device, about a minute\n"
        "  clbench run [CASE... | --suite S | --file F]\n"
        "  clbench verify [CASE... | --suite S | --file F]   every variant against the reference\n"
        "  clbench list [--suite S]       the suites, or a suite's cases\n"
        "  clbench devices [--peaks] [--json]   what is here, which is the default and why, what each can do at most\n"
        "  clbench doctor [-d D] [--quick] [--json]   what is wrong with this machine, and what to do about it\n"
        "  clbench tune [CASE... | --suite S | --file F]     measure which variants to take from now on\n"
        "  clbench overhead [--json]      what a call costs beyond the bare enqueue of its kernels\n"
        "  clbench compare OLD.json NEW.json   what became slower or faster, and what is noise\n"
        "  clbench compare A.json B.json C.json...   devices beside each other\n"
        "  clbench history [list | show [RESULT]]   what was measured before; compare knows it as last, last~1\n"
        "  clbench report RESULT.json... [-o FILE.html]   results as one page: plots, baselines, networks, the table\n"
        "  clbench roofline RESULT.json [-o FILE.svg]   a result's cases under the measured roofs\n\n"
        "A case: clbench run gemm m=512 n=512 k=512; docs/clbench.md has the grammar.\n\nOptions:\n",
        file);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const option *o = &options_table[i];
        char left[64];
        snprintf(left, sizeof left, "%c%c --%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
                 o->name, o->argument ? " " : "", o->argument ? o->argument : "");
        fprintf(file, "  %-22s %s\n", left, o->help);
    }
    fputs(
        "\nExit codes: 0 all right, 1 error, 2 usage, 3 verification failed, 4 regression, 5 ambiguous, 6 no device,\n"
        "124 a case timed out, 130 and 143 interrupted: what was measured is kept.\n",
        file);
}

static const option *find_option(const char *name, size_t length, bench_command command)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const option *o = &options_table[i];
        if ((o->commands & (1 << command)) && strlen(o->name) == length && !strncmp(o->name, name, length))
            return o;
    }
    return NULL;
}

static const option *find_letter(char letter, bench_command command)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if ((options_table[i].commands & (1 << command)) && options_table[i].letter == letter)
            return &options_table[i];
    }
    return NULL;
}

static bool unknown_option(const char *word, bench_command command, char reason[BENCH_REASON_TEXT])
{
    const char *names[OPTION_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (options_table[i].commands & (1 << command))
            names[count++] = options_table[i].name;
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (!strcmp(options_table[i].name, name + strspn(name, "-")))
            return bench_explain(reason, BENCH_REASON_TEXT, "clbench %s has no option %s",
                                 command_names[command], name);
    }
    return bench_explain(reason, BENCH_REASON_TEXT, "unknown option '%s'; the nearest is '--%s'", name,
                         bench_nearest(name + strspn(name, "-"), names, count));
}

// What may stand beside --resume: where results go, and how much is said.
static bool goes_with_resume(const option *o)
{
    static const char *const names[] = {"resume",     "json",  "csv",  "md",
                                        "no-history", "quiet", "help", "version"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(o->name, names[i]))
            return true;
    }
    return false;
}

static bool store(bench_options *options, const option *o, const char *value, char reason[BENCH_REASON_TEXT])
{
    char *at = (char *)options + o->offset;
    int64_t integer = 0;
    double seconds = 0;
    bool yes = true;
    if (!goes_with_resume(o) && !options->not_with_resume)
        options->not_with_resume = o->name;
    switch (o->kind) {
    case FLAG:
        memcpy(at, &yes, sizeof yes);
        return true;
    case TEXT:
        memcpy(at, &value, sizeof value);
        return true;
    case INTEGER:
        if (!bench_parse_integer(value, &integer) || integer < 0 || integer > 1000000)
            return bench_explain(reason, BENCH_REASON_TEXT, "--%s %.100s: a whole number is wanted", o->name,
                                 value);
        memcpy(at, &integer, sizeof integer);
        return true;
    case DURATION:
        if (!bench_parse_duration(value, &seconds))
            return bench_explain(reason, BENCH_REASON_TEXT,
                                 "--%s %.100s: a time is wanted, such as 60s, 500ms or 2m", o->name, value);
        if (o->offset == AT(budget) && seconds == 0)
            seconds = -1;
        memcpy(at, &seconds, sizeof seconds);
        return true;
    case DEVICE:
        if (options->device_count == BENCH_MAX_DEVICES)
            return bench_explain(reason, BENCH_REASON_TEXT, "at most %d devices", BENCH_MAX_DEVICES);
        options->devices[options->device_count++] = value;
        return true;
    case MERGED:
        if (options->merged_count == BENCH_MAX_MERGED)
            return bench_explain(reason, BENCH_REASON_TEXT, "at most %d databases at once", BENCH_MAX_MERGED);
        options->merged[options->merged_count++] = value;
        return true;
    }
    return false;
}

// "--name value", "--name=value", "-n value" or "-nvalue"; *index moves past what was used.
static bool parse_option(int argc, char **argv, int *index, bench_options *options,
                         char reason[BENCH_REASON_TEXT])
{
    const char *word = argv[*index], *value = NULL;
    const option *o = NULL;
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        o = find_option(word + 2, length, options->command);
        value = word[2 + length] ? word + 3 + length : NULL;
    } else {
        o = find_letter(word[1], options->command);
        value = word[2] ? word + 2 : NULL;
    }
    if (!o)
        return unknown_option(word, options->command, reason);
    if (o->kind == FLAG && value)
        return bench_explain(reason, BENCH_REASON_TEXT, "--%s takes no value", o->name);
    if (o->kind != FLAG && !value) {
        if (*index + 1 >= argc)
            return bench_explain(reason, BENCH_REASON_TEXT, "--%s needs a value: %s", o->name, o->argument);
        value = argv[++*index];
    }
    return store(options, o, value, reason);
}

// The command is the first word that is no option; a word that names an operator means run.
static bool take_command(int argc, char **argv, bench_options *options, int *at,
                         char reason[BENCH_REASON_TEXT])
{
    *at = -1;
    if (argc < 2 || argv[1][0] == '-')
        return true;
    for (int i = 1; i < BENCH_COMMAND_COUNT; i++) {
        if (!strcmp(argv[1], command_names[i])) {
            options->command = (bench_command)i;
            *at = 1;
            return true;
        }
    }
    return bench_explain(reason, BENCH_REASON_TEXT, "unknown command '%.100s'; the nearest is '%s'", argv[1],
                         bench_nearest(argv[1], command_names + 1, BENCH_COMMAND_COUNT - 1));
}

static bool check_together(const bench_options *o, char reason[BENCH_REASON_TEXT])
{
    int sources = (o->suite != NULL) + (o->file != NULL) + (o->cases[0] != '\0');
    if (sources > 1)
        return bench_explain(reason, BENCH_REASON_TEXT, "cases, --suite and --file exclude each other");
    if (o->device_count && o->platform)
        return bench_explain(reason, BENCH_REASON_TEXT, "--device and --platform exclude each other");
    if (o->startup && o->no_startup)
        return bench_explain(reason, BENCH_REASON_TEXT, "--startup and --no-startup exclude each other");
    if (o->resume_path && (o->not_with_resume || o->cases[0]))
        return bench_explain(reason, BENCH_REASON_TEXT,
                             "--resume takes everything else from its file: %s%.100s cannot stand beside it",
                             o->not_with_resume ? "--" : "",
                             o->not_with_resume ? o->not_with_resume : o->cases);
    for (size_t i = 0; i < o->device_count; i++) {
        if (!strcmp(o->devices[i], "all") && (o->device_count > 1 || !(RUNS & 1 << o->command)))
            return bench_explain(reason, BENCH_REASON_TEXT,
                                 o->device_count > 1 ? "--device all excludes further devices"
                                                     : "--device all is for clbench run");
    }
    if (o->rounds < 1)
        return bench_explain(reason, BENCH_REASON_TEXT, "--rounds: at least 1 is wanted");
    return true;
}

static bool take_file(bench_options *options, const char *path, char reason[BENCH_REASON_TEXT])
{
    const size_t most = options->command == BENCH_COMMAND_ROOFLINE ? 1 : BENCH_MAX_FILES;
    if (options->file_count == most)
        return bench_explain(reason, BENCH_REASON_TEXT, "%.100s: at most %zu file%s", path, most,
                             most == 1 ? " is wanted" : "s are");
    options->files[options->file_count++] = path;
    return true;
}

bool bench_cli_parse(int argc, char **argv, bench_options *options, char reason[BENCH_REASON_TEXT])
{
    memset(options, 0, sizeof *options);
    options->program = argv[0];
    options->rounds = 1;
    options->warmup = 3;
    options->seed = 1;
    int command_at = -1;
    if (!take_command(argc, argv, options, &command_at, reason))
        return false;
    for (int i = 1; i < argc; i++) {
        if (i == command_at)
            continue;
        if (argv[i][0] == '-' && argv[i][1]) {
            if (!parse_option(argc, argv, &i, options, reason))
                return false;
            continue;
        }
        // "--merge a.json b.json": an operator's name begins no file's.
        if (options->merged_count && !options->cases[0] && strchr(argv[i], '.') && !strchr(argv[i], '=')) {
            if (!store(options, find_option("merge", 5, BENCH_COMMAND_TUNE), argv[i], reason))
                return false;
            continue;
        }
        if (FILES & (1 << options->command)) {
            if (!take_file(options, argv[i], reason))
                return false;
            continue;
        }
        if (options->command != BENCH_COMMAND_RUN && options->command != BENCH_COMMAND_VERIFY &&
            options->command != BENCH_COMMAND_TUNE)
            return bench_explain(reason, BENCH_REASON_TEXT, "unexpected word '%.100s'", argv[i]);
        if (strlen(options->cases) + strlen(argv[i]) + 2 > sizeof options->cases)
            return bench_explain(reason, BENCH_REASON_TEXT, "too many cases on the command line; use --file");
        bench_append(options->cases, sizeof options->cases, "%s%s", options->cases[0] ? " " : "", argv[i]);
    }
    // A driver may compile for minutes; who gives a time means it.
    options->compile_time = options->max_time > 0 ? options->max_time : COMPILE_TIME;
    if (options->max_time <= 0)
        options->max_time = options->command == BENCH_COMMAND_DOCTOR ? LISTING_TIME : MAX_TIME;
    return check_together(options, reason);
}
