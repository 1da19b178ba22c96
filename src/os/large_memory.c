// SPDX-License-Identifier: MIT
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE // madvise
#endif
#include "os/large_memory.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

// Pages of x86-64 and of most others beyond the smallest.
enum { LARGE_PAGE = 2 << 20 };

void *husk__large_memory(uint64_t bytes)
{
    if (bytes > SIZE_MAX - LARGE_PAGE)
        return NULL;
    const size_t size = ((size_t)bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    void *memory = NULL;
    if (posix_memalign(&memory, LARGE_PAGE, size) != 0)
        return NULL;
#ifdef MADV_HUGEPAGE
    (void)madvise(memory, size, MADV_HUGEPAGE); // a hint: small pages serve as well
#endif
    return memory;
}
