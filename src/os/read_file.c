// SPDX-License-Identifier: MIT
#include "os/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char *husk__read_descriptor(int descriptor, size_t *size)
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
    char *bytes = husk__read_descriptor(descriptor, size);
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
