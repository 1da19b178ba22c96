// SPDX-License-Identifier: MIT
#include "os/library.h"

#include <dlfcn.h>
#include <stddef.h>

const char *husk__try_library(const char *name)
{
    void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
        const char *reason = dlerror();
        return reason ? reason : name;
    }
    dlclose(handle);
    return NULL;
}
