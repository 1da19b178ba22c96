// SPDX-License-Identifier: MIT
#define _DEFAULT_SOURCE // syscall()
#include "os/amx.h"

#include <stddef.h>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

bool husk__cpu_has_amx(void)
{
    enum { AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25, ALL = AMX_BF16 | AMX_TILE | AMX_INT8 };
    unsigned a, b, c, d; // leaf 7's EDX
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & ALL) == ALL;
}

// Linux 5.16: https://docs.kernel.org/arch/x86/xstate.html
const char *husk__permit_amx(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0
               ? NULL
               : "the operating system gives no permission for tile data";
}

#else
bool husk__cpu_has_amx(void)
{
    return false;
}

const char *husk__permit_amx(void)
{
    return "permission for tile data is asked for on Linux alone";
}
#endif
