/* SPDX-License-Identifier: MIT */
/*
 * dist/progress.h: the thread that alone calls MPI.
 */
#ifndef HUSK_DIST_PROGRESS_H
#define HUSK_DIST_PROGRESS_H

#include "dist/rank.h"

husk_status husk__dist_start(husk_dist *dist, const husk__dist_scope *scope);
/* MPI no longer receives anything into it; without the thread, which alone calls MPI. */
void husk__dist_stop_listening(husk_dist *dist);
/* The thread's end, when all ranks have come to theirs; false: a failure, and the run is to be ended. */
bool husk__dist_stop(husk_dist *dist);
/* MPI_Abort; does not come back. */
void husk__dist_end_all(husk_dist *dist);

#endif
