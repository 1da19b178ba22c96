// SPDX-License-Identifier: MIT
#include "spec/generator.h"

#include <math.h>

bool bench_generator_check(const bench_buffer *buffer, const bench_generator *generator, char reason[BENCH_REASON_TEXT])
{
    const bool is_real = bench_element_is_real(buffer->element);
    const double least =
                     is_real ? -bench_element_largest(buffer->element) : (double)bench_element_least(buffer->element),
                 most = is_real ? bench_element_largest(buffer->element) : (double)bench_element_most(buffer->element);
    const bool has_range = generator->filling == BENCH_FILL_UNIFORM || generator->filling == BENCH_FILL_INTEGERS;
    const bool is_whole = generator->a == floor(generator->a) && generator->b == floor(generator->b);
    if (has_range && generator->a > generator->b)
        return bench_explain(reason, BENCH_REASON_TEXT, "the first number is above the second: %g and %g", generator->a,
                             generator->b);
    if (generator->filling == BENCH_FILL_INTEGERS && !is_whole)
        return bench_explain(reason, BENCH_REASON_TEXT, "integers(a, b) wants whole numbers");
    const bool is_constant = generator->filling == BENCH_FILL_CONSTANT;
    if (is_constant && !is_real && generator->a != floor(generator->a))
        return bench_explain(reason, BENCH_REASON_TEXT, "%s has whole numbers", bench_element_name(buffer->element));
    if (has_range && !isfinite(generator->b - generator->a))
        return bench_explain(reason, BENCH_REASON_TEXT, "the numbers are too far apart");
    if ((has_range && (generator->a < least || generator->b > most)) ||
        (is_constant && (generator->a < least || generator->a > most)))
        return bench_explain(reason, BENCH_REASON_TEXT, "%s holds %g to %g", bench_element_name(buffer->element), least,
                             most);
    return true;
}
