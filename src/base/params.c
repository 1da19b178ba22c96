// SPDX-License-Identifier: MIT
#include "base/params.h"

#include <string.h>

husk_status husk__params_read(void *own, uint32_t own_size, const char *made_by, const void *given,
                              const husk__scope *scope)
{
    return husk__struct_read(own, own_size, made_by, given, "params", scope);
}

husk_status husk__struct_read(void *own, uint32_t own_size, const char *made_by, const void *given,
                              const char *argument, const husk__scope *scope)
{
    memset(own, 0, own_size);
    if (!given)
        return HUSK_OK;
    uint32_t size;
    memcpy(&size, given, sizeof size);
    if (size != own_size)
        return husk__reject(scope, argument, "size is %u, not %u: %s of this library's header sets it", (unsigned)size,
                            (unsigned)own_size, made_by);
    memcpy(own, given, size);
    return HUSK_OK;
}
