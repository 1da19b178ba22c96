// SPDX-License-Identifier: MIT
#include "cases/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"

#define FLIPPED 0xab // the bits of a byte

void bench_verdict_begin(bench_verdict *verdict)
{
    memset(verdict, 0, sizeof *verdict);
    verdict->pass = true;
}

static bool is_wrong(const bench_verdict *verdict)
{
    return !verdict->pass && !verdict->unchecked;
}

void bench_verdict_add(bench_verdict *verdict, const char *name, const husk_ref_report *report)
{
    char text[400];
    if (report->failures == 0 && report->projection_failures == 0 && report->allocation_failed) {
        bench_verdict_unchecked(verdict);
        return;
    }
    husk_ref_report_text(report, text, sizeof text);
    bool pass = husk_ref_report_pass(report);
    bool worse = report->max_ratio >= verdict->max_ratio || isnan(report->max_ratio);
    // The first failure explains itself; without one the largest error is worth a line.
    if (!is_wrong(verdict) && (!pass || (verdict->pass && (worse || !verdict->text[0]))))
        snprintf(verdict->text, sizeof verdict->text, "%s: %s", name, text);
    if (worse) {
        verdict->max_ratio = report->max_ratio;
        verdict->bound = report->max_bound;
    }
    if (report->max_error > verdict->max_error || isnan(report->max_error))
        verdict->max_error = report->max_error;
    verdict->checked += report->checked;
    verdict->unchecked = verdict->unchecked && pass;
    verdict->pass = verdict->pass && pass;
    verdict->unscanned = verdict->unscanned || report->unscanned;
    verdict->inconclusive = verdict->inconclusive || husk_ref_report_inconclusive(report);
}

void bench_verdict_fail(bench_verdict *verdict, const char *text)
{
    verdict->pass = false;
    verdict->unchecked = false;
    snprintf(verdict->text, sizeof verdict->text, "%s", text);
}

void bench_poison_flip(bench_array *poison)
{
    unsigned char *bytes = poison->data;
    for (int64_t i = 0; i < bench_array_bytes(poison); i++)
        bytes[i] ^= FLIPPED;
}

static bool is_unwritten(const unsigned char *flipped, const unsigned char *first, const unsigned char *second,
                         size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (second[i] != flipped[i] || first[i] != (flipped[i] ^ FLIPPED))
            return false;
    return true;
}

void bench_verdict_unwritten(bench_verdict *verdict, const bench_array *flipped, const bench_array *first,
                             const bench_array *second)
{
    const husk_ref_array view = bench_ref_array(flipped);
    const size_t size = husk_dtype_size(flipped->dtype);
    const int64_t outputs = husk_ref_array_count(&view);
    int64_t index[HUSK_MAX_RANK] = {0}, found[HUSK_MAX_RANK] = {0}, count = 0;
    if (!outputs || !memcmp(first->data, second->data, (size_t)bench_array_bytes(first)))
        return;
    do {
        const size_t at = (size_t)husk_ref_offset(&view, index) * size;
        if (is_unwritten((const unsigned char *)flipped->data + at, (const unsigned char *)first->data + at,
                         (const unsigned char *)second->data + at, size) &&
            count++ == 0)
            memcpy(found, index, sizeof found);
    } while (husk_ref_index_next(view.rank, view.shape, index));
    if (!count)
        return;
    verdict->pass = false;
    snprintf(verdict->text, sizeof verdict->text, "%" PRId64 " of %" PRId64 " outputs not written, first [", count,
             outputs);
    for (int32_t d = 0; d < view.rank; d++)
        bench_append(verdict->text, sizeof verdict->text, "%s%" PRId64, d ? ", " : "", found[d]);
    bench_append(verdict->text, sizeof verdict->text, "]");
}

void bench_verdict_unchecked(bench_verdict *verdict)
{
    if (is_wrong(verdict))
        return;
    verdict->pass = false;
    verdict->unchecked = true;
    snprintf(verdict->text, sizeof verdict->text, "there is no host memory to verify");
}
