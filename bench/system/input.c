// SPDX-License-Identifier: MIT
#include "system/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/text.h"

#define MARK "\xef\xbb\xbf"

static bool explain_size(const char *path, double bytes, size_t limit, char reason[BENCH_REASON_TEXT])
{
    char size[32] = "", most[32];
    bench_format_bytes((double)limit, most, sizeof most);
    if (bytes > 0)
        bench_format_bytes(bytes, size, sizeof size);
    return bench_explain(reason, BENCH_REASON_TEXT, "%.300s: it has %s%smore than %s, the most that is read", path,
                         size, bytes > 0 ? ", and that is " : "", most);
}

// More and more of a file until its end. NULL: reason.
static char *read_open(FILE *file, const char *path, size_t most, size_t *size, char reason[BENCH_REASON_TEXT])
{
    size_t capacity = 1 << 16, got = 0;
    char *text = malloc(capacity), *larger;
    *size = 0;
    while (text && (got = fread(text + *size, 1, capacity - *size, file)) > 0) {
        *size += got;
        if (*size > most) {
            explain_size(path, 0, most, reason);
            free(text);
            return NULL;
        }
        if (*size < capacity)
            continue;
        larger = realloc(text, capacity *= 2);
        if (!larger)
            free(text);
        text = larger;
    }
    if (text && !ferror(file)) {
        text[*size] = '\0'; // fewer bytes than there is room for, or the loop would have gone on
        return text;
    }
    bench_explain(reason, BENCH_REASON_TEXT, "%.300s: %s", path, strerror(text ? errno : ENOMEM));
    free(text);
    return NULL;
}

char *bench_input_read(const char *path, size_t most, size_t *size, char reason[BENCH_REASON_TEXT])
{
    struct stat about;
    FILE *file = fopen(path, "rb");
    if (!file) {
        bench_explain(reason, BENCH_REASON_TEXT, "%.300s: %s", path, strerror(errno));
        return NULL;
    }
    char *text = NULL;
    const bool is_known = fstat(fileno(file), &about) == 0;
    if (is_known && S_ISDIR(about.st_mode))
        bench_explain(reason, BENCH_REASON_TEXT, "%.300s: %s", path, strerror(EISDIR));
    else if (is_known && S_ISREG(about.st_mode) && (double)about.st_size > (double)most)
        explain_size(path, (double)about.st_size, most, reason);
    else
        text = read_open(file, path, most, size, reason);
    fclose(file);
    return text;
}

const char *bench_input_text(const char *text, size_t size)
{
    const size_t length = strlen(MARK);
    return size >= length && !memcmp(text, MARK, length) ? text + length : text;
}
