/* SPDX-License-Identifier: MIT */
/*
 * select/choose.h: the order in which an operator's variants and configurations are tried.
 */
#ifndef HUSK_SELECT_CHOOSE_H
#define HUSK_SELECT_CHOOSE_H

#include "select/plan.h"

enum { HUSK__MAX_CANDIDATES = 64 };

typedef struct husk__ranked {
    const husk__variant *variant;
    const husk__configuration *configuration;
    uint64_t workspace;
    double cost;
    bool is_foreign; /* of the other family: only taken where the device's own has none */
} husk__ranked;

typedef struct husk__ranking {
    size_t count;
    husk__ranked candidates[HUSK__MAX_CANDIDATES];
    char reason[HUSK__REASON_CAPACITY]; /* why one of those that are not here was refused */
    bool reason_is_own;                 /* it is of the device's family */
} husk__ranking;

/* "name" or "name:configuration" against a row and an entry of its menu. */
bool husk__variant_matches(const char *wanted, const husk__variant *variant, const husk__configuration *configuration);

/* Why a candidate that takes so much workspace is not taken: the limit, or what one buffer of the device may have. */
void husk__explain_workspace(const husk__candidate *candidate, uint64_t workspace, uint64_t limit,
                             char reason[HUSK__REASON_CAPACITY]);

/*
 * Every variant and configuration that supports the problem within the limit, cheapest first; those of the
 * other family come last. wanted: NULL, "name" or "name:configuration". INVALID_ARGUMENT when it names nothing.
 * is_named: these are the caller's words, or HUSK_VARIANT's, not a database's. Where
 * the limit is the default and all of the device's own family pass it, those are there that need the least, or up to a
 * quarter more.
 */
husk_status husk__rank(const husk__op *op, const void *problem, const husk__target *target, const char *wanted,
                       bool is_named, husk__limit limit, husk__ranking *ranking, const husk__scope *scope);

#endif
