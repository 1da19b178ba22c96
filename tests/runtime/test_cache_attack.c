// SPDX-License-Identifier: MIT
// ctest: tiers=default,attack timeout=60 with=cache_folder,cache_mutation
// The cache's files under attack, without a device: entries that are mutated, cut or strange, folders that are not the
// user's, disks that are full or refuse, processes that are killed while they write. What is read is a whole entry of
// the very key, or nothing. (runtime/cache_processes does the same to whole programs and their driver.)
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "cache_folder.h"
#include "cache_mutation.h"
#include "ref/random.h"
#include "runtime/cache.h"
#include "support/main.h"

// ---- system calls and allocations, each of which fails once (--wrap) ----

static long calls, failing; // since armed; the one that fails, 0: none
static bool is_torn;        // a failing write has written half
static bool is_others;      // files that are open are said to be somebody else's

static bool fails(int code)
{
    if (++calls != failing)
        return false;
    errno = code;
    return true;
}

static void arm(long number)
{
    calls = 0;
    failing = number;
}

#define WRAP(type, name, parameters, arguments, code) \
    type __real_##name parameters;                    \
    type __wrap_##name parameters;                    \
    type __wrap_##name parameters                     \
    {                                                 \
        return fails(code) ? (type)-1 : __real_##name arguments; \
    }
WRAP(int, mkstemp, (char *path), (path), EMFILE)
WRAP(int, fsync, (int file), (file), EIO)
WRAP(int, rename, (const char *from, const char *to), (from, to), EACCES)
WRAP(ssize_t, read, (int file, void *bytes, size_t size), (file, bytes, size), EIO)

int __real_fstat(int file, struct stat *status);
int __wrap_fstat(int file, struct stat *status);
int __wrap_fstat(int file, struct stat *status)
{
    if (fails(EIO))
        return -1;
    const int answer = __real_fstat(file, status);
    if (answer == 0 && is_others)
        status->st_uid = geteuid() + 1;
    return answer;
}

ssize_t __real_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size)
{
    if (is_torn && calls + 1 == failing) { // half of it; then the disk is full
        is_torn = false;
        return __real_write(file, bytes, size / 2);
    }
    return fails(ENOSPC) ? -1 : __real_write(file, bytes, size);
}

int __real_close(int file);
int __wrap_close(int file);
int __wrap_close(int file)
{
    const bool is_failing = fails(EIO);
    const int answer = __real_close(file);
    return is_failing ? -1 : answer;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return fails(ENOMEM) ? NULL : __real_malloc(size);
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    return fails(ENOMEM) ? NULL : __real_realloc(old, size);
}

// ---- the cache, and binaries that tell who they are ----

static cache_folder folder;
static husk__cache cache;
static char directory[200];

static bool open_cache(const char *path)
{
    const husk_context_params params = {.cache = HUSK_CACHE_ON, .cache_directory = path};
    husk__cache_close(&cache);
    husk__cache_open(&cache, &params, &(husk_device_traits){.name = "device", .platform_name = "platform"},
                     &(husk__log){0});
    return cache.directory != NULL;
}

static void setup(void)
{
    cache_folder_open(&folder);
    ck_assert(open_cache(folder.cache));
}

static void teardown(void)
{
    husk__cache_close(&cache);
    cache_folder_close(&folder);
}

enum { KEYS = 8, SMALL = 1500, LARGE = 150000 };

static const char *key_of(int number)
{
    static char key[KEYS][200];
    snprintf(key[number], sizeof key[number],
             "husk 1\nplatform P\ndevice D\ndriver 1\noptions -DVW=16 -DTILE=%d\nsource 0123456789abcdef\n", number);
    return key[number];
}

// Its first bytes say which one it is, all others follow from them.
static void fill(unsigned char *binary, size_t size, uint32_t generation)
{
    for (size_t i = 0; i < size; ++i)
        binary[i] = (unsigned char)((i * 2654435761u + generation * 40503u) >> 7);
    memcpy(binary, &generation, sizeof generation);
}

// Without Check's assertions, as all that a child does before it is killed: they write to a file that it shares with
// its parent, where half a message would stay.
static void store(int key, size_t size, uint32_t generation)
{
    unsigned char *binary = malloc(size);
    if (!binary)
        abort();
    fill(binary, size, generation);
    husk__cache_store(&cache, key_of(key), binary, size);
    free(binary);
}

// The generation of what is loaded, which has to be whole; -1: nothing is.
static int64_t load(int key)
{
    size_t size;
    unsigned char *binary = husk__cache_load(&cache, key_of(key), &size);
    if (!binary)
        return -1;
    uint32_t generation;
    ck_assert(size == SMALL || size == LARGE);
    memcpy(&generation, binary, sizeof generation);
    unsigned char *wanted = malloc(size);
    fill(wanted, size, generation);
    ck_assert_msg(memcmp(binary, wanted, size) == 0, "key %d: what was loaded is not what was stored", key);
    free(wanted);
    free(binary);
    return generation;
}

static void path_of(int key, char path[300])
{
    char name[33];
    husk__hash128_text(husk__hash128_of(key_of(key), strlen(key_of(key))), name);
    snprintf(path, 300, "%s/%s.bin", cache.directory, name);
}

static cache_entry read_entry(int key)
{
    char path[300];
    path_of(key, path);
    return cache_entry_read(path);
}

// ---- mutations ----

START_TEST(no_mutated_entry_is_read)
{
    enum { MUTATIONS = 2000 };
    char path[300];
    husk_ref_random draw = {.seed = 20};
    int counts[CACHE_MUTATIONS] = {0};
    store(0, SMALL, 1);
    store(1, SMALL, 2);
    path_of(0, path);
    cache_entry whole = read_entry(0), other = read_entry(1);
    for (int i = 0; i < MUTATIONS; ++i) {
        const int kind = i % CACHE_MUTATIONS;
        cache_entry_mutate(&whole, &other, kind, &draw, path);
        ck_assert_msg(load(0) == -1, "mutation %d (%s) was believed", i, cache_mutation_names[kind]);
        counts[kind]++;
    }
    for (int i = 0; i < CACHE_MUTATIONS; ++i)
        printf("refused: %d entries with %s\n", counts[i], cache_mutation_names[i]);
    cache_entry_write(&whole, path); // and it was the mutations that were refused
    ck_assert_int_eq(load(0), 1);
    cache_entry_free(&whole);
    cache_entry_free(&other);
}
END_TEST

START_TEST(no_part_of_an_entry_is_read)
{
    char path[300];
    store(0, SMALL, 1);
    cache_entry whole = read_entry(0);
    path_of(0, path);
    for (size_t size = whole.size; size-- > 0;) {
        ck_assert_int_eq(truncate(path, (off_t)size), 0);
        ck_assert_msg(load(0) == -1, "the first %zu bytes of %zu were believed", size, whole.size);
    }
    printf("refused: every one of %zu lengths\n", whole.size);
    store(0, SMALL, 2);
    ck_assert_int_eq(load(0), 2);
    cache_entry_free(&whole);
}
END_TEST

// ---- files and folders that are not what they should be ----

START_TEST(an_entry_that_is_no_file_is_not_read)
{
    char path[300], aside[300];
    path_of(0, path);
    snprintf(aside, sizeof aside, "%s/aside", folder.path);
    store(0, SMALL, 1);
    ck_assert_int_eq(rename(path, aside), 0); // a sound entry of this key, elsewhere
    const char *const targets[] = {aside, "/nonexistent/entry", path, "/dev/zero", folder.path};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i) {
        ck_assert_int_eq(symlink(targets[i], path), 0);
        ck_assert_msg(load(0) == -1, "a link to %s was followed", targets[i]);
        store(0, SMALL, 2); // takes the link's place
        ck_assert_int_eq(load(0), 2);
        ck_assert_int_eq(unlink(path), 0);
    }
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(load(0), -1);
    ck_assert_int_eq(unlink(path), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(load(0), -1);
    close(listener);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0); // cannot be replaced: it is done without
    ck_assert_int_eq(load(0), -1);
    store(0, SMALL, 3);
    ck_assert_int_eq(load(0), -1);
    ck_assert_int_eq(cache_folder_temporaries(&folder), 0);
}
END_TEST

START_TEST(an_entry_that_is_too_large_is_not_read)
{
    char path[300];
    store(0, SMALL, 1);
    path_of(0, path);
    if (truncate(path, (off_t)1 << 30) != 0) {
        printf("SKIPPED: an entry of 1 GiB: this file system has no files with holes: %s\n", strerror(errno));
        return;
    }
    arm(0);
    ck_assert_int_eq(load(0), -1);
    ck_assert_int_le(calls, 5); // memory for its path; fstat, twice, and close; and not a byte was read
}
END_TEST

START_TEST(what_others_own_or_may_write_is_not_read)
{
    char path[300];
    const mode_t open_to[] = {0620, 0602, 0666, 0777};
    store(0, SMALL, 1);
    path_of(0, path);
    for (size_t i = 0; i < sizeof open_to / sizeof *open_to; ++i) {
        ck_assert_int_eq(chmod(path, open_to[i]), 0);
        ck_assert_msg(load(0) == -1, "a file of mode %o was believed", (unsigned)open_to[i]);
    }
    ck_assert_int_eq(chmod(path, 0644), 0); // others may read it
    ck_assert_int_eq(load(0), 1);
    is_others = true;
    const int64_t found = load(0);
    is_others = false;
    ck_assert_int_eq(found, -1);
    ck_assert_int_eq(load(0), 1);
    if (chown(path, 12345, (gid_t)-1) != 0) {
        printf("SKIPPED: an entry that is somebody else's on the disk, too: chown: %s\n", strerror(errno));
        return;
    }
    ck_assert_int_eq(load(0), -1);
    store(0, SMALL, 2); // a file of our own takes its place
    ck_assert_int_eq(load(0), 2);
}
END_TEST

// Folders with nothing wrong but their owner: one that root gives away; the system's own, for all others.
static void expect_others_folders_refused(void)
{
    static const char *const systems[] = {"/", "/usr", "/etc"};
    int tried = 0;
    if (chown(folder.cache, 12345, (gid_t)-1) == 0) {
        ck_assert(!open_cache(folder.cache));
        ck_assert_int_eq(chown(folder.cache, geteuid(), (gid_t)-1), 0);
        tried++;
    }
    for (size_t i = 0; i < sizeof systems / sizeof *systems; ++i) {
        struct stat status;
        if (lstat(systems[i], &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid == geteuid() ||
            (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
            continue;
        ck_assert_msg(!open_cache(systems[i]), "%s, which is somebody else's, was used", systems[i]);
        tried++;
    }
    if (tried == 0)
        puts("SKIPPED: a folder that is somebody else's: there is none, and none can be given away");
    ck_assert(open_cache(folder.cache));
}

START_TEST(a_folder_that_is_not_the_users_is_refused)
{
    const mode_t open_to[] = {0720, 0702, 0777, 01777};
    ck_assert(open_cache(folder.cache));
    for (size_t i = 0; i < sizeof open_to / sizeof *open_to; ++i) {
        ck_assert_int_eq(chmod(folder.cache, open_to[i]), 0);
        ck_assert_msg(!open_cache(folder.cache), "a folder of mode %o was used", (unsigned)open_to[i]);
    }
    ck_assert_int_eq(chmod(folder.cache, 0755), 0);
    ck_assert(open_cache(folder.cache));
    expect_others_folders_refused();
    static const char *const endings[] = {"", "/", "//"};
    const char *const targets[] = {folder.cache, "/nonexistent/folder", directory};
    snprintf(directory, sizeof directory, "%s/link", folder.path);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i) {
        ck_assert_int_eq(symlink(targets[i], directory), 0);
        for (size_t j = 0; j < sizeof endings / sizeof *endings; ++j) {
            char path[210];
            snprintf(path, sizeof path, "%s%s", directory, endings[j]);
            ck_assert_msg(!open_cache(path), "%s, a link to %s, was used", path, targets[i]);
        }
        strcat(directory, "/below"); // a folder behind the link is made only where the link leads somewhere
        ck_assert_int_eq(open_cache(directory), i == 0);
        *strrchr(directory, '/') = 0;
        ck_assert_int_eq(unlink(directory), 0);
    }
    snprintf(directory, sizeof directory, "%s//", folder.cache);
    ck_assert(open_cache(directory));
    char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    longest[0] = '/';
    longest[sizeof longest - 1] = 0;
    ck_assert(!open_cache(longest));
}
END_TEST

// ---- disks ----

START_TEST(every_system_call_fails_once)
{
    long most = 0, reached = 0;
    uint32_t generation = 1;
    store(0, SMALL, generation);
    for (int torn = 0; torn < 2; ++torn) {
        for (long number = 1;; ++number) { // while it is written
            unsigned char binary[SMALL];
            fill(binary, SMALL, ++generation);
            is_torn = torn;
            arm(number);
            husk__cache_store(&cache, key_of(0), binary, SMALL);
            reached = calls;
            arm(0);
            const int64_t found = load(0);
            ck_assert_msg(found >= 1, "call %ld: the entry is lost", number);
            ck_assert_msg(cache_folder_temporaries(&folder) == 0, "call %ld: a temporary is left", number);
            if (reached < number) {
                ck_assert_int_eq(found, generation); // none has failed
                break;
            }
            most = number > most ? number : most;
        }
    }
    printf("survived: %ld failing calls in a store\n", most);
    ck_assert_int_ge(most, 6); // an allocation, mkstemp, write, fsync, close, rename at least
    most = 0;
    for (long number = 1;; ++number) { // while it is read
        size_t size;
        arm(number);
        unsigned char *binary = husk__cache_load(&cache, key_of(0), &size);
        reached = calls;
        arm(0);
        unsigned char wanted[SMALL];
        fill(wanted, SMALL, generation);
        if (binary)
            ck_assert_msg(size == SMALL && memcmp(binary, wanted, SMALL) == 0, "call %ld: other bytes", number);
        free(binary);
        if (reached < number) {
            ck_assert_ptr_nonnull(binary);
            break;
        }
        most = number;
    }
    printf("survived: %ld failing calls in a load\n", most);
    ck_assert_int_ge(most, 5);
    ck_assert_int_eq(load(0), generation);
}
END_TEST

// In a child, whose limits and mounts are its own: 0 is all right, 77 that this may not be tried here, as it has said.
static void in_child(int (*body)(void))
{
    fflush(stdout);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        const int code = body();
        fflush(stdout);
        _exit(code);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77),
                  "the child ended with %d", status);
}

// With the rest of the folder as it was: the entries before it are whole, and nothing is left of it.
static int store_in_vain(int key)
{
    store(key, LARGE, 9);
    return load(key) == -1 && cache_folder_temporaries(&folder) == 0;
}

static int write_beyond_a_limit(void)
{
    store(0, SMALL, 1);
    signal(SIGXFSZ, SIG_IGN); // as the program has to that sets such a limit
    if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){LARGE / 2, LARGE / 2}) != 0)
        return 1;
    return store_in_vain(1) && load(0) == 1 ? 0 : 2;
}

START_TEST(a_file_that_may_not_grow_is_done_without)
{
    in_child(write_beyond_a_limit);
}
END_TEST

static bool write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    fputs(text, file);
    return fclose(file) == 0;
}

// Who is not root may mount in a namespace of users, in which everybody keeps their name.
static bool mounts_small_disk(void)
{
    char user[32], group[32];
    snprintf(user, sizeof user, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    snprintf(group, sizeof group, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
    const bool may = unshare(CLONE_NEWNS) == 0 ||
                     (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_text("/proc/self/setgroups", "deny") &&
                      write_text("/proc/self/uid_map", user) && write_text("/proc/self/gid_map", group));
    return may && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", folder.cache, "tmpfs", 0, "size=400k,mode=700") == 0;
}

static int fill_a_disk(void)
{
    if (!mounts_small_disk()) {
        printf("SKIPPED: a disk that is full, and one that is read-only: none can be mounted: %s\n", strerror(errno));
        return 77;
    }
    int stored = 0;
    for (int key = 0; key < KEYS; ++key) {
        store(key, LARGE, 1);
        if (load(key) == 1)
            stored++;
        if (cache_folder_temporaries(&folder) != 0)
            return 1;
    }
    if (stored != 2 || !store_in_vain(KEYS - 1))
        return 2;
    printf("a disk for 2 entries of %d: %d stored\n", KEYS, stored);
    store(0, LARGE, 2); // there is no room to replace one, either: the old one stays
    if (load(0) != 1 || mount(NULL, folder.cache, NULL, MS_REMOUNT | MS_RDONLY, NULL) != 0)
        return 3;
    if (!open_cache(folder.cache) || load(0) != 1) // a disk that is read-only is read
        return 4;
    store(0, LARGE, 3);
    return store_in_vain(KEYS - 1) && load(0) == 1 ? 0 : 5;
}

START_TEST(a_full_disk_and_one_that_is_read_only_are_done_without)
{
    in_child(fill_a_disk);
}
END_TEST

// ---- processes that are killed ----

static _Noreturn void store_until_killed(uint32_t first)
{
    for (uint32_t i = 0;; ++i)
        store((int)(i % KEYS), LARGE, first + i);
}

START_TEST(a_killed_writer_leaves_whole_entries)
{
    enum { KILLS = 200, HOUR = 3600 };
    husk_ref_random draw = {.seed = 21};
    char path[300];
    int whole = 0, most = 0;
    fflush(stdout);
    for (int kill_number = 0; kill_number < KILLS; ++kill_number) {
        const pid_t child = fork();
        if (child == 0)
            store_until_killed((uint32_t)kill_number * 1000);
        ck_assert_int_gt(child, 0);
        nanosleep(&(struct timespec){.tv_nsec = (long)husk_ref_random_below(&draw, 8000000)}, NULL);
        ck_assert_int_eq(kill(child, SIGKILL), 0);
        ck_assert_int_eq(waitpid(child, NULL, 0), child);
        for (int key = 0; key < KEYS; ++key) { // what has its name is whole, and this key's
            path_of(key, path);
            if (access(path, F_OK) != 0)
                continue;
            const int64_t found = load(key);
            ck_assert_msg(found >= 0, "kill %d: the entry of key %d is there, and is not whole", kill_number, key);
            ck_assert_int_eq(found % KEYS, key);
            whole++;
        }
        const int left = cache_folder_temporaries(&folder);
        most = left > most ? left : most;
    }
    printf("%d kills: %d entries read, all whole; %d temporaries left\n", KILLS, whole, most);
    ck_assert_int_gt(whole, 0); // how many a disk's fsync lets through in so short a time is not the cache's to say
    ck_assert_int_gt(most, 0); // some were killed while they wrote
    store(0, LARGE, 1);
    ck_assert_int_eq(cache_folder_temporaries(&folder), most); // others may be writing these now
    cache_folder_age(&folder, 2 * HOUR);
    store(0, LARGE, 2);
    ck_assert_int_eq(cache_folder_temporaries(&folder), 0);
    ck_assert_int_eq(load(0), 2);
}
END_TEST

START_TEST(files_that_are_not_the_caches_stay)
{
    static const char *const names[] = {
        "notes.txt", "x.bin", "x.tmp.abc", "x.tmp.abcdefg", ".tmp.abcdef.bin", "notes.tmp.backup", "x.bin.tmp.abcdef"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        snprintf(directory, sizeof directory, "%s/%s", folder.cache, names[i]);
        fclose(fopen(directory, "w"));
        ck_assert_int_eq(utimensat(AT_FDCWD, directory, (const struct timespec[]){{1000, 0}, {1000, 0}}, 0), 0);
    }
    store(0, SMALL, 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        snprintf(directory, sizeof directory, "%s/%s", folder.cache, names[i]);
        ck_assert_msg(access(directory, F_OK) == 0, "%s is gone", names[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache attack");
    TCase *tests = tcase_create("attack");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, no_mutated_entry_is_read);
    tcase_add_test(tests, no_part_of_an_entry_is_read);
    tcase_add_test(tests, an_entry_that_is_no_file_is_not_read);
    tcase_add_test(tests, an_entry_that_is_too_large_is_not_read);
    tcase_add_test(tests, what_others_own_or_may_write_is_not_read);
    tcase_add_test(tests, a_folder_that_is_not_the_users_is_refused);
    tcase_add_test(tests, every_system_call_fails_once);
    tcase_add_test(tests, a_file_that_may_not_grow_is_done_without);
    tcase_add_test(tests, a_full_disk_and_one_that_is_read_only_are_done_without);
    tcase_add_test(tests, a_killed_writer_leaves_whole_entries);
    tcase_add_test(tests, files_that_are_not_the_caches_stay);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
