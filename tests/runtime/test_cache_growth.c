// SPDX-License-Identifier: MIT
// ctest: timeout=60 with=cache_folder,cache_program
// A driver that writes more of a binary than it has announced, as PoCL does when another process builds the same
// program meanwhile: nothing is overwritten, and what is not whole is not kept.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <string.h>

#include <husk/opencl.h>

#include "cache_folder.h"
#include "cache_program.h"
#include "support/environment.h"
#include "support/support.h"

enum { MOST = 8 << 20 };

static size_t grows_by, announced;

/* The static library in this program finds this one first. */
cl_int clGetProgramInfo(cl_program program, cl_program_info name, size_t bytes, void *value, size_t *needed)
{
    cl_int (*real)(cl_program, cl_program_info, size_t, void *, size_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "clGetProgramInfo");
    const cl_int code = real(program, name, bytes, value, needed);
    if (code == CL_SUCCESS && name == CL_PROGRAM_BINARY_SIZES && value)
        announced = *(size_t *)value;
    if (code == CL_SUCCESS && name == CL_PROGRAM_BINARIES && value && grows_by > 0) {
        unsigned char *binary = *(unsigned char **)value;
        ck_assert_msg(malloc_usable_size(binary) >= announced + grows_by, "%zu bytes are written past %zu", grows_by,
                      malloc_usable_size(binary));
        memset(binary + announced, 0x5a, grows_by);
    }
    return code;
}

START_TEST(a_binary_that_grew_is_not_kept)
{
    cache_folder folder;
    cache_folder_open(&folder);
    cache_program_write(&folder, 42);
    static const size_t grown[] = {1, 4096, MOST};
    for (size_t i = 0; i < sizeof grown / sizeof *grown; i++) {
        grows_by = grown[i];
        cache_program_expect_build(folder.cache, "-DEXTRA=1", 43);
        ck_assert_int_le(cache_folder_entries(&folder, NULL, 0), 0);
    }
    grows_by = 0;
    cache_program_expect_build(folder.cache, "-DEXTRA=1", 43);
    ck_assert_int_eq(cache_folder_entries(&folder, NULL, 0), 1);
    cache_program_expect_load(folder.cache, "-DEXTRA=1", 43);
    test_restore_environment();
    cache_folder_close(&folder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache_growth");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, a_binary_that_grew_is_not_kept);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
