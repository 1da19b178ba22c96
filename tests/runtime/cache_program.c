// SPDX-License-Identifier: MIT
#include "cache_program.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "runtime/launch.h"
#include "support/environment.h"
#include "support/support.h"

void cache_program_write(const cache_folder *folder, int number)
{
    char kernels[64], path[100];
    snprintf(kernels, sizeof kernels, "%s/kernels", folder->path);
    snprintf(path, sizeof path, "%s/test_cached.cl", kernels);
    ck_assert(mkdir(kernels, 0700) == 0 || errno == EEXIST);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "__kernel void husk_test_cached(__global int *x, long offset) { x[offset] = %d + EXTRA; }\n", number);
    fclose(file);
    test_setenv("HUSK_KERNEL_DIR", kernels);
}

husk_program_stats cache_program_use(const char *cache, husk_cache_mode mode, const char *options, int32_t expected)
{
    husk_error error = {0};
    husk__scope scope = {"husk_test", &error};
    husk_context *context = NULL;
    husk_context_params params = HUSK_CONTEXT_PARAMS(.cache = mode, .cache_directory = cache);
    husk_queue *queue = NULL;
    husk_buffer *buffer = NULL;
    const husk__kernel *kernel = NULL;
    husk__range range = {{1, 1, 1}, {1, 1, 1}};
    int32_t seen = 0;
    husk_program_stats stats;
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
    test_ok_error(husk_queue_create(context, NULL, &queue, &error), &error);
    test_ok_error(husk_buffer_create(context, 4, &buffer, &error), &error);
    test_ok_error(husk__kernel_get(context, "test_cached.cl", options, "husk_test_cached", &kernel, &scope), &error);
    test_ok_error(HUSK__LAUNCH(queue, kernel, &range, &scope, HUSK__ARG_BUFFER(buffer, 0, 4)), &error);
    test_ok_error(husk_buffer_read(queue, buffer, 0, 4, &seen), husk_queue_error(queue));
    ck_assert_int_eq(seen, expected);
    husk_context_program_stats(context, &stats);
    husk_buffer_release(buffer);
    husk_queue_release(queue);
    husk_context_release(context);
    return stats;
}

void cache_program_expect_build(const char *cache, const char *options, int32_t expected)
{
    husk_program_stats stats = cache_program_use(cache, HUSK_CACHE_ON, options, expected);
    ck_assert_uint_eq(stats.builds, 1);
    ck_assert_uint_eq(stats.cache_loads, 0);
}

void cache_program_expect_load(const char *cache, const char *options, int32_t expected)
{
    husk_program_stats stats = cache_program_use(cache, HUSK_CACHE_ON, options, expected);
    ck_assert_uint_eq(stats.builds, 0);
    ck_assert_uint_eq(stats.cache_loads, 1);
}
