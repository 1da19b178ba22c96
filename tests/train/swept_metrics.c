// SPDX-License-Identifier: MIT
// Metrics, what shows a run's progress, and tensors that are written from device memory.
#include <math.h>
#include <string.h>

#include "support/support.h"
#include "train/swept_subject.h"

enum { ROWS = 2, CLASSES = 3 };

typedef struct counted {
    husk_buffer *scores, *labels, *loss;
    husk_metrics *metrics;
    husk_progress *progress;
    husk_metrics_report report;
    int64_t counts[CLASSES * CLASSES];
} counted;

static int added; // calls of a run that were done

static husk_buffer *upload(const void *host, uint64_t bytes)
{
    husk_buffer *buffer;
    husk_error error;
    test_ok_error(husk_buffer_create(test_context(), bytes, &buffer, &error), &error);
    test_ok(husk_buffer_write(test_queue(), buffer, 0, bytes, host));
    return buffer;
}

static void make_batch(void *user)
{
    counted *c = user;
    static const float scores[ROWS * CLASSES] = {3, 1, 2, 1, 2, 3}, loss = 1.5f;
    static const int32_t labels[ROWS] = {0, 1};
    c->scores = upload(scores, sizeof scores);
    c->labels = upload(labels, sizeof labels);
    c->loss = upload(&loss, sizeof loss);
    added = 0;
}

static void release(void *user)
{
    counted *c = user;
    husk_queue_finish(test_queue());
    husk_metrics_release(c->metrics);
    husk_progress_release(c->progress);
    husk_buffer_release(c->scores);
    husk_buffer_release(c->labels);
    husk_buffer_release(c->loss);
    memset(c, 0, sizeof *c);
}

// A call that has failed is made again, where it stands.
static husk_status run_metrics(void *user)
{
    counted *c = user;
    husk_queue *queue = test_queue();
    const husk_metrics_params params = HUSK_METRICS_PARAMS(.classes = CLASSES, .rows = ROWS, .top = 2, .confusion = 1);
    const husk_tensor scores = husk_tensor_make(c->scores, HUSK_F32, 2, (int64_t[]){ROWS, CLASSES}),
                      labels = husk_tensor_make(c->labels, HUSK_I32, 1, (int64_t[]){ROWS}),
                      loss = husk_tensor_make(c->loss, HUSK_F32, 0, NULL);
    husk_status status = HUSK_OK;
    c->report = HUSK_METRICS_REPORT();
    if (!c->metrics)
        status = SWEPT(husk_metrics_create, test_context(), &params, &c->metrics);
    SWEPT_ASSERT(!status || !c->metrics);
    for (; added < 4 && !status; added += !status)
        status = added % 2 ? SWEPT(husk_metrics_add_loss, c->metrics, queue, &loss, ROWS)
                           : SWEPT(husk_metrics_add, c->metrics, queue, &scores, &labels, ROWS);
    if (!status)
        status = SWEPT(husk_metrics_read, c->metrics, queue, &c->report);
    if (!status)
        status = SWEPT(husk_metrics_read_confusion, c->metrics, queue, c->counts);
    return status;
}

static void check_metrics(void *user, const char *when)
{
    const counted *c = user;
    static const int64_t wanted[CLASSES * CLASSES] = {2, 0, 0, 0, 0, 2, 0, 0, 0};
    ck_assert_msg(c->report.rows == 4 && c->report.right == 2 && c->report.top_accuracy == 1 && c->report.loss == 1.5,
                  "%s: %lld of %lld rows are right, %g of them in the top two, loss %g", when,
                  (long long)c->report.right, (long long)c->report.rows, c->report.top_accuracy, c->report.loss);
    // Rows of logits 3, 1, 2 and 1, 2, 3 with the labels 0 and 1: log(1 + 1/e + 1/e^2) of their largest, and 1 more.
    ck_assert_msg(fabs(c->report.cross_entropy - 0.907606) < 1e-5, "%s: a cross-entropy of %g", when,
                  c->report.cross_entropy);
    ck_assert_msg(memcmp(c->counts, wanted, sizeof wanted) == 0, "%s: another confusion", when);
}

static husk_status run_progress(void *user)
{
    counted *c = user;
    const husk_progress_params params = HUSK_PROGRESS_PARAMS(.total = 10, .label = "epoch 1");
    husk_status status = SWEPT(husk_progress_create, &params, &c->progress);
    SWEPT_ASSERT(!status || !c->progress);
    return status;
}

static void check_progress(void *user, const char *when)
{
    const counted *c = user;
    ck_assert_msg(c->progress != NULL, "%s: there is no progress", when);
}

void swept_metrics(void)
{
    counted c = {0};
    sweep(&(swept){"metrics", &c, make_batch, run_metrics, NULL, check_metrics, release});
    sweep(&(swept){"progress", &c, NULL, run_progress, NULL, check_progress, release});
}
