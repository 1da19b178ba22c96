/* SPDX-License-Identifier: MIT */
/*
 * dist/failure.h: the failure of a run: the first one, which all ranks are told.
 */
#ifndef HUSK_DIST_FAILURE_H
#define HUSK_DIST_FAILURE_H

#include "dist/rank.h"

/* The failure of the run, where there is one. */
husk_status husk__dist_check(husk_dist *dist, const husk__dist_scope *scope);
/* Note a failure and have all ranks told; the first one stays. Any thread. */
void husk__dist_fail(husk_dist *dist, husk_status status, const char *text);
/* The same, as the scope's too. Returns status. */
husk_status husk__dist_fail_with(husk_dist *dist, husk_status status, const char *text, const husk__dist_scope *scope);

/* ---- the library's thread -------------------------------------------------------------------------------- */

/* What other ranks tell. */
husk_status husk__dist_hear_failures(husk_dist *dist, husk_error *error);
/* Tells all others, once. */
void husk__dist_announce(husk_dist *dist);

#endif
