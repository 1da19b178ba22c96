/* SPDX-License-Identifier: MIT */
/* bench/spec/words.h: the words of expressions, which nothing else may be called by. */
#ifndef BENCH_SPEC_WORDS_H
#define BENCH_SPEC_WORDS_H

#include <stdbool.h>

typedef enum bench_reduction {
    BENCH_SUM,
    BENCH_PRODUCT,
    BENCH_LEAST,
    BENCH_MOST,
    BENCH_REDUCTIONS /* how many there are */
} bench_reduction;

/* "sum", "product", "min" or "max"; BENCH_REDUCTIONS: none of them. */
bench_reduction bench_reduction_find(const char *name);

/* Whether the name is a function's, a type's or another word. */
bool bench_word_is_reserved(const char *name);

#endif
