/* SPDX-License-Identifier: MIT */
/*
 * fuzz/fuzz.h: what the targets share. A target is a file fuzz_NAME.c with one function; libFuzzer calls it, or
 * fuzz/replay.c where there is none. Seeds and what was found lie in seeds/NAME, words worth trying in NAME.dict.
 */
#ifndef HUSK_TESTS_FUZZ_H
#define HUSK_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text.h"

/*
 * The target. A zero stands behind the text, and then nothing: AddressSanitizer sees who reads on. The text may have
 * zeros of its own.
 */
void fuzz_target(const char *text, size_t size);

/* Ends the program with the sentence unless the condition holds. */
void fuzz_expect(bool condition, const char *format, ...) BENCH_PRINTF(2, 3);

/* A refusal was explained: there is a text, and it ends within its capacity. */
void fuzz_expect_reason(const char *reason, size_t capacity);
/* A terminal takes nothing in it as a command. */
void fuzz_expect_clean(const char *text);

/* libFuzzer's entry: defined in fuzz.c, called by whoever drives. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
