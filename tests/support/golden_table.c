// SPDX-License-Identifier: MIT
#include "support/golden_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include <husk/husk.h>
#include <husk/train/rate.h>

enum { UNKNOWN = -1 }; // the rank of an array of which nothing has been read yet

// What the files call by name.
static const struct golden_word {
    const char *name;
    uint32_t value;
} words[] = {
// clang-format off
#define WORD(name)           {#name, name},
#define DTYPE(name, ...)     {"HUSK_" #name, HUSK_##name},
#define ACT(name, ...)       {"HUSK_ACT_" #name, HUSK_ACT_##name},
#define BINARY(name, ...)    {"HUSK_BINARY_" #name, HUSK_BINARY_##name},
#define LOSS(name, ...)      {"HUSK_LOSS_" #name, HUSK_LOSS_##name},
#define NORM(name, ...)      {"HUSK_NORM_" #name, HUSK_NORM_##name},
#define OPTIMIZER(name, ...) {"HUSK_OPTIMIZER_" #name, HUSK_OPTIMIZER_##name},
#define RATE(name, ...)      {"HUSK_RATE_" #name, HUSK_RATE_##name},
#define REDUCE(name, ...)    {"HUSK_REDUCE_" #name, HUSK_REDUCE_##name},
#define UNARY(name, ...)     {"HUSK_UNARY_" #name, HUSK_UNARY_##name},
    HUSK_DTYPE_LIST(DTYPE) HUSK_ACT_LIST(ACT) HUSK_BINARY_LIST(BINARY) HUSK_LOSS_LIST(LOSS) HUSK_NORM_LIST(NORM)
    HUSK_OPTIMIZER_LIST(OPTIMIZER) HUSK_RATE_LIST(RATE) HUSK_REDUCE_LIST(REDUCE) HUSK_UNARY_LIST(UNARY)
    WORD(HUSK_CAUSAL_TOP_LEFT) WORD(HUSK_CAUSAL_BOTTOM_RIGHT) WORD(HUSK_GRAD_NORM_MAXIMUM)
    WORD(HUSK_GRU_RESET_BEFORE) WORD(HUSK_LOSS_MEAN) WORD(HUSK_LOSS_SUM) WORD(HUSK_LOSS_NONE)
    WORD(HUSK_MORE_IS_BETTER) WORD(HUSK_PAD_CONSTANT) WORD(HUSK_PAD_REFLECT) WORD(HUSK_PAD_REPLICATE)
    WORD(HUSK_PAD_CIRCULAR) WORD(HUSK_POOL_MAX) WORD(HUSK_POOL_AVG)
    WORD(HUSK_RNN_TANH) WORD(HUSK_RNN_RELU) WORD(HUSK_RNN_LSTM) WORD(HUSK_RNN_GRU)
    // clang-format on
};

static const size_t sizes[] = {
    [GOLDEN_F32] = sizeof(float),    [GOLDEN_F64] = sizeof(double),         [GOLDEN_I32] = sizeof(int32_t),
    [GOLDEN_U32] = sizeof(uint32_t), [GOLDEN_I64] = sizeof(int64_t),        [GOLDEN_U64] = sizeof(uint64_t),
    [GOLDEN_TEXT] = sizeof(char *),  [GOLDEN_ARRAY] = sizeof(golden_array),
};

// What a name in the file stands for: a field of a case, or one array of a list.
typedef struct place {
    void *at;
    golden_kind kind;
    size_t count; // of what is there, one of its kind after the other
} place;

static bool refuse(char reason[GOLDEN_REASON], const char *key, const char *what)
{
    snprintf(reason, GOLDEN_REASON, "%.200s: %.300s", key, what);
    return false;
}

static void *member(const golden_table *table, int index, const golden_field *field)
{
    return table->cases + (size_t)index * table->size + field->offset;
}

// What follows the table's name; NULL: it is another table's.
static const char *inside(const golden_table *table, const char *key)
{
    const size_t length = strlen(table->name);
    return strncmp(key, table->name, length) == 0 && key[length] == '/' ? key + length + 1 : NULL;
}

// rest: "NNN/FIELD", or "NNN/FIELD.N" of a list of arrays.
static bool find_place(const golden_table *table, const char *rest, place *found)
{
    char *end = NULL;
    const unsigned long index = strtoul(rest, &end, 10);
    if (!isdigit((unsigned char)*rest) || *end != '/' || index >= (unsigned long)table->count)
        return false;
    const char *name = end + 1;
    for (const golden_field *field = table->fields; field->name != NULL; field++) {
        const size_t length = strlen(field->name), count = field->size / sizes[field->kind];
        if (strncmp(name, field->name, length) != 0)
            continue;
        void *at = member(table, (int)index, field);
        *found = (place){at, field->kind, count};
        if (name[length] == '\0')
            return true;
        if (field->kind != GOLDEN_ARRAY || count == 1 || name[length] != '.' ||
            !isdigit((unsigned char)name[length + 1]))
            continue;
        const unsigned long element = strtoul(name + length + 1, &end, 10);
        *found = (place){(golden_array *)at + element, GOLDEN_ARRAY, 1};
        return *end == '\0' && element < count;
    }
    return false;
}

// Store the number or name with which the text begins. What follows it; NULL: there is none, or it is too large.
static const char *store_number(const char *text, golden_kind kind, void *to)
{
    const size_t length = strcspn(text, " ");
    for (size_t i = 0; kind == GOLDEN_U32 && i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].name) == length && strncmp(words[i].name, text, length) == 0) {
            *(uint32_t *)to = words[i].value;
            return text + length;
        }
    char *end = NULL;
    errno = 0;
    if (kind == GOLDEN_F32) {
        *(float *)to = strtof(text, &end);
    } else if (kind == GOLDEN_F64) {
        *(double *)to = strtod(text, &end);
    } else if (kind == GOLDEN_I32 || kind == GOLDEN_I64) {
        const long long value = strtoll(text, &end, 10);
        if (kind == GOLDEN_I64)
            *(int64_t *)to = value;
        else
            *(int32_t *)to = (int32_t)value;
        errno = kind == GOLDEN_I32 && value != (int32_t)value ? ERANGE : errno;
    } else {
        const unsigned long long value = strtoull(text, &end, 10);
        if (kind == GOLDEN_U64)
            *(uint64_t *)to = value;
        else
            *(uint32_t *)to = (uint32_t)value;
        errno = *text == '-' || (kind == GOLDEN_U32 && value != (uint32_t)value) ? ERANGE : errno;
    }
    return length > 0 && end == text + length && errno == 0 ? end : NULL;
}

static bool store_numbers(const char *text, const place *to)
{
    for (size_t i = 0; i < to->count; i++) {
        text = store_number(text, to->kind, (char *)to->at + i * sizes[to->kind]);
        if (text == NULL || *text == '\0')
            return text != NULL;
        text++;
    }
    return false; // there are more
}

// "none" for one that is absent; of a list, how many there are.
static bool leave_out(const char *text, const place *arrays)
{
    uint32_t first = 0;
    if (arrays->count == 1 ? strcmp(text, "none") != 0 : !store_numbers(text, &(place){&first, GOLDEN_U32, 1}))
        return false;
    for (size_t i = first; i < arrays->count; i++)
        ((golden_array *)arrays->at)[i].rank = 0;
    return first <= arrays->count;
}

static bool store_text(const char *text, const place *to)
{
    if (to->kind == GOLDEN_ARRAY)
        return leave_out(text, to);
    if (to->kind != GOLDEN_TEXT)
        return store_numbers(text, to);
    *(const char **)to->at = text;
    return true;
}

static bool read_texts(golden_table *table, char *reason)
{
    const char *key, *text;
    for (size_t i = 0; husk_safetensors_metadata_get(table->file, i, &key, &text); i++) {
        const char *rest = inside(table, key);
        place found;
        if (rest == NULL || strcmp(rest, "cases") == 0 || strcmp(rest, "made by") == 0)
            continue;
        if (!find_place(table, rest, &found))
            return refuse(reason, key, "no case has it");
        if (!store_text(text, &found))
            return refuse(reason, key, text);
    }
    return true;
}

static bool read_arrays(golden_table *table, char *reason)
{
    double *values = table->values;
    husk_safetensors_entry entry;
    for (size_t i = 0; i < husk_safetensors_count(table->file); i++) {
        husk_safetensors_get(table->file, i, &entry);
        const char *rest = inside(table, entry.name);
        place found;
        if (rest == NULL)
            continue;
        if (!find_place(table, rest, &found) || found.kind != GOLDEN_ARRAY || found.count != 1)
            return refuse(reason, entry.name, "no case has it");
        golden_array *array = found.at;
        if (entry.dtype != HUSK_F64 || array->rank != UNKNOWN)
            return refuse(reason, entry.name, "it is not of F64, or said to be absent");
        husk_error error;
        if (husk_safetensors_read(table->file, entry.name, values, entry.bytes, &error))
            return refuse(reason, entry.name, error.text);
        *array = (golden_array){.rank = entry.rank, .values = values};
        memcpy(array->shape, entry.shape, sizeof(array->shape));
        values += entry.bytes / sizeof(double);
    }
    return true;
}

// Room for the cases, of whose arrays nothing is known, and for all numbers.
static bool make_room(golden_table *table, char *reason)
{
    char key[64];
    snprintf(key, sizeof(key), "%s/cases", table->name);
    const char *text = husk_safetensors_metadata(table->file, key);
    int32_t count = 0;
    if (text == NULL || !store_numbers(text, &(place){&count, GOLDEN_I32, 1}) || count < 1)
        return refuse(reason, key, "it is no number of cases");
    uint64_t bytes = sizeof(double); // of arrays without elements there is an address, too
    husk_safetensors_entry entry;
    for (size_t i = 0; i < husk_safetensors_count(table->file); i++) {
        husk_safetensors_get(table->file, i, &entry);
        bytes += inside(table, entry.name) != NULL ? entry.bytes : 0;
    }
    table->count = count;
    table->cases = calloc((size_t)count, table->size);
    table->values = malloc(bytes);
    if (table->cases == NULL || table->values == NULL)
        return refuse(reason, key, "out of memory");
    for (int i = 0; i < count; i++)
        for (const golden_field *field = table->fields; field->name != NULL; field++)
            for (size_t j = 0; field->kind == GOLDEN_ARRAY && j < field->size / sizeof(golden_array); j++)
                ((golden_array *)member(table, i, field))[j].rank = UNKNOWN;
    return true;
}

static bool is_whole(const golden_table *table, char *reason)
{
    for (int i = 0; i < table->count; i++)
        for (const golden_field *field = table->fields; field->name != NULL; field++) {
            const void *at = member(table, i, field);
            bool is_here = field->kind != GOLDEN_TEXT || *(const char *const *)at != NULL;
            for (size_t j = 0; field->kind == GOLDEN_ARRAY && j < field->size / sizeof(golden_array); j++)
                is_here = is_here && ((const golden_array *)at)[j].rank != UNKNOWN;
            if (!is_here) {
                snprintf(reason, GOLDEN_REASON, "%s/%03d/%s: it is missing", table->name, i, field->name);
                return false;
            }
        }
    return true;
}

bool golden_read(golden_table *table, const char *path, char reason[GOLDEN_REASON])
{
    husk_error error;
    if (husk_safetensors_open(path, NULL, &table->file, &error))
        return refuse(reason, table->name, error.text);
    if (make_room(table, reason) && read_texts(table, reason) && read_arrays(table, reason) && is_whole(table, reason))
        return true;
    golden_release(table);
    return false;
}

void golden_release(golden_table *table)
{
    husk_safetensors_close(table->file);
    free(table->cases);
    free(table->values);
    table->file = NULL;
    table->cases = NULL;
    table->values = NULL;
    table->count = 0;
}

static golden_table *loaded;

static void release_loaded(void)
{
    for (; loaded != NULL; loaded = loaded->next)
        golden_release(loaded);
}

int golden_load(golden_table *table)
{
    if (table->count > 0)
        return table->count;
    char path[4096], reason[GOLDEN_REASON];
    snprintf(path, sizeof(path), HUSK_TESTS_DIR "/golden/%s.safetensors", table->family);
    if (!golden_read(table, path, reason)) {
        fprintf(stderr, "%s: %s\n", path, reason);
        exit(EXIT_FAILURE);
    }
    if (loaded == NULL)
        atexit(release_loaded);
    table->next = loaded;
    loaded = table;
    return table->count;
}

const void *golden_case(const golden_table *table, int index)
{
    ck_assert_int_ge(index, 0);
    ck_assert_int_lt(index, table->count);
    return table->cases + (size_t)index * table->size;
}
