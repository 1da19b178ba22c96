// SPDX-License-Identifier: MIT
#include "runtime/fork.h"

#include <stdatomic.h>

#include "os/process.h"

// The system's number of the process that made the first call to OpenCL; 0: nobody yet. Numbers are given again, also
// to a child in a name space of its own, so it is for the text alone.
static atomic_long opened_by;
// This is a child of it.
static atomic_bool was_forked;

static void on_fork(void)
{
    atomic_store_explicit(&was_forked, true, memory_order_relaxed);
}

bool husk__is_forked(void)
{
    return atomic_load_explicit(&was_forked, memory_order_relaxed);
}

husk_status husk__refuse_forked(const husk__scope *scope)
{
    if (!husk__is_forked())
        return HUSK_OK;
    return husk__fail(scope, HUSK_UNSUPPORTED,
                      "this process was forked from process %ld, which had opened OpenCL: its drivers' threads are not "
                      "here, and calls would hang. Fork before the first call of OpenCL, or let the child exec",
                      atomic_load(&opened_by));
}

husk_status husk__open_process(const husk__scope *scope)
{
    long nobody = 0;
    if (atomic_compare_exchange_strong(&opened_by, &nobody, husk__process_number()) && !husk__on_fork(on_fork)) {
        atomic_store(&opened_by, 0);
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory to learn of a fork");
    }
    return husk__refuse_forked(scope);
}
