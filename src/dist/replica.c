// SPDX-License-Identifier: MIT
#include "dist/replica.h"

#include "dist/failure.h"

husk_status husk__replica_failed(const husk_parallel *own, husk_status status, const husk__dist_scope *scope)
{
    return status ? husk__dist_fail_with(own->dist, status, husk_graph_error(own->graph)->text, scope) : HUSK_OK;
}
