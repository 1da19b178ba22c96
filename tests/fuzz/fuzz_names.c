// SPDX-License-Identifier: MIT
// The lists of HUSK_ENGINES and HUSK_VARIANT, split by a second opinion: which engines are listed, which
// variant is wanted of an operator, and which rows of its table that means. A variant that is none is refused
// with a text.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "select/choose.h"
#include "select/engine.h"
#include "select/variant_list.h"

// ---- the second opinion: each item as a text of its own ----

typedef struct items {
    char *copy;
    size_t size, at;
} items;

static items items_of(const char *list)
{
    items all = {.copy = bench_copy_text(list), .size = strlen(list)};
    for (size_t i = 0; i < all.size; i++)
        if (all.copy[i] == ',')
            all.copy[i] = '\0';
    return all;
}

static const char *next_of(items *all)
{
    const char *item = all->copy + all->at;
    if (all->at > all->size)
        return NULL;
    all->at += strlen(item) + 1;
    return item;
}

static bool begins_with(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

// ---- engines ----

static void expect_engines(const char *list)
{
    for (size_t e = 0; husk_engine_name(e); e++) {
        const char *name = husk_engine_name(e);
        bool is_there = false;
        items all = items_of(list);
        for (const char *item; (item = next_of(&all));) {
            char words[96];
            snprintf(words, sizeof words, "%s_", item);
            is_there = is_there ||
                       (*item && strlen(item) < sizeof words - 1 && (!strcmp(name, item) || begins_with(name, words)));
        }
        free(all.copy);
        fuzz_expect(husk__engine_is_listed(list, name) == is_there, "\"%s\" has%s %s", list, is_there ? " not" : "",
                    name);
    }
}

// ---- variants ----

static const husk__configuration two[] = {{.name = "32x32"}, {.name = "64x64"}}, one = {.name = ""};
static const husk__variant tiled = {.name = "tiled", .configurations = two, .configuration_count = 2},
                           direct = {.name = "tiled_direct", .configurations = &one, .configuration_count = 1};
static const husk__variant *const variants[] = {&tiled, &direct, NULL};
static const husk__op gemm = {.name = "gemm", .variants = variants};

static bool is_meant(const char *wanted, const husk__ranked *row)
{
    char both[64];
    snprintf(both, sizeof both, "%s:%s", row->variant->name, row->configuration->name);
    return !strcmp(wanted, row->variant->name) || !strcmp(wanted, both);
}

static void expect_rows(const char *wanted)
{
    const husk__ranked rows[] = {{.variant = &tiled, .configuration = &two[0]},
                                 {.variant = &tiled, .configuration = &two[1]},
                                 {.variant = &direct, .configuration = &one}};
    const husk_device_traits traits = {.device_class = HUSK_DEVICE_CPU, .max_allocation = 1 << 20};
    const husk_machine machine = {.cores = 1};
    const husk__target target = {&traits, &machine};
    husk_error error = {0};
    husk__ranking ranking;
    size_t meant = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        meant += is_meant(wanted, &rows[i]);
    const husk_status status =
        husk__rank(&gemm, NULL, &target, wanted, true, (husk__limit){0}, &ranking, &(husk__scope){"fuzz", &error});
    fuzz_expect((status == HUSK_OK) == (meant > 0), "\"%s\" answers %s", wanted, husk_status_name(status));
    fuzz_expect(ranking.count == meant, "\"%s\" means %zu rows, not %zu", wanted, ranking.count, meant);
    for (size_t i = 0; i < ranking.count; i++)
        fuzz_expect(is_meant(wanted, &ranking.candidates[i]), "\"%s\" means %s", wanted,
                    ranking.candidates[i].variant->name);
    if (status)
        fuzz_expect_reason(error.text, sizeof error.text);
}

static void expect_variant(const char *list, const char *op, size_t capacity)
{
    char *wanted = malloc(capacity), begin[32];
    items all = items_of(list);
    const char *item, *expected = NULL;
    fuzz_expect(wanted != NULL, "memory is short");
    snprintf(begin, sizeof begin, "%s:", op);
    while (!expected && (item = next_of(&all)))
        if (begins_with(item, begin) && item[strlen(begin)] && strlen(item + strlen(begin)) < capacity)
            expected = item + strlen(begin);
    const bool is_wanted = husk__variant_from_list(list, op, wanted, capacity);
    fuzz_expect(is_wanted == (expected != NULL), "\"%s\" wants%s a variant of %s", list, is_wanted ? "" : " not", op);
    fuzz_expect(!is_wanted || !strcmp(wanted, expected), "of \"%s\" %s gets \"%s\"", list, op, wanted);
    if (is_wanted)
        expect_rows(wanted);
    free(all.copy);
    free(wanted);
}

void fuzz_target(const char *text, size_t size)
{
    static const char *const ops[] = {"gemm", "conv", "norm", "quantized_gemm"};
    (void)size;
    expect_engines(text);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        expect_variant(text, ops[i], 96); // select/plan_make.c's
        expect_variant(text, ops[i], 8);
    }
    expect_rows(text);
}
