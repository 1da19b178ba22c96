// SPDX-License-Identifier: MIT
#include "spec/words.h"

#include <stddef.h>
#include <string.h>

#include "spec/element.h"
#include "spec/function.h"

bench_reduction bench_reduction_find(const char *name)
{
    static const char *const names[] = {
        [BENCH_SUM] = "sum", [BENCH_PRODUCT] = "product", [BENCH_LEAST] = "min", [BENCH_MOST] = "max"};
    for (int i = 0; i < BENCH_REDUCTIONS; i++) {
        if (!strcmp(names[i], name))
            return (bench_reduction)i;
    }
    return BENCH_REDUCTIONS;
}

bool bench_word_is_reserved(const char *name)
{
    static const char *const words[] = {"for", "let"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strcmp(words[i], name))
            return true;
    }
    return bench_function_find(name) || bench_reduction_find(name) != BENCH_REDUCTIONS ||
           bench_element_find(name) != BENCH_ELEMENTS;
}
