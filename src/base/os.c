// SPDX-License-Identifier: MIT
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // madvise, locks of open files, sets of CPUs
#endif
#include "base/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#endif

uint64_t husk__now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

const char *husk__environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

size_t husk__thread_stack_bytes(void)
{
    pthread_attr_t plain;
    size_t bytes = 0;
    if (pthread_attr_init(&plain) != 0)
        return 0;
    if (pthread_attr_getstacksize(&plain, &bytes) != 0)
        bytes = 0;
    pthread_attr_destroy(&plain);
    return bytes;
}

bool husk__free_bytes(const char *path, uint64_t *bytes)
{
    struct statvfs system;
    if (statvfs(path, &system) != 0 || system.f_blocks == 0) // some that are none on a disk know of no blocks
        return false;
    const uint64_t blocks = geteuid() == 0 ? system.f_bfree : system.f_bavail;
    const uint64_t size = system.f_frsize ? system.f_frsize : system.f_bsize;
    *bytes = blocks > UINT64_MAX / size ? UINT64_MAX : blocks * size;
    if (system.f_files > 0 && (geteuid() == 0 ? system.f_ffree : system.f_favail) == 0)
        *bytes = 0; // no file more
    return true;
}

bool husk__parse_size(const char *text, uint64_t *value)
{
    if (*text < '0' || *text > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    unsigned shift = 0;
    if (*end == 'K' || *end == 'k')
        shift = 10;
    else if (*end == 'M' || *end == 'm')
        shift = 20;
    else if (*end == 'G' || *end == 'g')
        shift = 30;
    if (shift)
        ++end;
    if (errno || *end || number > UINT64_MAX >> shift)
        return false;
    *value = (uint64_t)number << shift;
    return true;
}

static char *read_descriptor(int descriptor, size_t *size)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 0)
        return NULL;
    if (status.st_size > HUSK__MOST_FILE_BYTES) {
        // A malloc that fails would say that there is no memory; one that does not may end the process.
        errno = EFBIG;
        return NULL;
    }
    size_t length = (size_t)status.st_size; // no more is read of a file that grows
    char *bytes = malloc(length + 1);
    if (!bytes)
        return NULL;
    size_t done = 0;
    while (done < length) {
        ssize_t got = read(descriptor, bytes + done, length - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            const int why = errno;
            free(bytes);
            errno = why;
            return NULL;
        }
        if (got == 0)
            break;
        done += (size_t)got;
    }
    bytes[done] = 0;
    if (size)
        *size = done;
    return bytes;
}

char *husk__read_file(const char *path, size_t *size)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return NULL;
    char *bytes = read_descriptor(descriptor, size);
    const int why = errno;
    close(descriptor);
    errno = why;
    return bytes;
}

char *husk__read_stream(const char *path, size_t most)
{
    FILE *file = fopen(path, "re");
    char *bytes = file ? malloc(most + 1) : NULL;
    if (bytes)
        bytes[fread(bytes, 1, most, file)] = 0;
    if (file)
        fclose(file);
    return bytes;
}

bool husk__is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), wanted = strlen(ending);
    return length > wanted && strcmp(name + length - wanted, ending) == 0;
}

char **husk__list_directory(const char *path, const char *ending, size_t *count)
{
    DIR *directory = opendir(path);
    char **names = directory ? malloc(sizeof *names) : NULL;
    bool is_whole = names != NULL;
    *count = 0;
    for (struct dirent *entry; is_whole && (entry = readdir(directory));) {
        size_t size = strlen(path) + strlen(entry->d_name) + 2;
        if (!ends_with(entry->d_name, ending))
            continue;
        char **more = realloc(names, (*count + 1) * sizeof *names);
        char *name = malloc(size);
        names = more ? more : names;
        is_whole = more && name;
        if (!is_whole) {
            free(name);
            break;
        }
        snprintf(name, size, "%s/%s", path, entry->d_name);
        names[(*count)++] = name;
    }
    if (directory)
        closedir(directory);
    if (is_whole) {
        qsort(names, *count, sizeof *names, compare_names);
        return names;
    }
    while (*count > 0)
        free(names[--*count]);
    free(names);
    return NULL;
}

static bool is_private(const struct stat *status)
{
    return status->st_uid == geteuid() && (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

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
    (void)madvise(memory, size, MADV_HUGEPAGE); // a wish: small pages serve as well
#endif
    return memory;
}

bool husk__prepare_private_directory(const char *path)
{
    char parent[4096];
    if (!*path || strlen(path) >= sizeof parent)
        return false;
    strcpy(parent, path);
    for (char *at = parent + 1; *at; ++at) {
        if (*at != '/')
            continue;
        *at = 0;
        if (mkdir(parent, 0700) != 0 && errno != EEXIST)
            return false;
        *at = '/';
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return false;
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && is_private(&status);
}

char *husk__absolute_path(const char *path)
{
    return realpath(path, NULL);
}

char *husk__read_private_file(const char *path, size_t *size)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0)
        return NULL;
    struct stat status;
    char *bytes = NULL;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && is_private(&status))
        bytes = read_descriptor(descriptor, size);
    const int why = errno;
    close(descriptor);
    errno = why;
    return bytes;
}

#ifdef F_OFD_SETLK // of the open file, not of the process: also between threads, and no other close ends it
static bool try_lock(int descriptor, uint32_t place)
{
    const off_t start = (off_t)(place & INT32_MAX); // off_t may have 32 bits
    struct flock wanted = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = 1};
    return fcntl(descriptor, F_OFD_SETLK, &wanted) == 0;
}

static int open_lock(const char *path)
{
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat status;
    if (descriptor >= 0 && (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))) {
        close(descriptor);
        descriptor = -1;
    }
    return descriptor;
}

int husk__lock(const char *path, uint32_t place, uint64_t patience_ns)
{
    enum { PAUSE_NS = 2000000 };
    int descriptor = open_lock(path);
    if (descriptor < 0)
        return -1;
    const uint64_t start = husk__now_ns();
    while (!try_lock(descriptor, place)) {
        if ((errno != EAGAIN && errno != EACCES && errno != EINTR) || husk__now_ns() - start >= patience_ns) {
            close(descriptor);
            return -1;
        }
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return descriptor;
}

// A process that was forked meanwhile has the same open file, which closing alone would leave locked.
void husk__unlock(int lock)
{
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    if (lock < 0)
        return;
    fcntl(lock, F_OFD_SETLK, &all);
    close(lock);
}

int64_t husk__find_lock(const char *path, uint32_t from, uint32_t to)
{
    struct flock asked = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)from, .l_len = (off_t)(to - from)};
    const int descriptor = from < to ? open_lock(path) : -1; // a length of 0 would be all of the file
    if (descriptor < 0)
        return -1;
    const bool is_found = fcntl(descriptor, F_OFD_GETLK, &asked) == 0 && asked.l_type != F_UNLCK;
    close(descriptor);
    if (!is_found)
        return -1;
    return asked.l_start > (off_t)from ? (int64_t)asked.l_start : (int64_t)from;
}
#else
int husk__lock(const char *path, uint32_t place, uint64_t patience_ns)
{
    (void)path, (void)place, (void)patience_ns;
    return -1;
}

void husk__unlock(int lock)
{
    (void)lock;
}

int64_t husk__find_lock(const char *path, uint32_t from, uint32_t to)
{
    (void)path, (void)from, (void)to;
    return -1;
}
#endif

// Behind it are the six characters that mkstemp chooses.
#define TEMPORARY ".tmp."
enum { TEMPORARY_ENDING = sizeof TEMPORARY - 1 + 6, OLD_SECONDS = 3600 };

static bool write_all(int descriptor, const char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t put = write(descriptor, bytes + done, size - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

// A new file, which gets its name when it is whole and on the disk. Takes over the descriptor.
static bool place(int descriptor, const char *temporary, const char *path, const void *bytes, size_t size)
{
    if (descriptor < 0)
        return false;
    bool done = write_all(descriptor, bytes, size) && fsync(descriptor) == 0;
    done = close(descriptor) == 0 && done;
    done = done && rename(temporary, path) == 0;
    if (!done)
        unlink(temporary);
    return done;
}

bool husk__write_file_atomically(const char *path, const void *bytes, size_t size)
{
    char temporary[4096];
    int length = snprintf(temporary, sizeof temporary, "%s" TEMPORARY "XXXXXX", path);
    if (length < 0 || (size_t)length >= sizeof temporary)
        return false;
    return place(mkstemp(temporary), temporary, path, bytes, size);
}

// Into what is there: a device, a pipe, what a link leads to.
static bool write_in_place(const char *path, const void *bytes, size_t size)
{
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const bool done = descriptor >= 0 && write_all(descriptor, bytes, size);
    return descriptor >= 0 && close(descriptor) == 0 && done;
}

bool husk__write_named_file(const char *path, const void *bytes, size_t size)
{
    enum { TRIES = 100 };
    struct stat before;
    char temporary[4096];
    const bool is_there = lstat(path, &before) == 0;
    if (is_there && !S_ISREG(before.st_mode))
        return write_in_place(path, bytes, size);
    int descriptor = -1;
    errno = EEXIST;
    for (unsigned i = 0; i < TRIES && descriptor < 0 && errno == EEXIST; ++i) {
        const int length =
            snprintf(temporary, sizeof temporary, "%s" TEMPORARY "%06x", path, ((unsigned)getpid() + i) & 0xffffff);
        if (length < 0 || (size_t)length >= sizeof temporary)
            return false;
        descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); // less what the umask forbids
    }
    if (descriptor >= 0 && is_there)
        (void)!fchmod(descriptor, before.st_mode & 0777);
    return place(descriptor, temporary, path, bytes, size);
}

static bool is_as_old(const struct stat *status, int64_t seconds)
{
    const int64_t age = (int64_t)time(NULL) - (int64_t)status->st_mtime;
    return age > seconds || age < -seconds;
}

bool husk__is_old(const char *path, int64_t seconds)
{
    struct stat status;
    return lstat(path, &status) != 0 || is_as_old(&status, seconds);
}

static bool is_temporary(const char *name, bool is_ours(const char *name, size_t length))
{
    size_t length = strlen(name);
    return length > TEMPORARY_ENDING &&
           strncmp(name + length - TEMPORARY_ENDING, TEMPORARY, sizeof TEMPORARY - 1) == 0 &&
           is_ours(name, length - TEMPORARY_ENDING);
}

void husk__remove_old_temporaries(const char *folder, bool is_ours(const char *name, size_t length))
{
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        struct stat status;
        if (is_temporary(entry->d_name, is_ours) &&
            fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
            is_as_old(&status, OLD_SECONDS))
            unlinkat(dirfd(directory), entry->d_name, 0);
    }
    if (directory)
        closedir(directory);
}

long husk__process_number(void)
{
    return (long)getpid();
}

#if defined(__linux__)
long husk__thread_number(void)
{
    return syscall(SYS_gettid); // glibc has a function for it from 2.30 on
}

static int *list_cpus(const cpu_set_t *set, size_t bytes, size_t *count)
{
    *count = (size_t)CPU_COUNT_S(bytes, set);
    int *cpus = malloc((*count + 1) * sizeof *cpus);
    size_t found = 0;
    for (int cpu = 0; cpus && found < *count; ++cpu)
        if (CPU_ISSET_S(cpu, bytes, set))
            cpus[found++] = cpu;
    return cpus;
}

int *husk__allowed_cpus(long thread, size_t *count)
{
    enum { FIRST = 1024, MOST = 1 << 20 }; // the system takes no set that is smaller than its own
    int *cpus = NULL;
    bool is_small = true;
    for (int most = FIRST; is_small && most <= MOST; most *= 4) {
        const size_t bytes = CPU_ALLOC_SIZE(most);
        cpu_set_t *set = calloc(1, bytes);
        if (!set)
            return NULL;
        const bool is_told = sched_getaffinity((pid_t)thread, bytes, set) == 0;
        is_small = !is_told && errno == EINVAL;
        const int why = errno;
        cpus = is_told ? list_cpus(set, bytes, count) : NULL;
        free(set);
        errno = is_told ? ENOMEM : why;
    }
    return cpus;
}

bool husk__allow_cpus(const int *cpus, size_t count)
{
    int most = 0;
    for (size_t i = 0; i < count; ++i)
        most = cpus[i] > most ? cpus[i] : most;
    const size_t bytes = CPU_ALLOC_SIZE(most + 1);
    cpu_set_t *set = calloc(1, bytes);
    if (!set)
        return false;
    for (size_t i = 0; i < count; ++i)
        CPU_SET_S(cpus[i], bytes, set);
    const bool done = sched_setaffinity(0, bytes, set) == 0;
    const int why = errno;
    free(set);
    errno = why;
    return done;
}
#else
long husk__thread_number(void)
{
    return 0;
}

int *husk__allowed_cpus(long thread, size_t *count)
{
    (void)thread;
    *count = 0;
    errno = ENOSYS;
    return NULL;
}

bool husk__allow_cpus(const int *cpus, size_t count)
{
    (void)cpus, (void)count;
    errno = ENOSYS;
    return false;
}
#endif
