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
    if (has_range && (generator->a < least || generator->b > most))
        return bench_explain(reason, BENCH_REASON_TEXT, "%s holds %g to %g", bench_element_name(buffer->element), least,
                             most);
    return true;
}
