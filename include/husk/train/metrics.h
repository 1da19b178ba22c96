/* SPDX-License-Identifier: MIT */
/** @file
 * Metrics of a classifier, and the mean of a loss.
 *
 * The metrics are accuracy, top-k accuracy, cross-entropy, perplexity, a confusion matrix, precision, recall and F1.
 *
 *     husk_metrics_add(metrics, queue, &logits, &labels, batch.count, &error);    enqueued, for each batch
 *     husk_metrics_read(metrics, queue, &report, &error);                         waits; for an epoch
 *     husk_metrics_reset(metrics);
 *
 * Batches are counted on the device. There is room for the results of 1,024 batches. They are read when the room is
 * full or when the caller asks. So a loop waits once in 1,024 batches, not in each step. Counts are exact. Losses are
 * summed in f32 (f64) within a batch, and in double over batches.
 *
 * Rows are rows of scores, one score for each class. Each row counts once, in whatever batch it is: the last batch of
 * an epoch may be smaller, and the means are those of the epoch's rows. A row with the label -100 does not count. Any
 * other label that is no class makes the cross-entropy NaN (husk/ops/loss.h).
 */
#ifndef HUSK_TRAIN_METRICS_H
#define HUSK_TRAIN_METRICS_H

#include <husk/husk.h>

HUSK_BEGIN_DECLS

/** Counts and sums of a classifier's results. */
typedef struct husk_metrics husk_metrics;

/** Options of metrics. */
typedef struct husk_metrics_params {
    uint32_t size;      /**< sizeof this struct; HUSK_METRICS_PARAMS() sets it. */
    husk_dtype dtype;   /**< Of scores and losses: HUSK_F32, which f16 and bf16 graphs give, too, or HUSK_F64. */
    int64_t classes;    /**< 2 or more; required. */
    int64_t rows;       /**< Of a batch at most, 1 to 2^24; required. */
    int64_t top;        /**< k of the top-k accuracy, below classes; 0: there is none. */
    uint32_t confusion; /**< Not 0: keep a confusion matrix. It costs rows x classes^2 operations for each batch. */
} husk_metrics_params;

/** Makes a husk_metrics_params; see husk/export.h. */
#define HUSK_METRICS_PARAMS(...) HUSK_MAKE(husk_metrics_params, __VA_ARGS__)

/** Create metrics. Device memory: 2 x rows x classes elements, classes^2 for the matrix, and little else. */
HUSK_API husk_status husk_metrics_create(husk_context *context, const husk_metrics_params *params,
                                         husk_metrics **metrics, husk_error *error);
/** Release the metrics. */
HUSK_API void husk_metrics_release(husk_metrics *metrics);

/**
 * Enqueue the counting of a batch.
 *
 * - The prediction is the first class with the largest score, where NaN is larger than any number: ARGMAX of
 *   husk/ops/reduce.h.
 * - A label is in the top k if fewer than k other classes have scores as high as its own or higher. So among equal
 *   scores none is preferred, and NaN counts against the label.
 *
 * @param queue the same queue in all calls until a read
 * @param scores logits: [rows, classes], or [..., classes] with as many rows in all; packed
 * @param labels i32 or i64, as many as rows; packed
 * @param count how many rows count, from the first on; at most the params' rows
 */
HUSK_API husk_status husk_metrics_add(husk_metrics *metrics, husk_queue *queue, const husk_tensor *scores,
                                      const husk_tensor *labels, int64_t count, husk_error *error);
/** Enqueue the adding of a loss (rank 0 or one element) that is the mean of `count` rows, for the report's `loss`. */
HUSK_API husk_status husk_metrics_add_loss(husk_metrics *metrics, husk_queue *queue, const husk_tensor *loss,
                                           int64_t count, husk_error *error);

/** The metrics of the rows that counted. Means of no rows are NaN. */
typedef struct husk_metrics_report {
    uint32_t size;         /**< sizeof this struct; HUSK_METRICS_REPORT() sets it. */
    int64_t rows;          /**< Rows that counted. */
    int64_t right;         /**< Rows whose prediction was right. */
    double accuracy;       /**< right / rows. */
    double top_accuracy;   /**< NaN if there is no top. */
    double cross_entropy;  /**< The mean of -log softmax(scores)[label], in nats. */
    double perplexity;     /**< e^cross_entropy. */
    double loss;           /**< Of husk_metrics_add_loss(), weighted by its counts; NaN if it was not called. */
} husk_metrics_report;

/** Makes a husk_metrics_report; see husk/export.h. */
#define HUSK_METRICS_REPORT(...) HUSK_MAKE(husk_metrics_report, __VA_ARGS__)

/** Read the metrics since the last reset. Waits for the queue. */
HUSK_API husk_status husk_metrics_read(husk_metrics *metrics, husk_queue *queue, husk_metrics_report *report,
                                       husk_error *error);
/** Read the confusion matrix, counts[classes * classes]: row by label, column by prediction. Waits for the queue. */
HUSK_API husk_status husk_metrics_read_confusion(husk_metrics *metrics, husk_queue *queue, int64_t *counts,
                                                 husk_error *error);
/** Begin again. What was enqueued and not read is discarded. */
HUSK_API void husk_metrics_reset(husk_metrics *metrics);

/** Scores of a class. Each is 0 where it would be 0 / 0, as with scikit-learn's zero_division=0. */
typedef struct husk_class_score {
    double precision, /**< right / predicted. */
        recall,       /**< right / labelled. */
        f1;           /**< The harmonic mean of both. */
    int64_t rows;     /**< Rows with this label. */
} husk_class_score;

/**
 * Compute the scores of a confusion matrix. Each result may be NULL if it is not wanted.
 *
 * @param scores receives the scores of each class, scores[classes]
 * @param macro receives their plain means over all classes
 * @param weighted receives their means weighted by rows; its recall is the accuracy
 */
HUSK_API husk_status husk_confusion_scores(const int64_t *counts, int64_t classes, husk_class_score *scores,
                                           husk_class_score *macro, husk_class_score *weighted, husk_error *error);

HUSK_END_DECLS

#endif
