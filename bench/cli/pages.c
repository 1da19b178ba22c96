// SPDX-License-Identifier: MIT
// The manual's page, from the tables of commands, options and operators.
#include "cli/pages.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <husk/plan.h>

#include "cases/op.h"
#include "cases/op_lists.h"
#include "cases/ops.h"
#include "cli/completions.h"
#include "cli/table.h"
#include "common/text.h"

#define OPERATOR_TEXT 600 // bytes a line of keys may take

// A hyphen that is to be typed is \-; a line must not begin with a dot or an apostrophe.
static void put_text(FILE *file, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", file);
    for (; *text; text++) {
        if (*text == '-')
            fputc('\\', file);
        if (*text == '\\')
            fputs("\\e", file);
        else
            fputc(*text, file);
    }
}

static void put_sentence(FILE *file, const char *text)
{
    char copy[300];
    snprintf(copy, sizeof copy, "%s", text);
    copy[0] = (char)toupper((unsigned char)copy[0]);
    put_text(file, copy);
    fputs(".\n", file);
}

static void put_synopsis(FILE *file)
{
    fputs(".SH SYNOPSIS\n.nf\n", file);
    for (size_t i = 0; bench_cli_command_at(i); i++) {
        const bench_cli_command *command = bench_cli_command_at(i);
        fputs("\\fBclbench", file);
        if (command->name[0])
            fprintf(file, " %s", command->name);
        fputs("\\fR ", file);
        put_text(file, command->usage);
        fputc('\n', file);
    }
    fputs(".fi\n", file);
}

static void put_description(FILE *file)
{
    fputs(".SH DESCRIPTION\n"
          "Without a command\n.B clbench\nmeasures the standard suite on the default device in about a minute.\n"
          "Each row is verified against a reference in\ndouble precision, "
          "timed, set against the peak that was measured in the same run,\n"
          "and compared with the CPU's\nlibraries, which take turns with it.\n",
          file);
    for (size_t i = 1; bench_cli_command_at(i); i++) {
        fprintf(file, ".TP\n.B %s\n", bench_cli_command_at(i)->name);
        put_sentence(file, bench_cli_command_at(i)->help);
    }
}

// Keys that many operators share are explained below the table.
static bool is_shared(const bench_field *field)
{
    const bench_field *shared;
    for (size_t i = 0; (shared = bench_common_field(~0u, i)); i++)
        if (shared == field)
            return true;
    return field->choices == bench_flag_choices;
}

// "kind=max|avg", where there are no more names than these; a wrong one's message lists all of them.
static void append_key(char line[OPERATOR_TEXT], const bench_field *field)
{
    enum { MOST_NAMED = 5 };
    size_t count = 0;
    bench_append(line, OPERATOR_TEXT, "%s", field->key);
    if (field->type != BENCH_FIELD_CHOICE || is_shared(field))
        return;
    while (field->choices[count].text)
        count++;
    for (size_t i = 0; count <= MOST_NAMED && i < count; i++)
        if (i == 0 || field->choices[i].value != field->choices[i - 1].value) // else another name of the same
            bench_append(line, OPERATOR_TEXT, "%s%s", i ? "|" : "=", field->choices[i].text);
}

// "gemm  m n k [batch ta ...]": required keys, then the others.
static void write_operator(const bench_op *op, char line[OPERATOR_TEXT])
{
    const bench_field *field;
    snprintf(line, OPERATOR_TEXT, "%-15s", op->name);
    for (size_t i = 0; (field = bench_field_get(op, i)); i++) {
        if (field->required) {
            bench_append(line, OPERATOR_TEXT, " ");
            append_key(line, field);
        }
    }
    bench_append(line, OPERATOR_TEXT, " [");
    bool is_first = true;
    for (size_t i = 0; (field = bench_field_get(op, i)); i++) {
        if (field->required)
            continue;
        bench_append(line, OPERATOR_TEXT, "%s", is_first ? "" : " ");
        append_key(line, field);
        is_first = false;
    }
    bench_append(line, OPERATOR_TEXT, "]");
}

static void put_cases(FILE *file)
{
    fputs(".SH CASES\n.nf\n", file);
    for (int op = 0; op < BENCH_OP_COUNT; op++) {
        char line[OPERATOR_TEXT];
        write_operator(bench_op_get((bench_op_kind)op), line);
        put_text(file, line);
        fputc('\n', file);
    }
    fputs(
        ".fi\n.PP\nEach key takes a value:\n.BR \"conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1\" .\n"
        "Keys outside the brackets are always wanted; "
        "a dimension of space (d, h) and its filter (t, r) come and go together.\n"
        "A value may be a list,\n.BR m=1,16,256 ,\nor a range:\n.B a..b\nsteps by 1,\n.B a..b+s\nby s, and\n.B a..b*f\n"
        "multiplies by f. There is a case for every combination.\n.B packed=1\nuses prepacked weights.\n",
        file);
}

static void put_option(FILE *file, const bench_cli_option *o)
{
    fputs(".TP\n\\fB", file);
    if (o->letter)
        fprintf(file, "\\-%c\\fR, \\fB", o->letter);
    fputs("\\-\\-", file);
    put_text(file, o->name);
    fputs("\\fR", file);
    if (o->argument) {
        fputs(" \\fI", file);
        put_text(file, o->argument);
        fputs("\\fR", file);
    }
    fputc('\n', file);
    put_sentence(file, o->help);
    bool is_first = true;
    if (o->commands == -1)
        return;
    for (size_t i = 1; bench_cli_command_at(i); i++) {
        if (bench_cli_knows((bench_command)i, o)) {
            fprintf(file, "%s%s", is_first ? "(" : ", ", bench_cli_command_at(i)->name);
            is_first = false;
        }
    }
    fputs(is_first ? "" : ")\n", file);
}

static void put_lines(FILE *file, const char *heading, const bench_cli_line *lines)
{
    fprintf(file, ".SH %s\n", heading);
    for (; lines->name; lines++) {
        fputs(".TP\n.B ", file);
        put_text(file, lines->name);
        fputc('\n', file);
        put_sentence(file, lines->text);
    }
}

static void put_manual(FILE *file)
{
    fputs(".\\\" SPDX-License-Identifier: MIT\n.\\\" Made by: clbench --generate man. Edit bench/cli/table.c.\n"
          ".TH CLBENCH 1 \"\" \"Husk\" \"User Commands\"\n.SH NAME\n"
          "clbench \\- deep-learning primitives on an OpenCL device: right, how fast, how near its limit\n",
          file);
    put_synopsis(file);
    put_description(file);
    put_cases(file);
    fputs(".SH OPTIONS\n", file);
    for (size_t i = 0; bench_cli_option_at(i); i++)
        put_option(file, bench_cli_option_at(i));
    put_lines(file, "EXIT STATUS", bench_cli_exit_codes);
    put_lines(file, "ENVIRONMENT", bench_cli_variables);
    put_lines(file, "EXAMPLES", bench_cli_examples);
}

// The tables of docs/clbench.md.
static void put_exit_codes(FILE *file)
{
    fputs("| exit code | means |\n|---:|---|\n", file);
    for (const bench_cli_line *line = bench_cli_exit_codes; line->name; line++)
        fprintf(file, "| %s | %s |\n", line->name, line->text);
}

static void put_grammar(FILE *file)
{
    fputs("    operator        keys [keys that have a default]\n", file);
    for (int op = 0; op < BENCH_OP_COUNT; op++) {
        char line[OPERATOR_TEXT];
        write_operator(bench_op_get((bench_op_kind)op), line);
        fprintf(file, "    %s\n", line);
    }
}

// The table of docs/operators.md: what the list says, "NAME | cell | cell ...", and the names of the variants.
static bool put_operators(FILE *file)
{
    char *rows = bench_op_lists("operators");
    if (!rows)
        return false;
    fputs("| operator | forward | gradient by data | gradient by parameters | saved for backward | dtypes | "
          "variants |\n"
          "|---|---|---|---|---|---|---|\n",
          file);
    char *next = rows;
    for (char *row = rows; *row; row = next) {
        char name[64];
        const char *variant;
        next = row + strcspn(row, "\n");
        *next++ = '\0';
        snprintf(name, sizeof name, "%.*s", (int)strcspn(row, " "), row);
        fprintf(file, "| %s |", row);
        for (size_t i = 0; (variant = husk_op_variant(name, i)); i++)
            fprintf(file, "%s `%s`", i ? "," : "", variant);
        fputs(" |\n", file);
    }
    free(rows);
    return true;
}

// A list that only tests read: bench/cases/op_lists.h.
static bool put_list(FILE *file, const char *list)
{
    char *lines = bench_op_lists(list);
    const bool is_there = lines && *lines;
    if (is_there)
        fputs(lines, file);
    free(lines);
    return is_there;
}

bool bench_cli_generate(const char *page, FILE *file)
{
    if (!strcmp(page, "man"))
        put_manual(file);
    else if (!strcmp(page, "bash"))
        bench_cli_bash(file);
    else if (!strcmp(page, "zsh"))
        bench_cli_zsh(file);
    else if (!strcmp(page, "exit-codes"))
        put_exit_codes(file);
    else if (!strcmp(page, "cases"))
        put_grammar(file);
    else if (!strcmp(page, "operators"))
        return put_operators(file);
    else
        return put_list(file, page);
    return true;
}
