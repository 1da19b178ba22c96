/* SPDX-License-Identifier: MIT */
/*
 * runtime/fork.h: which process has opened OpenCL: the one thing that is the process' own and no context's.
 */
#ifndef HUSK_RUNTIME_FORK_H
#define HUSK_RUNTIME_FORK_H

#include <stdbool.h>

#include "base/error.h"

/*
 * A driver's threads do not live on in a child process, nor do its locks open again: after a fork every call is refused
 * whose process, or any above it since the last exec, had opened OpenCL. What such a child releases, it keeps.
 */
bool husk__is_forked(void);
/* UNSUPPORTED in such a child. */
husk_status husk__refuse_forked(const husk__scope *scope);
/* The same of a call by which a process may open OpenCL, which it then has. */
husk_status husk__open_process(const husk__scope *scope);

#endif
