// SPDX-License-Identifier: MIT
#include "spec/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system/input.h"

enum { LONGEST_HEADER = 65535 };

// The value of a key in the header, a Python dict of three: what follows "'key':" and blanks; NULL.
static const char *find_key(const char *header, const char *key)
{
    char quoted[40];
    snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *at = strstr(header, quoted);
    if (!at)
        return NULL;
    for (at += strlen(quoted); *at == ' '; at++)
        ;
    return at;
}

static const char *type_of(bench_element element)
{
    static const char *const types[] = {
        [BENCH_ELEMENT_CHAR] = "i1",   [BENCH_ELEMENT_UCHAR] = "u1",  [BENCH_ELEMENT_SHORT] = "i2",
        [BENCH_ELEMENT_USHORT] = "u2", [BENCH_ELEMENT_INT] = "i4",    [BENCH_ELEMENT_UINT] = "u4",
        [BENCH_ELEMENT_LONG] = "i8",   [BENCH_ELEMENT_ULONG] = "u8",  [BENCH_ELEMENT_HALF] = "f2",
        [BENCH_ELEMENT_FLOAT] = "f4",  [BENCH_ELEMENT_DOUBLE] = "f8",
    };
    return types[element];
}

// The product of "(3, 4)"; -1: this is no shape, or it is too large.
static int64_t count_of(const char *shape)
{
    int64_t count = 1;
    if (*shape != '(')
        return -1;
    for (const char *at = shape + 1; *at != ')';) {
        int64_t extent = 0;
        if (*at < '0' || *at > '9')
            return -1;
        for (; *at >= '0' && *at <= '9'; at++) {
            extent = 10 * extent + (*at - '0');
            if (extent > ((int64_t)1 << 40))
                return -1;
        }
        if (count && extent > ((int64_t)1 << 40) / count)
            return -1;
        count *= extent;
        while (*at == ',' || *at == ' ')
            at++;
    }
    return count;
}

static bool check_header(const char *path, const char *header, bench_element element, int64_t count,
                         char reason[BENCH_REASON_TEXT])
{
    const char *type = find_key(header, "descr"), *order = find_key(header, "fortran_order"),
               *shape = find_key(header, "shape");
    if (!type || !order || !shape || *type != '\'')
        return bench_explain(reason, BENCH_REASON_TEXT, "%.200s: its header lacks descr, fortran_order or shape", path);
    const char order_of_bytes = type[1];
    const bool is_little = order_of_bytes == '<' || order_of_bytes == '|';
    if (!is_little || strncmp(type + 2, type_of(element), 2) != 0 || type[4] != '\'')
        return bench_explain(reason, BENCH_REASON_TEXT, "%.200s: its elements are %.6s, and %s (<%s) is wanted", path,
                             type, bench_element_name(element), type_of(element));
    if (strncmp(order, "False", 5) != 0)
        return bench_explain(reason, BENCH_REASON_TEXT, "%.200s: it is in Fortran's order", path);
    const int64_t there = count_of(shape);
    if (there != count)
        return bench_explain(reason, BENCH_REASON_TEXT, "%.200s: it has %lld elements, and %lld are wanted", path,
                             (long long)there, (long long)count);
    return true;
}

bool bench_npy_parse(const char *path, const void *data, size_t size, bench_element element, int64_t count, void *to,
                     char reason[BENCH_REASON_TEXT])
{
    const unsigned char *bytes = data;
    const size_t wanted = (size_t)count * bench_element_bytes(element);
    if (size < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0 || bytes[6] < 1 || bytes[6] > 3)
        return bench_explain(reason, BENCH_REASON_TEXT, "%.200s is no file in NumPy's format", path);
    const bool is_first = bytes[6] == 1;
    const size_t start = is_first ? 10 : 12;
    const size_t length =
        (size_t)bytes[8] | (size_t)bytes[9] << 8 | (is_first ? 0 : (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24);
    if (length > LONGEST_HEADER || start + length > size)
        return bench_explain(reason, BENCH_REASON_TEXT, "%.200s: its header does not end", path);
    char *header = malloc(length + 1);
    if (!header)
        return bench_explain(reason, BENCH_REASON_TEXT, "host memory does not suffice");
    memcpy(header, bytes + start, length);
    header[length] = '\0';
    const bool is_right = check_header(path, header, element, count, reason);
    free(header);
    if (!is_right) {
        bench_clean_line(reason);
        return false;
    }
    if (size - start - length != wanted)
        return bench_explain(reason, BENCH_REASON_TEXT,
                             "%.200s: it has %zu bytes behind its header, and %zu are wanted", path,
                             size - start - length, wanted);
    memcpy(to, bytes + start + length, wanted);
    return true;
}

bool bench_npy_read(const char *path, bench_element element, int64_t count, void *data, char reason[BENCH_REASON_TEXT])
{
    size_t size = 0;
    const size_t most = (size_t)count * bench_element_bytes(element) + LONGEST_HEADER + 12;
    char *bytes = bench_input_read(path, most, &size, reason);
    if (!bytes)
        return false;
    const bool is_read = bench_npy_parse(path, bytes, size, element, count, data, reason);
    free(bytes);
    return is_read;
}
