// SPDX-License-Identifier: MIT
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // locks of open files
#endif
#include "os/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/time.h"

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
        husk__sleep_ns(PAUSE_NS);
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
