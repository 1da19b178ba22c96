// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Batches on the device: every example once an epoch, normalised and augmented as it is said, the same again after a
// resume, and not written over while somebody uses them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/train/data.h>

#include "support/device.h"
#include "support/main.h"

enum { EXAMPLES = 53, CHANNELS = 2, HEIGHT = 3, WIDTH = 4, IMAGE = CHANNELS * HEIGHT * WIDTH };

static husk_error error;
static husk_dataset *dataset;

static uint8_t pixel(int64_t example, int at)
{
    return (uint8_t)(1 + (example * 37 + at * 5) % 250);
}

// Images whose labels are their own numbers.
static void setup(void)
{
    husk_array inputs = {.dtype = HUSK_U8,
                         .rank = 4,
                         .shape = {EXAMPLES, CHANNELS, HEIGHT, WIDTH},
                         .bytes = EXAMPLES * IMAGE,
                         .data = malloc(EXAMPLES * IMAGE)};
    husk_array labels = {.dtype = HUSK_U8, .rank = 1, .shape = {EXAMPLES}, .bytes = EXAMPLES, .data = malloc(EXAMPLES)};
    for (int i = 0; i < EXAMPLES; ++i) {
        ((uint8_t *)labels.data)[i] = (uint8_t)i;
        for (int k = 0; k < IMAGE; ++k)
            ((uint8_t *)inputs.data)[i * IMAGE + k] = pixel(i, k);
    }
    test_ok_error(husk_dataset_create(&inputs, &labels, &HUSK_DATASET_PARAMS(.classes = EXAMPLES), &dataset, &error),
                  &error);
}

static void teardown(void)
{
    husk_dataset_release(dataset);
}

static husk_feed *make(const husk_feed_params *params)
{
    husk_feed *feed;
    test_ok_error(husk_feed_create(test_context(), dataset, params, &feed, &error), &error);
    return feed;
}

typedef struct host_batch {
    husk_batch batch;
    float inputs[EXAMPLES * IMAGE];
    int32_t labels[EXAMPLES];
} host_batch;

static void next(husk_feed *feed, host_batch *host)
{
    test_ok_error(husk_feed_next(feed, test_queue(), &host->batch, &error), &error);
    const husk_batch *batch = &host->batch;
    ck_assert(batch->inputs.rank == 4 && batch->inputs.shape[0] == batch->count && batch->inputs.shape[3] == WIDTH);
    ck_assert(batch->labels.rank == 1 && batch->labels.shape[0] == batch->count && batch->labels.dtype == HUSK_I32);
    test_ok(husk_buffer_read(test_queue(), batch->inputs.buffer, 0, (uint64_t)batch->count * IMAGE * 4, host->inputs));
    test_ok(husk_buffer_read(test_queue(), batch->labels.buffer, 0, (uint64_t)batch->count * 4, host->labels));
}

START_TEST(every_epoch_has_every_example_once)
{
    static host_batch host;
    int32_t orders[4][EXAMPLES];
    husk_feed *feed = make(&HUSK_FEED_PARAMS(.batch = 10, .keep_partial = 1, .seed = 3));
    ck_assert_int_eq(husk_feed_batches(feed), 6);
    for (uint64_t epoch = 0; epoch < 4; ++epoch) {
        int seen[EXAMPLES] = {0}, count = 0;
        for (uint64_t b = 0; b < 6; ++b) {
            next(feed, &host);
            ck_assert_int_eq(host.batch.count, b == 5 ? 3 : 10);
            ck_assert(host.batch.position.epoch == epoch && host.batch.position.batch == b);
            ck_assert_int_eq(host.batch.is_last, b == 5);
            for (int64_t i = 0; i < host.batch.count; ++i) {
                seen[host.labels[i]]++;
                orders[epoch][count++] = host.labels[i];
                for (int k = 0; k < IMAGE; ++k)
                    ck_assert(host.inputs[i * IMAGE + k] == (float)pixel(host.labels[i], k));
            }
        }
        for (int i = 0; i < EXAMPLES; ++i)
            ck_assert_int_eq(seen[i], 1);
        for (uint64_t e = 0; e < epoch; ++e)
            ck_assert(memcmp(orders[e], orders[epoch], sizeof orders[e]) != 0);
    }
    husk_feed_release(feed);
    // The same seed again, another one, and no shuffling.
    for (int kind = 0; kind < 3; ++kind) {
        feed = make(&HUSK_FEED_PARAMS(.batch = EXAMPLES, .seed = kind == 1 ? 4 : 3, .in_order = kind == 2, .slots = 3));
        for (int epoch = 0; epoch < 2; ++epoch) {
            next(feed, &host);
            ck_assert_int_eq(memcmp(host.labels, orders[epoch], sizeof orders[epoch]) == 0, kind == 0);
            for (int i = 0; kind == 2 && i < EXAMPLES; ++i)
                ck_assert_int_eq(host.labels[i], i);
        }
        husk_feed_release(feed);
    }
    husk_feed_release(NULL);
}
END_TEST

START_TEST(a_partial_batch_is_left_out)
{
    static host_batch host;
    husk_feed *feed = make(&HUSK_FEED_PARAMS(.batch = 10));
    ck_assert_int_eq(husk_feed_batches(feed), 5);
    for (int b = 0; b < 12; ++b) {
        next(feed, &host);
        ck_assert(host.batch.count == 10 && host.batch.is_last == (b % 5 == 4));
        ck_assert(host.batch.position.epoch == (uint64_t)b / 5 && host.batch.position.batch == (uint64_t)b % 5);
    }
    husk_feed_release(feed);
}
END_TEST

START_TEST(a_batch_larger_than_the_dataset_is_all_of_it)
{
    static host_batch host;
    const int64_t sizes[] = {EXAMPLES + 1, INT64_MAX};
    for (int i = 0; i < 2; ++i) {
        husk_feed *feed = make(&HUSK_FEED_PARAMS(.batch = sizes[i], .keep_partial = 1, .in_order = 1));
        ck_assert_int_eq(husk_feed_batches(feed), 1);
        for (uint64_t epoch = 0; epoch < 2; ++epoch) {
            next(feed, &host);
            ck_assert(host.batch.count == EXAMPLES && host.batch.is_last && host.batch.position.epoch == epoch);
            ck_assert_int_eq(host.labels[EXAMPLES - 1], EXAMPLES - 1);
        }
        husk_feed_release(feed);
    }
}
END_TEST

START_TEST(numbers_are_normalised_by_channel)
{
    static host_batch host;
    const float mean[] = {0.25f, 0.5f}, deviation[] = {2, -0.125f};
    husk_feed *feed = make(
        &HUSK_FEED_PARAMS(.batch = EXAMPLES, .channels = 2, .scale = 1.0f / 256, .mean = mean, .deviation = deviation));
    next(feed, &host);
    for (int i = 0; i < EXAMPLES; ++i)
        for (int k = 0; k < IMAGE; ++k) {
            const int c = k / (HEIGHT * WIDTH);
            const float wanted = ((float)pixel(host.labels[i], k) * (1.0f / 256) - mean[c]) / deviation[c];
            ck_assert(host.inputs[i * IMAGE + k] == wanted);
        }
    husk_feed_release(feed);
}
END_TEST

// Of bytes there is a table for each channel; other numbers are computed one by one.
START_TEST(numbers_of_every_dtype_are_normalised)
{
    const husk_dtype dtypes[] = {HUSK_I8, HUSK_F32, HUSK_F64, HUSK_I32};
    const float mean[] = {0.25f, -0.5f}, deviation[] = {2, -0.125f};
    enum { IMAGES = 3, ALL = IMAGES * IMAGE };
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; ++d) {
        const uint64_t size = husk_dtype_size(dtypes[d]);
        husk_array inputs = {.dtype = dtypes[d],
                             .rank = 3,
                             .shape = {IMAGES, CHANNELS, HEIGHT * WIDTH},
                             .bytes = ALL * size,
                             .data = malloc(ALL * size)};
        double numbers[ALL];
        for (int i = 0; i < ALL; ++i) {
            numbers[i] =
                dtypes[d] == HUSK_F32 || dtypes[d] == HUSK_F64 ? (double)(i - 30) / 8 : (double)(i * 7 % 250 - 120);
            switch (dtypes[d]) {
            case HUSK_I8:
                ((int8_t *)inputs.data)[i] = (int8_t)numbers[i];
                break;
            case HUSK_F32:
                ((float *)inputs.data)[i] = (float)numbers[i];
                break;
            case HUSK_F64:
                ((double *)inputs.data)[i] = numbers[i];
                break;
            default:
                ((int32_t *)inputs.data)[i] = (int32_t)numbers[i];
            }
        }
        husk_dataset *images;
        husk_feed *feed;
        husk_batch batch;
        float got[ALL];
        test_ok_error(husk_dataset_create(&inputs, NULL, &HUSK_DATASET_PARAMS(.numbers = 1), &images, &error), &error);
        husk_feed_params params = HUSK_FEED_PARAMS(.batch = IMAGES, .in_order = 1, .channels = 2, .scale = 0.5f,
                                                   .mean = mean, .deviation = deviation);
        test_ok_error(husk_feed_create(test_context(), images, &params, &feed, &error), &error);
        test_ok_error(husk_feed_next(feed, test_queue(), &batch, &error), &error);
        ck_assert(batch.inputs.dtype == HUSK_F32 && batch.labels.rank == -1);
        test_ok(husk_buffer_read(test_queue(), batch.inputs.buffer, 0, sizeof got, got));
        for (int i = 0; i < ALL; ++i) {
            const int c = i / (HEIGHT * WIDTH) % CHANNELS;
            const float wanted = ((float)numbers[i] * 0.5f - mean[c]) / deviation[c];
            ck_assert_msg(got[i] == wanted, "%s: number %d: %g becomes %g", husk_dtype_name(dtypes[d]), i, numbers[i],
                          (double)got[i]);
        }
        husk_feed_release(feed);
        husk_dataset_release(images);
    }
}
END_TEST

enum { SHIFT = 1, MOVES = 2 * (2 * SHIFT + 1) * (2 * SHIFT + 1) };

// Whether the image is that example's, moved and mirrored in this way.
static bool is_moved(const float *image, int64_t example, int move)
{
    const bool mirrored = move % 2;
    const int down = move / 2 % (2 * SHIFT + 1) - SHIFT, right = move / 2 / (2 * SHIFT + 1) - SHIFT;
    for (int c = 0; c < CHANNELS; ++c)
        for (int y = 0; y < HEIGHT; ++y)
            for (int x = 0; x < WIDTH; ++x) {
                const int from_y = y + down, from_x = (mirrored ? WIDTH - 1 - x : x) + right;
                const bool inside = from_y >= 0 && from_y < HEIGHT && from_x >= 0 && from_x < WIDTH;
                const float number = inside ? (float)pixel(example, (c * HEIGHT + from_y) * WIDTH + from_x) : 0;
                if (image[(c * HEIGHT + y) * WIDTH + x] != number * 2 - (float)(c + 1))
                    return false;
            }
    return true;
}

START_TEST(images_are_moved_and_mirrored_by_chance)
{
    static host_batch host, again;
    int counts[MOVES] = {0};
    const float mean[] = {1, 2};
    const husk_feed_params params = HUSK_FEED_PARAMS(.batch = EXAMPLES, .channels = 2, .scale = 2, .mean = mean,
                                                     .flip = 1, .shift = SHIFT, .seed = 9);
    husk_feed *feed = make(&params), *second = make(&params);
    for (int epoch = 0; epoch < 40; ++epoch) {
        next(feed, &host);
        next(second, &again);
        ck_assert_mem_eq(host.inputs, again.inputs, sizeof host.inputs);
        for (int i = 0; i < EXAMPLES; ++i) {
            int found = 0, move = 0;
            for (int m = 0; m < MOVES; ++m)
                if (is_moved(host.inputs + i * IMAGE, host.labels[i], m)) {
                    move = m;
                    found++;
                }
            ck_assert_msg(found == 1, "epoch %d, example %d: %d moves explain it", epoch, host.labels[i], found);
            counts[move]++;
        }
    }
    for (int m = 0; m < MOVES; ++m) // 2,120 images: 118 each, and a standard deviation of 11
        ck_assert_msg(counts[m] > 70 && counts[m] < 170, "move %d: %d times", m, counts[m]);
    husk_feed_release(feed);
    husk_feed_release(second);
}
END_TEST

START_TEST(a_resumed_feed_goes_on_with_the_same_bits)
{
    static host_batch straight, resumed;
    const husk_feed_params params = HUSK_FEED_PARAMS(.batch = 8, .keep_partial = 1, .flip = 1, .seed = 1, .slots = 3);
    husk_feed *feed = make(&params);
    for (int steps = 0; steps < 20; ++steps) {
        const husk_feed_position position = husk_feed_tell(feed);
        next(feed, &straight);
        ck_assert(position.epoch == straight.batch.position.epoch && position.batch == straight.batch.position.batch);
        husk_feed *other = make(&params);
        if (steps % 2) // one that has given and loaded others
            next(other, &resumed);
        test_ok_error(husk_feed_seek(other, position, &error), &error);
        for (int more = 0; more < 2; ++more) {
            next(other, &resumed);
            if (more == 0) {
                ck_assert_mem_eq(straight.inputs, resumed.inputs, (size_t)straight.batch.count * IMAGE * 4);
                ck_assert_mem_eq(straight.labels, resumed.labels, (size_t)straight.batch.count * 4);
            }
        }
        const husk_feed_position after = husk_feed_tell(feed);
        ck_assert(resumed.batch.position.epoch == after.epoch && resumed.batch.position.batch == after.batch);
        husk_feed_release(other);
    }
    husk_feed_release(feed);
}
END_TEST

START_TEST(shards_are_parts_of_the_same_batch)
{
    static host_batch whole, part;
    husk_feed *feed = make(&HUSK_FEED_PARAMS(.batch = 10, .keep_partial = 1, .seed = 2)), *shards[3];
    for (int s = 0; s < 3; ++s)
        shards[s] = make(&HUSK_FEED_PARAMS(.batch = 10, .keep_partial = 1, .seed = 2, .shards = 3, .shard = s));
    for (int b = 0; b < 9; ++b) {
        int64_t count = 0;
        next(feed, &whole);
        for (int s = 0; s < 3; ++s) {
            next(shards[s], &part);
            ck_assert_mem_eq(part.labels, whole.labels + count, (size_t)part.batch.count * 4);
            ck_assert_mem_eq(part.inputs, whole.inputs + count * IMAGE, (size_t)part.batch.count * IMAGE * 4);
            ck_assert(part.batch.count == whole.batch.count / 3 || part.batch.count == whole.batch.count / 3 + 1);
            count += part.batch.count;
        }
        ck_assert_int_eq(count, whole.batch.count);
    }
    for (int s = 0; s < 3; ++s)
        husk_feed_release(shards[s]);
    husk_feed_release(feed);
}
END_TEST

// Work that takes long is enqueued before each batch is copied, and nobody waits: the feed has to.
START_TEST(a_batch_is_not_written_over_while_it_is_used)
{
    enum { BATCHES = 24, BATCH = 6, LARGE = 1 << 24, BYTES = BATCH * IMAGE * 4 };
    static float kept[BATCHES][BATCH * IMAGE];
    static host_batch wanted;
    husk_queue *queue;
    husk_buffer *large, *copies;
    test_ok_error(husk_queue_create(test_context(), NULL, &queue, &error), &error);
    test_ok_error(husk_buffer_create(test_context(), 2 * LARGE, &large, &error), &error);
    test_ok_error(husk_buffer_create(test_context(), BATCHES * BYTES, &copies, &error), &error);
    for (int early = 0; early < 2; ++early) {
        husk_feed *feed = make(&HUSK_FEED_PARAMS(.batch = BATCH, .seed = 8)), *second;
        second = make(&HUSK_FEED_PARAMS(.batch = BATCH, .seed = 8));
        for (int b = 0; b < BATCHES; ++b) {
            husk_batch batch;
            test_ok_error(husk_feed_next(feed, queue, &batch, &error), &error);
            test_ok(husk_buffer_copy(queue, large, 0, large, LARGE, LARGE));
            test_ok(husk_buffer_copy(queue, batch.inputs.buffer, 0, copies, (uint64_t)b * BYTES, BYTES));
            if (early)
                test_ok_error(husk_feed_done(feed, queue, &error), &error);
        }
        test_ok(husk_buffer_read(queue, copies, 0, sizeof kept, kept));
        for (int b = 0; b < BATCHES; ++b) {
            next(second, &wanted);
            ck_assert_msg(memcmp(kept[b], wanted.inputs, BYTES) == 0, "batch %d was written over", b);
        }
        husk_feed_release(feed);
        husk_feed_release(second);
    }
    husk_buffer_release(large);
    husk_buffer_release(copies);
    husk_queue_release(queue);
}
END_TEST

enum { WIDE = 1 << 18, WIDE_BATCHES = 12, COPIES = 8, LARGE_COPY = 1 << 24 };

// By the device's clock: how many transfers ran while something of the other queue did.
static int count_overlapping(husk_queue *queue, husk_queue *feeds, int *transfers)
{
    static husk_profile_record work[2 * COPIES * WIDE_BATCHES];
    const husk_profile_record *records;
    size_t work_count, count;
    int overlapping = 0;
    test_ok(husk_queue_profile(queue, &records, &work_count));
    ck_assert_uint_le(work_count, sizeof work / sizeof *work);
    memcpy(work, records, work_count * sizeof *work);
    test_ok(husk_queue_profile(feeds, &records, &count));
    *transfers = 0;
    for (size_t i = 0; i < count; ++i) {
        bool overlaps = false;
        for (size_t k = 0; k < work_count; ++k)
            overlaps |= records[i].started_ns < work[k].ended_ns && work[k].started_ns < records[i].ended_ns;
        *transfers += strcmp(records[i].name, "write") == 0;
        overlapping += overlaps;
    }
    return overlapping;
}

START_TEST(transfers_overlap_computing)
{
    husk_array inputs = {.dtype = HUSK_U8, .rank = 2, .shape = {8, WIDE}, .bytes = 8 * WIDE, .data = calloc(8, WIDE)};
    husk_dataset *wide;
    husk_queue *queue;
    husk_buffer *large;
    husk_feed *feed;
    int overlapping = 0, transfers = 0;
    test_ok_error(husk_dataset_create(&inputs, NULL, NULL, &wide, &error), &error);
    test_ok_error(husk_queue_create(test_context(), &HUSK_QUEUE_PARAMS(.profiling = 1), &queue, &error), &error);
    test_ok_error(husk_buffer_create(test_context(), 2 * LARGE_COPY, &large, &error), &error);
    test_ok_error(husk_feed_create(test_context(), wide, &HUSK_FEED_PARAMS(.batch = 4, .profiling = 1), &feed, &error),
                  &error);
    for (int round = 0; round < 5 && overlapping == 0; ++round) { // a busy machine may run one after the other
        husk_queue_profile_clear(queue);
        husk_queue_profile_clear(husk_feed_queue(feed));
        for (int b = 0; b < WIDE_BATCHES; ++b) {
            husk_batch batch;
            test_ok_error(husk_feed_next(feed, queue, &batch, &error), &error);
            for (int c = 0; c < COPIES; ++c) // longer than the host needs for a batch
                test_ok(husk_buffer_copy(queue, large, 0, large, LARGE_COPY, LARGE_COPY));
            test_ok_error(husk_feed_done(feed, queue, &error), &error);
        }
        overlapping = count_overlapping(queue, husk_feed_queue(feed), &transfers);
    }
    printf("transfers: %d of %d while the device computed\n", overlapping, transfers);
    ck_assert_int_ge(transfers, WIDE_BATCHES);
    ck_assert_int_ge(overlapping, 1);
    husk_feed_release(feed);
    husk_dataset_release(wide);
    husk_buffer_release(large);
    husk_queue_release(queue);
}
END_TEST

START_TEST(wrong_params_are_refused)
{
    husk_feed *feed;
    const float zero[2] = {0};
    const struct {
        husk_feed_params params;
        const char *words;
    } wrong[] = {
        {HUSK_FEED_PARAMS(.batch = 0), "batch: a batch has one"},
        {HUSK_FEED_PARAMS(.batch = EXAMPLES + 1), "fewer examples"},
        {HUSK_FEED_PARAMS(.batch = 1, .slots = 1), "slots"},
        {HUSK_FEED_PARAMS(.batch = 1, .slots = 9), "slots"},
        {HUSK_FEED_PARAMS(.batch = 4, .shards = 2, .shard = 2), "shard"},
        {HUSK_FEED_PARAMS(.batch = 4, .shards = 5), "shards"},
        {HUSK_FEED_PARAMS(.batch = 4, .channels = 5), "channels"},
        {HUSK_FEED_PARAMS(.batch = 4, .channels = 4, .flip = 1), "of one channel"},
        {HUSK_FEED_PARAMS(.batch = 4, .mean = zero), "channels"},
        {HUSK_FEED_PARAMS(.batch = 4, .channels = 2, .deviation = zero), "deviation"},
        {HUSK_FEED_PARAMS(.batch = 4, .shift = -1), "shift"},
        {{.batch = 4}, "size"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        const husk_status status = husk_feed_create(test_context(), dataset, &wrong[i].params, &feed, &error);
        test_refused_error(status, &error, HUSK_INVALID_ARGUMENT, wrong[i].words);
        ck_assert_ptr_null(feed);
    }
    feed = make(&HUSK_FEED_PARAMS(.batch = 10));
    test_refused_error(husk_feed_seek(feed, (husk_feed_position){0, 5}, &error), &error, HUSK_INVALID_ARGUMENT,
                       "position");
    husk_batch batch;
    test_refused_error(husk_feed_next(feed, NULL, &batch, &error), &error, HUSK_INVALID_ARGUMENT, "queue");
    husk_feed_release(feed);
}
END_TEST

START_TEST(a_batch_in_use_is_not_given_back_on_another_queue)
{
    husk_feed *feed = make(&HUSK_FEED_PARAMS(.batch = 8, .slots = 2));
    husk_queue *other;
    husk_batch batch;
    test_ok_error(husk_queue_create(test_context(), NULL, &other, &error), &error);
    test_ok_error(husk_feed_next(feed, test_queue(), &batch, &error), &error);
    ck_assert_int_eq(husk_feed_next(feed, other, &batch, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, "queue: the last batch is in use on another one"), "%s", error.text);
    test_ok_error(husk_feed_done(feed, test_queue(), &error), &error);
    test_ok_error(husk_feed_next(feed, other, &batch, &error), &error);
    test_ok_error(husk_feed_done(feed, other, &error), &error);
    husk_feed_release(feed);
    husk_queue_release(other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("feed");
    TCase *cases = tcase_create("feed");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, every_epoch_has_every_example_once);
    tcase_add_test(cases, a_partial_batch_is_left_out);
    tcase_add_test(cases, a_batch_larger_than_the_dataset_is_all_of_it);
    tcase_add_test(cases, numbers_are_normalised_by_channel);
    tcase_add_test(cases, numbers_of_every_dtype_are_normalised);
    tcase_add_test(cases, images_are_moved_and_mirrored_by_chance);
    tcase_add_test(cases, a_resumed_feed_goes_on_with_the_same_bits);
    tcase_add_test(cases, shards_are_parts_of_the_same_batch);
    tcase_add_test(cases, a_batch_is_not_written_over_while_it_is_used);
    tcase_add_test(cases, transfers_overlap_computing);
    tcase_add_test(cases, wrong_params_are_refused);
    tcase_add_test(cases, a_batch_in_use_is_not_given_back_on_another_queue);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
