// SPDX-License-Identifier: MIT
#include "os/environment.h"

#include <stdlib.h>

const char *husk__environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}
