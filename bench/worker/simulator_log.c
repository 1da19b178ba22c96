// SPDX-License-Identifier: MIT
#include "worker/simulator_log.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"

enum { MOST_FINDINGS = 100, LARGEST_PIECE = 4 << 20 };

// A finding: its first line has no indent, what follows has: Kernel, Entity, the instruction, "At line 3 of input.cl:"
// and then the source.
typedef struct finding {
    char text[300], kernel[100], source[300];
    int line;
    bool wants_source; // the next line is it
} finding;

static void copy_line(char *text, size_t size, const char *line, size_t length)
{
    while (length && (*line == ' ' || *line == '\t')) {
        line++;
        length--;
    }
    snprintf(text, size, "%.*s", (int)length, line);
    bench_clean_line(text);
}

static void keep(json_t *findings, const finding *f)
{
    if (!f->text[0])
        return;
    for (size_t i = 0; i < json_array_size(findings); i++) {
        json_t *there = json_array_get(findings, i);
        // Of one kind at one place: addresses and work-items differ.
        const bool is_same = !strncmp(bench_text_of(there, "text"), f->text, 20) &&
                             json_integer_value(json_object_get(there, "line")) == f->line &&
                             !strcmp(bench_text_of(there, "kernel"), f->kernel);
        if (!is_same)
            continue;
        json_object_set_new(there, "times", json_integer(json_integer_value(json_object_get(there, "times")) + 1));
        return;
    }
    if (json_array_size(findings) == MOST_FINDINGS)
        return;
    json_array_append_new(findings, json_pack("{s:s, s:s, s:i, s:s, s:i}", "text", f->text, "kernel", f->kernel, "line",
                                              f->line, "source", f->source, "times", 1));
}

static void read_detail(finding *f, const char *line, size_t length)
{
    char text[300];
    copy_line(text, sizeof text, line, length);
    if (f->wants_source) {
        snprintf(f->source, sizeof f->source, "%s", text);
        f->wants_source = false;
    } else if (!strncmp(text, "Kernel: ", 8)) {
        snprintf(f->kernel, sizeof f->kernel, "%.99s", text + 8);
        bench_clean_line(f->kernel); // a character may have been cut
    } else if (!f->line && !strncmp(text, "At line ", 8)) {
        const long number = strtol(text + 8, NULL, 10);
        f->line = number > 0 && number <= INT_MAX ? (int)number : 0;
        f->wants_source = f->line > 0;
    }
}

json_t *bench_simulator_findings(const char *text)
{
    json_t *findings = json_array();
    finding f = {.line = 0};
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");
        if (length && *line != ' ' && *line != '\t') {
            keep(findings, &f);
            f = (finding){.line = 0};
            copy_line(f.text, sizeof f.text, line, length);
        } else if (length) {
            read_detail(&f, line, length);
        }
        line += length + (line[length] == '\n');
    }
    keep(findings, &f);
    return findings;
}

void bench_simulator_log_begin(bench_simulator_log *log)
{
    *log = (bench_simulator_log){.path = getenv("OCLGRIND_LOG")};
    FILE *file = log->path ? fopen(log->path, "r") : NULL;
    if (!file)
        return;
    if (fseek(file, 0, SEEK_END) == 0)
        log->read = ftell(file);
    fclose(file);
}

json_t *bench_simulator_log_take(bench_simulator_log *log)
{
    FILE *file = log->path ? fopen(log->path, "r") : NULL;
    char *text = file ? malloc(LARGEST_PIECE + 1) : NULL;
    json_t *findings = NULL;
    if (text && fseek(file, log->read, SEEK_SET) == 0) {
        const size_t length = fread(text, 1, LARGEST_PIECE, file);
        text[length] = '\0';
        log->read += (long)length;
        findings = bench_simulator_findings(text);
    }
    free(text);
    if (file)
        fclose(file);
    return findings ? findings : json_array();
}
