// SPDX-License-Identifier: MIT
// A character-level Transformer learns texts, and writes some of its own. TEXT... are the licences that every Debian
// machine has, or files of the caller's. Nine tenths are learnt; of the tenth in the middle the perplexity is said: of
// how many bytes, all alike, the next one might as well be drawn. Exit status 0 if it is below half of the bytes that
// occur, 1 if not, 2 after a failure.
//     train_text [--seed N] [--steps N] [--write BYTES] [--log FILE] [TEXT...]
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/train.h>

enum { BATCH = 16, LENGTH = 64, STRIDE = 16, WIDTH = 96, HEADS = 4, LAYERS = 2, TEXTS = 64 };

static husk_error error;

static void ok(husk_status status, const husk_error *of)
{
    if (status) {
        fprintf(stderr, "%s\n", of->text);
        exit(2);
    }
}

// ---- texts ----

// All files, one behind the other.
static husk_array read_texts(const char *const *paths, size_t count)
{
    husk_array all = {HUSK_U8, 1, {0}, 0, NULL};
    for (size_t i = 0; i < count; i++) {
        husk_array one = {0};
        ok(husk_text_read(paths[i], &one, &error), &error);
        uint8_t *longer = realloc(all.data, all.bytes + one.bytes + 1);
        if (!longer)
            exit(2);
        memcpy(longer + all.bytes, one.data, one.bytes);
        all.data = longer;
        all.bytes += one.bytes;
        husk_array_release(&one);
    }
    all.shape[0] = (int64_t)all.bytes;
    return all;
}

// Pieces of LENGTH bytes that begin every `stride` bytes, and behind each of its bytes the next one as the label.
static husk_dataset *pieces(const int32_t *ids, int64_t count, int64_t stride, int64_t bytes)
{
    const int64_t n = count > LENGTH ? (count - LENGTH - 1) / stride + 1 : 0;
    husk_array inputs = {HUSK_I32, 2, {n, LENGTH}, sizeof(int32_t) * (uint64_t)(n * LENGTH), NULL}, next = inputs;
    husk_dataset *dataset;
    inputs.data = malloc(inputs.bytes + 1);
    next.data = malloc(next.bytes + 1);
    if (!inputs.data || !next.data)
        exit(2);
    for (int64_t i = 0; i < n; i++) {
        memcpy((int32_t *)inputs.data + i * LENGTH, ids + i * stride, sizeof *ids * LENGTH);
        memcpy((int32_t *)next.data + i * LENGTH, ids + i * stride + 1, sizeof *ids * LENGTH);
    }
    ok(husk_dataset_create(&inputs, &next, &HUSK_DATASET_PARAMS(.ids = bytes, .classes = bytes), &dataset, &error),
       &error);
    return dataset;
}

// ---- the network ----

static husk_value add(husk_graph *graph, husk_value a, husk_value b)
{
    husk_binary_params params = husk_binary_defaults(HUSK_BINARY_ADD);
    return husk_graph_binary(graph, NULL, &params, a, b);
}

static husk_value linear(husk_graph *graph, int layer, const char *name, int64_t outputs, husk_act activation,
                         husk_value x)
{
    char full[32];
    snprintf(full, sizeof full, "layer%d.%s", layer, name);
    return husk_graph_linear(graph, full, &HUSK_LINEAR_LAYER(.outputs = outputs, .activation = activation), x);
}

static husk_value norm(husk_graph *graph, int layer, const char *name, husk_value x)
{
    char full[32];
    snprintf(full, sizeof full, "layer%d.%s", layer, name);
    return husk_graph_norm_layer(graph, full, NULL, x);
}

// Part `which` of [batch, LENGTH, 3 WIDTH], as [batch, HEADS, LENGTH, WIDTH / HEADS].
static husk_value heads(husk_graph *graph, husk_value all, int64_t batch, int64_t which)
{
    husk_value part = husk_graph_copy(graph, NULL, husk_graph_slice(graph, NULL, all, 2, which * WIDTH, WIDTH));
    part = husk_graph_reshape(graph, NULL, part, 4, (int64_t[]){batch, LENGTH, HEADS, WIDTH / HEADS});
    return husk_graph_permute(graph, NULL, part, (int32_t[]){0, 2, 1, 3});
}

// Normalisation comes first in each half: Xiong et al., arXiv 2002.04745.
static husk_value layer(husk_graph *graph, int number, int64_t batch, husk_value x)
{
    husk_attention_params causal = HUSK_ATTENTION_PARAMS(.causal = HUSK_CAUSAL_TOP_LEFT);
    husk_value all = linear(graph, number, "qkv", 3 * WIDTH, HUSK_ACT_NONE, norm(graph, number, "norm1", x));
    husk_value seen = husk_graph_attention(graph, NULL, &causal, heads(graph, all, batch, 0),
                                           heads(graph, all, batch, 1), heads(graph, all, batch, 2), HUSK_NO_VALUE);
    seen = husk_graph_permute(graph, NULL, seen, (int32_t[]){0, 2, 1, 3});
    seen = husk_graph_reshape(graph, NULL, seen, 3, (int64_t[]){batch, LENGTH, WIDTH});
    x = add(graph, x, linear(graph, number, "projection", WIDTH, HUSK_ACT_NONE, seen));
    husk_value wide = linear(graph, number, "up", 4 * WIDTH, HUSK_ACT_GELU, norm(graph, number, "norm2", x));
    wide = linear(graph, number, "down", WIDTH, HUSK_ACT_NONE, wide);
    return add(graph, x, husk_graph_dropout(graph, NULL, &HUSK_DROPOUT_PARAMS(.p = 0.1f), wide));
}

// Scores of the next byte behind each byte: [batch x LENGTH, bytes].
static husk_value build(husk_graph *graph, int64_t batch, int64_t bytes)
{
    husk_initializer small = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_NORMAL, .spread = 0.1f);
    husk_embedding_layer table = HUSK_EMBEDDING_LAYER(.rows = bytes, .columns = WIDTH, .weight = &small);
    husk_value ids = husk_graph_input(graph, "ids", HUSK_I32, 2, (int64_t[]){batch, LENGTH});
    husk_value places = husk_graph_parameter(graph, "places", 2, (int64_t[]){LENGTH, WIDTH}, &small);
    husk_value x = add(graph, husk_graph_embedding_layer(graph, "bytes", &table, ids), places);
    x = husk_graph_dropout(graph, NULL, &HUSK_DROPOUT_PARAMS(.p = 0.1f), x);
    for (int i = 0; i < LAYERS; i++)
        x = layer(graph, i, batch, x);
    x = husk_graph_norm_layer(graph, "norm", NULL, x);
    x = husk_graph_reshape(graph, NULL, x, 2, (int64_t[]){batch * LENGTH, WIDTH});
    x = husk_graph_linear(graph, "head", &HUSK_LINEAR_LAYER(.outputs = bytes), x);
    husk_graph_output(graph, "logits", x);
    return x;
}

// ---- learning ----

static void next_batch(husk_graph *graph, husk_feed *feed, husk_batch *batch)
{
    ok(husk_feed_next(feed, husk_graph_queue(graph), batch, &error), &error);
    ok(husk_graph_write_tensor(graph, "ids", &batch->inputs), husk_graph_error(graph));
    ok(husk_graph_write_tensor(graph, "next", &batch->labels), husk_graph_error(graph));
}

static double perplexity(husk_graph *graph, husk_feed *feed, husk_metrics *metrics)
{
    husk_metrics_report report = HUSK_METRICS_REPORT();
    husk_batch batch = {0};
    husk_tensor logits, next;
    ok(husk_graph_tensor(graph, "logits", &logits), husk_graph_error(graph));
    ok(husk_graph_tensor(graph, "next", &next), husk_graph_error(graph));
    while (!batch.is_last) {
        next_batch(graph, feed, &batch);
        ok(husk_graph_forward(graph, HUSK_GRAPH_EVALUATION), husk_graph_error(graph));
        ok(husk_metrics_add(metrics, husk_graph_queue(graph), &logits, &next, batch.count * LENGTH, &error), &error);
    }
    ok(husk_metrics_read(metrics, husk_graph_queue(graph), &report, &error), &error);
    husk_metrics_reset(metrics);
    return report.perplexity;
}

static double learn(husk_graph *graph, husk_feed *learning, husk_feed *asking, husk_metrics *metrics, uint64_t steps,
                    const char *log_path)
{
    const char *const columns[] = {"step", "loss", "perplexity", "rate"};
    husk_rate_params rate = husk_rate_defaults(HUSK_RATE_COSINE, 2e-3);
    rate.end_rate = 1e-4;
    husk_progress *progress;
    husk_log *log = NULL;
    husk_batch batch;
    double rest = NAN, now;
    rate.warmup = steps / 20;
    rate.steps = steps - rate.warmup;
    ok(husk_progress_create(&HUSK_PROGRESS_PARAMS(.stream = stderr, .label = "text", .total = steps), &progress,
                            &error),
       &error);
    if (log_path)
        ok(husk_log_open(log_path, &HUSK_LOG_PARAMS(.columns = columns, .count = 4), &log, &error), &error);
    for (uint64_t step = 1; step <= steps; step++) {
        next_batch(graph, learning, &batch);
        ok(husk_graph_schedule_rate(graph, &rate), husk_graph_error(graph));
        ok(husk_graph_step(graph), husk_graph_error(graph));
        if (step % 100 && step < steps)
            continue;
        float loss;
        char text[64];
        ok(husk_graph_read(graph, "loss", &loss, sizeof loss), husk_graph_error(graph));
        rest = perplexity(graph, asking, metrics);
        ok(husk_rate_at(&rate, step - 1, &now, &error), &error);
        snprintf(text, sizeof text, "loss %.3f, perplexity of the rest %.2f", (double)loss, rest);
        husk_progress_show(progress, step, text);
        if (log)
            ok(husk_log_write(log, (double[]){(double)step, (double)loss, rest, now}, &error), &error);
    }
    husk_progress_release(progress);
    husk_log_close(log);
    return rest;
}

// ---- writing ----

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), as a number in [0, 1).
static double draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

// One of the bytes, by the softmax of its score / temperature.
static int32_t sample(const float *scores, int64_t bytes, double temperature, uint64_t *state)
{
    double largest = -INFINITY, sum = 0;
    for (int64_t c = 0; c < bytes; c++)
        largest = fmax(largest, (double)scores[c]);
    for (int64_t c = 0; c < bytes; c++)
        sum += exp(((double)scores[c] - largest) / temperature);
    double left = draw(state) * sum;
    for (int64_t c = 0; c < bytes; c++) {
        left -= exp(((double)scores[c] - largest) / temperature);
        if (left < 0)
            return (int32_t)c;
    }
    return (int32_t)bytes - 1;
}

// A graph for one row, without a loss, that has the parameters of the one that has learnt. It goes on with `ids`.
static void write_text(husk_context *context, husk_graph *learnt, const husk_vocabulary *vocabulary,
                       const int32_t *start, uint64_t letters, uint64_t seed)
{
    const int64_t bytes = husk_vocabulary_size(vocabulary);
    husk_graph *graph;
    ok(husk_graph_create(context, &HUSK_GRAPH_PARAMS(.queue = husk_graph_queue(learnt)), &graph, &error), &error);
    build(graph, 1, bytes);
    ok(husk_graph_compile(graph, &HUSK_GRAPH_OPTIONS(0), &error), &error);
    for (size_t i = 0; i < husk_graph_parameter_count(learnt); i++) {
        husk_parameter parameter = HUSK_PARAMETER();
        ok(husk_graph_parameter_at(learnt, i, &parameter), husk_graph_error(learnt));
        ok(husk_graph_write_tensor(graph, parameter.name, &parameter.tensor), husk_graph_error(graph));
    }
    int32_t ids[LENGTH] = {0};
    int64_t known = LENGTH / 2;
    float *scores = malloc(sizeof *scores * (size_t)(LENGTH * bytes));
    if (!scores)
        exit(2);
    memcpy(ids, start, sizeof *ids * (size_t)known);
    for (int64_t i = 0; i < known; i++)
        fwrite(husk_vocabulary_get(vocabulary, ids[i], NULL), 1, 1, stdout);
    printf("|");
    for (uint64_t i = 0; i < letters; i++) {
        ok(husk_graph_write(graph, "ids", ids, sizeof ids), husk_graph_error(graph));
        ok(husk_graph_forward(graph, HUSK_GRAPH_EVALUATION), husk_graph_error(graph));
        ok(husk_graph_read(graph, "logits", scores, sizeof *scores * (uint64_t)(LENGTH * bytes)),
           husk_graph_error(graph));
        int32_t next = sample(&scores[(known - 1) * bytes], bytes, 0.7, &seed);
        fwrite(husk_vocabulary_get(vocabulary, next, NULL), 1, 1, stdout);
        if (known == LENGTH)
            memmove(ids, ids + 1, sizeof *ids * (LENGTH - 1));
        else
            known++;
        ids[known - 1] = next;
    }
    printf("\n");
    free(scores);
    husk_graph_release(graph);
}

// A whole number; anything else ends the program.
static uint64_t whole(const char *option, const char *text)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno) {
        fprintf(stderr, "%s: \"%s\" is no whole number\n", option, text);
        exit(2);
    }
    return value;
}

static int usage(const char *program)
{
    fprintf(stderr, "%s [--seed N] [--steps N] [--write BYTES] [--log FILE] [TEXT...]\n", program);
    return 2;
}

int main(int count, char **arguments)
{
#define LICENCES "/usr/share/common-licenses/"
    const char *paths[TEXTS] = {LICENCES "GPL-3", LICENCES "GFDL-1.3", LICENCES "Apache-2.0", LICENCES "MPL-1.1",
                                LICENCES "Artistic"};
    const char *log_path = NULL;
    size_t given = 0;
    uint64_t seed = 1, steps = 1500, letters = 500;
    for (int i = 1; i < count; i++) {
        if (strncmp(arguments[i], "--", 2) != 0) {
            if (given == TEXTS) {
                fprintf(stderr, "at most %d texts are read\n", TEXTS);
                return 2;
            }
            paths[given++] = arguments[i];
            continue;
        }
        if (i + 1 == count)
            return usage(arguments[0]);
        const char *option = arguments[i], *value = arguments[++i];
        if (strcmp(option, "--seed") == 0)
            seed = whole(option, value);
        else if (strcmp(option, "--steps") == 0)
            steps = whole(option, value);
        else if (strcmp(option, "--write") == 0)
            letters = whole(option, value);
        else if (strcmp(option, "--log") == 0)
            log_path = value;
        else
            return usage(arguments[0]);
    }

    husk_array text = read_texts(paths, given ? given : 5), ids = {0};
    husk_vocabulary *vocabulary;
    ok(husk_vocabulary_create_bytes(&text, &vocabulary, &error), &error);
    ok(husk_vocabulary_encode_bytes(vocabulary, &text, &ids, &error), &error);
    const int64_t bytes = husk_vocabulary_size(vocabulary), all = ids.shape[0], tenth = all / 10, first = tenth * 9 / 2;
    int32_t *id = ids.data, start[LENGTH / 2];
    husk_dataset *asked = pieces(id + first, tenth, LENGTH, bytes);
    memcpy(start, id + first, tenth >= LENGTH / 2 ? sizeof start : 0);
    memmove(id + first, id + first + tenth, sizeof *id * (size_t)(all - first - tenth));
    husk_dataset *learnt = pieces(id, all - tenth, STRIDE, bytes);
    printf("%llu bytes, %lld of them different\n", (unsigned long long)text.bytes, (long long)bytes);

    husk_context *context;
    husk_graph *graph;
    husk_feed *learning, *asking;
    husk_metrics *metrics;
    ok(husk_context_create(NULL, NULL, &context, &error), &error);
    ok(husk_feed_create(context, learnt, &HUSK_FEED_PARAMS(.batch = BATCH, .seed = seed), &learning, &error), &error);
    ok(husk_feed_create(context, asked, &HUSK_FEED_PARAMS(.batch = BATCH, .in_order = 1, .keep_partial = 1), &asking,
                        &error),
       &error);
    ok(husk_metrics_create(context, &HUSK_METRICS_PARAMS(.classes = bytes, .rows = BATCH * LENGTH), &metrics, &error),
       &error);
    ok(husk_graph_create(context, &HUSK_GRAPH_PARAMS(.seed = seed), &graph, &error), &error);
    husk_optimizer_params adam = husk_adamw(2e-3);
    adam.weight_decay = 0.1;
    adam.beta2 = 0.98;
    husk_value logits = build(graph, BATCH, bytes);
    husk_value next = husk_graph_input(graph, "next", HUSK_I32, 2, (int64_t[]){BATCH, LENGTH});
    next = husk_graph_reshape(graph, NULL, next, 1, (int64_t[]){BATCH * LENGTH});
    husk_value loss = husk_graph_loss(graph, "loss", NULL, logits, next, HUSK_NO_VALUE, HUSK_NO_VALUE);
    ok(husk_graph_compile(graph, &HUSK_GRAPH_OPTIONS(.loss = loss, .optimizer = &adam, .clip_norm = 1), &error),
       &error);

    double rest = learn(graph, learning, asking, metrics, steps, log_path);
    printf("perplexity of the rest: %.2f\n", rest);
    write_text(context, graph, vocabulary, start, letters, seed);

    husk_metrics_release(metrics);
    husk_graph_release(graph);
    husk_feed_release(learning);
    husk_feed_release(asking);
    husk_dataset_release(learnt);
    husk_dataset_release(asked);
    husk_vocabulary_release(vocabulary);
    husk_array_release(&text);
    husk_array_release(&ids);
    husk_context_release(context);
    return !(rest < (double)bytes / 2);
}
