// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=60
// Data, files and what stands around the steps (husk/train/data.h, safetensors.h, metrics.h, rate.h, loop.h,
// initializer.h): NULL for each pointer, and rules that no other test breaks.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/support.h"
#include "train/refusals.h"

static husk_error error;
static char folder[64], path[96];

static void setup(void)
{
    strcpy(folder, "/tmp/husk-refusals-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
}

static void teardown(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

// Packed elements, copied; of one byte each where they are u8.
static husk_array array_of(husk_dtype dtype, int32_t rank, const int64_t *shape, const void *elements)
{
    husk_tensor tensor = husk_tensor_make(NULL, dtype, rank, shape);
    husk_array made = {.dtype = dtype, .rank = rank, .bytes = (uint64_t)husk_tensor_extent(&tensor)};
    memcpy(made.shape, shape, sizeof *shape * (size_t)rank);
    made.data = malloc(made.bytes + 1);
    memcpy(made.data, elements, made.bytes);
    return made;
}

START_TEST(files)
{
    husk_array one = {0}, other = {0};
    const char *const nobody[] = {"/nowhere/at/all", NULL};
    FAILS(husk_idx_read(NULL, &one, &error), "husk_idx_read: path: it is NULL");
    FAILS(husk_idx_read(path, NULL, &error), "husk_idx_read: array: it is NULL");
    FAILS_WITH(HUSK_IO, husk_idx_read("/nowhere/with\na line", &one, &error), "husk_idx_read: /nowhere/with?a line: ");
    FAILS(husk_cifar10_read(NULL, 1, &one, &other, &error), "husk_cifar10_read: paths: it is NULL");
    FAILS(husk_cifar10_read(nobody, 0, &one, &other, &error), "husk_cifar10_read: count: it is 0");
    FAILS(husk_cifar10_read(nobody, 1, NULL, &other, &error), "husk_cifar10_read: images, labels: NULL");
    FAILS(husk_cifar10_read(nobody, 1, &one, NULL, &error), "husk_cifar10_read: images, labels: NULL");
    FAILS(husk_cifar10_read(nobody, 2, &one, &other, &error), "husk_cifar10_read: paths[1]: it is NULL");
    FAILS(husk_text_read(NULL, &one, &error), "husk_text_read: path: it is NULL");
    FAILS(husk_text_read(path, NULL, &error), "husk_text_read: text: it is NULL");
    ck_assert_int_eq(husk_text_read(nobody[0], &one, NULL), HUSK_IO);
    husk_array_release(NULL);
    husk_array_release(&one);
    ck_assert_ptr_null(one.data);
}
END_TEST

START_TEST(texts)
{
    static const char *const gap[] = {NULL};
    husk_corpus *corpus = (husk_corpus *)&error, *folders;
    husk_vocabulary *words = NULL, *bytes = NULL, *none = (husk_vocabulary *)&error;
    husk_array text = array_of(HUSK_U8, 1, (int64_t[]){3}, "abc"),
               flat = array_of(HUSK_U8, 2, (int64_t[]){1, 3}, "abc"),
               wide = array_of(HUSK_I32, 1, (int64_t[]){1}, &(int32_t){7}), empty = {.dtype = HUSK_U8, .rank = 1}, ids,
               labels;
    int32_t id[2];
    FAILS(husk_corpus_create(NULL, &error), "husk_corpus_create: corpus: it is NULL");
    FAILS(husk_corpus_read_folder(NULL, NULL, 0, &folders, &error), "husk_corpus_read_folder: path: it is NULL");
    FAILS(husk_corpus_read_folder(folder, NULL, 0, NULL, &error), "husk_corpus_read_folder: corpus: it is NULL");
    FAILS(husk_corpus_read_folder(folder, gap, 1, &folders, &error), "husk_corpus_read_folder: /tmp/husk-");
    ck_assert_ptr_nonnull(strstr(error.text, ": names[0]: it is NULL"));
    ck_assert_ptr_null(folders);
    test_ok_error(husk_corpus_create(&corpus, &error), &error);
    FAILS(husk_corpus_add(NULL, "a", 1, 0, &error), "husk_corpus_add: corpus: it is NULL");
    FAILS(husk_corpus_add(corpus, NULL, 1, 0, &error), "husk_corpus_add: text: it is NULL");
    FAILS(husk_corpus_add(corpus, "a", 1, -1, &error), "husk_corpus_add: label: ");
    ck_assert(husk_corpus_count(corpus) == 0 && husk_corpus_count(NULL) == 0 && husk_corpus_classes(NULL) == 0);
    test_ok_error(husk_corpus_add(corpus, NULL, 0, 0, &error), &error); // no text is one, too
    test_ok_error(husk_corpus_add(corpus, "let's go", 8, 1, &error), &error);
    test_ok_error(husk_corpus_add(corpus, "dogs'", 5, 1, &error), &error); // nothing is behind the apostrophe
    FAILS(husk_vocabulary_create_words(NULL, 9, &words, &error), "husk_vocabulary_create_words: corpus: it is NULL");
    FAILS(husk_vocabulary_create_words(corpus, 9, NULL, &error),
          "husk_vocabulary_create_words: vocabulary: it is NULL");
    FAILS(husk_vocabulary_create_bytes(NULL, &bytes, &error), "husk_vocabulary_create_bytes: text: it is NULL");
    FAILS(husk_vocabulary_create_bytes(&text, NULL, &error), "husk_vocabulary_create_bytes: vocabulary: it is NULL");
    const husk_array *const wrong[] = {&flat, &wide, &empty};
    for (size_t i = 0; i < 3; i++) {
        none = (husk_vocabulary *)&error;
        FAILS(husk_vocabulary_create_bytes(wrong[i], &none, &error),
              "husk_vocabulary_create_bytes: text: it is not of u8 and one dimension");
        ck_assert_ptr_null(none);
        FAILS(husk_vocabulary_load(wrong[i], &none, &error), "husk_vocabulary_load: text: ");
        ck_assert_ptr_null(none);
    }
    FAILS(husk_vocabulary_load(NULL, &none, &error), "husk_vocabulary_load: text: it is NULL");
    FAILS(husk_vocabulary_load(&text, NULL, &error), "husk_vocabulary_load: vocabulary: it is NULL");
    test_ok_error(husk_vocabulary_create_words(corpus, 9, &words, &error), &error);
    test_ok_error(husk_vocabulary_create_bytes(&text, &bytes, &error), &error);
    ck_assert(husk_vocabulary_size(NULL) == 0 && husk_vocabulary_size(words) == 5 && husk_vocabulary_size(bytes) == 3);
    ck_assert(husk_vocabulary_find(words, "dogs", 4) > HUSK_WORD_UNKNOWN);
    ck_assert(husk_vocabulary_find(bytes, "ab", 2) == -1 && husk_vocabulary_find(bytes, "c", 1) == 2);
    FAILS(husk_vocabulary_save(NULL, &ids, &error), "husk_vocabulary_save: vocabulary: it is NULL");
    FAILS(husk_vocabulary_save(words, NULL, &error), "husk_vocabulary_save: text: it is NULL");
    FAILS(husk_corpus_encode(NULL, words, 2, &ids, &labels, &error), "husk_corpus_encode: corpus: it is NULL");
    FAILS(husk_corpus_encode(corpus, words, 2, NULL, &labels, &error), "husk_corpus_encode: inputs: it is NULL");
    FAILS(husk_corpus_encode(corpus, words, 2, &ids, NULL, &error), "husk_corpus_encode: labels: it is NULL");
    FAILS(husk_corpus_encode(corpus, NULL, 2, &ids, &labels, &error),
          "husk_corpus_encode: vocabulary: it is not one of");
    FAILS(husk_corpus_encode(corpus, bytes, 2, &ids, &labels, &error),
          "husk_corpus_encode: vocabulary: it is not one of");
    FAILS(husk_corpus_encode(corpus, words, 0, &ids, &labels, &error), "husk_corpus_encode: length: it is 0");
    FAILS(husk_corpus_encode(corpus, words, INT64_C(1) << 31, &ids, &labels, &error),
          "husk_corpus_encode: length: it is");
    ck_assert(!ids.data && !labels.data);
    FAILS(husk_vocabulary_encode_words(NULL, "a", 1, 2, id, &error),
          "husk_vocabulary_encode_words: vocabulary: it is not");
    FAILS(husk_vocabulary_encode_words(words, "a", 1, 0, id, &error), "husk_vocabulary_encode_words: length: it is 0");
    FAILS(husk_vocabulary_encode_words(words, NULL, 1, 2, id, &error),
          "husk_vocabulary_encode_words: text: it is NULL");
    FAILS(husk_vocabulary_encode_words(words, "a", 1, 2, NULL, &error),
          "husk_vocabulary_encode_words: ids: it is NULL");
    test_ok_error(husk_vocabulary_encode_words(words, NULL, 0, 2, id, &error), &error);
    ck_assert(id[0] == HUSK_WORD_PADDING && id[1] == HUSK_WORD_PADDING);
    FAILS(husk_vocabulary_encode_bytes(NULL, &text, &ids, &error),
          "husk_vocabulary_encode_bytes: vocabulary: it is not");
    FAILS(husk_vocabulary_encode_bytes(words, &text, &ids, &error),
          "husk_vocabulary_encode_bytes: vocabulary: it is not");
    FAILS(husk_vocabulary_encode_bytes(bytes, NULL, &ids, &error), "husk_vocabulary_encode_bytes: text: it is NULL");
    FAILS(husk_vocabulary_encode_bytes(bytes, &flat, &ids, &error),
          "husk_vocabulary_encode_bytes: text: it is not of u8");
    FAILS(husk_vocabulary_encode_bytes(bytes, &text, NULL, &error), "husk_vocabulary_encode_bytes: ids: it is NULL");
    husk_vocabulary_release(words);
    husk_vocabulary_release(bytes);
    husk_vocabulary_release(NULL);
    husk_corpus_release(corpus);
    husk_corpus_release(NULL);
    husk_array_release(&text);
    husk_array_release(&flat);
    husk_array_release(&wide);
}
END_TEST

START_TEST(datasets)
{
    husk_array ids = array_of(HUSK_I32, 1, (int64_t[]){4}, (int32_t[]){0, 1, 2, 3}), huge = ids, unsure = ids,
               none = {0};
    husk_array pixels = array_of(HUSK_U8, 2, (int64_t[]){2, 4}, "abcdefgh"),
               marks = array_of(HUSK_F32, 1, (int64_t[]){2}, (float[]){0.5f, 1}),
               odd = array_of(HUSK_F16, 1, (int64_t[]){2}, "abcd");
    husk_dataset *made = NULL, *text = NULL, *one, *two;
    float mean[4], deviation[4];
    const husk_dataset_params wrong[] = {HUSK_DATASET_PARAMS(.classes = -1), HUSK_DATASET_PARAMS(.ids = -1),
                                         HUSK_DATASET_PARAMS(.classes = INT64_C(1) << 31),
                                         HUSK_DATASET_PARAMS(.ids = INT64_C(1) << 31)};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(husk_dataset_create(&ids, NULL, &wrong[i], &made, &error),
              "husk_dataset_create: params: classes and ids are 0 or more, within 32 bits");
    FAILS(husk_dataset_create(NULL, NULL, NULL, &made, &error), "husk_dataset_create: inputs: it is NULL");
    FAILS(husk_dataset_create(&ids, NULL, NULL, NULL, &error), "husk_dataset_create: dataset: it is NULL");
    FAILS(husk_dataset_create(&odd, NULL, NULL, &made, &error), "husk_dataset_create: inputs: its dtype is none of");
    FAILS(husk_dataset_create(&none, NULL, NULL, &made, &error), "husk_dataset_create: inputs: ");
    FAILS(husk_dataset_create(&pixels, &marks, &HUSK_DATASET_PARAMS(.classes = 2), &made, &error),
          "husk_dataset_create: labels: example 0 has 0.5, and classes are 0 to 1");
    FAILS(husk_dataset_create(&pixels, &ids, NULL, &made, &error), "husk_dataset_create: labels: ");
    huge.shape[0] = INT64_C(1) << 62, unsure.data = NULL;
    FAILS(husk_dataset_create(&huge, NULL, NULL, &made, &error),
          "husk_dataset_create: inputs: its bytes are not those");
    FAILS(husk_dataset_create(&unsure, NULL, NULL, &made, &error),
          "husk_dataset_create: inputs: its bytes are not those");
    FAILS(husk_dataset_create_windows(NULL, 2, NULL, &text, &error), "husk_dataset_create_windows: text: it is NULL");
    FAILS(husk_dataset_create_windows(&ids, 2, NULL, NULL, &error), "husk_dataset_create_windows: dataset: it is NULL");
    FAILS(husk_dataset_create_windows(&ids, 2, &wrong[1], &text, &error),
          "husk_dataset_create_windows: params: classes");
    FAILS(husk_dataset_create_windows(&odd, 2, NULL, &text, &error), "husk_dataset_create_windows: text: its dtype");
    FAILS(husk_dataset_create_windows(&pixels, 2, NULL, &text, &error),
          "husk_dataset_create_windows: text: it is not of");
    FAILS(husk_dataset_create_windows(&marks, 1, NULL, &text, &error),
          "husk_dataset_create_windows: text: it is not of");
    FAILS(husk_dataset_create_windows(&ids, 0, NULL, &text, &error), "husk_dataset_create_windows: length: it is 0");
    FAILS(husk_dataset_create_windows(&ids, 4, NULL, &text, &error),
          "husk_dataset_create_windows: length: it is 4, and");
    ck_assert(!made && !text && ids.data && pixels.data && marks.data); // all of it is the caller's still
    test_ok_error(husk_dataset_create(&pixels, &marks, NULL, &made, &error), &error);
    test_ok_error(husk_dataset_create_windows(&ids, 2, NULL, &text, &error), &error);
    ck_assert(!ids.data && !pixels.data && !marks.data && husk_dataset_count(NULL) == 0);
    FAILS(husk_dataset_part(NULL, 0, 1, &one, &error), "husk_dataset_part: dataset: it is NULL");
    FAILS(husk_dataset_part(made, 0, 1, NULL, &error), "husk_dataset_part: part: it is NULL");
    FAILS(husk_dataset_split(NULL, 0.5, 1, &one, &two, &error), "husk_dataset_split: dataset: it is NULL");
    FAILS(husk_dataset_split(made, 0.5, 1, NULL, &two, &error), "husk_dataset_split: first: it is NULL");
    FAILS(husk_dataset_split(made, 0.5, 1, &one, NULL, &error), "husk_dataset_split: second: it is NULL");
    FAILS(husk_dataset_split(made, -0.5, 1, &one, &two, &error), "husk_dataset_split: fraction: ");
    FAILS(husk_dataset_split(made, NAN, 1, &one, &two, &error), "husk_dataset_split: fraction: ");
    FAILS(husk_dataset_read(NULL, 0, 1, mean, NULL, &error), "husk_dataset_read: dataset: it is NULL");
    FAILS(husk_dataset_read(made, 0, 1, NULL, NULL, &error), "husk_dataset_read: inputs: it is NULL");
    const int64_t ranges[][2] = {{-1, 1}, {0, -1}, {3, 0}, {1, 2}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        FAILS(husk_dataset_read(made, ranges[i][0], ranges[i][1], mean, NULL, &error), "husk_dataset_read: ");
        FAILS(husk_dataset_part(made, ranges[i][0], ranges[i][1], &one, &error), "husk_dataset_part: ");
    }
    FAILS(husk_dataset_statistics(NULL, 1, 1, mean, deviation, &error), "husk_dataset_statistics: dataset: it is NULL");
    FAILS(husk_dataset_statistics(made, 1, 1, NULL, deviation, &error), "husk_dataset_statistics: mean: it is NULL");
    FAILS(husk_dataset_statistics(made, 1, 1, mean, NULL, &error), "husk_dataset_statistics: deviation: it is NULL");
    FAILS(husk_dataset_statistics(text, 1, 1, mean, deviation, &error),
          "husk_dataset_statistics: dataset: its inputs are ids and not numbers");
    FAILS(husk_dataset_statistics(made, 1, 0, mean, deviation, &error), "husk_dataset_statistics: channels: ");
    FAILS(husk_dataset_statistics(made, 1, 3, mean, deviation, &error), "husk_dataset_statistics: channels: ");
    husk_tensor described = {0};
    husk_dataset_describe(NULL, &described, NULL);
    ck_assert_int_eq(described.rank, -1);
    // Parts of nothing are parts.
    test_ok_error(husk_dataset_read(made, 2, 0, NULL, NULL, &error), &error);
    test_ok_error(husk_dataset_part(made, 2, 0, &one, &error), &error);
    FAILS(husk_dataset_statistics(one, 1, 1, mean, deviation, &error), "husk_dataset_statistics: dataset: it is empty");
    husk_dataset_release(one);
    test_ok_error(husk_dataset_split(made, 0, 1, &one, &two, &error), &error);
    ck_assert(husk_dataset_count(one) == 0 && husk_dataset_count(two) == 2);
    husk_dataset_release(one);
    test_ok_error(husk_dataset_part(two, 0, 1, &one, &error), &error); // of a part by chance
    husk_dataset_release(one);
    husk_dataset_release(two);
    husk_dataset_release(made);
    husk_dataset_release(text);
    husk_dataset_release(NULL);
    husk_array_release(&odd);
}
END_TEST

START_TEST(feeds)
{
    husk_array ids = array_of(HUSK_I32, 1, (int64_t[]){4}, (int32_t[]){0, 1, 2, 3}),
               numbers = array_of(HUSK_U8, 1, (int64_t[]){4}, "abcd");
    husk_dataset *words, *plain;
    husk_feed *feed = (husk_feed *)&error;
    husk_context *other;
    husk_queue *queue;
    husk_batch batch;
    const float mean[1] = {0};
    test_ok_error(husk_dataset_create(&ids, NULL, NULL, &words, &error), &error);
    test_ok_error(husk_dataset_create(&numbers, NULL, NULL, &plain, &error), &error);
    husk_feed_params params = HUSK_FEED_PARAMS(.batch = 2);
    FAILS(husk_feed_create(NULL, words, &params, &feed, &error), "husk_feed_create: context: it is NULL");
    FAILS(husk_feed_create(test_context(), NULL, &params, &feed, &error), "husk_feed_create: dataset: it is NULL");
    FAILS(husk_feed_create(test_context(), words, NULL, &feed, &error), "husk_feed_create: params: it is NULL");
    FAILS(husk_feed_create(test_context(), words, &params, NULL, &error), "husk_feed_create: feed: it is NULL");
    const husk_feed_params of_ids[] = {
        HUSK_FEED_PARAMS(.batch = 2, .channels = 1), HUSK_FEED_PARAMS(.batch = 2, .scale = 2),
        HUSK_FEED_PARAMS(.batch = 2, .flip = 1), HUSK_FEED_PARAMS(.batch = 2, .shift = 1)};
    for (size_t i = 0; i < sizeof of_ids / sizeof *of_ids; i++)
        FAILS(husk_feed_create(test_context(), words, &of_ids[i], &feed, &error),
              "husk_feed_create: params: scale, channels, flip, shift: the dataset's inputs are ids and not numbers");
    const float unknown = NAN;
    const husk_feed_params wrong[] = {HUSK_FEED_PARAMS(.batch = 2, .channels = -1, .mean = mean),
                                      HUSK_FEED_PARAMS(.batch = 2, .channels = 1, .deviation = &unknown),
                                      HUSK_FEED_PARAMS(.batch = 2, .flip = 1),
                                      HUSK_FEED_PARAMS(.batch = 2, .shift = 1),
                                      HUSK_FEED_PARAMS(.batch = 2, .shards = -1),
                                      HUSK_FEED_PARAMS(.batch = 2, .shard = -1),
                                      HUSK_FEED_PARAMS(.batch = 2, .shard = 1),
                                      HUSK_FEED_PARAMS(.batch = INT64_MAX, .keep_partial = 1, .slots = 9)};
    static const char *const words_of[] = {"channels: it is negative",
                                           "deviation: it is 0 or NaN",
                                           "flip, shift: examples are no images",
                                           "flip, shift: examples are no images",
                                           "shard: it is below shards",
                                           "shard: it is below shards",
                                           "shard: it is below shards",
                                           "slots: 2 to 8"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[160];
        snprintf(text, sizeof text, "husk_feed_create: params: %s", words_of[i]);
        FAILS(husk_feed_create(test_context(), plain, &wrong[i], &feed, &error), text);
        ck_assert_ptr_null(feed);
    }
    test_ok_error(husk_context_create(NULL, NULL, &other, &error), &error);
    test_ok_error(husk_queue_create(other, NULL, &queue, &error), &error);
    test_ok_error(husk_feed_create(test_context(), words, &params, &feed, &error), &error);
    FAILS(husk_feed_next(NULL, test_queue(), &batch, &error), "husk_feed_next: feed: it is NULL");
    FAILS(husk_feed_next(feed, test_queue(), NULL, &error), "husk_feed_next: batch: it is NULL");
    FAILS(husk_feed_next(feed, queue, &batch, &error), "husk_feed_next: queue: it belongs to another context");
    FAILS(husk_feed_done(NULL, test_queue(), &error), "husk_feed_done: feed: it is NULL");
    FAILS(husk_feed_done(feed, NULL, &error), "husk_feed_done: queue: it is NULL");
    FAILS(husk_feed_done(feed, queue, &error), "husk_feed_done: queue: it belongs to another context");
    FAILS(husk_feed_seek(NULL, (husk_feed_position){0, 0}, &error), "husk_feed_seek: feed: it is NULL");
    FAILS(husk_feed_seek(feed, (husk_feed_position){UINT64_MAX, 0}, &error), "husk_feed_seek: position: ");
    test_ok_error(husk_feed_next(feed, test_queue(), &batch, &error), &error);
    ck_assert(batch.position.epoch == 0 && batch.position.batch == 0 && batch.count == 2);
    husk_feed_release(feed);
    ck_assert(husk_feed_batches(NULL) == 0 && husk_feed_tell(NULL).batch == 0 && !husk_feed_queue(NULL));
    husk_feed_release(NULL);
    husk_queue_release(queue);
    husk_context_release(other);
    husk_dataset_release(words);
    husk_dataset_release(plain);
}
END_TEST

START_TEST(tensors_in_files)
{
    husk_safetensors *file = (husk_safetensors *)&error;
    husk_safetensors_entry entry;
    husk_tensor tensor = husk_tensor_make(NULL, HUSK_F32, 1, (int64_t[]){2});
    const husk_safetensors_item item = {"w", (float[]){1, 2}, tensor};
    const char *key, *value;
    float to[2];
    FAILS(husk_safetensors_write(NULL, NULL, &item, 1, NULL, 0, &error), "husk_safetensors_write: path: it is NULL");
    FAILS(husk_safetensors_write(path, NULL, NULL, 1, NULL, 0, &error), "husk_safetensors_write: items: it is NULL");
    FAILS(husk_safetensors_write(path, NULL, &item, 1, NULL, 1, &error),
          "husk_safetensors_write: metadata: it is NULL");
    test_ok_error(husk_safetensors_write(path, NULL, &item, 1, NULL, 0, &error), &error);
    FAILS(husk_safetensors_open(path, NULL, NULL, &error), "husk_safetensors_open: file: it is NULL");
    FAILS(husk_safetensors_open(NULL, NULL, &file, &error), "husk_safetensors_open: path: it is NULL");
    FAILS(husk_safetensors_open(path, &(husk_safetensors_params){.size = 1}, &file, &error),
          "husk_safetensors_open: params: size");
    FAILS(husk_safetensors_open(path, &(husk_safetensors_params){.size = 99}, &file, &error),
          "husk_safetensors_open: params: size");
    ck_assert_ptr_null(file);
    test_ok_error(husk_safetensors_open(path, &HUSK_SAFETENSORS_PARAMS(.unverified = 0), &file, &error), &error);
    FAILS(husk_safetensors_read(NULL, "w", to, sizeof to, &error), "husk_safetensors_read: file: it is NULL");
    FAILS(husk_safetensors_read(file, NULL, to, sizeof to, &error), "husk_safetensors_read: /tmp/husk-");
    ck_assert_ptr_nonnull(strstr(error.text, ": name: it is NULL"));
    FAILS(husk_safetensors_read(file, "w", NULL, sizeof to, &error), "husk_safetensors_read: /tmp/husk-");
    ck_assert_ptr_nonnull(strstr(error.text, ": host: memory of 0 bytes for tensor \"w\", which has 8"));
    FAILS(husk_safetensors_read_tensor(NULL, "w", test_queue(), &tensor, &error),
          "husk_safetensors_read_tensor: file: it is");
    FAILS(husk_safetensors_read_tensor(file, "w", NULL, &tensor, &error),
          "husk_safetensors_read_tensor: queue: it is NULL");
    FAILS(husk_safetensors_read_tensor(file, "w", test_queue(), NULL, &error),
          "husk_safetensors_read_tensor: to: it is NULL");
    FAILS(husk_safetensors_read_tensor(file, NULL, test_queue(), &tensor, &error),
          "husk_safetensors_read_tensor: /tmp/husk-");
    ck_assert(husk_safetensors_count(NULL) == 0 && !husk_safetensors_find(NULL, "w", &entry));
    ck_assert(!husk_safetensors_find(file, NULL, &entry) && husk_safetensors_find(file, "w", NULL));
    ck_assert(!husk_safetensors_metadata(NULL, "a") && !husk_safetensors_metadata(file, NULL));
    ck_assert(!husk_safetensors_metadata_get(NULL, 0, &key, &value) &&
              !husk_safetensors_metadata_get(file, 9, &key, &value));
    husk_safetensors_close(file);
    husk_safetensors_close(NULL);
}
END_TEST

START_TEST(around_the_steps)
{
    static const uint64_t milestones[] = {1};
    husk_metrics *metrics = NULL;
    husk_metrics_report report = HUSK_METRICS_REPORT();
    husk_plateau plateau = {0}, before = {0};
    husk_stopping stopping = {0}, stopped = {0};
    husk_progress *progress = NULL;
    husk_log *log = NULL;
    char text[HUSK_STATE_TEXT];
    double rate = 7;
    int64_t counts[4];
    FAILS(husk_rate_at(NULL, 0, &rate, &error), "husk_rate_at: params: it is NULL");
    FAILS(husk_rate_at(&HUSK_MAKE(husk_rate_params, .rate = 1), 0, NULL, &error), "husk_rate_at: rate: it is NULL");
    FAILS(husk_rate_at(&(husk_rate_params){.size = 1}, 0, &rate, &error), "husk_rate_at: params: size is 1");
#define RATE(words, ...)                                                             \
    FAILS(husk_rate_at(&HUSK_MAKE(husk_rate_params, __VA_ARGS__), 0, &rate, &error), \
          "husk_rate_at: params: " words)
    RATE("multi_step needs milestones", .kind = HUSK_RATE_MULTI_STEP, .rate = 1, .factor = 0.1);
    RATE("multi_step needs milestones", .kind = HUSK_RATE_MULTI_STEP, .rate = 1, .milestones = milestones,
         .factor = 0.1);
    RATE("power is -1", .kind = HUSK_RATE_POLYNOMIAL, .rate = 1, .steps = 2, .power = -1);
    RATE("power is inf", .kind = HUSK_RATE_POLYNOMIAL, .rate = 1, .steps = 2, .power = INFINITY);
    RATE("rise is -1", .kind = HUSK_RATE_ONE_CYCLE, .rate = 1, .steps = 9, .rise = -1, .start_rate = 0.02,
         .end_rate = 2e-6);
    ck_assert(rate == 7);
#define PLATEAU(words, ...)                                                          \
    FAILS(husk_plateau_step(&HUSK_PLATEAU_PARAMS(__VA_ARGS__), &plateau, 1, &error), \
          "husk_plateau_step: params: " words)
    PLATEAU("rate is -1; it has to be finite and 0 or more", .rate = -1);
    PLATEAU("rate is inf", .rate = INFINITY);
    PLATEAU("factor is -1; it has to be between 0 and 1", .rate = 1, .factor = -1);
    PLATEAU("threshold is inf", .rate = 1, .threshold = INFINITY);
    PLATEAU("least_rate is inf", .rate = 1, .least_rate = INFINITY);
    FAILS(husk_plateau_step(&(husk_plateau_params){.size = 1}, &plateau, 1, &error),
          "husk_plateau_step: params: size is 1");
    FAILS(husk_plateau_step(&HUSK_PLATEAU_PARAMS(.rate = 1), NULL, 1, &error),
          "husk_plateau_step: plateau: it is NULL");
    ck_assert_mem_eq(&plateau, &before, sizeof plateau);
    FAILS(husk_plateau_save(NULL, text, &error), "husk_plateau_save: plateau: it is NULL");
    FAILS(husk_plateau_save(&plateau, NULL, &error), "husk_plateau_save: text: it is NULL");
    FAILS(husk_plateau_load(NULL, &plateau, &error), "husk_plateau_load: text: it is NULL");
    FAILS(husk_plateau_load("", NULL, &error), "husk_plateau_load: plateau: it is NULL");
    FAILS(husk_stopping_step(&HUSK_STOPPING_PARAMS(.patience = 1, .min_delta = INFINITY), &stopping, 0, 1, &error),
          "husk_stopping_step: params: min_delta is inf");
    FAILS(husk_stopping_step(&(husk_stopping_params){.size = 1}, &stopping, 0, 1, &error),
          "husk_stopping_step: params: size is 1");
    FAILS(husk_stopping_step(&HUSK_STOPPING_PARAMS(.patience = 1), NULL, 0, 1, &error),
          "husk_stopping_step: stopping: it is");
    ck_assert_mem_eq(&stopping, &stopped, sizeof stopping);
    FAILS(husk_stopping_save(NULL, text, &error), "husk_stopping_save: stopping: it is NULL");
    FAILS(husk_stopping_load(NULL, &stopping, &error), "husk_stopping_load: text: it is NULL");
    FAILS(husk_progress_create(NULL, &progress, &error), "husk_progress_create: params: it is NULL");
    FAILS(husk_progress_create(&(husk_progress_params){.size = 1}, &progress, &error),
          "husk_progress_create: params: size is 1");
    FAILS(husk_progress_create(&HUSK_PROGRESS_PARAMS(.total = 1, .interval = INFINITY), &progress, &error),
          "husk_progress_create: params: interval is inf");
    FAILS(husk_progress_create(&HUSK_PROGRESS_PARAMS(.total = 1), NULL, &error),
          "husk_progress_create: progress: it is NULL");
    husk_progress_show(NULL, 1, "text");
    husk_progress_release(NULL);
    FAILS(husk_log_open(path, &(husk_log_params){.size = 1}, &log, &error), "husk_log_open: params: size is 1");
    FAILS(husk_log_open(path, &HUSK_LOG_PARAMS(.columns = (const char *[]){"\x7f"}, .count = 1), &log, &error),
          "husk_log_open: params: ");
    ck_assert(access(path, F_OK) != 0 && !log && !progress);
    husk_log_close(NULL);
    NOTHING_THERE(husk_log_write(NULL, &rate, &error));
    FAILS(husk_metrics_create(test_context(), &(husk_metrics_params){.size = 1}, &metrics, &error),
          "husk_metrics_create: params: size is 1");
    FAILS(husk_metrics_add(NULL, test_queue(), NULL, NULL, 1, &error), "husk_metrics_add: metrics: it is NULL");
    FAILS(husk_metrics_add_loss(NULL, test_queue(), NULL, 1, &error), "husk_metrics_add_loss: metrics: it is NULL");
    FAILS(husk_metrics_read(NULL, test_queue(), &report, &error), "husk_metrics_read: metrics: it is NULL");
    FAILS(husk_metrics_read_confusion(NULL, test_queue(), counts, &error),
          "husk_metrics_read_confusion: metrics: it is NULL");
    FAILS(husk_confusion_scores(NULL, 2, NULL, NULL, NULL, &error), "husk_confusion_scores: counts: it is NULL");
}
END_TEST

START_TEST(initializers)
{
    static const char *const names[] = {"default",    "constant",  "uniform",        "normal",
                                        "he_uniform", "he_normal", "xavier_uniform", "xavier_normal"};
    for (int kind = 0; kind < 8; kind++)
        ck_assert_str_eq(husk_initializer_kind_name((husk_initializer_kind)kind), names[kind]);
    const husk_initializer wrong[] = {HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_UNIFORM, .spread = INFINITY),
                                      HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_HE_UNIFORM, .gain = NAN),
                                      HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_HE_UNIFORM, .gain = -1)};
    double value = 7;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(husk_initializer_fill(&wrong[i], 0, "w", 0, NULL, &value, &error),
              "husk_initializer_fill: initializer: ");
    FAILS(husk_initializer_fill(NULL, 0, "w", -1, NULL, &value, &error),
          "husk_initializer_fill: shape: a rank of 0 to 8");
    FAILS(husk_initializer_fill(NULL, 0, "w", 9, (int64_t[9]){0}, &value, &error),
          "husk_initializer_fill: shape: a rank");
    FAILS(husk_initializer_fill(NULL, 0, "w", 1, NULL, &value, &error),
          "husk_initializer_fill: shape: a rank of 0 to 8");
    FAILS(husk_initializer_fill(NULL, 0, "w", 0, NULL, NULL, &error), "husk_initializer_fill: values: it is NULL");
    ck_assert(value == 7);
    ck_assert(
        !husk_initializer_fill(&HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_HE_UNIFORM), 0, "w", 0, NULL, &value, NULL));
    ck_assert(fabs(value) <= sqrt(6)); // a scalar is fed by one
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/refusals_data");
    TCase *tcase = tcase_create("all");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, files);
    tcase_add_test(tcase, texts);
    tcase_add_test(tcase, datasets);
    tcase_add_test(tcase, feeds);
    tcase_add_test(tcase, tensors_in_files);
    tcase_add_test(tcase, around_the_steps);
    tcase_add_test(tcase, initializers);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
