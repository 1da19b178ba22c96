// SPDX-License-Identifier: MIT
#include "train/wrong_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "support/device.h"

static void keep_log(void *user, husk_log_level level, const char *text)
{
    test_log *log = user;
    char *to = level >= HUSK_LOG_WARNING ? log->warnings : log->information;
    const size_t room = level >= HUSK_LOG_WARNING ? sizeof log->warnings : sizeof log->information, used = strlen(to);
    if (level >= HUSK_LOG_INFORMATION)
        snprintf(to + used, room - used, "%s\n", text);
}

husk_context *test_logged_context(test_log *log)
{
    husk_context *context = NULL;
    husk_error error = {0};
    const husk_context_params params = HUSK_CONTEXT_PARAMS(.log = keep_log, .log_user = log);
    log->warnings[0] = log->information[0] = 0;
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
    return context;
}

void test_copy_kernels(char *folder)
{
    char command[512];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(command, sizeof command, "cp -r '%s/cl/.' '%s'", HUSK_SOURCE_DIR, folder);
    ck_assert_int_eq(system(command), 0);
}

void test_plant(const char *folder, const mistake *m)
{
    enum { ROOM = 1 << 17 };
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, m->file);
    char *text = calloc(1, ROOM);
    FILE *file = fopen(path, "r");
    ck_assert(text && file && fread(text, 1, ROOM - 1, file) > 0);
    fclose(file);
    char *at = strstr(text, m->right);
    ck_assert_msg(at, "%s has no \"%s\"", m->file, m->right);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%.*s%s%s", (int)(at - text), text, m->wrong, at + strlen(m->right));
    ck_assert_int_eq(fclose(file), 0);
    free(text);
}

void test_remove_kernels(const char *folder)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}
