/* SPDX-License-Identifier: MIT */
/*
 * bench/record/claim.h: a file that one process writes again and again, each time a whole one. It is locked (flock)
 * as long as it is claimed, without a second file: what takes its place is locked before it has its name.
 */
#ifndef BENCH_RECORD_CLAIM_H
#define BENCH_RECORD_CLAIM_H

#include <jansson.h>
#include <stdio.h>

#include "cases/case.h"

typedef struct bench_claim {
    FILE *file;    /* that has the lock; NULL: there is none yet, or none can be had */
    bool is_there; /* what has the name may be replaced; else another has come first where there is one */
} bench_claim;

/* False: another process has it. What cannot be opened is left to who writes it. */
bool bench_claim_take(bench_claim *claim, const char *path, char reason[BENCH_REASON_TEXT]);
/*
 * Put the document in the file's place, once it is on the disk. False: errno, and what was there stays; where fits is
 * false afterwards, because the document is larger than what is read (bench_result_most).
 */
bool bench_claim_write(bench_claim *claim, const char *path, const json_t *document, bool *fits);
void bench_claim_drop(bench_claim *claim);

#endif
