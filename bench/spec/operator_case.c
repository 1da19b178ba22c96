// SPDX-License-Identifier: MIT
#include "spec/operator_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool bench_kernel_case(bench_point *point, const bench_expectation *expectation, char *line, size_t size,
                       char reason[BENCH_REASON_TEXT])
{
    snprintf(line, size, "%s", expectation->op);
    for (int i = 0; i < expectation->key_count; i++) {
        const bench_operand_of *key = &expectation->keys[i];
        if (key->buffer >= 0)
            continue;
        if (key->word[0]) {
            bench_append(line, size, " %s=%s", key->key, key->word);
        } else if (bench_expression_root(&key->value)->is_integer) {
            int64_t value = 0;
            if (!bench_point_integer(point, &key->value, &value, reason))
                return false;
            bench_append(line, size, " %s=%" PRId64, key->key, value);
        } else {
            double value = 0;
            char text[40];
            if (!bench_point_real(point, &key->value, &value, reason))
                return false;
            bench_format_real(value, text, sizeof text);
            bench_append(line, size, " %s=%s", key->key, text);
        }
    }
    return strlen(line) + 1 < size || bench_explain(reason, BENCH_REASON_TEXT, "the operator's case is too long");
}

const bench_expectation *bench_spec_operator(const bench_spec *spec)
{
    for (int i = 0; i < spec->expectation_count; i++) {
        if (spec->expectations[i].by == BENCH_BY_OPERATOR)
            return &spec->expectations[i];
    }
    return NULL;
}
