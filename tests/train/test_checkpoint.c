// SPDX-License-Identifier: MIT
// ctest: tiers=default,train timeout=120 with=whole_gradient,digits
// Checkpoints: a resumed run has the bits of one that was never interrupted, whatever happens while one is written;
// what is not the graph's is refused before anything is changed; weights of other networks.
//
// As a program of its own, for tests that kill it, and for tests/tools/check_checkpoint.py:
//     --train FILE [BATCHES]    train, saving after every batch, from where FILE is
//     --weights FROM TO         load weights, and save them
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ref/random.h"
#include "support/device.h"
#include "support/main.h"
#include "train/digits.h"
#include "train/whole_gradient.h"

enum { BATCH = 16 };

static char folder[100], path[160], part[170];
static husk_error error;
static husk_dataset *learnt, *asked;

static void setup(void)
{
    strcpy(folder, "/tmp/husk-checkpoint-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/net.safetensors", folder);
    snprintf(part, sizeof part, "%s.part", path);
    test_digits_open(&learnt, &asked);
}

static void teardown(void)
{
    char command[200];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
    husk_dataset_release(learnt);
    husk_dataset_release(asked);
}

// ---- a run ----

typedef struct run {
    husk_graph *graph;
    husk_feed *feed;
} run;

typedef struct network {
    const char *head; /* of the last layer; NULL: "fc" */
    int64_t filters, classes;
    const char *frozen[4];
    husk_optimizer_kind optimizer;
    uint32_t no_optimizer, accumulate;
    double rate;
    uint64_t seed;
} network;

static const network usual = {.filters = 8, .classes = 10, .optimizer = HUSK_OPTIMIZER_ADAM, .rate = 1e-2, .seed = 5};

// Convolution, batch normalisation, ReLU, pooling, dropout, a linear layer.
static husk_value build(husk_graph *graph, const network *n)
{
    husk_conv_params same = HUSK_CONV_PARAMS(.pad = {1, 1});
    husk_norm_params batch = husk_norm_defaults(HUSK_NORM_BATCH);
    husk_value images = husk_graph_input(graph, "images", HUSK_F32, 3, (int64_t[]){BATCH, 8, 8});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){BATCH});
    husk_value x = husk_graph_reshape(graph, "channels", images, 4, (int64_t[]){BATCH, 1, 8, 8});
    husk_conv_layer conv = HUSK_CONV_LAYER(.filters = n->filters, .window = {3, 3}, .params = &same, .no_bias = 1);
    x = husk_graph_conv_layer(graph, "conv", &conv, x);
    x = husk_graph_norm_layer(graph, "bn", &HUSK_NORM_LAYER(.params = &batch), x);
    x = husk_graph_activation(graph, "relu", &HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_RELU), x);
    x = husk_graph_pool(graph, "pool", &HUSK_POOL_PARAMS(.window = {2, 2}), x);
    x = husk_graph_reshape(graph, "flat", x, 2, (int64_t[]){BATCH, -1});
    x = husk_graph_dropout(graph, "dropout", &HUSK_DROPOUT_PARAMS(.p = 0.25f), x);
    x = husk_graph_linear(graph, n->head ? n->head : "fc", &HUSK_LINEAR_LAYER(.outputs = n->classes), x);
    husk_graph_output(graph, "logits", x);
    for (int i = 0; i < 4 && n->frozen[i]; i++)
        husk_graph_freeze(graph, n->frozen[i]);
    return husk_graph_loss(graph, "loss", NULL, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

static run begin(const network *n)
{
    run made = {.graph = test_graph(HUSK_F32, n->seed), .feed = test_digits_feed(learnt, BATCH, 9)};
    husk_optimizer_params optimizer = husk_optimizer_defaults(n->optimizer, n->rate);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = build(made.graph, n), .accumulate = n->accumulate,
                                                    .optimizer = n->no_optimizer ? NULL : &optimizer);
    test_ok_error(husk_graph_compile(made.graph, &options, &error), &error);
    return made;
}

static void end(run *of)
{
    husk_feed_release(of->feed);
    husk_graph_release(of->graph);
}

static void save(run *of)
{
    test_ok_error(husk_graph_save(of->graph, path, &HUSK_SAVE_PARAMS(.feed = of->feed), &error), &error);
}

static husk_safetensors *opened(void)
{
    husk_safetensors *file;
    test_ok_error(husk_safetensors_open(path, NULL, &file, &error), &error);
    return file;
}

static husk_status load(run *into, const husk_load_params *params, husk_load_counts *counts)
{
    husk_safetensors *file = opened();
    husk_status status = husk_graph_load(into->graph, file, params, counts, &error);
    husk_safetensors_close(file);
    return status;
}

static void resume(run *into)
{
    test_ok_error(load(into, &HUSK_LOAD_PARAMS(.feed = into->feed), NULL), &error);
}

// ---- bits ----

// A tensor's elements; free.
static char *bits_of(const husk_tensor *tensor, uint64_t *bytes)
{
    *bytes = (uint64_t)husk_tensor_extent(tensor);
    char *host = malloc(*bytes);
    test_ok(husk_buffer_read(test_queue(), tensor->buffer, (uint64_t)tensor->offset * husk_dtype_size(tensor->dtype),
                             *bytes, host));
    return host;
}

static bool same_tensor(const husk_tensor *a, const husk_tensor *b)
{
    uint64_t bytes[2];
    if (!a->buffer || !b->buffer)
        return !a->buffer && !b->buffer;
    char *x = bits_of(a, &bytes[0]), *y = bits_of(b, &bytes[1]);
    bool same = bytes[0] == bytes[1] && memcmp(x, y, bytes[0]) == 0;
    free(x);
    free(y);
    return same;
}

// The first that differs of parameters, statistics, states, and how far both have come; NULL: none.
static const char *first_difference(const run *a, const run *b)
{
    husk_parameter x = HUSK_PARAMETER(), y = HUSK_PARAMETER();
    husk_graph_position p = husk_graph_get_position(a->graph), q = husk_graph_get_position(b->graph);
    husk_feed_position f = husk_feed_tell(a->feed), g = husk_feed_tell(b->feed);
    if (p.updates != q.updates || p.batches != q.batches)
        return "the position";
    if (f.epoch != g.epoch || f.batch != g.batch)
        return "the feed's position";
    ck_assert_uint_eq(husk_graph_parameter_count(a->graph), husk_graph_parameter_count(b->graph));
    for (size_t i = 0; i < husk_graph_parameter_count(a->graph); i++) {
        test_graph_ok(a->graph, husk_graph_parameter_at(a->graph, i, &x));
        test_graph_ok(b->graph, husk_graph_parameter_at(b->graph, i, &y));
        bool same = same_tensor(&x.tensor, &y.tensor);
        for (int s = 0; s < 3; s++)
            same = same && same_tensor(&x.states[s], &y.states[s]);
        if (!same)
            return x.name;
    }
    return NULL;
}

static void expect_same(const run *a, const run *b)
{
    const char *name = first_difference(a, b);
    ck_assert_msg(name == NULL, "%s differs", name);
}

// ---- the same bits ----

START_TEST(a_resumed_run_has_the_same_bits)
{
    // Across the end of an epoch (89 batches), in the middle of a step, and with a rate that was changed.
    static const struct {
        uint32_t accumulate;
        int64_t before, after;
    } cases[] = {{1, 86, 6}, {3, 7, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        network n = usual;
        n.accumulate = cases[i].accumulate;
        run straight = begin(&n);
        test_digits_train(straight.graph, straight.feed, cases[i].before - 2);
        test_graph_ok(straight.graph, husk_graph_set_rate(straight.graph, 1e-3f));
        test_digits_train(straight.graph, straight.feed, 2);
        save(&straight);
        n.seed = 77; // seed, rate and place are the file's
        n.rate = 0.5f;
        run resumed = begin(&n);
        ck_assert_ptr_nonnull(first_difference(&straight, &resumed));
        resume(&resumed);
        expect_same(&straight, &resumed);
        test_digits_train(straight.graph, straight.feed, cases[i].after);
        test_digits_train(resumed.graph, resumed.feed, cases[i].after);
        expect_same(&straight, &resumed);
        end(&straight);
        end(&resumed);
    }
}
END_TEST

// ---- what is in the file ----

START_TEST(names_and_metadata_are_what_the_header_says)
{
    static const char *const plain[] = {"conv.weight",    "bn.weight", "bn.bias", "bn.running_mean",
                                        "bn.running_var", "fc.weight", "fc.bias"};
    static const char *const trained[] = {"conv.weight", "bn.weight", "bn.bias", "fc.weight", "fc.bias"};
    static const uint8_t words[] = "words\none\n";
    const husk_safetensors_item extra = {"words", words,
                                         husk_tensor_make(NULL, HUSK_U8, 1, (int64_t[]){sizeof words - 1})};
    const husk_safetensors_pair pair = {"schedule", "cosine 17"};
    run r = begin(&usual);
    test_digits_train(r.graph, r.feed, 3);
    husk_save_params params =
        HUSK_SAVE_PARAMS(.feed = r.feed, .tensors = &extra, .tensor_count = 1, .metadata = &pair, .metadata_count = 1);
    test_ok_error(husk_graph_save(r.graph, path, &params, &error), &error);
    husk_safetensors *file = opened();
    husk_safetensors_entry entry;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        ck_assert(husk_safetensors_find(file, plain[i], &entry));
        float in_file[1280], in_graph[1280];
        ck_assert_uint_le(entry.bytes, sizeof in_file);
        test_ok_error(husk_safetensors_read(file, plain[i], in_file, entry.bytes, &error), &error);
        test_graph_ok(r.graph, husk_graph_read(r.graph, plain[i], in_graph, entry.bytes));
        ck_assert_mem_eq(in_file, in_graph, entry.bytes);
    }
    for (size_t i = 0; i < sizeof trained / sizeof *trained; i++)
        for (int s = 0; s < 2; s++) {
            char name[100];
            snprintf(name, sizeof name, "husk.optimizer.%s.%s", s ? "second" : "first", trained[i]);
            ck_assert_msg(husk_safetensors_find(file, name, NULL), "%s is not there", name);
        }
    ck_assert_uint_eq(husk_safetensors_count(file), 7 + 2 * 5 + 2);
    static const struct {
        const char *key, *value;
    } said[] = {{"husk.checkpoint", "1"}, {"husk.optimizer", "adam"}, {"husk.updates", "3"},
                {"husk.batches", "3"},    {"husk.seed", "5"},         {"husk.feed.epoch", "0"},
                {"husk.feed.batch", "3"}, {"format", "pt"},           {"schedule", "cosine 17"}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const char *value = husk_safetensors_metadata(file, said[i].key);
        ck_assert_msg(value && strcmp(value, said[i].value) == 0, "%s: %s", said[i].key, value);
    }
    ck_assert_ptr_null(husk_safetensors_metadata(file, "husk.pending"));
    uint8_t read[sizeof words];
    test_ok_error(husk_safetensors_read(file, HUSK_CHECKPOINT_EXTRA "words", read, sizeof words - 1, &error), &error);
    ck_assert_mem_eq(read, words, sizeof words - 1);
    husk_safetensors_close(file);
    run other = begin(&usual);
    resume(&other); // what the caller added is in nobody's way
    expect_same(&r, &other);
    end(&other);

    // Weights alone: parameters, statistics, what the caller adds, and no "format" beside the caller's.
    const husk_safetensors_pair format = {"format", "np"};
    params = HUSK_SAVE_PARAMS(.weights_only = 1, .metadata = &format, .metadata_count = 1);
    test_ok_error(husk_graph_save(r.graph, path, &params, &error), &error);
    file = opened();
    ck_assert_uint_eq(husk_safetensors_count(file), 7);
    ck_assert_ptr_null(husk_safetensors_metadata(file, "husk.checkpoint"));
    ck_assert_str_eq(husk_safetensors_metadata(file, "format"), "np");
    husk_safetensors_close(file);
    end(&r);
}
END_TEST

// ---- what is refused ----

// All that a checkpoint has of a run, as bytes; free.
static char *snapshot(run *of, size_t *size)
{
    char other[200];
    snprintf(other, sizeof other, "%s/snapshot", folder);
    test_ok_error(husk_graph_save(of->graph, other, &HUSK_SAVE_PARAMS(.feed = of->feed), &error), &error);
    FILE *file = fopen(other, "rb");
    ck_assert_ptr_nonnull(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size);
    ck_assert_uint_eq(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

// The file is refused with these words, and graph and feed are as they were.
static void expect_refused(run *into, const husk_load_params *params, const char *words)
{
    size_t size, size_after;
    char *before = snapshot(into, &size);
    memset(&error, 0, sizeof error);
    const husk_status status = load(into, params, NULL);
    ck_assert_msg(status == HUSK_INVALID_ARGUMENT && error.status == status, "%s: status %d: %s", words, status,
                  error.text);
    ck_assert_msg(strncmp(error.text, "husk_graph_load: ", 17) == 0 && strstr(error.text, words),
                  "\"%s\" is not in: %s", words, error.text);
    char *after = snapshot(into, &size_after);
    ck_assert_msg(size == size_after && memcmp(before, after, size) == 0, "%s: something has changed", words);
    free(before);
    free(after);
}

START_TEST(another_network_is_refused_by_its_names)
{
    static const struct {
        network of;
        husk_load_mode mode;
        const char *words;
    } cases[] = {
        {{.filters = 4, .classes = 10, .optimizer = HUSK_OPTIMIZER_ADAM},
         HUSK_LOAD_RESUME,
         "14 of its tensors are not what the graph has (conv.weight: F32 [4, 1, 3, 3], for F32 [8, 1, 3, 3], "
         "bn.weight: F32 [4], for F32 [8], bn.bias"},
        {{.filters = 8, .classes = 10, .head = "head"},
         HUSK_LOAD_WEIGHTS,
         "2 of the graph's tensors are not in it (fc.weight, fc.bias); 2 of its tensors are not the graph's "
         "(head.bias, head.weight)"},
        {{.filters = 8, .classes = 3},
         HUSK_LOAD_MATCHING,
         "2 of its tensors are not what the graph has (fc.weight: F32 [3, 128], for F32 [10, 128], fc.bias: F32 [3], "
         "for F32 [10])"},
        {{.filters = 8, .classes = 10, .optimizer = HUSK_OPTIMIZER_ADAM, .frozen = {"conv"}},
         HUSK_LOAD_RESUME,
         "2 of the graph's tensors are not in it (husk.optimizer.first.conv.weight, "
         "husk.optimizer.second.conv.weight)"},
        {{.filters = 8, .classes = 10, .optimizer = HUSK_OPTIMIZER_SGD},
         HUSK_LOAD_RESUME,
         "its optimizer is \"sgd\", and the graph's is \"adam\""},
        {{.filters = 8, .classes = 10, .no_optimizer = 1},
         HUSK_LOAD_RESUME,
         "its optimizer is \"none\", and the graph's is \"adam\""},
    };
    run into = begin(&usual);
    test_digits_train(into.graph, into.feed, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run other = begin(&cases[i].of);
        save(&other);
        end(&other);
        expect_refused(&into, &HUSK_LOAD_PARAMS(.mode = cases[i].mode), cases[i].words);
    }
    network n = usual;
    n.accumulate = 4;
    run other = begin(&n);
    test_digits_train(other.graph, other.feed, 1);
    save(&other);
    end(&other);
    expect_refused(&into, NULL, "1 of 4 batches of a step, and a step of the graph has 1");
    test_ok_error(husk_graph_save(into.graph, path, &HUSK_SAVE_PARAMS(.weights_only = 1), &error), &error);
    expect_refused(&into, NULL, "no husk.checkpoint: nothing can be resumed");
    test_ok_error(husk_graph_save(into.graph, path, NULL, &error), &error);
    expect_refused(&into, &HUSK_LOAD_PARAMS(.feed = into.feed), "no husk.feed.epoch");
    end(&into);
}
END_TEST

// The file once more, with another text for a key (NULL: without it), and without one tensor, or with it as another.
static void rewrite(const char *key, const char *value, const char *tensor, const husk_safetensors_item *instead)
{
    enum { MOST = 40 };
    husk_safetensors *file = opened();
    husk_safetensors_item items[MOST];
    husk_safetensors_pair pairs[MOST];
    size_t count = 0, pair_count = 0;
    for (size_t i = 0; i < husk_safetensors_count(file); i++) {
        husk_safetensors_entry e;
        husk_safetensors_get(file, i, &e);
        if (tensor && strcmp(e.name, tensor) == 0)
            continue;
        void *host = malloc(e.bytes);
        test_ok_error(husk_safetensors_read(file, e.name, host, e.bytes, &error), &error);
        items[count++] =
            (husk_safetensors_item){e.name, host, husk_tensor_make(NULL, (husk_dtype)e.dtype, e.rank, e.shape)};
    }
    size_t own = count;
    if (instead)
        items[count++] = *instead;
    for (size_t i = 0; husk_safetensors_metadata_get(file, i, &pairs[pair_count].key, &pairs[pair_count].value); i++) {
        if (strcmp(pairs[pair_count].key, "husk.xxh3") == 0 || strcmp(pairs[pair_count].key, "husk.header") == 0 ||
            (key && strcmp(pairs[pair_count].key, key) == 0))
            continue;
        pair_count++;
    }
    if (value)
        pairs[pair_count++] = (husk_safetensors_pair){key, value};
    char other[200];
    snprintf(other, sizeof other, "%s/rewritten", folder);
    test_ok_error(husk_safetensors_write(other, NULL, items, count, pairs, pair_count, &error), &error);
    for (size_t i = 0; i < own; i++)
        free((void *)(uintptr_t)items[i].host);
    husk_safetensors_close(file);
    ck_assert_int_eq(rename(other, path), 0);
}

START_TEST(hostile_checkpoints_are_refused)
{
    static const double infinite = INFINITY, two[2] = {1, 2};
    const husk_safetensors_item rates[] = {{"husk.rate", &infinite, husk_tensor_make(NULL, HUSK_F64, 0, NULL)},
                                           {"husk.rate", two, husk_tensor_make(NULL, HUSK_F64, 1, (int64_t[]){2})},
                                           {"husk.rate", two, husk_tensor_make(NULL, HUSK_F32, 0, NULL)}};
    const husk_safetensors_item more = {"husk.gradient.fc.bias", two,
                                        husk_tensor_make(NULL, HUSK_F32, 1, (int64_t[]){2})};
    const struct {
        const char *key, *value, *tensor;
        const husk_safetensors_item *instead;
        const char *words;
    } cases[] = {
        {"husk.checkpoint", "2", NULL, NULL, "\"2\" as husk.checkpoint"},
        {"husk.updates", NULL, NULL, NULL, "no husk.updates"},
        {"husk.updates", "", NULL, NULL, "\"\" as husk.updates"},
        {"husk.updates", "-1", NULL, NULL, "\"-1\" as husk.updates"},
        {"husk.batches", "3 ", NULL, NULL, "\"3 \" as husk.batches"},
        {"husk.seed", "18446744073709551616", NULL, NULL, "as husk.seed"},
        {"husk.optimizer", NULL, NULL, NULL, "no husk.optimizer"},
        {"husk.pending", "1", NULL, NULL, "no husk.accumulate"},
        {"husk.feed.batch", "89", NULL, NULL, "batch 89 of epoch 0, and an epoch of this one has 89"},
        {"husk.feed.epoch", "18446744073709551615", NULL, NULL, "and an epoch of this one has 89"},
        {NULL, NULL, "husk.rate", NULL, "no tensor husk.rate"},
        {NULL, NULL, "husk.rate", &rates[0], "not finite"},
        {NULL, NULL, "husk.rate", &rates[1], "no tensor husk.rate"},
        {NULL, NULL, "husk.rate", &rates[2], "no tensor husk.rate"},
        {NULL, NULL, "bn.running_var", NULL, "1 of the graph's tensors is not in it (bn.running_var)"},
        {NULL, NULL, NULL, &more, "1 of its tensors is not the graph's (husk.gradient.fc.bias)"},
    };
    run into = begin(&usual);
    test_digits_train(into.graph, into.feed, 2);
    run saved = begin(&usual);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        save(&saved);
        rewrite(cases[i].key, cases[i].value, cases[i].tensor, cases[i].instead);
        expect_refused(&into, &HUSK_LOAD_PARAMS(.feed = into.feed), cases[i].words);
    }
    // More batches of a step than it has, and none.
    static const char *const pending[] = {"5", "0"};
    network n = usual;
    n.accumulate = 4;
    run begun = begin(&n);
    test_digits_train(begun.graph, begun.feed, 1);
    for (int i = 0; i < 2; i++) {
        char words[40];
        save(&begun);
        rewrite("husk.pending", pending[i], NULL, NULL);
        snprintf(words, sizeof words, "\"%s\" as husk.pending", pending[i]);
        expect_refused(&into, NULL, words);
    }
    end(&begun);
    // A file that was cut off after it was opened.
    save(&saved);
    husk_safetensors *file = opened();
    ck_assert_int_eq(truncate(path, 4000), 0);
    size_t size, size_after;
    char *before = snapshot(&into, &size);
    ck_assert_int_eq(husk_graph_load(into.graph, file, NULL, NULL, &error), HUSK_IO);
    char *after = snapshot(&into, &size_after);
    ck_assert(size == size_after && memcmp(before, after, size) == 0);
    free(before);
    free(after);
    husk_safetensors_close(file);
    ck_assert_int_eq(husk_safetensors_open(path, NULL, &file, &error), HUSK_INVALID_ARGUMENT);
    end(&saved);
    end(&into);
}
END_TEST

// What is damaged in the header is never gone on from: neither other numbers, nor names, nor the checksums' own keys.
START_TEST(every_flipped_bit_of_a_header_is_refused)
{
    run saved = begin(&usual), into = begin(&usual);
    test_digits_train(saved.graph, saved.feed, 2);
    save(&saved);
    unsigned char byte, length[8];
    size_t size, size_after, header = 8, opens = 0, unverified = 0;
    const int descriptor = open(path, O_RDWR);
    ck_assert_int_eq(pread(descriptor, length, sizeof length, 0), sizeof length);
    for (int i = 0; i < 8; i++)
        header += (size_t)length[i] << 8 * i;
    char *before = snapshot(&into, &size);
    for (size_t bit = 0; bit < 8 * header; bit++) {
        husk_safetensors *file;
        ck_assert_int_eq(pread(descriptor, &byte, 1, (off_t)(bit / 8)), 1);
        const unsigned char flipped = (unsigned char)(byte ^ 1 << bit % 8);
        ck_assert_int_eq(pwrite(descriptor, &flipped, 1, (off_t)(bit / 8)), 1);
        husk_status status = husk_safetensors_open(path, NULL, &file, &error);
        if (!status) {
            opens++;
            status = husk_graph_load(into.graph, file, &HUSK_LOAD_PARAMS(.feed = into.feed), NULL, &error);
        }
        husk_safetensors_close(file);
        ck_assert_msg(status == HUSK_INVALID_ARGUMENT, "bit %zu of byte %zu, '%c': status %d", bit % 8, bit / 8, byte,
                      status);
        status = husk_safetensors_open(path, &HUSK_SAFETENSORS_PARAMS(.unverified = 1), &file, &error);
        if (!status) {
            unverified++;
            status = husk_graph_load(into.graph, file, &HUSK_LOAD_PARAMS(.feed = into.feed), NULL, &error);
        }
        husk_safetensors_close(file);
        ck_assert_msg(status == HUSK_INVALID_ARGUMENT, "unverified, bit %zu of byte %zu, '%c': status %d", bit % 8,
                      bit / 8, byte, status);
        ck_assert_int_eq(pwrite(descriptor, &byte, 1, (off_t)(bit / 8)), 1);
    }
    char *after = snapshot(&into, &size_after);
    ck_assert_msg(size == size_after && memcmp(before, after, size) == 0, "something has changed");
    printf("flipped: %zu bits of a header, %zu of which only loading refuses; unverified %zu\n", 8 * header, opens,
           unverified);
    ck_assert(unverified > opens);
    free(before);
    free(after);
    // A key that is none of Husk's: as a file that was written before there was a checksum of the header.
    ck_assert_int_eq(pwrite(descriptor, "?", 1, 8 + (off_t)strlen("{\"__metadata__\":{\"")), 1);
    expect_refused(&into, &HUSK_LOAD_PARAMS(.feed = into.feed), "no husk.header: nothing can be resumed");
    test_ok_error(load(&into, &HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS), NULL), &error);
    ck_assert_int_eq(pwrite(descriptor, "h", 1, 8 + (off_t)strlen("{\"__metadata__\":{\"")), 1);
    resume(&into); // all bits are as they were
    expect_same(&saved, &into);
    // Whole, and opened unverified: it is resumed from. With a number that is another one it gives its weights alone.
    husk_safetensors *file;
    const husk_safetensors_params unlooked = HUSK_SAFETENSORS_PARAMS(.unverified = 1);
    test_ok_error(husk_safetensors_open(path, &unlooked, &file, &error), &error);
    test_ok_error(husk_graph_load(into.graph, file, &HUSK_LOAD_PARAMS(.feed = into.feed), NULL, &error), &error);
    husk_safetensors_close(file);
    expect_same(&saved, &into);
    char *text = malloc(header + 1);
    ck_assert_int_eq(pread(descriptor, text, header, 0), (ssize_t)header);
    text[header] = 0;
    const char *updates = strstr(text + 8, "\"husk.updates\":\"2\"");
    ck_assert_ptr_nonnull(updates);
    ck_assert_int_eq(pwrite(descriptor, "7", 1, updates - text + (off_t)strlen("\"husk.updates\":\"")), 1);
    free(text);
    test_ok_error(husk_safetensors_open(path, &unlooked, &file, &error), &error);
    ck_assert_int_eq(husk_graph_load(into.graph, file, NULL, NULL, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, ": its header is not that of which husk.header is the checksum"), "%s",
                  error.text);
    ck_assert_uint_eq(husk_graph_get_position(into.graph).updates, 2);
    const husk_load_params weights = HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS);
    test_ok_error(husk_graph_load(into.graph, file, &weights, NULL, &error), &error);
    husk_safetensors_close(file);
    close(descriptor);
    end(&saved);
    end(&into);
}
END_TEST

START_TEST(wrong_calls_are_refused)
{
    static const husk_safetensors_item nameless = {.name = NULL}, wild = {.name = "w"};
    static const husk_safetensors_pair taken = {"husk.updates", "7"};
    const char *const nobody[] = {NULL}, *const all[] = {"conv", "bn", "fc"};
    run r = begin(&usual);
    save(&r);
    husk_safetensors *file = opened();
    husk_graph *empty = test_graph(HUSK_F32, 1);
    const struct {
        husk_graph *graph;
        const char *path;
        husk_save_params params;
        const char *words;
    } saves[] = {
        {NULL, path, HUSK_SAVE_PARAMS(), "graph: it is NULL"},
        {empty, path, HUSK_SAVE_PARAMS(), "graph: it is not compiled"},
        {r.graph, NULL, HUSK_SAVE_PARAMS(), "path: it is NULL"},
        {r.graph, path, {.size = 1000}, "params: size is 1000"},
        {r.graph, path, HUSK_SAVE_PARAMS(.weights_only = 1, .feed = r.feed), "params: feed"},
        {r.graph, path, HUSK_SAVE_PARAMS(.tensor_count = 1), "params: tensors: it is NULL"},
        {r.graph, path, HUSK_SAVE_PARAMS(.metadata_count = 1), "params: metadata: it is NULL"},
        {r.graph, path, HUSK_SAVE_PARAMS(.tensors = &nameless, .tensor_count = 1), "tensors[0]: its name is NULL"},
        {r.graph, path, HUSK_SAVE_PARAMS(.tensors = &wild, .tensor_count = 1), "\"husk.extra.w\": it has neither"},
        {r.graph, path, HUSK_SAVE_PARAMS(.metadata = &taken, .metadata_count = 1), "keys that begin with \"husk.\""},
    };
    for (size_t i = 0; i < sizeof saves / sizeof *saves; i++) {
        ck_assert_int_eq(husk_graph_save(saves[i].graph, saves[i].path, &saves[i].params, &error),
                         HUSK_INVALID_ARGUMENT);
        ck_assert_msg(strncmp(error.text, "husk_graph_save: ", 17) == 0 && strstr(error.text, saves[i].words),
                      "\"%s\" is not in: %s", saves[i].words, error.text);
    }
    const struct {
        husk_graph *graph;
        const husk_safetensors *file;
        husk_load_params params;
        const char *words;
    } loads[] = {
        {NULL, file, HUSK_LOAD_PARAMS(), "graph: it is NULL"},
        {empty, file, HUSK_LOAD_PARAMS(), "graph: it is not compiled"},
        {r.graph, NULL, HUSK_LOAD_PARAMS(), "file: it is NULL"},
        {r.graph, file, {.size = 1000}, "params: size is 1000"},
        {r.graph, file, HUSK_LOAD_PARAMS(.mode = (husk_load_mode)3), "params: mode"},
        {r.graph, file, HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS, .feed = r.feed), "params: feed"},
        {r.graph, file, HUSK_LOAD_PARAMS(.except = all, .except_count = 1), "params: except: RESUME"},
        {r.graph, file, HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS, .except_count = 1), "except: it is NULL"},
        {r.graph, file, HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS, .except = nobody, .except_count = 1),
         "one of its names is NULL"},
        {r.graph, file, HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_MATCHING, .except = all, .except_count = 3),
         "none of the graph's 7"},
    };
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        ck_assert_int_eq(husk_graph_load(loads[i].graph, loads[i].file, &loads[i].params, NULL, &error),
                         HUSK_INVALID_ARGUMENT);
        ck_assert_msg(strncmp(error.text, "husk_graph_load: ", 17) == 0 && strstr(error.text, loads[i].words),
                      "\"%s\" is not in: %s", loads[i].words, error.text);
    }
    ck_assert_int_eq(husk_graph_load(r.graph, file, NULL, NULL, NULL), HUSK_OK);
    ck_assert_int_eq(husk_graph_save(r.graph, path, NULL, NULL), HUSK_OK);
    husk_safetensors_close(file);
    husk_graph_release(empty);
    end(&r);
    network n = usual;
    n.head = "husk.fc";
    r = begin(&n);
    ck_assert_int_eq(husk_graph_save(r.graph, path, NULL, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, "its parameter \"husk.fc.weight\""), "%s", error.text);
    end(&r);
}
END_TEST

// ---- weights of other networks ----

static char *parameter_bits(run *of, const char *name, uint64_t *bytes)
{
    husk_tensor tensor;
    test_graph_ok(of->graph, husk_graph_tensor(of->graph, name, &tensor));
    return bits_of(&tensor, bytes);
}

START_TEST(a_new_head_learns_on_frozen_layers)
{
    static const char *const kept[] = {"conv.weight", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"};
    run teacher = begin(&usual);
    test_digits_train(teacher.graph, teacher.feed, 150);
    save(&teacher);
    network n = usual;
    n.frozen[0] = "conv";
    n.frozen[1] = "bn";
    n.seed = 6;
    const char *const head = "fc";
    for (int way = 0; way < 2; way++) {
        // The head under its name, left out by it; and under another one, which the file has not.
        n.head = way ? "head" : NULL;
        husk_load_params params = way ? HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_MATCHING)
                                      : HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS, .except = &head, .except_count = 1);
        run student = begin(&n);
        uint64_t bytes;
        char *before = parameter_bits(&student, way ? "head.weight" : "fc.weight", &bytes);
        husk_load_counts counts;
        test_ok_error(load(&student, &params, &counts), &error);
        ck_assert_uint_eq(counts.loaded, 5);
        ck_assert_uint_eq(counts.absent, way ? 2 : 0);
        ck_assert_uint_eq(counts.unused, way ? 2 : 0);
        ck_assert_uint_eq(husk_graph_get_position(student.graph).updates, 0);
        char *after = parameter_bits(&student, way ? "head.weight" : "fc.weight", &bytes);
        ck_assert_mem_eq(before, after, bytes);
        free(before);
        free(after);
        double untrained = test_digits_accuracy(student.graph, asked, BATCH);
        test_digits_train(student.graph, student.feed, 150);
        double trained = test_digits_accuracy(student.graph, asked, BATCH);
        printf("a new head: %.1f%%, %.1f%% after 150 batches\n", untrained, trained);
        ck_assert(untrained < 40 && trained > 80);
        for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
            char *wanted = parameter_bits(&teacher, kept[i], &bytes),
                 *found = parameter_bits(&student, kept[i], &bytes);
            ck_assert_msg(memcmp(wanted, found, bytes) == 0, "%s has moved", kept[i]);
            free(wanted);
            free(found);
        }
        end(&student);
    }
    end(&teacher);
}
END_TEST

START_TEST(weights_alone_leave_the_optimizer)
{
    run saved = begin(&usual);
    test_digits_train(saved.graph, saved.feed, 3);
    save(&saved);
    network n = usual;
    n.no_optimizer = 1; // a graph that is only asked takes a checkpoint's weights
    run plain = begin(&n);
    husk_load_counts counts;
    test_ok_error(load(&plain, &HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS), &counts), &error);
    ck_assert(counts.loaded == 7 && counts.absent == 0 && counts.unused == 0);
    ck_assert_uint_eq(husk_graph_get_position(plain.graph).batches, 0);
    ck_assert(test_digits_accuracy(plain.graph, asked, BATCH) == test_digits_accuracy(saved.graph, asked, BATCH));
    // A forward that was done before is of no use.
    test_graph_ok(plain.graph, husk_graph_forward(plain.graph, HUSK_GRAPH_TRAINING));
    test_ok_error(load(&plain, &HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS), NULL), &error);
    ck_assert_int_eq(husk_graph_backward(plain.graph), HUSK_INVALID_ARGUMENT);
    end(&plain);
    end(&saved);
}
END_TEST

// ---- bad weather ----

START_TEST(a_file_that_may_not_grow_leaves_the_old_one)
{
    struct rlimit before;
    run r = begin(&usual);
    test_digits_train(r.graph, r.feed, 2);
    save(&r);
    size_t size;
    char *wanted = snapshot(&r, &size);
    run next = begin(&usual);
    resume(&next);
    test_digits_train(next.graph, next.feed, 1);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit less = {size / 2, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &less), 0);
    husk_status status = husk_graph_save(next.graph, path, NULL, &error);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_int_eq(status, HUSK_IO);
    ck_assert_msg(strstr(error.text, path) && strstr(error.text, "what was there stays"), "%s", error.text);
    ck_assert_int_ne(access(part, F_OK), 0);
    run resumed = begin(&usual);
    resume(&resumed);
    expect_same(&r, &resumed);
    free(wanted);
    end(&r);
    end(&next);
    end(&resumed);
}
END_TEST

static pid_t start_training(int *pipe_end)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", ends[1]);
        close(ends[0]);
        setenv("HUSK_TEST_SAVED", number, 1);
        setenv("CK_VERBOSITY", "minimal", 1);
        unsetenv("CK_RUN_CASE");
        execl("/proc/self/exe", "train", "--train", path, (char *)NULL);
        _exit(99);
    }
    ck_assert_int_gt(child, 0);
    close(ends[1]);
    *pipe_end = ends[0];
    return child;
}

START_TEST(a_killed_run_goes_on_with_the_same_bits)
{
    const int kills = test_tier_is("train") ? 100 : 3;
    husk_ref_random draw = {.seed = 11};
    test_close_device(); // the binaries of its programs are kept when it goes: those that are killed load them
    run found = begin(&usual);
    uint64_t last = 0;
    int parts = 0;
    for (int i = 0; i < kills; i++) {
        int saved, status;
        char byte;
        const pid_t child = start_training(&saved);
        ck_assert_msg(read(saved, &byte, 1) == 1, "the program has ended before its first checkpoint");
        const struct timespec moment = {.tv_nsec = 1000 * husk_ref_random_below(&draw, 60000)};
        nanosleep(&moment, NULL);
        ck_assert_int_eq(kill(child, SIGKILL), 0);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(WIFSIGNALED(status));
        close(saved);
        parts += access(part, F_OK) == 0;
        resume(&found); // whole, or this fails
        const uint64_t batches = husk_graph_get_position(found.graph).batches;
        ck_assert_msg(batches > last, "kill %d: batch %llu after batch %llu", i, (unsigned long long)batches,
                      (unsigned long long)last);
        last = batches;
    }
    printf("killed: %d runs, %d of them while a checkpoint was written; %llu batches\n", kills, parts,
           (unsigned long long)last);
    run straight = begin(&usual);
    test_digits_train(straight.graph, straight.feed, (int64_t)last);
    expect_same(&straight, &found);
    end(&straight);
    end(&found);
}
END_TEST

// ---- as a program ----

// Saves after every batch, and says so to a pipe.
static void train_and_save(const char *file_name, long batches)
{
    const char *pipe_end = getenv("HUSK_TEST_SAVED");
    snprintf(path, sizeof path, "%s", file_name);
    test_digits_open(&learnt, &asked);
    run r = begin(&usual);
    if (access(path, F_OK) == 0)
        resume(&r);
    for (long b = 0; batches < 0 || b < batches; b++) {
        test_digits_train(r.graph, r.feed, 1);
        save(&r);
        if (pipe_end && write(atoi(pipe_end), "", 1) != 1)
            break;
    }
    end(&r);
}

static void copy_weights(const char *from, const char *to)
{
    snprintf(path, sizeof path, "%s", from);
    test_digits_open(&learnt, &asked);
    run r = begin(&usual);
    test_ok_error(load(&r, &HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS), NULL), &error);
    test_ok_error(husk_graph_save(r.graph, to, &HUSK_SAVE_PARAMS(.weights_only = 1), &error), &error);
    end(&r);
}

static const char *const *given;

START_TEST(program)
{
    if (strcmp(given[1], "--train") == 0)
        train_and_save(given[2], given[3] ? atol(given[3]) : -1);
    else
        copy_weights(given[2], given[3]);
    husk_dataset_release(learnt);
    husk_dataset_release(asked);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("checkpoint");
    TCase *tests = tcase_create("all");
    suite_add_tcase(suite, tests);
    if (argc > 2) {
        given = (const char *const *)(uintptr_t)argv;
        tcase_add_test(tests, program); // so that what fails is said
        return test_main(suite);
    }
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 0);
    tcase_add_test(tests, a_resumed_run_has_the_same_bits);
    tcase_add_test(tests, names_and_metadata_are_what_the_header_says);
    tcase_add_test(tests, another_network_is_refused_by_its_names);
    tcase_add_test(tests, hostile_checkpoints_are_refused);
    tcase_add_test(tests, every_flipped_bit_of_a_header_is_refused);
    tcase_add_test(tests, wrong_calls_are_refused);
    tcase_add_test(tests, a_new_head_learns_on_frozen_layers);
    tcase_add_test(tests, weights_alone_leave_the_optimizer);
    tcase_add_test(tests, a_file_that_may_not_grow_leaves_the_old_one);
    tcase_add_test(tests, a_killed_run_goes_on_with_the_same_bits);
    return test_main(suite);
}
