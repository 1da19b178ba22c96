// SPDX-License-Identifier: MIT
#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "common/json.h"

const char *bench_change_text(bench_change change)
{
    static const char *const texts[] = {"~", "slower", "faster", "?", "two speeds"};
    return (size_t)change < sizeof texts / sizeof *texts ? texts[change] : "?";
}

// ---- rows of both runs ----

static bool has_text(const json_t *row, const char *key, const char *text)
{
    return !strcmp(bench_text_of(row, key), text);
}

bool bench_row_is_of(const json_t *row, size_t device)
{
    return (size_t)json_integer_value(json_object_get(row, "device")) == device;
}

const json_t *bench_find_row(const json_t *document, size_t device, const json_t *like)
{
    const json_t *rows = json_object_get(document, "results"), *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (!bench_row_is_of(row, device) || !has_text(row, "case", bench_text_of(like, "case")) ||
            !has_text(row, "temperature", bench_text_of(like, "temperature")))
            continue;
        if (has_text(row, "variant", bench_text_of(like, "variant"))) // --variant all has several
            return row;
        found = row;
        count++;
    }
    return count == 1 ? found : NULL;
}

// How many rows of that case there are on the device.
static size_t count_like(const json_t *document, size_t device, const json_t *like)
{
    const json_t *rows = json_object_get(document, "results");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        count += bench_row_is_of(row, device) && has_text(row, "case", bench_text_of(like, "case")) &&
                 has_text(row, "temperature", bench_text_of(like, "temperature"));
    }
    return count;
}

const json_t *bench_match_row(const json_t *document, size_t device, const json_t *own, size_t own_device,
                              const json_t *row)
{
    const json_t *found = bench_find_row(document, device, row);
    // One of several variants here must not be compared with the only one there, unless it is the same.
    if (found && count_like(own, own_device, row) > 1 &&
        !has_text(found, "variant", bench_text_of(row, "variant")))
        return NULL;
    return found;
}

static bool is_timed(const json_t *row)
{
    return has_text(row, "state", "ok") && bench_number_of(json_object_get(row, "time"), "median_ns") > 0;
}

static void note_move(bench_comparison *c, const json_t *old_row, const json_t *new_row)
{
    const bool was = has_text(old_row, "state", "ok"), is = has_text(new_row, "state", "ok");
    const bool is_wrong = has_text(new_row, "state", "failed"),
               was_wrong = has_text(old_row, "state", "failed");
    bench_move move = {BENCH_MOVE_OTHER, old_row, new_row};
    if (has_text(new_row, "state", bench_text_of(old_row, "state")) && !is_wrong)
        return;
    if (is_wrong)
        move.kind = was_wrong ? BENCH_MOVE_STILL_WRONG : BENCH_MOVE_WRONG;
    else if (was)
        move.kind = BENCH_MOVE_LOST;
    else if (is)
        move.kind = BENCH_MOVE_RIGHT;
    // "mistrusted" and "suspect" were computed, but prove nothing: that is said, and is no loss.
    if (move.kind == BENCH_MOVE_LOST &&
        (has_text(new_row, "state", "suspect") || has_text(new_row, "state", "mistrusted"))) {
        move.kind = BENCH_MOVE_OTHER;
        c->doubtful++;
    }
    c->wrong += move.kind == BENCH_MOVE_WRONG;
    c->still_wrong += move.kind == BENCH_MOVE_STILL_WRONG;
    c->lost += move.kind == BENCH_MOVE_LOST;
    c->moves[c->move_count++] = move;
}

static void note_only(bench_comparison *c, int side, const json_t *row)
{
    c->only[side][c->only_count[side]++] = row;
    if (side == 0 || !has_text(row, "state", "failed"))
        return;
    c->moves[c->move_count++] = (bench_move){BENCH_MOVE_NEW_WRONG, NULL, row};
    c->new_wrong++;
}

static bool add_pair(bench_comparison *c, const json_t *old_row, const json_t *new_row)
{
    bench_pair *pair = &c->pairs[c->pair_count++];
    *pair = (bench_pair){.text = bench_text_of(new_row, "case"),
                         .op = bench_text_of(new_row, "op"),
                         .variant = bench_text_of(new_row, "variant"),
                         .ratio = NAN,
                         .limit = NAN,
                         .p = NAN};
    // A side that could not be filled is freed with the others.
    const bool has_old = bench_side_take(&pair->sides[0], old_row, &c->machines[0]);
    return bench_side_take(&pair->sides[1], new_row, &c->machines[1]) && has_old;
}

static bool pair_rows(bench_comparison *c, const size_t devices[2])
{
    for (int side = 0; side < 2; side++) {
        const json_t *rows = json_object_get(c->documents[side], "results");
        for (size_t i = 0; i < json_array_size(rows); i++) {
            const json_t *row = json_array_get(rows, i);
            if (!bench_row_is_of(row, devices[side]))
                continue;
            const json_t *other =
                bench_match_row(c->documents[!side], devices[!side], c->documents[side], devices[side], row);
            if (!other) {
                note_only(c, side, row);
                continue;
            }
            if (side == 0)
                continue;
            note_move(c, other, row);
            if (is_timed(other) && is_timed(row) && !add_pair(c, other, row))
                return false;
        }
    }
    return true;
}

// ---- all of it ----

static const json_t *device_of(const json_t *document, size_t device)
{
    const json_t *all = json_object_get(document, "devices");
    return all ? json_array_get(all, device) : json_object_get(document, "device");
}

static bool has_sentinels(const json_t *document, size_t device)
{
    const json_t *rows = json_object_get(document, "results");
    bool any = false;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *sentinels = json_object_get(row, "sentinels");
        bool known = false;
        if (!bench_row_is_of(row, device) || !is_timed(row))
            continue;
        for (size_t k = 0; k < json_array_size(sentinels); k++) {
            const json_t *s = json_array_get(sentinels, k);
            known =
                known || bench_number_of(s, "before_gflops") > 0 || bench_number_of(s, "after_gflops") > 0;
        }
        if (!known)
            return false;
        any = true;
    }
    return any;
}

bool bench_compare(const json_t *old_document, size_t old_device, const json_t *new_document,
                   size_t new_device, bool is_same_device, bench_comparison *c)
{
    const size_t devices[2] = {old_device, new_device};
    *c = (bench_comparison){.documents = {old_document, new_document},
                            .devices = {device_of(old_document, old_device),
                                        device_of(new_document, new_device)},
                            .speed = NAN,
                            .memory_speed = NAN};
    if (!is_same_device)
        c->why_not = "they are of different devices or drivers";
    else if (!has_sentinels(old_document, old_device) || !has_sentinels(new_document, new_device))
        c->why_not = "not every row says how fast the machine was beside it";
    c->is_normalised = !c->why_not;
    const size_t most = json_array_size(json_object_get(new_document, "results")) +
                        json_array_size(json_object_get(old_document, "results")) + 1;
    c->pairs = calloc(most, sizeof *c->pairs);
    c->moves = calloc(most, sizeof *c->moves);
    c->only[0] = calloc(most, sizeof *c->only[0]);
    c->only[1] = calloc(most, sizeof *c->only[1]);
    bool good = c->pairs && c->moves && c->only[0] && c->only[1];
    for (int side = 0; side < 2; side++)
        good = bench_machine_find(&c->machines[side], c->documents[side], devices[side]) && good;
    c->speed = c->machines[1].gflops / c->machines[0].gflops;
    c->memory_speed = c->machines[1].gbytes_per_s / c->machines[0].gbytes_per_s;
    for (int side = 0; side < 2 && !c->is_normalised; side++) // times are what they are
        c->machines[side].gflops = NAN;
    if (good && pair_rows(c, devices) && bench_comparison_judge(c))
        return true;
    bench_comparison_free(c);
    return false;
}

int bench_comparison_code(const bench_comparison *c)
{
    bool is_slower = c->slower > 0 || c->lost > 0;
    bool is_unsure = c->unsure > 0 || c->divided > 0 || c->doubtful > 0 || c->only_count[0] > 0 || c->pair_count == 0;
    for (size_t i = 0; i < c->group_count; i++) {
        is_slower = is_slower || c->groups[i].change == BENCH_SLOWER;
        is_unsure = is_unsure || c->groups[i].change == BENCH_UNSURE;
    }
    const bool is_wrong = c->wrong + c->still_wrong + c->new_wrong > 0;
    return is_wrong    ? BENCH_EXIT_VERIFICATION
           : is_slower ? BENCH_EXIT_REGRESSION
           : is_unsure ? BENCH_EXIT_AMBIGUOUS
                       : BENCH_EXIT_OK;
}

void bench_comparison_free(bench_comparison *c)
{
    for (size_t i = 0; c->pairs && i < c->pair_count; i++) {
        bench_side_free(&c->pairs[i].sides[0]);
        bench_side_free(&c->pairs[i].sides[1]);
    }
    bench_machine_free(&c->machines[0]);
    bench_machine_free(&c->machines[1]);
    free(c->pairs);
    free(c->groups);
    free(c->moves);
    free(c->only[0]);
    free(c->only[1]);
    memset(c, 0, sizeof *c);
}
