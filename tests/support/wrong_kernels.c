// SPDX-License-Identifier: MIT
#include "support/wrong_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

void test_copy_kernels(char *folder)
{
    char command[512];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(command, sizeof command, "cp -r '%s/cl/.' '%s'", HUSK_SOURCE_DIR, folder);
    ck_assert_int_eq(system(command), 0);
}

void test_plant(const char *folder, const char *name, const char *right, const char *wrong)
{
    enum { ROOM = 1 << 17 };
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *text = calloc(1, ROOM);
    FILE *file = fopen(path, "r");
    ck_assert(text && file && fread(text, 1, ROOM - 1, file) > 0);
    fclose(file);
    char *at = strstr(text, right);
    ck_assert_msg(at, "%s has no \"%s\"", name, right);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%.*s%s%s", (int)(at - text), text, wrong, at + strlen(right));
    ck_assert_int_eq(fclose(file), 0);
    free(text);
}

void test_remove_kernels(const char *folder)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}
