/* SPDX-License-Identifier: MIT */
/*
 * runtime/quirk.h: what compilers get wrong.
 */
#ifndef HUSK_RUNTIME_QUIRK_H
#define HUSK_RUNTIME_QUIRK_H

#include <stdbool.h>
#include <stdint.h>

#include <husk/context.h>

/*
 * Whether a program from this file is built with -cl-denorms-are-zero: on GPUs always; on CPUs where it is needed and
 * costs nothing, which a probe finds out. Files of the runtime itself, which has the probes, go without.
 */
bool husk__flushes_denormals(husk_context *context, const char *file);

/*
 * Whether launches that flush take more than one and a half times as long as those right behind them that do not, in
 * most pairs, and the fastest of them more than 1.4 times what the fastest of the others does; or in all pairs but one.
 * A machine's speed may change by more from one launch to the next, which is wrong in that pair alone. The times are
 * those of processors, so that other processes, which want them too, change little. What is answered decides bits:
 * processes that train together have to find the same.
 */
enum { HUSK__FLUSH_PAIRS = 19 };
bool husk__flush_costs(const uint64_t flushing_ns[HUSK__FLUSH_PAIRS], const uint64_t plain_ns[HUSK__FLUSH_PAIRS]);

#endif
