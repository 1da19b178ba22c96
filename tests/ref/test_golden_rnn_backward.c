// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Gradients of recurrent layers: the reference against golden vectors from PyTorch (support/golden.h).
#include <stdio.h>
#include <stdlib.h>

#include "ref/rnn/rnn.h"
#include "support/golden.h"
#include "support/gradient.h"
#include "support/main.h"

enum { MAX_WEIGHTS = 8, PARTS = 4 }; // of a layer and direction: input, hidden, and the biases of both

struct golden_rnn_backward {
    const char *name;
    husk_rnn_params params;
    golden_array x, lengths, h0, c0;
    golden_array weights[MAX_WEIGHTS * PARTS], d_weights[MAX_WEIGHTS * PARTS];
    golden_array dy, dh_n, dc_n, dx, dh0, dc0;
};

static golden_table golden_rnn_backward =
    GOLDEN_TABLE("rnn", "rnn_backward", struct golden_rnn_backward, GOLDEN_RNN, name, x, lengths, h0, c0, weights,
                 d_weights, dy, dh_n, dc_n, dx, dh0, dc0);

typedef struct rnn_case {
    husk_ref_array x, lengths, h0, c0, weights[MAX_WEIGHTS][PARTS], y, reserve, dy, dh_n, dc_n;
    husk_ref_rnn_weights list[MAX_WEIGHTS];
    husk_ref_rnn op;
    int64_t count;
} rnn_case;

static void make_case(const struct golden_rnn_backward *golden, rnn_case *c)
{
    const int64_t layers = golden->params.layers != 0 ? golden->params.layers : 1;
    const int64_t directions = golden->params.bidirectional ? 2 : 1;
    *c = (rnn_case){.x = golden_make(&golden->x, HUSK_F32), .count = layers * directions};
    c->lengths = golden_make_optional(&golden->lengths, HUSK_I32);
    c->h0 = golden_make_optional(&golden->h0, HUSK_F32);
    c->c0 = golden_make_optional(&golden->c0, HUSK_F32);
    c->dy = golden_make_optional(&golden->dy, HUSK_F32);
    c->dh_n = golden_make_optional(&golden->dh_n, HUSK_F32);
    c->dc_n = golden_make_optional(&golden->dc_n, HUSK_F32);
    for (int64_t i = 0; i < c->count; i++) {
        const golden_array *from = &golden->weights[i * PARTS];
        for (int j = 0; j < PARTS; j++)
            c->weights[i][j] = golden_make_optional(&from[j], HUSK_F32);
        c->list[i] =
            (husk_ref_rnn_weights){&c->weights[i][0], &c->weights[i][1], golden_optional(&from[2], &c->weights[i][2]),
                                   golden_optional(&from[3], &c->weights[i][3])};
    }
    const int64_t y[3] = {golden->x.shape[0], golden->x.shape[1], directions * golden->params.hidden_size};
    c->y = test_array(3, y, 0, 0.0);
    c->op = (husk_ref_rnn){.params = &golden->params, .x = &c->x, .weights = c->list, .reserve = &c->reserve};
    const int64_t room = husk_ref_rnn_reserve_gates(&c->op, layers, 0);
    c->reserve = test_array(1, &room, 0, 0.0);
    c->op.lengths = golden_optional(&golden->lengths, &c->lengths);
    c->op.h0 = golden_optional(&golden->h0, &c->h0);
    c->op.c0 = golden_optional(&golden->c0, &c->c0);
}

static void free_case(rnn_case *c)
{
    for (int i = 0; i < MAX_WEIGHTS; i++)
        for (int j = 0; j < PARTS; j++)
            free(c->weights[i][j].data);
    husk_ref_array *arrays[] = {&c->x, &c->lengths, &c->h0, &c->c0, &c->dy, &c->dh_n, &c->dc_n};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
    test_array_release(&c->y);
    test_array_release(&c->reserve);
}

static void expect(const char *name, const char *what, const golden_array *golden, const husk_ref_rnn_gradient *made)
{
    if (golden->values == NULL)
        return;
    const husk_ref_array array = husk_ref_array_make(made->values, HUSK_F64, made->rank, made->shape);
    golden_expect_equal(name, what, golden, &array);
}

START_TEST(test_rnn_backward)
{
    const struct golden_rnn_backward *golden = golden_case(&golden_rnn_backward, _i / 2);
    golden_lay_out(_i % 2 != 0);
    rnn_case c;
    make_case(golden, &c);
    ck_assert(husk_ref_rnn_run(&c.op, &c.y, NULL, NULL));
    const husk_ref_rnn_backward op = {.forward = &c.op,
                                      .y = &c.y,
                                      .reserve = &c.reserve,
                                      .dy = golden_optional(&golden->dy, &c.dy),
                                      .dh_n = golden_optional(&golden->dh_n, &c.dh_n),
                                      .dc_n = golden_optional(&golden->dc_n, &c.dc_n)};
    husk_ref_rnn_gradients made;
    ck_assert(husk_ref_rnn_backward_run(&op, &made));
    expect(golden->name, "dx", &golden->dx, &made.x);
    expect(golden->name, "dh0", &golden->dh0, &made.h0);
    expect(golden->name, "dc0", &golden->dc0, &made.c0);
    for (int64_t i = 0; i < c.count; i++)
        for (int part = 0; part < PARTS; part++) {
            const golden_array *wanted = &golden->d_weights[i * PARTS + part];
            char what[48];
            snprintf(what, sizeof(what), "weight %d, part %d", (int)i, part);
            ck_assert((wanted->values != NULL) == (c.weights[i][part].data != NULL));
            expect(golden->name, what, wanted, &made.weights[i][part]);
        }
    husk_ref_rnn_gradients_release(&made);
    free_case(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_rnn_backward");
    TCase *cases = tcase_create("golden_rnn_backward");
    tcase_add_loop_test(cases, test_rnn_backward, 0, 2 * golden_load(&golden_rnn_backward));
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
