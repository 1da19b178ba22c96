/* SPDX-License-Identifier: MIT */
/* bench/report/summary.h: what a run says before and after its table. */
#ifndef BENCH_REPORT_SUMMARY_H
#define BENCH_REPORT_SUMMARY_H

#include "record/results.h"

/* The device, its measured peaks, and whether its clock can be trusted. */
void bench_print_device(const json_t *device, const bench_peaks *peaks, int threads);
void bench_print_startup(const json_t *startup);
/* The verdict in plain words; how much the machine's arithmetic and its memory became slower meanwhile. */
void bench_print_verdict(const bench_results *results, double budget, bool was_cut, double drift, double memory_drift);

#endif
