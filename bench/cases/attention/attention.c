// SPDX-License-Identifier: MIT
// attention heads length d [n kv_heads keys e causal percent form dtype precision dir]
#include <math.h>
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "common/text.h"
#include "ref/attention/attention.h"

enum { FUSED, COMPOSED };

static const bench_choice causal_choices[] = {{"none", HUSK_CAUSAL_NONE},
                                              {"0", HUSK_CAUSAL_NONE},
                                              {"top_left", HUSK_CAUSAL_TOP_LEFT},
                                              {"1", HUSK_CAUSAL_TOP_LEFT},
                                              {"bottom_right", HUSK_CAUSAL_BOTTOM_RIGHT},
                                              {NULL, 0}};
static const bench_choice form_choices[] = {{"fused", FUSED}, {"composed", COMPOSED}, {NULL, 0}};

static const bench_field fields[] = {
    BENCH_INTEGER("n", as.attention.n, 1, 1, "sequences"),
    BENCH_REQUIRED("heads", as.attention.heads, 1, "of the queries"),
    BENCH_REQUIRED("length", as.attention.length, 1, "queries"),
    BENCH_REQUIRED("d", as.attention.d, 1, "columns of a query and a key"),
    BENCH_INTEGER("kv_heads", as.attention.kv_heads, 0, 0, "of keys and values; 0: heads"),
    BENCH_INTEGER("keys", as.attention.keys, 0, 0, "keys; 0: length"),
    BENCH_INTEGER("e", as.attention.e, 0, 0, "columns of a value; 0: d"),
    BENCH_CHOICE("causal", as.attention.causal, HUSK_CAUSAL_NONE, causal_choices, "which keys a query sees"),
    BENCH_INTEGER("percent", as.attention.percent, 0, 0, "so many weights in a hundred are dropped"),
    BENCH_CHOICE("form", as.attention.form, FUSED, form_choices, "composed: as gemm, softmax and gemm"),
    {.key = NULL},
};

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
    bench_attention *a = &c->as.attention;
    if (a->percent > 100)
        return bench_explain(reason, BENCH_REASON_TEXT, "percent is more than 100");
    if (a->kv_heads && a->heads % a->kv_heads)
        return bench_explain(reason, BENCH_REASON_TEXT, "heads is no multiple of kv_heads");
    if (a->form == COMPOSED && (a->causal || a->percent || (a->kv_heads && a->kv_heads != a->heads) || c->dir ||
                                c->precision != HUSK_PRECISION_HIGHEST))
        return bench_explain(reason, BENCH_REASON_TEXT,
                             "form=composed has neither causal, percent, kv_heads and precision nor a gradient");
    if (c->dir && c->precision != HUSK_PRECISION_HIGHEST)
        return bench_explain(reason, BENCH_REASON_TEXT, "the gradient has no precision but the highest");
    a->kv_heads = a->kv_heads == a->heads ? 0 : a->kv_heads;
    a->keys = a->keys == a->length ? 0 : a->keys;
    a->e = a->e == a->d ? 0 : a->e;
    return true;
}

static void resolve(bench_case *c)
{
    bench_attention *a = &c->as.attention;
    a->kv_heads = a->kv_heads ? a->kv_heads : a->heads;
    a->keys = a->keys ? a->keys : a->length;
    a->e = a->e ? a->e : a->d;
}

// Weights that are not masked, as causality leaves them: a row sees one key more than the row before, none at the least
// and all at most.
static double weights(const bench_attention *a)
{
    const double matrices = (double)a->n * (double)a->heads;
    if (a->causal == HUSK_CAUSAL_NONE)
        return matrices * (double)a->length * (double)a->keys;
    const int64_t shift = a->causal == HUSK_CAUSAL_BOTTOM_RIGHT ? a->keys - a->length : 0;
    const int64_t first = shift < 0 ? 1 : 1 + shift, sees = a->length + shift; // rows before the first see nothing
    const int64_t last = sees < a->keys ? sees : a->keys;
    const double some = (double)(first + last) * (double)(last - first + 1) / 2;
    return matrices * (some + (double)(sees - last) * (double)a->keys);
}

// Two products forward; the gradient's own four, and the scores anew.
static double flops(const bench_case *c)
{
    const bench_attention *a = &c->as.attention;
    const double d = (double)a->d, e = (double)a->e;
    return 2 * weights(a) * (c->dir == BENCH_FWD ? d + e : 3 * d + 2 * e);
}

// q, y, k and v; the gradients of all four, and log_sum_exp, which is f32 beside what is narrower. What is written is
// so whole; of what is read, so many queries and keys of a head.
static double bytes_with(const bench_case *c, double queries, double keys)
{
    const bench_attention *a = &c->as.attention;
    const double size = bench_case_element(c), d = (double)a->d, e = (double)a->e;
    const double heads = (double)a->n * (double)a->heads, kv_heads = (double)a->n * (double)a->kv_heads;
    const double length = heads * (double)a->length, all_keys = kv_heads * (double)a->keys;
    const double read = size * (heads * queries * d + kv_heads * keys * (d + e));
    if (c->dir == BENCH_FWD)
        return read + size * length * e;
    const double saved = heads * queries * (2 * size * e + fmax(size, 4)); // y and dy, log_sum_exp
    return read + saved + size * (length * d + all_keys * (d + e));
}

// No query has to be read that sees no key, and no key that no query sees.
static double bytes(const bench_case *c)
{
    const bench_attention *a = &c->as.attention;
    const double length = (double)a->length, keys = (double)a->keys;
    return bytes_with(c, a->causal == HUSK_CAUSAL_BOTTOM_RIGHT ? fmin(length, keys) : length,
                      a->causal == HUSK_CAUSAL_TOP_LEFT ? fmin(length, keys) : keys);
}

static double operands(const bench_case *c)
{
    return bytes_with(c, (double)c->as.attention.length, (double)c->as.attention.keys);
}

static bool is_composed(const bench_case *c)
{
    return c->as.attention.form == COMPOSED;
}

// A composed case's is gemm's alpha, which is an f32 number in every dtype; 0: the operator's own, 1 / sqrt d in f64.
static float scale_of(const bench_case *c)
{
    return is_composed(c) ? 1.0f / sqrtf((float)c->as.attention.d) : 0.0f;
}

static husk_attention_params params_of(const bench_case *c, const char *variant)
{
    const bench_attention *a = &c->as.attention;
    return HUSK_ATTENTION_PARAMS(.causal = (husk_causal)a->causal, .scale = scale_of(c),
                                 .dropout = (float)a->percent / 100.0f, .seed = 20150416, .offset = 7,
                                 .variant = variant, .precision = c->precision);
}

static bool is_backward(const bench_case *c)
{
    return c->dir != BENCH_FWD;
}

static husk_ref_attention reference(const bench_data *data, const husk_attention_params *params, husk_ref_array of[3])
{
    of[0] = bench_ref_array(&data->x);
    of[1] = bench_ref_array(&data->saved[0]);
    of[2] = bench_ref_array(&data->saved[1]);
    return (husk_ref_attention){.params = params, .q = &of[0], .k = &of[1], .v = &of[2]};
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_attention *a = &c->as.attention;
    const int64_t q[] = {a->n, a->heads, a->length, a->d}, k[] = {a->n, a->kv_heads, a->keys, a->d};
    const int64_t v[] = {a->n, a->kv_heads, a->keys, a->e}, y[] = {a->n, a->heads, a->length, a->e};
    if (!bench_array_make(&data->x, HUSK_F32, 4, q, NULL) || !bench_array_make(&data->saved[0], HUSK_F32, 4, k, NULL) ||
        !bench_array_make(&data->saved[1], HUSK_F32, 4, v, NULL) || !bench_array_make(&data->y, HUSK_F32, 4, y, NULL))
        return false;
    bench_array_fill(&data->x, seed, 2);
    bench_array_fill(&data->saved[0], seed + 1, 2);
    bench_array_fill(&data->saved[1], seed + 2, 1);
    if (is_backward(c)) {
        // What forward leaves, in size. The first gradient is dq.
        bench_array_free(&data->y);
        if (!bench_array_make(&data->y, HUSK_F32, 4, q, NULL) || !bench_array_make(&data->dy, HUSK_F32, 4, y, NULL) ||
            !bench_array_make(&data->saved[2], HUSK_F32, 4, y, NULL) ||
            !bench_array_make(&data->saved[3], HUSK_F32, 3, q, NULL))
            return false;
        bench_array_fill(&data->dy, seed + 3, 1);
        bench_array_fill(&data->saved[2], seed + 4, 0.2f);
        bench_array_fill(&data->saved[3], seed + 5, 0.5f);
        float *sums = data->saved[3].data;
        for (int64_t i = 0; i < data->saved[3].count; i++)
            sums[i] += 1.0f + logf((float)a->keys);
        return true;
    }
    if (a->form == FUSED)
        return true;
    const int64_t scores[] = {a->n * a->heads, a->length, a->keys};
    return bench_array_make(&data->saved[2], HUSK_F32, 3, scores, NULL);
}

static bool make_output(const bench_case *c, const bench_data *data, bench_output *output)
{
    return !is_backward(c) || (bench_array_make(&output->gradients[0], HUSK_F32, 4, data->saved[0].shape, NULL) &&
                               bench_array_make(&output->gradients[1], HUSK_F32, 4, data->saved[1].shape, NULL));
}

static void note_bound(bench_husk_job *job)
{
    job->error_factor = fmax(job->error_factor, husk_plan_error_factor(husk_queue_plan(job->queue)));
}

// What one would write without this operator: scores in memory.
static husk_status enqueue_composed(bench_husk_job *job, bench_husk_set *set)
{
    const bench_attention *a = &job->c->as.attention;
    const int64_t batch = a->n * a->heads;
    const int64_t q_shape[] = {batch, a->length, a->d}, k_shape[] = {batch, a->keys, a->d};
    const int64_t v_shape[] = {batch, a->keys, a->e}, y_shape[] = {batch, a->length, a->e};
    const husk_tensor q = husk_tensor_reshape(&set->x, 3, q_shape), k = husk_tensor_reshape(&set->saved[0], 3, k_shape);
    const husk_tensor v = husk_tensor_reshape(&set->saved[1], 3, v_shape), y = husk_tensor_reshape(&set->y, 3, y_shape);
    const husk_tensor *scores = &set->saved[2];
    const husk_gemm_params turned = HUSK_GEMM_PARAMS(.transpose_b = true), plain = HUSK_GEMM_PARAMS(0);
    const husk_softmax_params softmax = husk_softmax_defaults();
    husk_status status = husk_gemm(job->queue, &turned, scale_of(job->c), &q, &k, NULL, 0.0f, scores);
    note_bound(job);
    if (status == HUSK_OK)
        status = husk_softmax(job->queue, &softmax, scores, scores);
    if (status == HUSK_OK)
        status = husk_gemm(job->queue, &plain, 1.0f, scores, &v, NULL, 0.0f, &y);
    note_bound(job);
    return status;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    const husk_attention_params params = params_of(job->c, job->form);
    if (is_composed(job->c))
        return enqueue_composed(job, set);
    if (is_backward(job->c))
        return husk_attention_backward(job->queue, &params, &set->x, &set->saved[0], &set->saved[1], NULL,
                                       &set->saved[2], &set->saved[3], &set->dy, &set->y, &set->gradients[0],
                                       &set->gradients[1]);
    return husk_attention(job->queue, &params, &set->x, &set->saved[0], &set->saved[1], NULL, &set->y, NULL);
}

static void verify_backward(const bench_case *c, const bench_data *data, const bench_output *output,
                            const bench_verify_options *options, bench_verdict *verdict)
{
    static const char *const names[] = {"dq", "dk", "dv"};
    const husk_attention_params params = params_of(c, NULL);
    const husk_ref_array dy = bench_ref_array(&data->dy), y = bench_ref_array(&data->saved[2]);
    const husk_ref_array sums = bench_ref_array(&data->saved[3]);
    const husk_ref_array made[] = {bench_ref_array(&output->y), bench_ref_array(&output->gradients[0]),
                                   bench_ref_array(&output->gradients[1])};
    husk_ref_array of[3];
    for (int by = 0; by < 3; by++) {
        husk_ref_attention_backward op = {.forward = reference(data, &params, of),
                                          .y = &y,
                                          .log_sum_exp = &sums,
                                          .dy = &dy,
                                          .by = (husk_ref_attention_by)by};
        if (!husk_ref_attention_backward_prepare(&op)) {
            bench_verdict_unchecked(verdict);
            return;
        }
        const husk_ref_function function = husk_ref_attention_backward_function(&op);
        husk_ref_report report = {0};
        husk_ref_check(&function, options->seed, &made[by], &report);
        bench_verdict_add(verdict, names[by], &report);
        husk_ref_attention_backward_release(&op);
    }
}

// What a composed case's scores and then its weights lose where they are stored, of which the reference gives one to
// each, and what f16 loses of small weights.
static double stored_error(const bench_case *c)
{
    return !is_composed(c) ? 0 : c->dtype == HUSK_F16 ? 3 * 0x1p13 : c->dtype == HUSK_BF16 ? 3 * 0x1p16 : 0;
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    const husk_attention_params params = params_of(c, NULL);
    husk_ref_array of[3], y = bench_ref_array(&output->y);
    if (is_backward(c)) {
        verify_backward(c, data, output, options, verdict);
        return;
    }
    husk_ref_attention op = reference(data, &params, of);
    op.error_factor = options->error_factor + stored_error(c);
    if (!husk_ref_attention_prepare(&op)) {
        bench_verdict_unchecked(verdict);
        return;
    }
    husk_ref_function function = husk_ref_attention_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, "y", &report);
    husk_ref_attention_release(&op);
}

// Lengths and columns around tiles, grouped heads, causality, dropout.
static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int lengths[] = {1, 13, 40, 70}, keys[] = {33, 64, 150}, columns[] = {8, 20, 64};
    if (index >= 72)
        return false;
    const char *direction = index < 36 ? "" : " dir=bwd";
    index %= 36;
    snprintf(line, BENCH_CASE_TEXT, "attention heads=2 length=%d d=%d keys=%d%s%s%s%s", lengths[index % 4],
             columns[index / 4 % 3], keys[index / 12 % 3], index % 3 ? "" : " kv_heads=1",
             index % 5 == 1   ? " causal=top_left"
             : index % 5 == 2 ? " causal=bottom_right"
                              : "",
             index % 7 == 3   ? " percent=30"
             : index % 7 == 5 ? " e=33"
                              : "",
             direction);
    return true;
}

const bench_op bench_op_attention = {
    .name = "attention",
    .gradients = {[BENCH_BWD] = "attention_backward"},
    .fields = fields,
    .common = BENCH_COMMON_DTYPE | BENCH_COMMON_PRECISION | BENCH_COMMON_DIR,
    .narrows = true,
    .keeps_saved = 1u << 3, // log_sum_exp
    .normalise = normalise,
    .resolve = resolve,
    .flops = flops,
    .bytes = bytes,
    .operands = operands,
    .make_data = make_data,
    .make_output = make_output,
    .husk_enqueue = husk_enqueue,
    .is_composed = is_composed,
    .verify = verify,
    .generate = generate,
};
