/* SPDX-License-Identifier: MIT */
/*
 * bench/record/results.h: the results of a run as the document that --json writes (schema clbench/2), kept up to
 * date on disk: after every row the file is written anew beside the old one, synced and renamed over it, so that it
 * is whole at any moment, and after one at which the machine goes down.
 */
#ifndef BENCH_RECORD_RESULTS_H
#define BENCH_RECORD_RESULTS_H

#include "measure/row.h"
#include "record/claim.h"
#include "worker/peaks.h"

typedef struct bench_results {
    json_t *root;
    json_t *rows;     /* root's "results", borrowed */
    const char *path; /* NULL: nothing is written */
    bench_claim claim;
    size_t device;    /* index of the one that rows are from */
    bool failed;      /* the last time it was written that failed, which was said; it is tried again each time */
    bool is_full;     /* it would have more than is read again: what was written before that stays */
    bool is_untouched; /* a document that is to be gone on with, as it was read */
    uint64_t written_ns, writing_ns; /* when it was written last, and how long that took */
} bench_results;

/* Before it is begun or resumed: the file is this process' alone until it is freed. False: another writes it. */
bool bench_results_claim(bench_results *results, const char *path, char reason[BENCH_REASON_TEXT]);
/* run: what was asked for (taken over), or NULL. The file is made when there is a device or a row to write. */
bool bench_results_begin(bench_results *results, const char *path, json_t *run);
/*
 * Go on with a document that bench/record/resume.h has read (taken over). It stays as it is until
 * bench_results_go_on.
 */
bool bench_results_resume(bench_results *results, const char *path, json_t *document);
/* Something of it is measured now: it is no longer finished. Once; nothing for a document that was begun. */
void bench_results_go_on(bench_results *results);
/* The device that the following rows are from, the index-th of the run. Takes over device and timer. */
void bench_results_device(bench_results *results, size_t index, json_t *device, json_t *timer);
/*
 * Add a row (taken over), in place of what there is of the same case, variant and device unless that came to a result
 * in more rounds, and write the file. Rows lie in the order in which they were added, not noted.
 */
void bench_results_add(bench_results *results, json_t *row);
/* The same for a row that is to be replaced soon: the file is written when that takes little of the time between. */
void bench_results_note(bench_results *results, json_t *row);
/* The row of a case, of the variant that was asked for (NULL: none), on the present device; NULL: none. */
json_t *bench_results_find(const bench_results *results, const char *case_line, const char *asked);
/* The most device memory in use at once, on the present device. */
void bench_results_memory(bench_results *results, int64_t peak_bytes);
/* Make the summary and write the file for the last time; is_whole: everything that was asked for is in it. */
void bench_results_finish(bench_results *results, bool is_whole);
void bench_results_write(bench_results *results);
void bench_results_free(bench_results *results);

/* The row whose plan takes the most scratch memory; NULL: none takes any. */
const json_t *bench_results_most_scratch(const json_t *rows);
/* The rows of one device, as a list of their own. */
json_t *bench_results_of(const json_t *rows, size_t device);
/* Rows in a state. */
size_t bench_results_count(const json_t *rows, const char *state);

#endif
