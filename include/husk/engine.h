/* SPDX-License-Identifier: MIT */
/** @file
 * Matrix engines: parts of a device that multiply small matrices in one instruction.
 *
 * Before an engine is used, a probe must succeed: a small program is compiled and multiplies random matrices correctly
 * on this very device. If the probe fails, the log says why, and plain arithmetic is used instead. If there was no
 * memory for the probe, it is repeated when the engine is asked for again.
 *
 * The environment variable HUSK_ENGINES restricts the engines:
 *
 * | HUSK_ENGINES | engines in use |
 * | --- | --- |
 * | unset | all except the soft ones |
 * | none | none |
 * | nv_mma,... | only those that are named |
 *
 * docs/engines.md describes each engine and what is known about it.
 */
#ifndef HUSK_ENGINE_H
#define HUSK_ENGINE_H

#include <husk/context.h>

HUSK_BEGIN_DECLS

/** The state of an engine on a device. */
typedef enum husk_engine_state {
    HUSK_ENGINE_ABSENT = 0,  /**< The device is not of the engine's kind. */
    HUSK_ENGINE_OFF = 1,     /**< HUSK_ENGINES excludes it. */
    HUSK_ENGINE_REFUSED = 2, /**< Its probe failed. */
    HUSK_ENGINE_READY = 3
} husk_engine_state;

/** An engine's name, such as "nv_mma"; NULL past the end. */
HUSK_API const char *husk_engine_name(size_t index);
/** A state's name, such as "absent"; "unknown" for any other number. */
HUSK_API const char *husk_engine_state_name(husk_engine_state state);

/**
 * The state of an engine on the context's device. The first question runs the probe and waits for it, as
 * husk_context_has() does. So does the first plan that may use an engine.
 *
 * @param text receives what the engine multiplies ("f16 bf16 tf32x3 tf32x1"), or why it is not used; may be NULL
 */
HUSK_API husk_engine_state husk_context_engine(husk_context *context, size_t index, char *text, size_t capacity);

HUSK_END_DECLS

#endif
