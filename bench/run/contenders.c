// SPDX-License-Identifier: MIT
#include "run/contenders.h"

#include <string.h>

#include "baseline/baselines.h"
#include "worker/husk_contender.h"

static const bench_contender *const contenders[] = {
    &bench_contender_husk,
#ifdef HUSK_WITH_ONEDNN
    &bench_contender_onednn,
#endif
#ifdef HUSK_WITH_BLAS
    &bench_contender_blas,
#endif
#ifdef HUSK_WITH_CLBLAST
    &bench_contender_clblast,
#endif
#ifdef HUSK_WITH_REF
    &bench_contender_ref,
#endif
};

const bench_contender *bench_contender_get(size_t index)
{
    return index < sizeof contenders / sizeof *contenders ? contenders[index] : NULL;
}

const bench_contender *bench_contender_find(const char *name)
{
    for (size_t i = 0; i < sizeof contenders / sizeof *contenders; i++) {
        if (!strcmp(contenders[i]->name, name))
            return contenders[i];
    }
    return NULL;
}
