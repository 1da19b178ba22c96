/* SPDX-License-Identifier: MIT */
/*
 * dist/identity.h: what has to be alike in all ranks, and the sentences about what is not.
 */
#ifndef HUSK_DIST_IDENTITY_H
#define HUSK_DIST_IDENTITY_H

#include "dist/rank.h"

/* What a rank says of its graph and device. */
typedef struct husk__likeness {
    char device[128], driver[128], dtype[8];
    char update[128];                    /* the variants that make its updates; "": not known yet */
    uint64_t parameters, buckets, bytes; /* how many, how many, and all parameters' */
    uint64_t names, shapes, cuts;        /* hashes: names and kinds; shapes and places; buckets' ends */
} husk__likeness;

/* Each says in text which rank has what, where that differs from rank 0's. */
bool husk__versions_differ(const husk_dist *dist, char *text, size_t bytes);
bool husk__likenesses_differ(const husk_dist *dist, const husk__likeness *all, bool mixed, char *text, size_t bytes);

#endif
