// SPDX-License-Identifier: MIT
// The runner ref: src/ref's plain loops in double, on one thread. For a sense of scale in tiny cases.
#include <stdio.h>
#include <stdlib.h>

#include "baseline/ref_op.h"

#include "baseline/baselines.h"
#include "baseline_ops.h"
#include "cases/array.h"
#include "cases/data.h"
#include "cases/size.h"

#define REF_OP(lower, upper) extern const bench_ref_op bench_ref_op_##lower;
BENCH_REF_OP_LIST(REF_OP)
#undef REF_OP

#define LARGEST_MACS  4194304.0  // multiply-adds of a tiny case: some 10 ms
#define LARGEST_BYTES 16777216.0 // and its operands

static bench_answer out_of_memory(char reason[BENCH_REASON_TEXT])
{
    snprintf(reason, BENCH_REASON_TEXT, "out of memory");
    return BENCH_ERROR;
}

static bench_answer session_open(const bench_open_options *options, void **session, char reason[BENCH_REASON_TEXT])
{
    (void)options;
    (void)reason;
    *session = NULL;
    return BENCH_OK;
}

static void session_close(void *session)
{
    (void)session;
}

static void version(void *session, char *text, size_t size)
{
    (void)session;
    snprintf(text, size, "Husk %s's reference (plain C in double, 1 thread)", HUSK_VERSION_STRING);
}

static const char *form(void *session, const bench_case *c, size_t index)
{
    (void)session;
    (void)c;
    (void)index;
    return NULL;
}

// ---- a case

static const bench_ref_op *op_of(const bench_case *c)
{
    switch (c->op) {
#define REF_CASE(lower, upper) \
    case BENCH_##upper:        \
        return &bench_ref_op_##lower;
        BENCH_REF_OP_LIST(REF_CASE)
#undef REF_CASE
    default:
        return NULL;
    }
}

static void release(void *opaque)
{
    bench_ref_state *s = opaque;
    if (!s)
        return;
    free(s->y.data);
    free(s->indices.data);
    free(s->h_n.data);
    free(s->c_n.data);
    free(s->extra[0]);
    free(s->extra[1]);
    bench_output_free(&s->blank);
    free(s);
}

static bool supports(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const char *lack = !op_of(c)              ? "the reference has no such operator"
                       : c->dir != BENCH_FWD  ? "only forward is compared"
                       : c->dtype != HUSK_F32 ? "only f32 is compared"
                       : bench_case_macs(c) > LARGEST_MACS || bench_case_operands(c) > LARGEST_BYTES
                           ? "the reference is for tiny cases: up to 2^22 multiply-adds and 16 MiB"
                           : NULL;
    if (lack)
        snprintf(reason, BENCH_REASON_TEXT, "%s", lack);
    return !lack;
}

static bench_answer prepare(void *session, const bench_case *c, const bench_data *data,
                            const bench_prepare_options *options, void **out, char reason[BENCH_REASON_TEXT])
{
    (void)session;
    (void)options; // one set of operands: caches do not matter to it
    if (!supports(c, reason))
        return BENCH_UNSUPPORTED;
    bench_ref_state *s = calloc(1, sizeof *s);
    if (!s)
        return out_of_memory(reason);
    s->c = *c;
    s->data = data;
    s->y = data->y;
    s->y.data = bench_operand_clone(&data->y);
    if (!s->y.data || !bench_output_make(c, data, &s->blank, reason) || (op_of(c)->prepare && !op_of(c)->prepare(s))) {
        release(s);
        return out_of_memory(reason);
    }
    *out = s;
    return BENCH_OK;
}

static void details(void *opaque, bench_details *details)
{
    (void)opaque;
    *details = (bench_details){.variant = "plain loops in double"};
}

static bench_answer run_batch(void *opaque, int64_t count, char reason[BENCH_REASON_TEXT])
{
    const bench_ref_state *s = opaque;
    const husk_ref_array y = bench_ref_array(&s->y);
    for (int64_t i = 0; i < count; i++) {
        if (!op_of(&s->c)->run(s, &y))
            return out_of_memory(reason);
    }
    return BENCH_OK;
}

static bench_answer run(void *opaque, char reason[BENCH_REASON_TEXT])
{
    return run_batch(opaque, 1, reason);
}

static bench_answer reset(void *opaque, char reason[BENCH_REASON_TEXT])
{
    const bench_ref_state *s = opaque;
    (void)reason;
    bench_operand_copy(s->y.data, s->data->y.data, s->y.count);
    bench_operand_copy_array(s->indices.data, s->blank.indices.data, &s->blank.indices);
    bench_operand_copy_array(s->h_n.data, s->blank.h_n.data, &s->blank.h_n);
    bench_operand_copy_array(s->c_n.data, s->blank.c_n.data, &s->blank.c_n);
    return BENCH_OK;
}

static bench_answer read_back(void *opaque, bench_output *output, char reason[BENCH_REASON_TEXT])
{
    const bench_ref_state *s = opaque;
    (void)reason;
    bench_operand_copy(output->y.data, s->y.data, s->y.count);
    if (output->indices.data && s->indices.data)
        bench_operand_copy(output->indices.data, s->indices.data, s->indices.count);
    if (output->h_n.data && s->h_n.data)
        bench_operand_copy(output->h_n.data, s->h_n.data, s->h_n.count);
    if (output->c_n.data && s->c_n.data)
        bench_operand_copy(output->c_n.data, s->c_n.data, s->c_n.count);
    return BENCH_OK;
}

const bench_runner bench_runner_ref = {
    .name = "ref",
    .description = "the reference that results are verified with, plain C on one thread",
    .open = session_open,
    .close = session_close,
    .version = version,
    .form = form,
    .prepare = prepare,
    .release = release,
    .details = details,
    .run = run,
    .run_batch = run_batch,
    .reset = reset,
    .read = read_back,
};
