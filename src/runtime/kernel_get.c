// SPDX-License-Identifier: MIT
// Kernels for everybody: whether their programs flush denormal numbers may have to be measured, by kernels.

#include "runtime/launch.h"
#include "runtime/program.h"
#include "runtime/quirk.h"

husk_status husk__kernel_get(husk_context *context, const char *file, const char *options, const char *name,
                             const husk__kernel **kernel, const husk__scope *scope)
{
    const char *const own = options ? options : "";
    *kernel = husk__kernel_find(context, file, own, name);
    if (*kernel)
        return HUSK_OK;
    const bool flushes = husk__flushes_denormals(context, file);
    return husk__kernel_make(context, file, own, name, flushes, kernel, scope);
}
