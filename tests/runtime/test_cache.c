// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=60
// The cache of binaries on disk, forced on: what is loaded, and that nothing damaged or strange ever is.
#define _GNU_SOURCE // locks of open files
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cache_folder.h"
#include "cache_program.h"
#include "os/file_lock.h"
#include "os/time.h"
#include "runtime/context_struct.h"
#include "runtime/launch.h"
#include "support/environment.h"
#include "support/support.h"

static cache_folder folder;
static char cache[64];

static void setup(void)
{
    cache_folder_open(&folder);
    snprintf(cache, sizeof cache, "%s", folder.cache);
    cache_program_write(&folder, 42);
}

static void teardown(void)
{
    test_restore_environment();
    cache_folder_close(&folder);
}

static void expect_build(const char *options, int32_t value)
{
    cache_program_expect_build(cache, options, value);
}

static void expect_load(const char *options, int32_t value)
{
    cache_program_expect_load(cache, options, value);
}

/* The number of entries, and the only one's path. */
static int entries(char *path, size_t size)
{
    return cache_folder_entries(&folder, path, size);
}

static long file_size(const char *path)
{
    struct stat status;
    ck_assert_int_eq(stat(path, &status), 0);
    return (long)status.st_size;
}

static void flip(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    fseek(file, at, SEEK_SET);
    const int byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ 0x10, file);
    fclose(file);
}

START_TEST(the_second_context_loads_what_the_first_built)
{
    char path[400];
    struct stat status;
    expect_build("-DEXTRA=1", 43);
    ck_assert_int_eq(entries(path, sizeof path), 1);
    ck_assert_int_eq(stat(cache, &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0700);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_uint_eq(status.st_mode & 0077, 0);
    expect_load("-DEXTRA=1", 43);
    expect_build("-DEXTRA=2", 44); /* other options are another entry */
    ck_assert_int_eq(entries(path, sizeof path), 2);
    expect_load("-DEXTRA=2", 44);
    expect_load("-DEXTRA=1", 43);
}
END_TEST

START_TEST(a_changed_source_is_another_entry)
{
    expect_build("-DEXTRA=1", 43);
    cache_program_write(&folder, 52);
    expect_build("-DEXTRA=1", 53);
}
END_TEST

/* The file of which the log said that a program is not built where it is there; "" where it named none. */
static char mark[400];

static void find_mark(void *user, husk_log_level level, const char *text)
{
    static const char begin[] = "building test_cached.cl with \"", before[] = " (refused where there is ";
    const char *at = strstr(text, before);
    (void)user;
    if (level != HUSK_LOG_DEBUG || strncmp(text, begin, strlen(begin)) != 0)
        return;
    ck_assert_ptr_nonnull(strstr(text, "-DEXTRA=1\""));
    snprintf(mark, sizeof mark, "%.*s", at ? (int)strcspn(at + strlen(before), ")") : 0, at ? at + strlen(before) : "");
}

static husk_status build_with_log(husk_cache_mode mode, const char *options, husk_error *error)
{
    husk__scope scope = {"husk_test", error};
    husk_context *context = NULL;
    const husk_context_params params = HUSK_CONTEXT_PARAMS(.cache = mode, .cache_directory = cache, .log = find_mark);
    const husk__kernel *kernel = NULL;
    static const char file[] = "test_cached.cl", name[] = "husk_test_cached";
    husk_program_stats stats;
    *error = (husk_error){0};
    mark[0] = 0;
    test_ok_error(husk_context_create(NULL, &params, &context, error), error);
    husk_status status = husk__kernel_get(context, file, options, name, &kernel, &scope);
    if (status != HUSK_OK) /* and what a file has said is not asked again */
        ck_assert_int_eq(husk__kernel_get(context, file, options, name, &kernel, &scope), status);
    husk_context_program_stats(context, &stats);
    ck_assert_uint_eq(stats.builds, status == HUSK_OK);
    husk_context_release(context);
    return status;
}

/* What a host does that has seen the compiler crash, and what it does for the next process. */
START_TEST(what_has_crashed_the_compiler_is_not_built)
{
    char path[400], name[400];
    husk_error error;
    test_ok_error(build_with_log(HUSK_CACHE_OFF, "-DEXTRA=1", &error), &error);
    ck_assert_str_eq(mark, ""); /* without a cache there is no place for it */
    test_ok_error(build_with_log(HUSK_CACHE_ON, "-DEXTRA=1", &error), &error);
    snprintf(name, sizeof name, "%s", mark);
    ck_assert_int_eq(strncmp(name, cache, strlen(cache)), 0);
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    fputs("SIGTRAP, as a test has it\nand more", file);
    fclose(file);
    ck_assert_int_eq(chmod(name, 0600), 0);
    expect_load("-DEXTRA=1", 43); /* it has been built since */
    ck_assert_int_eq(entries(path, sizeof path), 1);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(build_with_log(HUSK_CACHE_ON, "-DEXTRA=1", &error), HUSK_BUILD_FAILED);
    ck_assert_str_eq(mark, "");
    ck_assert_msg(strstr(error.text, "has crashed the driver's compiler (SIGTRAP, as a test has it)") != NULL &&
                      strstr(error.text, name) != NULL && !strstr(error.text, "and more"),
                  "%s", error.text);
    expect_build("-DEXTRA=2", 44); /* another program is none of it */
    ck_assert_int_eq(chmod(name, 0622), 0); /* others may write it: it says nothing */
    expect_build("-DEXTRA=1", 43);
    ck_assert_int_eq(access(name, F_OK), 0);
}
END_TEST

static void write_mark(const char *name)
{
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    fputs("SIGTRAP, as a test has it\n", file);
    fclose(file);
    ck_assert_int_eq(chmod(name, 0600), 0);
}

/* The name of the file that marks the program, which is not in the cache then. */
static void take_mark(char name[400])
{
    char path[400];
    husk_error error;
    test_ok_error(build_with_log(HUSK_CACHE_ON, "-DEXTRA=1", &error), &error);
    snprintf(name, 400, "%s", mark);
    ck_assert_int_eq(entries(path, sizeof path), 1);
    ck_assert_int_eq(unlink(path), 0);
}

static husk_context *open_cache(husk_log_callback log, void *user)
{
    husk_context *context = NULL;
    husk_error error = {0};
    const husk_context_params params =
        HUSK_CONTEXT_PARAMS(.cache = HUSK_CACHE_ON, .cache_directory = cache, .log = log, .log_user = user);
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
    return context;
}

static husk_status get_cached(husk_context *context)
{
    husk_error error = {0};
    husk__scope scope = {"husk_test", &error};
    const husk__kernel *kernel;
    return husk__kernel_get(context, "test_cached.cl", "-DEXTRA=1", "husk_test_cached", &kernel, &scope);
}

/* A server that runs on builds what is refused as soon as the file is gone, or a week old. */
START_TEST(a_mark_is_heeded_as_long_as_it_is_there)
{
    enum { DAY = 24 * 60 * 60 };
    char name[400], path[400];
    take_mark(name);
    for (int i = 0; i < 2; ++i) {
        write_mark(name);
        const struct timespec six_days[2] = {{.tv_sec = time(NULL) - 6 * DAY}, {.tv_sec = time(NULL) - 6 * DAY}};
        const struct timespec eight_days[2] = {{.tv_sec = time(NULL) - 8 * DAY}, {.tv_sec = time(NULL) - 8 * DAY}};
        ck_assert_int_eq(utimensat(AT_FDCWD, name, six_days, 0), 0);
        husk_context *context = open_cache(NULL, NULL);
        ck_assert_int_eq(get_cached(context), HUSK_BUILD_FAILED);
        ck_assert_int_eq(get_cached(context), HUSK_BUILD_FAILED);
        ck_assert_int_eq(i == 0 ? unlink(name) : utimensat(AT_FDCWD, name, eight_days, 0), 0);
        ck_assert_int_eq(get_cached(context), HUSK_OK);
        husk_context_release(context);
        ck_assert_int_eq(entries(path, sizeof path), 1);
        ck_assert_int_eq(unlink(path), 0);
    }
    ck_assert_int_eq(unlink(name), 0);
}
END_TEST

/* One that builds, with the lock, and leaves a mark and no entry, while another one waits for the lock. */
typedef struct builder {
    husk_context *context, *waiting;
    char name[400];
    pthread_t thread;
    bool is_begun;
} builder;

static void *wait_for_lock(void *context)
{
    return get_cached(context) == HUSK_BUILD_FAILED ? context : NULL;
}

static void mark_while_building(void *user, husk_log_level level, const char *text)
{
    builder *b = user;
    (void)level;
    if (b->is_begun || strncmp(text, "building test_cached.cl", 23) != 0)
        return;
    b->is_begun = true;
    ck_assert_int_eq(pthread_create(&b->thread, NULL, wait_for_lock, b->waiting), 0);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    write_mark(b->name);
    b->context->cache.directory = NULL;
}

START_TEST(who_has_waited_for_the_lock_looks_for_a_mark_again)
{
    builder b = {.is_begun = false};
    void *refused = NULL;
    char path[400];
    take_mark(b.name);
    b.context = open_cache(mark_while_building, &b);
    b.waiting = open_cache(NULL, NULL);
    char *directory = b.context->cache.directory;
    ck_assert_int_eq(get_cached(b.context), HUSK_OK);
    b.context->cache.directory = directory;
    ck_assert(b.is_begun);
    ck_assert_int_eq(pthread_join(b.thread, &refused), 0);
    ck_assert_ptr_nonnull(refused);
    ck_assert_int_eq(entries(path, sizeof path), 0);
    husk_context_release(b.waiting);
    husk_context_release(b.context);
    ck_assert_int_eq(unlink(b.name), 0);
}
END_TEST

START_TEST(off_touches_no_disk)
{
    char path[400];
    husk_program_stats stats = cache_program_use(cache, HUSK_CACHE_OFF, "-DEXTRA=1", 43);
    ck_assert_uint_eq(stats.builds, 1);
    ck_assert_int_eq(entries(path, sizeof path), -1);
    test_setenv("HUSK_CACHE", "0");
    cache_program_use(cache, HUSK_CACHE_DEFAULT, "-DEXTRA=1", 43);
    ck_assert_int_eq(entries(path, sizeof path), -1);
    if (strstr(husk_context_traits(test_context())->platform_name, "Portable Computing Language")) {
        test_setenv("HUSK_CACHE", "off"); /* is no word that turns it on: it is off here by default */
        cache_program_use(cache, HUSK_CACHE_DEFAULT, "-DEXTRA=1", 43);
        ck_assert_int_eq(entries(path, sizeof path), -1);
    }
    test_setenv("HUSK_CACHE", "1");
    cache_program_use(cache, HUSK_CACHE_DEFAULT, "-DEXTRA=1", 43);
    ck_assert_int_eq(entries(path, sizeof path), 1);
}
END_TEST

/* Each damage costs a build, of which the default tier counts all: it takes every other one. */
static size_t step(void)
{
    return test_is_long() ? 1 : 2;
}

START_TEST(a_truncated_entry_is_built_again)
{
    char path[400];
    expect_build("-DEXTRA=1", 43);
    ck_assert_int_eq(entries(path, sizeof path), 1);
    const long size = file_size(path);
    const long lengths[] = {0, 1, 7, 30, size / 2, size - 1};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i += step()) {
        ck_assert_int_eq(truncate(path, lengths[i]), 0);
        expect_build("-DEXTRA=1", 43);
        expect_load("-DEXTRA=1", 43); /* and mended */
        ck_assert_int_eq(file_size(path), size);
    }
}
END_TEST

START_TEST(an_altered_entry_is_built_again)
{
    char path[400];
    expect_build("-DEXTRA=1", 43);
    ck_assert_int_eq(entries(path, sizeof path), 1);
    const long size = file_size(path);
    /* the magic, the version, sizes, hashes, the key, the binary's first and last byte */
    const long places[] = {0, 8, 12, 16, 24, 40, 60, 100, 300, size / 2, size - 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i += step()) {
        flip(path, places[i] < size ? places[i] : size - 1);
        expect_build("-DEXTRA=1", 43);
        expect_load("-DEXTRA=1", 43);
    }
    FILE *file = fopen(path, "ab"); /* more than there should be */
    fputc('x', file);
    fclose(file);
    expect_build("-DEXTRA=1", 43);
}
END_TEST

START_TEST(a_foreign_entry_is_built_again)
{
    char first[400], second[400], command[1000];
    expect_build("-DEXTRA=1", 43);
    ck_assert_int_eq(entries(first, sizeof first), 1);
    snprintf(command, sizeof command, "mv %s %s/aside", first, folder.path);
    ck_assert_int_eq(system(command), 0);
    expect_build("-DEXTRA=2", 44);
    ck_assert_int_eq(entries(second, sizeof second), 1);
    /* the whole, sound entry of other options under this one's name */
    snprintf(command, sizeof command, "cp %s/aside %s", folder.path, second);
    ck_assert_int_eq(system(command), 0);
    expect_build("-DEXTRA=2", 44);
    expect_load("-DEXTRA=2", 44);
}
END_TEST

START_TEST(a_link_is_not_followed)
{
    char path[400], aside[400];
    expect_build("-DEXTRA=1", 43);
    ck_assert_int_eq(entries(path, sizeof path), 1);
    snprintf(aside, sizeof aside, "%s/aside", folder.path);
    ck_assert_int_eq(rename(path, aside), 0);
    ck_assert_int_eq(symlink(aside, path), 0);
    expect_build("-DEXTRA=1", 43);
    struct stat status; /* the link was replaced by a file */
    ck_assert_int_eq(lstat(path, &status), 0);
    ck_assert(S_ISREG(status.st_mode));
    expect_load("-DEXTRA=1", 43);
}
END_TEST

START_TEST(a_file_that_others_may_write_is_not_believed)
{
    char path[400];
    expect_build("-DEXTRA=1", 43);
    ck_assert_int_eq(entries(path, sizeof path), 1);
    ck_assert_int_eq(chmod(path, 0666), 0);
    expect_build("-DEXTRA=1", 43);
    expect_load("-DEXTRA=1", 43);
    if (geteuid() == 0) { /* another owner's: only root can arrange that */
        ck_assert_int_eq(chown(path, 12345, 12345), 0);
        expect_build("-DEXTRA=1", 43);
    }
}
END_TEST

START_TEST(a_strange_folder_is_not_used)
{
    char elsewhere[128], path[400];
    /* a link to a folder */
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", folder.path);
    ck_assert_int_eq(mkdir(elsewhere, 0700), 0);
    ck_assert_int_eq(symlink(elsewhere, cache), 0);
    expect_build("-DEXTRA=1", 43);
    expect_build("-DEXTRA=1", 43);
    ck_assert_int_eq(entries(path, sizeof path), 0);
    ck_assert_int_eq(unlink(cache), 0);
    /* one that others may write to */
    ck_assert_int_eq(mkdir(cache, 0700), 0);
    ck_assert_int_eq(chmod(cache, 0777), 0);
    expect_build("-DEXTRA=1", 43);
    expect_build("-DEXTRA=1", 43);
    ck_assert_int_eq(entries(path, sizeof path), 0);
    if (geteuid() == 0) { /* somebody else's */
        ck_assert_int_eq(chmod(cache, 0700), 0);
        ck_assert_int_eq(chown(cache, 12345, 12345), 0);
        expect_build("-DEXTRA=1", 43);
        ck_assert_int_eq(entries(path, sizeof path), 0);
    }
    ck_assert_int_eq(rmdir(cache), 0);
    /* a file where the folder should be */
    FILE *file = fopen(cache, "w");
    fclose(file);
    expect_build("-DEXTRA=1", 43);
    ck_assert_int_eq(unlink(cache), 0);
}
END_TEST

START_TEST(a_folder_that_cannot_be_written_is_done_without)
{
    strcpy(cache, "/proc/husk-cannot-be-here/cache");
    expect_build("-DEXTRA=1", 43);
    snprintf(cache, sizeof cache, "%s/cache", folder.path);
    if (geteuid() == 0)
        return; /* root may write anywhere */
    ck_assert_int_eq(mkdir(cache, 0500), 0);
    expect_build("-DEXTRA=1", 43);
    expect_build("-DEXTRA=1", 43);
}
END_TEST

START_TEST(a_pipe_in_the_place_of_an_entry_does_not_hang)
{
    char path[400];
    expect_build("-DEXTRA=1", 43);
    ck_assert_int_eq(entries(path, sizeof path), 1);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    expect_build("-DEXTRA=1", 43);
}
END_TEST

START_TEST(the_folder_follows_the_environment)
{
    char path[200];
    struct stat status;
    husk_error error = {0};
    husk_context *context = NULL;
    husk_context_params params = HUSK_CONTEXT_PARAMS(.cache = HUSK_CACHE_ON);
    test_setenv("XDG_CACHE_HOME", folder.path);
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
    husk_context_release(context);
    snprintf(path, sizeof path, "%s/husk", folder.path);
    ck_assert_int_eq(stat(path, &status), 0);
    /* a relative one is to be ignored, says the standard; then it is $HOME/.cache */
    test_setenv("XDG_CACHE_HOME", "relative");
    test_setenv("HOME", folder.path);
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
    husk_context_release(context);
    snprintf(path, sizeof path, "%s/.cache/husk", folder.path);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_ne(stat("relative", &status), 0);
    test_setenv("HOME", "relative"); /* nor is a home */
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
    husk_context_release(context);
    ck_assert_int_ne(stat("relative", &status), 0);
}
END_TEST

/* Wherever the program goes: elsewhere there may be a link of that name. */
START_TEST(a_relative_folder_stays_where_it_was)
{
    char here[400], elsewhere[80], strange[100];
    struct stat status;
    husk_error error = {0};
    husk_context *context = NULL;
    const husk_context_params params = HUSK_CONTEXT_PARAMS(.cache = HUSK_CACHE_ON, .cache_directory = "cache");
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", folder.path);
    snprintf(strange, sizeof strange, "%s/cache", elsewhere);
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    ck_assert(mkdir(elsewhere, 0700) == 0 && chdir(folder.path) == 0);
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
    ck_assert_int_eq(chdir(elsewhere), 0);
    ck_assert_ptr_nonnull(context->cache.directory);
    ck_assert_int_eq(context->cache.directory[0], '/');
    ck_assert_int_eq(stat(context->cache.directory, &status), 0);
    ck_assert_int_ne(stat(strange, &status), 0);
    husk_context_release(context);
    ck_assert_int_eq(chdir(here), 0);
    ck_assert_int_eq(rmdir(elsewhere), 0);
}
END_TEST

static bool may_lock(const char *key)
{
    const husk__cache opened = {.directory = cache};
    const int lock = husk__cache_lock(&opened, key, 0);
    husk__unlock(lock);
    return lock >= 0;
}

START_TEST(one_waits_for_what_another_builds)
{
    enum { PATIENCE = 30000000 };
    const husk__cache opened = {.directory = cache};
    expect_build("-DEXTRA=1", 43);
    const int lock = husk__cache_lock(&opened, "one", 0);
    ck_assert_int_ge(lock, 0);
    ck_assert(!may_lock("one"));
    ck_assert(may_lock("another"));
    const uint64_t start = husk__now_ns();
    ck_assert_int_eq(husk__cache_lock(&opened, "one", PATIENCE), -1);
    ck_assert_uint_ge(husk__now_ns() - start, PATIENCE);
    husk__unlock(lock);
    ck_assert(may_lock("one"));
}
END_TEST

START_TEST(a_lock_ends_with_its_process)
{
    const husk__cache opened = {.directory = cache};
    int ends[2];
    char byte = 0;
    expect_build("-DEXTRA=1", 43);
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        alarm(30);
        byte = husk__cache_lock(&opened, "one", 0) >= 0 ? '+' : '-';
        if (write(ends[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    ck_assert_int_eq(byte, '+');
    ck_assert(!may_lock("one"));
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert(may_lock("one"));
    close(ends[0]);
    close(ends[1]);
}
END_TEST

// One that was forked while the lock was held has the same open file.
START_TEST(a_lock_ends_though_a_child_has_it)
{
    const husk__cache opened = {.directory = cache};
    expect_build("-DEXTRA=1", 43);
    const int lock = husk__cache_lock(&opened, "one", 0);
    ck_assert_int_ge(lock, 0);
    const pid_t child = fork();
    if (child == 0) {
        alarm(30);
        for (;;)
            pause();
    }
    ck_assert_int_gt(child, 0); // not in the child: Check's messages go to a file that is both's, and it may be killed
    husk__unlock(lock);
    ck_assert(may_lock("one"));
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

// Whoever finds the entry needs no turn.
START_TEST(an_entry_is_loaded_though_another_has_the_lock)
{
    enum { LESS_THAN_PATIENCE_NS = 2000000000 };
    char path[400];
    expect_build("-DEXTRA=1", 43);
    snprintf(path, sizeof path, "%s/lock", cache);
    const int lock = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(lock, 0);
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    ck_assert_int_eq(fcntl(lock, F_OFD_SETLK, &all), 0);
    ck_assert(!may_lock("one"));
    const uint64_t start = husk__now_ns();
    expect_load("-DEXTRA=1", 43);
    ck_assert_uint_lt(husk__now_ns() - start, LESS_THAN_PATIENCE_NS * UINT64_C(10));
    close(lock);
}
END_TEST

/* As with every file in the folder: what is strange is not touched, and done without. */
START_TEST(a_strange_lock_is_done_without)
{
    char path[400], aside[400];
    struct stat status;
    snprintf(path, sizeof path, "%s/lock", cache);
    snprintf(aside, sizeof aside, "%s/aside", folder.path);
    expect_build("-DEXTRA=1", 43);
    ck_assert_int_eq(file_size(path), 0);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0600);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink(aside, path), 0);
    expect_load("-DEXTRA=1", 43);
    ck_assert_int_ne(stat(aside, &status), 0);
    ck_assert(!may_lock("one"));
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    expect_load("-DEXTRA=1", 43);
    ck_assert(!may_lock("one"));
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    expect_load("-DEXTRA=1", 43);
    ck_assert(!may_lock("one"));
}
END_TEST

/* Behind the end of an empty name is whatever the stack has there. */
START_TEST(a_folder_without_a_name_is_none)
{
    husk_context_params params = HUSK_CONTEXT_PARAMS(.cache = HUSK_CACHE_ON, .cache_directory = "");
    husk_error error = {0};
    husk_context *context = NULL;
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
    husk_context_release(context);
    expect_build("-DEXTRA=1", 43);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache");
    TCase *tests = tcase_create("cache");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_second_context_loads_what_the_first_built);
    tcase_add_test(tests, a_changed_source_is_another_entry);
    tcase_add_test(tests, off_touches_no_disk);
    tcase_add_test(tests, what_has_crashed_the_compiler_is_not_built);
    tcase_add_test(tests, a_mark_is_heeded_as_long_as_it_is_there);
    tcase_add_test(tests, who_has_waited_for_the_lock_looks_for_a_mark_again);
    tcase_add_test(tests, a_truncated_entry_is_built_again);
    tcase_add_test(tests, an_altered_entry_is_built_again);
    tcase_add_test(tests, a_foreign_entry_is_built_again);
    tcase_add_test(tests, a_link_is_not_followed);
    tcase_add_test(tests, a_file_that_others_may_write_is_not_believed);
    tcase_add_test(tests, a_strange_folder_is_not_used);
    tcase_add_test(tests, a_folder_that_cannot_be_written_is_done_without);
    tcase_add_test(tests, a_pipe_in_the_place_of_an_entry_does_not_hang);
    tcase_add_test(tests, a_folder_without_a_name_is_none);
    tcase_add_test(tests, a_relative_folder_stays_where_it_was);
    tcase_add_test(tests, the_folder_follows_the_environment);
    tcase_add_test(tests, one_waits_for_what_another_builds);
    tcase_add_test(tests, a_lock_ends_with_its_process);
    tcase_add_test(tests, a_lock_ends_though_a_child_has_it);
    tcase_add_test(tests, an_entry_is_loaded_though_another_has_the_lock);
    tcase_add_test(tests, a_strange_lock_is_done_without);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
