/* SPDX-License-Identifier: MIT */
/*
 * ref/norm/place.h: to which set and to which scale an element belongs, for the two halves of the reference of norm.
 */
#ifndef HUSK_REF_NORM_PLACE_H
#define HUSK_REF_NORM_PLACE_H

#include <husk/ops/norm.h>

#include "ref/ref.h"

typedef struct husk_ref_norm_place {
    husk_norm_kind kind;
    const husk_ref_array *x;
    bool is_trailing; /* LAYER, RMS */
    bool is_batch;
    bool uses_running; /* BATCH without training */
    bool is_centred;   /* all but RMS */
    int32_t first;     /* LAYER, RMS: the first dimension of a set */
    int64_t groups;    /* others: of channels, by which sets are numbered */
    int64_t sets, parameters;
    int64_t set_size; /* elements of a set */
    int64_t shared;   /* elements that share a parameter */
    float epsilon, momentum;
} husk_ref_norm_place;

husk_ref_norm_place husk_ref_norm_place_make(const husk_norm_params *params, const husk_ref_array *x);
/* The number of x[index]'s set, and of its scale and bias. */
int64_t husk_ref_norm_set_of(const husk_ref_norm_place *place, const int64_t *index);
int64_t husk_ref_norm_parameter_of(const husk_ref_norm_place *place, const int64_t *index);
/* The number-th element in row-major order; otherwise where there is no array. */
double husk_ref_norm_load(const husk_ref_array *array, int64_t number, double otherwise);

#endif
