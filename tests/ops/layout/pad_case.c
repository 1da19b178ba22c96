// SPDX-License-Identifier: MIT
#include "pad_case.h"

#include <stdio.h>

// Of mirrors less than n, of circles at most n; what is cut off leaves something.
static int64_t draw_width(husk_ref_random *random, husk_pad_mode mode, int64_t n)
{
    const int64_t most = mode == HUSK_PAD_REFLECT ? n - 1 : mode == HUSK_PAD_CIRCULAR ? n : n + 3;
    if (test_one_in(random, 3))
        return 0;
    if (test_one_in(random, 4))
        return n > 2 ? -husk_ref_random_below(random, n / 3 + 1) : 0;
    return husk_ref_random_below(random, (most > 40 && !test_one_in(random, 4) ? 5 : most) + 1);
}

pad_case pad_case_draw(husk_ref_random *random, husk_pad_mode mode, int64_t largest)
{
    pad_case c = {.rank = (int32_t)TEST_PICK(random, 1, 2, 2, 3, 3, 4, 4, 5, 8)};
    c.params = HUSK_PAD_PARAMS(.mode = mode, .value = mode == HUSK_PAD_CONSTANT ? 2.5 : 0.0);
    size_t used = (size_t)snprintf(c.text, sizeof(c.text), "mode %d:", (int)mode);
    for (int32_t d = 0; d < c.rank; d++) {
        c.x[d] = test_pick_size(random, 16,
                                c.rank == 1       ? 10 * largest
                                : d + 1 == c.rank ? largest
                                : c.rank < 4      ? 14
                                : c.rank < 6      ? 6
                                                  : 3);
        c.params.before[d] = draw_width(random, mode, c.x[d]);
        c.params.after[d] = draw_width(random, mode, c.x[d]);
        c.y[d] = c.x[d] + c.params.before[d] + c.params.after[d];
        used += (size_t)snprintf(c.text + used, sizeof(c.text) - used, " %lld%+lld%+lld", (long long)c.x[d],
                                 (long long)c.params.before[d], (long long)c.params.after[d]);
    }
    c.x_layout = test_pick_layout(random);
    c.y_layout = test_one_in(random, 2) ? c.x_layout : test_pick_layout(random);
    return c;
}
