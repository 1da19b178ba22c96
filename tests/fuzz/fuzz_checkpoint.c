// SPDX-License-Identifier: MIT
// A number of a checkpoint's metadata: what is taken is digits alone, and is written as the same ones.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fuzz.h"
#include "train/files/checkpoint.h"

void fuzz_target(const char *text, size_t size)
{
    static const char most[] = "18446744073709551615";
    uint64_t number = 0;
    char written[32];
    (void)size;
    const bool is_taken = husk__checkpoint_number(text, &number);
    const char *digits = text + strspn(text, "0");
    const size_t length = strlen(digits);
    const bool is_number = *text && !text[strspn(text, "0123456789")] &&
                           (length < strlen(most) || (length == strlen(most) && strcmp(digits, most) <= 0));
    fuzz_expect(is_taken == is_number, "\"%s\" is%s taken", text, is_taken ? "" : " not");
    if (!is_taken)
        return;
    snprintf(written, sizeof written, "%" PRIu64, number);
    fuzz_expect(!strcmp(written, *digits ? digits : "0"), "\"%s\" is written as %s", text, written);
}
