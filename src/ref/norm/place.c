// SPDX-License-Identifier: MIT
#include "ref/norm/place.h"

husk_ref_norm_place husk_ref_norm_place_make(const husk_norm_params *params, const husk_ref_array *x)
{
    const husk_norm_params defaults = husk_norm_defaults(HUSK_NORM_LAYER);
    if (params == NULL)
        params = &defaults;
    husk_ref_norm_place place = {
        .kind = params->kind, .x = x, .epsilon = params->epsilon, .momentum = params->momentum};
    place.first = params->axis < 0 ? params->axis + x->rank : params->axis;
    place.is_trailing = params->kind == HUSK_NORM_LAYER || params->kind == HUSK_NORM_RMS;
    place.is_batch = params->kind == HUSK_NORM_BATCH;
    place.uses_running = place.is_batch && !params->training;
    place.is_centred = params->kind != HUSK_NORM_RMS;
    if (!place.is_trailing) {
        place.groups = x->shape[1];
        if (params->kind == HUSK_NORM_GROUP)
            place.groups = params->groups != 0 ? params->groups : 1;
    }
    place.sets = 1;
    place.parameters = 1;
    for (int32_t d = 0; place.is_trailing && d < x->rank; d++)
        *(d < place.first ? &place.sets : &place.parameters) *= x->shape[d];
    if (!place.is_trailing) {
        place.sets = place.is_batch ? x->shape[1] : x->shape[0] * place.groups;
        place.parameters = x->shape[1];
    }
    int64_t count = husk_ref_array_count(x);
    place.set_size = place.sets > 0 ? count / place.sets : 0;
    place.shared = place.parameters > 0 ? count / place.parameters : 0;
    return place;
}

int64_t husk_ref_norm_set_of(const husk_ref_norm_place *place, const int64_t *index)
{
    const husk_ref_array *x = place->x;
    if (place->is_trailing)
        return husk_ref_position_of(place->first, x->shape, index);
    if (place->is_batch)
        return index[1];
    return index[0] * place->groups + index[1] / (x->shape[1] / place->groups);
}

int64_t husk_ref_norm_parameter_of(const husk_ref_norm_place *place, const int64_t *index)
{
    const husk_ref_array *x = place->x;
    if (place->is_trailing)
        return husk_ref_position_of(x->rank - place->first, x->shape + place->first, index + place->first);
    return index[1];
}

double husk_ref_norm_load(const husk_ref_array *array, int64_t number, double otherwise)
{
    if (array == NULL)
        return otherwise;
    int64_t index[HUSK_MAX_RANK];
    husk_ref_index_of(array->rank, array->shape, number, index);
    return husk_ref_load(array, husk_ref_offset(array, index));
}
