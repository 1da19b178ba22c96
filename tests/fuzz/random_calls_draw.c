// SPDX-License-Identifier: MIT
// Every key of an operator's table takes part, so that a new operator or option is drawn without a line here.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/ops.h"
#include "cases/size.h"
#include "random_calls.h"
#include "support/generate.h"

#define MOST_FLOPS 4e6 // of one call: the reference is a plain loop
#define MOST_BYTES 2e6
enum { TRIES = 200 };

static void add_word(call *k, const char *key, const char *value)
{
    if (k->count < CALL_WORDS)
        snprintf(k->words[k->count++], CALL_WORD, "%.24s=%.36s", key, value);
}

static bool is_given(const call *k, const char *key)
{
    const size_t length = strlen(key);
    for (size_t i = 1; i < k->count; i++)
        if (!strncmp(k->words[i], key, length) && k->words[i][length] == '=')
            return true;
    return false;
}

static void draw_choice(const bench_field *field, husk_ref_random *random, call *k)
{
    int64_t count = 0;
    while (field->choices[count].text)
        count++;
    add_word(k, field->key, field->choices[husk_ref_random_below(random, count)].text);
}

bool call_draw_options(const bench_op *op, const char *dir, husk_ref_random *random, call *k)
{
    const bench_field *field;
    snprintf(k->words[0], CALL_WORD, "%s", op->name);
    k->count = 1;
    if (dir)
        add_word(k, "dir", dir);
    for (size_t i = 0; (field = bench_field_get(op, i)); i++)
        if (field->type == BENCH_FIELD_CHOICE && !is_given(k, field->key) &&
            (field->required || test_one_in(random, 3)))
            draw_choice(field, random, k);
    return true;
}

// ---- sizes ----

static void draw_integer(const bench_field *field, husk_ref_random *random, const call *k, char *value, size_t size)
{
    const int64_t limit = TEST_PICK(random, 4, 4, 8, 20, 40, 80, 300);
    const int64_t tile = TEST_PICK(random, 4, 8, 16, 32);
    int64_t number = test_pick_size(random, tile, limit);
    const char *other = strchr(k->words[husk_ref_random_below(random, (int64_t)k->count)], '=');
    if (other && other[1] >= '1' && other[1] <= '9' && test_one_in(random, 5)) // as many groups as channels
        number = strtoll(other + 1, NULL, 10);
    if (number < field->minimum || (field->minimum == 0 && test_one_in(random, 40)))
        number = field->minimum;
    snprintf(value, size, "%" PRId64, number);
}

// One number, or as many as space may have; small ones, as windows, strides and pads are.
static void draw_list(const bench_field *field, husk_ref_random *random, char *value, size_t size)
{
    const int64_t count = test_one_in(random, 3) ? 1 + husk_ref_random_below(random, 3) : 1;
    int used = 0;
    for (int64_t i = 0; i < count; i++)
        used += snprintf(value + used, size - (size_t)used, "%s%" PRId64, i ? "x" : "",
                         field->minimum + husk_ref_random_below(random, 4));
}

static void draw_field(const bench_field *field, husk_ref_random *random, call *k)
{
    static const char *const reals[] = {"0", "1", "-1", "0.5", "-2", "0.1", "3.5", "1e-3", "0.9"};
    char value[40], end[40], both[40];
    switch (field->type) {
    case BENCH_FIELD_INTEGER:
        draw_integer(field, random, k, value, sizeof value);
        break;
    case BENCH_FIELD_REAL:
        snprintf(value, sizeof value, "%s",
                 reals[husk_ref_random_below(random, (int64_t)(sizeof reals / sizeof *reals))]);
        break;
    case BENCH_FIELD_LIST:
        draw_list(field, random, value, sizeof value);
        break;
    case BENCH_FIELD_PAD:
        draw_list(field, random, value, 18);
        draw_list(field, random, end, 18);
        snprintf(both, sizeof both, "%.18s:%.18s", value, end);
        snprintf(value, sizeof value, "%s", test_one_in(random, 3) ? both : value);
        break;
    case BENCH_FIELD_CHOICE:
        return;
    }
    add_word(k, field->key, value);
}

static bool is_small(const bench_case *c)
{
    return bench_case_flops(c) <= MOST_FLOPS && bench_case_operands(c) <= MOST_BYTES;
}

bool call_draw_sizes(const bench_op *op, husk_ref_random *random, const call *options, call *k, bench_case *c)
{
    for (int i = 0; i < TRIES; i++) {
        const bench_field *field;
        const int64_t given = TEST_PICK(random, 1, 3, 5); // of six keys that may be left out
        *k = *options;
        for (size_t f = 0; (field = bench_field_get(op, f)); f++)
            if (!is_given(k, field->key) && (field->required || husk_ref_random_below(random, 6) < given))
                draw_field(field, random, k);
        if (call_parse(k, c) && is_small(c))
            return true;
    }
    return false;
}

// ---- forms ----

size_t call_draw_forms(const bench_case *c, husk_ref_random *random, char forms[CALL_FORMS][CALL_FORM])
{
    const char *row = bench_op_row(c), *name;
    size_t count = 1, variants = 0;
    forms[0][0] = '\0';
    while (row && husk_op_variant(row, variants))
        variants++;
    for (size_t i = 1; i < CALL_FORMS && variants; i++) {
        size_t menu = 0;
        name = husk_op_variant(row, (size_t)husk_ref_random_below(random, (int64_t)variants));
        while (husk_op_configuration(row, name, menu))
            menu++;
        if (menu && test_one_in(random, 2))
            snprintf(forms[count++], CALL_FORM, "%s:%s", name,
                     husk_op_configuration(row, name, (size_t)husk_ref_random_below(random, (int64_t)menu)));
        else
            snprintf(forms[count++], CALL_FORM, "%s", name);
    }
    return count;
}
