// SPDX-License-Identifier: MIT
#include "train/loop/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t husk__state_bits(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

double husk__state_number(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

void husk__state_write(const char *word, const uint64_t *numbers, int count, char text[HUSK_STATE_TEXT])
{
    int used = snprintf(text, HUSK_STATE_TEXT, "%s", word);
    for (int i = 0; i < count; i++)
        used += snprintf(text + used, (size_t)(HUSK_STATE_TEXT - used), " %" PRIx64, numbers[i]);
}

// Up to 16 small hexadecimal digits.
static const char *read_number(const char *at, uint64_t *number)
{
    static const char digits[] = "0123456789abcdef";
    const char *first = at;
    *number = 0;
    for (const char *digit; *at && at < first + 16 && (digit = strchr(digits, *at)); at++)
        *number = *number << 4 | (uint64_t)(digit - digits);
    return at > first ? at : NULL;
}

husk_status husk__state_read(const char *text, const char *word, uint64_t *numbers, int count,
                             const husk__train_scope *scope)
{
    if (!text)
        return husk__train_reject(scope, "text", "it is NULL");
    size_t length = strlen(word);
    const char *at = strncmp(text, word, length) == 0 ? text + length : NULL;
    for (int i = 0; i < count && at; i++)
        at = *at == ' ' ? read_number(at + 1, &numbers[i]) : NULL;
    if (at && *at == 0)
        return HUSK_OK;
    return husk__train_reject(scope, "text", "it is not \"%s\" and %d hexadecimal numbers", word, count);
}

bool husk__is_better(husk_better better, double value, double best, double margin)
{
    return better == HUSK_LESS_IS_BETTER ? value < best - margin : value > best + margin;
}

husk_status husk__check_better(husk_better better, const husk__train_scope *scope)
{
    if (better == HUSK_LESS_IS_BETTER || better == HUSK_MORE_IS_BETTER)
        return HUSK_OK;
    return husk__train_reject(scope, "params", "better is %d; it is 0 for less or 1 for more", (int)better);
}
