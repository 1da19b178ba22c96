// SPDX-License-Identifier: MIT
// Completions for bash and zsh, from the tables of commands, options, suites and operators.
#include "cli/completions.h"

#include <string.h>

#include "cases/op.h"
#include "cases/ops.h"
#include "cases/suites.h"
#include "cli/table.h"

static void put_suites(FILE *file)
{
    for (size_t i = 0; bench_suite_name(i); i++)
        fprintf(file, "%s%s", i ? " " : "", bench_suite_name(i));
}

static void put_operators(FILE *file)
{
    for (int op = 0; op < BENCH_OP_COUNT; op++)
        fprintf(file, "%s%s", op ? " " : "", bench_op_text((bench_op_kind)op));
}

static void put_keys(FILE *file, const bench_op *op)
{
    const bench_field *field;
    for (size_t i = 0; (field = bench_field_get(op, i)); i++)
        fprintf(file, "%s%s=", i ? " " : "", field->key);
}

// ---- bash ----

// "-f | --file": how it may be typed. An option of several commands has one meaning for its value.
static void put_names(FILE *file, const bench_cli_option *o)
{
    if (o->letter)
        fprintf(file, "-%c | ", o->letter);
    fprintf(file, "--%s", o->name);
}

// An option that commands have twice, with other words in the help, is named once.
static bool is_named_before(size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (bench_cli_option_at(i)->argument && !strcmp(bench_cli_option_at(i)->name, bench_cli_option_at(index)->name))
            return true;
    }
    return false;
}

static bool is_first_of_values(size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (bench_cli_option_at(i)->argument &&
            !strcmp(bench_cli_option_at(i)->values, bench_cli_option_at(index)->values))
            return false;
    }
    return true;
}

// One branch for all options that take the same values.
static void put_values(FILE *file, size_t index)
{
    const bench_cli_option *first = bench_cli_option_at(index), *o;
    fputs("        ", file);
    put_names(file, first);
    for (size_t i = index + 1; (o = bench_cli_option_at(i)); i++) {
        if (!o->argument || strcmp(o->values, first->values) != 0 || is_named_before(i))
            continue;
        fputs(" | ", file);
        put_names(file, o);
    }
    fputs(")\n", file);
    if (!strcmp(first->values, "FILE")) {
        fputs("            mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n", file);
    } else {
        fputs("            mapfile -t COMPREPLY < <(compgen -W \"", file);
        if (!strcmp(first->values, "SUITE"))
            put_suites(file);
        else
            fputs(first->values, file);
        fputs("\" -- \"$current\")\n", file);
    }
    fputs("            return\n            ;;\n", file);
}

static void put_bash_options(FILE *file)
{
    const bench_cli_option *o;
    fputs("_clbench_options() {\n    case \"$1\" in\n", file);
    for (size_t c = 0; bench_cli_command_at(c); c++) {
        const char *name = bench_cli_command_at(c)->name;
        fprintf(file, "        %s) echo \"", name[0] ? name : "clbench");
        for (size_t i = 0, count = 0; (o = bench_cli_option_at(i)); i++) {
            if (!bench_cli_knows((bench_command)c, o))
                continue;
            fprintf(file, "%s--%s", count++ ? " " : "", o->name);
            if (o->letter)
                fprintf(file, " -%c", o->letter);
        }
        fputs("\" ;;\n", file);
    }
    fputs("    esac\n}\n\n", file);
}

static void put_bash_keys(FILE *file)
{
    fputs("_clbench_keys() {\n    case \"$1\" in\n", file);
    for (int op = 0; op < BENCH_OP_COUNT; op++) {
        fprintf(file, "        %s) echo \"", bench_op_text((bench_op_kind)op));
        put_keys(file, bench_op_get((bench_op_kind)op));
        fputs("\" ;;\n", file);
    }
    fputs("    esac\n}\n\n", file);
}

static void put_commands_with(FILE *file, bench_cli_words words)
{
    bool is_first = true;
    for (size_t i = 1; bench_cli_command_at(i); i++) {
        if (bench_cli_command_at(i)->words != words)
            continue;
        fprintf(file, "%s%s", is_first ? "" : " | ", bench_cli_command_at(i)->name);
        is_first = false;
    }
}

static void put_bash_words(FILE *file)
{
    fputs("    if [[ $current == -* ]]; then\n        words=$(_clbench_options \"$command\")\n"
          "    elif ((COMP_CWORD == 1)); then\n        words=\"",
          file);
    for (size_t i = 1; bench_cli_command_at(i); i++)
        fprintf(file, "%s%s", i > 1 ? " " : "", bench_cli_command_at(i)->name);
    fputs("\"\n    else\n        case \"$command\" in\n            ", file);
    put_commands_with(file, BENCH_WORDS_FILES);
    fputs(
        ")\n                mapfile -t COMPREPLY < <(compgen -f -W \"last\" -- \"$current\")\n                return\n"
        "                ;;\n            ",
        file);
    put_commands_with(file, BENCH_WORDS_HISTORY);
    fputs(") words=\"list show last\" ;;\n            ", file);
    put_commands_with(file, BENCH_WORDS_CASES);
    fputs(")\n                for ((i = COMP_CWORD - 1; i > 1; i--)); do\n"
          "                    words=$(_clbench_keys \"${COMP_WORDS[i]}\")\n"
          "                    [[ -n $words ]] && break\n                done\n"
          "                [[ -n $words && $current != *=* ]] && compopt -o nospace 2> /dev/null\n"
          "                words=\"$words ",
          file);
    put_operators(file);
    fputs("\"\n                ;;\n        esac\n    fi\n", file);
}

void bench_cli_bash(FILE *file)
{
    const bench_cli_option *o;
    fputs("# SPDX-License-Identifier: MIT\n# bash completion for clbench. Made by: clbench --generate bash. "
          "Edit bench/cli/table.c.\n\n",
          file);
    put_bash_options(file);
    put_bash_keys(file);
    fputs("_clbench() {\n    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local command=${COMP_WORDS[1]} words=\"\" i\n    COMPREPLY=()\n"
          "    [[ $command == -* || $COMP_CWORD == 1 ]] && command=clbench\n    case \"$previous\" in\n",
          file);
    for (size_t i = 0; (o = bench_cli_option_at(i)); i++) {
        // --json is a file for some commands and a flag for others: a file is offered.
        if (o->argument && o->values[0] && is_first_of_values(i))
            put_values(file, i);
    }
    fputs("    esac\n", file);
    put_bash_words(file);
    fputs("    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n}\n\ncomplete -F _clbench clbench\n",
          file);
}

// ---- zsh ----

// Within an argument of _arguments, in single quotes.
static void put_quoted(FILE *file, const char *text)
{
    for (; *text; text++) {
        if (strchr(":[]", *text))
            fputc('\\', file);
        fputs(*text == '\'' ? "'\\''" : (char[]){*text, '\0'}, file);
    }
}

static void put_zsh_option(FILE *file, const bench_cli_option *o)
{
    const bool repeats = o->kind == BENCH_OPTION_DEVICE || o->kind == BENCH_OPTION_MERGED;
    fputs("                ", file);
    if (o->letter)
        fprintf(file, "%s{-%c,--%s}'", repeats ? "'*'" : "", o->letter, o->name);
    else
        fprintf(file, "'%s--%s", repeats ? "*" : "", o->name);
    fputc('[', file);
    put_quoted(file, o->help);
    fputc(']', file);
    if (o->argument) {
        fprintf(file, ":%s:", o->name);
        if (!strcmp(o->values, "FILE"))
            fputs("_files", file);
        else if (!strcmp(o->values, "SUITE") || o->values[0]) {
            fputc('(', file);
            if (!strcmp(o->values, "SUITE"))
                put_suites(file);
            else
                fputs(o->values, file);
            fputc(')', file);
        }
    }
    fputs("' \\\n", file);
}

static void put_zsh_words(FILE *file, bench_cli_words words)
{
    switch (words) {
    case BENCH_WORDS_CASES:
        fputs("                '*:case:(", file);
        put_operators(file);
        fputs(")'", file);
        break;
    case BENCH_WORDS_FILES:
        fputs("                '*:result:_files'", file);
        break;
    case BENCH_WORDS_HISTORY:
        fputs("                '*:what:(list show last)'", file);
        break;
    case BENCH_WORDS_NONE:
        fputs("                && return", file);
        break;
    }
    fputs("\n            ;;\n", file);
}

static void put_zsh_command(FILE *file, size_t index)
{
    const bench_cli_command *command = bench_cli_command_at(index);
    const bench_cli_option *o;
    fprintf(file, "        %s)\n            _arguments -S \\\n", command->name[0] ? command->name : "*");
    for (size_t i = 0; (o = bench_cli_option_at(i)); i++) {
        if (bench_cli_knows((bench_command)index, o))
            put_zsh_option(file, o);
    }
    put_zsh_words(file, command->words);
}

void bench_cli_zsh(FILE *file)
{
    fputs("#compdef clbench\n# SPDX-License-Identifier: MIT\n"
          "# zsh completion for clbench. Made by: clbench --generate zsh. Edit bench/cli/table.c.\n\n"
          "_clbench() {\n    local -a commands\n    commands=(\n",
          file);
    for (size_t i = 1; bench_cli_command_at(i); i++) {
        fprintf(file, "        '%s:", bench_cli_command_at(i)->name);
        put_quoted(file, bench_cli_command_at(i)->help);
        fputs("'\n", file);
    }
    fputs("    )\n    if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n        _describe command commands\n"
          "        return\n    fi\n    local command=$words[2]\n    if [[ $command != -* ]]; then\n"
          "        shift words\n        ((CURRENT--))\n    fi\n"
          "    case $command in\n",
          file);
    for (size_t i = 1; bench_cli_command_at(i); i++)
        put_zsh_command(file, i);
    put_zsh_command(file, BENCH_COMMAND_STANDARD); // the last one: it takes whatever is left
    fputs("    esac\n}\n\n_clbench \"$@\"\n", file);
}
