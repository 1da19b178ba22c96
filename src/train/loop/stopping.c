// SPDX-License-Identifier: MIT
// Early stopping.
#include <husk/train/loop.h>

#include <math.h>

#include "train/loop/state.h"

static husk_status check(const husk_stopping_params *own, const husk__train_scope *scope)
{
    if (own->patience == 0)
        return husk__train_reject(scope, "params", "patience has to be 1 or more");
    if (!(isfinite(own->min_delta) && own->min_delta >= 0))
        return husk__train_reject(scope, "params", "min_delta is %g; it has to be finite and 0 or more",
                                  own->min_delta);
    return husk__check_better(own->better, scope);
}

husk_status husk_stopping_step(const husk_stopping_params *params, husk_stopping *stopping, uint64_t step, double value,
                               husk_error *error)
{
    const husk__train_scope scope = {"husk_stopping_step", error};
    husk_stopping_params own;
    if (!params)
        return husk__train_reject(&scope, "params", "it is NULL");
    husk_status status = husk__train_struct(&own, sizeof own, "HUSK_STOPPING_PARAMS", params, "params", &scope);
    if (!status)
        status = check(&own, &scope);
    if (!status && !stopping)
        status = husk__train_reject(&scope, "stopping", "it is NULL");
    if (status)
        return status;
    stopping->is_best =
        stopping->has_best ? husk__is_better(own.better, value, stopping->best, own.min_delta) : !isnan(value);
    if (stopping->is_best) {
        stopping->best = value;
        stopping->best_step = step;
        stopping->has_best = 1;
        stopping->waited = 0;
    } else {
        stopping->waited++;
    }
    stopping->stop = stopping->waited >= own.patience;
    return HUSK_OK;
}

husk_status husk_stopping_save(const husk_stopping *stopping, char text[HUSK_STATE_TEXT], husk_error *error)
{
    const husk__train_scope scope = {"husk_stopping_save", error};
    if (!stopping)
        return husk__train_reject(&scope, "stopping", "it is NULL");
    if (!text)
        return husk__train_reject(&scope, "text", "it is NULL");
    const uint64_t numbers[] = {husk__state_bits(stopping->best),
                                stopping->best_step,
                                stopping->waited,
                                stopping->has_best,
                                stopping->is_best,
                                stopping->stop};
    husk__state_write("stopping", numbers, 6, text);
    return HUSK_OK;
}

husk_status husk_stopping_load(const char *text, husk_stopping *stopping, husk_error *error)
{
    const husk__train_scope scope = {"husk_stopping_load", error};
    uint64_t numbers[6];
    if (!stopping)
        return husk__train_reject(&scope, "stopping", "it is NULL");
    husk_status status = husk__state_read(text, "stopping", numbers, 6, &scope);
    if (!status)
        *stopping = (husk_stopping){.best = husk__state_number(numbers[0]),
                                    .best_step = numbers[1],
                                    .waited = numbers[2],
                                    .has_best = numbers[3] != 0,
                                    .is_best = numbers[4] != 0,
                                    .stop = numbers[5] != 0};
    return status;
}
