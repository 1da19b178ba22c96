// SPDX-License-Identifier: MIT
// Which process has opened OpenCL: the one thing that is the process' own and no context's.
#include "runtime/internal.h"

#include "base/os.h"

// The system's number of the process that made the first call to OpenCL; 0: nobody yet.
static atomic_long opened_by;

bool husk__is_forked(void)
{
    const long opened = atomic_load_explicit(&opened_by, memory_order_relaxed);
    return opened != 0 && opened != husk__process_number();
}

husk_status husk__refuse_forked(const husk__scope *scope)
{
    if (!husk__is_forked())
        return HUSK_OK;
    return husk__fail(
        scope, HUSK_UNSUPPORTED,
        "this process was forked from process %ld, which had opened OpenCL: its drivers' threads are not "
        "here, and calls would hang. Fork before the first call of OpenCL, or let the child exec",
        atomic_load(&opened_by));
}

husk_status husk__open_process(const husk__scope *scope)
{
    long nobody = 0;
    atomic_compare_exchange_strong(&opened_by, &nobody, husk__process_number());
    return husk__refuse_forked(scope);
}
