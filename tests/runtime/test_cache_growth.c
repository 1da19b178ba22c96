// SPDX-License-Identifier: MIT
// ctest: timeout=60 with=cache_folder,cache_program
// A driver that writes more or less of a binary than it has announced, as PoCL does when another process builds the
// same program meanwhile: nothing is overwritten, and what is not whole is not kept.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <husk/opencl.h>

#include "cache_folder.h"
#include "cache_program.h"
#include "support/environment.h"
#include "support/support.h"

enum { MOST = 8 << 20 };

typedef enum loss { LOSES_NOTHING, LOSES_A_BYTE, LOSES_HALF, LOSES_ALL, LOSSES } loss;

static size_t announced, grows_by;
static loss loses;
static bool announces_less; // once the binary has been handed out
static bool is_handed_out;
static int ending = -1, before; // the binary's last byte, -1: its own; and what lay there before

static size_t written(void)
{
    switch (loses) {
    case LOSES_A_BYTE:
        return announced - 1;
    case LOSES_HALF:
        return announced / 2;
    case LOSES_ALL:
        return 0;
    default:
        return announced;
    }
}

// From memory of the test's: what is not written has to stay as it was.
static void hand_out(const unsigned char *whole, unsigned char *binary)
{
    ck_assert_msg(malloc_usable_size(binary) >= announced + grows_by, "%zu bytes are written past %zu", grows_by,
                  malloc_usable_size(binary));
    before = binary[announced - 1];
    memcpy(binary, whole, written());
    memset(binary + announced, 0x5a, grows_by);
    if (ending >= 0)
        binary[announced - 1] = (unsigned char)ending;
    is_handed_out = true;
}

/* The static library in this program finds this one first. */
cl_int clGetProgramInfo(cl_program program, cl_program_info name, size_t bytes, void *value, size_t *needed)
{
    cl_int (*real)(cl_program, cl_program_info, size_t, void *, size_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "clGetProgramInfo");
    if (name == CL_PROGRAM_BINARIES && value) {
        unsigned char *whole = calloc(1, announced + MOST);
        ck_assert_ptr_nonnull(whole);
        const cl_int code = real(program, name, bytes, &whole, needed);
        if (code == CL_SUCCESS)
            hand_out(whole, *(unsigned char **)value);
        free(whole);
        return code;
    }
    const cl_int code = real(program, name, bytes, value, needed);
    if (code == CL_SUCCESS && name == CL_PROGRAM_BINARY_SIZES && value) {
        announced = *(size_t *)value;
        *(size_t *)value -= is_handed_out && announces_less;
        is_handed_out = false;
    }
    return code;
}

static cache_folder folder;

static void setup(void)
{
    grows_by = 0;
    loses = LOSES_NOTHING;
    announces_less = false;
    ending = -1;
    cache_folder_open(&folder);
    cache_program_write(&folder, 42);
}

static void teardown(void)
{
    test_restore_environment();
    cache_folder_close(&folder);
}

static bool is_kept(char path[400])
{
    is_handed_out = false;
    cache_program_expect_build(folder.cache, "-DEXTRA=1", 43);
    return cache_folder_entries(&folder, path, 400) == 1;
}

START_TEST(a_binary_that_grew_is_not_kept)
{
    static const size_t grown[] = {1, 4096, MOST};
    char path[400];
    for (size_t i = 0; i < sizeof grown / sizeof *grown; i++) {
        grows_by = grown[i];
        ck_assert_msg(!is_kept(path), "%zu bytes behind it", grows_by);
    }
}
END_TEST

START_TEST(a_binary_that_shrank_is_not_kept)
{
    static const char *const names[LOSSES] = {"none", "one", "half", "all"};
    char path[400];
    for (loses = LOSES_A_BYTE; loses < LOSSES; loses++)
        ck_assert_msg(!is_kept(path), "%s of its %zu bytes lacking", names[loses], announced);
    loses = LOSES_NOTHING;
    announces_less = true; // a file of it went meanwhile, and another one came
    ck_assert(!is_kept(path));
}
END_TEST

static int last_byte(const char *path)
{
    FILE *entry = fopen(path, "rb"); // the binary is the last thing in it
    ck_assert_ptr_nonnull(entry);
    ck_assert_int_eq(fseek(entry, -1, SEEK_END), 0);
    const int byte = fgetc(entry);
    fclose(entry);
    return byte;
}

START_TEST(a_whole_binary_is_kept_whatever_it_ends_with)
{
    enum { MARKS = 2 };
    char path[400];
    ck_assert(is_kept(path));
    cache_program_expect_load(folder.cache, "-DEXTRA=1", 43);
    for (int i = 0; i < MARKS; i++) { // with what lay there before it was written, of all things
        ck_assert_int_eq(unlink(path), 0);
        ending = before;
        ck_assert_msg(is_kept(path), "a binary that ends with %d", ending);
        ck_assert_int_eq(last_byte(path), ending);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache_growth");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_binary_that_grew_is_not_kept);
    tcase_add_test(tests, a_binary_that_shrank_is_not_kept);
    tcase_add_test(tests, a_whole_binary_is_kept_whatever_it_ends_with);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
