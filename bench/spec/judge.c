// SPDX-License-Identifier: MIT
#include "spec/judge.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref/check.h"
#include "ref/random.h"

enum { MOST_RANDOM_SAMPLES = 4096, LEAST_RANDOM_SAMPLES = 256, LARGEST_COVER = 1 << 26, LARGEST_SEEN = 1 << 16 };

// Operations of this evaluator that a multiply-add of the reference's takes the time of, about.
#define STEPS_PER_MULTIPLY_ADD 0.5

void bench_judgement_begin(bench_judgement *judgement)
{
    *judgement = (bench_judgement){.is_right = true};
}

// ---- how far a result may be off ----

// The distance between neighbouring numbers there.
static double ulp(bench_element element, double value)
{
    const double magnitude = fabs(value), smallest = bench_element_smallest(element);
    int exponent = 0;
    if (!isfinite(value))
        return 0;
    frexp(magnitude < smallest ? smallest : magnitude, &exponent);
    return ldexp(1, exponent - bench_element_precision(element));
}

static bool is_stored_exactly(bench_element element, double value)
{
    char cell[8];
    bench_element_store(element, cell, 0, value);
    return bench_element_load(element, cell, 0) == value;
}

double bench_tolerance_of(const bench_expectation *expectation, bench_element element, double value, double error)
{
    switch (expectation->tolerance) {
    case BENCH_WITHIN_ULPS:
        // A denormal may have been flushed.
        return expectation->limit * ulp(element, value) +
               (fabs(value) < bench_element_smallest(element) ? bench_element_smallest(element) : 0);
    case BENCH_WITHIN_ABSOLUTE:
        return expectation->limit;
    case BENCH_WITHIN_RELATIVE:
        return expectation->limit * fabs(value);
    case BENCH_WITHIN_NOTHING:
        return 0;
    default:
        break;
    }
    // What was computed in a wider type is rounded once more when it is stored.
    if (bench_element_is_real(element) && isfinite(value) && (expectation->computed_in != element || error > 0) &&
        !is_stored_exactly(element, value)) {
        if (expectation->computed_in != element)
            error += ulp(element, fabs(value) + error);
    }
    return error;
}

void bench_tolerance_text(const bench_expectation *expectation, bench_element element, char text[80])
{
    const char *type = bench_element_name(expectation->computed_in);
    switch (expectation->tolerance) {
    case BENCH_WITHIN_ULPS:
        snprintf(text, 80, "within %g ulp", expectation->limit);
        break;
    case BENCH_WITHIN_ABSOLUTE:
        snprintf(text, 80, "within %g", expectation->limit);
        break;
    case BENCH_WITHIN_RELATIVE:
        snprintf(text, 80, "within %g relative", expectation->limit);
        break;
    case BENCH_WITHIN_NOTHING:
        snprintf(text, 80, "exactly");
        break;
    case BENCH_WITHIN_WORST:
        snprintf(text, 80, "derived for %s, worst case", type);
        break;
    default:
        if (bench_element_is_real(element))
            snprintf(text, 80, "derived for %s", type);
        else
            snprintf(text, 80, "exactly");
        break;
    }
}

// ---- one element ----

// Same numbers: of NaN any, of zeros either sign.
static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

bool bench_judge_real(bench_judgement *judgement, const char *name, double expected, double bound, double actual)
{
    const double error = is_same(expected, actual) ? 0 : fabs(actual - expected);
    const bool is_finite = isfinite(expected) && isfinite(actual);
    const bool is_right = error == 0 || (is_finite && error <= bound);
    const double ratio = error == 0 ? 0 : is_finite && bound > 0 ? error / bound : INFINITY;
    judgement->checked++;
    if (ratio > judgement->max_ratio || (ratio == judgement->max_ratio && error > judgement->max_error)) {
        judgement->max_ratio = ratio;
        judgement->max_error = error;
        judgement->bound = bound;
    }
    if (!is_right && judgement->wrong++ == 0) {
        judgement->is_right = false;
        if (bound > 0 && is_finite)
            snprintf(judgement->text, sizeof judgement->text, "%.200s is %.9g, and %.9g is right, give or take %.2g",
                     name, actual, expected, bound);
        else
            snprintf(judgement->text, sizeof judgement->text, "%.200s is %.9g, and %.9g is right", name, actual,
                     expected);
    }
    return is_right;
}

bool bench_judge_integer(bench_judgement *judgement, const char *name, int64_t expected, int64_t most_off,
                         int64_t actual)
{
    // As doubles, neighbours among large numbers are the same.
    const uint64_t off =
        actual > expected ? (uint64_t)actual - (uint64_t)expected : (uint64_t)expected - (uint64_t)actual;
    const double error = (double)off;
    const bool is_right = off <= (uint64_t)most_off;
    judgement->checked++;
    if (!is_right)
        judgement->max_ratio = INFINITY;
    if (error > judgement->max_error) {
        judgement->max_error = error;
        judgement->bound = (double)most_off;
    }
    if (!is_right && judgement->wrong++ == 0) {
        judgement->is_right = false;
        snprintf(judgement->text, sizeof judgement->text, "%.200s is %" PRId64 ", and %" PRId64 " is right", name,
                 actual, expected);
    }
    return is_right;
}

// The first wrong element is said: where it holds the poison that was there before the run, that is what it lacks.
static void tell_unwritten(const bench_buffer *buffer, const bench_contents *contents, int64_t at, const char *name,
                           bench_judgement *judgement)
{
    const size_t bytes = bench_element_bytes(buffer->element), from = (size_t)at * bytes;
    if (judgement->wrong == 1 && buffer->generator.filling == BENCH_FILL_POISON &&
        !memcmp((const char *)contents->before + from, (const char *)contents->after + from, bytes))
        snprintf(judgement->text, sizeof judgement->text,
                 "%.200s was not written: it holds what it held before the run", name);
}

// ---- formulas ----

typedef struct judging {
    bench_point *point;
    const bench_expectation *expectation;
    const bench_contents *contents;
    bench_evaluation evaluation; /* of the formula: in the type that the kernel computes in */
    bench_element element;
    int64_t count; /* elements of the buffer */
    int64_t extents[BENCH_MOST_RANGES];
    int64_t total;
    unsigned char *touched;
    bool is_plain; /* y[i], of all of y */
    bool has_nan;  /* somewhere, rightly */
    double sure, vague; /* elements whose expected value is farther from zero than its bound, and others */
    double operations; /* that this has taken: point->most_operations are enough */
    unsigned char *seen; /* samples: elements that were compared; NULL: there are too many to remember */
    bench_judgement *judgement;
} judging;

static void give_up(judging *j, const char *reason)
{
    j->judgement->is_right = false;
    j->judgement->is_mistake = true;
    j->judgement->wrong = j->judgement->wrong ? j->judgement->wrong : 1;
    snprintf(j->judgement->text, sizeof j->judgement->text, "%s", reason);
}

static void set_indices(judging *j, int64_t at)
{
    for (int i = j->expectation->range_count - 1; i >= 0; i--) {
        j->point->bindings[j->expectation->ranges[i].symbol].integer = at % j->extents[i];
        at /= j->extents[i];
    }
}

// "i=3 j=4", behind what was found at these indices.
static void say_indices(const judging *j, char *text, size_t size)
{
    text[0] = '\0';
    for (int i = 0; i < j->expectation->range_count; i++)
        bench_append(text, size, "%sindex %d is %" PRId64, i ? ", " : "", i + 1,
                     j->point->bindings[j->expectation->ranges[i].symbol].integer);
}

static int64_t position_of(judging *j)
{
    int64_t at = 0;
    char reason[BENCH_REASON_TEXT], indices[200];
    const bool is_known = bench_point_integer(j->point, &j->expectation->subscript, &at, reason);
    j->operations += j->point->evaluation.steps;
    if (!is_known) {
        give_up(j, reason);
        return -1;
    }
    if (at >= 0 && at < j->count)
        return at;
    say_indices(j, indices, sizeof indices);
    snprintf(reason, sizeof reason,
             "%.200s:%d: the expectation is of element %" PRId64 ", and the buffer has %" PRId64 " (%.200s)",
             j->expectation->subscript.file, j->expectation->line, at, j->count, indices);
    give_up(j, reason);
    return -1;
}

static const bench_buffer *buffer_of(const judging *j)
{
    return &j->point->spec->buffers[j->expectation->buffer];
}

static void name_element(const judging *j, int64_t at, char *text, size_t size)
{
    snprintf(text, size, "%s[%" PRId64 "]", j->point->spec->symbols.items[buffer_of(j)->symbol].name, at);
}

// Of whole numbers: those between have no meaning, and larger ones than these are anything.
static int64_t most_off(const bench_expectation *expectation, int64_t expected)
{
    const double bound = expectation->tolerance == BENCH_WITHIN_ABSOLUTE   ? expectation->limit
                         : expectation->tolerance == BENCH_WITHIN_RELATIVE ? expectation->limit * fabs((double)expected)
                                                                           : 0;
    return bound < 0x1p62 ? (int64_t)bound : INT64_MAX;
}

static bool judge_whole(judging *j, int64_t at)
{
    const int64_t expected = bench_evaluate_integer(&j->evaluation, &j->expectation->formula);
    char name[120];
    if (j->evaluation.has_failed) {
        give_up(j, j->evaluation.reason);
        return false;
    }
    name_element(j, at, name, sizeof name);
    const bool fits = expected >= bench_element_least(j->element) && expected <= bench_element_most(j->element);
    if (!fits && j->element != BENCH_ELEMENT_ULONG) {
        char reason[BENCH_REASON_TEXT];
        snprintf(reason, sizeof reason,
                 "%.200s:%d: %s should be %" PRId64 ", which %s does not hold: write %s(...) where "
                 "it wraps around",
                 j->expectation->formula.file, j->expectation->line, name, expected, bench_element_name(j->element),
                 bench_element_name(j->element));
        give_up(j, reason);
        return false;
    }
    if (!bench_judge_integer(j->judgement, name, expected, most_off(j->expectation, expected),
                             bench_element_integer(j->element, j->contents->after, at)))
        tell_unwritten(buffer_of(j), j->contents, at, name, j->judgement);
    j->sure++;
    return true;
}

static bool judge_one(judging *j, int64_t at)
{
    if (!bench_element_is_real(j->element))
        return judge_whole(j, at);
    const bench_value value = bench_evaluate(&j->evaluation, &j->expectation->formula);
    if (j->evaluation.has_failed) {
        give_up(j, j->evaluation.reason);
        return false;
    }
    char name[120];
    const double bound = bench_tolerance_of(j->expectation, j->element, value.value, value.error);
    double actual = bench_element_load(j->element, j->contents->after, at), expected = value.value;
    // What is past the type's range, or may be, may have become infinite.
    const double largest = bench_element_largest(j->element);
    if (isinf(actual) && isfinite(expected) && fabs(expected) + bound > largest && (actual > 0) == (expected > 0))
        expected = actual;
    name_element(j, at, name, sizeof name);
    if (!bench_judge_real(j->judgement, name, expected, bound, actual))
        tell_unwritten(buffer_of(j), j->contents, at, name, j->judgement);
    j->has_nan = j->has_nan || isnan(expected);
    if (bound > 0 && !(fabs(expected) > bound))
        j->vague++;
    else
        j->sure++;
    return true;
}

// False: it is in vain to go on, and the judgement says why.
static bool judge_at(judging *j, int64_t index)
{
    if (j->seen && j->seen[index])
        return true;
    set_indices(j, index);
    const int64_t at = position_of(j);
    j->evaluation.steps = 0;
    const bool goes_on = at >= 0 && judge_one(j, at);
    j->operations += j->evaluation.steps;
    if (j->seen)
        j->seen[index] = 1;
    return goes_on;
}

static bool has_time(const judging *j)
{
    return j->operations < j->point->most_operations;
}

// ---- which elements ----

static bool find_extents(judging *j)
{
    char reason[BENCH_REASON_TEXT];
    j->total = 1;
    for (int i = 0; i < j->expectation->range_count; i++) {
        const bench_range *range = &j->expectation->ranges[i];
        j->extents[i] = j->count;
        if (range->end.root >= 0 && !bench_point_integer(j->point, &range->end, &j->extents[i], reason)) {
            give_up(j, reason);
            return false;
        }
        if (j->extents[i] < 1) {
            j->total = 0;
            return true;
        }
        if (j->extents[i] > ((int64_t)1 << 40) / j->total) {
            give_up(j, "the expectation has too many indices");
            return false;
        }
        j->total *= j->extents[i];
    }
    return true;
}

// Operations an element takes, about: the most of the first, the middle and the last one.
static double cost_of(judging *j)
{
    double most = 1;
    const int64_t places[] = {0, j->total / 2, j->total - 1};
    for (int i = 0; i < 3 && !j->evaluation.has_failed; i++) {
        if (i > 0 && places[i] == places[i - 1])
            continue;
        set_indices(j, places[i]);
        j->evaluation.steps = 0;
        bench_evaluate(&j->evaluation, &j->expectation->formula);
        most = j->evaluation.steps > most ? j->evaluation.steps : most;
    }
    return most;
}

// A place beside a multiple of a number that kernels divide their work by.
static int64_t draw_edge(const judging *j, husk_ref_random *random, int64_t extent)
{
    const bench_spec *spec = j->point->spec;
    const int64_t which = husk_ref_random_below(random, 8 + spec->config_count);
    int64_t tile = (int64_t)1 << (which < 8 ? which + 1 : 1);
    if (which >= 8)
        tile = j->point->bindings[spec->configs[which - 8].symbol].integer;
    tile = tile < 1 ? 1 : tile;
    const int64_t multiple = husk_ref_random_below(random, extent / tile + 1) * tile;
    const int64_t place = multiple + husk_ref_random_below(random, 3) - 1;
    return place < 0 ? 0 : place >= extent ? extent - 1 : place;
}

// Whether nothing was wrong with evaluating them. What takes long is compared at fewer places, at one at least.
static bool judge_samples(judging *j, uint64_t seed, double affordable)
{
    husk_ref_random random = {.seed = seed};
    const int ranges = j->expectation->range_count;
    const int random_samples = affordable > MOST_RANDOM_SAMPLES    ? MOST_RANDOM_SAMPLES
                               : affordable < LEAST_RANDOM_SAMPLES ? LEAST_RANDOM_SAMPLES
                                                                   : (int)affordable;
    for (int64_t corner = 0; corner < (int64_t)1 << (2 * ranges) && has_time(j); corner++) {
        int64_t at = 0;
        for (int i = 0; i < ranges; i++) {
            const int64_t extent = j->extents[i], which = corner >> 2 * i & 3;
            const int64_t place = which == 0 ? 0 : which == 1 ? 1 : which == 2 ? extent - 2 : extent - 1;
            at = at * extent + (place < 0 ? 0 : place >= extent ? extent - 1 : place);
        }
        if (!judge_at(j, at))
            return false;
    }
    for (int sample = 0; sample < random_samples / 4 && has_time(j); sample++) {
        int64_t at = 0;
        for (int i = 0; i < ranges; i++)
            at = at * j->extents[i] + draw_edge(j, &random, j->extents[i]);
        if (!judge_at(j, at))
            return false;
    }
    for (int sample = 0; sample < random_samples && has_time(j); sample++) {
        if (!judge_at(j, husk_ref_random_below(&random, j->total)))
            return false;
    }
    return true;
}

// Beyond samples: what is NaN was not written, or is wrong.
static void find_nan(judging *j)
{
    char name[120];
    if (j->has_nan || !bench_element_is_real(j->element))
        return;
    for (int64_t i = 0; i < j->count; i++) {
        const bool was_nan = isnan(bench_element_load(j->element, j->contents->before, i));
        if (!isnan(bench_element_load(j->element, j->contents->after, i)) || (was_nan && j->touched && !j->touched[i]))
            continue;
        name_element(j, i, name, sizeof name);
        j->judgement->is_right = false;
        j->judgement->wrong++;
        snprintf(j->judgement->text, sizeof j->judgement->text, "%s is NaN, or was not written", name);
        return;
    }
}

// Whole numbers have no NaN: what holds the pattern that was there before may be right, and is compared.
static void find_unwritten(judging *j)
{
    const bench_buffer *buffer = &j->point->spec->buffers[j->expectation->buffer];
    const size_t bytes = bench_element_bytes(j->element);
    const char *before = j->contents->before, *after = j->contents->after;
    int left = MOST_RANDOM_SAMPLES;
    if (bench_element_is_real(j->element) || !j->is_plain || buffer->generator.filling != BENCH_FILL_POISON)
        return;
    for (int64_t i = 0; i < j->count && left > 0 && has_time(j); i++) {
        if (memcmp(before + (size_t)i * bytes, after + (size_t)i * bytes, bytes) != 0)
            continue;
        left--;
        if (!judge_at(j, i))
            return;
    }
}

// Marks what the expectation is of. False: an index is outside, or there are too many to look at each.
static bool cover(judging *j, bool *all)
{
    const bench_node *root = bench_expression_root(&j->expectation->subscript);
    const bool is_plain = j->expectation->range_count == 1 && root->kind == BENCH_NODE_SYMBOL &&
                          root->symbol == j->expectation->ranges[0].symbol && j->total == j->count;
    *all = j->is_plain = is_plain;
    if (is_plain && j->touched)
        memset(j->touched, 1, (size_t)j->count);
    if (is_plain || !j->touched)
        return true;
    for (int64_t i = 0; i < j->total; i++) {
        if (j->total > LARGEST_COVER || !has_time(j)) {
            *all = true; // nobody can tell
            break;
        }
        set_indices(j, i);
        const int64_t at = position_of(j);
        if (at < 0)
            return false;
        j->touched[at] = 1;
    }
    j->operations = 0;
    return true;
}

static void judge_all(judging *j, uint64_t seed)
{
    const double cost = cost_of(j);
    if (j->evaluation.has_failed) {
        give_up(j, j->evaluation.reason);
        return;
    }
    const double most = HUSK_REF_COMPLETE_COST * STEPS_PER_MULTIPLY_ADD;
    bool is_complete = (double)j->total * cost <= most, goes_on = true;
    for (int64_t i = 0; i < j->total && goes_on && is_complete; i++) {
        goes_on = judge_at(j, i);
        is_complete = has_time(j) || i + 1 == j->total;
    }
    if (is_complete || !goes_on)
        return;
    j->seen = j->total <= LARGEST_SEEN ? calloc((size_t)j->total, 1) : NULL;
    if (judge_samples(j, seed, most / cost)) {
        find_nan(j);
        find_unwritten(j);
    }
    free(j->seen);
}

void bench_judge_formula(bench_point *point, const bench_expectation *expectation, const bench_contents *contents,
                         uint64_t seed, unsigned char *touched, bool *all, bench_judgement *judgement)
{
    const bench_buffer *buffer = &point->spec->buffers[expectation->buffer];
    judging j = {.point = point,
                 .expectation = expectation,
                 .contents = contents,
                 .element = buffer->element,
                 .count = point->bindings[buffer->symbol].count,
                 .touched = touched,
                 .judgement = judgement};
    bench_evaluation_begin(&j.evaluation, &point->spec->symbols, point->bindings, expectation->computed_in);
    j.evaluation.worst = expectation->tolerance == BENCH_WITHIN_WORST;
    j.evaluation.most_steps = point->most_operations; // of a single element
    bench_tolerance_text(expectation, buffer->element, judgement->by);
    *all = false;
    if (!find_extents(&j) || j.total == 0 || !cover(&j, all))
        return;
    judgement->of += j.total;
    judge_all(&j, seed);
    judgement->is_inconclusive =
        judgement->is_inconclusive || (j.vague >= 16 && j.vague > 3 * j.sure) || (j.sure == 0 && j.vague > 0);
}

void bench_judge_untouched(bench_point *point, int buffer, const bench_contents *contents, const unsigned char *touched,
                           bench_judgement *judgement)
{
    const bench_buffer *b = &point->spec->buffers[buffer];
    const size_t bytes = bench_element_bytes(b->element);
    const int64_t count = point->bindings[b->symbol].count;
    const char *before = contents->before, *after = contents->after;
    for (int64_t i = 0; i < count; i++) {
        if (touched[i] || !memcmp(before + (size_t)i * bytes, after + (size_t)i * bytes, bytes))
            continue;
        if (judgement->is_right)
            snprintf(judgement->text, sizeof judgement->text,
                     "%s[%" PRId64 "] was written, and no expectation is of it",
                     point->spec->symbols.items[b->symbol].name, i);
        judgement->is_right = false;
        judgement->wrong++;
        return;
    }
}

void bench_judge_array(bench_point *point, const bench_expectation *expectation, const void *expected,
                       const bench_contents *contents, bench_judgement *judgement)
{
    const bench_buffer *buffer = &point->spec->buffers[expectation->buffer];
    const int64_t count = point->bindings[buffer->symbol].count;
    bench_tolerance_text(expectation, buffer->element, judgement->by);
    judgement->of += count;
    for (int64_t i = 0; i < count; i++) {
        char name[120];
        bool is_right;
        snprintf(name, sizeof name, "%s[%" PRId64 "]", point->spec->symbols.items[buffer->symbol].name, i);
        if (bench_element_is_real(buffer->element)) {
            const double value = bench_element_load(buffer->element, expected, i);
            is_right =
                bench_judge_real(judgement, name, value, bench_tolerance_of(expectation, buffer->element, value, 0),
                                 bench_element_load(buffer->element, contents->after, i));
        } else {
            const int64_t value = bench_element_integer(buffer->element, expected, i);
            is_right = bench_judge_integer(judgement, name, value, most_off(expectation, value),
                                           bench_element_integer(buffer->element, contents->after, i));
        }
        if (!is_right)
            tell_unwritten(buffer, contents, i, name, judgement);
    }
}

void bench_judgement_end(bench_judgement *judgement)
{
    if (judgement->wrong > 1)
        bench_append(judgement->text, sizeof judgement->text, "; %" PRId64 " of %" PRId64 " compared are wrong",
                     judgement->wrong, judgement->checked);
}
