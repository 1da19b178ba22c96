// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Recurrent layers: the reference against golden vectors from PyTorch (support/golden.h).
#include <stdlib.h>

#include "ref/rnn/rnn.h"
#include "support/golden.h"
#include "support/main.h"

enum { MAX_WEIGHTS = 8, PARTS = 4 }; // of a layer and direction: input, hidden, and the biases of both

struct golden_rnn {
    const char *name;
    husk_rnn_params params;
    golden_array x, lengths, h0, c0;
    golden_array weights[MAX_WEIGHTS * PARTS];
    golden_array y, h_n, c_n;
};

static golden_table golden_rnn =
    GOLDEN_TABLE("rnn", "rnn", struct golden_rnn, GOLDEN_RNN, name, x, lengths, h0, c0, weights, y, h_n, c_n);

typedef struct rnn_case {
    husk_ref_array x, lengths, h0, c0, weights[MAX_WEIGHTS][PARTS], y, h_n, c_n;
    husk_ref_rnn_weights list[MAX_WEIGHTS];
    husk_ref_rnn op;
} rnn_case;

static void make_rnn(const struct golden_rnn *golden, rnn_case *c)
{
    int64_t layers = golden->params.layers != 0 ? golden->params.layers : 1;
    int64_t count = layers * (golden->params.bidirectional ? 2 : 1);
    *c = (rnn_case){.x = golden_make(&golden->x, HUSK_F32)};
    c->lengths = golden_make_optional(&golden->lengths, HUSK_I32);
    c->h0 = golden_make_optional(&golden->h0, HUSK_F32);
    c->c0 = golden_make_optional(&golden->c0, HUSK_F32);
    for (int64_t i = 0; i < count; i++) {
        const golden_array *from = &golden->weights[i * PARTS];
        for (int j = 0; j < PARTS; j++)
            c->weights[i][j] = golden_make_optional(&from[j], HUSK_F32);
        c->list[i] =
            (husk_ref_rnn_weights){&c->weights[i][0], &c->weights[i][1], golden_optional(&from[2], &c->weights[i][2]),
                                   golden_optional(&from[3], &c->weights[i][3])};
    }
    c->y = golden_make_output(&golden->y);
    c->h_n = golden_make_output(&golden->h_n);
    c->c_n = golden->c_n.values != NULL ? golden_make_output(&golden->c_n) : (husk_ref_array){0};
    c->op = (husk_ref_rnn){.params = &golden->params, .x = &c->x, .weights = c->list};
    c->op.lengths = golden_optional(&golden->lengths, &c->lengths);
    c->op.h0 = golden_optional(&golden->h0, &c->h0);
    c->op.c0 = golden_optional(&golden->c0, &c->c0);
}

static void free_rnn(rnn_case *c)
{
    for (int i = 0; i < MAX_WEIGHTS; i++)
        for (int j = 0; j < PARTS; j++)
            free(c->weights[i][j].data);
    husk_ref_array *arrays[] = {&c->x, &c->lengths, &c->h0, &c->c0, &c->y, &c->h_n, &c->c_n};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}

// In the same memory, which has room for it.
static void store_f32(husk_ref_array *array, const golden_array *golden)
{
    array->dtype = HUSK_F32;
    for (int64_t i = 0; i < husk_ref_array_count(array); i++)
        husk_ref_store(array, i, golden->values[i]);
}

START_TEST(test_rnn)
{
    const struct golden_rnn *golden = golden_case(&golden_rnn, _i / 2);
    golden_lay_out(_i % 2 != 0);
    rnn_case c;
    make_rnn(golden, &c);
    const husk_ref_array *c_n = golden_optional(&golden->c_n, &c.c_n);
    ck_assert(husk_ref_rnn_run(&c.op, &c.y, &c.h_n, c_n));
    golden_expect_equal(golden->name, "y", &golden->y, &c.y);
    golden_expect_equal(golden->name, "h_n", &golden->h_n, &c.h_n);
    if (c_n != NULL)
        golden_expect_equal(golden->name, "c_n", &golden->c_n, c_n);

    // Step by step from what the golden y says, and rounded to f32 as a device would give it.
    store_f32(&c.y, &golden->y);
    store_f32(&c.h_n, &golden->h_n);
    if (c_n != NULL)
        store_f32(&c.c_n, &golden->c_n);
    husk_ref_report y_report = {0}, state_report = {0};
    char text[512];
    ck_assert(husk_ref_rnn_check(&c.op, &c.y, &c.h_n, c_n, 1, &y_report, &state_report));
    husk_ref_report_text(&y_report, text, sizeof(text));
    ck_assert_msg(husk_ref_report_pass(&y_report), "%s: %s", golden->name, text);
    husk_ref_report_text(&state_report, text, sizeof(text));
    ck_assert_msg(husk_ref_report_pass(&state_report), "%s: states: %s", golden->name, text);
    ck_assert_int_eq(y_report.checked, husk_ref_array_count(&c.y));

    // One wrong value is seen, be it ever so late.
    int64_t index[3] = {golden->y.shape[0] / 2, 0, golden->y.shape[2] - 1};
    int64_t offset = husk_ref_offset(&c.y, index);
    husk_ref_store(&c.y, offset, husk_ref_load(&c.y, offset) + 1e-3);
    ck_assert(husk_ref_rnn_check(&c.op, &c.y, &c.h_n, c_n, 1, &y_report, &state_report));
    ck_assert_msg(!husk_ref_report_pass(&y_report), "%s: a wrong y is not seen", golden->name);
    free_rnn(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_rnn");
    TCase *cases = tcase_create("golden_rnn");
    tcase_add_loop_test(cases, test_rnn, 0, 2 * golden_load(&golden_rnn));
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
