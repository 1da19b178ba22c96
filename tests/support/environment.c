// SPDX-License-Identifier: MIT
#include "support/environment.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { VARIABLES = 16 };

static struct {
    char *name, *value; /* value NULL: it was not set */
} kept[VARIABLES];
static int count;

static void put(const char *name, const char *value)
{
    ck_assert_int_eq(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

void test_setenv(const char *name, const char *value)
{
    int known = 0;
    while (known < count && strcmp(kept[known].name, name) != 0)
        known++;
    if (known == count) {
        ck_assert_int_lt(count, VARIABLES);
        const char *before = getenv(name);
        kept[count].name = strdup(name);
        kept[count].value = before ? strdup(before) : NULL;
        count++;
    }
    put(name, value);
}

void test_restore_environment(void)
{
    while (count > 0) {
        count--;
        put(kept[count].name, kept[count].value);
        free(kept[count].name);
        free(kept[count].value);
    }
}
