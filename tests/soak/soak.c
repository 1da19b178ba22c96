// SPDX-License-Identifier: MIT
// Hours of mixed operators in many threads on one context: every result is checked, and memory has to stay flat.
//
//     soak [--seconds N] [--seed S] [--threads N] [--bursts N] [--case LINE]... [--leak BYTES]
//
// Without --seconds it is HUSK_SOAK_SECONDS, else an hour. First cases are drawn, for a third of the time, until each
// operator and gradient has had its turn, and found right by the reference; then every shared queue meets all of them;
// a sixth later memory has to stay as it is. It fails where an operator has no case, unless cases were given.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases/ops.h"
#include "common/text.h"
#include "system/timer.h"
#include "soak.h"

enum { MOST_THREADS = 64, MOST_SAMPLES = 4096, STUCK_SECONDS = 600 };

static soak_worker workers[MOST_THREADS];
static int worker_count;

// ---- threads ----

static husk_status make_queue(const soak *s, bench_husk_session *session)
{
    *session = *s->opened;
    session->queue = NULL;
    session->job = NULL;
    return husk_queue_create(s->opened->context, NULL, &session->queue, NULL);
}

// Between two rests: a queue of its own, and steps until everybody is called.
static void *work(void *user)
{
    soak_worker *w = user;
    soak *s = w->s;
    while (atomic_load(&s->phase) != SOAK_END) {
        if (make_queue(s, &w->own) != HUSK_OK)
            soak_mismatch(w, "husk_queue_create", "failed");
        while (w->own.queue && !atomic_load(&s->rest) && soak_step(w))
            ;
        // Without it blocks whose last command has ended unseen, and their queue, would be counted as lost.
        if (w->own.queue && husk_queue_finish(w->own.queue) != HUSK_OK)
            soak_mismatch(w, "husk_queue_finish", "failed");
        strcpy(w->present, "nothing");
        husk_queue_release(w->own.queue);
        pthread_barrier_wait(&s->barrier); // at rest
        pthread_barrier_wait(&s->barrier); // on again
    }
    return NULL;
}

static void say_and_die(int signal_number)
{
    static const char words[] = "crashed, or does not end: ";
    ssize_t ignored = 0;
    for (int i = 0; i < worker_count; i++) {
        ignored += write(1, words, sizeof words - 1);
        ignored += write(1, workers[i].present, strlen(workers[i].present));
        ignored += write(1, "\n", 1);
    }
    _exit(ignored < 0 || signal_number < 0 ? 2 : 1);
}

static void watch(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], say_and_die);
}

// ---- the course ----

static double seconds_since(uint64_t start)
{
    return (double)(bench_now_ns() - start) * 1e-9;
}

// Everybody works on the phase until it is done, or until so many seconds after the start; then all are at rest.
static void run_until(soak *s, soak_phase phase, uint64_t start, double end)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    const bool has_end = phase == SOAK_STEADY;
    const long long all = phase == SOAK_VISIT   ? (long long)s->count * SOAK_SHARED
                          : s->o.line_count > 0 ? s->o.line_count
                                                : BENCH_OP_COUNT * BENCH_DIRECTIONS * s->o.bursts;
    const long long least = phase == SOAK_DRAW && !s->o.line_count ? BENCH_OP_COUNT * BENCH_DIRECTIONS : 0;
    while ((seconds_since(start) < end || (atomic_load(&s->next) < least && !atomic_load(&s->mismatches))) &&
           (has_end || atomic_load(&s->next) < all))
        nanosleep(&pause, NULL);
    alarm(STUCK_SECONDS);
    atomic_store(&s->rest, true);
    pthread_barrier_wait(&s->barrier);
    for (int i = 0; i < SOAK_SHARED; i++)
        husk_queue_finish(s->shared[i].queue);
    alarm(0);
}

static void go_on(soak *s, soak_phase phase)
{
    atomic_store(&s->next, 0);
    atomic_store(&s->phase, phase);
    atomic_store(&s->rest, false);
    pthread_barrier_wait(&s->barrier);
}

static size_t run_phases(soak *s, soak_sample *samples)
{
    const double seconds = (double)s->o.seconds, every = seconds >= 600 ? 60 : seconds / 10;
    const uint64_t start = bench_now_ns();
    size_t count = 0;
    run_until(s, SOAK_DRAW, start, seconds / 3);
    printf("%6.0f s: %zu cases by the reference, %lld refused (not supported), %lld prove nothing\n",
           seconds_since(start), s->count, atomic_load(&s->refused), atomic_load(&s->inconclusive));
    fflush(stdout);
    go_on(s, SOAK_VISIT);
    run_until(s, SOAK_VISIT, start, 2 * seconds); // where it is cut off, shared queues would grow later
    go_on(s, SOAK_STEADY); // what is compiled and kept for new sizes settles
    run_until(s, SOAK_STEADY, start, seconds_since(start) + seconds / 6);
    while (count < MOST_SAMPLES) {
        soak_take_sample(s, seconds_since(start), &samples[count]);
        soak_print_sample(s, &samples[count++]);
        if (seconds_since(start) >= seconds && count >= 3)
            break;
        go_on(s, SOAK_STEADY);
        run_until(s, SOAK_STEADY, start, seconds_since(start) + every);
    }
    go_on(s, SOAK_END);
    return count;
}

// ---- the command ----

// Of the operators and gradients that there are, how many have a case that is repeated; the others are named, where all
// are wanted.
static int rows_met(const soak *s, int *all)
{
    int met = 0;
    *all = 0;
    for (int op = 0; op < BENCH_OP_COUNT; op++)
        for (int dir = 0; dir < BENCH_DIRECTIONS; dir++) {
            const bench_case asked = {.op = (bench_op_kind)op, .dir = (bench_direction)dir};
            bool is_met = false;
            if (!bench_op_row(&asked))
                continue;
            for (size_t i = 0; i < s->count; i++)
                is_met = is_met || (s->cases[i]->c.op == asked.op && s->cases[i]->c.dir == asked.dir);
            met += is_met;
            if (!is_met && !s->o.line_count)
                printf("soak: there was no case of %s\n", bench_op_row(&asked));
            ++*all;
        }
    return met;
}

static void print_figures(const soak *s, int met, int all, const soak_sample *first, const soak_sample *last)
{
    printf("soak: cases of %d of %d operators and gradients; memory watched for the last %.0f s, OpenCL objects %s\n",
           met, all, last->seconds - first->seconds, last->objects[0] >= 0 ? "counted" : "not counted");
    printf("soak: %lld calls, %lld results checked, %lld mismatches; resident %.1f MB, at the end %.1f MB\n",
           (long long)atomic_load(&s->calls),
           (long long)(atomic_load(&s->by_reference) + atomic_load(&s->by_bits) + atomic_load(&s->transfers)),
           (long long)atomic_load(&s->mismatches), first->resident * 1e-6, last->resident * 1e-6);
}

static bool parse(int argc, char **argv, soak_options *o)
{
    const char *seconds = getenv("HUSK_SOAK_SECONDS");
    *o = (soak_options){.seed = 2026, .seconds = 3600, .threads = 8, .bursts = 2};
    if (seconds && *seconds && (!bench_parse_integer(seconds, &o->seconds) || o->seconds < 1))
        return false;
    for (int i = 1; i < argc; i += 2) {
        int64_t number = 0;
        const bool is_number = i + 1 < argc && bench_parse_integer(argv[i + 1], &number) && number > 0;
        if (i + 1 < argc && !strcmp(argv[i], "--case") && o->line_count < SOAK_MOST_LINES)
            o->lines[o->line_count++] = argv[i + 1];
        else if (is_number && !strcmp(argv[i], "--seconds"))
            o->seconds = number;
        else if (is_number && !strcmp(argv[i], "--seed"))
            o->seed = (uint64_t)number;
        else if (is_number && !strcmp(argv[i], "--threads") && number <= MOST_THREADS)
            o->threads = number;
        else if (is_number && !strcmp(argv[i], "--bursts"))
            o->bursts = number;
        else if (is_number && !strcmp(argv[i], "--leak"))
            o->leak = number;
        else
            return false;
    }
    return true;
}

// CLBlast builds one program for single matrices and one for batches when it is first asked for them, and keeps them as
// long as the context lives: asked now, so that they are no loss when a thread draws its first.
static void warm_clblast(husk_context *context, husk_queue *queue)
{
    enum { SIDE = 8, BATCH = 2, ELEMENTS = BATCH * SIDE * SIDE };
    static const int64_t shape[] = {BATCH, SIDE, SIDE};
    const husk_gemm_params params = HUSK_GEMM_PARAMS(.variant = "clblast");
    const float zero = 0.0f;
    husk_buffer *buffer = NULL;
    husk_error error;
    if (husk_buffer_create(context, 3 * ELEMENTS * sizeof zero, &buffer, &error) != HUSK_OK ||
        husk_buffer_fill(queue, buffer, 0, husk_buffer_size(buffer), &zero, sizeof zero) != HUSK_OK) {
        husk_buffer_release(buffer);
        return;
    }
    for (int32_t rank = 2; rank <= 3; rank++) {
        husk_tensor t[3];
        for (int i = 0; i < 3; i++) {
            t[i] = husk_tensor_make(buffer, HUSK_F32, rank, shape + 3 - rank);
            t[i].offset = i * ELEMENTS;
        }
        husk_gemm(queue, &params, 1.0f, &t[0], &t[1], NULL, 0.0f, &t[2]); // refused where there is no CLBlast
    }
    husk_queue_finish(queue);
    husk_buffer_release(buffer);
}

// A plan cache that is too small, so that plans come and go.
static bool open_context(soak *s)
{
    const husk_context_params params = HUSK_CONTEXT_PARAMS(.plan_cache_capacity = 64);
    bench_husk_session *opened = calloc(1, sizeof *opened);
    s->opened = opened;
    if (!opened)
        return false;
    husk_status status = husk_device_list_create(&opened->list, &opened->error);
    status = status ? status : husk_device_list_select(opened->list, NULL, &opened->device, &opened->error);
    status = status ? status : husk_context_create(opened->device, &params, &opened->context, &opened->error);
    for (int i = 0; i < SOAK_SHARED && status == HUSK_OK; i++) {
        pthread_mutex_init(&s->shared_lock[i], NULL);
        status = make_queue(s, &s->shared[i]);
    }
    if (status == HUSK_OK)
        warm_clblast(opened->context, s->shared[0].queue);
    if (status != HUSK_OK)
        fprintf(stderr, "soak: %s: %s\n", husk_status_name(status), opened->error.text);
    return status == HUSK_OK;
}

static void close_context(soak *s)
{
    for (int i = 0; i < SOAK_SHARED; i++)
        husk_queue_release(s->shared[i].queue);
    husk_context_release(s->opened->context);
    husk_device_list_release(s->opened->list);
    free(s->opened);
    for (size_t i = 0; i < s->count; i++)
        free(s->cases[i]);
    free(s->cases);
}

int main(int argc, char **argv)
{
    static soak s;
    static soak_sample samples[MOST_SAMPLES];
    if (!parse(argc, argv, &s.o)) {
        fprintf(stderr, "usage: soak [--seconds N] [--seed S] [--threads N] [--bursts N] [--case LINE]... "
                        "[--leak BYTES]\n");
        return 2;
    }
    soak_count_objects();
    if (!open_context(&s))
        return 6;
    watch();
    pthread_mutex_init(&s.lock, NULL);
    pthread_barrier_init(&s.barrier, NULL, (unsigned)s.o.threads + 1);
    for (; worker_count < s.o.threads; worker_count++) {
        soak_worker *w = &workers[worker_count];
        *w = (soak_worker){.s = &s, .random = {.seed = s.o.seed * 100 + (uint64_t)worker_count}};
        if (pthread_create(&w->thread, NULL, work, w) != 0) {
            fprintf(stderr, "soak: no more threads\n");
            return 2;
        }
    }
    const size_t count = run_phases(&s, samples);
    for (int i = 0; i < worker_count; i++)
        pthread_join(workers[i].thread, NULL);
    int broken = soak_judge_memory(samples, count);
    const long long wrong = atomic_load(&s.mismatches);
    printf("soak: %lld calls in %d threads, %lld results checked (%lld by the reference, %lld by the bits of a first "
           "run, %lld transfers), %lld mismatches; seed %llu\n",
           atomic_load(&s.calls), worker_count,
           atomic_load(&s.by_reference) + atomic_load(&s.by_bits) + atomic_load(&s.transfers),
           atomic_load(&s.by_reference), atomic_load(&s.by_bits), atomic_load(&s.transfers), wrong,
           (unsigned long long)s.o.seed);
    if (!s.count)
        broken += puts("soak: there was no case to repeat") >= 0;
    int all;
    const int met = rows_met(&s, &all);
    broken += !s.o.line_count && met < all;
    print_figures(&s, met, all, &samples[0], &samples[count - 1]);
    close_context(&s);
    return broken || wrong;
}
