// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=180 processors=2
//
// A rival that computes something else is no rival: every baseline, in each of its ways, is compared with the
// reference.
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "baseline/baselines.h"
#include "cases/data.h"
#include "cases/ops.h"
#include "cases/parse.h"
#include "cases/size.h"
#include "cases/verdict.h"
#include "ref/conv/conv.h"
#include "run/runners.h"
#include "support/main.h"
#include "worker/runner.h"
#ifdef HUSK_WITH_ONEDNN
#include "baseline/onednn_conv_shared.h"
#include "baseline_ops.h"
#define ONEDNN_OP(lower, upper) extern const onednn_op onednn_op_##lower;
BENCH_ONEDNN_OP_LIST(ONEDNN_OP)
#undef ONEDNN_OP
#endif

static const char *const cases[] = {
    "gemm m=33 n=17 k=29",
    "gemm m=64 n=96 k=128 ta=1",
    "gemm m=31 n=45 k=16 tb=1 bias=1 act=relu",
    "gemm m=20 n=30 k=40 ta=1 tb=1 alpha=0.5 beta=2",
    "gemm m=19 n=23 k=31 bias=col act=tanh",
    "gemm m=19 n=23 k=31 bias=row alpha=2 beta=-1 act=gelu",
    "gemm m=19 n=23 k=31 bias=col alpha=2 beta=0.5 act=sigmoid packed=1",
    "gemm m=16 n=24 k=8 batch=3 ta=1 bias=1",
    "gemm m=16 n=24 k=8 batch=3 tb=1 beta=1 act=silu",
    "gemm m=16 n=24 k=8 batch=2 bias=col alpha=3 packed=1",
    "gemm m=12 n=20 k=36 lda=40 ldb=32 ldc=28",
    "gemm m=12 n=20 k=36 ta=1 tb=1 lda=14 ldb=41 ldc=21 beta=0.5 bias=1 act=leaky_relu",
    "gemm m=48 n=32 k=64 tb=1 bias=1 act=gelu_tanh packed=1",
    "gemm m=1 n=70 k=50",
    "gemm m=70 n=1 k=50 lda=60 ldb=3 ldc=2 beta=3",
    "gemm m=1 n=70 k=50 ta=1 tb=1 lda=3 bias=1 act=relu6",
    "gemm m=70 n=1 k=50 ta=1 tb=1 ldc=5 bias=col act=relu packed=1",
    "gemm m=300 n=200 k=100 packed=1",
    "gemm m=33 n=17 k=29 dir=bwd",
    "gemm m=31 n=45 k=16 ta=1 bias=1 act=relu beta=0.5 dir=bwd",
    "gemm m=20 n=30 k=40 tb=1 bias=col act=gelu alpha=2 lda=43 ldc=33 dir=bwd",
    "gemm m=16 n=24 k=8 batch=3 ta=1 tb=1 bias=1 act=tanh dir=bwd",
    "gemm m=31 n=45 k=16 bias=1 dir=bwd",
    "gemm m=31 n=45 k=16 tb=1 bias=1 lda=19 dir=bwd",
    "gemm m=16 n=24 k=8 batch=3 ta=1 tb=1 bias=1 alpha=-2 dir=bwd",
    "conv n=2 c=16 h=14 w=13 k=24 r=3 s=3 pad=1 bias=1 act=relu",
    "conv n=2 c=16 h=14 w=13 k=24 r=3 s=3 pad=1 bias=1 act=relu packed=1",
    "conv n=2 c=32 h=12 w=12 k=32 r=3 s=3 pad=1 packed=1",
    "conv n=1 c=3 h=35 w=33 k=16 r=7 s=7 stride=2 pad=3 bias=1 packed=1",
    "conv n=2 c=20 h=9 w=11 k=36 r=1 s=1 act=leaky_relu",
    "conv n=2 c=20 h=9 w=11 k=36 r=1 s=1 stride=2 act=gelu packed=1",
    "conv n=1 c=12 h=15 w=17 k=18 r=3 s=2 pad=0:1 stride=2x1 dilation=1x2",
    "conv n=1 c=12 h=15 w=17 k=18 r=3 s=3 pad=2x1:0x1 groups=3 bias=1 act=tanh packed=1",
    "conv n=2 c=24 h=10 w=10 k=24 r=3 s=3 pad=1 groups=24 bias=1 act=relu6",
    "conv n=2 c=24 h=10 w=10 k=24 r=5 s=5 pad=2 stride=2 groups=24 packed=1",
    "conv n=2 c=24 h=10 w=10 k=48 r=3 s=3 pad=1 groups=24",
    "conv n=2 c=16 h=9 w=8 k=16 r=3 s=3 pad=1 layout=nhwc bias=1 act=silu",
    "conv n=2 c=16 h=9 w=8 k=16 r=3 s=3 pad=1 layout=nhwc packed=1",
    "conv n=2 c=5 w=40 k=7 s=5 pad=2 stride=2 bias=1 act=sigmoid",
    "conv n=1 c=4 d=6 h=7 w=8 k=5 t=3 r=3 s=3 pad=1 act=gelu_tanh packed=1",
    "conv n=2 c=16 h=14 w=13 k=24 r=3 s=3 pad=1 dir=bwd_data",
    "conv n=2 c=20 h=9 w=11 k=36 r=1 s=1 stride=2 dir=bwd_data",
    "conv n=1 c=12 h=15 w=17 k=18 r=3 s=3 pad=2x1:0x1 groups=3 dir=bwd_data",
    "conv n=2 c=24 h=10 w=10 k=24 r=3 s=3 pad=1 stride=2 groups=24 layout=nhwc dir=bwd_data",
    "conv n=2 c=16 h=14 w=13 k=24 r=3 s=3 pad=1 bias=1 dir=bwd_weight",
    "conv n=2 c=3 h=35 w=33 k=16 r=7 s=7 stride=2 pad=3 dir=bwd_weight",
    "conv n=2 c=20 h=9 w=11 k=36 r=1 s=1 stride=2 dilation=2 dir=bwd_weight",
    "conv n=2 c=24 h=10 w=10 k=24 r=3 s=3 pad=1 groups=24 dir=bwd_weight",
    "conv n=1 c=4 d=6 h=7 w=8 k=6 t=3 r=3 s=3 pad=1 groups=2 layout=nhwc dir=bwd_weight",
    "norm n=37 c=100",
    "norm kind=batch n=3 c=10 h=8 w=9 training=1",
    "norm kind=batch n=3 c=16 h=8 w=9 training=1 layout=nhwc",
    "norm kind=batch n=3 c=10 h=8 w=9",
    "norm n=37 c=100 dir=bwd",
    "norm kind=batch n=3 c=10 h=8 w=9 training=1 dir=bwd",
    "norm kind=batch n=3 c=16 h=8 w=9 training=1 layout=nhwc dir=bwd",
    "norm kind=batch n=3 c=10 h=8 w=9 dir=bwd",
    "pool kind=max n=2 c=17 h=15 w=13 r=3 s=3 stride=2 pad=1",
    "pool kind=max n=2 c=16 h=15 w=13 r=3 s=2 stride=2x1 ceil=1",
    "pool kind=max n=1 c=5 h=15 w=13 r=3 s=3 stride=1 pad=1 dilation=2",
    "pool kind=max n=1 c=5 h=15 w=13 r=2 s=2 layout=nhwc",
    "pool kind=avg n=2 c=17 h=15 w=13 r=3 s=3 stride=2 pad=1",
    "pool kind=avg n=2 c=17 h=15 w=13 r=3 s=3 stride=2 pad=1 count_pad=1",
    "pool kind=avg n=2 c=16 h=14 w=14 r=3 s=3 stride=2 ceil=1",
    "pool kind=avg n=2 c=33 h=7 w=7 global=1",
    "pool kind=avg n=2 c=3 w=20 s=4 stride=3 pad=1",
    "pool kind=max n=1 c=3 d=6 h=7 w=8 t=2 r=3 s=2",
    "pool kind=max n=2 c=17 h=15 w=13 r=3 s=3 stride=2 pad=1 dir=bwd",
    "pool kind=max n=1 c=5 h=15 w=13 r=2 s=2 indices=1 layout=nhwc dir=bwd",
    "pool kind=avg n=2 c=17 h=15 w=13 r=3 s=3 stride=2 pad=1 count_pad=1 dir=bwd",
    "pool kind=avg n=2 c=16 h=15 w=13 r=3 s=3 stride=1 pad=1 dir=bwd",
    "softmax outer=37 axis=100",
    "softmax outer=37 axis=100 log=1",
    "softmax outer=3 axis=21 inner=17",
    "softmax outer=3 axis=21 inner=17 log=1",
    "softmax outer=37 axis=100 dir=bwd",
    "softmax outer=37 axis=100 log=1 dir=bwd",
    "softmax outer=3 axis=21 inner=17 dir=bwd",
    "activation count=1000 act=relu",
    "activation count=1001 act=leaky_relu",
    "activation count=1002 act=relu6",
    "activation count=1003 act=gelu",
    "activation count=1004 act=gelu_tanh",
    "activation count=1005 act=silu",
    "activation count=1006 act=sigmoid",
    "activation count=1007 act=tanh",
    "activation count=1000 act=relu dir=bwd",
    "activation count=1001 act=leaky_relu dir=bwd",
    "activation count=1002 act=relu6 dir=bwd",
    "activation count=1003 act=gelu dir=bwd",
    "activation count=1004 act=gelu_tanh dir=bwd",
    "activation count=1005 act=silu dir=bwd",
    "activation count=1006 act=sigmoid dir=bwd",
    "activation count=1007 act=tanh dir=bwd",
    "rnn cell=tanh t=5 b=3 input=8 hidden=12",
    "rnn cell=relu t=5 b=3 input=8 hidden=12 packed=1 state=1",
    "rnn cell=lstm t=5 b=3 input=8 hidden=12 state=1",
    "rnn cell=lstm t=5 b=16 input=32 hidden=32 packed=1",
    "rnn cell=lstm t=4 b=2 input=12 hidden=12 layers=3 bias=0 packed=1",
    "rnn cell=lstm t=4 b=2 input=9 hidden=12 layers=2 bidir=1 state=1 packed=1",
    "rnn cell=gru t=5 b=3 input=8 hidden=12 state=1",
    "rnn cell=gru t=5 b=3 input=12 hidden=12 layers=2 packed=1",
    "rnn cell=gru t=5 b=3 input=8 hidden=12 reset=before state=1 bidir=1",
    "rnn cell=gru t=5 b=3 input=8 hidden=12 reset=before packed=1",
    "rnn cell=tanh t=5 b=3 input=8 hidden=12 dir=bwd",
    "rnn cell=relu t=2 b=3 input=32 hidden=33 dir=bwd", // states that nearly vanish
    "rnn cell=relu t=5 b=1 input=33 hidden=65 bias=0 state=1 dir=bwd",
    "rnn cell=lstm t=5 b=16 input=32 hidden=32 dir=bwd",
    "rnn cell=lstm t=4 b=3 input=9 hidden=12 state=1 dir=bwd",
    "quantized_gemm m=33 n=65 k=100",
    "quantized_gemm m=1 n=70 k=51 tb=1 u8=1 bias=1 packed=1",
    "quantized_gemm m=40 n=48 k=64 bias=1 act=relu packed=1",
    "quantized_gemm m=33 n=65 k=100 tb=1 c=i32 packed=1",
    "quantized_gemm m=33 n=65 k=100 u8=1 c=i32",
    "quantized_gemm m=21 n=35 k=77 c=i8",
    "quantized_gemm m=21 n=35 k=77 c=i8 u8=1 bias=1 act=relu packed=1",
    "quantized_gemm m=21 n=35 k=77 c=i8 tb=1 bias=1 act=gelu packed=1",
    "quantized_conv c=16 h=14 w=13 k=24 r=3 s=3 pad=1",
    "quantized_conv c=16 h=14 w=13 k=24 r=3 s=3 pad=1 u8=1 bias=1 act=relu layout=nhwc packed=1",
    "quantized_conv n=2 c=3 h=19 w=17 k=16 r=5 s=5 stride=2 pad=2 bias=1 packed=1",
    "quantized_conv c=20 h=9 w=11 k=36 r=1 s=1 stride=2 y=i32 layout=nhwc",
    "quantized_conv c=16 h=9 w=11 k=12 r=3 s=3 dilation=2 pad=1 groups=4 y=i8 bias=1 packed=1",
    "quantized_conv c=24 h=10 w=10 k=24 r=3 s=3 pad=1 groups=24 y=i8 act=relu layout=nhwc packed=1",
};

// CLBlast compiles for seconds: a few cases, which still meet both of its algorithms and the epilogue.
static const char *const clblast_cases[] = {
    "gemm m=33 n=17 k=29",
    "gemm m=20 n=30 k=40 ta=1 tb=1 alpha=0.5 beta=2 bias=1 act=gelu",
    "gemm m=12 n=20 k=36 tb=1 lda=40 ldb=37 ldc=28 bias=col act=relu packed=1",
    "gemm m=16 n=24 k=8 batch=3 ta=1 beta=1",
    "gemm m=512 n=520 k=500",
};

typedef struct prepared {
    bench_case c;
    bench_data data;
    bench_output output;
    void *state;
    bench_details details;
} prepared;

static void release(const bench_runner *k, prepared *p)
{
    k->release(p->state);
    bench_output_free(&p->output);
    bench_data_free(&p->c, &p->data);
}

static bool prepare_with(const bench_runner *k, void *session, const char *line, const bench_prepare_options *options,
                         prepared *p)
{
    char reason[BENCH_REASON_TEXT] = "";
    memset(p, 0, sizeof *p);
    ck_assert_msg(bench_case_parse(line, &p->c, reason), "%s: %s", line, reason);
    ck_assert_msg(bench_data_make(&p->c, &p->data, reason), "%s: %s", line, reason);
    const bench_answer answer = k->prepare(session, &p->c, &p->data, options, &p->state, reason);
    if (answer != BENCH_OK) {
        ck_assert_msg(answer == BENCH_UNSUPPORTED, "%s, %s, %s: %s", k->name, line, options->form ? options->form : "",
                      reason);
        ck_assert_msg(reason[0], "%s, %s: unsupported, and does not say why", k->name, line);
        bench_data_free(&p->c, &p->data);
        return false;
    }
    ck_assert_msg(bench_output_make(&p->c, &p->data, &p->output, reason), "%s: %s", line, reason);
    k->details(p->state, &p->details);
    return true;
}

// False: the runner does not support the case in this form.
static bool prepare(const bench_runner *k, void *session, const char *line, const char *form, int copies, prepared *p)
{
    const bench_prepare_options options = {.form = form, .copies = copies};
    return prepare_with(k, session, line, &options, p);
}

static bool prepare_as_before(const bench_runner *k, void *session, const char *line, const char *before, prepared *p)
{
    const bench_prepare_options options = {.as_before = before};
    return prepare_with(k, session, line, &options, p);
}

static void do_ok(bench_answer answer, const bench_runner *k, const char *line, const char *reason)
{
    ck_assert_msg(answer == BENCH_OK, "%s, %s: %s", k->name, line, reason);
}

static bench_verdict verify(const prepared *p)
{
    bench_verdict verdict;
    const bench_verify_options options = {
        .seed = 1, .error_factor = p->details.error_factor, .widening = p->details.widening};
    bench_verdict_begin(&verdict);
    bench_op_get(p->c.op)->verify(&p->c, &p->data, &p->output, &options, &verdict);
    return verdict;
}

/*
 * The bounds are Husk's own. Others approximate exponentials and logarithms as they see fit: four times the
 * bound is still the same function, a wrong one is off by thousands.
 */
static bool is_right(const prepared *p, const bench_verdict *verdict)
{
    const bool approximates = bench_op_get(p->c.op)->macs == NULL;
    return verdict->pass || (approximates && verdict->checked > 0 && verdict->max_ratio < 4);
}

static bool has_elements(const bench_array *array)
{
    bool any = array->data != NULL;
    for (int32_t d = 0; d < array->rank; d++)
        any = any && array->shape[d] > 0;
    return any;
}

// y, or the first gradient that has elements where y has none: products of length 0 have the bias' gradient alone.
static const bench_array *first_with_elements(const bench_output *output)
{
    const bench_array *array = &output->y;
    for (int i = 0; i < BENCH_GRADIENTS && !has_elements(array); i++)
        array = &output->gradients[i];
    return array;
}

// One element that no rounding explains. What was there is in `was`.
static void spoil(const bench_array *y, unsigned char was[8])
{
    const size_t size = husk_dtype_size(y->dtype);
    memcpy(was, y->data, size);
    if (y->dtype == HUSK_F32) {
        float *first = y->data;
        *first += 0.01f * (fabsf(*first) + 1);
    } else {
        *(unsigned char *)y->data ^= 2; // of an integer: two more or two less
    }
}

// Whatever is no y has been made NaN by reset, though choosing among ways has run the case already.
static void check_blank(const bench_runner *k, const char *line, const bench_output *output)
{
    const bench_array *arrays[2 + BENCH_GRADIENTS] = {&output->h_n, &output->c_n};
    for (int i = 0; i < BENCH_GRADIENTS; i++)
        arrays[2 + i] = &output->gradients[i];
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        ck_assert_msg(!has_elements(arrays[i]) || isnan(*(const float *)arrays[i]->data), "%s, %s: output %zu is there",
                      k->name, line, i);
}

/*
 * Before the first run the output must be seen to be wrong (it is the poison that reset left, or C as it
 * was), after it right, and wrong again when one element is spoiled.
 */
static void check_case(const bench_runner *k, const char *line, prepared *p)
{
    char reason[BENCH_REASON_TEXT] = "";
    do_ok(k->reset(p->state, reason), k, line, reason);
    do_ok(k->read(p->state, &p->output, reason), k, line, reason);
    bench_verdict verdict = verify(p);
    ck_assert_msg(!is_right(p, &verdict), "%s, %s: right without a run", k->name, line);
    check_blank(k, line, &p->output);

    do_ok(k->run(p->state, reason), k, line, reason);
    do_ok(k->read(p->state, &p->output, reason), k, line, reason);
    verdict = verify(p);
    ck_assert_msg(is_right(p, &verdict), "%s, %s, %s: %s", k->name, line, p->details.variant ? p->details.variant : "",
                  verdict.text);

    unsigned char right[8];
    const bench_array *spoiled = first_with_elements(&p->output);
    spoil(spoiled, right);
    verdict = verify(p);
    ck_assert_msg(!is_right(p, &verdict), "%s, %s: a wrong element was not seen", k->name, line);
    memcpy(spoiled->data, right, husk_dtype_size(spoiled->dtype));
}

static long checked;

static bool check_form(const bench_runner *k, void *session, const char *line, const char *form)
{
    prepared p;
    if (!prepare(k, session, line, form, 1, &p))
        return false;
    check_case(k, line, &p);
    release(k, &p);
    checked++;
    return true;
}

#ifdef HUSK_WITH_ONEDNN
static const onednn_way *onednn_ways(const bench_case *c)
{
#define ONEDNN_FIND(lower, upper) \
    if (c->op == BENCH_##upper)   \
        return onednn_op_##lower.ways;
    BENCH_ONEDNN_OP_LIST(ONEDNN_FIND)
#undef ONEDNN_FIND
    return NULL;
}
#endif

// Every way the runner has for the case; false: none.
static bool check_all_ways(const bench_runner *k, void *session, const char *line)
{
    bool any = check_form(k, session, line, NULL);
#ifdef HUSK_WITH_ONEDNN
    bench_case c;
    char reason[BENCH_REASON_TEXT] = "";
    if (k != &bench_runner_onednn || !bench_case_parse(line, &c, reason))
        return any;
    for (const onednn_way *way = onednn_ways(&c); way && way->name; way++) {
        if (way->applies(&c, way->flags))
            any = check_form(k, session, line, way->name) || any;
    }
#endif
    return any;
}

static void *open_session(const bench_runner *k)
{
    const bench_open_options options = {.threads = 2};
    char reason[BENCH_REASON_TEXT] = "", version[256] = "";
    void *session = NULL;
    ck_assert_msg(k->open(&options, &session, reason) == BENCH_OK, "%s: %s", k->name, reason);
    k->version(session, version, sizeof version);
    ck_assert_msg(strpbrk(version, "0123456789") != NULL, "%s: '%s' holds no version", k->name, version);
    return session;
}

// An operator that is not built into this clbench has no cases.
static bool is_known(const char *line)
{
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(line, " "), line);
    return bench_op_find(name) != NULL;
}

static void check_list(const bench_runner *k, const char *const *list, size_t count, long at_least)
{
    void *session = open_session(k);
    long supported = 0;
    checked = 0;
    for (size_t i = 0; i < count; i++)
        supported += is_known(list[i]) && check_all_ways(k, session, list[i]);
    k->close(session);
    printf("checked: %s %ld cases in %ld ways\n", k->name, supported, checked);
    ck_assert_msg(supported >= at_least, "%s supports %ld cases", k->name, supported);
}

#define LIST(list) list, sizeof(list) / sizeof *(list)

START_TEST(reference_agrees_with_itself)
{
    check_list(&bench_runner_ref, LIST(cases), 50);
}
END_TEST

#ifdef HUSK_WITH_BLAS
START_TEST(blas_multiplies)
{
    check_list(&bench_runner_blas, LIST(cases), 18);
}
END_TEST

START_TEST(blas_does_vectors_both_ways)
{
    const bench_runner *k = &bench_runner_blas;
    void *session = open_session(k);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!strncmp(cases[i], "gemm m=1 ", 9) || !strncmp(cases[i], "gemm m=70 n=1 ", 14)) {
            ck_assert(check_form(k, session, cases[i], "sgemm"));
            ck_assert(check_form(k, session, cases[i], "sgemv"));
        }
    }
    static const char *const ways[] = {"sgemm", "sgemv"};
    for (size_t i = 0; i < 2; i++) { // what was chosen before is chosen again
        prepared p;
        ck_assert(prepare_as_before(k, session, "gemm m=1 n=70 k=50", ways[i], &p));
        ck_assert_str_eq(p.details.variant, ways[i]);
        release(k, &p);
    }
    k->close(session);
}
END_TEST
#endif

#ifdef HUSK_WITH_CLBLAST
START_TEST(clblast_multiplies)
{
    check_list(&bench_runner_clblast, LIST(clblast_cases), 5);
}
END_TEST

// So that it is known whether it is the one that Husk is measured on.
START_TEST(clblast_names_its_device)
{
    const bench_runner *c = &bench_runner_clblast;
    char reason[BENCH_REASON_TEXT] = "", version[256];
    void *session = NULL;
    ck_assert_msg(c->open(&(bench_open_options){.threads = 1}, &session, reason) == BENCH_OK, "%s", reason);
    json_t *device = c->device(session);
    const char *name = json_string_value(json_object_get(device, "name"));
    ck_assert(name && *name);
    ck_assert(json_is_integer(json_object_get(json_object_get(device, "traits"), "compute_units")));
    c->version(session, version, sizeof version);
    ck_assert_msg(strstr(version, name) != NULL, "%s is not in %s", name, version);
    json_decref(device);
    c->close(session);
}
END_TEST
#endif

#ifdef HUSK_WITH_ONEDNN
START_TEST(onednn_does_every_operator_in_every_way)
{
    check_list(&bench_runner_onednn, LIST(cases), 50);
}
END_TEST

START_TEST(onednn_refuses_what_it_lacks)
{
    static const char *const lacking[] = {
        "rnn cell=lstm t=5 b=3 input=8 hidden=12 lengths=1",
        "rnn cell=gru t=5 b=3 input=8 hidden=12 dir=bwd",
        "pool kind=max c=5 h=8 w=8 r=2 s=2 indices=1",
        "gemm m=4 n=5 k=0",
    };
    void *session = open_session(&bench_runner_onednn);
    prepared p;
    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++)
        ck_assert_msg(!is_known(lacking[i]) || !prepare(&bench_runner_onednn, session, lacking[i], NULL, 1, &p), "%s",
                      lacking[i]);
    ck_assert(!prepare(&bench_runner_onednn, session, "gemm m=4 n=5 k=6", "no such form", 1, &p));
    bench_runner_onednn.close(session);
}
END_TEST

// On a busy machine another way may be the fastest the next time: each is taken again where it was chosen before.
START_TEST(onednn_chooses_as_before)
{
    static const char *const lines[] = {"gemm m=48 n=32 k=64 bias=1 act=relu", "gemm m=33 n=17 k=29",
                                        "conv c=32 h=12 w=12 k=32 r=3 s=3 pad=1", "pool c=16 h=16 w=16 r=2 s=2"};
    void *session = open_session(&bench_runner_onednn);
    int others = 0;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        bench_case c;
        char reason[BENCH_REASON_TEXT] = "", first[160] = "";
        ck_assert(bench_case_parse(lines[i], &c, reason));
        for (const onednn_way *way = onednn_ways(&c); way->name; way++) {
            prepared p, again;
            if (!way->applies(&c, way->flags) || !prepare(&bench_runner_onednn, session, lines[i], way->name, 1, &p))
                continue;
            ck_assert_msg(prepare_as_before(&bench_runner_onednn, session, lines[i], p.details.variant, &again),
                          "%s: %s", lines[i], p.details.variant);
            ck_assert_str_eq(again.details.variant, p.details.variant);
            others += first[0] && strcmp(first, p.details.variant);
            snprintf(first, sizeof first, "%s", p.details.variant);
            release(&bench_runner_onednn, &again);
            release(&bench_runner_onednn, &p);
        }
        prepared p;
        ck_assert(!prepare_as_before(&bench_runner_onednn, session, lines[i], "no such way", &p));
    }
    ck_assert_int_ge(others, 4);
    bench_runner_onednn.close(session);
}
END_TEST

// What is allowed bf16 is not judged as f32, by which it would be no rival.
START_TEST(onednn_may_err_as_the_precision_says)
{
    static const char *const lines[][2] = {{"gemm m=33 n=17 k=29", "matmul"},
                                           {"gemm m=33 n=17 k=29", "inner product"},
                                           {"gemm m=31 n=45 k=16 dir=bwd", "two matmuls"},
                                           {"conv c=32 h=12 w=12 k=32 r=1 s=1", "convolution, own layouts"}};
    void *session = open_session(&bench_runner_onednn);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char medium[BENCH_CASE_TEXT];
        prepared p;
        ck_assert(prepare(&bench_runner_onednn, session, lines[i][0], lines[i][1], 1, &p));
        ck_assert_msg(p.details.error_factor <= 0, "%s", lines[i][0]);
        release(&bench_runner_onednn, &p);
        snprintf(medium, sizeof medium, "%s precision=medium", lines[i][0]);
        ck_assert(prepare(&bench_runner_onednn, session, medium, lines[i][1], 1, &p));
        ck_assert_msg(p.details.error_factor > 0x1p17, "%s", medium);
        release(&bench_runner_onednn, &p);
    }
    bench_runner_onednn.close(session);
}
END_TEST

// Precision is about products: the bias' gradient is judged as f32, and has to be.
START_TEST(onednn_adds_up_a_bias_in_f32)
{
    static const char *const lines[] = {"gemm m=512 n=64 k=32 bias=1 precision=medium dir=bwd",
                                        "gemm m=64 n=512 k=32 bias=col precision=medium dir=bwd"};
    void *session = open_session(&bench_runner_onednn);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char reason[BENCH_REASON_TEXT] = "";
        prepared p;
        ck_assert(prepare(&bench_runner_onednn, session, lines[i], "two matmuls", 1, &p));
        do_ok(bench_runner_onednn.reset(p.state, reason), &bench_runner_onednn, lines[i], reason);
        do_ok(bench_runner_onednn.run(p.state, reason), &bench_runner_onednn, lines[i], reason);
        do_ok(bench_runner_onednn.read(p.state, &p.output, reason), &bench_runner_onednn, lines[i], reason);
        bench_verdict verdict = verify(&p);
        ck_assert_msg(verdict.pass, "%s: %s", lines[i], verdict.text);
        float *bias = p.output.gradients[1].data;
        bias[3] += 0.01f * (fabsf(bias[3]) + 1);
        verdict = verify(&p);
        ck_assert_msg(!verdict.pass, "%s: a wrong bias was not seen", lines[i]);
        release(&bench_runner_onednn, &p);
    }
    bench_runner_onednn.close(session);
}
END_TEST

// J is the direction's own (husk/ops/conv.h), and the transforms of dw are others; the tile follows from the factor.
START_TEST(onednn_winograd_may_err_as_the_direction_says)
{
    static const struct {
        const char *line;
        double amplification, products;
        int64_t tile; // of dx; dw: whether there is one
    } rows[] = {
        {"conv c=512 h=7 w=7 k=64 r=3 s=3 pad=1", 16, 512 * 9, 0},
        {"conv c=512 h=14 w=14 k=64 r=3 s=3 pad=1 dir=bwd_data", 16, 64 * 9, 4},
        {"conv c=16 h=14 w=14 k=512 r=3 s=3 pad=1 dir=bwd_data", 16, 512 * 9, 4},
        {"conv c=512 h=7 w=7 k=64 r=3 s=3 pad=1 dir=bwd_weight", 40.0 / 3, 49, 1},
        {"conv n=8 c=64 h=56 w=56 k=64 r=3 s=3 pad=1 dir=bwd_weight", 40.0 / 3, 8 * 56 * 56, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        onednn_program program = {.name = "winograd, own layouts: jit_wino_4x3:avx512_core"};
        bench_case c;
        char reason[BENCH_REASON_TEXT] = "";
        ck_assert_msg(bench_case_parse(rows[i].line, &c, reason), "%s", reason);
        onednn_conv_describe_winograd(&program, &c);
        ck_assert_double_eq_tol(program.error_factor, rows[i].amplification * (4 + 2 * sqrt(rows[i].products)), 1e-6);
        ck_assert_double_eq_tol(program.executed_flops, bench_case_flops(&c) / 4, 1);
        const bench_conv *v = &c.as.conv;
        const husk_ref_array dy = {.rank = 4, .shape = {v->n, v->k, v->out[0], v->out[1]}};
        const husk_ref_array w = {.rank = 4, .shape = {v->k, v->c, 3, 3}};
        husk_ref_conv_backward_data data = {.w = &w, .dy = &dy, .error_factor = program.error_factor};
        husk_ref_conv_backward_weights weights = {.dy = &dy, .error_factor = program.error_factor};
        husk_ref_conv_backward_data_set_tile(&data);
        husk_ref_conv_backward_weights_set_tile(&weights);
        if (c.dir == BENCH_BWD_DATA)
            ck_assert_int_eq(data.tile[0], rows[i].tile);
        if (c.dir == BENCH_BWD_WEIGHT)
            ck_assert_int_eq(weights.has_tile, rows[i].tile);
    }
}
END_TEST

START_TEST(onednn_has_two_forms_where_winograd_applies)
{
    bench_case c;
    char reason[BENCH_REASON_TEXT] = "";
    void *session = open_session(&bench_runner_onednn);
    ck_assert(bench_case_parse("conv c=8 h=9 w=9 k=8 r=3 s=3 pad=1", &c, reason)); // the highest precision has none
    ck_assert_ptr_null(bench_runner_onednn.form(session, &c, 0));
    ck_assert(bench_case_parse("conv c=8 h=9 w=9 k=8 r=3 s=3 pad=1 precision=high", &c, reason));
    ck_assert_str_eq(bench_runner_onednn.form(session, &c, 0), "auto");
    ck_assert_str_eq(bench_runner_onednn.form(session, &c, 1), "winograd");
    ck_assert_ptr_null(bench_runner_onednn.form(session, &c, 2));
    ck_assert(bench_case_parse("conv c=8 h=9 w=9 k=8 r=3 s=3 pad=1 stride=2 precision=high", &c, reason));
    ck_assert_ptr_null(bench_runner_onednn.form(session, &c, 0));
    bench_runner_onednn.close(session);
}
END_TEST
#endif

START_TEST(generated_cases)
{
    const int64_t most = test_is_long() ? INT64_MAX : 16;
    for (size_t i = 0; bench_runner_get(i); i++) {
        const bench_runner *k = bench_runner_get(i);
        if (!strcmp(k->name, "husk") || !strcmp(k->name, "clblast"))
            continue;
        void *session = open_session(k);
        checked = 0;
        for (int op = 0; op < BENCH_OP_COUNT; op++) {
            char line[BENCH_CASE_TEXT];
            for (int64_t j = 0; j < most && bench_op_get((bench_op_kind)op)->generate(j, line); j++)
                check_all_ways(k, session, line);
        }
        k->close(session);
        printf("checked: %s, %ld generated\n", k->name, checked);
        ck_assert_int_gt(checked, 10);
    }
}
END_TEST

// Three sets of operands, rotated: whichever ran last is the one that is read.
START_TEST(copies_are_rotated)
{
    for (size_t i = 0; bench_runner_get(i); i++) {
        const bench_runner *k = bench_runner_get(i);
        if (!strcmp(k->name, "husk"))
            continue;
        void *session = open_session(k);
        char reason[BENCH_REASON_TEXT] = "";
        const char *line = "gemm m=33 n=17 k=29";
        prepared p;
        ck_assert(prepare(k, session, line, NULL, 3, &p));
        for (int run = 0; run < 4; run++)
            check_case(k, line, &p);
        do_ok(k->reset(p.state, reason), k, line, reason);
        do_ok(k->run_batch(p.state, 5, reason), k, line, reason);
        do_ok(k->read(p.state, &p.output, reason), k, line, reason);
        const bench_verdict verdict = verify(&p);
        ck_assert_msg(is_right(&p, &verdict), "%s: %s", k->name, verdict.text);
        release(k, &p);
        k->close(session);
    }
}
END_TEST

static double process_cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void sleep_ms(long ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

// Threads that spin would take the cores from whoever is measured next.
START_TEST(idle_runners_use_no_cpu)
{
    for (size_t i = 0; bench_runner_get(i); i++) {
        const bench_runner *k = bench_runner_get(i);
        if (!strcmp(k->name, "husk"))
            continue;
        void *session = open_session(k);
        char reason[BENCH_REASON_TEXT] = "";
        const char *line = "gemm m=128 n=128 k=128";
        prepared p;
        ck_assert(prepare(k, session, line, NULL, 1, &p));
        do_ok(k->run_batch(p.state, 20, reason), k, line, reason);
        sleep_ms(30);
        const double before = process_cpu_ms();
        sleep_ms(200);
        const double used = process_cpu_ms() - before;
        release(k, &p);
        k->close(session);
        ck_assert_msg(used < 20, "%s used %.1f ms of CPU in 200 ms of doing nothing", k->name, used);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("baselines");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, reference_agrees_with_itself);
#ifdef HUSK_WITH_BLAS
    tcase_add_test(tests, blas_multiplies);
    tcase_add_test(tests, blas_does_vectors_both_ways);
#endif
#ifdef HUSK_WITH_CLBLAST
    tcase_add_test(tests, clblast_multiplies);
    tcase_add_test(tests, clblast_names_its_device);
#endif
#ifdef HUSK_WITH_ONEDNN
    tcase_add_test(tests, onednn_does_every_operator_in_every_way);
    tcase_add_test(tests, onednn_refuses_what_it_lacks);
    tcase_add_test(tests, onednn_chooses_as_before);
    tcase_add_test(tests, onednn_may_err_as_the_precision_says);
    tcase_add_test(tests, onednn_adds_up_a_bias_in_f32);
    tcase_add_test(tests, onednn_winograd_may_err_as_the_direction_says);
    tcase_add_test(tests, onednn_has_two_forms_where_winograd_applies);
#endif
    tcase_add_test(tests, generated_cases);
    tcase_add_test(tests, copies_are_rotated);
    tcase_add_test(tests, idle_runners_use_no_cpu);
    Suite *suite = suite_create("baselines");
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
