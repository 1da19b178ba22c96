/* SPDX-License-Identifier: MIT */
/*
 * husk/engine.h: matrix engines: the part of a device that multiplies small matrices in one instruction.
 *
 * An engine is used only after its probe, a small program, was compiled and has multiplied random matrices rightly on
 * this very device; where that fails the log says why and plain arithmetic takes its place (where there was no memory
 * for the probe, until it is asked for again). HUSK_ENGINES=none uses no engine, HUSK_ENGINES=nv_mma,... those alone;
 * unset means all but the soft ones. docs/engines.md says what each does and what is known of it.
 */
#ifndef HUSK_ENGINE_H
#define HUSK_ENGINE_H

#include <husk/context.h>

HUSK_BEGIN_DECLS

typedef enum husk_engine_state {
    HUSK_ENGINE_ABSENT = 0,  /* not one of such devices */
    HUSK_ENGINE_OFF = 1,     /* HUSK_ENGINES leaves it out */
    HUSK_ENGINE_REFUSED = 2, /* its probe failed */
    HUSK_ENGINE_READY = 3
} husk_engine_state;

/* "nv_mma" ...; NULL past the end. */
HUSK_API const char *husk_engine_name(size_t index);
/* "absent" ...; "unknown" for a number that is no state. */
HUSK_API const char *husk_engine_state_name(husk_engine_state state);

/*
 * An engine's state on the context's device: the first question probes it. text, which may be NULL, receives what it
 * multiplies ("f16 bf16 tf32x3 tf32x1"), or why it is not used. The probe is waited for, as husk_context_has says, also
 * where the first plan that may take an engine is what asks.
 */
HUSK_API husk_engine_state husk_context_engine(husk_context *context, size_t index, char *text, size_t capacity);

HUSK_END_DECLS

#endif
