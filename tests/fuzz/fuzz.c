// SPDX-License-Identifier: MIT
#include "fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_expect(bool condition, const char *format, ...)
{
    if (condition)
        return;
    va_list arguments;
    va_start(arguments, format);
    fputs("fuzz: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

void fuzz_expect_reason(const char *reason, size_t capacity)
{
    fuzz_expect(reason[0] != '\0', "a refusal without a word");
    fuzz_expect(memchr(reason, 0, capacity) != NULL, "a reason that does not end");
}

void fuzz_expect_clean(const char *text)
{
    for (const char *at = text; *at; at++)
        fuzz_expect((unsigned char)*at >= ' ' && *at != 0x7f, "a control character (%d) in: %s", (unsigned char)*at,
                    text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    fuzz_target(text, size);
    free(text);
    return 0;
}
