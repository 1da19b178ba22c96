// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind timeout=60 with=whole_gradient
// Learning rates against PyTorch's schedulers, and how a graph takes them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/golden_params.h"
#include "support/golden_table.h"
#include "support/support.h"
#include "train/whole_gradient.h"

struct golden_rate {
    husk_rate_params params;
    golden_array milestones, rates;
};

static golden_table golden_rate = GOLDEN_TABLE("rate", "rate", struct golden_rate, GOLDEN_RATE, milestones, rates);

struct golden_plateau {
    husk_plateau_params params;
    golden_array values, rates;
};

static golden_table golden_plateau =
    GOLDEN_TABLE("rate", "plateau", struct golden_plateau, GOLDEN_PLATEAU, values, rates);

static husk_error error;

// Doubles by other orders of operations: a few roundings. PyTorch goes from rate to rate, hence up to 30 of them.
static void same(double is, double wanted, const char *what, uint64_t step)
{
    ck_assert_msg(fabs(is - wanted) <= 1e-14, "%s at %llu: %.17g, not %.17g", what, (unsigned long long)step, is,
                  wanted);
}

START_TEST(schedules_are_pytorchs)
{
    bool seen[HUSK_RATE_ONE_CYCLE + 1] = {[HUSK_RATE_CONSTANT] = true};
    const int count = golden_load(&golden_rate);
    for (int i = 0; i < count; i++) {
        const struct golden_rate *golden = golden_case(&golden_rate, i);
        husk_rate_params params = golden->params;
        uint64_t milestones[8];
        ck_assert_int_le(golden->milestones.shape[0], 8);
        for (int64_t m = 0; m < golden->milestones.shape[0]; m++)
            milestones[m] = (uint64_t)golden->milestones.values[m];
        params.size = sizeof params;
        params.milestones = golden->milestones.values ? milestones : NULL;
        params.milestone_count = (size_t)golden->milestones.shape[0];
        ck_assert_int_gt(golden->rates.shape[0], 0);
        seen[params.kind] = true;
        for (uint64_t step = 0; step < (uint64_t)golden->rates.shape[0]; step++) {
            double rate = NAN;
            test_ok_error(husk_rate_at(&params, step, &rate, &error), &error);
            same(rate, golden->rates.values[step], husk_rate_kind_name(params.kind), step);
        }
    }
    for (int kind = 0; kind <= HUSK_RATE_ONE_CYCLE; kind++)
        ck_assert_msg(seen[kind], "%s has no numbers of PyTorch's", husk_rate_kind_name((husk_rate_kind)kind));
}
END_TEST

typedef struct known_rate {
    husk_rate_params params;
    uint64_t step;
    double rate;
} known_rate;

#define RATE(...) HUSK_MAKE(husk_rate_params, .rate = 0.5, __VA_ARGS__)

// By hand: the ends, what follows them, defaults, steps that are large.
START_TEST(ends_and_defaults_are_as_documented)
{
    const uint64_t far = UINT64_MAX, early[] = {0, 1};
    const known_rate known[] = {
        {RATE(.kind = HUSK_RATE_CONSTANT), 7, 0.5},
        {RATE(.kind = HUSK_RATE_STEP, .steps = 10, .factor = 0.1), 25, 0.005},
        {RATE(.kind = HUSK_RATE_STEP, .steps = 1, .factor = 0.1), far, 0},
        {RATE(.kind = HUSK_RATE_MULTI_STEP, .milestones = early, .milestone_count = 2, .factor = 0.1), 0, 0.05},
        {RATE(.kind = HUSK_RATE_EXPONENTIAL, .factor = 0.95, .steps = 1), 2, 0.5 * 0.95 * 0.95},
        {RATE(.kind = HUSK_RATE_EXPONENTIAL, .factor = 0.25, .steps = 10), 5, 0.25},
        {RATE(.kind = HUSK_RATE_POLYNOMIAL, .steps = 8, .end_rate = 0.1, .power = 1), 2, 0.4},
        {RATE(.kind = HUSK_RATE_POLYNOMIAL, .steps = 8, .end_rate = 0.1, .power = 1), far, 0.1},
        {RATE(.kind = HUSK_RATE_COSINE, .steps = 8, .end_rate = 0.1), 4, 0.3},
        {RATE(.kind = HUSK_RATE_COSINE, .steps = 8, .end_rate = 0.1), 8, 0.1},
        {RATE(.kind = HUSK_RATE_COSINE, .steps = 8, .end_rate = 0.1), 9, 0.1},
        {RATE(.kind = HUSK_RATE_COSINE_RESTARTS, .steps = 4, .growth = 1), 4000002, 0.25},
        {RATE(.kind = HUSK_RATE_COSINE_RESTARTS, .steps = 4, .growth = 2), 4 + 8 + 16, 0.5},
        {RATE(.kind = HUSK_RATE_COSINE_RESTARTS, .steps = 4, .growth = 2), 4 + 8 + 16 + 16, 0.25},
        {RATE(.kind = HUSK_RATE_ONE_CYCLE, .steps = 100, .start_rate = 0.02, .end_rate = 2e-6, .rise = 0.3), 0, 0.02},
        {RATE(.kind = HUSK_RATE_ONE_CYCLE, .steps = 100, .start_rate = 0.02, .end_rate = 2e-6, .rise = 0.3), 29, 0.5},
        {RATE(.kind = HUSK_RATE_ONE_CYCLE, .steps = 100, .start_rate = 0.02, .end_rate = 2e-6, .rise = 0.3), 99, 2e-6},
        {RATE(.kind = HUSK_RATE_ONE_CYCLE, .steps = 100, .start_rate = 0.02, .end_rate = 2e-6, .rise = 0.3), far, 2e-6},
        {RATE(.kind = HUSK_RATE_CONSTANT, .warmup = 4), 0, 0},
        {RATE(.kind = HUSK_RATE_CONSTANT, .warmup = 4), 1, 0.125},
        {RATE(.kind = HUSK_RATE_CONSTANT, .warmup = 4, .warmup_rate = 0.1), 2, 0.3},
        {RATE(.kind = HUSK_RATE_CONSTANT, .warmup = 4), 4, 0.5},
        {RATE(.kind = HUSK_RATE_COSINE, .steps = 8, .warmup = 4), 8, 0.25},
        {RATE(.kind = HUSK_RATE_ONE_CYCLE, .steps = 100, .warmup = 2, .warmup_rate = 0.04, .start_rate = 0.02,
              .end_rate = 2e-6, .rise = 0.3),
         1, 0.03},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        double rate = NAN;
        test_ok_error(husk_rate_at(&known[i].params, known[i].step, &rate, &error), &error);
        same(rate, known[i].rate, husk_rate_kind_name(known[i].params.kind), known[i].step);
    }
    // Periods that no longer fit 64 bits: the second one has as many steps as there are, and half of them are done.
    double rate = NAN;
    husk_rate_params huge = RATE(.kind = HUSK_RATE_COSINE_RESTARTS, .steps = (uint64_t)1 << 63, .growth = 3);
    test_ok_error(husk_rate_at(&huge, far, &rate, &error), &error);
    same(rate, 0.25, "cosine_restarts", far);
    ck_assert_str_eq(husk_rate_kind_name(HUSK_RATE_COSINE_RESTARTS), "cosine_restarts");
    ck_assert_str_eq(husk_rate_kind_name((husk_rate_kind)99), "unknown");
}
END_TEST

typedef struct refused_rate {
    husk_rate_params params;
    const char *text;
} refused_rate;

START_TEST(wrong_schedules_are_refused)
{
    const uint64_t falling[] = {4, 4};
    const refused_rate refused[] = {
        {HUSK_MAKE(husk_rate_params, .kind = (husk_rate_kind)8, .rate = 1), "kind 8 does not exist"},
        {HUSK_MAKE(husk_rate_params, .rate = -1), "rate is -1; it has to be finite and 0 or more"},
        {HUSK_MAKE(husk_rate_params, .rate = NAN), "rate is nan"},
        {RATE(.kind = HUSK_RATE_STEP, .factor = 0.1), "step needs steps"},
        {RATE(.kind = HUSK_RATE_COSINE), "cosine needs steps"},
        {RATE(.kind = HUSK_RATE_ONE_CYCLE, .start_rate = 0.02, .end_rate = 2e-6, .rise = 0.3), "one_cycle needs steps"},
        {RATE(.kind = HUSK_RATE_STEP, .steps = 1, .factor = -0.5), "factor is -0.5; it has to be finite and above 0"},
        {RATE(.kind = HUSK_RATE_EXPONENTIAL, .factor = INFINITY, .steps = 1), "factor is inf"},
        {RATE(.kind = HUSK_RATE_COSINE, .steps = 1, .end_rate = -2), "end_rate is -2"},
        {RATE(.kind = HUSK_RATE_POLYNOMIAL, .steps = 1, .power = -1), "power is -1; it has to be finite and above 0"},
        {RATE(.kind = HUSK_RATE_MULTI_STEP, .factor = 0.1), "multi_step needs milestones"},
        {RATE(.kind = HUSK_RATE_MULTI_STEP, .milestones = falling, .milestone_count = 2, .factor = 0.1),
         "milestones have to rise; number 1 is 4, behind 4"},
        {RATE(.kind = HUSK_RATE_ONE_CYCLE, .steps = 3, .start_rate = 0.02, .end_rate = 2e-6, .rise = 0.3),
         "rise is 0.3 of 3 steps"},
        {RATE(.kind = HUSK_RATE_ONE_CYCLE, .steps = 30, .rise = 1, .start_rate = 0.02, .end_rate = 2e-6),
         "rise is 1 of 30 steps"},
        {RATE(.kind = HUSK_RATE_ONE_CYCLE, .steps = 30, .start_rate = -1, .end_rate = 2e-6, .rise = 0.3),
         "start_rate is -1"},
        {RATE(.warmup = 1, .warmup_rate = INFINITY), "warmup_rate is inf"},
        {{.size = 4096}, "size is 4096"},
    };
    double rate = 17;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        test_refused_error(husk_rate_at(&refused[i].params, 0, &rate, &error), &error, HUSK_INVALID_ARGUMENT,
                           refused[i].text);
    test_refused_error(husk_rate_at(NULL, 0, &rate, &error), &error, HUSK_INVALID_ARGUMENT,
                       "husk_rate_at: params: it is NULL");
    ck_assert(rate == 17);
    test_refused_error(husk_rate_at(&RATE(0), 0, NULL, &error), &error, HUSK_INVALID_ARGUMENT, "rate: it is NULL");
    ck_assert_int_eq(husk_rate_at(NULL, 0, NULL, NULL), HUSK_INVALID_ARGUMENT);
}
END_TEST

// ---- the plateau ----

START_TEST(plateaus_are_pytorchs)
{
    const int count = golden_load(&golden_plateau);
    for (int i = 0; i < count; i++) {
        const struct golden_plateau *golden = golden_case(&golden_plateau, i);
        husk_plateau_params params = golden->params;
        params.size = sizeof params;
        husk_plateau plateau = {0};
        ck_assert(golden->values.shape[0] > 0 && golden->values.shape[0] == golden->rates.shape[0]);
        for (uint64_t v = 0; v < (uint64_t)golden->values.shape[0]; v++) {
            // Through its text in every step: nothing else is the state.
            char text[HUSK_STATE_TEXT];
            test_ok_error(husk_plateau_save(&plateau, text, &error), &error);
            memset(&plateau, 0xa5, sizeof plateau);
            test_ok_error(husk_plateau_load(text, &plateau, &error), &error);
            test_ok_error(husk_plateau_step(&params, &plateau, golden->values.values[v], &error), &error);
            same(plateau.rate, golden->rates.values[v], "plateau", v);
        }
    }
}
END_TEST

START_TEST(nan_is_no_better_on_a_plateau)
{
    husk_plateau plateau = {0};
    husk_plateau_params params = HUSK_PLATEAU_PARAMS(.rate = 1, .patience = 1, .factor = 0.5);
    const double values[] = {NAN, 3, NAN, NAN, 2}, rates[] = {1, 1, 1, 0.5, 0.5};
    for (int v = 0; v < 5; v++) {
        test_ok_error(husk_plateau_step(&params, &plateau, values[v], &error), &error);
        ck_assert(plateau.rate == rates[v]);
    }
    ck_assert(plateau.best == 2 && plateau.waited == 0);
    // A rate that is below the least one already is not raised.
    plateau = (husk_plateau){0};
    params = HUSK_PLATEAU_PARAMS(.rate = 0.01, .least_rate = 0.1);
    for (int v = 0; v < 3; v++)
        test_ok_error(husk_plateau_step(&params, &plateau, 1, &error), &error);
    ck_assert(plateau.rate == 0.01);
}
END_TEST

typedef struct refused_plateau {
    husk_plateau_params params;
    const char *text;
} refused_plateau;

START_TEST(wrong_plateaus_are_refused)
{
    const refused_plateau refused[] = {
        {HUSK_PLATEAU_PARAMS(.rate = NAN), "rate is nan"},
        {HUSK_PLATEAU_PARAMS(.rate = 1, .factor = 1), "factor is 1; it has to be between 0 and 1"},
        {HUSK_PLATEAU_PARAMS(.rate = 1, .threshold = -1), "threshold is -1"},
        {HUSK_PLATEAU_PARAMS(.rate = 1, .least_rate = -1), "least_rate is -1"},
        {HUSK_PLATEAU_PARAMS(.rate = 1, .better = (husk_better)2), "better is 2"},
    };
    husk_plateau plateau = {0}, zeros = {0};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        test_refused_error(husk_plateau_step(&refused[i].params, &plateau, 1, &error), &error, HUSK_INVALID_ARGUMENT,
                           refused[i].text);
    test_refused_error(husk_plateau_step(NULL, &plateau, 1, &error), &error, HUSK_INVALID_ARGUMENT,
                       "params: it is NULL");
    test_refused_error(husk_plateau_step(&HUSK_PLATEAU_PARAMS(.rate = 1), NULL, 1, &error), &error,
                       HUSK_INVALID_ARGUMENT, "plateau: it is NULL");
    ck_assert(memcmp(&plateau, &zeros, sizeof zeros) == 0);
    const char *texts[] = {NULL,
                           "",
                           "plateau",
                           "plateau 1 2 3 4 5",
                           "plateau 1 2 3 4 5 6 7",
                           "plateau 1 2 3 4 5 6 ",
                           "plateau 1 2 3 4 5 G",
                           "plateau 1 2 3 4 5  6",
                           "plateau 1 2 3 4 5 00000000000000006",
                           "stopping 1 2 3 4 5 6"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        test_refused_error(husk_plateau_load(texts[i], &plateau, &error), &error, HUSK_INVALID_ARGUMENT,
                           texts[i] ? "it is not \"plateau\" and 6 hexadecimal numbers" : "text: it is NULL");
    ck_assert(memcmp(&plateau, &zeros, sizeof zeros) == 0);
    test_refused_error(husk_plateau_load(texts[3], NULL, &error), &error, HUSK_INVALID_ARGUMENT, "plateau: it is NULL");
    char text[HUSK_STATE_TEXT];
    test_refused_error(husk_plateau_save(NULL, text, &error), &error, HUSK_INVALID_ARGUMENT, "plateau: it is NULL");
    test_refused_error(husk_plateau_save(&plateau, NULL, &error), &error, HUSK_INVALID_ARGUMENT, "text: it is NULL");
}
END_TEST

// ---- a graph ----

// loss = mean of (w - x)^2 for one w and many x; by SGD, whose step is rate times the gradient.
static husk_graph *line(husk_graph_options options, float rate)
{
    husk_graph *graph = test_graph(HUSK_F32, 1);
    husk_optimizer_params sgd = husk_sgd(rate);
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 1, (int64_t[]){2});
    husk_value w = husk_graph_parameter(graph, "w", 1, (int64_t[]){2}, NULL);
    husk_loss_params square = husk_loss_defaults(HUSK_LOSS_MEAN_SQUARE);
    options.loss = husk_graph_loss(graph, "loss", &square, w, x, HUSK_NO_VALUE, HUSK_NO_VALUE);
    options.optimizer = rate > 0 ? &sgd : NULL;
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    test_graph_ok(graph, husk_graph_write(graph, "x", (float[]){4, -1}, sizeof(float[2])));
    return graph;
}

static void read_pair(husk_graph *graph, float w[2])
{
    test_graph_ok(graph, husk_graph_read(graph, "w", w, sizeof(float[2])));
}

START_TEST(a_graph_follows_its_updates)
{
    husk_graph *graph = line(HUSK_GRAPH_OPTIONS(.accumulate = 2), 1);
    husk_rate_params halves =
        HUSK_MAKE(husk_rate_params, .kind = HUSK_RATE_STEP, .rate = 0.5, .factor = 0.5, .steps = 1);
    float w[2], wanted[2] = {0, 0};
    for (int batch = 0; batch < 6; batch++) {
        test_graph_ok(graph, husk_graph_schedule_rate(graph, &halves));
        test_graph_ok(graph, husk_graph_step(graph));
        if (batch % 2) { // the gradient is w - x
            float rate = 0.5f / (float)(1 << batch / 2);
            wanted[0] -= rate * (wanted[0] - 4);
            wanted[1] -= rate * (wanted[1] + 1);
        }
        read_pair(graph, w);
        ck_assert(w[0] == wanted[0] && w[1] == wanted[1]);
    }
    ck_assert_int_eq(husk_graph_schedule_rate(graph, NULL), HUSK_INVALID_ARGUMENT);
    ck_assert_str_eq(husk_graph_error(graph)->text, "husk_graph_schedule_rate: params: it is NULL");
    husk_graph_release(graph);
    graph = line(HUSK_GRAPH_OPTIONS(0), 0);
    ck_assert_int_eq(husk_graph_schedule_rate(graph, &halves), HUSK_INVALID_ARGUMENT);
    ck_assert(strstr(husk_graph_error(graph)->text, "it was compiled without an optimizer"));
    husk_graph_release(graph);
    ck_assert_int_eq(husk_graph_schedule_rate(NULL, &halves), HUSK_INVALID_ARGUMENT);
    graph = test_graph(HUSK_F32, 1);
    ck_assert_int_eq(husk_graph_schedule_rate(graph, &halves), HUSK_INVALID_ARGUMENT);
    ck_assert(strstr(husk_graph_error(graph)->text, "it is not compiled"));
    husk_graph_release(graph);
}
END_TEST

// The gradient is (-4, 1): clipped by value to (-2, 1), of which the norm is sqrt 5.
START_TEST(gradients_are_clipped_by_value_and_then_by_norm)
{
    float w[2];
    husk_graph *graph = line(HUSK_GRAPH_OPTIONS(.clip_value = 2), 1);
    test_graph_ok(graph, husk_graph_step(graph));
    read_pair(graph, w);
    ck_assert(w[0] == 2.0f && w[1] == -1.0f);
    husk_graph_release(graph);
    graph = line(HUSK_GRAPH_OPTIONS(.clip_value = 2, .clip_norm = 1), 1);
    test_graph_ok(graph, husk_graph_step(graph));
    read_pair(graph, w);
    ck_assert(fabs(w[0] - 2 / sqrt(5)) < 1e-6 && fabs(w[1] + 1 / sqrt(5)) < 1e-6);
    husk_graph_release(graph);
    graph = test_graph(HUSK_F32, 1);
    husk_graph_output(graph, "y", husk_graph_copy(graph, NULL, husk_graph_input(graph, "x", HUSK_F32, 0, NULL)));
    const float wrong[] = {-1, NAN};
    for (int i = 0; i < 2; i++)
        test_refused_error(husk_graph_compile(graph, &HUSK_GRAPH_OPTIONS(.clip_value = wrong[i]), &error), &error,
                           HUSK_INVALID_ARGUMENT, "clip_value must not be negative");
    husk_graph_release(graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rate");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, schedules_are_pytorchs);
    tcase_add_test(tests, ends_and_defaults_are_as_documented);
    tcase_add_test(tests, wrong_schedules_are_refused);
    tcase_add_test(tests, plateaus_are_pytorchs);
    tcase_add_test(tests, nan_is_no_better_on_a_plateau);
    tcase_add_test(tests, wrong_plateaus_are_refused);
    tcase_add_test(tests, a_graph_follows_its_updates);
    tcase_add_test(tests, gradients_are_clipped_by_value_and_then_by_norm);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
