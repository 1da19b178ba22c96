// SPDX-License-Identifier: MIT
#include "verify/kernel_occupancy.h"

#include <stddef.h>
#include <string.h>

// A multiprocessor of NVIDIA's; of AMD's a SIMD unit, a quarter or half of what shares local memory.
typedef struct unit {
    const char *target;
    int wave; // work-items
    int waves; // at most
    int registers; // of a lane's share: a wave of r registers takes r of them
    int granule; // in which they are given out
    int sharing; // units that share the local memory, and a work-group's waves
    int64_t local_memory;
    int groups; // at most, of those that share
} unit;

static const unit units[] = {
    {"sm_70", 32, 64, 2048, 8, 1, 96 << 10, 32},     {"sm_80", 32, 64, 2048, 8, 1, 164 << 10, 32},
    {"sm_90", 32, 64, 2048, 8, 1, 228 << 10, 32},    {"gfx1100", 32, 16, 1536, 24, 4, 128 << 10, 32},
    {"gfx1201", 32, 16, 1536, 24, 4, 128 << 10, 32}, {"gfx90a", 64, 8, 512, 8, 4, 64 << 10, 16},
    {"gfx942", 64, 8, 512, 8, 4, 64 << 10, 16},
};

static int64_t up(int64_t value, int64_t granule)
{
    return (value + granule - 1) / granule * granule;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

bench_occupancy bench_occupancy_of(const char *target, int64_t registers, int64_t items, int64_t local_memory)
{
    const unit *u = NULL;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!strcmp(units[i].target, target))
            u = &units[i];
    }
    if (!u || registers < 0 || items < 1)
        return (bench_occupancy){.most = 0};
    const int64_t waves_of_group = up(items, u->wave) / u->wave;
    const int64_t by_registers = registers ? u->registers / up(registers, u->granule) : u->waves;
    const int64_t all = u->sharing * smaller(by_registers, u->waves);
    int64_t groups = smaller(all / waves_of_group, u->groups);
    if (local_memory > 0)
        groups = smaller(groups, u->local_memory / local_memory);
    return (bench_occupancy){.waves = (int)(groups * waves_of_group), .most = u->sharing * u->waves};
}
