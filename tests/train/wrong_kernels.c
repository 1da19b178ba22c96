// SPDX-License-Identifier: MIT
#include "train/wrong_kernels.h"

#include <stdio.h>
#include <string.h>

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
