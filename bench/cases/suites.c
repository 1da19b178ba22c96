// SPDX-License-Identifier: MIT
#include "cases/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/list.h"
#include "cases/op_lists.h"
#include "common/embedded.h"
#include "common/text.h"
#include "system/input.h"

#define FOLDER     "suites/"
#define MAX_SUITES 64
#define LARGEST_FILE ((size_t)16 << 20) // of a list of cases

const char *bench_suite_name(size_t index)
{
    static char names[MAX_SUITES][64]; // filled once with the same texts whoever asks
    size_t count = 0;
    for (const bench_embedded_file *file = bench_embedded_files; file->name && count < MAX_SUITES; file++) {
        if (strncmp(file->name, FOLDER, strlen(FOLDER)))
            continue;
        const char *name = file->name + strlen(FOLDER);
        snprintf(names[count], sizeof names[count], "%.*s", (int)strcspn(name, "."), name);
        if (count++ == index)
            return names[index];
    }
    return NULL;
}

// Cut "* 4" off the end of a case; 1 when it is not there, 0 when it is wrong. A star within a word is a range's.
static int64_t take_count(char *line)
{
    char *star = strchr(line, '*');
    while (star && star > line && star[-1] != ' ' && star[-1] != '\t')
        star = strchr(star + 1, '*');
    if (!star)
        return 1;
    *star = '\0';
    char *number = star + 1;
    while (*number == ' ')
        number++;
    size_t length = strcspn(number, " \t\r");
    if (strspn(number + length, " \t\r") != strlen(number + length))
        return 0;
    number[length] = '\0';
    int64_t count = 0;
    return bench_parse_integer(number, &count) && count > 0 ? count : 0;
}

static bool parse_line(char *line, bench_suite *suite, char reason[BENCH_REASON_TEXT])
{
    char *comment = strchr(line, '#');
    if (comment) {
        *comment++ = '\0';
        while (*comment == ' ')
            comment++;
        if (!suite->title[0] && !suite->count && strncmp(comment, "SPDX", 4))
            snprintf(suite->title, sizeof suite->title, "%s", comment);
    }
    if (strspn(line, " \t\r") == strlen(line))
        return true;
    int64_t count = take_count(line);
    if (!count)
        return bench_explain(reason, BENCH_REASON_TEXT, "after '*' a number is wanted: how often the layer occurs");
    return bench_case_list_add(line, suite, count, reason);
}

bool bench_suite_parse(const char *text, const char *source, bench_suite *suite, char reason[BENCH_REASON_TEXT])
{
    memset(suite, 0, sizeof *suite);
    char *copy = bench_copy_text(bench_input_text(text, strlen(text))), *line = copy;
    bool good = copy != NULL;
    for (int number = 1; good && line; number++) {
        char why[BENCH_REASON_TEXT] = "";
        char *next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        good = parse_line(line, suite, why);
        if (!good)
            bench_explain(reason, BENCH_REASON_TEXT, "%.200s, line %d: %.700s", source, number, why);
        line = next;
    }
    free(copy);
    if (!good)
        bench_suite_free(suite);
    return good;
}

const char *bench_suite_text(const char *name)
{
    char file[96];
    snprintf(file, sizeof file, FOLDER "%.64s.txt", name);
    return bench_embedded_text(file);
}

// The text of a suite, and behind it the cases that operators' own files have for it.
static char *with_lists(const char *text, const char *name)
{
    char *cases = bench_op_lists(name), *whole = NULL;
    if (cases && (whole = malloc(strlen(text) + strlen(cases) + 1)))
        strcat(strcpy(whole, text), cases);
    free(cases);
    return whole;
}

bool bench_suite_load(const char *name, bench_suite *suite, char reason[BENCH_REASON_TEXT])
{
    char file[96];
    snprintf(file, sizeof file, FOLDER "%.64s.txt", name);
    const char *text = bench_suite_text(name);
    if (text) {
        char *whole = with_lists(text, name);
        const bool good = whole ? bench_suite_parse(whole, file, suite, reason)
                                : bench_explain(reason, BENCH_REASON_TEXT, "memory is short");
        free(whole);
        if (good)
            snprintf(suite->name, sizeof suite->name, "%.63s", name);
        return good;
    }
    const char *names[MAX_SUITES];
    size_t count = 0;
    while (count < MAX_SUITES && (names[count] = bench_suite_name(count)))
        count++;
    return bench_explain(reason, BENCH_REASON_TEXT, "unknown suite '%.200s'; the nearest is '%s'", name,
                         count ? bench_nearest(name, names, count) : "");
}

bool bench_suite_is_path(const char *name)
{
    return strchr(name, '/') || strstr(name, ".txt");
}

bool bench_suite_load_file(const char *path, bench_suite *suite, char reason[BENCH_REASON_TEXT])
{
    size_t size = 0;
    int line = 1;
    char *text = bench_input_read(path, LARGEST_FILE, &size, reason);
    if (!text)
        return false;
    const char *zero = memchr(text, 0, size); // text would end there, and with it the list, without a word
    for (const char *at = text; zero && at < zero; at++)
        line += *at == '\n';
    bool good =
        zero ? bench_explain(reason, BENCH_REASON_TEXT, "%.500s, line %d: a zero byte, which no text has", path, line)
             : bench_suite_parse(text, path, suite, reason);
    const char *slash = strrchr(path, '/');
    if (good)
        snprintf(suite->name, sizeof suite->name, "%.63s", slash ? slash + 1 : path);
    free(text);
    return good;
}
