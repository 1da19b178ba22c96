// SPDX-License-Identifier: MIT
// Preloaded, it shows a machine that has an NVIDIA GPU for whom asks whether the device file is there.
#define _GNU_SOURCE // RTLD_NEXT
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

int access(const char *path, int mode)
{
    void *address = dlsym(RTLD_NEXT, "access");
    int (*real)(const char *, int);
    memcpy(&real, &address, sizeof real);
    return strcmp(path, "/dev/nvidia0") ? real(path, mode) : 0;
}
