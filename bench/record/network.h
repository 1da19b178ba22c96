/* SPDX-License-Identifier: MIT */
/*
 * bench/record/network.h: what a result says of whole networks: the sum of count x time over a network's layers, as a
 * rate. That is a prediction, and said to be one: layers one after another, nothing between them, and no layer that
 * the suite leaves out. The networks are those of bench/suites: "# network NAME: NUMBER UNIT" before their cases.
 */
#ifndef BENCH_RECORD_NETWORK_H
#define BENCH_RECORD_NETWORK_H

#include <jansson.h>
#include <stdio.h>

/*
 * Of rows of one device: a list of {name, unit, dtype, per_second, seconds, layers, distinct, best_rival_seconds (null
 * where a layer has none), top[{case, count, ns, share}] (the five that cost most)}, one for each network all of whose
 * layers are there and right; and {name, dtype, distinct, missing, first_missing} for those of which three in four are.
 */
json_t *bench_networks(const json_t *rows, size_t device);

/* One of them in a sentence, without its end. */
void bench_network_text(const json_t *network, char *text, size_t size);
/* A sentence for each, and its layers. */
void bench_networks_print(const json_t *networks, FILE *file);
/* As a list, to paste. */
void bench_networks_markdown(const json_t *networks, FILE *file);

#endif
