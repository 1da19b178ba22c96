/* SPDX-License-Identifier: MIT */
/*
 * husk/train/metrics.h: how well a classifier does: accuracy, top-k accuracy, cross-entropy, perplexity, a confusion
 * matrix, precision, recall, F1; and the mean of a loss.
 *
 *     husk_metrics_add(metrics, queue, &logits, &labels, batch.count, &error);    enqueued, for each batch
 *     husk_metrics_read(metrics, queue, &report, &error);                         waits; for an epoch
 *     husk_metrics_reset(metrics);
 *
 * Batches are counted on the device: what a batch adds is kept there, in places of its own for 1,024 batches, and is
 * read when they are full or when somebody asks. So a loop waits once in 1,024 batches, not in each step. Counts are
 * exact, losses are f32 (f64) sums within a batch, added up in double.
 *
 * Rows are rows of scores, one of each class. Each row counts once, in whatever batch it is: the last batch of an
 * epoch may be smaller, and the means are those of the epoch's rows. A row whose label is -100 counts nowhere; any
 * other label that is no class makes the cross-entropy NaN (husk/ops/loss.h).
 */
#ifndef HUSK_TRAIN_METRICS_H
#define HUSK_TRAIN_METRICS_H

#include <husk/husk.h>

HUSK_BEGIN_DECLS

typedef struct husk_metrics husk_metrics;

typedef struct husk_metrics_params {
    uint32_t size;      /* sizeof this struct: HUSK_METRICS_PARAMS sets it */
    husk_dtype dtype;   /* of scores and losses: HUSK_F32 (graphs of f16 and bf16 give those) or HUSK_F64 */
    int64_t classes;    /* 2 or more, required */
    int64_t rows;       /* of a batch at most; 1 to 2^24, required */
    int64_t top;        /* k of the top-k accuracy, below classes; 0: there is none */
    uint32_t confusion; /* not 0: a confusion matrix is kept, which costs rows x classes^2 operations a batch */
} husk_metrics_params;

#define HUSK_METRICS_PARAMS(...) HUSK_MAKE(husk_metrics_params, __VA_ARGS__)

/* Device memory: 2 x rows x classes elements, classes^2 for the matrix, and little else. */
HUSK_API husk_status husk_metrics_create(husk_context *context, const husk_metrics_params *params,
                                         husk_metrics **metrics, husk_error *error);
HUSK_API void husk_metrics_release(husk_metrics *metrics);

/*
 * A batch. scores: logits, [rows, classes] or [..., classes] with as many rows in all, packed; labels: i32 or i64, as
 * many, packed. Of them the first count rows count; count is at most the params' rows. What is predicted is the first
 * class of the largest score, NaN being larger than any number (husk/ops/reduce.h's ARGMAX). In the top k is a label
 * with fewer than k other classes of scores as high as its own or higher: of equal scores none is preferred, and NaN
 * is not forgiven. Enqueues on queue, always the same one until a read.
 */
HUSK_API husk_status husk_metrics_add(husk_metrics *metrics, husk_queue *queue, const husk_tensor *scores,
                                      const husk_tensor *labels, int64_t count, husk_error *error);
/* A loss, of rank 0 or one element, that is the mean of count rows: for the report's `loss`. */
HUSK_API husk_status husk_metrics_add_loss(husk_metrics *metrics, husk_queue *queue, const husk_tensor *loss,
                                           int64_t count, husk_error *error);

typedef struct husk_metrics_report {
    uint32_t size;         /* sizeof this struct: HUSK_METRICS_REPORT sets it */
    int64_t rows;          /* that counted; means of none are NaN */
    int64_t right;
    double accuracy;       /* right / rows */
    double top_accuracy;   /* NaN where there is no top */
    double cross_entropy;  /* mean of -log softmax(scores)[label], in nats */
    double perplexity;     /* e^cross_entropy */
    double loss;           /* of husk_metrics_add_loss, weighted by its counts; NaN without */
} husk_metrics_report;

#define HUSK_METRICS_REPORT(...) HUSK_MAKE(husk_metrics_report, __VA_ARGS__)

/* Since the last reset. Waits for queue. */
HUSK_API husk_status husk_metrics_read(husk_metrics *metrics, husk_queue *queue, husk_metrics_report *report,
                                       husk_error *error);
/* counts[classes * classes]: row by label, column by prediction. Waits for queue. */
HUSK_API husk_status husk_metrics_read_confusion(husk_metrics *metrics, husk_queue *queue, int64_t *counts,
                                                 husk_error *error);
/* Begin anew; what was enqueued and not read is forgotten. */
HUSK_API void husk_metrics_reset(husk_metrics *metrics);

/*
 * Of a confusion matrix, of a class: precision = right / predicted, recall = right / labelled, f1 = their harmonic
 * mean; each 0 where it would be 0 / 0, as scikit-learn's zero_division=0.
 */
typedef struct husk_class_score {
    double precision, recall, f1;
    int64_t rows; /* with this label */
} husk_class_score;

/*
 * scores[classes], of each class; NULL: not wanted. macro: their plain means, over all classes; weighted: their means
 * weighted by rows (its recall is the accuracy); either may be NULL.
 */
HUSK_API husk_status husk_confusion_scores(const int64_t *counts, int64_t classes, husk_class_score *scores,
                                           husk_class_score *macro, husk_class_score *weighted, husk_error *error);

HUSK_END_DECLS

#endif
