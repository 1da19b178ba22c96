/* SPDX-License-Identifier: MIT */
/** @file
 * What a context's device can do: the sizes that blocks are made for, and the rates that times are predicted from.
 *
 * Two kinds of number, which are used differently:
 *
 * - Sizes (registers, caches) come from the device and the system. Block sizes follow from them. Block sizes decide the
 *   order of additions and so the bits of a result, and these must not change from one run to the next.
 * - Rates (clock, bandwidths, launch times) are measured. They only predict which variant of an operator is the
 *   fastest.
 *
 * A CPU device is measured when the first variant is chosen on it, in about 0.1 s. The numbers are kept in a file for
 * this device and driver: $XDG_DATA_HOME/husk/machine, or ~/.local/share/husk/machine. Without such a folder they live
 * as long as the context. `clbench calibrate` measures anew.
 *
 * | HUSK_MACHINE | effect |
 * | --- | --- |
 * | unset | as above |
 * | typical | nothing is measured and no file is read: the rates are those of a typical device of its kind |
 *
 * Other devices than CPUs are not measured. Their clock is the advertised one; their other rates are those of a typical
 * CPU, and rank only kernels that were written for CPUs.
 */
#ifndef HUSK_MACHINE_H
#define HUSK_MACHINE_H

#include <husk/context.h>

HUSK_BEGIN_DECLS

/** The instruction sets that kernels are written for. */
typedef enum husk_isa {
    HUSK_ISA_GENERIC = 0, /**< None of those below. Every GPU. */
    HUSK_ISA_SSE = 1,     /**< x86, vectors of 4 floats. */
    HUSK_ISA_AVX2 = 2,    /**< x86, vectors of 8 floats. */
    HUSK_ISA_AVX512 = 3,  /**< x86, vectors of 16 floats. */
    HUSK_ISA_NEON = 4     /**< 64-bit Arm, vectors of 4 floats. */
} husk_isa;

/** Times and rates. A rate in bytes per nanosecond is the same number in GB/s. */
typedef struct husk_machine_rates {
    double clock_ghz;       /**< Cycles per nanosecond of a core at work. */
    double fma_per_cycle;   /**< Vectors of f32 that a core multiplies and adds in a cycle. */
    double l2_rate;         /**< Bytes per nanosecond that a core reads from its second-level cache. */
    double l3_rate;         /**< The same from the last cache. */
    double memory_rate;     /**< The same from memory, while the other cores are idle. */
    double memory_rate_all; /**< Bytes per nanosecond that all cores together read from memory. */
    double launch_ns;       /**< What a kernel launch takes that follows another one. */
    double wake_ns; /**< How much longer launches in a row take where all cores have the same work, than on one. */
} husk_machine_rates;

/** A device as choices see it. Sizes are in bytes; what is unknown is 0. */
typedef struct husk_machine {
    husk_isa isa;
    uint32_t vector_width; /**< Floats in a vector register, as husk_device_traits has it. */
    uint32_t registers; /**< Vector registers that a kernel can use; 0 for GPUs. */
    uint32_t cores; /**< Compute units. */
    uint64_t l1; /**< First-level data cache of one core. If cores share it, this one's part. */
    uint64_t l2; /**< Second-level cache of one core. If cores share it, this one's part. */
    uint64_t l3; /**< The last cache. */
    uint32_t l3_cores; /**< Cores that share it. */
    uint32_t cache_line;
    husk_machine_rates typical; /**< Of a typical device of this kind: they depend on nothing but the sizes above. */
    husk_machine_rates rates; /**< Of this one, as far as they have been measured. */
    bool is_measured; /**< False: rates and typical are the same. */
} husk_machine;

/** "generic", "sse", "avx2", "avx512" or "neon". */
HUSK_API const char *husk_isa_name(husk_isa isa);

/**
 * The machine that this context's choices are made for. The first call on a CPU device measures it, unless the file has
 * the numbers. They never change within a context. NULL if context is NULL, or if there is no host memory.
 */
HUSK_API const husk_machine *husk_context_machine(husk_context *context);

/**
 * Measure the device anew, and write the file. Contexts that are created afterwards use the new numbers; this one keeps
 * its own. Nothing else should run on the machine meanwhile.
 *
 * @param machine receives a copy of the machine with the new rates.
 * @retval HUSK_UNSUPPORTED The device is no CPU.
 * @retval HUSK_IO The numbers are measured, and are in *machine, but the file cannot be written.
 */
HUSK_API husk_status husk_context_calibrate(husk_context *context, husk_machine *machine, husk_error *error);

HUSK_END_DECLS

#endif
