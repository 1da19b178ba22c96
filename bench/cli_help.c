// SPDX-License-Identifier: MIT
// The help: of clbench with all that it knows, of a command with its own.
#include <string.h>

#include "cli_table.h"
#include "terminal.h"
#include "text.h"

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
