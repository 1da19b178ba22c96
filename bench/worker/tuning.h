/* SPDX-License-Identifier: MIT */
/* bench/worker/tuning.h: what husk's worker answers to "tuning" and "kernels". */
#ifndef BENCH_WORKER_TUNING_H
#define BENCH_WORKER_TUNING_H

#include "worker/husk_runner.h"

/*
 * The key of the case that was prepared last, as an entry of a database has it (of the device alone before that, and
 * where several operators compute the case), with "path", "predicted" (the variant that was taken) and "candidates"
 * [{variant, predicted_ns, foreign}].
 */
json_t *bench_tuning_json(bench_husk_session *session, char reason[BENCH_REASON_TEXT]);
/* A hash of all operators' kernels and menus. */
json_t *bench_kernels_json(const bench_husk_session *session, char reason[BENCH_REASON_TEXT]);

#endif
