// SPDX-License-Identifier: MIT
#include "ops/attention/totals.h"

#include "base/checked.h"
#include "base/tensor.h"

// Some rounds of the few that a compute unit has at a time, so that little is left idle at a launch's end.
enum { UNIT_GROUPS = 32 };

husk__attention_totals husk__attention_totals_of(const husk_device_traits *traits, const husk__range *range,
                                                 int64_t tiles)
{
    enum { FEW = 256, LEAST = 64 };
    const int64_t groups = (int64_t)range->groups[0], parts = husk__max_i64((int64_t)range->groups[1], 1);
    const int64_t most = husk__max_i64(husk__max_i64(traits->compute_units, 1) * UNIT_GROUPS / parts, 1);
    const int64_t launches = husk__max_i64(husk__divide_up(groups, most), 1);
    int64_t run = LEAST;
    if (tiles <= FEW)
        return (husk__attention_totals){0, range->groups[0]};
    while (run * run < tiles)
        run *= 2;
    return (husk__attention_totals){run, (size_t)husk__divide_up(groups, launches)};
}

uint64_t husk__attention_totals_bytes(const husk__attention_totals *totals, const husk__range *range, int64_t of_group,
                                      husk_dtype dtype)
{
    return totals->run ? (uint64_t)totals->slice * range->groups[1] * (uint64_t)of_group * husk__accumulator_size(dtype)
                       : 0;
}

husk_status husk__attention_totals_launch(const husk__attention_totals *totals, husk_queue *queue,
                                          const husk__kernel *kernel, const husk__range *range, husk__arg *list,
                                          husk__arg *end, const husk__scratch *scratch, husk_dtype dtype,
                                          const husk__scope *scope)
{
    husk_status status = HUSK_OK;
    husk__range slice = *range;
    end[0] = HUSK__ARG_BUFFER(scratch->buffer, 0, (uint32_t)husk__accumulator_size(dtype));
    end[1] = HUSK__ARG_I32(totals->run);
    for (size_t first = 0; first < range->groups[0] && status == HUSK_OK; first += slice.groups[0]) {
        const size_t left = range->groups[0] - first;
        slice.groups[0] = left < totals->slice ? left : totals->slice;
        end[2] = HUSK__ARG_I32(first);
        status = husk__launch(queue, kernel, &slice, list, (size_t)(end + HUSK__ATTENTION_TOTALS_ARGS - list), scope);
    }
    return status;
}
