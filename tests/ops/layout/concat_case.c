// SPDX-License-Identifier: MIT
#include "concat_case.h"

#include <stdio.h>
#include <string.h>

concat_case concat_case_draw(husk_ref_random *random)
{
    concat_case c = {.rank = (int32_t)TEST_PICK(random, 1, 2, 2, 3, 3, 4, 4, 5, 8)};
    const int32_t axis = (int32_t)husk_ref_random_below(random, c.rank);
    const bool is_alike = test_one_in(random, 2);
    c.count = (size_t)TEST_PICK(random, 1, 2, 2, 3, 4, 7, 8, 9, 17, CONCAT_MOST);
    c.axis = test_one_in(random, 2) ? axis : axis - c.rank;
    for (int32_t d = 0; d < c.rank; d++)
        c.whole[d] = test_pick_size(random, 16, c.rank == 1 ? 3000 : c.rank == 2 ? 90 : c.rank < 5 ? 17 : 3);
    c.whole[axis] = 0;
    c.whole_layout = test_pick_layout(random);
    for (size_t i = 0; i < c.count; i++) {
        memcpy(c.parts[i], c.whole, sizeof(c.whole));
        c.parts[i][axis] = test_one_in(random, 8) && c.whole[axis] > 0 ? 0 : test_pick_size(random, 16, 40);
        c.starts[i] = c.whole[axis];
        c.whole[axis] += c.parts[i][axis];
        c.layouts[i] = is_alike ? c.whole_layout : test_pick_layout(random);
    }
    snprintf(c.text, sizeof(c.text), "rank %d, axis %d, %zu parts, %lld along it%s, layout %d", (int)c.rank,
             (int)c.axis, c.count, (long long)c.whole[axis], is_alike ? ", alike" : "", (int)c.whole_layout);
    return c;
}
