// SPDX-License-Identifier: MIT
#include "ops/elementwise/where_problem.h"

#include "base/tensor.h"

husk_status husk__where_check_condition(const husk_tensor *condition, const husk_tensor *other,
                                        const husk__scope *scope)
{
    const bool is_number = condition && other && condition->dtype != HUSK_U8;
    return husk__tensor_check_plain(condition, is_number ? other->dtype : HUSK_U8, "condition", scope);
}
