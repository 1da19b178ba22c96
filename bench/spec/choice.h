/* SPDX-License-Identifier: MIT */
/*
 * bench/spec/choice.h: which described kernels, parameters and sizes the command line chooses.
 *
 * Words behind the files: kernels' names, and NAME=VALUE, which takes the place of a parameter's or a size's list. The
 * value need not be of the list.
 */
#ifndef BENCH_SPEC_CHOICE_H
#define BENCH_SPEC_CHOICE_H

#include "spec/description.h"

enum { BENCH_MOST_CHOICES = 40 };

typedef struct bench_kernel_choice {
    char names[BENCH_MOST_CHOICES][BENCH_NAME_TEXT]; /* of kernels; none: all */
    int name_count;
    struct {
        char name[BENCH_NAME_TEXT];
        int64_t value;
    } values[BENCH_MOST_CHOICES];
    int value_count;
} bench_kernel_choice;

/* Points to try: count of them, width numbers each. */
typedef struct bench_kernel_points {
    int64_t *values;
    int64_t count;
    int width;
} bench_kernel_points;

/*
 * All files, into as many descriptions of zeros, and what the words choose of them. False: reason (a mistake in a file,
 * a word that is nothing there); the descriptions are to be freed in every case.
 */
bool bench_kernel_choice_read(const char *const *paths, size_t count, const char *words,
                              bench_description *descriptions, bench_kernel_choice *choice,
                              char reason[BENCH_REASON_TEXT]);
/* From the words, joined by blanks; "" chooses everything. False: reason. */
bool bench_kernel_choice_parse(const char *words, bench_kernel_choice *choice, char reason[BENCH_REASON_TEXT]);
/* A name that none of the descriptions has; NULL: each is somewhere. */
const char *bench_kernel_choice_unknown(const bench_kernel_choice *choice, const bench_description *descriptions,
                                        size_t count);
bool bench_kernel_choice_has(const bench_kernel_choice *choice, const bench_spec *spec);

/*
 * The parameters' combinations, and the spec's sizes or those that it measures, without those that a choice makes the
 * same. False: reason.
 */
bool bench_kernel_configs(const bench_kernel_choice *choice, const bench_spec *spec, bench_kernel_points *points,
                          char reason[BENCH_REASON_TEXT]);
bool bench_kernel_sizes(const bench_kernel_choice *choice, const bench_spec *spec, const bench_sizes *sizes,
                        bench_kernel_points *points, char reason[BENCH_REASON_TEXT]);
void bench_kernel_points_free(bench_kernel_points *points);

#endif
