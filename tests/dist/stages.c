// SPDX-License-Identifier: MIT
// One stage of a run, for check_dist.sh: six layers, and a tensor that goes past all of them, dealt out over the ranks.
// One rank alone trains the whole network without a pipeline. The first rank prints each step's loss, in digits and in
// bits. The argument says what the second rank does otherwise, or what all do: with "turned" and "view" the tensor that
// goes past the layers does so as its transpose, a copy of it or the view itself.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/dist.h>

enum { MICRO = 4, MICRO_BATCHES = 5, WIDTH = 64, CLASSES = 5, LAYERS = 6, STEPS = 6, ACTS_AT = 3 };

typedef struct stage {
    const char *what; // the argument
    husk_dist *dist;
    husk_context *context;
    husk_graph *graph;
    husk_pipeline *pipeline;
    int32_t rank, count, step;
    husk_error error;
} stage;

static bool is(const stage *s, const char *what)
{
    return s->rank == 1 && strcmp(s->what, what) == 0;
}

static bool turns(const stage *s)
{
    return strcmp(s->what, "turned") == 0 || strcmp(s->what, "view") == 0;
}

// Whole numbers that follow from their place.
static uint32_t drawn(uint64_t number)
{
    number = (number + 1) * 0x9e3779b97f4a7c15u;
    number ^= number >> 29;
    number *= 0xbf58476d1ce4e5b9u;
    return (uint32_t)(number >> 33);
}

static husk_value build(stage *s)
{
    int64_t width = is(s, "link") ? WIDTH / 2 : WIDTH;
    husk_graph *graph = s->graph;
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 2, (int64_t[]){MICRO, width}), past = HUSK_NO_VALUE;
    if (s->rank == 0)
        past = husk_graph_linear(graph, "around", &HUSK_LINEAR_LAYER(.outputs = WIDTH), x);
    else {
        past = husk_graph_input(graph, "past", HUSK_F32, 2,
                                turns(s) ? (int64_t[]){WIDTH, MICRO} : (int64_t[]){MICRO, WIDTH});
        husk_graph_input_gradient(graph, "dx", x);
        husk_graph_input_gradient(graph, "dpast", past);
    }
    husk_linear_layer layer = HUSK_LINEAR_LAYER(.outputs = WIDTH, .activation = HUSK_ACT_RELU);
    for (int l = LAYERS * s->rank / s->count; l < LAYERS * (s->rank + 1) / s->count; l++) {
        char name[32];
        snprintf(name, sizeof name, "layer%d", l);
        x = husk_graph_linear(graph, name, &layer, x);
    }
    if (s->rank + 1 < s->count) {
        if (turns(s) && s->rank == 0)
            past = husk_graph_permute(graph, "past.view", past, (int32_t[]){1, 0});
        husk_value whole = strcmp(s->what, "view") == 0 ? past : husk_graph_copy(graph, "past.copy", past);
        husk_graph_output(graph, "y", x);
        if (whole != past)
            husk_graph_output(graph, "past.out", whole);
        husk_graph_output_gradient(graph, "dy", x);
        husk_graph_output_gradient(graph, "dpast.out", whole);
        return HUSK_NO_VALUE;
    }
    if (turns(s) && s->rank > 0)
        past = husk_graph_permute(graph, "past.back", past, (int32_t[]){1, 0});
    x = husk_graph_binary(graph, "sum", &HUSK_MAKE(husk_binary_params, .op = HUSK_BINARY_ADD, .alpha = 1, .beta = 1), x,
                          past);
    x = husk_graph_linear(graph, "head", &HUSK_LINEAR_LAYER(.outputs = CLASSES), x);
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){MICRO});
    return husk_graph_loss(graph, "loss", NULL, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

static husk_status load(void *user, husk_graph *graph, uint32_t micro_batch)
{
    stage *s = user;
    float x[MICRO * WIDTH];
    int32_t labels[MICRO];
    husk_status status = HUSK_OK;
    if (s->step == ACTS_AT && micro_batch == 2 && is(s, "kill"))
        raise(SIGKILL);
    if (s->step == ACTS_AT && micro_batch == 2 && is(s, "load"))
        return husk_graph_write(graph, "nothing", x, sizeof x);
    if (is(s, "load_else")) { // what is looked for there need not be; what fails later is no call of the graph's
        husk_graph_write(graph, "nothing", x, sizeof x);
        if (s->step == ACTS_AT && micro_batch == 2)
            return HUSK_IO;
    }
    for (int e = 0; e < MICRO; e++) {
        uint64_t example = (uint64_t)(micro_batch * MICRO + (uint32_t)e);
        labels[e] = (int32_t)(drawn(example) % CLASSES);
        for (int i = 0; i < WIDTH; i++)
            x[e * WIDTH + i] = (float)(drawn(example * 1000 + (uint64_t)i) % 2001) / 1000 - 1;
    }
    if (s->rank == 0)
        status = husk_graph_write(graph, "x", x, sizeof x);
    if (!status && s->rank + 1 == s->count)
        status = husk_graph_write(graph, "labels", labels, sizeof labels);
    return status;
}

static husk_status open_all(stage *s)
{
    husk_status status = husk_dist_create(NULL, &s->dist, &s->error);
    if (status)
        return status;
    s->rank = husk_dist_rank(s->dist);
    s->count = husk_dist_count(s->dist);
    status = husk_dist_context_create(s->dist, NULL, NULL, &s->context, &s->error);
    if (!status)
        status = husk_graph_create(s->context, &HUSK_GRAPH_PARAMS(.seed = 7), &s->graph, &s->error);
    if (status)
        return status;
    husk_optimizer_params adam = husk_adam(1e-3);
    husk_graph_options options =
        HUSK_GRAPH_OPTIONS(.optimizer = &adam, .accumulate = MICRO_BATCHES,
                           .micro_batches = is(s, "depth") ? 0 : husk_pipeline_depth(s->dist, MICRO_BATCHES));
    options.loss = build(s);
    status = husk_graph_compile(s->graph, &options, &s->error);
    husk_pipeline_link previous[] = {{"x", "dx"}, {"past", "dpast"}},
                       next[] = {{"y", "dy"}, {strcmp(s->what, "view") == 0 ? "past.view" : "past.out", "dpast.out"}};
    bool is_first = s->rank == 0, is_last = s->rank + 1 == s->count;
    husk_pipeline_params params =
        HUSK_PIPELINE_PARAMS(.micro_batches = MICRO_BATCHES, .previous = previous, .previous_count = is_first ? 0 : 2,
                             .next = next, .next_count = is_last ? 0 : 2, .loss = is_last ? "loss" : NULL, .load = load,
                             .load_user = s);
    if (!status && s->count > 1)
        status = husk_pipeline_create(s->dist, s->graph, &params, &s->pipeline, &s->error);
    return status;
}

// The whole network in one rank, a micro-batch after the other.
static husk_status step_alone(stage *s, double *mean)
{
    husk_status status = HUSK_OK;
    *mean = 0;
    for (uint32_t m = 0; m < MICRO_BATCHES && !status; m++) {
        float loss = 0;
        status = load(s, s->graph, m);
        if (!status)
            status = husk_graph_step(s->graph);
        if (!status)
            status = husk_graph_read(s->graph, "loss", &loss, sizeof loss);
        *mean += (double)loss; // exact
    }
    *mean /= MICRO_BATCHES;
    return status;
}

static husk_status train(stage *s)
{
    for (s->step = 0; s->step < STEPS; s->step++) {
        double loss = 0;
        husk_status status = s->count > 1 ? husk_pipeline_step(s->pipeline) : step_alone(s, &loss);
        if (!status && s->count > 1)
            status = husk_pipeline_loss(s->pipeline, &loss);
        if (status)
            return status;
        if (s->rank == 0)
            printf("%d %.9g %a\n", s->step, loss, loss);
        fflush(stdout);
    }
    return HUSK_OK;
}

int main(int count, char **arguments)
{
    stage s = {.what = count > 1 ? arguments[1] : "train"};
    husk_status status = open_all(&s);
    if (!status)
        status = train(&s);
    if (status) {
        const husk_error *said = s.error.status ? &s.error : husk_dist_error(s.dist);
        fprintf(stderr, "rank %d: %s\n", (int)s.rank, said->status ? said->text : husk_graph_error(s.graph)->text);
        husk_dist_fail(s.dist, said->status ? said : husk_graph_error(s.graph));
    }
    husk_pipeline_release(s.pipeline);
    husk_graph_release(s.graph);
    husk_context_release(s.context);
    husk_dist_release(s.dist);
    return status != HUSK_OK;
}
