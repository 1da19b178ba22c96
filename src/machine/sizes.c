// SPDX-License-Identifier: MIT
// Sizes and typical rates.
#include "machine/sizes.h"

#include <math.h>
#include <stddef.h>

const char *husk_isa_name(husk_isa isa)
{
    switch (isa) {
    case HUSK_ISA_GENERIC:
        return "generic";
    case HUSK_ISA_SSE:
        return "sse";
    case HUSK_ISA_AVX2:
        return "avx2";
    case HUSK_ISA_AVX512:
        return "avx512";
    case HUSK_ISA_NEON:
        return "neon";
    }
    return "unknown";
}

// A CPU device is this machine's own CPU, so that the library's own instruction set is the device's. How wide its
// vectors are is the device's word: its compiler may be told to use less than the CPU has.
static husk_isa isa_of(const husk_device_traits *traits)
{
    if (traits->device_class != HUSK_DEVICE_CPU && traits->device_class != HUSK_DEVICE_SIMULATOR)
        return HUSK_ISA_GENERIC;
#if defined(__x86_64__) || defined(__i386__) || defined(_M_X64)
    return traits->vector_width == 16 ? HUSK_ISA_AVX512 : traits->vector_width == 8 ? HUSK_ISA_AVX2 : HUSK_ISA_SSE;
#elif defined(__aarch64__) || defined(_M_ARM64)
    return traits->vector_width == 4 ? HUSK_ISA_NEON : HUSK_ISA_GENERIC;
#else
    return HUSK_ISA_GENERIC;
#endif
}

// A typical CPU of each instruction set, where nothing was measured and the system does not tell: the smallest caches
// and the lower rates of those that are in use. Cycles a core multiplies in: two units everywhere, but for AVX-512's
// second one, which half of those CPUs lack. No measured rate is above the widest core's: where the loops that are
// timed were disturbed, a cycle comes out too long, or a multiplication too short.
typedef struct typical_cpu {
    uint32_t registers;
    uint64_t l1, l2;
    double fma_per_cycle, most_fma_per_cycle, l2_bytes_per_cycle;
} typical_cpu;

static const typical_cpu typical_cpus[] = {
    [HUSK_ISA_GENERIC] = {16, 32 << 10, 256 << 10, 1.0, 4.0, 16.0},
    [HUSK_ISA_SSE] = {16, 32 << 10, 256 << 10, 1.0, 2.0, 16.0},
    [HUSK_ISA_AVX2] = {16, 32 << 10, 512 << 10, 2.0, 2.0, 32.0},
    [HUSK_ISA_AVX512] = {32, 32 << 10, 1 << 20, 1.0, 2.0, 32.0},
    [HUSK_ISA_NEON] = {32, 32 << 10, 512 << 10, 2.0, 4.0, 16.0},
};

static husk_machine_rates typical_rates(const typical_cpu *cpu, uint32_t cores)
{
    const double clock = 3.0, l3_bytes_per_cycle = 10.0, memory = 12.0, channels = 4.0;
    return (husk_machine_rates){
        .clock_ghz = clock,
        .fma_per_cycle = cpu->fma_per_cycle,
        .l2_rate = cpu->l2_bytes_per_cycle * clock,
        .l3_rate = l3_bytes_per_cycle * clock,
        .memory_rate = memory,
        .memory_rate_all = memory * (cores < channels ? cores : channels),
        .launch_ns = 4000.0,
        .wake_ns = cores > 1 ? 5000.0 : 0.0,
    };
}

static void take_caches(const husk__cpu_caches *caches, husk_machine *machine)
{
    if (caches->l1 > 0)
        machine->l1 = caches->l1;
    if (caches->l2 > 0)
        machine->l2 = caches->l2;
    if (caches->line > 0)
        machine->cache_line = caches->line;
    if (caches->l3 == 0 && caches->l2 == 0) // nothing is known
        return;
    machine->l3 = caches->l3;
    machine->l3_cores = caches->l3_sharers < machine->cores ? caches->l3_sharers : machine->cores;
}

void husk__machine_read(const husk_device_traits *traits, const husk__cpu_caches *caches, husk_machine *machine)
{
    *machine = (husk_machine){
        .isa = isa_of(traits),
        .vector_width = traits->vector_width,
        .cores = traits->compute_units,
        .cache_line = (uint32_t)traits->cache_line,
    };
    if (traits->device_class == HUSK_DEVICE_CPU || traits->device_class == HUSK_DEVICE_SIMULATOR) {
        const typical_cpu *cpu = &typical_cpus[machine->isa];
        machine->registers = cpu->registers;
        machine->l1 = cpu->l1;
        machine->l2 = cpu->l2;
        machine->l3 = traits->global_cache > cpu->l2 ? traits->global_cache : 0;
        machine->l3_cores = machine->l3 > 0 ? machine->cores : 0;
        if (machine->cache_line == 0)
            machine->cache_line = 64;
        take_caches(caches, machine);
        machine->typical = typical_rates(cpu, machine->cores);
    } else {
        machine->l2 = traits->global_cache;
        machine->typical = typical_rates(&typical_cpus[HUSK_ISA_GENERIC], machine->cores);
        if (traits->clock_mhz > 0)
            machine->typical.clock_ghz = traits->clock_mhz / 1e3;
    }
    machine->rates = machine->typical;
}

// ---- rates by name ----

// Something else that runs meanwhile makes the second core come late, by milliseconds: no machine is so slow to wake.
#define RATE(name, factor)                                \
    {                                                     \
        #name, offsetof(husk_machine_rates, name), factor \
    }
const husk__rate husk__machine_rate_names[] = {
    RATE(clock_ghz, 5.0),  RATE(fma_per_cycle, 4.0), RATE(l2_rate, 10.0),
    RATE(l3_rate, 10.0),   RATE(memory_rate, 10.0),  RATE(memory_rate_all, 20.0),
    RATE(launch_ns, 10.0), RATE(wake_ns, 5.0),       {NULL, 0, 0.0},
};

double *husk__rate_of(husk_machine_rates *rates, const husk__rate *rate)
{
    return (double *)(void *)((char *)rates + rate->offset);
}

static double confine(double usual, double factor, double value)
{
    if (!(value >= usual / factor)) // so is what is no number
        return value < usual ? usual / factor : usual;
    return value > usual * factor ? usual * factor : value;
}

void husk__rates_confine(const husk_machine *machine, husk_machine_rates *rates)
{
    husk_machine_rates typical = machine->typical;
    for (const husk__rate *rate = husk__machine_rate_names; rate->name; ++rate) {
        double *value = husk__rate_of(rates, rate);
        *value = confine(*husk__rate_of(&typical, rate), rate->most_factor, *value);
    }
    rates->fma_per_cycle = fmin(rates->fma_per_cycle, typical_cpus[machine->isa].most_fma_per_cycle);
}

bool husk__rates_are_plausible(const husk_machine *machine, const husk_machine_rates *rates)
{
    husk_machine_rates confined = *rates, given = *rates;
    husk__rates_confine(machine, &confined);
    for (const husk__rate *rate = husk__machine_rate_names; rate->name; ++rate)
        if (*husk__rate_of(&confined, rate) != *husk__rate_of(&given, rate))
            return false;
    return true;
}
