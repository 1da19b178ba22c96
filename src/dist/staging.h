/* SPDX-License-Identifier: MIT */
/*
 * dist/staging.h: memory for transfers.
 */
#ifndef HUSK_DIST_STAGING_H
#define HUSK_DIST_STAGING_H

#include "dist/error.h"

/* A buffer, and its memory mapped for good, for transfers. */
husk_status husk__dist_staging(husk_context *context, husk_queue *queue, uint64_t bytes, husk_buffer **buffer,
                               void **host, const husk__dist_scope *scope);

#endif
