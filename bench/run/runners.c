// SPDX-License-Identifier: MIT
#include "run/runners.h"

#include <string.h>

#include "baseline/baselines.h"
#include "worker/husk_runner.h"
#include "worker/kernel_runner.h"

static const bench_runner *const runners[] = {
    &bench_runner_husk,
#ifdef HUSK_WITH_ONEDNN
    &bench_runner_onednn,
#endif
#ifdef HUSK_WITH_BLAS
    &bench_runner_blas,
#endif
#ifdef HUSK_WITH_CLBLAST
    &bench_runner_clblast,
#endif
#ifdef HUSK_WITH_REF
    &bench_runner_ref,
#endif
};

const bench_runner *bench_runner_get(size_t index)
{
    return index < sizeof runners / sizeof *runners ? runners[index] : NULL;
}

const bench_runner *bench_runner_find(const char *name)
{
    for (size_t i = 0; i < sizeof runners / sizeof *runners; i++) {
        if (!strcmp(runners[i]->name, name))
            return runners[i];
    }
    return strcmp(bench_runner_kernel.name, name) ? NULL : &bench_runner_kernel;
}
