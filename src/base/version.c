// SPDX-License-Identifier: MIT
#include <husk/version.h>

const char *husk_version(void)
{
    return HUSK_VERSION_STRING;
}
