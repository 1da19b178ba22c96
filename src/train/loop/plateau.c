// SPDX-License-Identifier: MIT
// Rates that fall where nothing gets better.
#include <math.h>

#include "train/loop/state.h"

static husk_status check(husk_plateau_params *own, const husk__train_scope *scope)
{
    husk_status status = husk__check_better(own->better, scope);
    if (status)
        return status;
    if (own->factor == 0)
        own->factor = 0.1;
    if (!(isfinite(own->rate) && own->rate >= 0))
        return husk__train_reject(scope, "params", "rate is %g; it has to be finite and 0 or more", own->rate);
    if (!(own->factor > 0 && own->factor < 1))
        return husk__train_reject(scope, "params", "factor is %g; it has to be between 0 and 1", own->factor);
    if (!(isfinite(own->threshold) && own->threshold >= 0))
        return husk__train_reject(scope, "params", "threshold is %g; it has to be finite and 0 or more",
                                  own->threshold);
    if (!(isfinite(own->least_rate) && own->least_rate >= 0))
        return husk__train_reject(scope, "params", "least_rate is %g; it has to be finite and 0 or more",
                                  own->least_rate);
    return HUSK_OK;
}

static bool is_better(const husk_plateau_params *own, double value, double best)
{
    if (own->absolute)
        return husk__is_better(own->better, value, best, own->threshold);
    return own->better == HUSK_LESS_IS_BETTER ? value < best * (1 - own->threshold)
                                              : value > best * (1 + own->threshold);
}

husk_status husk_plateau_step(const husk_plateau_params *params, husk_plateau *plateau, double value, husk_error *error)
{
    const husk__train_scope scope = {"husk_plateau_step", error};
    husk_plateau_params own;
    if (!params)
        return husk__train_reject(&scope, "params", "it is NULL");
    husk_status status = husk__train_struct(&own, sizeof own, "HUSK_PLATEAU_PARAMS", params, "params", &scope);
    if (!status)
        status = check(&own, &scope);
    if (!status && !plateau)
        status = husk__train_reject(&scope, "plateau", "it is NULL");
    if (status)
        return status;
    if (!plateau->has_rate)
        plateau->rate = own.rate;
    plateau->has_rate = 1;
    if (plateau->has_best ? is_better(&own, value, plateau->best) : !isnan(value)) {
        plateau->best = value;
        plateau->has_best = 1;
        plateau->waited = 0;
    } else {
        plateau->waited++;
    }
    if (plateau->cooling > 0) {
        plateau->cooling--;
        plateau->waited = 0;
    }
    if (plateau->waited > own.patience) {
        double lower = fmax(plateau->rate * own.factor, own.least_rate);
        plateau->rate = fmin(plateau->rate, lower);
        plateau->cooling = own.cooldown;
        plateau->waited = 0;
    }
    return HUSK_OK;
}

husk_status husk_plateau_save(const husk_plateau *plateau, char text[HUSK_STATE_TEXT], husk_error *error)
{
    const husk__train_scope scope = {"husk_plateau_save", error};
    if (!plateau)
        return husk__train_reject(&scope, "plateau", "it is NULL");
    if (!text)
        return husk__train_reject(&scope, "text", "it is NULL");
    const uint64_t numbers[] = {husk__state_bits(plateau->rate),
                                husk__state_bits(plateau->best),
                                plateau->waited,
                                plateau->cooling,
                                plateau->has_rate,
                                plateau->has_best};
    husk__state_write("plateau", numbers, 6, text);
    return HUSK_OK;
}

husk_status husk_plateau_load(const char *text, husk_plateau *plateau, husk_error *error)
{
    const husk__train_scope scope = {"husk_plateau_load", error};
    uint64_t numbers[6];
    if (!plateau)
        return husk__train_reject(&scope, "plateau", "it is NULL");
    husk_status status = husk__state_read(text, "plateau", numbers, 6, &scope);
    if (!status)
        *plateau = (husk_plateau){.rate = husk__state_number(numbers[0]),
                                  .best = husk__state_number(numbers[1]),
                                  .waited = numbers[2],
                                  .cooling = numbers[3],
                                  .has_rate = numbers[4] != 0,
                                  .has_best = numbers[5] != 0};
    return status;
}
