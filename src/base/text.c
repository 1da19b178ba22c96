// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(husk__text *text, size_t size)
{
    if (text->failed)
        return false;
    size_t needed = text->size + size + 1;
    if (needed <= text->capacity)
        return true;
    size_t capacity = text->capacity ? text->capacity : 256;
    while (capacity < needed)
        capacity *= 2;
    char *bytes = realloc(text->bytes, capacity);
    if (!bytes)
        return text->failed = true, false;
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void husk__text_append(husk__text *text, const char *bytes, size_t size)
{
    if (!reserve(text, size))
        return;
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = 0;
}

void husk__text_format(husk__text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length >= 0 && reserve(text, (size_t)length)) {
        vsnprintf(text->bytes + text->size, (size_t)length + 1, format, again);
        text->size += (size_t)length;
    }
    va_end(again);
}

void husk__text_free(husk__text *text)
{
    free(text->bytes);
    *text = (husk__text){0};
}

char *husk__copy_string(const char *string)
{
    size_t size = strlen(string) + 1;
    char *copy = malloc(size);
    if (copy)
        memcpy(copy, string, size);
    return copy;
}

bool husk__contains_ignoring_case(const char *whole, const char *part)
{
    size_t length = strlen(part);
    for (; *whole || length == 0; ++whole) {
        size_t i = 0;
        while (i < length && whole[i] && tolower((unsigned char)whole[i]) == tolower((unsigned char)part[i]))
            ++i;
        if (i == length)
            return true;
        if (!*whole)
            break;
    }
    return false;
}

bool husk__parse_size(const char *text, uint64_t *value)
{
    if (*text < '0' || *text > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    unsigned shift = 0;
    if (*end == 'K' || *end == 'k')
        shift = 10;
    else if (*end == 'M' || *end == 'm')
        shift = 20;
    else if (*end == 'G' || *end == 'g')
        shift = 30;
    if (shift)
        ++end;
    if (errno || *end || number > UINT64_MAX >> shift)
        return false;
    *value = (uint64_t)number << shift;
    return true;
}
