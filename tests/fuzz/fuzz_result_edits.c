// SPDX-License-Identifier: MIT
// A result as a document: the input is who is to read it, or that it is written (a byte), and a list of edits of a
// right one, four bytes each: which value, by its number (two bytes), what is done with it, and with what. So the
// checks that a schema cannot say are reached, and all that reads results; JSON's own letters are fuzz_result.c's.
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "readers.h"
#include "record/result_file.h"

enum { MOST_EDITS = 8, BYTES = 4, DEPTH = 256 };

// A value of the document, in the place that holds it.
typedef struct place {
    json_t *parent;
    const char *key; // NULL: an element
    size_t index;
} place;

// How one gets to a value: a step for each level.
typedef struct route {
    place steps[DEPTH];
    size_t length;
} route;

// The number-th value below parent, counted from 0 in the order of the text; false: there are fewer.
static bool find(json_t *parent, size_t *number, size_t depth, route *found)
{
    const char *key = NULL;
    json_t *member;
    fuzz_expect(depth < DEPTH, "a result is %zu levels deep", depth);
    for (size_t i = 0; i < json_array_size(parent); i++) {
        found->steps[depth] = (place){parent, NULL, i};
        found->length = depth + 1;
        if ((*number)-- == 0 || find(json_array_get(parent, i), number, depth + 1, found))
            return true;
    }
    json_object_foreach(parent, key, member)
    {
        found->steps[depth] = (place){parent, key, 0};
        found->length = depth + 1;
        if ((*number)-- == 0 || find(member, number, depth + 1, found))
            return true;
    }
    return false;
}

static size_t count_values(json_t *parent)
{
    const char *key;
    json_t *member;
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(parent); i++)
        count += 1 + count_values(json_array_get(parent, i));
    json_object_foreach(parent, key, member) count += 1 + count_values(member);
    return count;
}

static json_t *get(const place *p)
{
    return p->key ? json_object_get(p->parent, p->key) : json_array_get(p->parent, p->index);
}

static void set(const place *p, json_t *value)
{
    if (p->key)
        json_object_set_new(p->parent, p->key, value);
    else
        json_array_set_new(p->parent, p->index, value);
}

// The document shares its values with the one that it was made of, and perhaps some with each other: what lies on the
// way to one that is changed becomes its own, level by level.
static bool find_own(json_t *document, size_t number, place *found)
{
    static route way;
    if (!find(document, &number, 0, &way))
        return false;
    json_t *parent = document;
    for (size_t i = 0; i < way.length; i++) {
        *found = way.steps[i];
        found->parent = parent;
        if (i + 1 < way.length) {
            if (get(found)->refcount > 1)
                set(found, json_copy(get(found)));
            parent = get(found);
        }
    }
    return true;
}

static json_t *value_of(unsigned char which)
{
    static const double numbers[] = {
        0, 1, -1, 2, 0.5, 1e-300, 1e300, 9007199254740993.0, 1e18, 1.0001, 1000, 4294967296, 123456.75, 1e-9, 30, -0.0,
    };
    static const char *const texts[] = {
        "",        "ok",   "failed", "error",     "timeout",          "unsupported",          "warm", "cold",
        "\033[2J", "fast", "<b>&\"", "clbench/2", "gemm m=1 n=1 k=1", "2026-11-22T02:23:00Z", "conv", "0",
    };
    switch (which >> 5) {
    case 0:
        return json_null();
    case 1:
        return json_boolean(which & 1);
    case 2:
        return json_integer((json_int_t)(which & 31) - 8);
    case 3:
        return json_integer(((json_int_t)1 << (which & 31) << (which & 31)) - 1);
    case 4:
        return json_array();
    case 5:
        return json_object();
    case 6:
        return json_real(numbers[which & 15]);
    default:
        return json_string(texts[which & 15]);
    }
}

static void scale(const place *p, unsigned char by)
{
    static const double factors[] = {-1,   0,     0.5,   0.999,  1.001, 2, 1e3, 1e-3,
                                     1e15, 1e-15, 1e100, 1e-100, 10,    3, 0.1, 1.5};
    const double value = json_number_value(get(p)) * factors[by & 15];
    if (isfinite(value))
        set(p, json_is_integer(get(p)) && fabs(value) < 9e18 ? json_integer((json_int_t)value) : json_real(value));
}

// The value once more, behind itself.
static void repeat(const place *p, unsigned char times)
{
    for (unsigned char i = 0; !p->key && i <= times % 8; i++)
        json_array_insert(p->parent, p->index, get(p));
}

// What more is put into: the value, where it is an object, as the document's own.
static json_t *open_object(json_t *document, const place *p)
{
    if (!json_is_object(get(p)))
        return document;
    if (get(p)->refcount > 1)
        set(p, json_copy(get(p)));
    return get(p);
}

// Of a document that was made of one with count values.
static void edit(json_t *document, size_t count, const unsigned char bytes[BYTES])
{
    static route other;
    place p = {0};
    const size_t number = (bytes[0] | (size_t)bytes[1] << 8) % count;
    size_t behind = number + bytes[3];
    if (!find_own(document, number, &p))
        return;
    switch (bytes[2] % 6) {
    case 0:
        set(&p, value_of(bytes[3]));
        break;
    case 1:
        if (p.key)
            json_object_del(p.parent, p.key);
        else
            json_array_remove(p.parent, p.index);
        break;
    case 2:
        if (json_is_number(get(&p)))
            scale(&p, bytes[3]);
        break;
    case 3:
        repeat(&p, bytes[3]);
        break;
    case 4: // what stands somewhat behind it
        if (find(document, &behind, 0, &other))
            set(&p, json_incref(get(&other.steps[other.length - 1])));
        break;
    default:
        json_object_set_new(open_object(document, &p), "more", value_of(bytes[3]));
    }
}

// right_result.json, which is a result of several rows, devices and baselines.
static json_t *read_right(void)
{
    char reason[BENCH_REASON_TEXT] = "";
    json_t *document = bench_result_read(HUSK_TESTS_DIR "/fuzz/right_result.json", reason);
    fuzz_expect(document != NULL, "%s", reason);
    return document;
}

// Made of right without a copy of it all, which would take most of the time.
void fuzz_target(const char *text, size_t size)
{
    enum { LOOKS = 4096 };
    static json_t *schema, *right, *untouched;
    static size_t values;
    static unsigned executions;
    char reason[BENCH_REASON_TEXT] = "";
    if (!right) {
        schema = bench_result_schema();
        right = read_right();
        untouched = json_deep_copy(right);
        values = count_values(right);
    }
    json_t *document = json_copy(right);
    for (size_t i = 1; i + BYTES <= size && i < MOST_EDITS * BYTES; i += BYTES)
        edit(document, values, (const unsigned char *)text + i);
    if (bench_result_check_by(schema, document, "a result", reason)) {
        const unsigned reader = (unsigned char)text[0] % (FUZZ_READERS + 1);
        if (reader < FUZZ_READERS)
            fuzz_read_result(document, reader);
        else
            fuzz_write_result(schema, document);
    } else {
        fuzz_expect_reason(reason, sizeof reason);
        fuzz_expect_clean(reason);
    }
    json_decref(document);
    if (++executions % LOOKS == 0)
        fuzz_expect(json_equal(right, untouched), "who reads a result has changed it");
}
