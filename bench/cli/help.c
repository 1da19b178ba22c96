// SPDX-License-Identifier: MIT
// The help: of clbench with all that it knows, of a command with its own.
#include "cli/help.h"

#include <string.h>

#include "cases/op.h"
#include "cases/ops.h"
#include "cli/table.h"
#include "common/text.h"
#include "system/terminal.h"

static void print_usage(const bench_cli_command *command)
{
    bench_print(10, "  clbench%s%s %s\n      %s\n", command->name[0] ? " " : "", command->name, command->usage,
                command->help);
}

static void print_option(const bench_cli_option *o)
{
    char left[64];
    snprintf(left, sizeof left, "%c%c --%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ', o->name,
             o->argument ? " " : "", o->argument ? o->argument : "");
    bench_print(25, "  %-22s %s\n", left, o->help);
}

static void print_commands(void)
{
    bench_print(0,
                "clbench: deep-learning primitives on an OpenCL device: right, how fast, how near the device's limit,\n"
                "and how many times faster than this machine's CPU libraries.\n\n");
    for (size_t i = 0; bench_cli_command_at(i); i++)
        print_usage(bench_cli_command_at(i));
    bench_print(0, "\nA case: clbench run gemm m=512 n=512 k=512; values may be lists and ranges\n"
                   "(m=1,16,256..4096*2), for a case each. "
                   "docs/clbench.md has the grammar; clbench COMMAND --help the options of one command.\n");
}

static void format_initial(const bench_field *field, char *text, size_t size)
{
    const bench_choice *choice = field->choices;
    while (choice && choice->text && choice->value != (int64_t)field->initial)
        choice++;
    if (choice && choice->text)
        bench_append(text, size, "; default %s", choice->text);
    else if (field->type != BENCH_FIELD_CHOICE)
        bench_append(text, size, "; default %g", field->initial);
}

static void print_key(const bench_field *field)
{
    char text[600] = "";
    bench_append(text, sizeof text, "%s", field->help ? field->help : "");
    for (const bench_choice *choice = field->choices; choice && choice->text; choice++)
        bench_append(text, sizeof text, "%s%s", choice == field->choices ? ": " : ", ", choice->text);
    if (field->required)
        bench_append(text, sizeof text, "; required");
    else
        format_initial(field, text, sizeof text);
    bench_print(14, "  %-11s %s\n", field->key, text);
}

bool bench_cli_help_case(const char *cases)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(cases, " "), cases);
    const bench_op *op = bench_op_find(name);
    const bench_field *field;
    if (!op)
        return false;
    bench_print(0, "A case of %s, such as\n\n  clbench run %s", name, name);
    for (size_t i = 0; (field = bench_field_get(op, i)); i++)
        if (field->required)
            bench_print(0, " %s=%lld", field->key, (long long)(field->minimum > 64 ? field->minimum : 64));
    bench_print(0, "\n\nKeys:\n");
    for (size_t i = 0; (field = bench_field_get(op, i)); i++)
        print_key(field);
    bench_print(0, "\nA value may be a list (1,16,256) or a range (1..8, 64..512+64, 256..4096*2), for a case each. "
                   "clbench run --help lists the options.\n");
    return true;
}

void bench_cli_help(bench_command command)
{
    const bool all = command == BENCH_COMMAND_STANDARD;
    const bench_cli_option *o;
    if (all)
        print_commands();
    else
        print_usage(bench_cli_command_at(command));
    bench_print(0, "\nOptions:\n");
    for (size_t i = 0; (o = bench_cli_option_at(i)); i++) {
        if (all || bench_cli_knows(command, o))
            print_option(o);
    }
    bench_print(0, "\nExit codes:\n");
    for (const bench_cli_line *line = bench_cli_exit_codes; line->name; line++)
        bench_print(17, "  %-14s %s\n", line->name, line->text);
}
