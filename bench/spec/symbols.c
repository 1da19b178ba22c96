// SPDX-License-Identifier: MIT
#include "spec/symbols.h"

#include <stdio.h>
#include <string.h>

#include "spec/words.h"

int bench_symbols_find(const bench_symbols *symbols, const char *name)
{
    for (int i = symbols->count - 1; i >= 0; i--) {
        if (!strcmp(symbols->items[i].name, name))
            return i;
    }
    return -1;
}

int bench_symbols_add(bench_symbols *symbols, bench_scan *scan, int column, const bench_symbol *symbol)
{
    if (bench_symbols_find(symbols, symbol->name) >= 0)
        bench_scan_fail(scan, column, "%s is in use already", symbol->name);
    else if (bench_word_is_reserved(symbol->name))
        bench_scan_fail(scan, column, "%s is a word of expressions and can be no name", symbol->name);
    else if (symbols->count == BENCH_MOST_SYMBOLS)
        bench_scan_fail(scan, column, "one name too many: a kernel has at most %d", BENCH_MOST_SYMBOLS);
    else
        symbols->items[symbols->count++] = *symbol;
    return scan->has_failed ? -1 : symbols->count - 1;
}
