// SPDX-License-Identifier: MIT
// /proc/cpuinfo, and the text that its processor's model is appended to: the first byte says how long that
// is, the second how much room there is. Line by line, by a second opinion, it becomes the same text.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "os/cpu_model.h"

enum { MOST_ROOM = 256 };

// Appends a byte as long as one more, and the zero, have room.
static void put(char *text, size_t size, size_t *used, char c)
{
    if (*used + 1 < size) {
        text[(*used)++] = c;
        text[*used] = '\0';
    }
}

// "NAME \t: VALUE", the first such line's. NULL where this one is another.
static const char *value_of(const char *line, const char *end, const char *name)
{
    for (; *name; name++, line++)
        if (line == end || *line != *name)
            return NULL;
    while (line < end && (*line == ' ' || *line == '\t'))
        line++;
    if (line == end || *line++ != ':')
        return NULL;
    while (line < end && *line == ' ')
        line++;
    return line;
}

static void append(const char *info, const char *name, char *text, size_t size, size_t *used)
{
    const char *past = info + strlen(info);
    for (const char *line = info, *end; line < past; line = end + 1) {
        for (end = line; end < past && *end != '\n';)
            end++;
        const char *value = value_of(line, end, name);
        if (!value)
            continue;
        put(text, size, used, '/');
        while (value < end)
            put(text, size, used, *value++);
        return;
    }
}

void fuzz_target(const char *text, size_t size)
{
    static const char *const names[] = {"cpu family", "model", "CPU implementer", "CPU part"};
    if (size < 2)
        return;
    const size_t room = 1 + (unsigned char)text[1], length = (unsigned char)text[0] % room;
    char *made = malloc(room), expected[MOST_ROOM];
    fuzz_expect(made != NULL, "memory is short");
    memset(made, 'd', length);
    made[length] = '\0';
    memcpy(expected, made, length + 1);
    husk__cpu_model(text + 2, made, room);
    size_t used = length;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        append(text + 2, names[i], expected, room, &used);
    fuzz_expect(memchr(made, 0, room) != NULL, "a text that does not end");
    fuzz_expect(!strcmp(made, expected), "\"%s\" is not \"%s\"", made, expected);
    fuzz_expect(!strchr(made, '\n'), "a line's end in \"%s\"", made);
    free(made);
}
