// SPDX-License-Identifier: MIT
#include "run/state.h"

#include "system/timer.h"

double bench_run_elapsed(const bench_run *r)
{
    return (double)(bench_now_ns() - r->start_ns) * 1e-9;
}

bench_startup_options bench_run_startup(const bench_run *r)
{
    json_t *devices = json_object_get(r->results.root, "devices");
    return (bench_startup_options){
        .preference = r->preference,
        .device = json_array_get(devices, r->device),
        .max_time = r->options->max_time,
        .compile_time = r->options->compile_time,
    };
}
