// SPDX-License-Identifier: MIT
// ctest: tiers=attack timeout=60 processors=2 with=cache_folder,cache_mutation,cache_program
// The cache of binaries in whole programs: 2,000 damaged entries are built anew, with right results, and none of
// their bytes gets to the driver; many processes meet in an empty cache; processes are killed while they fill it.
// This program is also each of those processes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <husk/opencl.h>

#include "cache_folder.h"
#include "cache_mutation.h"
#include "cache_program.h"
#include "support/environment.h"
#include "support/support.h"

// ---- what the driver is given ----

static int binaries;
static const cache_entry *sound; // the entry whose binary it may be given

static bool is_of_sound_entry(const unsigned char *binary, size_t size)
{
    return sound && size > 0 && size < sound->size && memcmp(sound->at + sound->size - size, binary, size) == 0;
}

/* The static library in this program finds this one first. */
cl_program clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices,
                                     const size_t *sizes, const unsigned char **given, cl_int *status, cl_int *code)
{
    cl_program (*real)(cl_context, cl_uint, const cl_device_id *, const size_t *, const unsigned char **, cl_int *,
                       cl_int *);
    *(void **)&real = dlsym(RTLD_NEXT, "clCreateProgramWithBinary");
    binaries++;
    if (sound)
        ck_assert_msg(is_of_sound_entry(given[0], sizes[0]), "the driver was given what is not in the entry");
    return real(context, count, devices, sizes, given, status, code);
}

// ---- folders and processes ----

enum { PROGRAMS = 2 };
static const char *const options[PROGRAMS] = {"-DEXTRA=1", "-DEXTRA=2"};
static cache_folder folder;
static char builds[64];
static const char *program; // this one

static void setup(void)
{
    char own[64];
    cache_folder_open(&folder);
    cache_program_write(&folder, 42);
    snprintf(own, sizeof own, "%s/pocl", folder.path); // cold for the driver, too
    ck_assert_int_eq(mkdir(own, 0700), 0);
    test_setenv("POCL_CACHE_DIR", own);
    test_setenv("HUSK_TEST_CACHE", folder.cache);
    snprintf(builds, sizeof builds, "%s/builds", folder.path);
    test_setenv("HUSK_TEST_BUILDS", builds);
}

static void teardown(void)
{
    sound = NULL;
    test_restore_environment();
    cache_folder_close(&folder);
}

static pid_t start(void)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        execl(program, program, (char *)NULL);
        _exit(127);
    }
    ck_assert_int_gt(child, 0); // not in the child: half a message of Check's would stay of one that is killed
    return child;
}

static const char OFF[] = "off"; // in HUSK_TEST_CACHE, which names Husk's cache otherwise

// How many programs it has built is a line in the file HUSK_TEST_BUILDS.
START_TEST(one_of_many)
{
    const char *cache = getenv("HUSK_TEST_CACHE"), *path = getenv("HUSK_TEST_BUILDS");
    const husk_cache_mode mode = strcmp(cache, OFF) == 0 ? HUSK_CACHE_OFF : HUSK_CACHE_ON;
    int built = 0;
    for (int i = 0; i < PROGRAMS; ++i)
        built += (int)cache_program_use(mode == HUSK_CACHE_ON ? cache : NULL, mode, options[i], 43 + i).builds;
    FILE *file = fopen(path, "a");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%d\n", built);
    ck_assert_int_eq(fclose(file), 0);
}
END_TEST

static void expect_all_loaded(void)
{
    ck_assert_int_eq(cache_folder_entries(&folder, NULL, 0), PROGRAMS);
    for (int i = 0; i < PROGRAMS; ++i)
        cache_program_expect_load(folder.cache, options[i], 43 + i);
}

// ---- the attacks ----

START_TEST(no_damaged_binary_reaches_the_driver)
{
    enum { MUTATIONS = 2000 };
    char first[400], second[400];
    int given_damaged = 0;
    husk_ref_random draw = {.seed = 22};
    cache_program_expect_build(folder.cache, options[1], 44);
    ck_assert_int_eq(cache_folder_entries(&folder, second, sizeof second), 1);
    cache_entry other = cache_entry_read(second);
    ck_assert_int_eq(unlink(second), 0);
    cache_program_expect_build(folder.cache, options[0], 43);
    ck_assert_int_eq(cache_folder_entries(&folder, first, sizeof first), 1);
    for (int i = 0; i < MUTATIONS; ++i) {
        cache_entry whole = cache_entry_read(first);
        sound = &whole;
        binaries = 0;
        cache_entry_mutate(&whole, &other, i % CACHE_MUTATIONS, &draw, first);
        cache_program_expect_build(folder.cache, options[0], 43);
        given_damaged += binaries;
        ck_assert_int_eq(binaries, 0);
        if (i % 10 == 0) { // what was built took the place of what was damaged
            cache_entry mended = cache_entry_read(first);
            sound = &mended;
            cache_program_expect_load(folder.cache, options[0], 43);
            ck_assert_int_eq(binaries, 1);
            cache_entry_free(&mended);
        }
        sound = NULL;
        cache_entry_free(&whole);
    }
    ck_assert_int_eq(cache_folder_temporaries(&folder), 0);
    printf("%d damaged entries met by contexts: all built anew with right results, %d of them given to the driver\n",
           MUTATIONS, given_damaged);
    cache_entry_free(&other);
}
END_TEST

enum { PROCESSES = 16 };

// How many programs they have built together.
static int run_all_at_once(void)
{
    pid_t children[PROCESSES];
    int wrong = 0, built = 0, one;
    for (int i = 0; i < PROCESSES; ++i)
        children[i] = start();
    for (int i = 0; i < PROCESSES; ++i) {
        int status;
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        if (status != 0)
            printf("process %d ended with %d\n", i, status);
        wrong += status != 0;
    }
    ck_assert_int_eq(wrong, 0);
    FILE *file = fopen(builds, "r");
    ck_assert_ptr_nonnull(file);
    while (fscanf(file, "%d", &one) == 1)
        built += one;
    fclose(file);
    return built;
}

START_TEST(sixteen_cold_processes_meet)
{
    ck_assert_int_eq(run_all_at_once(), PROGRAMS); // whoever comes while one builds waits for what it writes
    ck_assert_int_eq(cache_folder_temporaries(&folder), 0);
    expect_all_loaded();
    printf("%d cold processes at once: all right, %d entries, each built once, no temporary\n", PROCESSES, PROGRAMS);
}
END_TEST

START_TEST(sixteen_meet_in_the_drivers_cache)
{
    test_setenv("HUSK_TEST_CACHE", OFF);
    ck_assert_int_eq(run_all_at_once(), PROCESSES * PROGRAMS);
    ck_assert_int_eq(cache_folder_entries(&folder, NULL, 0), -1);
    printf("%d cold processes at once without Husk's cache: all right\n", PROCESSES);
}
END_TEST

START_TEST(killed_processes_do_no_harm)
{
    enum { KILLS = 20 };
    husk_ref_random draw = {.seed = 23};
    int left = 0, killed = 0;
    for (int i = 0; i < KILLS; ++i) {
        const pid_t child = start();
        const long ms = 50 + (long)husk_ref_random_below(&draw, 800);
        nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
        int status;
        ck_assert_int_eq(kill(child, SIGKILL), 0); // also where it has ended, and waits to be asked
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        const bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        killed += is_killed;
        ck_assert_msg(is_killed || status == 0, "process %d ended with %d", i, status); // a crash is no kill
        if (i % 4 == 3) { // and somebody comes after it
            for (int j = 0; j < PROGRAMS; ++j)
                cache_program_use(folder.cache, HUSK_CACHE_ON, options[j], 43 + j);
            expect_all_loaded();
            char path[400];
            while (cache_folder_entries(&folder, path, sizeof path) > 0)
                ck_assert_int_eq(unlink(path), 0);
        }
        left = cache_folder_temporaries(&folder);
    }
    printf("%d processes killed of %d, the others had ended; %d temporaries left\n", killed, KILLS,
           left > 0 ? left : 0);
    ck_assert_int_gt(killed, 0);
}
END_TEST

int main(int argc, char **argv)
{
    (void)argc;
    program = argv[0];
    Suite *suite = suite_create("cache processes");
    TCase *tests = tcase_create("cache processes");
    if (getenv("HUSK_TEST_CACHE")) {
        tcase_add_test(tests, one_of_many);
    } else {
        tcase_add_checked_fixture(tests, setup, teardown);
        tcase_add_test(tests, no_damaged_binary_reaches_the_driver);
        tcase_add_test(tests, sixteen_cold_processes_meet);
        tcase_add_test(tests, sixteen_meet_in_the_drivers_cache);
        tcase_add_test(tests, killed_processes_do_no_harm);
    }
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
