// SPDX-License-Identifier: MIT
// ctest: timeout=120
// What is linear and too large to be compared element by element: a small wrong patch is seen wherever it is.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cases/array.h"
#include "cases/data.h"
#include "cases/ops.h"
#include "cases/parse.h"
#include "cases/verdict.h"
#include "ref/conv/conv.h"
#include "ref/gemm/gemm.h"
#include "ref/lookup/embedding.h"
#include "ref/random.h"

static bench_case the_case;
static bench_data data;
static bench_output output;

static void make(const char *line)
{
    char reason[BENCH_REASON_TEXT] = "";
    ck_assert_msg(bench_case_parse(line, &the_case, reason), "%s: %s", line, reason);
    ck_assert_msg(bench_data_make(&the_case, &data, reason), "%s: %s", line, reason);
    ck_assert_msg(bench_output_make(&the_case, &data, &output, reason), "%s: %s", line, reason);
}

static bench_verdict verify(void)
{
    const bench_verify_options options = {.seed = 1};
    bench_verdict verdict;
    bench_verdict_begin(&verdict);
    bench_op_get(the_case.op)->verify(&the_case, &data, &output, &options, &verdict);
    return verdict;
}

static void judge(const char *line, const char *name, bench_array *array, int64_t rows, int64_t columns)
{
    husk_ref_random draw = {.seed = 99};
    const husk_ref_array view = bench_ref_array(array);
    const int64_t all_columns = array->shape[array->rank - 1], all_rows = array->count / all_columns;
    double was[256];
    bench_verdict verdict = verify();
    ck_assert_msg(verdict.pass, "%s: %s", line, verdict.text);
    ck_assert_int_lt(verdict.checked, array->count);
    for (int round = 0; round < 6; round++) {
        const int64_t row = husk_ref_random_below(&draw, all_rows - rows + 1);
        const int64_t column = husk_ref_random_below(&draw, all_columns - columns + 1);
        for (int i = 0; i < rows * columns; i++) {
            const int64_t at = (row + i / columns) * all_columns + column + i % columns;
            was[i] = husk_ref_load(&view, at);
            husk_ref_store(&view, at, 0.0);
        }
        verdict = verify();
        ck_assert_msg(!verdict.pass, "%s: %s without a patch at %d, %d is right", line, name, (int)row, (int)column);
        for (int i = 0; i < rows * columns; i++)
            husk_ref_store(&view, (row + i / columns) * all_columns + column + i % columns, was[i]);
    }
}

static void release(void)
{
    bench_output_free(&output);
    bench_data_free(&the_case, &data);
}

START_TEST(gemm_gradients)
{
    static const char *const lines[] = {
        "gemm m=280 n=300 k=310 dir=bwd",
        "gemm m=280 n=300 k=310 act=gelu alpha=0.5 dtype=bf16 dir=bwd",
    };
    make(lines[_i]);
    const husk_gemm_params params = {.activation = the_case.act};
    const husk_ref_array a = bench_ref_array(&data.x), b = bench_ref_array(&data.w), dy = bench_ref_array(&data.dy);
    const husk_ref_array x = bench_ref_array(&data.saved[0]), da = bench_ref_array(&output.y);
    const husk_ref_array db = bench_ref_array(&output.gradients[0]);
    husk_ref_gemm_backward op = {
        .params = &params, .alpha = (float)the_case.as.gemm.alpha, .a = &a, .b = &b, .x = &x, .dy = &dy, .before = &da};
    husk_ref_gemm_backward_run(&op, &da);
    op.wanted = HUSK_REF_GEMM_DB;
    op.before = &db;
    husk_ref_gemm_backward_run(&op, &db);
    judge(lines[_i], "da", &output.y, 4, 4);
    judge(lines[_i], "db", &output.gradients[0], 4, 4);
    release();
}
END_TEST

START_TEST(conv_gradients)
{
    static const char *const lines[] = {
        "conv n=4 c=64 h=8 w=8 k=160 r=3 s=3 pad=1 dir=bwd_data",
        "conv n=4 c=64 h=8 w=8 k=160 r=3 s=3 pad=1 dtype=f16 dir=bwd_data",
        "conv n=4 c=64 h=8 w=8 k=160 r=3 s=3 pad=1 dir=bwd_weight",
        "conv n=4 c=64 h=8 w=8 k=160 r=3 s=3 pad=1 dtype=f16 dir=bwd_weight",
    };
    make(lines[_i]);
    const husk_conv_params params = {.pad = {1, 1}};
    const husk_ref_array x = bench_ref_array(&data.x), w = bench_ref_array(&data.w), dy = bench_ref_array(&data.dy);
    const husk_ref_array out = bench_ref_array(&output.y);
    if (the_case.dir == BENCH_BWD_DATA) {
        husk_ref_conv_backward_data op = {.params = &params, .w = &w, .dy = &dy};
        memcpy(op.shape, out.shape, sizeof op.shape);
        husk_ref_conv_backward_data_run(&op, &out);
        judge(lines[_i], "dx", &output.y, 2, 8);
    } else {
        husk_ref_conv_backward_weights op = {.params = &params, .x = &x, .dy = &dy};
        memcpy(op.shape, out.shape, sizeof op.shape);
        husk_ref_conv_backward_weights_run(&op, &out);
        judge(lines[_i], "dw", &output.y, 3, 3);
    }
    release();
}
END_TEST

START_TEST(embedding_gradient)
{
    static const char line[] = "embedding lookups=900 rows=300 columns=400 dir=bwd";
    make(line);
    const husk_ref_array indices = bench_ref_array(&data.saved[0]), dy = bench_ref_array(&data.dy);
    const husk_ref_array dtable = bench_ref_array(&output.y);
    const husk_ref_embedding_backward op = {.indices = &indices, .dy = &dy, .rows = 300};
    husk_ref_embedding_backward_run(&op, &dtable);
    judge(line, "dtable", &output.y, 4, 4);
    release();
}
END_TEST

START_TEST(narrow_rows)
{
    static const char *const lines[] = {"gemm m=32 n=4096 k=160 dtype=bf16", "gemm m=32 n=4096 k=160 dtype=f16"};
    make(lines[_i]);
    const husk_ref_array a = bench_ref_array(&data.x), b = bench_ref_array(&data.w), c = bench_ref_array(&output.y);
    const husk_ref_gemm op = {.alpha = 1.0f, .a = &a, .b = &b, .c = &c};
    husk_ref_gemm_run(&op, &c);
    judge(lines[_i], "C", &output.y, 1, 4);
    release();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verify_linear");
    TCase *tests = tcase_create("verify");
    tcase_set_timeout(tests, 0);
    tcase_add_loop_test(tests, gemm_gradients, 0, 2);
    tcase_add_loop_test(tests, conv_gradients, 0, 4);
    tcase_add_test(tests, embedding_gradient);
    tcase_add_loop_test(tests, narrow_rows, 0, 2);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
