// SPDX-License-Identifier: MIT
#include "os/process.h"

#include <pthread.h>
#include <unistd.h>

long husk__process_number(void)
{
    return (long)getpid();
}

bool husk__on_fork(void (*in_child)(void))
{
    return pthread_atfork(NULL, NULL, in_child) == 0;
}
