// SPDX-License-Identifier: MIT
#include "cli/parse.h"

#include <string.h>

#include "cases/ops.h"
#include "cases/suites.h"
#include "cli/table.h"
#include "common/text.h"
#include "system/output.h"

#define MAX_TIME     120.0
#define COMPILE_TIME 600.0
#define MOST_OPTIONS 96
#define MOST_OF_OPTION 1000000 // a whole number's
#define LISTING_TIME 30.0 // doctor: some drivers start a compiler or wake a card

static const bench_cli_option *find_option(const char *name, size_t length, bench_command command)
{
    const bench_cli_option *o;
    for (size_t i = 0; (o = bench_cli_option_at(i)); i++) {
        if (bench_cli_knows(command, o) && strlen(o->name) == length && !strncmp(o->name, name, length))
            return o;
    }
    return NULL;
}

static const bench_cli_option *find_letter(char letter, bench_command command)
{
    const bench_cli_option *o;
    for (size_t i = 0; letter && (o = bench_cli_option_at(i)); i++) {
        if (bench_cli_knows(command, o) && o->letter == letter)
            return o;
    }
    return NULL;
}

static bool unknown_option(const char *word, bench_command command, char reason[BENCH_REASON_TEXT])
{
    const char *names[MOST_OPTIONS];
    const bench_cli_option *o;
    size_t count = 0;
    for (size_t i = 0; (o = bench_cli_option_at(i)) && count < MOST_OPTIONS; i++) {
        if (bench_cli_knows(command, o))
            names[count++] = o->name;
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    for (size_t i = 0; (o = bench_cli_option_at(i)); i++) {
        const bool is_letter = word[1] != '-' && o->letter && word[1] == o->letter;
        if (is_letter || !strcmp(o->name, name + strspn(name, "-")))
            return bench_explain(reason, BENCH_REASON_TEXT,
                                 "clbench %s has no option --%s; clbench %s --help lists those it has",
                                 bench_cli_command_at(command)->name, o->name, bench_cli_command_at(command)->name);
    }
    return bench_explain(reason, BENCH_REASON_TEXT, "unknown option '%s'; the nearest is '--%s'", name,
                         bench_nearest(name + strspn(name, "-"), names, count));
}

// What may stand beside --resume: where results go, and how much is said.
static bool goes_with_resume(const bench_cli_option *o)
{
    static const char *const names[] = {"resume",     "json",  "csv",  "md",     "plain",
                                        "no-history", "quiet", "help", "version"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(o->name, names[i]))
            return true;
    }
    return false;
}

static bool store(bench_options *options, const bench_cli_option *o, const char *value, char reason[BENCH_REASON_TEXT])
{
    char *at = (char *)options + o->offset;
    int64_t integer = 0;
    double seconds = 0;
    bool yes = true;
    if (!goes_with_resume(o) && !options->not_with_resume)
        options->not_with_resume = o->name;
    switch (o->kind) {
    case BENCH_OPTION_FLAG:
        memcpy(at, &yes, sizeof yes);
        return true;
    case BENCH_OPTION_TEXT:
        memcpy(at, &value, sizeof value);
        return true;
    case BENCH_OPTION_INTEGER:
        if (!bench_is_integer(value) || value[0] == '-')
            return bench_explain(reason, BENCH_REASON_TEXT, "--%s %.100s: a whole number is wanted", o->name, value);
        if (!bench_parse_integer(value, &integer) || integer > MOST_OF_OPTION)
            return bench_explain(reason, BENCH_REASON_TEXT, "--%s %.100s: too large, %d is the most", o->name, value,
                                 MOST_OF_OPTION);
        memcpy(at, &integer, sizeof integer);
        return true;
    case BENCH_OPTION_DURATION:
        if (!bench_parse_duration(value, &seconds))
            return bench_explain(reason, BENCH_REASON_TEXT, "--%s %.100s: a time is wanted, such as 60s, 500ms or 2m",
                                 o->name, value);
        if (o->offset == offsetof(bench_options, max_time) && seconds == 0) // here 0 is no word for "no limit"
            return bench_explain(reason, BENCH_REASON_TEXT, "--%s %.100s: a time above zero is wanted", o->name, value);
        if ((o->offset == offsetof(bench_options, budget) || o->offset == offsetof(bench_options, heat)) &&
            seconds == 0)
            seconds = -1;
        memcpy(at, &seconds, sizeof seconds);
        return true;
    case BENCH_OPTION_DEVICE:
        if (options->device_count == BENCH_MAX_DEVICES)
            return bench_explain(reason, BENCH_REASON_TEXT, "at most %d devices", BENCH_MAX_DEVICES);
        options->devices[options->device_count++] = value;
        return true;
    case BENCH_OPTION_MERGED:
        if (options->merged_count == BENCH_MAX_MERGED)
            return bench_explain(reason, BENCH_REASON_TEXT, "at most %d databases at once", BENCH_MAX_MERGED);
        options->merged[options->merged_count++] = value;
        return true;
    case BENCH_OPTION_KERNELS:
        if (options->kernel_count == BENCH_MAX_KERNELS)
            return bench_explain(reason, BENCH_REASON_TEXT, "at most %d files of kernels at once", BENCH_MAX_KERNELS);
        options->kernels[options->kernel_count++] = value;
        return true;
    }
    return false;
}

// "--name value", "--name=value", "-n value" or "-nvalue"; *index moves past what was used.
static bool parse_option(int argc, char **argv, int *index, bench_options *options, char reason[BENCH_REASON_TEXT])
{
    const char *word = argv[*index], *value = NULL;
    const bench_cli_option *o = NULL;
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
    if (o->kind == BENCH_OPTION_FLAG && value)
        return bench_explain(reason, BENCH_REASON_TEXT, "--%s takes no value", o->name);
    if (o->kind != BENCH_OPTION_FLAG && !value) {
        if (*index + 1 >= argc)
            return bench_explain(reason, BENCH_REASON_TEXT, "--%s needs a value: %s", o->name, o->argument);
        value = argv[++*index];
    }
    return store(options, o, value, reason);
}

// The command is the first word that is no option; a word that names an operator means run.
static bool take_command(int argc, char **argv, bench_options *options, int *at, char reason[BENCH_REASON_TEXT])
{
    const char *names[BENCH_COMMAND_COUNT];
    *at = -1;
    if (argc < 2 || argv[1][0] == '-')
        return true;
    for (int i = 1; i < BENCH_COMMAND_COUNT; i++) {
        names[i - 1] = bench_cli_command_at((size_t)i)->name;
        if (!strcmp(argv[1], names[i - 1])) {
            options->command = (bench_command)i;
            *at = 1;
            return true;
        }
    }
    if (bench_op_find(argv[1])) { // which is a case's first word
        options->command = BENCH_COMMAND_RUN;
        return true;
    }
    return bench_explain(reason, BENCH_REASON_TEXT, "unknown command '%.100s'; the nearest is '%s'", argv[1],
                         bench_nearest(argv[1], names, BENCH_COMMAND_COUNT - 1));
}

// What is about one device, given for several; NULL: nothing.
static const char *of_one_device(const bench_options *o)
{
    if (o->device_count == 0 || (o->device_count == 1 && strcmp(o->devices[0], "all") != 0))
        return NULL;
    return o->digests_path   ? "digests"
           : o->export_path  ? "export"
           : o->show         ? "show"
           : o->merged_count ? "merge"
                             : NULL;
}

// Two results for one file: the last one would be all that is left. NULL: there are none. Stdout may take several.
static const char *written_twice(const bench_options *o)
{
    const char *const paths[] = {o->json_path ? o->json_path : o->resume_path,
                                 o->csv_path,
                                 o->md_path,
                                 o->plain_path,
                                 o->junit_path,
                                 o->t4_path,
                                 o->digests_path};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        for (size_t k = 0; k < i; k++) {
            if (paths[i] && paths[k] && strcmp(paths[i], "-") && !bench_output_is_stream(paths[i]) &&
                (!strcmp(paths[i], paths[k]) || bench_output_is_same(paths[i], paths[k])))
                return paths[i];
        }
    }
    return NULL;
}

// Nothing that is read is written. (Results by other commands' words are looked at where the words are understood.)
static bool spares_inputs(const bench_options *o, char reason[BENCH_REASON_TEXT])
{
    const char *const outputs[] = {o->json_path,    o->csv_path,    o->md_path,    o->plain_path,
                                   o->digests_path, o->export_path, o->junit_path, o->t4_path};
    const bool is_file = o->suite && bench_suite_is_path(o->suite);
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        if (!bench_output_is_apart(outputs[i], o->file, reason) ||
            !bench_output_is_apart(outputs[i], is_file ? o->suite : NULL, reason))
            return false;
        for (size_t k = 0; k < o->merged_count; k++)
            if (!bench_output_is_apart(outputs[i], o->merged[k], reason))
                return false;
        for (size_t k = 0; k < o->kernel_count; k++)
            if (!bench_output_is_apart(outputs[i], o->kernels[k], reason))
                return false;
    }
    return true;
}

// What has no meaning for kernels of the user's own; NULL: nothing of it was given.
static const char *not_with_kernels(const bench_options *o)
{
    const bool is_verify = o->command == BENCH_COMMAND_VERIFY;
    const struct {
        bool is_given;
        const char *name;
    } options[] = {{o->suite != NULL, "suite"},
                   {o->file != NULL, "file"},
                   {o->variant != NULL, "variant"},
                   {o->dtype != NULL, "dtype"},
                   {o->digests_path != NULL, "digests"},
                   {o->list && is_verify, "list"},
                   {o->dry_run && o->command != BENCH_COMMAND_RUN, "dry-run"},
                   {o->again, "again"},
                   {o->show, "show"},
                   {o->predictions, "predictions"},
                   {o->export_path != NULL, "export"},
                   {o->merged_count > 0, "merge"},
                   {o->compile, "compile"},
                   {o->startup, "startup"}};
    for (size_t i = 0; o->kernel_count && i < sizeof options / sizeof *options; i++) {
        if (options[i].is_given)
            return options[i].name;
    }
    return NULL;
}

// What has a meaning for them alone; NULL: they are there, or nothing of it was given.
static const char *with_kernels(const bench_options *o)
{
    const struct {
        bool is_given;
        const char *name;
    } options[] = {{o->required != NULL, "require"},
                   {o->annotate != NULL, "annotate"},
                   {o->offline != NULL, "offline"},
                   {o->fuzz > 0, "fuzz"},
                   {o->repeat != BENCH_REPEATS, "repeat"},
                   {o->t4_path != NULL, "t4"},
                   {o->json_path && o->command == BENCH_COMMAND_TUNE, "json"}};
    for (size_t i = 0; !o->kernel_count && i < sizeof options / sizeof *options; i++) {
        if (options[i].is_given)
            return options[i].name;
    }
    return NULL;
}

static bool check_together(const bench_options *o, char reason[BENCH_REASON_TEXT])
{
    if (o->suite && o->file)
        return bench_explain(reason, BENCH_REASON_TEXT, "--suite and --file exclude each other");
    if ((o->suite || o->file) && strchr(o->cases, '='))
        return bench_explain(reason, BENCH_REASON_TEXT,
                             "cases and --%s exclude each other; beside it operators may stand, whose cases are taken",
                             o->suite ? "suite" : "file");
    if (not_with_kernels(o))
        return bench_explain(reason, BENCH_REASON_TEXT, "--kernels and --%s exclude each other", not_with_kernels(o));
    if (with_kernels(o))
        return bench_explain(reason, BENCH_REASON_TEXT, "--%s is about kernels of your own: --kernels FILE is wanted",
                             with_kernels(o));
    if (o->repeat < 1)
        return bench_explain(reason, BENCH_REASON_TEXT, "--repeat: at least 1 is wanted");
    if (o->annotate && strcmp(o->annotate, "github") != 0)
        return bench_explain(reason, BENCH_REASON_TEXT, "--annotate %.100s: github is what is known", o->annotate);
    if (o->device_count && o->platform)
        return bench_explain(reason, BENCH_REASON_TEXT, "--device and --platform exclude each other");
    if (o->startup && o->no_startup)
        return bench_explain(reason, BENCH_REASON_TEXT, "--startup and --no-startup exclude each other");
    if (o->resume_path && (o->not_with_resume || o->cases[0]))
        return bench_explain(reason, BENCH_REASON_TEXT,
                             "--resume takes everything else from its file: %s%.100s cannot stand beside it",
                             o->not_with_resume ? "--" : "", o->not_with_resume ? o->not_with_resume : o->cases);
    for (size_t i = 0; i < o->device_count; i++) {
        if (!strcmp(o->devices[i], "all") && o->device_count > 1)
            return bench_explain(reason, BENCH_REASON_TEXT, "--device all excludes further devices");
    }
    if (of_one_device(o))
        return bench_explain(reason, BENCH_REASON_TEXT,
                             "--%s is about one device: name it with -d, or leave -d out for the default",
                             of_one_device(o));
    if (written_twice(o))
        return bench_explain(reason, BENCH_REASON_TEXT, "two kinds of results cannot go to one file: %.300s",
                             written_twice(o));
    if (!spares_inputs(o, reason))
        return false;
    if (o->rounds < 1 && o->rounds != BENCH_ROUNDS_UNSAID)
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
    options->rounds = BENCH_ROUNDS_UNSAID;
    options->warmup = 3;
    options->seed = 1;
    options->repeat = BENCH_REPEATS;
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
        // "--merge a.json b.json", "--kernels a.txt b.txt": no other word has a dot.
        const bool is_path = !options->cases[0] && strpbrk(argv[i], "./") && !strchr(argv[i], '=');
        if (is_path && (options->merged_count || options->kernel_count)) {
            const bench_cli_option *o = options->merged_count ? find_option("merge", 5, BENCH_COMMAND_TUNE)
                                                              : find_option("kernels", 7, BENCH_COMMAND_VERIFY);
            if (!store(options, o, argv[i], reason))
                return false;
            continue;
        }
        const bench_cli_words words = bench_cli_command_at(options->command)->words;
        if (words == BENCH_WORDS_FILES || words == BENCH_WORDS_HISTORY) {
            if (!take_file(options, argv[i], reason))
                return false;
            continue;
        }
        if (words != BENCH_WORDS_CASES)
            return bench_explain(reason, BENCH_REASON_TEXT, "unexpected word '%.100s'", argv[i]);
        // "$CASE" that is not set: without it the standard suite would be meant.
        if (strspn(argv[i], " \t\r\n") == strlen(argv[i]))
            return bench_explain(reason, BENCH_REASON_TEXT, "a word is empty where a case is wanted");
        if (strlen(options->cases) + strlen(argv[i]) + 2 > sizeof options->cases)
            return bench_explain(reason, BENCH_REASON_TEXT, "too many cases on the command line; use --file");
        bench_append(options->cases, sizeof options->cases, "%s%s", options->cases[0] ? " " : "", argv[i]);
    }
    // A driver may compile for minutes; who gives a time means it.
    options->compile_time = options->max_time > 0 ? options->max_time : COMPILE_TIME;
    if (options->max_time <= 0)
        options->max_time = options->command == BENCH_COMMAND_DOCTOR ? LISTING_TIME : MAX_TIME;
    if (!check_together(options, reason))
        return false;
    // What looks at every device without being told has nothing to choose.
    if ((options->command == BENCH_COMMAND_DOCTOR || options->command == BENCH_COMMAND_DEVICES) &&
        options->device_count == 1 && !strcmp(options->devices[0], "all"))
        options->device_count = 0;
    return true;
}
