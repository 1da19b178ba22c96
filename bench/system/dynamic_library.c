// SPDX-License-Identifier: MIT
#include "system/dynamic_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *bench_library_open(const char *const *names, char reason[BENCH_REASON_TEXT])
{
    void *library = NULL;
    snprintf(reason, BENCH_REASON_TEXT, "no library to open");
    for (size_t i = 0; names[i] && !library; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            const char *why = dlerror();
            snprintf(reason, BENCH_REASON_TEXT, "%s", why ? why : names[i]);
        }
    }
    return library;
}

bool bench_library_function(void *library, const char *name, void *function, char reason[BENCH_REASON_TEXT])
{
    void *address = dlsym(library, name);
    if (!address)
        return bench_explain(reason, BENCH_REASON_TEXT, "the library has no function %s", name);
    memcpy(function, &address, sizeof address);
    return true;
}

void bench_environment_default(const char *name, const char *value)
{
    setenv(name, value, 0);
}
