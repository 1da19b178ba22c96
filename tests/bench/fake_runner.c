// SPDX-License-Identifier: MIT
#include "fake_runner.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// The fake computes relu, or sums of products of bytes; its name says what it does wrong.
typedef struct fake {
    const char *name;
    char form[32];
    bool is_known; // to choose "plain" as before
    const bench_data *data;
    float *y;
    int32_t *sums; // of quantized_gemm c=i32, which has them for y
    int64_t count, runs, reads, since_reset;
} fake;

static const char *fake_name;
bool fake_memory_is_short;

static bool starves(const fake *f)
{
    return !strncmp(f->name, "starves", 7) && f->reads >= strtol(f->name + 7, NULL, 10);
}

void fake_set_name(const char *name)
{
    fake_name = name;
}

static bench_answer fake_open(const bench_open_options *options, void **session, char reason[BENCH_REASON_TEXT])
{
    (void)options;
    *session = NULL;
    while (!strcmp(fake_name, "sleeps"))
        pause();
    if (strcmp(fake_name, "closed"))
        return BENCH_OK;
    snprintf(reason, BENCH_REASON_TEXT, "it is closed today");
    return BENCH_ERROR;
}

static void fake_close(void *session)
{
    (void)session;
}

static void fake_version(void *session, char *text, size_t size)
{
    (void)session;
    snprintf(text, size, "Fake 1.0 %s", fake_name);
}

static const char *fake_form(void *session, const bench_case *c, size_t index)
{
    static const char *const forms[] = {"slow", "fast"};
    (void)session;
    (void)c;
    return !strcmp(fake_name, "forms") && index < 2 ? forms[index] : NULL;
}

// quantized_gemm c=i32, whose A has a zero point of 3.
static void make_sums(fake *f)
{
    const int64_t k = f->data->x.shape[1], n = f->data->y.shape[1];
    const int8_t *a = f->data->x.data, *b = f->data->w.data;
    f->sums = calloc((size_t)f->count, sizeof *f->sums);
    for (int64_t i = 0; i < f->count; i++)
        for (int64_t p = 0; p < k; p++)
            f->sums[i] += (a[i / n * k + p] - 3) * b[p * n + i % n];
}

// Whether one that skips leaves output i as it is.
static bool is_skipped(const fake *f, int64_t i)
{
    return !strcmp(f->name, "skips") && i % 100003 == 100002;
}

static bench_answer fake_prepare(void *session, const bench_case *c, const bench_data *data,
                                 const bench_prepare_options *options, void **state, char reason[BENCH_REASON_TEXT])
{
    (void)session;
    (void)c;
    if (!strcmp(fake_name, "refuses") || (!strcmp(fake_name, "obeys") && !options->form)) {
        snprintf(reason, BENCH_REASON_TEXT, "not today");
        return BENCH_UNSUPPORTED;
    }
    while (!strcmp(fake_name, "hangs"))
        pause();
    while (!strcmp(fake_name, "builds") && options->form)
        pause();
    if (!strcmp(fake_name, "compiles"))
        nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
    fake *f = calloc(1, sizeof *f);
    f->name = fake_name;
    f->data = data;
    f->count = data->y.count;
    f->y = calloc((size_t)f->count, sizeof *f->y);
    if (data->y.dtype == HUSK_I32)
        make_sums(f);
    snprintf(f->form, sizeof f->form, "%s", options->form ? options->form : "");
    f->is_known = options->as_before && !strcmp(options->as_before, "plain");
    *state = f;
    return BENCH_OK;
}

static void fake_release(void *state)
{
    fake *f = state;
    free(f->y);
    free(f->sums);
    free(f);
}

static void fake_details(void *state, bench_details *details)
{
    fake *f = state;
    const bool is_other = !strcmp(f->name, "replans") || (!strcmp(f->name, "recalls") && !f->is_known);
    const char *own = is_other ? "other" : "plain";
    *details = (bench_details){.variant = f->form[0] ? f->form : own, .builds = 3};
}

static bench_answer fake_run_batch(void *state, int64_t count, char reason[BENCH_REASON_TEXT])
{
    fake *f = state;
    (void)reason;
    f->runs += count;
    while (!strcmp(f->name, "stalls") && f->form[0])
        pause();
    if (!strcmp(f->name, "crashes") && f->runs > 3)
        raise(SIGABRT);                             // not SIGSEGV, which sanitizers answer themselves
    if (!strcmp(f->name, "nothing") && f->runs > 2) // it has been verified by now
        return BENCH_OK;
    for (int64_t i = 0; i < count; i++) {
        const bool is_slowest = !strncmp(f->name, "starves", 7) && !f->form[0];
        const long ns = is_slowest ? 20000000 : !strcmp(f->form, "slow") ? 2000000 : 500000;
        nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
    }
    for (int64_t k = 0; !strcmp(f->name, "adds") && k < count; k++) { // gemm m=1 n=N k=1 beta=1
        for (int64_t i = 0; i < f->count; i++)
            f->y[i] += *(const float *)f->data->x.data * ((const float *)f->data->w.data)[i];
    }
    if (!strcmp(f->name, "adds"))
        return BENCH_OK;
    for (int64_t i = 0; f->sums && i < f->count; i++) {
        if (!is_skipped(f, i))
            memcpy(&f->y[i], &f->sums[i], sizeof *f->y);
    }
    if (f->sums)
        return BENCH_OK;
    for (int64_t i = 0; i < f->count; i++) {
        float x = ((const float *)f->data->x.data)[i];
        f->y[i] = x > 0 ? x : 0;
    }
    f->since_reset += count;
    if (!strcmp(f->name, "forgets"))
        f->y[0] += (float)(f->since_reset - 1);
    for (int64_t i = 0; !strcmp(f->name, "wavers") && f->since_reset > 1 && i < f->count; i++)
        f->y[i] = f->y[i] > 0 ? f->y[i] : -0.0f;
    if (!strcmp(f->name, "wrong") || (!strcmp(f->name, "tires") && f->runs > 20)) // what is verified comes before
        f->y[f->count - 1] += 0.5f;
    return BENCH_OK;
}

static bench_answer fake_run(void *state, char reason[BENCH_REASON_TEXT])
{
    return fake_run_batch(state, 1, reason);
}

static bench_answer fake_reset(void *state, char reason[BENCH_REASON_TEXT])
{
    fake *f = state;
    (void)reason;
    f->since_reset = 0;
    fake_memory_is_short = false;
    memcpy(f->y, f->data->y.data, (size_t)f->count * sizeof *f->y);
    return BENCH_OK;
}

static bench_answer fake_read(void *state, bench_output *output, char reason[BENCH_REASON_TEXT])
{
    fake *f = state;
    (void)reason;
    float *to = memcpy(output->y.data, f->y, (size_t)f->count * sizeof *f->y);
    f->reads++;
    fake_memory_is_short = starves(f);
    for (int64_t i = 0; fake_memory_is_short && i < f->count; i++)
        to[i] = to[i] > 0 ? to[i] : -0.0f;
    return BENCH_OK;
}

const bench_runner fake_runner = {
    .name = "fake",
    .description = "does as its name says",
    .open = fake_open,
    .close = fake_close,
    .version = fake_version,
    .form = fake_form,
    .prepare = fake_prepare,
    .release = fake_release,
    .details = fake_details,
    .run = fake_run,
    .run_batch = fake_run_batch,
    .reset = fake_reset,
    .read = fake_read,
};
