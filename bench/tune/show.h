/* SPDX-License-Identifier: MIT */
/* bench/tune/show.h: a tuning database in words. */
#ifndef BENCH_TUNE_SHOW_H
#define BENCH_TUNE_SHOW_H

#include "tune/database.h"

/* Every entry, those of the device in the key first. */
void bench_database_show(const bench_database *database, const json_t *key);

#endif
