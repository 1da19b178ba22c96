// SPDX-License-Identifier: MIT
#include "system/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <unistd.h>

volatile sig_atomic_t bench_interrupted;

static void on_interrupt(int signal_number)
{
    bench_interrupted = signal_number;
}

// A worker's pipe may break, too: that is found out by reading from it.
static void on_broken_pipe(int signal_number)
{
    const int error = errno;
    if (bench_stdout_is_unread())
        bench_interrupted = signal_number;
    errno = error;
}

bool bench_stdout_is_unread(void)
{
    struct pollfd about = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&about, 1, 0) == 1 && (about.revents & POLLERR);
}

void bench_catch_interrupt(void)
{
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = on_broken_pipe}, NULL);
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND}, before;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        // Who started clbench with nohup, or in the background of a script, wants it to go on.
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

int bench_interrupted_exit(void)
{
    return 128 + bench_interrupted;
}
