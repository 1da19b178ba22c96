// SPDX-License-Identifier: MIT
// The runner blas: OpenBLAS, for matrix multiplication.
//
// A batch is a loop of calls. BLAS has no epilogue: bias and activation follow in plain C, as a program that
// uses BLAS would write them. Where a matrix is a vector, sgemm and sgemv are timed and the faster is taken.
// Gradients are two calls of sgemm a matrix, after the activation's derivative and the bias' sums in plain C.
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>

#include <cblas.h>

#include "baseline/baselines.h"
#include "system/dynamic_library.h"
#include "baseline/operand.h"
#include "cases/data.h"

// OpenBLAS is opened at run time for the reasons in onednn_library.h.
#define BLAS_FUNCTIONS(X)       \
    X(cblas_sgemm)              \
    X(cblas_sgemv)              \
    X(openblas_get_config)      \
    X(openblas_get_corename)    \
    X(openblas_get_num_threads) \
    X(openblas_set_num_threads)

typedef struct blas_session {
    void *library;
    char own_choice[32]; /* the kernels OpenBLAS chose by itself, where others were taken */
#define BLAS_MEMBER(name) __typeof__(&name) name;
    BLAS_FUNCTIONS(BLAS_MEMBER)
#undef BLAS_MEMBER
} blas_session;

static const char *const library_names[] = {
#ifdef HUSK_OPENBLAS_LIBRARY
    HUSK_OPENBLAS_LIBRARY,
#endif
    "libopenblas.so.0",
    "libopenblas.dylib",
    NULL,
};

static bench_answer load(blas_session *s, char reason[BENCH_REASON_TEXT])
{
    s->library = bench_library_open(library_names, reason);
    if (!s->library)
        return BENCH_UNSUPPORTED;
    bench_answer answer = BENCH_OK;
#define LOAD(name)          \
    if (answer == BENCH_OK) \
        answer = bench_library_function(s->library, #name, &s->name, reason) ? BENCH_OK : BENCH_UNSUPPORTED;
    BLAS_FUNCTIONS(LOAD)
#undef LOAD
    return answer;
}

static bool cpu_has_avx512(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

static bool kernels_have_avx512(const char *core)
{
    static const char *const names[] = {"SkylakeX", "Cooperlake", "SapphireRapids", "Sapphirerapids", "Zen4", "Zen5"};
    bool have = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        have = have || strcmp(core, names[i]) == 0;
    return have;
}

/*
 * OpenBLAS picks its kernels by the CPU's model number, and takes AVX2 ones on a model newer than itself; and
 * environments pin kernels for the sake of equal results (OPENBLAS_CORETYPE=Haswell). Either is half the
 * speed of AVX-512 kernels (docs/baselines.md) and no rival: its own choice counts, and where that has none
 * on a CPU that has it, SkylakeX.
 */
static bench_answer load_best(blas_session *s, char reason[BENCH_REASON_TEXT])
{
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_L2_SIZE");
    bench_answer answer = load(s, reason);
    if (answer != BENCH_OK || !cpu_has_avx512() || kernels_have_avx512(s->openblas_get_corename()))
        return answer;
    snprintf(s->own_choice, sizeof s->own_choice, "%s", s->openblas_get_corename());
    setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
    dlclose(s->library);
    answer = load(s, reason);
    unsetenv("OPENBLAS_CORETYPE"); // whoever opens it next decides anew
    return answer;
}

static void session_close(void *session)
{
    blas_session *s = session;
    if (s && s->library)
        dlclose(s->library);
    free(s);
}

static bench_answer session_open(const bench_open_options *options, void **session, char reason[BENCH_REASON_TEXT])
{
    // Idle threads yield for 2^26 cycles (25 ms) before they sleep; 2^18 are 0.1 ms and cost nothing.
    bench_environment_default("OPENBLAS_THREAD_TIMEOUT", "18");
    if (!getenv("OMP_WAIT_POLICY"))
        bench_environment_default("GOMP_SPINCOUNT", "10000"); // for builds of OpenBLAS on OpenMP
    blas_session *s = calloc(1, sizeof *s);
    if (!s) {
        snprintf(reason, BENCH_REASON_TEXT, "out of memory");
        return BENCH_ERROR;
    }
    bench_answer answer = load_best(s, reason);
    if (answer != BENCH_OK) {
        session_close(s);
        return answer;
    }
    s->openblas_set_num_threads(options->threads);
    *session = s;
    return BENCH_OK;
}

static void version(void *session, char *text, size_t size)
{
    const blas_session *s = session;
    const char *config = s->openblas_get_config(); // "OpenBLAS 0.3.21 DYNAMIC_ARCH ..."
    const char *number = strchr(config, ' ');
    const int name_length = (int)(number ? strcspn(number + 1, " ") + 1 + (size_t)(number - config) : strlen(config));
    const int threads = s->openblas_get_num_threads();
    char instead[64] = "";
    if (s->own_choice[0])
        snprintf(instead, sizeof instead, " instead of %s", s->own_choice);
    snprintf(text, size, "%.*s (%s kernels%s, %d thread%s)", name_length, config, s->openblas_get_corename(), instead,
             threads, threads == 1 ? "" : "s");
}

// ---- a case

typedef struct operands {
    float *a, *b, *c;
    float *dy, *saved, *z, *db, *dbias, *dc; // gradients alone: c is then the gradient of a
} operands;

typedef struct state {
    const blas_session *session;
    bench_gemm g;
    husk_act act;
    bool is_backward;
    const bench_data *data;
    const float *bias;
    bool use_gemv;
    int copies, next, last;
    operands *sets;
    bench_output blank; // what outputs hold before a run
    uint64_t build_ns;
    char variant[80];
} state;

static float activate(husk_act act, float x)
{
    switch (act) {
    case HUSK_ACT_RELU:
        return x < 0 ? 0 : x;
    case HUSK_ACT_LEAKY_RELU:
        return x < 0 ? BENCH_LEAKY_SLOPE * x : x;
    case HUSK_ACT_RELU6:
        return x < 0 ? 0 : x > 6 ? 6 : x;
    case HUSK_ACT_GELU:
        return 0.5f * x * (1 + erff(x * 0.70710678f));
    case HUSK_ACT_GELU_TANH:
        return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    case HUSK_ACT_SILU:
        return x / (1 + expf(-x));
    case HUSK_ACT_SIGMOID:
        return 1 / (1 + expf(-x));
    case HUSK_ACT_TANH:
        return tanhf(x);
    default:
        return x;
    }
}

// One row, with the bias in it. ReLU has a loop of its own, which compilers turn into vectors.
static void finish_row(husk_act act, int64_t n, float *c)
{
    if (act == HUSK_ACT_RELU) {
        for (int64_t j = 0; j < n; j++)
            c[j] = c[j] < 0 ? 0 : c[j];
    } else if (act != HUSK_ACT_NONE) {
        for (int64_t j = 0; j < n; j++)
            c[j] = activate(act, c[j]);
    }
}

static void epilogue(const state *s, float *c)
{
    const bench_gemm *g = &s->g;
    if (g->bias == BENCH_BIAS_NONE && s->act == HUSK_ACT_NONE)
        return;
    for (int64_t i = 0; i < g->m; i++) {
        float *row = c + i * g->ldc;
        if (g->bias == BENCH_BIAS_ROW) {
            for (int64_t j = 0; j < g->n; j++)
                row[j] += s->bias[j];
        } else if (g->bias == BENCH_BIAS_COLUMN) {
            for (int64_t j = 0; j < g->n; j++)
                row[j] += s->bias[i];
        }
        finish_row(s->act, g->n, row);
    }
}

static blasint at_least_one(int64_t size)
{
    return (blasint)(size > 1 ? size : 1);
}

static void call_sgemm(const state *s, const float *a, const float *b, float *c)
{
    const bench_gemm *g = &s->g;
    s->session->cblas_sgemm(CblasRowMajor, g->ta ? CblasTrans : CblasNoTrans, g->tb ? CblasTrans : CblasNoTrans,
                            (blasint)g->m, (blasint)g->n, (blasint)g->k, (float)g->alpha, a, at_least_one(g->lda), b,
                            at_least_one(g->ldb), (float)g->beta, c, at_least_one(g->ldc));
}

// n is 1: C's column is op(A) times B's; else m is 1: C's row is op(B)^T times A's.
static void call_sgemv(const state *s, const float *a, const float *b, float *c)
{
    const bench_gemm *g = &s->g;
    const bool column = g->n == 1;
    const bool transposed = column ? g->ta != 0 : g->tb == 0;
    const int64_t stored_rows = column ? (g->ta ? g->k : g->m) : (g->tb ? g->n : g->k);
    const int64_t stored_columns = column ? (g->ta ? g->m : g->k) : (g->tb ? g->k : g->n);
    const int64_t x_stride = column ? (g->tb ? 1 : g->ldb) : (g->ta ? g->lda : 1);
    const int64_t y_stride = column ? g->ldc : 1;
    if (g->beta == 0) { // some versions multiply NaN by 0
        for (int64_t i = 0; i < (column ? g->m : g->n); i++)
            c[i * y_stride] = 0;
    }
    s->session->cblas_sgemv(CblasRowMajor, transposed ? CblasTrans : CblasNoTrans, (blasint)stored_rows,
                            (blasint)stored_columns, (float)g->alpha, column ? a : b,
                            at_least_one(column ? g->lda : g->ldb), column ? b : a, at_least_one(x_stride),
                            (float)g->beta, c, at_least_one(y_stride));
}

// ---- gradients

// activation'(x), from y where that suffices and from x elsewhere: what the case has saved.
static float derivative(husk_act act, float v)
{
    switch (act) {
    case HUSK_ACT_RELU:
        return v > 0 ? 1 : 0;
    case HUSK_ACT_LEAKY_RELU:
        return v > 0 ? 1 : BENCH_LEAKY_SLOPE;
    case HUSK_ACT_RELU6:
        return v > 0 && v < 6 ? 1 : 0;
    case HUSK_ACT_GELU:
        return 0.5f * (1 + erff(v * 0.70710678f)) + v * 0.39894228f * expf(-0.5f * v * v);
    case HUSK_ACT_GELU_TANH: {
        const float t = tanhf(0.79788456f * (v + 0.044715f * v * v * v));
        return 0.5f * (1 + t) + 0.5f * v * (1 - t * t) * 0.79788456f * (1 + 0.134145f * v * v);
    }
    case HUSK_ACT_SILU: {
        const float sigmoid = 1 / (1 + expf(-v));
        return sigmoid * (1 + v * (1 - sigmoid));
    }
    case HUSK_ACT_SIGMOID:
        return v * (1 - v);
    case HUSK_ACT_TANH:
        return 1 - v * v;
    default:
        return 1;
    }
}

// z, dc and the bias' sums of one matrix. ReLU has a loop of its own, which compilers turn into vectors.
static void derive(const state *s, const float *dy, const float *saved, float *z, float *dbias, float *dc)
{
    const bench_gemm *g = &s->g;
    for (int64_t i = 0; i < g->m; i++) {
        const float *from = dy + i * g->ldc, *v = saved ? saved + i * g->ldc : NULL;
        float *to = z + i * g->ldc;
        if (s->act == HUSK_ACT_RELU) {
            for (int64_t j = 0; j < g->n; j++)
                to[j] = v[j] > 0 ? from[j] : 0;
        } else if (s->act != HUSK_ACT_NONE) {
            for (int64_t j = 0; j < g->n; j++)
                to[j] = from[j] * derivative(s->act, v[j]);
        }
        for (int64_t j = 0; g->bias == BENCH_BIAS_ROW && j < g->n; j++)
            dbias[j] += to[j];
        for (int64_t j = 0; g->bias == BENCH_BIAS_COLUMN && j < g->n; j++)
            dbias[i] += to[j];
        for (int64_t j = 0; dc && j < g->n; j++)
            dc[i * g->ldc + j] = (float)g->beta * to[j];
    }
}

// to [rows, columns] = alpha op(left) op(right), sums of `length`.
static void multiply(const state *s, bool trans_left, bool trans_right, int64_t rows, int64_t columns, int64_t length,
                     const float *left, int64_t ld_left, const float *right, int64_t ld_right, float *to, int64_t ld)
{
    s->session->cblas_sgemm(CblasRowMajor, trans_left ? CblasTrans : CblasNoTrans,
                            trans_right ? CblasTrans : CblasNoTrans, (blasint)rows, (blasint)columns, (blasint)length,
                            (float)s->g.alpha, left, at_least_one(ld_left), right, at_least_one(ld_right), 0, to,
                            at_least_one(ld));
}

static void run_gradients(const state *s, const operands *set)
{
    const bench_gemm *g = &s->g;
    const int64_t a_size = (g->ta ? g->k : g->m) * g->lda, b_size = (g->tb ? g->n : g->k) * g->ldb;
    const bool has_z = s->act != HUSK_ACT_NONE, has_pass = has_z || set->dbias || set->dc;
    if (set->dbias)
        memset(set->dbias, 0, sizeof(float) * (size_t)(g->bias == BENCH_BIAS_ROW ? g->n : g->m));
    for (int64_t i = 0; i < g->batch; i++) {
        const int64_t first = i * g->m * g->ldc;
        const float *a = set->a + i * a_size, *b = set->b + i * b_size;
        float *da = set->c + i * a_size, *db = set->db + i * b_size;
        float *z = (has_z ? set->z : set->dy) + first;
        if (has_pass)
            derive(s, set->dy + first, set->saved ? set->saved + first : NULL, z, set->dbias,
                   set->dc ? set->dc + first : NULL);
        if (g->ta) // da^T = op(B) z^T
            multiply(s, g->tb != 0, true, g->k, g->m, g->n, b, g->ldb, z, g->ldc, da, g->lda);
        else
            multiply(s, false, g->tb == 0, g->m, g->k, g->n, z, g->ldc, b, g->ldb, da, g->lda);
        if (g->tb) // db^T = z^T op(A)
            multiply(s, true, g->ta != 0, g->n, g->k, g->m, z, g->ldc, a, g->lda, db, g->ldb);
        else
            multiply(s, g->ta == 0, false, g->k, g->n, g->m, a, g->lda, z, g->ldc, db, g->ldb);
    }
}

static void run_set(const state *s, const operands *set)
{
    const bench_gemm *g = &s->g;
    if (s->is_backward) {
        run_gradients(s, set);
        return;
    }
    const int64_t a_size = (g->ta ? g->k : g->m) * g->lda, b_size = (g->tb ? g->n : g->k) * g->ldb;
    for (int64_t i = 0; i < g->batch; i++) {
        const float *a = set->a + i * a_size, *b = set->b + i * b_size;
        float *c = set->c + i * g->m * g->ldc;
        if (s->use_gemv)
            call_sgemv(s, a, b, c);
        else
            call_sgemm(s, a, b, c);
        epilogue(s, c);
    }
}

static uint64_t shortest_run(state *s, bool use_gemv)
{
    uint64_t shortest = UINT64_MAX, total = 0;
    s->use_gemv = use_gemv;
    for (int i = 0; i < 3 || (total < 5000000 && i < 1000); i++) {
        const uint64_t begin = bench_operand_now_ns();
        run_set(s, &s->sets[0]);
        const uint64_t took = bench_operand_now_ns() - begin;
        total += took;
        shortest = took < shortest ? took : shortest;
    }
    return shortest;
}

static void choose(state *s, const bench_prepare_options *options)
{
    const bool is_vector = !s->is_backward && (s->g.m == 1 || s->g.n == 1) && s->g.m && s->g.n && s->g.k;
    if (options->form)
        s->use_gemv = is_vector && strcmp(options->form, "sgemv") == 0;
    else if (options->as_before)
        s->use_gemv = is_vector && strncmp(options->as_before, "sgemv", 5) == 0;
    else if (is_vector)
        s->use_gemv = shortest_run(s, true) < shortest_run(s, false);
    else
        shortest_run(s, false); // its threads' memory
    const bool has_epilogue = s->g.bias != BENCH_BIAS_NONE || s->act != HUSK_ACT_NONE;
    snprintf(s->variant, sizeof s->variant, "%s%s%s%s", s->is_backward ? "two " : "", s->use_gemv ? "sgemv" : "sgemm",
             s->g.batch > 1 ? ", one by one" : "", has_epilogue ? ", bias and activation in plain C" : "");
}

static void release(void *opaque)
{
    state *s = opaque;
    if (!s)
        return;
    for (int i = 0; s->sets && i < s->copies; i++) {
        free(s->sets[i].a);
        free(s->sets[i].b);
        free(s->sets[i].c);
        free(s->sets[i].dy);
        free(s->sets[i].saved);
        free(s->sets[i].z);
        free(s->sets[i].db);
        free(s->sets[i].dbias);
        free(s->sets[i].dc);
    }
    free(s->sets);
    bench_output_free(&s->blank);
    free(s);
}

static bench_answer reset(void *opaque, char reason[BENCH_REASON_TEXT])
{
    state *s = opaque;
    (void)reason;
    for (int i = 0; i < s->copies; i++) {
        const operands *set = &s->sets[i];
        float *const gradients[] = {set->db, set->dbias, set->dc};
        bench_operand_copy(set->c, s->data->y.data, s->data->y.count);
        for (int k = 0; k < 3; k++)
            bench_operand_copy_array(gradients[k], s->blank.gradients[k].data, &s->blank.gradients[k]);
    }
    return BENCH_OK;
}

// blasint has 32 bits in most builds.
static bool fits(const bench_gemm *g)
{
    const int64_t sizes[] = {g->m, g->n, g->k, g->lda, g->ldb, g->ldc};
    bool all = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        all = all && sizes[i] <= INT32_MAX;
    return all;
}

static bool supports(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const char *lack = c->op != BENCH_GEMM    ? "BLAS has matrix multiplication alone"
                       : c->dtype != HUSK_F32 ? "only f32 is compared"
                       : !fits(&c->as.gemm)   ? "dimensions past 2^31"
                                              : NULL;
    if (lack)
        snprintf(reason, BENCH_REASON_TEXT, "%s", lack);
    return !lack;
}

// Memory for results: what is in it does not count.
static bool make_gradients(const state *s, operands *set)
{
    const bench_data *d = s->data;
    const int64_t bias = s->g.bias == BENCH_BIAS_ROW ? s->g.n : s->g.m;
    set->dy = bench_operand_clone(&d->dy);
    set->db = bench_operand_clone(&d->w);
    set->saved = bench_operand_clone(&d->saved[0]);
    set->z = s->act != HUSK_ACT_NONE ? bench_operand_clone(&d->dy) : NULL;
    set->dc = s->g.beta != 0 ? bench_operand_clone(&d->dy) : NULL;
    set->dbias = s->g.bias != BENCH_BIAS_NONE ? calloc((size_t)bias + 1, sizeof(float)) : NULL;
    return set->dy && set->db && bench_operand_cloned(&d->saved[0], set->saved) &&
           (set->z || s->act == HUSK_ACT_NONE) && (set->dc || s->g.beta == 0) &&
           (set->dbias || s->g.bias == BENCH_BIAS_NONE);
}

static bool make_sets(state *s)
{
    s->sets = calloc((size_t)s->copies, sizeof *s->sets);
    bool made = s->sets != NULL;
    for (int i = 0; i < s->copies && made; i++) {
        operands *set = &s->sets[i];
        *set = (operands){.a = bench_operand_clone(&s->data->x),
                          .b = bench_operand_clone(&s->data->w),
                          .c = bench_operand_clone(&s->data->y)};
        made = set->a && set->b && set->c && (!s->is_backward || make_gradients(s, set));
    }
    return made;
}

static bench_answer prepare(void *session, const bench_case *c, const bench_data *data,
                            const bench_prepare_options *options, void **out, char reason[BENCH_REASON_TEXT])
{
    const uint64_t begin = bench_operand_now_ns();
    if (!supports(c, reason))
        return BENCH_UNSUPPORTED;
    state *s = calloc(1, sizeof *s);
    if (s)
        *s = (state){.session = session,
                     .g = c->as.gemm,
                     .act = c->act,
                     .is_backward = c->dir != BENCH_FWD,
                     .data = data,
                     .bias = data->bias.data,
                     .copies = options->copies > 1 ? options->copies : 1};
    if (!s || !bench_output_make(c, data, &s->blank, reason) || !make_sets(s)) {
        release(s);
        snprintf(reason, BENCH_REASON_TEXT, "out of memory");
        return BENCH_ERROR;
    }
    choose(s, options);
    s->build_ns = bench_operand_now_ns() - begin;
    *out = s;
    return reset(s, reason);
}

static const char *form(void *session, const bench_case *c, size_t index)
{
    (void)session;
    (void)c;
    (void)index;
    return NULL;
}

static void details(void *opaque, bench_details *details)
{
    const state *s = opaque;
    *details = (bench_details){.variant = s->variant, .build_ns = s->build_ns};
}

static bench_answer run_batch(void *opaque, int64_t count, char reason[BENCH_REASON_TEXT])
{
    state *s = opaque;
    (void)reason;
    for (int64_t i = 0; i < count; i++) {
        s->last = s->next;
        s->next = s->next + 1 < s->copies ? s->next + 1 : 0;
        run_set(s, &s->sets[s->last]);
    }
    return BENCH_OK;
}

static bench_answer run(void *opaque, char reason[BENCH_REASON_TEXT])
{
    return run_batch(opaque, 1, reason);
}

static bench_answer read_back(void *opaque, bench_output *output, char reason[BENCH_REASON_TEXT])
{
    const state *s = opaque;
    (void)reason;
    const operands *set = &s->sets[s->last];
    const float *const gradients[] = {set->db, set->dbias, set->dc};
    bench_operand_copy(output->y.data, set->c, output->y.count);
    for (int i = 0; i < 3; i++) {
        if (gradients[i])
            bench_operand_copy(output->gradients[i].data, gradients[i], output->gradients[i].count);
    }
    return BENCH_OK;
}

const bench_runner bench_runner_blas = {
    .name = "blas",
    .description = "OpenBLAS, matrix multiplication on CPUs",
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
