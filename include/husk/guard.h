/* SPDX-License-Identifier: MIT */
/** @file
 * Guard bands show that a kernel has written outside its memory.
 *
 * A kernel that writes past the end of a buffer damages what lies there, and its own result may still be right. With
 * guards, each buffer is a separate block of exactly its size between two bands of known bytes. A check compares the
 * bands with their original content. Guards cover all memory of the context: the caller's buffers, packed weights, and
 * the scratch memory that operators take from a queue.
 *
 * - The bytes of a band depend on their position and on the buffer. So a copy of one band to another is detected.
 * - The bytes are quiet NaN in f16, bf16, f32 and f64. So reading past the end of an operand shows in the result. For
 *   the same reason a new buffer is filled with the byte 0xff.
 * - Bands do not detect reads, writes that miss them, and writes of the bytes that they already hold.
 *
 * Guards are for tests. They cost memory and time: memory is not reused, each operator call takes new scratch memory,
 * and the release of a buffer waits for the commands that use it, since its bands are checked then.
 */
#ifndef HUSK_GUARD_H
#define HUSK_GUARD_H

#include <husk/buffer.h>

HUSK_BEGIN_DECLS

/** The size of a band that serves every alignment. Larger bands are multiples of it. */
#define HUSK_GUARD_BYTES 4096

/**
 * Place memory that is allocated from now on between guard bands. This may be called at any time, from any thread.
 *
 * Existing memory is not changed, except the scratch memory of queues: the next call that needs it allocates it anew.
 * Bands count as memory in use.
 *
 * @param bytes the smallest size of a band: a multiple of #HUSK_GUARD_BYTES, at most 1 GiB. 0 means no bands, as in a
 *   new context.
 */
HUSK_API husk_status husk_context_set_guards(husk_context *context, uint64_t bytes, husk_error *error);

/**
 * Wait for the commands that use guarded memory, and check all bands, also those of memory that was released since the
 * last check.
 *
 * Each damaged buffer is reported once: its bands are restored. Damage that no check has reported becomes a warning in
 * the log when the context ends.
 *
 * @retval HUSK_INTERNAL A band was written. The text has the size of the buffer, the bytes that were written, and the
 *   last kernel that used the buffer. If several buffers are damaged, it describes one and gives their number.
 * @return Another failure if no damage was found but the check could not be completed.
 */
HUSK_API husk_status husk_context_check_guards(husk_context *context, husk_error *error);

/** The same check for the memory of one buffer or, for a view, of its parent. HUSK_OK if that memory has no bands. */
HUSK_API husk_status husk_buffer_check_guards(husk_buffer *buffer, husk_error *error);

HUSK_END_DECLS

#endif
