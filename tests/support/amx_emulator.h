/* SPDX-License-Identifier: MIT */
/*
 * support/amx_emulator.h: AMX on x86-64 CPUs that have none.
 *
 * The instructions of cl/lib/amx.clh raise SIGILL there; a handler decodes and computes them, as the Software
 * Developer's Manual says they do, and goes on behind them. So the very machine code of the kernels runs. A program
 * that calls the function below is linked with this file's husk__cpu_has_amx() and husk__permit_amx() in place of the
 * library's. On a CPU with AMX nothing is emulated.
 */
#ifndef HUSK_TEST_AMX_EMULATOR_H
#define HUSK_TEST_AMX_EMULATOR_H

#include <stdbool.h>
#include <stdint.h>

/* From now on there is AMX. False on machines on which that cannot be. */
bool test_emulate_amx(void);
/* Whether an engine for CPUs can be here, "amx", then emulated if need be, "avx512_bf16" or "soft_amx". */
bool test_engine_is_here(const char *name);
/*
 * Whether the default device has to run AMX's kernels: 1 on PoCL's CPU, 0 where its compiler does not stand inline
 * assembly, -1 on other devices, of which nothing is known.
 */
int test_amx_is_wanted(void);
/* Instructions computed so far. */
uint64_t test_amx_emulated(void);

#endif
