/* SPDX-License-Identifier: MIT */
/*
 * husk/guard.h: guard bands, which show that a kernel has written outside its memory.
 *
 * A kernel that writes past the end of a buffer damages what happens to lie there, and its own result may still be
 * right. With guards each buffer is a block of its own of exactly its size, between two bands of known bytes, and a
 * check compares the bands with what they were. This covers all memory of the context: the caller's buffers, packed
 * weights, and the scratch memory that operators take from a queue.
 *
 * The bytes of a band depend on their place and on the buffer, so a kernel that copies one band to another is seen.
 * They are NaN, quiet, as f16, bf16, f32 and f64: what is read past the end of an operand shows in the result. For
 * the same reason a new buffer holds the byte 0xff throughout. Bands see no read, and no write that misses them or
 * leaves their very bytes.
 *
 * Guards are for tests. They take memory and time: no memory is used again, each operator call takes new scratch
 * memory, and releasing a buffer waits for the commands that use it, since its bands are looked at then.
 */
#ifndef HUSK_GUARD_H
#define HUSK_GUARD_H

#include <husk/buffer.h>

HUSK_BEGIN_DECLS

/* The size of a band that serves every alignment; larger ones are multiples of it. */
#define HUSK_GUARD_BYTES 4096

/*
 * Memory that is made from now on lies between bands of at least so many bytes (a multiple of HUSK_GUARD_BYTES, 1 GiB
 * at most); 0, as in a new context: there are none. Memory that exists stays as it is, but for queues' scratch memory,
 * which is made anew by the next call that needs it. Bands count as memory in use. May be called at any time, from any
 * thread.
 */
HUSK_API husk_status husk_context_set_guards(husk_context *context, uint64_t bytes, husk_error *error);

/*
 * Wait for the commands that use guarded memory, and look at its bands, those of memory that was released since the
 * last check among them. INTERNAL: a band was written. The text has the size of the buffer, which bytes were written,
 * and the kernel that used the buffer last. With several such buffers it describes one and says how many there were.
 * Each is told once: its bands are made good. Where a check ends with another failure, which is told when nothing was
 * found, it has not seen all.
 * What nobody asked for before the context ends becomes a warning in its log.
 */
HUSK_API husk_status husk_context_check_guards(husk_context *context, husk_error *error);

/* The same for the memory of one buffer, or of what it is a view of. OK where that has no bands. */
HUSK_API husk_status husk_buffer_check_guards(husk_buffer *buffer, husk_error *error);

HUSK_END_DECLS

#endif
