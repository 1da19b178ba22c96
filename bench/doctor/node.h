/* SPDX-License-Identifier: MIT */
/* bench/doctor/node.h: device files, and whether they open. */
#ifndef BENCH_DOCTOR_NODE_H
#define BENCH_DOCTOR_NODE_H

#include <sys/stat.h>

#include "doctor/findings.h"

/* Opens them. */
void bench_doctor_nodes(bench_doctor *d);
/* Whether there is a file of that name, or of that name and a number. */
bool bench_doctor_has_node(const bench_doctor *d, const char *name, bool numbered);
/* What can be opened, and, where a GPU is missed, what cannot: how many of GPUs those are. */
size_t bench_doctor_tell_nodes(bench_doctor *d, bool is_missed);
/* A finding: what opening the file, or several alike, ended with, by errno. */
void bench_doctor_tell_node(bench_doctor *d, const char *paths, const struct stat *status, int error);

#endif
