// SPDX-License-Identifier: MIT
#include "cases/case.h"

#include <string.h>

#include "common/digest.h"

static const char *const op_names[] = {
#define OP_NAME(lower, upper) #lower,
    BENCH_OP_LIST(OP_NAME)
#undef OP_NAME
};

const char *bench_op_text(bench_op_kind op)
{
    return (size_t)op < BENCH_OP_COUNT ? op_names[op] : NULL;
}

double bench_case_element(const bench_case *c)
{
    return (double)husk_dtype_size(c->dtype);
}

uint64_t bench_case_seed(const bench_case *c)
{
    uint64_t hash = BENCH_DIGEST_EMPTY;
    const char *word = c->canonical;
    while (*word) {
        size_t length = strcspn(word, " ");
        if (strncmp(word, "packed=", 7))
            hash = bench_digest_add(bench_digest_add(hash, word, length), " ", 1);
        word += length + (word[length] == ' ');
    }
    return hash;
}
