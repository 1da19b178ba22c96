/* SPDX-License-Identifier: MIT */
/*
 * select/engine_states.h: what a context has found out about its engines.
 */
#ifndef HUSK_SELECT_ENGINE_STATES_H
#define HUSK_SELECT_ENGINE_STATES_H

#include "select/engine.h"

typedef struct husk__engine_states husk__engine_states;

/* NULL without memory. What HUSK_ENGINES names and is none goes to the log. */
husk__engine_states *husk__engine_states_create(husk_context *context);
void husk__engine_states_destroy(husk__engine_states *states);
/* Every engine counts as right: to list programs on a device that computes nothing. */
void husk__engine_states_assume(husk__engine_states *states);

/*
 * Whether the engine of this number multiplies rightly, by its probe where that is not known yet. A failure is the
 * probe's, that could not be made: it says nothing of the engine, and it is asked again the next time.
 */
husk_status husk__engine_states_ask(husk_context *context, husk__engine_states *states, size_t e, husk__product product,
                                    bool *is_ready, const husk__scope *scope);
/* Why it does not, of the first product that was refused. */
void husk__engine_states_reason(husk__engine_states *states, size_t e, char reason[HUSK__ENGINE_REASON]);

#endif
