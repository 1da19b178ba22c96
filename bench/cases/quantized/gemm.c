// SPDX-License-Identifier: MIT
// quantized_gemm m n k [c=f32|i32|i8 tb u8 bias act packed dtype dir]
#include <math.h>
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "common/text.h"
#include "ref/quantized/gemm.h"
#include "ref/random.h"

static const bench_choice c_choices[] = {{"f32", HUSK_F32}, {"i32", HUSK_I32}, {"i8", HUSK_I8}, {NULL, 0}};

static const bench_field fields[] = {
    BENCH_REQUIRED("m", as.quantized_gemm.m, 0, "rows of C"),
    BENCH_REQUIRED("n", as.quantized_gemm.n, 0, "columns of C"),
    BENCH_REQUIRED("k", as.quantized_gemm.k, 0, "length of the sums"),
    BENCH_CHOICE("c", as.quantized_gemm.c, HUSK_F32, c_choices, "C: scaled, the sums, or quantized again"),
    BENCH_CHOICE("tb", as.quantized_gemm.tb, 0, bench_flag_choices, "1: B is stored as [n, k]"),
    BENCH_CHOICE("u8", as.quantized_gemm.u8, 0, bench_flag_choices, "1: A is u8"),
    BENCH_CHOICE("bias", as.quantized_gemm.bias, 0, bench_flag_choices, "1: added to every row"),
    {.key = NULL},
};

static const husk_quantization a_quantization = BENCH_QUANTIZED_GEMM_A, c_quantization = BENCH_QUANTIZED_GEMM_C;

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
    if (c->as.quantized_gemm.c == HUSK_I32 && (c->as.quantized_gemm.bias || c->act != HUSK_ACT_NONE))
        return bench_explain(reason, BENCH_REASON_TEXT, "c=i32 are the sums as they are, without bias and act");
    return true;
}

static double macs(const bench_case *c)
{
    const bench_quantized_gemm *g = &c->as.quantized_gemm;
    return (double)g->m * (double)g->n * (double)g->k;
}

static double flops(const bench_case *c)
{
    return 2 * macs(c);
}

static double operands(const bench_case *c)
{
    const bench_quantized_gemm *g = &c->as.quantized_gemm;
    const double m = (double)g->m, n = (double)g->n, k = (double)g->k;
    return m * k + k * n + (double)husk_dtype_size((husk_dtype)g->c) * m * n + (g->c == HUSK_I32 ? 0 : 4 * n) +
           (g->bias ? 4 * n : 0);
}

// Where C is empty, nothing is read.
static double bytes(const bench_case *c)
{
    return c->as.quantized_gemm.m && c->as.quantized_gemm.n ? operands(c) : 0;
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_quantized_gemm *g = &c->as.quantized_gemm;
    const int64_t a[2] = {g->m, g->k}, b[2] = {g->k, g->n}, out[2] = {g->m, g->n}, turned[2] = {1, g->k};
    if (!bench_array_make(&data->x, g->u8 ? HUSK_U8 : HUSK_I8, 2, a, NULL) ||
        !bench_array_make(&data->w, HUSK_I8, 2, b, g->tb ? turned : NULL) ||
        !bench_array_make(&data->y, (husk_dtype)g->c, 2, out, NULL))
        return false;
    bench_array_fill_bytes(&data->x, seed);
    bench_array_fill_bytes(&data->w, seed + 1);
    if (g->c == HUSK_I32)
        return true;
    if (!bench_array_make(&data->saved[0], HUSK_F32, 1, &g->n, NULL) ||
        (g->bias && !bench_array_make(&data->bias, HUSK_F32, 1, &g->n, NULL)))
        return false;
    for (int64_t i = 0; i < g->n; i++)
        ((float *)data->saved[0].data)[i] = (0.5f + (float)(i % 13) / 13) / (100.0f * sqrtf((float)g->k + 1));
    if (g->bias)
        bench_array_fill(&data->bias, seed + 2, 1);
    return true;
}

static husk_quantized_gemm_params params_of(const bench_case *c, const char *variant)
{
    return HUSK_QUANTIZED_GEMM_PARAMS(.activation = c->act, .activation_slope = BENCH_LEAKY_SLOPE, .variant = variant);
}

static const husk_quantization *c_quantization_of(const bench_case *c)
{
    return c->as.quantized_gemm.c == HUSK_I8 ? &c_quantization : NULL;
}

static husk_status husk_prepare(bench_husk_job *job)
{
    const husk_quantized_gemm_params params = params_of(job->c, job->form);
    bench_husk_set *set = job->sets;
    husk_status status =
        husk_quantized_gemm_plan_create(job->context, &params, &set->x, &set->w, bench_optional(&set->saved[0]),
                                        bench_optional(&set->bias), &set->y, &job->plan, &job->error);
    if (status == HUSK_OK && job->c->packed)
        status = bench_job_packed(job, husk_quantized_gemm_plan_pack(job->plan, job->queue, &set->w, &job->packed));
    return status;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    const husk_tensor *scale = bench_optional(&set->saved[0]), *bias = bench_optional(&set->bias);
    const husk_quantization *c = c_quantization_of(job->c);
    if (job->c->packed)
        return husk_quantized_gemm_plan_run(job->plan, job->queue, &set->x, &a_quantization,
                                            job->packed ? &job->packed_w : &set->w, scale, bias, &set->y, c);
    const husk_quantized_gemm_params params = params_of(job->c, job->form);
    return husk_quantized_gemm(job->queue, &params, &set->x, &a_quantization, &set->w, scale, bias, &set->y, c);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    const husk_quantized_gemm_params params = params_of(c, NULL);
    const husk_ref_array a = bench_ref_array(&data->x), b = bench_ref_array(&data->w);
    const husk_ref_array scale = bench_ref_array(&data->saved[0]), bias = bench_ref_array(&data->bias);
    const husk_ref_array y = bench_ref_array(&output->y);
    const husk_ref_quantized_gemm op = {.params = &params,
                                        .a = &a,
                                        .b = &b,
                                        .b_scale = data->saved[0].data ? &scale : NULL,
                                        .bias = data->bias.data ? &bias : NULL,
                                        .c = &y,
                                        .a_quantization = &a_quantization,
                                        .c_quantization = c_quantization_of(c)};
    husk_ref_function function = husk_ref_quantized_gemm_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, "C", &report);
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int sizes[] = {1, 4, 11, 12, 13, 31, 32, 33, 65, 100};
    static const char *const outputs[] = {"f32", "i32", "i8"};
    if (index >= 40)
        return false;
    husk_ref_random draw = {.seed = 0x71676d6d + (uint64_t)index};
    const int m = sizes[husk_ref_random_below(&draw, 10)], n = sizes[husk_ref_random_below(&draw, 10)];
    const int k = 1 + (int)husk_ref_random_below(&draw, 200);
    snprintf(line, BENCH_CASE_TEXT, "quantized_gemm m=%d n=%d k=%d c=%s tb=%d u8=%d bias=%d packed=%d", m, n, k,
             outputs[index % 3], (int)(index / 3 % 2), (int)(index / 6 % 2), index % 3 != 1 ? (int)(index / 12 % 2) : 0,
             (int)(index / 5 % 2));
    return true;
}

const bench_op bench_op_quantized_gemm = {
    .name = "quantized_gemm",
    .fields = fields,
    .common = BENCH_COMMON_ACT | BENCH_COMMON_PACKED | BENCH_COMMON_DTYPE | BENCH_COMMON_DIR,
    .normalise = normalise,
    .flops = flops,
    .macs = macs,
    .bytes = bytes,
    .operands = operands,
    .peak_factor = 4,
    .make_data = make_data,
    .husk_prepare = husk_prepare,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
