// SPDX-License-Identifier: MIT
// Files of examples and of texts, vocabularies, datasets, feeds, logs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/faults/fault_layer.h"
#include "support/faults/fault_memory.h"
#include "support/support.h"
#include "train/swept_subject.h"

enum { PATH = 64, IMAGES = 7, PIXELS = 2 * 3 * 4, BATCHES = 5, BATCH = 3, MOST = 4096 };

typedef struct all {
    char folder[PATH];
    husk_array arrays[4];
    husk_corpus *corpus;
    husk_vocabulary *vocabularies[4];
    husk_dataset *datasets[5];
    husk_feed *feed;
    husk_log *log;
    unsigned char got[MOST], wanted[MOST];
    size_t size, wanted_size;
    int done; // batches that were handed out
    bool has_wanted;
} all;

static const char *path_in(const all *a, const char *name)
{
    static char path[2][PATH + 32];
    static int which;
    char *to = path[which ^= 1];
    snprintf(to, sizeof path[0], "%s/%s", a->folder, name);
    return to;
}

static void put(const all *a, const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(path_in(a, name), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static const char *const texts[] = {"good/1", "good/2", "bad/1", "bad/2", "idx", "labels", "cifar", "text", "log"};
enum { FILES = sizeof texts / sizeof *texts };

static void make_files(all *a)
{
    unsigned char idx[16 + 4 + IMAGES * PIXELS] = {0, 0, 8, 4, 0, 0, 0, IMAGES, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4};
    unsigned char labels[8 + IMAGES] = {0, 0, 8, 1, 0, 0, 0, IMAGES, 0, 1, 2, 0, 1, 2, 0};
    static unsigned char cifar[2 * 3073];
    snprintf(a->folder, sizeof a->folder, "/tmp/husk-sweep-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(a->folder));
    mkdir(path_in(a, "good"), 0700);
    mkdir(path_in(a, "bad"), 0700);
    for (int i = 0; i < IMAGES * PIXELS; i++)
        idx[20 + i] = (unsigned char)(1 + 11 * i % 250);
    for (int i = 0; i < 2 * 3073; i++)
        cifar[i] = (unsigned char)(i % 3073 ? i : i / 3073);
    put(a, "good/1", "A fine film, it's fine", 22);
    put(a, "good/2", "the best of films", 17);
    put(a, "bad/1", "a bad film", 10);
    put(a, "bad/2", "Not fine at all", 15);
    put(a, "text", "to be or not to be", 18);
    put(a, "idx", idx, sizeof idx);
    put(a, "labels", labels, sizeof labels);
    put(a, "cifar", cifar, sizeof cifar);
}

static void remove_files(const all *a)
{
    for (int i = 0; i < FILES; i++)
        unlink(path_in(a, texts[i]));
    rmdir(path_in(a, "good"));
    rmdir(path_in(a, "bad"));
    ck_assert_msg(rmdir(a->folder) == 0, "%s holds more than the test has made", a->folder);
}

// ---- what was made ----

static void note(all *a, const void *bytes, size_t size)
{
    SWEPT_ASSERT(a->size + size <= MOST);
    if (size)
        memcpy(a->got + a->size, bytes, size);
    a->size += size;
}

static void note_array(all *a, const husk_array *array)
{
    note(a, array->shape, sizeof *array->shape * (size_t)array->rank);
    note(a, array->data, array->bytes < 1000 ? array->bytes : 1000);
}

static void note_dataset(all *a, const husk_dataset *dataset)
{
    const int64_t count = husk_dataset_count(dataset);
    float inputs[IMAGES * PIXELS];
    int32_t labels[IMAGES * PIXELS];
    husk_error error;
    note(a, &count, sizeof count);
    test_ok_error(husk_dataset_read(dataset, 0, count, inputs, labels, &error), &error);
    note(a, inputs, sizeof *inputs * PIXELS * (size_t)count);
    note(a, labels, sizeof *labels * (size_t)count);
}

static void expect(all *a, const char *when)
{
    if (!a->has_wanted)
        memcpy(a->wanted, a->got, a->wanted_size = a->size);
    a->has_wanted = true;
    ck_assert_msg(a->size == a->wanted_size && memcmp(a->got, a->wanted, a->size) == 0, "%s: other bytes", when);
}

static void release(void *user)
{
    all *a = user;
    for (int i = 0; i < 4; i++) {
        husk_array_release(&a->arrays[i]);
        husk_vocabulary_release(a->vocabularies[i]);
        a->vocabularies[i] = NULL;
    }
    for (int i = 0; i < 5; i++) {
        husk_dataset_release(a->datasets[i]);
        a->datasets[i] = NULL;
    }
    husk_feed_release(a->feed);
    husk_corpus_release(a->corpus);
    husk_log_close(a->log);
    a->log = NULL;
    a->feed = NULL;
    a->corpus = NULL;
    a->size = 0;
    a->done = 0;
}

static void start_again(void *user, const char *when)
{
    (void)when;
    release(user);
}

// ---- files of examples ----

static husk_status read_examples(all *a)
{
    husk_status status = SWEPT(husk_idx_read, path_in(a, "idx"), &a->arrays[0]);
    return status ? status : SWEPT(husk_idx_read, path_in(a, "labels"), &a->arrays[1]);
}

static husk_status run_examples(void *user)
{
    all *a = user;
    husk_status status = read_examples(a);
    const char *cifar = path_in(a, "cifar"), *paths[] = {cifar, cifar};
    if (!status)
        status = SWEPT(husk_cifar10_read, paths, 2, &a->arrays[2], &a->arrays[3]);
    return status;
}

static void check_examples(void *user, const char *when)
{
    all *a = user;
    for (int i = 0; i < 4; i++)
        note_array(a, &a->arrays[i]);
    expect(a, when);
}

// ---- texts ----

static husk_status run_corpus(void *user)
{
    all *a = user;
    static const char *const names[] = {"bad", "good"};
    husk_status status = SWEPT(husk_corpus_read_folder, a->folder, NULL, 0, &a->corpus);
    husk_corpus_release(a->corpus);
    a->corpus = NULL;
    if (!status)
        status = SWEPT(husk_corpus_create, &a->corpus);
    husk_corpus_release(a->corpus);
    a->corpus = NULL;
    if (!status)
        status = SWEPT(husk_corpus_read_folder, a->folder, names, 2, &a->corpus);
    for (int i = 0; i < 20 && !status; i++)
        status = SWEPT(husk_corpus_add, a->corpus, "one more film", 13, 1);
    if (!status)
        status = SWEPT(husk_vocabulary_create_words, a->corpus, 9, &a->vocabularies[0]);
    if (!status)
        status = SWEPT(husk_vocabulary_save, a->vocabularies[0], &a->arrays[0]);
    if (!status)
        status = SWEPT(husk_vocabulary_load, &a->arrays[0], &a->vocabularies[1]);
    if (!status)
        status = SWEPT(husk_corpus_encode, a->corpus, a->vocabularies[1], 4, &a->arrays[1], &a->arrays[2]);
    return status;
}

static husk_status run_text(void *user)
{
    all *a = user;
    husk_status status = SWEPT(husk_text_read, path_in(a, "text"), &a->arrays[0]);
    if (!status)
        status = SWEPT(husk_vocabulary_create_bytes, &a->arrays[0], &a->vocabularies[0]);
    if (!status)
        status = SWEPT(husk_vocabulary_save, a->vocabularies[0], &a->arrays[1]);
    if (!status)
        status = SWEPT(husk_vocabulary_load, &a->arrays[1], &a->vocabularies[1]);
    if (!status)
        status = SWEPT(husk_vocabulary_encode_bytes, a->vocabularies[1], &a->arrays[0], &a->arrays[2]);
    return status;
}

static void check_texts(void *user, const char *when)
{
    all *a = user;
    for (int i = 0; i < 3; i++)
        note_array(a, &a->arrays[i]);
    expect(a, when);
}

// ---- datasets ----

// After a failure the elements are the caller's still.
static husk_status create_dataset(all *a)
{
    const husk_dataset_params params = HUSK_DATASET_PARAMS(.classes = 3);
    husk_status status = read_examples(a);
    if (!status)
        status = SWEPT(husk_dataset_create, &a->arrays[0], &a->arrays[1], &params, &a->datasets[0]);
    SWEPT_ASSERT(strcmp(swept_call, "husk_dataset_create") != 0 || (a->arrays[0].data != NULL) == (status != HUSK_OK));
    return status;
}

static husk_status run_datasets(void *user)
{
    all *a = user;
    husk_status status = create_dataset(a);
    if (!status)
        status = SWEPT(husk_dataset_split, a->datasets[0], 0.6, 3, &a->datasets[1], &a->datasets[2]);
    if (!status)
        status = SWEPT(husk_dataset_part, a->datasets[1], 1, 2, &a->datasets[3]);
    return status;
}

static void check_datasets(void *user, const char *when)
{
    all *a = user;
    for (int i = 0; i < 4; i++)
        note_dataset(a, a->datasets[i]);
    expect(a, when);
}

static husk_status run_windows(void *user)
{
    all *a = user;
    husk_status status = run_text(a);
    return status ? status : SWEPT(husk_dataset_create_windows, &a->arrays[2], 4, NULL, &a->datasets[0]);
}

static void check_windows(void *user, const char *when)
{
    all *a = user;
    int32_t inputs[16], labels[16];
    husk_error error;
    test_ok_error(husk_dataset_read(a->datasets[0], 0, 4, inputs, labels, &error), &error);
    note(a, inputs, sizeof inputs);
    note(a, labels, sizeof labels);
    expect(a, when);
}

// ---- feeds ----

static void make_dataset(void *user)
{
    all *a = user;
    test_ok_error(create_dataset(a), &swept_error);
}

// A call that has failed is made again, where it stands.
static husk_status run_feed(void *user)
{
    all *a = user;
    static const float mean[2] = {0.5f, 0.25f}, deviation[2] = {2, 4};
    const husk_feed_params params = HUSK_FEED_PARAMS(.batch = BATCH, .seed = 3, .keep_partial = 1, .channels = 2,
                                                     .mean = mean, .deviation = deviation, .shift = 1, .slots = 2);
    husk_queue *queue = test_queue();
    husk_status status = HUSK_OK;
    if (!a->feed)
        status = SWEPT(husk_feed_create, test_context(), a->datasets[0], &params, &a->feed);
    while (!status && a->done < 2 * BATCHES) {
        husk_batch batch;
        if (a->done % 2) {
            status = SWEPT(husk_feed_done, a->feed, queue);
            a->done += !status;
            continue;
        }
        if ((status = SWEPT(husk_feed_next, a->feed, queue, &batch)))
            break;
        // What is read is not under test: a fault would have met the next call.
        float inputs[BATCH * PIXELS];
        int32_t labels[BATCH];
        const size_t bytes = (size_t)batch.count * PIXELS * sizeof *inputs;
        swept_call = "husk_buffer_read";
        status = husk_buffer_read(queue, batch.inputs.buffer, 0, bytes, inputs);
        if (!status)
            status = husk_buffer_read(queue, batch.labels.buffer, 0, (size_t)batch.count * sizeof *labels, labels);
        if (status) {
            swept_error = *husk_queue_error(queue);
            break;
        }
        note(a, &batch.position, sizeof batch.position);
        note(a, inputs, bytes);
        note(a, labels, (size_t)batch.count * sizeof *labels);
        a->done++;
    }
    return status;
}

// But where the test's own reading of the batch has failed: that is gone with the next one.
static void failed_feed(void *user, const char *when)
{
    (void)when;
    if (strcmp(swept_call, "husk_buffer_read") != 0)
        return;
    release(user);
    make_dataset(user);
}

static void check_feed(void *user, const char *when)
{
    expect(user, when);
}

// ---- logs ----

// A row, and one more of a run that goes on.
static husk_status run_log(void *user)
{
    all *a = user;
    static const char *const columns[] = {"step", "loss"};
    static const husk_log_mode modes[] = {HUSK_LOG_ANEW, HUSK_LOG_RESUME};
    husk_status status = HUSK_OK;
    for (int i = 0; i < 2 && !status; i++) {
        const husk_log_params params =
            HUSK_LOG_PARAMS(.columns = columns, .count = 2, .mode = modes[i], .resume_at = 1);
        status = SWEPT(husk_log_open, path_in(a, "log"), &params, &a->log);
        if (!status)
            status = SWEPT(husk_log_write, a->log, (double[]){i, 0.5});
        husk_log_close(a->log);
        a->log = NULL;
    }
    return status;
}

static void check_log(void *user, const char *when)
{
    all *a = user;
    char text[100];
    FILE *file = fopen(path_in(a, "log"), "r");
    ck_assert_ptr_nonnull(file);
    note(a, text, fread(text, 1, sizeof text, file));
    fclose(file);
    expect(a, when);
}

// ---- what makes no OpenCL call and allocates nothing, so that there is nothing to fail ----

static husk_status run_numbers(all *a)
{
    static const husk_initializer drawn = {.size = sizeof drawn, .kind = HUSK_INITIALIZER_HE_NORMAL};
    const husk_plateau_params plateau = HUSK_PLATEAU_PARAMS(.patience = 1);
    const husk_stopping_params stopping = HUSK_STOPPING_PARAMS(.patience = 1);
    husk_plateau falls = {0};
    husk_stopping stops = {0};
    float mean[2], deviation[2];
    double values[6];
    char text[HUSK_STATE_TEXT];
    husk_status status = SWEPT(husk_dataset_statistics, a->datasets[0], 1.0f, 2, mean, deviation);
    if (!status)
        status = SWEPT(husk_initializer_fill, &drawn, 1, "w", 2, (int64_t[]){2, 3}, values);
    for (int i = 0; i < 4 && !status; i++) {
        status = SWEPT(husk_plateau_step, &plateau, &falls, 1.0);
        if (!status)
            status = SWEPT(husk_stopping_step, &stopping, &stops, (uint64_t)i, 1.0);
    }
    if (!status)
        status = SWEPT(husk_plateau_save, &falls, text);
    if (!status)
        status = SWEPT(husk_plateau_load, text, &falls);
    if (!status)
        status = SWEPT(husk_stopping_save, &stops, text);
    return status ? status : SWEPT(husk_stopping_load, text, &stops);
}

static void expect_nothing_to_fail(all *a)
{
    make_dataset(a);
    fault_plan(0, 0, false);
    fault_plan_allocation(0);
    const husk_status status = run_numbers(a);
    const long calls = fault_calls(), own = fault_allocations();
    ck_assert_msg(!status, "%s", swept_error.text);
    ck_assert_msg(calls == 0 && own == 0, "%ld OpenCL calls and %ld allocations want a sweep", calls, own);
    release(a);
}

static void sweep_one(all *a, const char *name, husk_status (*run)(void *), void (*check)(void *, const char *))
{
    a->has_wanted = false;
    sweep(&(swept){name, a, NULL, run, start_again, check, release});
}

void swept_data(void)
{
    static all a;
    make_files(&a);
    expect_nothing_to_fail(&a);
    sweep_one(&a, "examples", run_examples, check_examples);
    sweep_one(&a, "corpus", run_corpus, check_texts);
    sweep_one(&a, "text", run_text, check_texts);
    sweep_one(&a, "datasets", run_datasets, check_datasets);
    sweep_one(&a, "windows", run_windows, check_windows);
    sweep_one(&a, "log", run_log, check_log);
    a.has_wanted = false;
    sweep(&(swept){"feed", &a, make_dataset, run_feed, failed_feed, check_feed, release});
    remove_files(&a);
}
