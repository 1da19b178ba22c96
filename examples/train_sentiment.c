// SPDX-License-Identifier: MIT
// Classes of texts: an embedding and a bidirectional LSTM. FOLDER is IMDb's, with train and test, and neg and pos in
// each: is a review a good one? Without it the texts are the descriptions of the packages that dpkg knows on this
// machine: is it a shared library (section libs)? Of those that begin with the same words one is taken; 80% are learnt,
// and the others asked. Exit status 0 if more texts are known than by always saying the more frequent class, 1 if not,
// 2 after a failure.
//     train_sentiment [--seed N] [--steps N] [--packages FILE] [--log FILE] [FOLDER]
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/train.h>

enum { BATCH = 32, LENGTH = 64, WORDS = 8000, FEATURES = 48, HIDDEN = 48, EPOCHS = 8, CLASSES = 2 };

static husk_error error;

static void ok(husk_status status, const husk_error *of)
{
    if (status) {
        fprintf(stderr, "%s\n", of->text);
        exit(2);
    }
}

// ---- texts ----

// dpkg's file: paragraphs of "Field: value" lines, which lines that begin with a blank go on with.
static void add_package(husk_corpus *corpus, const char *paragraph, size_t bytes)
{
    char section[64] = "";
    const char *end = paragraph + bytes, *next, *text = NULL, *past = NULL;
    for (const char *line = paragraph; line < end; line = next) {
        next = memchr(line, '\n', (size_t)(end - line));
        next = next ? next + 1 : end;
        if (strncmp(line, "Section: ", 9) == 0)
            snprintf(section, sizeof section, "%.*s", (int)(next - line - 10), line + 9);
        if (strncmp(line, "Description: ", 13) == 0)
            text = line + 13;
        else if (line[0] != ' ' && text && !past)
            past = line;
    }
    const char *name = strrchr(section, '/') ? strrchr(section, '/') + 1 : section; // "contrib/libs"
    if (text && *section)
        ok(husk_corpus_add(corpus, text, (uint64_t)((past ? past : end) - text), strcmp(name, "libs") == 0, &error),
           &error);
}

// Four fifths of the texts by chance, and the others. Of those that begin with the same LENGTH words, as versions of
// one library do, only the first is taken: what has been learnt is not to be asked.
static void split(const husk_corpus *all, uint64_t seed, husk_corpus *parts[2])
{
    const int64_t count = husk_corpus_count(all);
    husk_array ids = {0}, labels = {0};
    husk_array taken = {HUSK_I32, 1, {0}, 0, malloc(sizeof(int32_t) * (size_t)(count + 1))};
    int32_t *place = malloc(sizeof *place * (size_t)(count + 1)), *number = taken.data;
    husk_vocabulary *words;
    husk_dataset *whole_set, *halves[2];
    if (!place || !number)
        exit(2);
    ok(husk_vocabulary_create_words(all, INT32_MAX, &words, &error), &error);
    ok(husk_corpus_encode(all, words, LENGTH, &ids, &labels, &error), &error);
    for (int64_t i = 0; i < count; i++) {
        const int32_t *row = (const int32_t *)ids.data + i * LENGTH;
        int64_t same = 0;
        while (same < taken.shape[0] &&
               memcmp(row, (const int32_t *)ids.data + number[same] * LENGTH, sizeof *row * LENGTH) != 0)
            same++;
        if (same == taken.shape[0])
            number[taken.shape[0]++] = (int32_t)i;
    }
    taken.bytes = sizeof *number * (uint64_t)taken.shape[0];
    ok(husk_dataset_create(&taken, NULL, NULL, &whole_set, &error), &error);
    ok(husk_dataset_split(whole_set, 0.8, seed, &halves[0], &halves[1], &error), &error);
    for (int p = 0; p < 2; p++) {
        const int64_t size = husk_dataset_count(halves[p]);
        ok(husk_corpus_create(&parts[p], &error), &error);
        ok(husk_dataset_read(halves[p], 0, size, place, NULL, &error), &error);
        for (int64_t i = 0; i < size; i++) {
            uint64_t bytes;
            int32_t label;
            const char *text = husk_corpus_get(all, place[i], &bytes, &label);
            ok(husk_corpus_add(parts[p], text, bytes, label, &error), &error);
        }
        husk_dataset_release(halves[p]);
    }
    husk_dataset_release(whole_set);
    husk_vocabulary_release(words);
    husk_array_release(&ids);
    husk_array_release(&labels);
    free(place);
}

static void read_packages(const char *path, uint64_t seed, husk_corpus *parts[2])
{
    husk_corpus *corpus;
    husk_array file = {0};
    ok(husk_text_read(path, &file, &error), &error);
    ok(husk_corpus_create(&corpus, &error), &error);
    char *all = calloc(1, file.bytes + 1); // with a zero at its end
    if (!all)
        exit(2);
    memcpy(all, file.data, file.bytes);
    for (char *at = all, *next; *at; at = next) {
        char *end = strstr(at, "\n\n");
        next = end ? end + 2 : at + strlen(at);
        add_package(corpus, at, (size_t)(next - at));
    }
    free(all);
    husk_array_release(&file);
    split(corpus, seed, parts);
    husk_corpus_release(corpus);
}

static husk_corpus *read_reviews(const char *folder, const char *part)
{
    const char *const names[] = {"neg", "pos"};
    char path[4096];
    husk_corpus *corpus;
    snprintf(path, sizeof path, "%s/%s", folder, part);
    ok(husk_corpus_read_folder(path, names, 2, &corpus, &error), &error);
    return corpus;
}

static husk_dataset *encode(const husk_corpus *corpus, const husk_vocabulary *vocabulary)
{
    husk_array ids = {0}, labels = {0};
    husk_dataset *dataset;
    husk_dataset_params params = HUSK_DATASET_PARAMS(.classes = CLASSES, .ids = husk_vocabulary_size(vocabulary));
    ok(husk_corpus_encode(corpus, vocabulary, LENGTH, &ids, &labels, &error), &error);
    ok(husk_dataset_create(&ids, &labels, &params, &dataset, &error), &error);
    return dataset;
}

// ---- the network ----

// Words as vectors, an LSTM in both directions, the largest of each of its outputs over the text, a linear layer.
static husk_value build(husk_graph *graph, int64_t words)
{
    husk_rnn_params lstm = HUSK_RNN_PARAMS(.cell = HUSK_RNN_LSTM, .hidden_size = HIDDEN, .bidirectional = 1);
    husk_reduce_params over_steps = HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_MAX, .axis_count = 1, .axes = {-3});
    husk_initializer small = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_NORMAL, .spread = 0.1f);
    husk_value ids = husk_graph_input(graph, "ids", HUSK_I32, 2, (int64_t[]){BATCH, LENGTH});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){BATCH});
    husk_value steps = husk_graph_copy(graph, "steps", husk_graph_permute(graph, NULL, ids, (int32_t[]){1, 0}));
    husk_value x = husk_graph_embedding_layer(
        graph, "words", &HUSK_EMBEDDING_LAYER(.rows = words, .columns = FEATURES, .weight = &small), steps);
    x = husk_graph_dropout(graph, "dropout1", &HUSK_DROPOUT_PARAMS(.p = 0.5f), x);
    x = husk_graph_rnn_layer(graph, "lstm", &HUSK_RNN_LAYER(.params = &lstm), x, HUSK_NO_VALUE, NULL, NULL);
    x = husk_graph_reduce(graph, "largest", &over_steps, x);
    x = husk_graph_dropout(graph, "dropout2", &HUSK_DROPOUT_PARAMS(.p = 0.5f), x);
    x = husk_graph_linear(graph, "fc", &HUSK_LINEAR_LAYER(.outputs = CLASSES), x);
    husk_graph_output(graph, "logits", x);
    return husk_graph_loss(graph, "loss", NULL, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

static void next_batch(husk_graph *graph, husk_feed *feed, husk_batch *batch)
{
    ok(husk_feed_next(feed, husk_graph_queue(graph), batch, &error), &error);
    ok(husk_graph_write_tensor(graph, "ids", &batch->inputs), husk_graph_error(graph));
    ok(husk_graph_write_tensor(graph, "labels", &batch->labels), husk_graph_error(graph));
}

// One pass over a feed. Learning or asking, the scores are counted.
static husk_metrics_report pass(husk_graph *graph, husk_feed *feed, husk_metrics *metrics, bool learns, uint64_t most)
{
    husk_metrics_report report = HUSK_METRICS_REPORT();
    husk_batch batch = {0};
    husk_tensor logits, labels;
    ok(husk_graph_tensor(graph, "logits", &logits), husk_graph_error(graph));
    ok(husk_graph_tensor(graph, "labels", &labels), husk_graph_error(graph));
    husk_metrics_reset(metrics);
    for (uint64_t step = 0; step < most && !batch.is_last; step++) {
        next_batch(graph, feed, &batch);
        ok(learns ? husk_graph_step(graph) : husk_graph_forward(graph, HUSK_GRAPH_EVALUATION), husk_graph_error(graph));
        ok(husk_metrics_add(metrics, husk_graph_queue(graph), &logits, &labels, batch.count, &error), &error);
    }
    ok(husk_metrics_read(metrics, husk_graph_queue(graph), &report, &error), &error);
    return report;
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
    fprintf(stderr, "%s [--seed N] [--steps N] [--packages FILE] [--log FILE] [FOLDER]\n", program);
    return 2;
}

int main(int count, char **arguments)
{
    const char *packages = "/var/lib/dpkg/status", *folder = NULL, *log_path = NULL;
    uint64_t seed = 1, steps = UINT64_MAX;
    for (int i = 1; i < count; i++) {
        if (strncmp(arguments[i], "--", 2) != 0) {
            if (folder)
                return usage(arguments[0]);
            folder = arguments[i];
            continue;
        }
        if (i + 1 == count)
            return usage(arguments[0]);
        const char *option = arguments[i], *value = arguments[++i];
        if (strcmp(option, "--seed") == 0)
            seed = whole(option, value);
        else if (strcmp(option, "--steps") == 0)
            steps = whole(option, value);
        else if (strcmp(option, "--packages") == 0)
            packages = value;
        else if (strcmp(option, "--log") == 0)
            log_path = value;
        else
            return usage(arguments[0]);
    }

    husk_corpus *texts[2]; // to learn, and to be asked about
    if (folder) {
        texts[0] = read_reviews(folder, "train");
        texts[1] = read_reviews(folder, "test");
    } else
        read_packages(packages, seed, texts);
    husk_vocabulary *vocabulary;
    ok(husk_vocabulary_create_words(texts[0], WORDS, &vocabulary, &error), &error);
    husk_dataset *learnt = encode(texts[0], vocabulary), *asked = encode(texts[1], vocabulary);
    printf("%lld texts to learn, %lld to be asked about, %lld words\n", (long long)husk_dataset_count(learnt),
           (long long)husk_dataset_count(asked), (long long)husk_vocabulary_size(vocabulary));

    husk_context *context;
    husk_graph *graph;
    husk_feed *learning, *asking;
    husk_metrics *metrics;
    husk_optimizer_params adam = husk_adam(2e-3);
    ok(husk_context_create(NULL, NULL, &context, &error), &error);
    ok(husk_feed_create(context, learnt, &HUSK_FEED_PARAMS(.batch = BATCH, .seed = seed), &learning, &error), &error);
    ok(husk_feed_create(context, asked, &HUSK_FEED_PARAMS(.batch = BATCH, .in_order = 1, .keep_partial = 1), &asking,
                        &error),
       &error);
    ok(husk_graph_create(context, &HUSK_GRAPH_PARAMS(.seed = seed), &graph, &error), &error);
    husk_value loss = build(graph, husk_vocabulary_size(vocabulary));
    ok(husk_graph_compile(graph, &HUSK_GRAPH_OPTIONS(.loss = loss, .optimizer = &adam, .clip_norm = 1), &error),
       &error);
    ok(husk_metrics_create(context, &HUSK_METRICS_PARAMS(.classes = CLASSES, .rows = BATCH, .confusion = 1), &metrics,
                           &error),
       &error);

    const char *const columns[] = {"epoch", "loss", "accuracy", "accuracy_of_others"};
    husk_log *log = NULL;
    husk_stopping stopping = {0};
    if (log_path)
        ok(husk_log_open(log_path, &HUSK_LOG_PARAMS(.columns = columns, .count = 4), &log, &error), &error);
    husk_metrics_report others = {0};
    for (uint64_t epoch = 1; epoch <= EPOCHS && steps > 0 && !stopping.stop; epoch++) {
        husk_metrics_report own = pass(graph, learning, metrics, true, steps);
        others = pass(graph, asking, metrics, false, UINT64_MAX);
        printf("epoch %llu: loss %.4f, %.2f%% known; of the others %.2f%%\n", (unsigned long long)epoch,
               own.cross_entropy, 100 * own.accuracy, 100 * others.accuracy);
        const double row[] = {(double)epoch, own.cross_entropy, own.accuracy, others.accuracy};
        if (log)
            ok(husk_log_write(log, row, &error), &error);
        ok(husk_stopping_step(&HUSK_STOPPING_PARAMS(.patience = 3), &stopping, epoch, others.cross_entropy, &error),
           &error);
        uint64_t batches = (uint64_t)husk_feed_batches(learning);
        steps -= steps < batches ? steps : batches;
    }
    husk_log_close(log);

    int64_t counts[CLASSES * CLASSES];
    husk_class_score scores[CLASSES];
    ok(husk_metrics_read_confusion(metrics, husk_graph_queue(graph), counts, &error), &error);
    ok(husk_confusion_scores(counts, CLASSES, scores, NULL, NULL, &error), &error);
    for (int c = 0; c < CLASSES; c++)
        printf("%-8s precision %.3f, recall %.3f, F1 %.3f, %lld texts\n",
               folder ? (c ? "good" : "bad") : (c ? "library" : "other"), scores[c].precision, scores[c].recall,
               scores[c].f1, (long long)scores[c].rows);
    int64_t frequent = scores[0].rows > scores[1].rows ? scores[0].rows : scores[1].rows;

    husk_metrics_release(metrics);
    husk_graph_release(graph);
    husk_feed_release(learning);
    husk_feed_release(asking);
    husk_dataset_release(learnt);
    husk_dataset_release(asked);
    husk_vocabulary_release(vocabulary);
    husk_corpus_release(texts[0]);
    husk_corpus_release(texts[1]);
    husk_context_release(context);
    return others.right <= frequent;
}
