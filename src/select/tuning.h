/* SPDX-License-Identifier: MIT */
/*
 * select/tuning.h: a context's tuning databases: those of the user, those it was given, those that are compiled in.
 */
#ifndef HUSK_SELECT_TUNING_H
#define HUSK_SELECT_TUNING_H

#include <husk/tuning.h>

#include "base/error.h"
#include "select/op.h"

typedef struct husk__tuning husk__tuning;

/* Reads the environment, but no file yet; NULL without memory. */
husk__tuning *husk__tuning_create(const husk_context *context);
void husk__tuning_destroy(husk__tuning *tuning);

/* A variant that a database speaks for. */
typedef struct husk__suggestion {
    const char *variant; /* "name:configuration"; lives as long as the tuning */
    husk_choice choice;
} husk__suggestion;

enum { HUSK__MAX_SUGGESTIONS = 4 };

/*
 * What to try before the prediction, the best first: this device before its family, the problem before its class. None
 * where a measurement found nothing faster than what is predicted. False where it cannot be told for want of memory: a
 * plan that is chosen without it would stay in the cache.
 */
bool husk__tuning_find(husk__tuning *tuning, const husk__op *op, const void *problem, bool is_call,
                       husk__suggestion suggestions[HUSK__MAX_SUGGESTIONS], size_t *count);

/*
 * Whether tuning found that this candidate computes wrong results on this device, with this driver and these kernels.
 * False where it cannot be told for want of memory.
 */
bool husk__tuning_is_wrong(husk__tuning *tuning, const husk__op *op, const husk__variant *variant,
                           const husk__configuration *configuration, bool *is_wrong);

/* The operator's kernels' hash, which is kept. False for want of memory. */
bool husk__tuning_kernels_of(husk__tuning *tuning, const husk__op *op, char hash[33]);
/* One of all operators' hashes. False for want of memory. */
bool husk__tuning_all_kernels(husk__tuning *tuning, char hash[33]);

/* Read what the program gives, a database or a folder of them: all or nothing. One of path and text is set. */
husk_status husk__tuning_load(husk__tuning *tuning, const husk_tuning_params *params, const husk__scope *scope);
/* How many entries there are. False for want of memory. */
bool husk__tuning_count(husk__tuning *tuning, husk_tuning_stats *stats);

#endif
