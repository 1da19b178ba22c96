// SPDX-License-Identifier: MIT
#include "train/data/order.h"

#include "train/random.h"

int64_t husk__draw(uint64_t seed, const char *purpose, uint64_t epoch, uint64_t index, int64_t limit)
{
    uint32_t words[4];
    husk__train_random(seed, husk__train_hash(purpose) + epoch, index, words);
    const int64_t drawn = (int64_t)(husk__train_uniform(words[0], words[1]) * (double)limit);
    return drawn < limit ? drawn : limit - 1;
}

// Fisher and Yates, Durstenfeld's form.
void husk__order(int64_t *order, int64_t count, uint64_t seed, const char *purpose, uint64_t epoch)
{
    for (int64_t i = 0; i < count; ++i)
        order[i] = i;
    for (int64_t i = count - 1; i > 0; --i) {
        const int64_t j = husk__draw(seed, purpose, epoch, (uint64_t)i, i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}
