// SPDX-License-Identifier: MIT
#include "spec/read.h"

#include <stdlib.h>
#include <string.h>

#include "spec/t1.h"
#include "system/input.h"

enum { LARGEST_FILE = 4 << 20 };

static bool parse(const char *path, const char *text, bench_description *description, char reason[BENCH_REASON_TEXT])
{
    const bool is_json = text[strspn(text, " \t\r\n")] == '{';
    return is_json ? bench_t1_parse(path, text, strlen(text), description, reason)
                   : bench_description_parse(path, text, description, reason);
}

bool bench_description_read(const char *path, bench_description *description, char reason[BENCH_REASON_TEXT])
{
    size_t size = 0;
    *description = (bench_description){.count = 0};
    char *text = bench_input_read(path, LARGEST_FILE, &size, reason);
    if (!text)
        return false;
    const bool is_text = !memchr(text, '\0', size);
    const bool is_read =
        is_text ? parse(path, bench_input_text(text, size), description, reason)
                : bench_explain(reason, BENCH_REASON_TEXT, "%.200s: it is no text: it has zero bytes", path);
    free(text);
    return is_read;
}
