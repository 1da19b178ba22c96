// SPDX-License-Identifier: MIT
#include "verify/kernel_offline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/compiler_log.h"
#include "common/embedded.h"
#include "spec/point.h"
#include "system/input.h"
#include "system/interrupt.h"
#include "system/temporary.h"
#include "system/terminal.h"
#include "verify/kernel_log.h"
#include "verify/kernel_occupancy.h"
#include "worker/kernel_program.h"

enum { MOST_PROGRAMS = 2000, LARGEST_SOURCE = 64 << 20 };

// A program: a source, and what it is compiled with.
typedef struct program {
    const bench_description *description;
    const bench_spec *spec;
    char path[2 * BENCH_PATH_TEXT]; // of the source
    char config[BENCH_POINT_TEXT];
    int64_t items[BENCH_MOST_STEPS]; // of each step's work-group; 0: the driver's choice
} program;

typedef struct compilation {
    const bench_kernel_offline *offline;
    char folder[64];
    program *programs;
    int count;
    int code;
} compilation;

// ---- writing the programs ----

// Of a step's work-group.
static int64_t items_of(bench_point *point, const bench_step *step)
{
    char reason[BENCH_REASON_TEXT];
    int64_t items = step->local_dimensions ? 1 : 0;
    for (int i = 0; i < step->local_dimensions; i++) {
        int64_t extent = 0;
        if (!bench_point_integer(point, &step->local[i], &extent, reason))
            return 0;
        items *= extent;
    }
    return items;
}

// The scripts want a file whose first line holds its options; what it includes lies beside the source.
static bool write_program(compilation *c, bench_point *point, const bench_description *description,
                          const bench_step *step, const char *config, char reason[BENCH_REASON_TEXT])
{
    program *p = &c->programs[c->count];
    char options[BENCH_OPTIONS_TEXT], path[160], place[2 * BENCH_PATH_TEXT];
    size_t size = 0;
    *p = (program){.description = description, .spec = point->spec};
    for (int i = 0; i < point->spec->step_count; i++)
        p->items[i] = items_of(point, &point->spec->steps[i]);
    snprintf(p->config, sizeof p->config, "%s", config);
    bench_kernel_path(description, point->spec, step, p->path, sizeof p->path);
    if (!bench_kernel_options(description, point, options, sizeof options, reason))
        return false;
    char *source = bench_input_read(p->path, LARGEST_SOURCE, &size, reason);
    if (!source)
        return false;
    snprintf(path, sizeof path, "%s/%04d.cl", c->folder, c->count);
    snprintf(place, sizeof place, "%s", p->path);
    FILE *file = fopen(path, "w");
    bool is_written = file != NULL;
    if (file) {
        fprintf(file, "// options: %s\n#line 1 \"%s\"\n", options, place);
        is_written = fwrite(source, 1, size, file) == size;
        is_written = fclose(file) == 0 && is_written;
    }
    free(source);
    c->count++;
    return is_written || bench_explain(reason, BENCH_REASON_TEXT, "%s could not be written", path);
}

static bool is_first_of_its_file(const bench_spec *spec, int step)
{
    for (int i = 0; i < step; i++) {
        if (!strcmp(spec->steps[i].file, spec->steps[step].file))
            return false;
    }
    return true;
}

// The configuration's programs, at the first size that it allows.
static bool write_config(compilation *c, const bench_description *description, const bench_spec *spec,
                         const int64_t *config, const bench_kernel_points *sizes, char reason[BENCH_REASON_TEXT])
{
    static bench_point point;
    char text[BENCH_POINT_TEXT];
    for (int64_t i = 0; i < sizes->count; i++) {
        reason[0] = '\0';
        if (!bench_point_set(&point, spec, config, sizes->values + i * sizes->width, reason) ||
            !bench_point_is_allowed(&point, reason))
            continue;
        bench_point_text(spec, config, NULL, text);
        for (int k = 0; k < spec->step_count; k++) {
            if (c->count == MOST_PROGRAMS)
                return bench_explain(reason, BENCH_REASON_TEXT, "more than %d programs", MOST_PROGRAMS);
            if (is_first_of_its_file(spec, k) && !write_program(c, &point, description, &spec->steps[k], text, reason))
                return false;
        }
        return true;
    }
    return !reason[0]; // excluded at each size, or a mistake of the description
}

static bool write_programs(compilation *c, char reason[BENCH_REASON_TEXT])
{
    const bench_kernel_offline *o = c->offline;
    bool is_written = true;
    for (size_t d = 0; d < o->count; d++) {
        for (int i = 0; i < o->descriptions[d].count && is_written; i++) {
            const bench_spec *spec = o->descriptions[d].specs[i];
            bench_kernel_points configs = {0}, sizes = {0};
            if (!bench_kernel_choice_has(o->choice, spec) || spec->form != BENCH_FROM_SOURCE)
                continue;
            is_written = bench_kernel_configs(o->choice, spec, &configs, reason) &&
                         bench_kernel_sizes(o->choice, spec, &spec->sizes, &sizes, reason);
            for (int64_t k = 0; k < configs.count && is_written; k++)
                is_written =
                    write_config(c, &o->descriptions[d], spec, configs.values + k * configs.width, &sizes, reason);
            bench_kernel_points_free(&configs);
            bench_kernel_points_free(&sizes);
        }
    }
    return is_written;
}

static bool write_scripts(const compilation *c, char reason[BENCH_REASON_TEXT])
{
    static const char *const names[] = {"compile_kernels.sh", "compile_program.sh", "tools.sh", "nvidia.h"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char embedded[64], path[160];
        snprintf(embedded, sizeof embedded, "offline/%s", names[i]);
        snprintf(path, sizeof path, "%s/%s", c->folder, names[i]);
        const char *text = bench_embedded_text(embedded);
        FILE *file = text ? fopen(path, "w") : NULL;
        const bool is_written = file && fputs(text, file) >= 0;
        if (!file || fclose(file) != 0 || !is_written)
            return bench_explain(reason, BENCH_REASON_TEXT, "%s could not be written", path);
    }
    return true;
}

// ---- what the compilers say ----

typedef struct taken {
    const char *target, *kernel;
    int64_t registers, spills, stack, local_memory; // -1: nobody says
} taken;

static void finish(compilation *c, const program *p, const taken *t, const char *verdict, const char *reason)
{
    char name[BENCH_POINT_TEXT + 200], command[2 * BENCH_PATH_TEXT + BENCH_POINT_TEXT], word[4 * BENCH_PATH_TEXT];
    bench_shell_word(p->description->path, word, sizeof word);
    command[0] = '\0';
    bench_append(command, sizeof command, "clbench verify --kernels %s %s%s%s --offline %s", word, p->spec->name,
                 p->config[0] ? " " : "", p->config, t->target);
    snprintf(name, sizeof name, "%s for %s", t->kernel, t->target);
    if (c->offline->results) {
        const bench_verify_row row = {.name = name,
                                      .op = p->spec->name,
                                      .asked = p->config,
                                      .verdict = verdict,
                                      .reason = reason,
                                      .reproducer = command,
                                      .file = p->path,
                                      .of_bound = -1};
        bench_verify_results_put(c->offline->results, &row);
    }
    if (!strcmp(verdict, "right")) {
        c->offline->total->right++;
        return;
    }
    if (!strcmp(verdict, "wrong"))
        c->offline->total->wrong++;
    else
        c->offline->total->errors++;
    bench_print(4, "%s%s%s  %s %s for %s: %s\n    %s\n", bench_colour_on(BENCH_BAD), verdict, bench_colour_off(),
                p->spec->name, p->config, t->target, reason, command);
    if (c->offline->options->annotate) {
        const bench_log_message message = bench_log_first_error(reason);
        char text[2 * BENCH_REASON_TEXT];
        snprintf(text, sizeof text, "%s for %s: %.900s", p->spec->name, t->target, reason);
        bench_annotate_github(p->path, message.line, text);
    }
}

static void print_number(int64_t number)
{
    if (number < 0)
        printf(" %9s", "-");
    else
        printf(" %9" PRId64, number);
}

static void print_taken(const program *p, int step, const taken *t)
{
    const bench_occupancy occupancy = bench_occupancy_of(t->target, t->registers, p->items[step], t->local_memory);
    printf("%-24s %-20s %-8s", t->kernel, p->config, t->target);
    print_number(t->registers);
    print_number(t->spills);
    print_number(t->stack);
    print_number(t->local_memory);
    if (occupancy.most)
        printf("  %d of %d\n", occupancy.waves, occupancy.most);
    else
        printf("  -\n");
}

// A stated limit that the kernel is above; false: none.
static bool exceeds(const program *p, const taken *t, char reason[BENCH_REASON_TEXT])
{
    const struct {
        const char *what;
        int64_t number;
    } numbers[] = {
        {"registers", t->registers}, {"spills", t->spills}, {"stack", t->stack}, {"local_memory", t->local_memory}};
    for (int i = 0; i < p->spec->limit_count; i++) {
        const bench_limit *limit = &p->spec->limits[i];
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            if (strcmp(numbers[k].what, limit->what) != 0 || numbers[k].number <= limit->most)
                continue;
            snprintf(reason, BENCH_REASON_TEXT, "%s of %s: %" PRId64 ", and the limit is %" PRId64, limit->what,
                     t->kernel, numbers[k].number, limit->most);
            return true;
        }
    }
    return false;
}

// "16", "128x16" (registers of a thread, and its lanes), "-".
static int64_t number_of(const char *text)
{
    return *text >= '0' && *text <= '9' ? strtoll(text, NULL, 10) : -1;
}

// The step that launches it; -1: none does.
static int step_of(const program *p, const char *kernel)
{
    for (int i = 0; i < p->spec->step_count; i++) {
        if (!strcmp(p->spec->steps[i].function, kernel))
            return i;
    }
    return -1;
}

// PROGRAM TARGET KERNEL REGISTERS SPILLS STACK LOCAL, or PROGRAM TARGET FAILED TEXT, or MISSING, or UNKNOWN.
static void take_line(compilation *c, char *line)
{
    char *words[7] = {NULL}, *rest = line;
    int count = 0;
    line[strcspn(line, "\n")] = '\0';
    while (count < 7 && (words[count] = rest)) {
        rest = strchr(rest, '\t');
        if (rest && count < 6)
            *rest++ = '\0';
        count++;
    }
    if (count == 2 && !strcmp(words[0], "UNKNOWN")) {
        bench_say("clbench: --offline %s: targets are nvidia, amd, intel, all, spirv, sm_70, sm_80, sm_90, gfx1100, "
                  "gfx1201, gfx90a, gfx942, skl, tgllp, dg2 and pvc",
                  words[1]);
        c->code = BENCH_EXIT_USAGE;
        return;
    }
    if (count == 3 && !strcmp(words[0], "MISSING")) {
        bench_say("clbench: nothing is compiled for %s: there is no %s", words[1], words[2]);
        c->code = c->code == BENCH_EXIT_OK ? BENCH_EXIT_NO_DEVICE : c->code;
        return;
    }
    const int number = atoi(words[0]);
    if (count < 4 || number < 0 || number >= c->count)
        return;
    const program *p = &c->programs[number];
    taken t = {.target = words[1], .kernel = words[2]};
    char reason[BENCH_REASON_TEXT] = "";
    if (!strcmp(words[2], "FAILED")) {
        t.kernel = p->spec->name;
        snprintf(reason, sizeof reason, "%.900s", words[3]);
        finish(c, p, &t, "error", reason);
        return;
    }
    const int step = step_of(p, words[2]);
    if (count < 7 || step < 0)
        return; // another kernel of the same source
    t.registers = number_of(words[3]);
    t.spills = number_of(words[4]);
    t.stack = number_of(words[5]);
    t.local_memory = number_of(words[6]);
    print_taken(p, step, &t);
    finish(c, p, &t, exceeds(p, &t, reason) ? "wrong" : "right", reason);
}

static void call_compilers(compilation *c)
{
    char command[BENCH_REASON_TEXT] = "", line[BENCH_REASON_TEXT];
    bench_append(command, sizeof command, "sh %s/compile_kernels.sh %s", c->folder, c->folder);
    // Words alone reach the shell: letters, digits, _ and what separates them.
    for (const char *at = c->offline->options->offline; *at; at++) {
        const bool is_plain = (*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || *at == '_';
        bench_append(command, sizeof command, "%s%c", at == c->offline->options->offline ? " " : "",
                     is_plain ? *at : ' ');
    }
    fflush(stdout);
    FILE *pipe = popen(command, "r");
    if (!pipe) {
        bench_say("clbench: the shell cannot be started");
        c->code = BENCH_EXIT_ERROR;
        return;
    }
    while (fgets(line, sizeof line, pipe) && !bench_interrupted)
        take_line(c, line);
    pclose(pipe);
}

int bench_kernel_offline_run(const bench_kernel_offline *offline)
{
    char reason[BENCH_REASON_TEXT] = "";
    compilation c = {.offline = offline, .programs = calloc(MOST_PROGRAMS, sizeof *c.programs)};
    if (!c.programs || !bench_temporary_folder(c.folder, sizeof c.folder, reason)) {
        bench_say("clbench: %s", c.programs ? reason : "memory is short");
        free(c.programs);
        return BENCH_EXIT_ERROR;
    }
    if (offline->results) {
        json_t *device = json_pack("{s:s}", "name", "offline compilers");
        bench_verify_results_device(offline->results, device);
        json_decref(device);
    }
    if (write_scripts(&c, reason) && write_programs(&c, reason)) {
        bench_print(2, "%sCompiled for GPUs that are not here%s\n", bench_colour_on(BENCH_STRONG), bench_colour_off());
        printf("%-24s %-20s %-8s %9s %9s %9s %9s  %s\n", "kernel", "parameters", "target", "registers", "spills",
               "stack", "local", "waves");
        call_compilers(&c);
    } else {
        bench_say("clbench: %s", reason);
        c.code = BENCH_EXIT_ERROR;
    }
    bench_temporary_remove(c.folder);
    free(c.programs);
    return c.code;
}
