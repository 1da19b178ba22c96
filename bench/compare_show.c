// SPDX-License-Identifier: MIT
// A comparison for people (text, Markdown) and for programs (JSON).
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare.h"
#include "terminal.h"
#include "text.h"

// "+15.2%"; "~" for what cannot be told from noise.
static void format_change(double ratio, bench_change change, char text[32])
{
    if (change == BENCH_SAME || change == BENCH_UNSURE || !isfinite(ratio))
        snprintf(text, 32, "%s", change == BENCH_UNSURE ? "?" : "~");
    else
        snprintf(text, 32, "%+.1f%%", 100 * (ratio - 1));
}

static void format_percent(double value, char text[32])
{
    if (isfinite(value))
        snprintf(text, 32, "%.1f%%", 100 * value);
    else
        snprintf(text, 32, "-");
}

static const char *move_words(bench_move_kind kind)
{
    switch (kind) {
    case BENCH_MOVE_WRONG:
        return "WRONG now";
    case BENCH_MOVE_LOST:
        return "no longer measured";
    case BENCH_MOVE_RIGHT:
        return "right now";
    case BENCH_MOVE_STILL_WRONG:
        return "still WRONG";
    case BENCH_MOVE_NEW_WRONG:
        return "WRONG";
    default:
        return "changed";
    }
}

// "failed, was ok"; of a case that the old run does not have, that.
static void format_states(const bench_move *move, char *text, size_t size)
{
    snprintf(text, size, "%s", bench_text_of(move->new_row, "state"));
    if (move->old_row)
        bench_append(text, size, ", was %s", bench_text_of(move->old_row, "state"));
    else
        bench_append(text, size, ", and not in the old run");
}

// Of a case that is in one run alone: ": unsupported", and nothing where it is right.
static void format_state(const json_t *row, char text[32])
{
    const char *state = bench_text_of(row, "state");
    const bool is_right = !strcmp(state, "ok");
    snprintf(text, 32, "%s%.24s", is_right ? "" : ": ", is_right ? "" : state);
}

static const char *few_words(const bench_pair *pair)
{
    return isnan(pair->p)                 ? "too few samples"
           : pair->change == BENCH_UNSURE ? "slower, within noise"
                                          : "";
}

// A case where several variants were asked for is one with its variant.
static bool shows_variant(const bench_comparison *c, size_t index)
{
    for (size_t i = 0; i < c->pair_count; i++)
        if (i != index && !strcmp(c->pairs[i].text, c->pairs[index].text))
            return true;
    return false;
}

static void format_case(const bench_comparison *c, size_t index, char *text, size_t size)
{
    const bench_pair *pair = &c->pairs[index];
    snprintf(text, size, "%s", pair->text);
    if (shows_variant(c, index))
        bench_append(text, size, " (%s)", pair->variant);
    if (!strcmp(bench_text_of(pair->sides[1].row, "temperature"), "cold"))
        bench_append(text, size, " (cold)");
}

// What the operator's mean says, in a sentence's words.
static void format_group(const bench_group *g, char *text, size_t size)
{
    const char *name = g->op ? g->op : "all together";
    char limit[32];
    format_percent(g->limit, limit);
    if (!g->count) {
        snprintf(text, size, "%s: nothing could be compared", name);
        return;
    }
    const double slower = 100 * (g->ratio - 1), faster = 100 * (1 / g->ratio - 1);
    if (g->change == BENCH_SLOWER)
        snprintf(text, size, "%s: %.1f%% slower", name, slower);
    else if (g->change == BENCH_FASTER)
        snprintf(text, size, "%s: %.1f%% faster", name, faster);
    else
        snprintf(text, size, "%s: %s", name,
                 g->change == BENCH_UNSURE ? "ambiguous" : "no difference that can be told from noise");
    bench_append(text, size, " (times %.3f, %.3f to %.3f; %zu case%s", g->ratio, g->low, g->high, g->count,
                 g->count == 1 ? "" : "s");
    if (g->slower)
        bench_append(text, size, ", %zu slower", g->slower);
    if (g->faster)
        bench_append(text, size, ", %zu faster", g->faster);
    if (g->unsure)
        bench_append(text, size, ", %zu ambiguous", g->unsure);
    bench_append(text, size, "; noise %s)", limit);
}

static void verdict(const bench_comparison *c, char *text, size_t size)
{
    bool is_slower = c->slower > 0;
    text[0] = '\0';
    if (c->wrong)
        bench_append(text, size, "%zu case%s became WRONG. ", c->wrong, c->wrong == 1 ? "" : "s");
    if (c->new_wrong)
        bench_append(text, size, "%zu case%s WRONG that only the new run has. ", c->new_wrong,
                     c->new_wrong == 1 ? " is" : "s are");
    if (c->still_wrong)
        bench_append(text, size, "%zu case%s still WRONG. ", c->still_wrong, c->still_wrong == 1 ? " is" : "s are");
    if (c->lost)
        bench_append(text, size, "%zu case%s no longer measured. ", c->lost, c->lost == 1 ? " is" : "s are");
    if (!c->pair_count) {
        bench_append(text, size, "No case is in both, right and timed.");
        return;
    }
    size_t ops = 0;
    for (size_t i = 0; i < c->group_count; i++) {
        const bench_group *g = &c->groups[i];
        if (!g->op || !(g->change == BENCH_SLOWER || g->slower))
            continue;
        bench_append(text, size, "%s%s", ops++ ? ", " : "Slower: ", g->op);
        if (g->change != BENCH_SLOWER)
            bench_append(text, size, " (%zu of %zu cases)", g->slower, g->count);
        is_slower = true;
    }
    if (ops)
        bench_append(text, size, ". ");
    const bench_group *all = &c->groups[c->group_count - 1];
    if (all->change == BENCH_SLOWER && !ops)
        bench_append(text, size, "Slower as a whole. ");
    if (!all->count)
        bench_append(text, size, "Nothing could be judged. ");
    else if (!is_slower && all->change != BENCH_SLOWER)
        bench_append(text, size, "No regression. ");
    if (c->faster)
        bench_append(text, size, "%zu case%s faster. ", c->faster, c->faster == 1 ? " is" : "s are");
    if (c->unsure)
        bench_append(text, size, "%zu case%s ambiguous: more samples tell (--rounds 5, no --quick).",
                     c->unsure, c->unsure == 1 ? " is" : "s are");
    if (text[0] && text[strlen(text) - 1] == ' ')
        text[strlen(text) - 1] = '\0';
}

static void machine(const bench_comparison *c, char *text, size_t size)
{
    if (!c->is_normalised)
        snprintf(text, size, "Times are compared as they are: %s.", c->why_not);
    else
        snprintf(
            text, size,
            "Times are compared as if the machine had been as fast in both (the sentinel ran at %.1f%% of the old "
            "run's rate in the new one).",
            100 * c->speed);
    if (c->disturbed[0] + c->disturbed[1])
        bench_append(text, size,
                     " %zu rounds of the old and %zu of the new run do not count: something else ran.",
                     c->disturbed[0], c->disturbed[1]);
    if (!c->has_rounds[0] || !c->has_rounds[1])
        bench_append(text, size, " Measured in one round: --rounds 5 knows its noise better.");
}

static const char *started(const bench_comparison *c, int side)
{
    return bench_text_of(c->documents[side], "started");
}

// ---- text ----

static void print_groups(const bench_comparison *c)
{
    char line[400];
    putchar('\n');
    for (size_t i = 0; i < c->group_count; i++) {
        const bench_group *g = &c->groups[i];
        const bool is_only = !g->op && c->group_count == 2; // one operator: all together says the same
        if (is_only)
            continue;
        format_group(g, line, sizeof line);
        const bench_colour colour = g->change == BENCH_SLOWER   ? BENCH_BAD
                                    : g->change == BENCH_FASTER ? BENCH_GOOD
                                                                : BENCH_PLAIN;
        bench_print(2, "%s%s%s\n", bench_colour_on(colour), line, bench_colour_off());
    }
}

static void print_pair(const bench_comparison *c, size_t index, int width)
{
    const bench_pair *p = &c->pairs[index];
    char name[BENCH_ROW_NAME], old[32], new[32], change[32], noise[32];
    format_case(c, index, name, sizeof name);
    bench_format_ns(p->sides[0].median_ns, old, sizeof old);
    bench_format_ns(p->sides[1].median_ns, new, sizeof new);
    format_change(p->ratio, p->change, change);
    format_percent(p->limit, noise);
    const bench_colour colour = p->change == BENCH_SLOWER   ? BENCH_BAD
                                : p->change == BENCH_FASTER ? BENCH_GOOD
                                : p->change == BENCH_UNSURE ? BENCH_WARN
                                                            : BENCH_FAINT;
    bench_print_name(name, width);
    printf("  %8s  %8s  %s%8s%s  %6s  %s\n", old, new, bench_colour_on(colour), change, bench_colour_off(),
           noise, few_words(p));
}

static void print_states(const bench_comparison *c, const char *const names[2])
{
    char states[100], name[BENCH_ROW_NAME];
    for (size_t i = 0; i < c->move_count; i++) {
        const bench_move *m = &c->moves[i];
        const bool is_bad = m->kind != BENCH_MOVE_RIGHT && m->kind != BENCH_MOVE_OTHER;
        const char *reason = bench_text_of(m->new_row, "reason");
        format_states(m, states, sizeof states);
        bench_row_name(m->new_row, name);
        bench_print(2, "%s%s: %s: %s%s%s%s\n", bench_colour_on(is_bad ? BENCH_BAD : BENCH_PLAIN),
                    move_words(m->kind), name, states, bench_colour_off(),
                    reason[0] ? ": " : "", reason);
    }
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < c->only_count[side]; i++) {
            format_state(c->only[side][i], states);
            bench_row_name(c->only[side][i], name);
            bench_print(2, "only in %s: %s%s\n", names[side], name, states);
        }
}

void bench_comparison_print(const bench_comparison *c, const char *const names[2])
{
    char text[1000], name[BENCH_ROW_NAME];
    size_t longest = 20;
    bool has_words = false;
    for (size_t i = 0; i < c->pair_count; i++) {
        format_case(c, i, name, sizeof name);
        longest = strlen(name) > longest ? strlen(name) : longest;
        has_words = has_words || few_words(&c->pairs[i])[0];
    }
    const int width = bench_name_width(longest, has_words ? 60 : 40);
    bench_print(2, "%s%s%s (driver %s)\n", bench_colour_on(BENCH_STRONG), bench_text_of(c->devices[1], "name"),
           bench_colour_off(), bench_text_of(c->devices[1], "driver"));
    for (int side = 0; side < 2; side++)
        bench_print(2, "%s  %s: Husk %s, %s\n", side ? "new" : "old", names[side],
               bench_text_of(c->documents[side], "husk_version"), started(c, side));
    machine(c, text, sizeof text);
    bench_print(0, "%s\n", text);
    if (c->pair_count) {
        printf("\n%s", bench_colour_on(BENCH_STRONG));
        bench_print_name("case", width);
        printf("  %8s  %8s  %8s  %6s%s\n", "old", "new", "change", "noise", bench_colour_off());
    }
    for (size_t i = 0; i < c->pair_count; i++)
        print_pair(c, i, width);
    if (c->pair_count)
        print_groups(c);
    if (c->move_count || c->only_count[0] || c->only_count[1])
        putchar('\n');
    print_states(c, names);
    verdict(c, text, sizeof text);
    bench_print(0, "\n%s\n", text);
}

// ---- Markdown ----

bool bench_comparison_markdown(const bench_comparison *c, const char *const names[2], FILE *file)
{
    char text[1000], name[BENCH_ROW_NAME], old[32], new[32], change[32], noise[32];
    verdict(c, text, sizeof text);
    fprintf(file, "**%s**\n\n", text);
    fprintf(file, "%s, driver %s: %s (%s) against %s (%s). ", bench_text_of(c->devices[1], "name"),
            bench_text_of(c->devices[1], "driver"), names[1], started(c, 1), names[0], started(c, 0));
    machine(c, text, sizeof text);
    fprintf(file, "%s\n\n", text);
    for (size_t i = 0; i < c->group_count; i++) {
        format_group(&c->groups[i], text, sizeof text);
        fprintf(file, "- %s\n", text);
    }
    fputs("\n| case | old | new | change | noise |\n|---|---:|---:|---:|---:|\n", file);
    for (size_t i = 0; i < c->pair_count; i++) {
        const bench_pair *p = &c->pairs[i];
        format_case(c, i, name, sizeof name);
        bench_format_ns(p->sides[0].median_ns, old, sizeof old);
        bench_format_ns(p->sides[1].median_ns, new, sizeof new);
        format_change(p->ratio, p->change, change);
        format_percent(p->limit, noise);
        const bool is_told = p->change == BENCH_SLOWER || p->change == BENCH_FASTER;
        fprintf(file, "| `%s` | %s | %s | %s%s%s | %s |\n", name, old, new, is_told ? "**" : "", change,
                is_told ? "**" : "", noise);
    }
    fputc('\n', file);
    for (size_t i = 0; i < c->move_count; i++) {
        format_states(&c->moves[i], text, sizeof text);
        bench_row_name(c->moves[i].new_row, name);
        fprintf(file, "- %s: `%s`: %s\n", move_words(c->moves[i].kind), name, text);
    }
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < c->only_count[side]; i++) {
            format_state(c->only[side][i], change);
            bench_row_name(c->only[side][i], name);
            fprintf(file, "- only in %s: `%s`%s\n", names[side], name, change);
        }
    }
    return !ferror(file);
}

// ---- JSON ----

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static const char *json_change(bench_change change)
{
    return change == BENCH_SAME ? "same" : change == BENCH_UNSURE ? "ambiguous" : bench_change_text(change);
}

static json_t *side_json(const bench_side *s)
{
    return json_pack("{s:o, s:I, s:I, s:o, s:o, s:I}", "median_ns", number(s->median_ns), "n",
                     (json_int_t)s->count, "rounds", (json_int_t)s->rounds, "half_width",
                     number(s->half_width), "noise", number(s->noise), "disturbed", (json_int_t)s->disturbed);
}

static json_t *pair_json(const bench_pair *p)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "case", p->text, "op", p->op, "variant",
                     p->variant, "change", json_change(p->change), "ratio", number(p->ratio), "noise",
                     number(p->limit), "p", number(p->p), "old", side_json(&p->sides[0]), "new",
                     side_json(&p->sides[1]));
}

static json_t *group_json(const bench_group *g)
{
    return json_pack("{s:o, s:s, s:I, s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "op",
                     g->op ? json_string(g->op) : json_null(), "change", json_change(g->change), "count",
                     (json_int_t)g->count, "ratio", number(g->ratio), "low", number(g->low), "high",
                     number(g->high), "noise", number(g->limit), "slower", (json_int_t)g->slower, "faster",
                     (json_int_t)g->faster, "ambiguous", (json_int_t)g->unsure);
}

static json_t *move_json(const bench_move *m)
{
    json_t *old = m->old_row ? json_string(bench_text_of(m->old_row, "state")) : json_null();
    return json_pack("{s:s, s:s, s:o, s:s}", "case", bench_text_of(m->new_row, "case"), "variant",
                     bench_text_of(m->new_row, "variant"), "old", old, "new", bench_text_of(m->new_row, "state"));
}

json_t *bench_comparison_json(const bench_comparison *c, const char *const names[2])
{
    json_t *rows = json_array(), *ops = json_array(), *states = json_array(),
           *only[2] = {json_array(), json_array()};
    char text[1000], name[BENCH_ROW_NAME];
    for (size_t i = 0; i < c->pair_count; i++)
        json_array_append_new(rows, pair_json(&c->pairs[i]));
    for (size_t i = 0; i + 1 < c->group_count; i++)
        json_array_append_new(ops, group_json(&c->groups[i]));
    for (size_t i = 0; i < c->move_count; i++)
        json_array_append_new(states, move_json(&c->moves[i]));
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < c->only_count[side]; i++) {
            bench_row_name(c->only[side][i], name);
            json_array_append_new(only[side], json_string(name));
        }
    verdict(c, text, sizeof text);
    return json_pack("{s:s, s:s, s:s, s:s, s:b, s:o, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "schema",
                     "clbench-compare/1", "old", names[0], "new", names[1], "device",
                     bench_text_of(c->devices[1], "name"), "normalised", c->is_normalised, "sentinel_ratio",
                     number(c->speed), "verdict", text, "code", bench_comparison_code(c), "all",
                     group_json(&c->groups[c->group_count - 1]), "ops", ops, "results", rows, "states",
                     states, "only_old", only[0], "only_new", only[1]);
}
