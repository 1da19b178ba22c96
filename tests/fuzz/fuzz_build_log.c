// SPDX-License-Identifier: MIT
// What a driver's compiler says of a program, in which each "<kernel>:NUMBER" becomes a place in a file where that line
// of the program is known to be from one. Mark by mark, from a table of the program's lines, it becomes the same text.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "runtime/kernel_source.h"

static const char program[] = "#define PRELUDE 1\n"
                              "#line 1 \"copy.cl\"\n"
                              "// a comment\n"
                              "#line 1 \"lib/walk.clh\"\n"
                              "int walk(void);\n"
                              "int more(void);\n"
                              "#line 3 \"copy.cl\"\n"
                              "kernel void husk_copy(void) {}\n";

// What stands in place of the mark with a number; NULL: it stays. Lines after the last are the last file's.
static const char *place_of(long number)
{
    static const char *const places[] = {
        NULL,        NULL,       "copy.cl:0", "copy.cl:1", "lib/walk.clh:0", "lib/walk.clh:1", "lib/walk.clh:2",
        "copy.cl:2", "copy.cl:3"};
    enum { PLACES = sizeof places / sizeof *places };
    if (number < 0)
        return NULL;
    return places[number < PLACES ? number : PLACES - 1];
}

static char *expected_of(const char *log)
{
    static const char mark[] = "<kernel>:";
    const size_t length = strlen(mark);
    char *text = malloc(2 * strlen(log) + 1); // a place is no longer than twice a mark with a digit
    fuzz_expect(text != NULL, "memory is short");
    char *to = text;
    while (*log) {
        if (strncmp(log, mark, length) != 0) {
            *to++ = *log++;
            continue;
        }
        char *end;
        const char *place = place_of(strtol(log + length, &end, 10));
        const size_t size = place ? strlen(place) : (size_t)(end - log);
        memcpy(to, place ? place : log, size);
        to += size;
        log = end;
    }
    *to = '\0';
    return text;
}

void fuzz_target(const char *text, size_t size)
{
    const husk__text source = {.bytes = (char *)(uintptr_t)program, .size = sizeof program - 1};
    char *log = malloc(size + 1);
    fuzz_expect(log != NULL, "memory is short");
    memcpy(log, text, size);
    log[size] = '\0';
    char *expected = expected_of(log);
    char *placed = husk__kernel_log_by_files(&source, log);
    fuzz_expect(!strcmp(placed, expected), "\"%s\" is not \"%s\"", placed, expected);
    free(placed);
    free(expected);
}
