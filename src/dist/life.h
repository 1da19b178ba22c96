/* SPDX-License-Identifier: MIT */
/*
 * dist/life.h: signs of life, and leaving. All calls but the first are the library's thread's.
 */
#ifndef HUSK_DIST_LIFE_H
#define HUSK_DIST_LIFE_H

#include "dist/rank.h"

/* Everything that other ranks say of themselves is listened to. */
husk_status husk__dist_listen(husk_dist *dist, husk_error *error);
/* Each rank is heard by the next one, the last by the first. */
husk_status husk__dist_beat(husk_dist *dist, uint64_t now, husk_error *error);
husk_status husk__dist_hear_leaving(husk_dist *dist, uint64_t now, husk_error *error);
husk_status husk__dist_say_leaving(husk_dist *dist, uint64_t now, husk_error *error);
/* All have left, all is said and heard. A rank that hangs is not waited for longer than in any other common call. */
husk_status husk__dist_may_end(husk_dist *dist, uint64_t now, bool *may, husk_error *error);

#endif
