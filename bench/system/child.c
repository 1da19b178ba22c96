// SPDX-License-Identifier: MIT
#include "system/child.h"

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

#include "common/text.h"
#include "system/environment.h"
#include "system/host.h"
#include "system/interrupt.h"
#include "system/timer.h"

static bench_process_watcher *watcher;

void bench_process_watch(bench_process_watcher *wanted)
{
    watcher = wanted;
}

#define LONGEST_LINE ((size_t)64 << 20)
#define KILL_NS      5000000000u // by when a killed process is gone, unless its driver holds it in the system
#define LEAVE_NS     1000000000u // what one that was asked to leave is given

static void free_texts(char **texts)
{
    for (size_t i = 0; texts && texts[i]; i++)
        free(texts[i]);
    free(texts);
}

static char **copy_texts(const char *const *texts)
{
    size_t count = 0;
    while (texts && texts[count])
        count++;
    char **copies = texts ? calloc(count + 1, sizeof *copies) : NULL;
    for (size_t i = 0; copies && i < count; i++) {
        copies[i] = bench_copy_text(texts[i]);
        if (!copies[i]) {
            free_texts(copies);
            return NULL;
        }
    }
    return copies;
}

static void close_both(int pipe_ends[2])
{
    for (int i = 0; i < 2; i++) {
        if (pipe_ends[i] >= 0)
            close(pipe_ends[i]);
    }
}

// What a container or a scheduler leaves of the machine, as text; "" where that is all of it.
static char cores_text[16];

static void count_cores(void)
{
    static bool is_counted;
    bench_host_limits limits;
    if (is_counted)
        return;
    is_counted = true;
    bench_host_read_limits("", &limits);
    if (bench_host_usable_cores(&limits) < limits.online)
        snprintf(cores_text, sizeof cores_text, "%d", bench_host_usable_cores(&limits));
}

// Unless the user has, by whatever name: PoCL from 6.0 on goes by the first that is set, which would be ours.
static void limit_pocl_threads(const char *count)
{
    const char *name;
    for (size_t i = 0; (name = bench_environment_pocl_threads(i)); i++)
        if (getenv(name))
            return;
    for (size_t i = 0; (name = bench_environment_pocl_threads(i)); i++)
        setenv(name, count, 1);
}

// The parent has no threads, so that between fork and exec everything is allowed.
static void become_worker(int requests, int replies, pid_t parent, const char *const *arguments,
                          const char *const *environment)
{
    setpgid(0, 0); // a group of its own: what a driver starts, a compiler for one, is ended with it
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL); // a worker in a hung driver must not outlive clbench
#endif
    if (getppid() != parent) // which has ended in between
        _exit(127);
    signal(SIGINT, SIG_IGN); // signals to the program are for the parent, which keeps what was measured
    signal(SIGTTOU, SIG_IGN);
    // The two ends may be where they are to go: move them out of the way first.
    int from = fcntl(requests, F_DUPFD, 10), to = fcntl(replies, F_DUPFD, 10);
    if (from < 0 || to < 0 || dup2(from, BENCH_WORKER_REQUESTS) < 0 || dup2(to, BENCH_WORKER_REPLIES) < 0)
        _exit(127);
    close(from);
    close(to);
    // What drivers print must not mix with the results on stdout.
    dup2(STDERR_FILENO, STDOUT_FILENO);
    // PoCL's threads are not bound to cores unless it is told to: two of them may share one for as long as the
    // process lives, which halves every figure at random. (oneDNN's are bound by bench/baseline/onednn.c.) It counts
    // cores from 0, which are not ours where a set of others was given.
    if (bench_host_begins_at_0())
        setenv("POCL_AFFINITY", "1", 0);
    // It starts a thread for every processor of the machine; more than may run wait for each other.
    if (cores_text[0])
        limit_pocl_threads(cores_text);
    // Husk's pool of a CPU device lies in huge pages where the system gives them on request: so do, by glibc's
    // word, the operands and the packed weights of those that it is compared with.
    setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 0);
    for (; environment && environment[0]; environment += 2)
        setenv(environment[0], environment[1], 1);
    const char *program = strchr(arguments[0], '/') ? arguments[0] : "/proc/self/exe";
    execv(program, (char *const *)(uintptr_t)arguments);
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
    count_cores();
    // Whoever started this process may have had it ignored: then the system, not reap(), takes note of how workers end.
    signal(SIGCHLD, SIG_DFL);
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become_worker(requests[0], replies[1], parent, arguments, environment);
    if (pid < 0) {
        close_both(requests);
        close_both(replies);
        return bench_explain(reason, BENCH_REASON_TEXT, "no worker process: %s", strerror(errno));
    }
    setpgid(pid, pid); // whoever comes first
    close(requests[0]);
    close(replies[1]);
    process->pid = pid;
    snprintf(process->at, sizeof process->at, "starting");
    process->requests = requests[1];
    process->replies = replies[0];
    process->arguments = copy_texts(arguments);
    process->environment = copy_texts(environment);
    return true;
}

void bench_child_forget(bench_process *process)
{
    close(process->requests);
    close(process->replies);
    free(process->buffer);
    free(process->building);
    free(process->mark);
    free(process->launched);
    free_texts(process->arguments);
    free_texts(process->environment);
    free(process->request);
    free(process->prepare);
    memset(process, 0, sizeof *process);
}

// Its end, if it comes in time (a process inside a hung driver may not even follow SIGKILL), and that of its group.
static bool reap(pid_t pid, uint64_t limit_ns, int *status)
{
    const uint64_t start = bench_now_ns();
    *status = BENCH_STATUS_UNKNOWN;
    for (long pause_ns = 100000;; pause_ns = pause_ns < 10000000 ? 2 * pause_ns : pause_ns) {
        siginfo_t about = {0};
        int got = waitid(P_PID, (id_t)pid, &about, WEXITED | WNOHANG | WNOWAIT);
        if ((got == 0 && about.si_pid == pid) || (got < 0 && errno == ECHILD)) {
            if (got == 0)
                kill(-pid, SIGKILL); // what it has started; while it is not waited for, the number is its own
            if (waitpid(pid, status, 0) != pid)
                *status = BENCH_STATUS_UNKNOWN;
            return true;
        }
        if (bench_now_ns() - start > limit_ns)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
    }
}

static void kill_group(pid_t pid)
{
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL); // its group may not be made yet
}

bool bench_process_kill(bench_process *process)
{
    int status;
    if (!process->pid)
        return true;
    kill_group(process->pid);
    bool is_gone = reap(process->pid, KILL_NS, &status);
    bench_child_forget(process);
    return is_gone;
}

void bench_process_stop(bench_process *process)
{
    int status;
    if (!process->pid)
        return;
    close(process->requests); // end of file: the worker tidies up and leaves
    process->requests = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (reap(process->pid, LEAVE_NS, &status))
        bench_child_forget(process);
    else
        bench_process_kill(process);
}

// What is said of a worker that has not said more itself.
static const char *doing(const char *what)
{
    static const char *const table[][2] = {
        {"prepare", "making the case ready"},
        {"run", "running for the first time"},
        {"verify", "running once to be verified"},
        {"warm", "warming up"},
        {"sample", "being measured"},
        {"check", "comparing what was timed with the reference"},
        {"release", "releasing what it had used"},
        {"peaks", "measuring the device's peaks"},
        {"sentinel", "timing the sentinel"},
        {"trust", "comparing its clocks"},
        {"prewarm", "making every operator ready"},
        {"engines", "asking for matrix engines"},
        {"overhead", "measuring the overhead of calls"},
        {"forms", "saying what it can do"},
    };
    for (size_t i = 0; what && i < sizeof table / sizeof *table; i++) {
        if (!strcmp(what, table[i][0]))
            return table[i][1];
    }
    return "answering a request";
}

static void keep_text(char **kept, const char *text)
{
    free(*kept);
    *kept = text ? bench_copy_text(text) : NULL;
}

bool bench_process_send(bench_process *process, json_t *request)
{
    char *text = json_dumps(request, JSON_COMPACT);
    const char *what = json_string_value(json_object_get(request, "do"));
    snprintf(process->at, sizeof process->at, "%s", doing(what));
    bool sent = text && process->pid;
    if (sent)
        keep_text(&process->request, text);
    if (sent && what && !strcmp(what, "prepare"))
        keep_text(&process->prepare, text);
    json_decref(request);
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

void bench_process_doing(const bench_process *process, char text[BENCH_DOING_TEXT])
{
    if (process->building)
        snprintf(text, BENCH_DOING_TEXT, "building %s", process->building);
    else
        snprintf(text, BENCH_DOING_TEXT, "%s", process->at);
}

const char *bench_process_who(const bench_process *process)
{
    return process->who[0] ? process->who : "the worker process";
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

// Whether a line says what the worker is doing.
static bool take_note(bench_process *process, const json_t *line)
{
    const char *at = json_string_value(json_object_get(line, "at"));
    const json_t *building = json_object_get(line, "building"), *launched = json_object_get(line, "first_launch");
    if (at)
        snprintf(process->at, sizeof process->at, "%s", at);
    if (building) {
        keep_text(&process->building, json_string_value(building));
        keep_text(&process->mark, json_string_value(json_object_get(line, "mark")));
    }
    if (launched) {
        keep_text(&process->launched, json_string_value(launched));
        process->has_launched |= process->launched && !strstr(process->launched, " of runtime/");
    }
    return at || building || launched;
}

// Anything else is the reply, by which nothing is built any more, and what was launched has ended.
static json_t *take_reply(bench_process *process)
{
    for (json_t *line; (line = take_line(process));) {
        if (!take_note(process, line)) {
            keep_text(&process->building, NULL);
            keep_text(&process->mark, NULL);
            keep_text(&process->launched, NULL);
            return line;
        }
        json_decref(line);
    }
    return NULL;
}

// Whether one that was started to crash again has got past the place.
static bool is_cleared(const bench_process *process)
{
    return process->suspicion && process->has_launched;
}

static bench_reply give_up(bench_process *process, double seconds, char reason[BENCH_REASON_TEXT])
{
    char at[BENCH_DOING_TEXT];
    const pid_t pid = process->pid;
    bench_process_doing(process, at);
    bool is_gone = bench_process_kill(process);
    if (bench_interrupted)
        snprintf(reason, BENCH_REASON_TEXT, "interrupted while %s", at);
    else if (is_gone)
        snprintf(reason, BENCH_REASON_TEXT, "no answer within %.3g s while %s; the worker process was ended", seconds,
                 at);
    else
        snprintf(reason, BENCH_REASON_TEXT,
                 "no answer within %.3g s while %s; the worker process %ld hangs in the driver and cannot be ended",
                 seconds, at, (long)pid);
    return BENCH_REPLY_TIMEOUT;
}

// How it has ended; BENCH_STATUS_NONE: it had to be ended, and reason says so.
static int take_end(bench_process *process, char reason[BENCH_REASON_TEXT])
{
    int status;
    char at[BENCH_DOING_TEXT];
    // Its end of the pipe is closed; a driver may have done that, too.
    if (reap(process->pid, LEAVE_NS, &status))
        return status;
    bench_process_doing(process, at);
    kill_group(process->pid);
    reap(process->pid, KILL_NS, &status);
    snprintf(reason, BENCH_REASON_TEXT, "%s closed its pipe while %s", bench_process_who(process), at);
    bench_child_forget(process);
    return BENCH_STATUS_NONE;
}

bench_reply bench_child_receive(bench_process *process, double seconds, json_t **reply, int *status,
                                char reason[BENCH_REASON_TEXT])
{
    *reply = NULL;
    *status = BENCH_STATUS_NONE;
    if (!process->pid) {
        snprintf(reason, BENCH_REASON_TEXT, "the worker process is not running");
        return BENCH_REPLY_DIED;
    }
    const uint64_t start = bench_now_ns(), limit = (uint64_t)(seconds > 0 ? seconds * 1e9 : 0);
    bool is_late = false;
    while (!(*reply = take_reply(process))) {
        uint64_t spent = bench_now_ns() - start;
        if (bench_interrupted || is_late || is_cleared(process))
            return give_up(process, seconds, reason);
        // A look at what has come in time, before it is said that nothing has: this process may have been stopped.
        is_late = limit > 0 && spent >= limit;
        spent = is_late ? limit : spent;
        // Half a second at most, for a signal that came just before the call.
        uint64_t left = limit > 0 ? limit - spent : 500000000u;
        int wait_ms = is_late ? 0 : left < 500000000u ? (int)(left / 1000000) + 1 : 500;
        struct pollfd watched = {.fd = process->replies, .events = POLLIN};
        int ready = poll(&watched, 1, wait_ms);
        if (ready == 0 && watcher)
            watcher(process->at, (double)(bench_now_ns() - start) * 1e-9);
        if (ready > 0 && !read_more(process)) {
            *status = take_end(process, reason);
            return BENCH_REPLY_DIED;
        }
    }
    return BENCH_REPLY_OK;
}
