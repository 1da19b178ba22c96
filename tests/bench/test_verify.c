// SPDX-License-Identifier: MIT
// ctest: timeout=120
// What is compared of cases that are too large for the reference to compute whole.
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/array.h"
#include "cases/data.h"
#include "cases/ops.h"
#include "cases/parse.h"
#include "ref/rnn/rnn.h"

// ---- rnn dir=bwd: sequences that repeat others ----

enum { PARTS = 4 };

typedef struct recurrent {
    bench_case c;
    bench_data data;
    bench_output output;
    husk_rnn_params params;
    husk_ref_array x, h0, c0, lengths, y, reserve, dy, dh_n, dc_n;
    husk_ref_array arrays[HUSK_REF_RNN_MAX_WEIGHTS * PARTS];
    husk_ref_rnn_weights weights[HUSK_REF_RNN_MAX_WEIGHTS];
    husk_ref_rnn forward;
} recurrent;

static const husk_ref_array *given(husk_ref_array *to, const bench_array *from)
{
    *to = bench_ref_array(from);
    return to->data ? to : NULL;
}

static void make_recurrent(recurrent *r, const char *line)
{
    char reason[BENCH_REASON_TEXT] = "";
    memset(r, 0, sizeof *r);
    ck_assert_msg(bench_case_parse(line, &r->c, reason) && bench_data_make(&r->c, &r->data, reason) &&
                      bench_output_make(&r->c, &r->data, &r->output, reason),
                  "%s: %s", line, reason);
    const bench_rnn *of = &r->c.as.rnn;
    r->params = HUSK_RNN_PARAMS(.cell = (husk_rnn_cell)of->cell, .hidden_size = of->hidden, .layers = of->layers,
                                .bidirectional = (uint32_t)of->bidir, .reset = (husk_gru_reset)of->reset);
    for (int64_t i = 0; i < r->data.layer_count; i++) {
        const bench_rnn_weights *from = &r->data.layers[i];
        husk_ref_array *a = &r->arrays[PARTS * i];
        r->weights[i] = (husk_ref_rnn_weights){given(&a[0], &from->input), given(&a[1], &from->hidden),
                                               given(&a[2], &from->input_bias), given(&a[3], &from->hidden_bias)};
    }
    r->forward = (husk_ref_rnn){.params = &r->params,
                                .x = given(&r->x, &r->data.x),
                                .lengths = given(&r->lengths, &r->data.lengths),
                                .h0 = given(&r->h0, &r->data.h0),
                                .c0 = given(&r->c0, &r->data.c0),
                                .weights = r->weights};
}

static void release_recurrent(recurrent *r)
{
    bench_output_free(&r->output);
    bench_data_free(&r->c, &r->data);
}

// Rows of [outer][b][...] that are a sequence's become zeros.
static void clear_sequence(bench_array *array, int64_t sequence)
{
    const int64_t b = array->shape[1], width = array->shape[2];
    for (int64_t o = 0; o < array->shape[0]; o++)
        memset((float *)array->data + (o * b + sequence) * width, 0, (size_t)width * sizeof(float));
}

static void store(bench_array *to, int64_t *at, const husk_ref_rnn_gradient *from)
{
    int64_t count = from->values ? 1 : 0;
    for (int32_t d = 0; d < from->rank; d++)
        count *= from->shape[d];
    for (int64_t i = 0; to->data && i < count; i++)
        ((float *)to->data)[(*at)++] = (float)from->values[i];
}

// What a right device gives: every sequence's gradients, each computed by itself.
static void compute(recurrent *r)
{
    const husk_ref_rnn_backward op = {.forward = &r->forward,
                                      .y = given(&r->y, &r->data.saved[0]),
                                      .reserve = given(&r->reserve, &r->data.saved[1]),
                                      .dy = given(&r->dy, &r->data.dy),
                                      .dh_n = given(&r->dh_n, &r->data.saved[2]),
                                      .dc_n = given(&r->dc_n, &r->data.saved[3])};
    husk_ref_rnn_gradients made;
    ck_assert(husk_ref_rnn_backward_run(&op, &made));
    int64_t x = 0, matrices = 0, biases = 0, h0 = 0, c0 = 0;
    store(&r->output.y, &x, &made.x);
    store(&r->output.gradients[2], &h0, &made.h0);
    store(&r->output.gradients[3], &c0, &made.c0);
    for (int64_t i = 0; i < r->data.layer_count; i++)
        for (int part = 0; part < PARTS; part++)
            store(&r->output.gradients[part / 2], part < 2 ? &matrices : &biases, &made.weights[i][part]);
    ck_assert_int_eq(matrices, r->output.gradients[0].count);
    ck_assert_int_eq(biases, r->output.gradients[1].count);
    husk_ref_rnn_gradients_release(&made);
}

static bench_verdict verify(const bench_case *c, const bench_data *data, const bench_output *output)
{
    bench_verdict verdict;
    bench_verdict_begin(&verdict);
    bench_op_get(c->op)->verify(c, data, output, &(bench_verify_options){.seed = 1}, &verdict);
    return verdict;
}

// Adds a tenth to one number, which has to be noticed.
static void expect_noticed(const recurrent *r, const bench_array *array, int64_t at, const char *name)
{
    float *const number = (float *)array->data + at, right = *number;
    *number = right + 0.1f;
    const bench_verdict verdict = verify(&r->c, &r->data, &r->output);
    ck_assert_msg(!verdict.pass && strstr(verdict.text, name), "%s: %s", name, verdict.text);
    *number = right;
}

START_TEST(every_gradient_of_large_batches_is_compared)
{
    const char *line = "rnn cell=gru t=40 b=130 input=32 hidden=64 layers=2 bidir=1 lengths=1 state=1 dir=bwd";
    recurrent r;
    make_recurrent(&r, line);
    compute(&r);
    const bench_array *const gradients = r.output.gradients;
    bench_verdict verdict = verify(&r.c, &r.data, &r.output);
    ck_assert_msg(verdict.pass && !verdict.inconclusive, "%s", verdict.text);
    ck_assert_int_eq(verdict.checked, r.output.y.count + gradients[0].count + gradients[1].count + gradients[2].count);
    for (int64_t third = 0; third < 3; third++) {
        const int64_t last = gradients[1].count - 1;
        expect_noticed(&r, &gradients[0], third * (gradients[0].count - 1) / 2, "weights' gradient");
        expect_noticed(&r, &gradients[1], third * last / 2, "bias' gradient");
    }
    expect_noticed(&r, &r.output.y, 33 * 32 + 5, "dx");
    expect_noticed(&r, &gradients[2], (130 + 33) * 64 + 5, "dh0");
    // A kernel that leaves one sequence out, where it adds up.
    recurrent less;
    make_recurrent(&less, line);
    clear_sequence(&less.data.dy, 33);
    clear_sequence(&less.data.saved[2], 33);
    compute(&less);
    for (int i = 0; i < 2; i++)
        memcpy(gradients[i].data, less.output.gradients[i].data, (size_t)bench_array_bytes(&gradients[i]));
    verdict = verify(&r.c, &r.data, &r.output);
    ck_assert_msg(!verdict.pass && strstr(verdict.text, "gradient"), "%s", verdict.text);
    release_recurrent(&less);
    release_recurrent(&r);
}
END_TEST

// Sequences of many lengths, half of the longest on average, repeated or not; one alone is the longest.
START_TEST(repeated_sequences_have_lengths)
{
    static const char *const lines[] = {
        "rnn cell=lstm t=100 b=64 input=8 hidden=8 lengths=1 dir=bwd",
        "rnn cell=lstm t=100 b=64 input=512 hidden=512 lengths=1 dir=bwd",
    };
    for (size_t i = 0; i < 2; i++) {
        char reason[BENCH_REASON_TEXT] = "";
        bench_case c;
        bench_data data;
        ck_assert_msg(bench_case_parse(lines[i], &c, reason) && bench_data_make(&c, &data, reason), "%s", reason);
        const int32_t *lengths = data.lengths.data;
        double total = 0;
        int longest = 0, others = 0;
        for (int b = 0; b < 64; b++) {
            total += lengths[b];
            longest += lengths[b] == 100;
            others += b > 1 && lengths[b] != lengths[b - 1];
        }
        ck_assert_msg(fabs(total / 64 - 50) < 10 && longest == 1 && others > 20, "%g %d %d", total, longest, others);
        bench_data_free(&c, &data);
    }
}
END_TEST

// ---- what is not a number by rights ----

START_TEST(a_nan_in_the_list_hides_no_other)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_case c;
    bench_data data;
    bench_output output;
    ck_assert_msg(bench_case_parse("grad_scale count=8388608 clips=1", &c, reason) &&
                      bench_data_make(&c, &data, reason) && bench_output_make(&c, &data, &output, reason),
                  "%s", reason);
    float *y = output.y.data;
    for (int64_t i = 0; i < output.y.count; i++)
        y[i] = fmaxf(fminf(((float *)data.x.data)[i], 1), -1);
    y[output.y.count - 1] = NAN;
    *(float *)output.gradients[0].data = 1;
    bench_verdict verdict = verify(&c, &data, &output);
    ck_assert_msg(verdict.pass && verdict.checked < 10000, "%s", verdict.text);
    y[1234567] = NAN;
    verdict = verify(&c, &data, &output);
    ck_assert_msg(!verdict.pass, "%s", verdict.text);
    bench_output_free(&output);
    bench_data_free(&c, &data);
}
END_TEST

// ---- integers ----

// 2^22 outputs and more are sampled; an index that was never written is poison.
START_TEST(indices_that_are_not_written_are_found)
{
    const char *line = "pool kind=max c=1 h=2500 w=2500 r=1 s=1 indices=1";
    char reason[BENCH_REASON_TEXT] = "";
    bench_case c;
    bench_data data;
    bench_output output;
    ck_assert_msg(bench_case_parse(line, &c, reason) && bench_data_make(&c, &data, reason) &&
                      bench_output_make(&c, &data, &output, reason),
                  "%s", reason);
    memcpy(output.y.data, data.x.data, (size_t)bench_array_bytes(&output.y));
    for (int64_t i = 0; i < output.indices.count; i++)
        ((int32_t *)output.indices.data)[i] = (int32_t)i;
    bench_verdict verdict = verify(&c, &data, &output);
    ck_assert_msg(verdict.pass && !verdict.unscanned && verdict.checked < 10000, "%s", verdict.text);
    ((int32_t *)output.indices.data)[1234567] = -2;
    verdict = verify(&c, &data, &output);
    ck_assert_msg(!verdict.pass, "%s", verdict.text);
    ck_assert_str_eq(verdict.text, "indices: 1 of 6250000 not written");
    bench_output_free(&output);
    bench_data_free(&c, &data);
}
END_TEST

// Strided rows: what lies between them is poison after every run.
START_TEST(gaps_need_not_be_written)
{
    const int64_t shape[2] = {3, 4}, strides[2] = {6, 1};
    bench_array poison, first, second;
    bench_verdict verdict;
    ck_assert(bench_array_make(&poison, HUSK_I8, 2, shape, strides) && bench_array_clone(&first, &poison));
    bench_poison_flip(&poison);
    ck_assert(bench_array_clone(&second, &poison));
    for (int64_t i = 0; i < poison.count; i++) {
        ck_assert_int_ne(((int8_t *)first.data)[i], ((int8_t *)second.data)[i]);
        if (i % 6 < 4)
            ((int8_t *)first.data)[i] = ((int8_t *)second.data)[i] = i < 9 ? -2 : 0x55; // poison, computed
    }
    bench_verdict_begin(&verdict);
    bench_verdict_unwritten(&verdict, &poison, &first, &second);
    ck_assert_msg(verdict.pass, "%s", verdict.text);
    ((int8_t *)first.data)[6 + 3] = -2;
    bench_verdict_unwritten(&verdict, &poison, &first, &second);
    ck_assert(!verdict.pass);
    ck_assert_str_eq(verdict.text, "1 of 12 outputs not written, first [1, 3]");
    bench_array_free(&poison);
    bench_array_free(&first);
    bench_array_free(&second);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("verify");
    tcase_set_timeout(tests, 0);
    tcase_add_test(tests, every_gradient_of_large_batches_is_compared);
    tcase_add_test(tests, repeated_sequences_have_lengths);
    tcase_add_test(tests, a_nan_in_the_list_hides_no_other);
    tcase_add_test(tests, indices_that_are_not_written_are_found);
    tcase_add_test(tests, gaps_need_not_be_written);
    Suite *suite = suite_create("clbench verify");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
