// SPDX-License-Identifier: MIT
#include "tune/budget.h"

double bench_tune_budget(const bench_options *options)
{
    const double usual = 60;
    return options->budget > 0 ? options->budget : options->budget < 0 ? BENCH_TUNE_NO_LIMIT : usual;
}
