/* SPDX-License-Identifier: MIT */
/* bench/tune_worker.h: what husk's worker answers to "tuning" and "kernels". */
#ifndef BENCH_TUNE_WORKER_H
#define BENCH_TUNE_WORKER_H

#include "husk_contender.h"

/*
 * The key of the case that was prepared last, as an entry of a database has it (of the device alone before that, and
 * where several operators compute the case), with "path", "predicted" (the variant that was taken) and "candidates"
 * [{variant, predicted_ns, foreign}].
 */
json_t *bench_tuning_json(bench_husk_session *session, char reason[BENCH_REASON_TEXT]);
/* A hash of all operators' kernels and menus. */
json_t *bench_kernels_json(const bench_husk_session *session, char reason[BENCH_REASON_TEXT]);

#endif
