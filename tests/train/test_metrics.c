// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,valgrind timeout=120
// Metrics: by hand, against counting on the host, over many batches, and what is refused.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <husk/train/metrics.h>

#include "support/support.h"

static husk_error error;

static husk_metrics *make(const husk_metrics_params *params)
{
    husk_metrics *metrics;
    test_ok_error(husk_metrics_create(test_context(), params, &metrics, &error), &error);
    return metrics;
}

static husk_tensor upload(husk_dtype dtype, int32_t rank, const int64_t *shape, const void *host)
{
    husk_tensor tensor = husk_tensor_make(NULL, dtype, rank, shape);
    test_ok_error(husk_buffer_create(test_context(), (uint64_t)husk_tensor_extent(&tensor), &tensor.buffer, &error),
                  &error);
    test_ok(husk_buffer_write(test_queue(), tensor.buffer, 0, (uint64_t)husk_tensor_extent(&tensor), host));
    return tensor;
}

static husk_metrics_report read_report(husk_metrics *metrics)
{
    husk_metrics_report report = HUSK_METRICS_REPORT();
    test_ok_error(husk_metrics_read(metrics, test_queue(), &report, &error), &error);
    return report;
}

static void add(husk_metrics *metrics, const husk_tensor *scores, const husk_tensor *labels, int64_t count)
{
    test_ok_error(husk_metrics_add(metrics, test_queue(), scores, labels, count, &error), &error);
}

// Six examples of three classes in batches of four; of the second batch two rows count. The scores are logarithms, so
// softmax gives the probabilities back.
START_TEST(six_examples_by_hand)
{
    const double probabilities[8][3] = {{0.5, 0.25, 0.25}, {0.2, 0.5, 0.3}, {0.1, 0.3, 0.6}, {0.6, 0.3, 0.1},
                                        {0.3, 0.2, 0.5},   {0.1, 0.8, 0.1}, {1, 1, 1},       {1, 1, 1}};
    const int32_t labels[8] = {0, 1, 1, 1, 2, 0, 2, 2};
    float scores[8][3];
    for (int i = 0; i < 24; i++)
        scores[i / 3][i % 3] = (float)log(probabilities[i / 3][i % 3]);
    const husk_tensor of_scores = upload(HUSK_F32, 3, (int64_t[]){2, 4, 3}, scores);
    const husk_tensor of_labels = upload(HUSK_I32, 2, (int64_t[]){2, 4}, labels);
    const husk_tensor loss = upload(HUSK_F32, 1, (int64_t[]){2}, (float[]){1.5f, 3});
    husk_metrics *metrics = make(&HUSK_METRICS_PARAMS(.classes = 3, .rows = 4, .top = 2, .confusion = 1));
    for (int round = 0; round < 2; round++) { // the second after a reset
        for (int64_t b = 0; b < 2; b++) {
            husk_tensor x = husk_tensor_slice(&of_scores, 0, b, 1, 1), y = husk_tensor_slice(&of_labels, 0, b, 1, 1);
            husk_tensor mean = husk_tensor_slice(&loss, 0, b, 1, 1);
            add(metrics, &x, &y, b ? 2 : 4);
            test_ok_error(husk_metrics_add_loss(metrics, test_queue(), &mean, b ? 2 : 4, &error), &error);
        }
        husk_metrics_report report = read_report(metrics);
        // Right: 0, 1, 4. The labels' probabilities: .5, .5, .3, .3, .5, .1; second best in 2 and 3; row 5 has 0 and 2
        // equal, so that neither is in the top two.
        ck_assert_int_eq(report.rows, 6);
        ck_assert_int_eq(report.right, 3);
        ck_assert(report.accuracy == 0.5);
        ck_assert(fabs(report.top_accuracy - 5.0 / 6) < 1e-15);
        double entropy = -(3 * log(0.5) + 2 * log(0.3) + log(0.1)) / 6;
        ck_assert(fabs(report.cross_entropy - entropy) < 1e-6);
        ck_assert(fabs(report.perplexity - exp(entropy)) < 1e-5);
        ck_assert(report.loss == (4 * 1.5 + 2 * 3) / 6);
        int64_t counts[9];
        const int64_t wanted[9] = {1, 1, 0, 1, 1, 1, 0, 0, 1};
        test_ok_error(husk_metrics_read_confusion(metrics, test_queue(), counts, &error), &error);
        ck_assert(memcmp(counts, wanted, sizeof wanted) == 0);
        ck_assert(read_report(metrics).right == 3); // reading changes nothing
        husk_metrics_reset(metrics);
        report = read_report(metrics);
        ck_assert(report.rows == 0 && isnan(report.accuracy) && isnan(report.top_accuracy) && isnan(report.loss) &&
                  isnan(report.perplexity));
        test_ok_error(husk_metrics_read_confusion(metrics, test_queue(), counts, &error), &error);
        for (int i = 0; i < 9; i++)
            ck_assert_int_eq(counts[i], 0);
    }
    husk_metrics_release(metrics);
    husk_buffer_release(of_scores.buffer);
    husk_buffer_release(of_labels.buffer);
    husk_buffer_release(loss.buffer);
}
END_TEST

// ---- against the host ----

enum { ROWS = 37, CLASSES = 11, TOP = 4 };

typedef struct host_metrics {
    int64_t rows, right, top, confusion[CLASSES * CLASSES];
    double entropy;
} host_metrics;

static void count_row(host_metrics *host, const double *x, int64_t label)
{
    if (label < 0)
        return;
    int64_t best = 0, others = 0;
    double largest = -INFINITY, sum = 0;
    for (int64_t c = 0; c < CLASSES; c++) {
        if (x[c] > x[best] || (isnan(x[c]) && !isnan(x[best])))
            best = c;
        others += c != label && !(x[c] < x[label]);
        largest = fmax(largest, x[c]);
    }
    for (int64_t c = 0; c < CLASSES; c++)
        sum += exp(x[c] - largest);
    host->rows++;
    host->right += best == label;
    host->top += others < TOP;
    host->entropy += largest + log(sum) - x[label];
    host->confusion[label * CLASSES + best]++;
}

// Whole numbers, so that there are ties; labels of i64 and ones that are ignored.
static void count_batches(husk_dtype dtype, int batches, bool has_nan)
{
    husk_metrics *metrics =
        make(&HUSK_METRICS_PARAMS(.dtype = dtype, .classes = CLASSES, .rows = ROWS, .top = TOP, .confusion = 1));
    static double wide[ROWS * CLASSES];
    static float narrow[ROWS * CLASSES];
    static int64_t labels[ROWS];
    host_metrics host = {0};
    uint64_t random = 88172645463325252u;
    for (int b = 0; b < batches; b++) {
        int64_t count = b == batches - 1 ? ROWS / 2 : ROWS;
        for (int i = 0; i < ROWS * CLASSES; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            wide[i] = has_nan && random % 29 == 0 ? NAN : random % 31 == 1 ? -INFINITY : (double)(random % 7);
            narrow[i] = (float)wide[i];
        }
        for (int r = 0; r < ROWS; r++)
            labels[r] = (r + b) % 9 == 0 ? -100 : (r * 5 + b) % CLASSES;
        for (int r = 0; r < count; r++)
            count_row(&host, &wide[r * CLASSES], labels[r]);
        husk_tensor x = upload(dtype, 2, (int64_t[]){ROWS, CLASSES}, dtype == HUSK_F64 ? (void *)wide : narrow);
        husk_tensor y = upload(HUSK_I64, 1, (int64_t[]){ROWS}, labels);
        add(metrics, &x, &y, count);
        husk_buffer_release(x.buffer);
        husk_buffer_release(y.buffer);
    }
    husk_metrics_report report = read_report(metrics);
    ck_assert_int_eq(report.rows, host.rows);
    ck_assert_int_eq(report.right, host.right);
    ck_assert(report.top_accuracy == (double)host.top / (double)host.rows);
    if (isfinite(host.entropy))
        ck_assert(fabs(report.cross_entropy - host.entropy / (double)host.rows) < 1e-6 * report.cross_entropy);
    else
        ck_assert(!isfinite(report.cross_entropy));
    int64_t counts[CLASSES * CLASSES];
    test_ok_error(husk_metrics_read_confusion(metrics, test_queue(), counts, &error), &error);
    ck_assert(memcmp(counts, host.confusion, sizeof counts) == 0);
    husk_metrics_release(metrics);
}

START_TEST(batches_are_counted_as_the_host_does)
{
    count_batches(HUSK_F32, 5, false);
    count_batches(HUSK_F32, 5, true);
    if (test_is_long() && husk_context_has(test_context(), HUSK_FEATURE_F64)) // programs of its own
        count_batches(HUSK_F64, 3, false);
}
END_TEST

// What the top k is counted by is there whichever comes first, and again after a read.
START_TEST(a_loss_may_come_before_its_batch)
{
    const float scores[3][3] = {{3, 2, 1}, {3, 2, 1}, {3, 2, 1}};
    const husk_tensor x = upload(HUSK_F32, 2, (int64_t[]){3, 3}, scores);
    const husk_tensor y = upload(HUSK_I32, 1, (int64_t[]){3}, (int32_t[]){1, 2, -100});
    const husk_tensor loss = upload(HUSK_F32, 0, NULL, &(float){0.5f});
    husk_metrics *metrics = make(&HUSK_METRICS_PARAMS(.classes = 3, .rows = 3, .top = 2));
    for (int round = 1; round <= 2; round++) {
        test_ok_error(husk_metrics_add_loss(metrics, test_queue(), &loss, 3, &error), &error);
        add(metrics, &x, &y, 3);
        husk_metrics_report report = read_report(metrics);
        ck_assert_int_eq(report.rows, 2 * round);
        ck_assert(report.top_accuracy == 0.5 && report.right == 0 && report.loss == 0.5);
    }
    husk_metrics_release(metrics);
    husk_buffer_release(x.buffer);
    husk_buffer_release(y.buffer);
    husk_buffer_release(loss.buffer);
}
END_TEST

// More batches than there are places on the device, and losses between them.
START_TEST(an_epoch_may_be_long)
{
    const int batches = test_tier_is("valgrind") ? 700 : 2500; // each takes two places of 1,024
    const float scores[2][2] = {{1, 0}, {1, 0}};
    const husk_tensor x = upload(HUSK_F32, 2, (int64_t[]){2, 2}, scores);
    const husk_tensor y = upload(HUSK_I32, 1, (int64_t[]){2}, (int32_t[]){0, 1});
    const husk_tensor loss = upload(HUSK_F32, 0, NULL, &(float){0.25f});
    husk_metrics *metrics = make(&HUSK_METRICS_PARAMS(.classes = 2, .rows = 2, .top = 1));
    add(metrics, &x, &y, 2);
    husk_metrics_reset(metrics); // what nobody has read is forgotten
    for (int b = 0; b < batches; b++) {
        add(metrics, &x, &y, b % 2 ? 1 : 2);
        test_ok_error(husk_metrics_add_loss(metrics, test_queue(), &loss, 2, &error), &error);
    }
    add(metrics, &x, &y, 0);
    husk_metrics_report report = read_report(metrics);
    ck_assert_int_eq(report.rows, batches / 2 * 3);
    ck_assert_int_eq(report.right, batches);
    ck_assert(report.loss == 0.25 && report.top_accuracy == report.accuracy);
    ck_assert(fabs(report.cross_entropy - (log1p(exp(-1)) + 1.0 / 3)) < 1e-6);
    husk_metrics_release(metrics);
    husk_buffer_release(x.buffer);
    husk_buffer_release(y.buffer);
    husk_buffer_release(loss.buffer);
}
END_TEST

// More rows than f32 can count.
START_TEST(counts_stay_exact)
{
    enum { ROWS_AT_ONCE = 1 << 22, BATCHES_OF_THEM = 5 };
    if (!test_is_long())
        return;
    float *scores = calloc(2 * ROWS_AT_ONCE, sizeof *scores);
    int32_t *labels = calloc(ROWS_AT_ONCE, sizeof *labels);
    ck_assert(scores && labels);
    const husk_tensor x = upload(HUSK_F32, 2, (int64_t[]){ROWS_AT_ONCE, 2}, scores);
    const husk_tensor y = upload(HUSK_I32, 1, (int64_t[]){ROWS_AT_ONCE}, labels);
    free(scores);
    free(labels);
    husk_metrics *metrics = make(&HUSK_METRICS_PARAMS(.classes = 2, .rows = ROWS_AT_ONCE, .confusion = 1));
    for (int b = 0; b < BATCHES_OF_THEM; b++)
        add(metrics, &x, &y, ROWS_AT_ONCE - 1);
    const int64_t wanted = (int64_t)BATCHES_OF_THEM * (ROWS_AT_ONCE - 1);
    int64_t counts[4];
    husk_metrics_report report = read_report(metrics);
    test_ok_error(husk_metrics_read_confusion(metrics, test_queue(), counts, &error), &error);
    ck_assert(report.rows == wanted && report.right == wanted && counts[0] == wanted);
    husk_metrics_release(metrics);
    husk_buffer_release(x.buffer);
    husk_buffer_release(y.buffer);
}
END_TEST

START_TEST(labels_that_are_no_class_show)
{
    const husk_tensor x = upload(HUSK_F32, 2, (int64_t[]){2, 2}, (float[]){1, 0, 0, 1});
    const husk_tensor y = upload(HUSK_I32, 1, (int64_t[]){2}, (int32_t[]){0, 7});
    husk_metrics *metrics = make(&HUSK_METRICS_PARAMS(.classes = 2, .rows = 2));
    add(metrics, &x, &y, 2);
    husk_metrics_report report = read_report(metrics);
    ck_assert(report.rows == 1 && report.right == 1 && isnan(report.cross_entropy));
    husk_metrics_release(metrics);
    husk_buffer_release(x.buffer);
    husk_buffer_release(y.buffer);
}
END_TEST

// ---- scores of classes ----

START_TEST(precision_and_recall_by_hand)
{
    // Rows are labels: class 0 three times (two known), class 1 twice (one), class 2 never, though it is said once.
    const int64_t counts[9] = {2, 1, 0, 0, 1, 1, 0, 0, 0};
    husk_class_score scores[3], macro, weighted;
    test_ok_error(husk_confusion_scores(counts, 3, scores, &macro, &weighted, &error), &error);
    ck_assert(scores[0].precision == 1 && fabs(scores[0].recall - 2.0 / 3) < 1e-15 &&
              fabs(scores[0].f1 - 0.8) < 1e-15 && scores[0].rows == 3);
    ck_assert(scores[1].precision == 0.5 && scores[1].recall == 0.5 && scores[1].f1 == 0.5 && scores[1].rows == 2);
    ck_assert(scores[2].precision == 0 && scores[2].recall == 0 && scores[2].f1 == 0 && scores[2].rows == 0);
    ck_assert(macro.precision == 0.5 && fabs(macro.recall - 7.0 / 18) < 1e-15 && fabs(macro.f1 - 1.3 / 3) < 1e-15);
    ck_assert(macro.rows == 5 && weighted.rows == 5);
    ck_assert(weighted.precision == 0.8 && weighted.recall == 0.6 && fabs(weighted.f1 - 0.68) < 1e-15);
    test_ok_error(husk_confusion_scores((int64_t[]){0, 0, 0, 0}, 2, NULL, &macro, &weighted, &error), &error);
    ck_assert(macro.f1 == 0 && weighted.f1 == 0 && weighted.rows == 0);
    test_ok_error(husk_confusion_scores(counts, 3, NULL, NULL, NULL, &error), &error);
    test_refused_error(husk_confusion_scores((int64_t[]){0, 0, -1, 0}, 2, scores, NULL, NULL, &error), &error,
                       HUSK_INVALID_ARGUMENT, "counts: -1 in row 1, column 0 is negative");
    test_refused_error(husk_confusion_scores(NULL, 2, scores, NULL, NULL, &error), &error, HUSK_INVALID_ARGUMENT,
                       "counts: it is NULL");
    test_refused_error(husk_confusion_scores(counts, 0, scores, NULL, NULL, &error), &error, HUSK_INVALID_ARGUMENT,
                       "classes: 0; 1 or more are wanted");
}
END_TEST

// ---- what is refused ----

START_TEST(wrong_metrics_are_refused)
{
    const struct {
        husk_metrics_params params;
        const char *text;
    } refused[] = {
        {HUSK_METRICS_PARAMS(.classes = 1, .rows = 1), "classes is 1; 2 to 16777216 are possible"},
        {HUSK_METRICS_PARAMS(.classes = 2), "rows is 0; 1 to 16777216 are possible"},
        {HUSK_METRICS_PARAMS(.classes = 2, .rows = (1 << 24) + 1), "rows is 16777217"},
        {HUSK_METRICS_PARAMS(.classes = 2, .rows = 1, .top = 2), "top is 2; it has to be below the 2 classes"},
        {HUSK_METRICS_PARAMS(.classes = 2, .rows = 1, .top = -1), "top is -1"},
        {HUSK_METRICS_PARAMS(.classes = 2, .rows = 1, .dtype = HUSK_F16), "dtype f16; f32 and f64 are possible"},
        {{.size = 4096}, "size is 4096"},
    };
    husk_metrics *metrics;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        test_refused_error(husk_metrics_create(test_context(), &refused[i].params, &metrics, &error), &error,
                           HUSK_INVALID_ARGUMENT, refused[i].text);
        ck_assert_ptr_null(metrics);
    }
    const husk_metrics_params right = HUSK_METRICS_PARAMS(.classes = 3, .rows = 4);
    test_refused_error(husk_metrics_create(NULL, &right, &metrics, &error), &error, HUSK_INVALID_ARGUMENT,
                       "context: it is NULL");
    test_refused_error(husk_metrics_create(test_context(), NULL, &metrics, &error), &error, HUSK_INVALID_ARGUMENT,
                       "params: it is NULL");
    test_refused_error(husk_metrics_create(test_context(), &right, NULL, &error), &error, HUSK_INVALID_ARGUMENT,
                       "metrics: it is NULL");
    husk_metrics_release(NULL);
    husk_metrics_reset(NULL);
}
END_TEST

START_TEST(wrong_batches_are_refused)
{
    husk_metrics *metrics = make(&HUSK_METRICS_PARAMS(.classes = 3, .rows = 4));
    husk_queue *queue = test_silent_queue();
    const husk_tensor x = upload(HUSK_F32, 2, (int64_t[]){4, 3}, (float[12]){0});
    const husk_tensor y = upload(HUSK_I32, 1, (int64_t[]){4}, (int32_t[4]){0});
    husk_tensor half = x, narrow = husk_tensor_slice(&x, 1, 0, 2, 1), few = husk_tensor_slice(&y, 0, 0, 2, 1), real = y;
    husk_tensor across = husk_tensor_make(x.buffer, HUSK_F32, 2, (int64_t[]){4, 3});
    across.strides[0] = 1;
    across.strides[1] = 4;
    half.dtype = HUSK_F16;
    real.dtype = HUSK_F32;
    const struct {
        const husk_tensor *x, *y;
        int64_t count;
        const char *text;
    } refused[] = {{NULL, &y, 4, "scores: it is NULL"},
                   {&x, NULL, 4, "labels: it is NULL"},
                   {&x, &y, 5, "count: 5; 0 to 4 are possible"},
                   {&x, &y, -1, "count: -1; 0 to 4 are possible"},
                   {&half, &y, 4, "scores: f16, where f32 was said"},
                   {&x, &real, 4, "labels: f32; i32 and i64 are possible"},
                   {&narrow, &y, 4, "scores: the last dimension has to be the 3 classes"},
                   {&x, &few, 2, "labels: 2 for 4 rows of scores"},
                   {&across, &y, 4, "scores: it has to be packed"}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        test_refused_error(husk_metrics_add(metrics, queue, refused[i].x, refused[i].y, refused[i].count, &error),
                           &error, HUSK_INVALID_ARGUMENT, refused[i].text);
    husk_tensor x2 = husk_tensor_slice(&x, 0, 0, 2, 1);
    test_refused_error(husk_metrics_add(metrics, queue, &x2, &few, 3, &error), &error, HUSK_INVALID_ARGUMENT,
                       "count: 3 of 2 rows");
    test_refused_error(husk_metrics_add(NULL, queue, &x, &y, 4, &error), &error, HUSK_INVALID_ARGUMENT,
                       "metrics: it is NULL");
    test_refused_error(husk_metrics_add(metrics, NULL, &x, &y, 4, &error), &error, HUSK_INVALID_ARGUMENT,
                       "queue: it is NULL");
    test_refused_error(husk_metrics_add_loss(metrics, queue, NULL, 1, &error), &error, HUSK_INVALID_ARGUMENT,
                       "loss: it is NULL");
    test_refused_error(husk_metrics_add_loss(metrics, queue, &x, 1, &error), &error, HUSK_INVALID_ARGUMENT,
                       "loss: it has to be one element of f32");
    test_refused_error(husk_metrics_add_loss(metrics, queue, &y, 9, &error), &error, HUSK_INVALID_ARGUMENT,
                       "count: 9; 0 to 4");
    test_refused_error(husk_metrics_read(metrics, queue, NULL, &error), &error, HUSK_INVALID_ARGUMENT,
                       "report: it is NULL");
    husk_metrics_report report = {.size = 8};
    test_refused_error(husk_metrics_read(metrics, queue, &report, &error), &error, HUSK_INVALID_ARGUMENT, "size is 8");
    int64_t counts[9];
    test_refused_error(husk_metrics_read_confusion(metrics, queue, counts, &error), &error, HUSK_INVALID_ARGUMENT,
                       "metrics: they were made without a confusion matrix");
    test_refused_error(husk_metrics_read_confusion(metrics, queue, NULL, &error), &error, HUSK_INVALID_ARGUMENT,
                       "counts: it is NULL");
    ck_assert_int_eq(read_report(metrics).rows, 0);
    husk_metrics_release(metrics);
    husk_buffer_release(x.buffer);
    husk_buffer_release(y.buffer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metrics");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, six_examples_by_hand);
    tcase_add_test(tests, batches_are_counted_as_the_host_does);
    tcase_add_test(tests, a_loss_may_come_before_its_batch);
    tcase_add_test(tests, an_epoch_may_be_long);
    tcase_add_test(tests, counts_stay_exact);
    tcase_add_test(tests, labels_that_are_no_class_show);
    tcase_add_test(tests, precision_and_recall_by_hand);
    tcase_add_test(tests, wrong_metrics_are_refused);
    tcase_add_test(tests, wrong_batches_are_refused);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
