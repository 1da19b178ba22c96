// SPDX-License-Identifier: MIT
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "text.h"
#include "timer.h"

volatile sig_atomic_t bench_interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    bench_interrupted = 1;
}

void bench_catch_interrupt(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
}

#define LONGEST_LINE ((size_t)64 << 20)

static void close_both(int pipe_ends[2])
{
    for (int i = 0; i < 2; i++) {
        if (pipe_ends[i] >= 0)
            close(pipe_ends[i]);
    }
}

// The parent has no threads, so that between fork and exec everything is allowed.
static void become_worker(int requests, int replies, const char *const *arguments,
                          const char *const *environment)
{
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL); // a worker in a hung driver must not outlive clbench
#endif
    signal(SIGINT, SIG_IGN); // Ctrl-C is for the parent, which keeps what was measured
    // The two ends may be where they are to go: move them out of the way first.
    int from = fcntl(requests, F_DUPFD, 10), to = fcntl(replies, F_DUPFD, 10);
    if (from < 0 || to < 0 || dup2(from, BENCH_WORKER_REQUESTS) < 0 || dup2(to, BENCH_WORKER_REPLIES) < 0)
        _exit(127);
    close(from);
    close(to);
    // What drivers print must not mix with the results on stdout.
    dup2(STDERR_FILENO, STDOUT_FILENO);
    // PoCL's threads are not bound to cores unless it is told to: two of them may share one for as long as the
    // process lives, which halves every figure at random. (oneDNN's are bound by bench/baseline/onednn.c.)
    setenv("POCL_AFFINITY", "1", 0);
    // Husk's pool of a CPU device lies in huge pages where the system gives them on request: so do, by glibc's
    // word, the operands and the packed weights of those that it is compared with.
    setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 0);
    for (; environment && environment[0]; environment += 2)
        setenv(environment[0], environment[1], 1);
    execv("/proc/self/exe", (char *const *)(uintptr_t)arguments);
    _exit(127);
}

bool bench_process_start(bench_process *process, const char *const *arguments, const char *const *environment,
                         char reason[BENCH_REASON_TEXT])
{
    memset(process, 0, sizeof *process);
    int requests[2] = {-1, -1}, replies[2] = {-1, -1};
    if (pipe(requests) || pipe(replies)) {
        close_both(requests);
        return bench_explain(reason, BENCH_REASON_TEXT, "no pipe to a worker: %s", strerror(errno));
    }
    for (int i = 0; i < 2; i++) { // other workers must not hold this one's pipes open
        fcntl(requests[i], F_SETFD, FD_CLOEXEC);
        fcntl(replies[i], F_SETFD, FD_CLOEXEC);
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become_worker(requests[0], replies[1], arguments, environment);
    if (pid < 0) {
        close_both(requests);
        close_both(replies);
        return bench_explain(reason, BENCH_REASON_TEXT, "no worker process: %s", strerror(errno));
    }
    close(requests[0]);
    close(replies[1]);
    process->pid = pid;
    process->requests = requests[1];
    process->replies = replies[0];
    return true;
}

static void forget(bench_process *process)
{
    close(process->requests);
    close(process->replies);
    free(process->buffer);
    memset(process, 0, sizeof *process);
}

void bench_process_kill(bench_process *process)
{
    if (!process->pid)
        return;
    kill(process->pid, SIGKILL);
    waitpid(process->pid, NULL, 0);
    forget(process);
}

void bench_process_stop(bench_process *process)
{
    if (!process->pid)
        return;
    close(process->requests); // end of file: the worker tidies up and leaves
    process->requests = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (int i = 0; i < 200; i++) {
        if (waitpid(process->pid, NULL, WNOHANG) == process->pid) {
            forget(process);
            return;
        }
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    bench_process_kill(process);
}

bool bench_process_send(bench_process *process, json_t *request)
{
    char *text = json_dumps(request, JSON_COMPACT);
    json_decref(request);
    bool sent = text && process->pid;
    size_t size = sent ? strlen(text) : 0, done = 0;
    if (sent)
        text[size++] = '\n'; // over the terminating zero: what is written is counted
    while (sent && done < size) {
        ssize_t wrote = write(process->requests, text + done, size - done);
        if (wrote > 0)
            done += (size_t)wrote;
        else if (wrote < 0 && errno != EINTR)
            sent = false;
    }
    free(text);
    return sent;
}

static void say_how_it_died(bench_process *process, char reason[BENCH_REASON_TEXT])
{
    int status = 0;
    if (waitpid(process->pid, &status, 0) < 0)
        snprintf(reason, BENCH_REASON_TEXT, "the worker process is gone");
    else if (WIFSIGNALED(status))
        snprintf(reason, BENCH_REASON_TEXT, "the worker process crashed: signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(reason, BENCH_REASON_TEXT, "the worker process left with exit code %d", WEXITSTATUS(status));
    forget(process);
}

// A whole line is there: cut it off and parse it.
static json_t *take_line(bench_process *process)
{
    char *end = process->used ? memchr(process->buffer, '\n', process->used) : NULL;
    if (!end)
        return NULL;
    size_t length = (size_t)(end - process->buffer) + 1;
    json_error_t error;
    json_t *reply = json_loadb(process->buffer, length - 1, 0, &error);
    process->used -= length;
    memmove(process->buffer, process->buffer + length, process->used);
    return reply ? reply : json_pack("{s:s, s:s}", "answer", "error", "reason", "the worker sent no JSON");
}

static bool read_more(bench_process *process)
{
    if (process->capacity - process->used < 4096) {
        size_t capacity = process->capacity ? 2 * process->capacity : 16384;
        char *buffer = capacity <= LONGEST_LINE ? realloc(process->buffer, capacity) : NULL;
        if (!buffer)
            return false;
        process->buffer = buffer;
        process->capacity = capacity;
    }
    ssize_t got = read(process->replies, process->buffer + process->used, process->capacity - process->used);
    if (got > 0)
        process->used += (size_t)got;
    return got > 0 || (got < 0 && errno == EINTR);
}

bench_reply bench_process_receive(bench_process *process, double seconds, json_t **reply,
                                  char reason[BENCH_REASON_TEXT])
{
    *reply = NULL;
    if (!process->pid) {
        snprintf(reason, BENCH_REASON_TEXT, "the worker process is not running");
        return BENCH_REPLY_DIED;
    }
    uint64_t deadline = bench_now_ns() + (uint64_t)(seconds > 0 ? seconds * 1e9 : 0);
    while (!(*reply = take_line(process))) {
        uint64_t now = bench_now_ns();
        if (seconds > 0 && now >= deadline) {
            bench_process_kill(process);
            snprintf(reason, BENCH_REASON_TEXT, "no answer within %.3g s; the worker process was ended",
                     seconds);
            return BENCH_REPLY_TIMEOUT;
        }
        if (bench_interrupted) {
            bench_process_kill(process);
            snprintf(reason, BENCH_REASON_TEXT, "interrupted");
            return BENCH_REPLY_TIMEOUT;
        }
        // Half a second at most, for a signal that came just before the call.
        uint64_t left = seconds > 0 ? deadline - now : 500000000u;
        int wait_ms = left < 500000000u ? (int)(left / 1000000) + 1 : 500;
        struct pollfd watched = {.fd = process->replies, .events = POLLIN};
        int ready = poll(&watched, 1, wait_ms);
        if (ready > 0 && !read_more(process)) {
            say_how_it_died(process, reason);
            return BENCH_REPLY_DIED;
        }
    }
    return BENCH_REPLY_OK;
}

bench_reply bench_process_call(bench_process *process, json_t *request, double seconds, json_t **reply,
                               char reason[BENCH_REASON_TEXT])
{
    // When the send fails the worker has died; receive finds out how.
    bench_process_send(process, request);
    return bench_process_receive(process, seconds, reply, reason);
}
