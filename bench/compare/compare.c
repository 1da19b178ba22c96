// SPDX-License-Identifier: MIT
#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>

#include "common/json.h"
#include "compare/devices.h"
#include "compare/judge.h"
#include "compare/rows.h"
#include "compare/side.h"

static bool is_timed(const json_t *row)
{
    return bench_has_text(row, "state", "ok") && bench_number_of(json_object_get(row, "time"), "median_ns") > 0;
}

static void note_move(bench_comparison *c, const json_t *old_row, const json_t *new_row)
{
    const bool was = bench_has_text(old_row, "state", "ok"), is = bench_has_text(new_row, "state", "ok");
    const bool is_wrong = bench_has_text(new_row, "state", "failed"),
               was_wrong = bench_has_text(old_row, "state", "failed");
    bench_move move = {BENCH_MOVE_OTHER, old_row, new_row};
    if (bench_has_text(new_row, "state", bench_text_of(old_row, "state")) && !is_wrong)
        return;
    if (is_wrong)
        move.kind = was_wrong ? BENCH_MOVE_STILL_WRONG : BENCH_MOVE_WRONG;
    else if (was)
        move.kind = BENCH_MOVE_LOST;
    else if (is)
        move.kind = BENCH_MOVE_RIGHT;
    // "inconclusive" and "suspect" were computed, but prove nothing: that is said, and is no loss.
    if (move.kind == BENCH_MOVE_LOST &&
        (bench_has_text(new_row, "state", "suspect") || bench_has_text(new_row, "state", "inconclusive"))) {
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
    if (side == 0 || !bench_has_text(row, "state", "failed"))
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
            known = known || bench_number_of(s, "before_gflops") > 0 || bench_number_of(s, "after_gflops") > 0;
        }
        if (!known)
            return false;
        any = true;
    }
    return any;
}

bool bench_compare(const json_t *old_document, size_t old_device, const json_t *new_document, size_t new_device,
                   bool is_same_device, bench_comparison *c)
{
    const size_t devices[2] = {old_device, new_device};
    *c = (bench_comparison){
        .documents = {old_document, new_document},
        .devices = {bench_device_of(old_document, old_device), bench_device_of(new_document, new_device)},
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
