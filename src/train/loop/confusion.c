// SPDX-License-Identifier: MIT
// Precision, recall and F1 of a confusion matrix.
#include <husk/train/metrics.h>

#include "train/error.h"

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static husk_class_score score(const int64_t *counts, int64_t classes, int64_t c)
{
    double labelled = 0, predicted = 0, right = (double)counts[c * classes + c];
    for (int64_t i = 0; i < classes; i++) {
        labelled += (double)counts[c * classes + i];
        predicted += (double)counts[i * classes + c];
    }
    return (husk_class_score){.precision = ratio(right, predicted),
                              .recall = ratio(right, labelled),
                              .f1 = ratio(2 * right, labelled + predicted),
                              .rows = (int64_t)labelled};
}

static void add(husk_class_score *sum, const husk_class_score *one, double weight)
{
    sum->precision += weight * one->precision;
    sum->recall += weight * one->recall;
    sum->f1 += weight * one->f1;
    sum->rows += one->rows;
}

static void divide(husk_class_score *sum, double weight)
{
    sum->precision = ratio(sum->precision, weight);
    sum->recall = ratio(sum->recall, weight);
    sum->f1 = ratio(sum->f1, weight);
}

husk_status husk_confusion_scores(const int64_t *counts, int64_t classes, husk_class_score *scores,
                                  husk_class_score *macro, husk_class_score *weighted, husk_error *error)
{
    const husk__train_scope scope = {"husk_confusion_scores", error};
    if (!counts)
        return husk__train_reject(&scope, "counts", "it is NULL");
    if (classes < 1 || classes > INT32_MAX)
        return husk__train_reject(&scope, "classes", "%lld; 1 or more are wanted", (long long)classes);
    for (int64_t i = 0; i < classes * classes; i++)
        if (counts[i] < 0)
            return husk__train_reject(&scope, "counts", "%lld in row %lld, column %lld is negative",
                                      (long long)counts[i], (long long)(i / classes), (long long)(i % classes));
    husk_class_score plain = {0}, by_rows = {0};
    for (int64_t c = 0; c < classes; c++) {
        const husk_class_score one = score(counts, classes, c);
        add(&plain, &one, 1);
        add(&by_rows, &one, (double)one.rows);
        if (scores)
            scores[c] = one;
    }
    divide(&plain, (double)classes);
    divide(&by_rows, (double)by_rows.rows);
    if (macro)
        *macro = plain;
    if (weighted)
        *weighted = by_rows;
    return HUSK_OK;
}
