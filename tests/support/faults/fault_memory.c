// SPDX-License-Identifier: MIT
#include "support/faults/fault_memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t most);
int __real_posix_memalign(void **memory, size_t alignment, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
char *__real_realpath(const char *path, char *resolved);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t most);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
char *__wrap_realpath(const char *path, char *resolved);
void __wrap_free(void *memory);

static atomic_long allocations, fail_allocation; // since armed; the one that fails, 0: none
static atomic_long blocks;                       // that were allocated and not freed; drivers' threads free some, too

void fault_plan_allocation(long number)
{
    atomic_store(&allocations, 0);
    atomic_store(&fail_allocation, number);
}

long fault_allocations(void)
{
    return atomic_load(&allocations);
}

long fault_blocks(void)
{
    return atomic_load(&blocks);
}

static bool allocation_fails(void)
{
    const bool fails = atomic_fetch_add(&allocations, 1) + 1 == atomic_load(&fail_allocation);
    if (fails)
        errno = ENOMEM;
    return fails;
}

static void *counted(void *made)
{
    atomic_fetch_add(&blocks, made != NULL);
    return made;
}

void *__wrap_malloc(size_t bytes)
{
    return allocation_fails() ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return allocation_fails() ? NULL : counted(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *old, size_t bytes)
{
    if (allocation_fails())
        return NULL;
    return old ? __real_realloc(old, bytes) : counted(__real_realloc(old, bytes));
}

char *__wrap_strdup(const char *text)
{
    return allocation_fails() ? NULL : counted(__real_strdup(text));
}

char *__wrap_strndup(const char *text, size_t most)
{
    return allocation_fails() ? NULL : counted(__real_strndup(text, most));
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    if (allocation_fails())
        return ENOMEM;
    const int answer = __real_posix_memalign(memory, alignment, bytes);
    atomic_fetch_add(&blocks, answer == 0);
    return answer;
}

// The data of tests alone.
void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return counted(__real_aligned_alloc(alignment, bytes));
}

char *__wrap_realpath(const char *path, char *resolved)
{
    if (resolved)
        return __real_realpath(path, resolved);
    return allocation_fails() ? NULL : counted(__real_realpath(path, NULL));
}

void __wrap_free(void *memory)
{
    atomic_fetch_sub(&blocks, memory != NULL);
    __real_free(memory);
}
