// SPDX-License-Identifier: MIT
#include "ops/shared/held_row.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "select/plan.h"

enum { GROUP = 256, GROUPS_PER_UNIT = 16 };

#define HELD(items, fours) {#items "x" #fours, "-DROW_ITEMS=" #items " -DFOURS=" #fours, {items, fours}}

const husk__configuration husk__held_menu[HUSK__HELD_MENU] = {
    HELD(32, 1), HELD(32, 2), HELD(32, 4), HELD(64, 4), HELD(128, 4), HELD(256, 4), HELD(256, 8), HELD(256, 1),
};

static int64_t capacity_of(const husk__configuration *configuration)
{
    return 4 * (int64_t)configuration->values[HUSK__HELD_ITEMS] * configuration->values[HUSK__HELD_FOURS];
}

static int64_t groups_of(const husk__configuration *configuration, int64_t rows)
{
    return husk__divide_up(rows, GROUP / configuration->values[HUSK__HELD_ITEMS]);
}

bool husk__held_supports(const husk__candidate *candidate, int64_t length, char reason[HUSK__REASON_CAPACITY])
{
    if (candidate->traits->work_group < GROUP) {
        snprintf(reason, HUSK__REASON_CAPACITY, "needs work-groups of %d", GROUP);
        return false;
    }
    if (length > capacity_of(candidate->configuration)) {
        snprintf(reason, HUSK__REASON_CAPACITY, "holds %lld elements of a row, which has %lld",
                 (long long)capacity_of(candidate->configuration), (long long)length);
        return false;
    }
    return true;
}

double husk__held_cost(const husk__candidate *candidate, int64_t rows, int64_t length)
{
    const double idle = 1.0 - (double)length / (double)capacity_of(candidate->configuration);
    const double units = (double)husk__max_i64(1, candidate->traits->compute_units);
    const double busy = (double)groups_of(candidate->configuration, rows) / (2.0 * units);
    return -2.0 + idle - (busy < 1.0 ? busy : 1.0);
}

// NVIDIA's compiler would take as many as a group of 256 can have, and then few groups run at a time.
static const char *registers_option(const husk__configuration *configuration, husk_dtype dtype,
                                    const husk_device_traits *traits)
{
    const int32_t registers = configuration->values[HUSK__HELD_FOURS] * (dtype == HUSK_F64 ? 2 : 1);
    if (registers > 8 || !strstr(traits->extensions, "cl_nv_compiler_options"))
        return "";
    return registers > 4 ? "-cl-nv-maxrregcount=128" : "-cl-nv-maxrregcount=64";
}

husk_status husk__held_prepare(const husk_plan *plan, husk_dtype dtype, int64_t rows, const char *more,
                               const char *file, const char *name, const husk__kernel **kernel, husk__range *range,
                               const husk__scope *scope)
{
    const husk_device_traits *traits = husk_context_traits(plan->context);
    const int64_t groups =
        husk__min_i64(groups_of(plan->configuration, rows), GROUPS_PER_UNIT * (int64_t)traits->compute_units);
    *range = (husk__range){{(size_t)groups, 1, 1}, {GROUP, 1, 1}};
    char options[128];
    snprintf(options, sizeof options, "%s %s %s %s", husk__dtype_option(dtype), plan->configuration->options, more,
             registers_option(plan->configuration, dtype, traits));
    return husk__kernel_get(plan->context, file, options, name, kernel, scope);
}
