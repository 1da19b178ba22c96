// SPDX-License-Identifier: MIT
#include "crash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "text.h"

static const char *signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        {SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
        {SIGILL, "SIGILL"},   {SIGKILL, "SIGKILL"}, {SIGTERM, "SIGTERM"}, {SIGTRAP, "SIGTRAP"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].number == number)
            return names[i].name;
    }
    return "a signal";
}

// That the compiler crashes on what it was building. False: there is no place for it.
static bool mark(const bench_process *process, const char *how)
{
    if (!process->mark)
        return false;
    const int file = open(process->mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return errno == EEXIST;
    char text[1200];
    const int size = snprintf(text, sizeof text, "%s, as clbench saw\nwhile building %s\n", how, process->building);
    const size_t length = size < (int)sizeof text ? (size_t)size : sizeof text - 1;
    const bool is_written = write(file, text, length) == (ssize_t)length;
    if (close(file) == 0 && is_written)
        return true;
    unlink(process->mark);
    return false;
}

static void say_how_its_compiler_died(const bench_process *process, int status, char reason[BENCH_REASON_TEXT])
{
    char how[40];
    if (WIFSIGNALED(status))
        snprintf(how, sizeof how, "%s", signal_name(WTERMSIG(status)));
    else
        snprintf(how, sizeof how, "exit code %d", WEXITSTATUS(status));
    snprintf(reason, BENCH_REASON_TEXT, "the driver's compiler crashed (%s) while building %.500s", how,
             process->building);
    if (mark(process, how))
        bench_append(reason, BENCH_REASON_TEXT, "; Husk does without that program until %s is deleted", process->mark);
}

// By its own fault. What ends a process from outside, or for a limit of its time, says nothing of what it was doing.
static bool has_crashed(int status)
{
    const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return !number || number == SIGSEGV || number == SIGABRT || number == SIGBUS || number == SIGFPE ||
           number == SIGILL || number == SIGTRAP;
}

// A kernel is compiled at its first launch by some drivers (PoCL), by threads of theirs perhaps: whether the compiler
// crashed then, or the kernel, nobody can tell.
static void say_what_was_launched(const bench_process *process, char reason[BENCH_REASON_TEXT])
{
    if (process->launched)
        bench_append(reason, BENCH_REASON_TEXT,
                     "; the last kernel launched for the first time was %.200s: it may have crashed, or the driver's "
                     "compiler, which some drivers call only then",
                     process->launched);
}

void bench_crash_tell(const bench_process *process, int status, char reason[BENCH_REASON_TEXT])
{
    char at[BENCH_DOING_TEXT];
    const char *who = bench_process_who(process);
    bench_process_doing(process, at);
    if (status == BENCH_STATUS_UNKNOWN) {
        snprintf(reason, BENCH_REASON_TEXT, "%s ended the process, nobody knows how, while %s", who, at);
    } else if (process->building && has_crashed(status)) {
        say_how_its_compiler_died(process, status, reason);
    } else if (WIFSIGNALED(status)) {
        const int number = WTERMSIG(status);
        snprintf(reason, BENCH_REASON_TEXT, "%s %s: %s (%s) while %s", who,
                 number == SIGKILL ? "was ended from outside, perhaps since memory was short" : "crashed",
                 signal_name(number), strsignal(number), at);
    } else {
        snprintf(reason, BENCH_REASON_TEXT, "%s ended the process with exit code %d while %s", who,
                 WEXITSTATUS(status), at);
    }
    if (!process->building && status != BENCH_STATUS_UNKNOWN && has_crashed(status))
        say_what_was_launched(process, reason);
}
