// SPDX-License-Identifier: MIT
// The runner onednn: Intel's and Arm's CPU library, asked in every way it has for the case.
#include <stdio.h>
#include <string.h>

#include "baseline/baselines.h"
#include "baseline/onednn_op.h"
#include "baseline/operand.h"
#include "baseline_ops.h"
#include "cases/data.h"

#define ONEDNN_OP(lower, upper) extern const onednn_op onednn_op_##lower;
BENCH_ONEDNN_OP_LIST(ONEDNN_OP)
#undef ONEDNN_OP

typedef struct state {
    const onednn_session *session;
    bench_case c;
    const bench_data *data;
    const onednn_op *op;
    int copies, next, last; /* sets of operands, rotated through */
    onednn_operands *operands;
    onednn_program **programs;
    bench_output blank; // what outputs hold before a run
    uint64_t build_ns;
} state;

static const onednn_op *op_of(const bench_case *c)
{
    switch (c->op) {
#define ONEDNN_CASE(lower, upper) \
    case BENCH_##upper:           \
        return &onednn_op_##lower;
        BENCH_ONEDNN_OP_LIST(ONEDNN_CASE)
#undef ONEDNN_CASE
    default:
        return NULL;
    }
}

static const char *status_text(dnnl_status_t status)
{
    switch (status) {
    case dnnl_out_of_memory:
        return "out of memory";
    case dnnl_invalid_arguments:
        return "invalid arguments";
    case dnnl_unimplemented:
        return "not implemented";
    default:
        return "runtime error";
    }
}

static bench_answer explain(dnnl_status_t status, const char *what, char reason[BENCH_REASON_TEXT])
{
    if (status == dnnl_success)
        return BENCH_OK;
    snprintf(reason, BENCH_REASON_TEXT, "oneDNN: %s: %s", what ? what : "execution", status_text(status));
    return status == dnnl_unimplemented || status == dnnl_invalid_arguments ? BENCH_UNSUPPORTED : BENCH_ERROR;
}

// ---- session

static void session_close(void *session)
{
    onednn_session *s = session;
    if (!s)
        return;
    if (s->stream)
        dnnl.stream_destroy(s->stream);
    if (s->engine)
        dnnl.engine_destroy(s->engine);
    onednn_library_rest();
    free(s);
}

static bench_answer session_open(const bench_open_options *options, void **session, char reason[BENCH_REASON_TEXT])
{
    bench_answer answer = onednn_library_open(options->threads, reason);
    if (answer != BENCH_OK)
        return answer;
    onednn_session *s = calloc(1, sizeof *s);
    if (!s)
        return explain(dnnl_out_of_memory, "session", reason);
    s->threads = options->threads;
    dnnl_status_t status = dnnl.engine_create(&s->engine, dnnl_cpu, 0);
    if (status == dnnl_success)
        status = dnnl.stream_create(&s->stream, s->engine, dnnl_stream_default_flags);
    if (status != dnnl_success) {
        session_close(s);
        return explain(status, "engine", reason);
    }
    *session = s;
    return BENCH_OK;
}

// What both versions have a name for; both number them alike.
static const char *isa_text(void)
{
    switch ((unsigned)dnnl.get_effective_cpu_isa()) {
    case dnnl_cpu_isa_sse41:
        return "sse41";
    case dnnl_cpu_isa_avx:
        return "avx";
    case dnnl_cpu_isa_avx2:
        return "avx2";
    case dnnl_cpu_isa_avx2_vnni:
        return "avx2_vnni";
    case dnnl_cpu_isa_avx512_core:
        return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni:
        return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16:
        return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_amx:
        return "avx512_core_amx";
    default:
        return dnnl.get_effective_cpu_isa() > dnnl_cpu_isa_avx512_core_amx ? "all instruction sets" : "plain";
    }
}

static void version(void *session, char *text, size_t size)
{
    const onednn_session *s = session;
    const dnnl_version_t *v = dnnl.version();
    const int threads = v->cpu_runtime == DNNL_RUNTIME_SEQ ? 1 : s->threads;
    snprintf(text, size, "oneDNN %d.%d.%d (%s, %d %s thread%s)", v->major, v->minor, v->patch, isa_text(), threads,
             onednn_library_threading(), threads == 1 ? "" : "s");
}

static const char *form(void *session, const bench_case *c, size_t index)
{
    (void)session;
    const onednn_op *op = op_of(c);
    const char *forms[8] = {NULL};
    size_t count = 0;
    for (const onednn_way *way = op ? op->ways : NULL; way && way->name; way++) {
        bool seen = !way->applies(c, way->flags);
        for (size_t i = 0; i < count; i++)
            seen = seen || strcmp(forms[i], way->form) == 0;
        if (!seen && count + 1 < sizeof forms / sizeof *forms)
            forms[count++] = way->form;
    }
    return count > 1 && index < count ? forms[index] : NULL;
}

// ---- operands

static bool make_gradients(const state *s, onednn_operands *o)
{
    bool made = true;
    for (int i = 0; i < BENCH_GRADIENTS && made; i++) {
        o->gradients[i] = bench_operand_clone(&s->blank.gradients[i]);
        made = bench_operand_cloned(&s->blank.gradients[i], o->gradients[i]);
    }
    return made;
}

static bool make_operands(const state *s, onednn_operands *o)
{
    const bench_data *d = s->data;
    o->data = d;
    o->x = bench_operand_clone(&d->x);
    o->w = bench_operand_clone(&d->w);
    o->bias = bench_operand_clone(&d->bias);
    o->y = bench_operand_clone(&d->y);
    o->h0 = bench_operand_clone(&d->h0);
    o->c0 = bench_operand_clone(&d->c0);
    o->dy = bench_operand_clone(&d->dy);
    bool made = bench_operand_cloned(&d->x, o->x) && o->y && bench_operand_cloned(&d->dy, o->dy) &&
                bench_operand_cloned(&d->w, o->w) && bench_operand_cloned(&d->bias, o->bias) &&
                bench_operand_cloned(&d->h0, o->h0) && bench_operand_cloned(&d->c0, o->c0);
    for (int i = 0; i < BENCH_SAVED; i++) {
        o->saved[i] = bench_operand_clone(&d->saved[i]);
        made = made && bench_operand_cloned(&d->saved[i], o->saved[i]);
    }
    made = made && make_gradients(s, o);
    return made && (!s->op->make_operands || s->op->make_operands(&s->c, o));
}

static void free_operands(onednn_operands *o)
{
    float *all[] = {o->x,
                    o->w,
                    o->bias,
                    o->y,
                    o->h0,
                    o->c0,
                    o->h_n,
                    o->c_n,
                    o->input_weights,
                    o->hidden_weights,
                    o->gate_bias,
                    o->dy,
                    o->scales,
                    o->scaled_bias};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    for (int i = 0; i < BENCH_SAVED; i++)
        free(o->saved[i]);
    for (int i = 0; i < BENCH_GRADIENTS; i++)
        free(o->gradients[i]);
}

// ---- the choice among the ways

static onednn_program *build(const state *s, const onednn_way *way, int copy)
{
    const dnnl_data_type_t type = s->c.dtype == HUSK_BF16 ? dnnl_bf16 : dnnl_f32;
    onednn_program *program = onednn_program_create(s->session, way->name, type);
    if (!program)
        return NULL;
    way->build(program, &s->c, &s->operands[copy], way->flags);
    if (onednn_program_ok(program))
        onednn_program_check(program, onednn_program_execute(program, ONEDNN_SETUP), "packing");
    return program;
}

/*
 * The shortest of some runs: at least 3, and 5 ms of them; fewer where one takes long or three times as long
 * as the best way so far. 0: it failed.
 */
static uint64_t measure(onednn_program *program, uint64_t best)
{
    const uint64_t enough = 5000000, too_long = 300000000;
    uint64_t shortest = 0, total = 0;
    for (int run = 0; total < enough || (run < 3 && total < too_long); run++) {
        const uint64_t begin = bench_operand_now_ns();
        dnnl_status_t status = onednn_program_execute(program, ONEDNN_RUN);
        const uint64_t took = bench_operand_now_ns() - begin + 1;
        onednn_program_check(program, status, "execution");
        if (status != dnnl_success)
            return 0;
        total += took;
        if (!shortest || took < shortest)
            shortest = took;
        if (best && took > 3 * best && run > 0)
            break;
    }
    return shortest;
}

typedef struct choice {
    onednn_program *program;
    const onednn_way *way;
    uint64_t ns;
} choice;

static void consider(choice *best, const state *s, const onednn_way *way, bool references, bench_answer *failed,
                     char reason[BENCH_REASON_TEXT])
{
    onednn_program *program = build(s, way, 0);
    if (!program) {
        *failed = explain(dnnl_out_of_memory, way->name, reason);
        return;
    }
    // What oneDNN itself calls a reference takes a thousand times as long: only if all else fails.
    references = references || s->op->reference_is_fast;
    const bool skip = onednn_program_ok(program) && program->reference && !references;
    const uint64_t ns = onednn_program_ok(program) && !skip ? measure(program, best->ns) : 0;
    if (ns && (!best->program || ns < best->ns)) {
        onednn_program_destroy(best->program);
        *best = (choice){program, way, ns};
        return;
    }
    if (!onednn_program_ok(program))
        *failed = explain(program->status, program->failed, reason);
    onednn_program_destroy(program);
}

// Whether a program of this way has that name: the way's, with what oneDNN has made of it behind a colon.
static bool is_named_by(const char *name, const onednn_way *way)
{
    const size_t length = strlen(way->name);
    return strncmp(name, way->name, length) == 0 && (name[length] == '\0' || name[length] == ':');
}

static bench_answer choose(const state *s, const bench_prepare_options *options, choice *best,
                           char reason[BENCH_REASON_TEXT])
{
    const char *wanted = options->form, *before = options->as_before;
    bench_answer failed = BENCH_UNSUPPORTED;
    snprintf(reason, BENCH_REASON_TEXT, "oneDNN has no form '%s' for this case%s%s", wanted ? wanted : "auto",
             before ? " that was chosen before: " : "", before ? before : "");
    for (int references = 0; references < 2 && !best->program; references++) {
        for (const onednn_way *way = s->op->ways; way->name; way++) {
            const bool asked = !wanted || strcmp(way->form, wanted) == 0 || strcmp(way->name, wanted) == 0;
            if (asked && (!before || is_named_by(before, way)) && way->applies(&s->c, way->flags))
                consider(best, s, way, references, &failed, reason);
        }
    }
    return best->program ? BENCH_OK : failed;
}

// ---- a case

static void release(void *opaque)
{
    state *s = opaque;
    if (!s)
        return;
    for (int i = 0; i < s->copies; i++) {
        if (s->programs)
            onednn_program_destroy(s->programs[i]);
        if (s->operands)
            free_operands(&s->operands[i]);
    }
    free(s->programs);
    free(s->operands);
    bench_output_free(&s->blank);
    free(s);
}

static bool supports(const bench_case *c, const onednn_op *op, char reason[BENCH_REASON_TEXT])
{
    const bool has_direction = c->dir == BENCH_FWD || (op && op->has_backward);
    const bool has_dtype = c->dtype == HUSK_F32 || (c->dtype == HUSK_BF16 && op && op->has_bf16 && c->dir == BENCH_FWD);
    const char *lack = !op              ? "oneDNN has no such operator"
                       : !has_direction ? "only forward is compared"
                       : !has_dtype     ? "this dtype is not compared"
                                        : NULL;
    if (lack)
        snprintf(reason, BENCH_REASON_TEXT, "%s", lack);
    return !lack && op->supports(c, reason);
}

static bench_answer make_programs(state *s, const bench_prepare_options *options, char reason[BENCH_REASON_TEXT])
{
    if (!bench_output_make(&s->c, s->data, &s->blank, reason))
        return BENCH_ERROR;
    for (int i = 0; i < s->copies; i++) {
        if (!make_operands(s, &s->operands[i]))
            return explain(dnnl_out_of_memory, "operands", reason);
    }
    choice best = {0};
    bench_answer answer = choose(s, options, &best, reason);
    if (answer != BENCH_OK)
        return answer;
    s->programs[0] = best.program;
    for (int i = 1; i < s->copies; i++) {
        s->programs[i] = build(s, best.way, i);
        if (!s->programs[i])
            return explain(dnnl_out_of_memory, "another set of operands", reason);
        if (!onednn_program_ok(s->programs[i]))
            return explain(s->programs[i]->status, s->programs[i]->failed, reason);
    }
    return BENCH_OK;
}

static bench_answer reset(void *opaque, char reason[BENCH_REASON_TEXT]);

static bench_answer prepare(void *session, const bench_case *c, const bench_data *data,
                            const bench_prepare_options *options, void **out, char reason[BENCH_REASON_TEXT])
{
    const uint64_t begin = bench_operand_now_ns();
    const onednn_op *op = op_of(c);
    if (!supports(c, op, reason))
        return BENCH_UNSUPPORTED;
    state *s = calloc(1, sizeof *s);
    if (!s)
        return explain(dnnl_out_of_memory, "case", reason);
    *s = (state){
        .session = session, .c = *c, .data = data, .op = op, .copies = options->copies > 1 ? options->copies : 1};
    s->operands = calloc((size_t)s->copies, sizeof *s->operands);
    s->programs = calloc((size_t)s->copies, sizeof(onednn_program *));
    bench_answer answer =
        s->operands && s->programs ? make_programs(s, options, reason) : explain(dnnl_out_of_memory, "case", reason);
    if (answer == BENCH_OK)
        answer = reset(s, reason);
    if (answer != BENCH_OK) {
        release(s);
        return answer;
    }
    s->build_ns = bench_operand_now_ns() - begin;
    *out = s;
    return BENCH_OK;
}

static void details(void *opaque, bench_details *details)
{
    const state *s = opaque;
    *details = (bench_details){
        .variant = s->programs[0]->name,
        .executed_flops = s->programs[0]->executed_flops,
        .error_factor = s->programs[0]->error_factor,
        .widening = s->programs[0]->widening,
        .build_ns = s->build_ns,
    };
}

static bench_answer run_batch(void *opaque, int64_t count, char reason[BENCH_REASON_TEXT])
{
    state *s = opaque;
    dnnl_status_t status = dnnl_success;
    for (int64_t i = 0; i < count && status == dnnl_success; i++) {
        s->last = s->next;
        s->next = s->next + 1 < s->copies ? s->next + 1 : 0;
        status = onednn_program_execute(s->programs[s->last], ONEDNN_RUN);
    }
    return explain(status, "execution", reason);
}

static bench_answer run(void *opaque, char reason[BENCH_REASON_TEXT])
{
    return run_batch(opaque, 1, reason);
}

static bench_answer reset(void *opaque, char reason[BENCH_REASON_TEXT])
{
    state *s = opaque;
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < s->copies && status == dnnl_success; i++) {
        const onednn_operands *o = &s->operands[i];
        bench_operand_copy_array(o->y, s->data->y.data, &s->data->y);
        bench_operand_copy_array(o->h_n, s->blank.h_n.data, &s->blank.h_n);
        bench_operand_copy_array(o->c_n, s->blank.c_n.data, &s->blank.c_n);
        for (int k = 0; k < BENCH_GRADIENTS; k++)
            bench_operand_copy_array(o->gradients[k], s->blank.gradients[k].data, &s->blank.gradients[k]);
        status = onednn_program_execute(s->programs[i], ONEDNN_RESET);
    }
    return explain(status, "restoring the output", reason);
}

static bench_answer read_back(void *opaque, bench_output *output, char reason[BENCH_REASON_TEXT])
{
    state *s = opaque;
    const onednn_operands *o = &s->operands[s->last];
    bench_answer answer = explain(onednn_program_execute(s->programs[s->last], ONEDNN_READ), "reading", reason);
    if (answer != BENCH_OK)
        return answer;
    bench_operand_copy_array(output->y.data, o->y, &output->y);
    if (o->h_n && output->h_n.data)
        bench_operand_copy(output->h_n.data, o->h_n, output->h_n.count);
    if (o->c_n && output->c_n.data)
        bench_operand_copy(output->c_n.data, o->c_n, output->c_n.count);
    for (int i = 0; i < BENCH_GRADIENTS; i++) {
        if (o->gradients[i])
            bench_operand_copy(output->gradients[i].data, o->gradients[i], output->gradients[i].count);
    }
    return BENCH_OK;
}

const bench_runner bench_runner_onednn = {
    .name = "onednn",
    .description = "oneDNN, Intel's and Arm's library for CPUs",
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
