// SPDX-License-Identifier: MIT
#include "system/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text.h"

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

// By its own fault. What ends a process from outside, or for a limit of its time, says nothing of what it was doing.
static bool has_crashed(int status)
{
    const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return !number || number == SIGSEGV || number == SIGABRT || number == SIGBUS || number == SIGFPE ||
           number == SIGILL || number == SIGTRAP;
}

// That the compiler crashes on what it was building. False: there is no place for it. A mark that is there already is
// one that the library has not heeded, for its age most likely.
static bool mark(const bench_process *process, const char *how)
{
    static const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    int file = open(process->mark, flags, 0600);
    if (file < 0 && errno == EEXIST && unlink(process->mark) == 0)
        file = open(process->mark, flags, 0600);
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

#define OPEN_SECONDS 120.0 // for a device to be opened once more

static bool confirms(const bench_process *process, int status)
{
    return status != BENCH_STATUS_UNKNOWN && has_crashed(status) && process->building && process->mark &&
           strcmp(process->mark, process->suspicion->mark) == 0 && !process->has_launched;
}

// What the new process answers; where it dies, that may be what was suspected.
static bool is_answered(bench_process *again, double seconds)
{
    char reason[BENCH_REASON_TEXT];
    json_t *reply = NULL;
    int status;
    const bench_reply answer = bench_child_receive(again, seconds, &reply, &status, reason);
    json_decref(reply);
    if (status != BENCH_STATUS_NONE) {
        again->suspicion->is_confirmed = confirms(again, status);
        bench_child_forget(again);
    }
    return answer == BENCH_REPLY_OK;
}

static bool ask(bench_process *again, json_t *request, double seconds)
{
    bench_process_send(again, request);
    return is_answered(again, seconds);
}

// The last request, of a new process that has been opened. A slot has to be prepared again first.
static void repeat(const bench_process *process, bench_process *again, double seconds)
{
    json_t *request = process->request ? json_loads(process->request, 0, NULL) : NULL;
    const bool is_of_slot = json_object_get(request, "slot") && process->prepare;
    const bool is_prepare = is_of_slot && !strcmp(process->prepare, process->request);
    if (is_of_slot && !is_prepare && !ask(again, json_loads(process->prepare, 0, NULL), seconds)) {
        json_decref(request);
        return;
    }
    if (request)
        ask(again, request, seconds);
}

static bool crashes_again(const bench_process *process, double seconds)
{
    bench_suspicion suspicion = {.mark = process->mark};
    bench_process again;
    char reason[BENCH_REASON_TEXT];
    if (!process->arguments || !bench_process_start(&again, (const char *const *)process->arguments,
                                                    (const char *const *)process->environment, reason))
        return false;
    again.suspicion = &suspicion;
    if (is_answered(&again, OPEN_SECONDS))
        repeat(process, &again, seconds);
    bench_process_kill(&again);
    return suspicion.is_confirmed;
}

// Where memory or files are limited compilers crash on whatever they build, and each time.
static bool is_limited(void)
{
    static const int limits[] = {RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE};
    struct rlimit limit;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (getrlimit(limits[i], &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
            return true;
    }
    return false;
}

// Why a crash is not held against the program that was being built; NULL: it is.
static const char *find_excuse(const bench_process *process, double seconds)
{
    if (is_limited())
        return "memory or the size of files is limited (ulimit)";
    return crashes_again(process, seconds) ? NULL : "a new process that has launched nothing does not crash there";
}

static void say_how_its_compiler_died(const bench_process *process, int status, double seconds,
                                      char reason[BENCH_REASON_TEXT])
{
    char how[40];
    if (WIFSIGNALED(status))
        snprintf(how, sizeof how, "%s", signal_name(WTERMSIG(status)));
    else
        snprintf(how, sizeof how, "exit code %d", WEXITSTATUS(status));
    const char *excuse = process->mark ? find_excuse(process, seconds) : NULL;
    snprintf(reason, BENCH_REASON_TEXT, "%s crashed (%s) while building %.500s",
             excuse ? bench_process_who(process) : "the driver's compiler", how, process->building);
    if (excuse)
        bench_append(reason, BENCH_REASON_TEXT, ", which is not held against the program: %s", excuse);
    else if (process->mark && mark(process, how))
        bench_append(reason, BENCH_REASON_TEXT,
                     "; Husk does without that program until %s is deleted, for a week at most", process->mark);
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

void bench_crash_tell(const bench_process *process, int status, double seconds, char reason[BENCH_REASON_TEXT])
{
    char at[BENCH_DOING_TEXT];
    const char *who = bench_process_who(process);
    bench_process_doing(process, at);
    if (status == BENCH_STATUS_UNKNOWN) {
        snprintf(reason, BENCH_REASON_TEXT, "%s ended the process, nobody knows how, while %s", who, at);
    } else if (process->building && has_crashed(status)) {
        say_how_its_compiler_died(process, status, seconds, reason);
    } else if (WIFSIGNALED(status)) {
        const int number = WTERMSIG(status);
        snprintf(reason, BENCH_REASON_TEXT, "%s %s: %s (%s) while %s", who,
                 number == SIGKILL ? "was ended from outside, perhaps since memory was short" : "crashed",
                 signal_name(number), strsignal(number), at);
    } else {
        snprintf(reason, BENCH_REASON_TEXT, "%s ended the process with exit code %d while %s", who, WEXITSTATUS(status),
                 at);
    }
    if (!process->building && status != BENCH_STATUS_UNKNOWN && has_crashed(status))
        say_what_was_launched(process, reason);
}
