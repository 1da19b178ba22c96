// SPDX-License-Identifier: MIT
// A comparison for people (text, Markdown) and for programs (JSON).
#include "compare/show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "system/terminal.h"
#include "record/result_file.h"

// "+15.2%"; "~" for what cannot be told from noise.
static void format_change(double ratio, bench_change change, char text[32])
{
    if ((change != BENCH_SLOWER && change != BENCH_FASTER) || !isfinite(ratio))
        snprintf(text, 32, "%s", change == BENCH_UNSURE ? "?" : change == BENCH_DIVIDED ? "-" : "~");
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

// The run whose processes disagree, and how.
static void format_divided(const bench_pair *pair, char text[128])
{
    static const char *const runs[] = {"old", "new"};
    char speeds[2][96];
    for (int side = 0; side < 2; side++)
        bench_levels_text(&pair->sides[side].levels, speeds[side]);
    if (speeds[0][0] && speeds[1][0])
        snprintf(text, 128, "both runs, the new one %.90s", speeds[1]);
    else
        snprintf(text, 128, "the %s run %.90s", runs[!speeds[0][0]], speeds[!speeds[0][0]]);
}

// Why nothing is claimed of a case that looks different.
static void few_words(const bench_pair *pair, char text[128])
{
    text[0] = '\0';
    if (isnan(pair->p))
        snprintf(text, 128, "too few samples");
    else if (pair->sides[0].levels.disagree || pair->sides[1].levels.disagree)
        format_divided(pair, text);
    else if (pair->change == BENCH_UNSURE)
        snprintf(text, 128, "slower, within noise");
    else if (pair->by_machine)
        snprintf(text, 128, "as the machine");
    else if (pair->overlaps)
        snprintf(text, 128, "processes overlap");
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
                 g->change == BENCH_UNSURE    ? "ambiguous"
                 : g->change == BENCH_DIVIDED ? "not judged"
                                              : "no difference that can be told from noise");
    bench_append(text, size, " (times %.3f, %.3f to %.3f; %zu case%s", g->ratio, g->low, g->high, g->count,
                 g->count == 1 ? "" : "s");
    if (g->slower)
        bench_append(text, size, ", %zu slower", g->slower);
    if (g->faster)
        bench_append(text, size, ", %zu faster", g->faster);
    if (g->unsure)
        bench_append(text, size, ", %zu ambiguous", g->unsure);
    if (g->divided)
        bench_append(text, size, ", and %zu not judged", g->divided);
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
        bench_append(text, size, "%zu case%s ambiguous. ", c->unsure, c->unsure == 1 ? " is" : "s are");
    if (c->divided)
        bench_append(text, size, "%zu case%s not judged: processes disagree. ", c->divided,
                     c->divided == 1 ? " is" : "s are");
    if (text[0] && text[strlen(text) - 1] == ' ')
        text[strlen(text) - 1] = '\0';
}

// What the sentinel did.
static void machine(const bench_comparison *c, char *text, size_t size)
{
    if (!c->is_normalised) {
        snprintf(text, size, "Times are compared as they are: %s.", c->why_not);
        return;
    }
    snprintf(text, size,
             "The machine: its arithmetic ran at %.1f%% of the old run's rate in the new one, by the sentinel",
             100 * c->speed);
    if (isfinite(c->memory_speed))
        bench_append(text, size, ", its memory at %.1f%%", 100 * c->memory_speed);
    bench_append(text, size, ". A change counts when it is there as measured, and with either taken out.");
    if (c->disturbed[0] + c->disturbed[1])
        bench_append(text, size,
                     " Rounds that do not count, since something else ran: %zu of the old, %zu of the new run.",
                     c->disturbed[0], c->disturbed[1]);
}

// Which level decided how large a change has to be.
static void levels(const bench_comparison *c, char *text, size_t size)
{
    size_t decided[3] = {0};
    text[0] = '\0';
    for (size_t i = 0; i < c->pair_count; i++)
        decided[c->pairs[i].level]++;
    if (!c->pair_count)
        return;
    bench_append(text, size,
                 "The noise: processes of a case usually differ by %.1f%% in the old and %.1f%% in the new run",
                 100 * c->usual[0].deviation, 100 * c->usual[1].deviation);
    if (c->most[0] < 2 || c->most[1] < 2)
        bench_append(text, size, " (taken for granted where a run has one process)");
    else if (c->is_normalised)
        bench_append(text, size, ", beside what the machine's speed moved them by (with that %.1f%% and %.1f%%)",
                     100 * c->usual[0].measured, 100 * c->usual[1].measured);
    bench_append(text, size, "; how they differ decides %zu case%s", decided[BENCH_LEVEL_PROCESSES],
                 decided[BENCH_LEVEL_PROCESSES] == 1 ? "" : "s");
    if (decided[BENCH_LEVEL_SAMPLES])
        bench_append(text, size, ", samples within a process %zu", decided[BENCH_LEVEL_SAMPLES]);
    if (decided[BENCH_LEVEL_LEAST])
        bench_append(text, size, ", the least change that is claimed (%.0f%%) %zu", 100 * BENCH_LEAST_CHANGE,
                     decided[BENCH_LEVEL_LEAST]);
    bench_append(text, size, ".");
}

static bool was_cut(const bench_comparison *c)
{
    for (size_t i = 0; i < c->pair_count; i++)
        for (int side = 0; side < 2; side++)
            if (!strcmp(bench_text_of(json_object_get(c->pairs[i].sides[side].row, "time"), "stop"), "budget"))
                return true;
    return false;
}

// What to run to know more; "" where nothing is open.
static void advice(const bench_comparison *c, char *text, size_t size)
{
    const size_t fewest = c->fewest[0] < c->fewest[1] ? c->fewest[0] : c->fewest[1];
    bool is_open = c->unsure || c->divided;
    text[0] = '\0';
    for (size_t i = 0; i < c->group_count; i++)
        is_open = is_open || c->groups[i].change == BENCH_UNSURE;
    if (!is_open || !c->pair_count)
        return;
    snprintf(text, size, "To know more: --rounds %zu%s in both runs, without --quick, and nothing else running.",
             fewest < 2 ? 3 : 2 * fewest + 1, was_cut(c) ? " --budget 0" : "");
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
    char name[BENCH_ROW_NAME], old[32], new[32], change[32], noise[32], words[128];
    format_case(c, index, name, sizeof name);
    bench_format_ns(p->sides[0].median_ns, old, sizeof old);
    bench_format_ns(p->sides[1].median_ns, new, sizeof new);
    format_change(p->ratio, p->change, change);
    format_percent(p->limit, noise);
    const bench_colour colour = p->change == BENCH_SLOWER                                 ? BENCH_BAD
                                : p->change == BENCH_FASTER                               ? BENCH_GOOD
                                : p->change == BENCH_UNSURE || p->change == BENCH_DIVIDED ? BENCH_WARN
                                                                                          : BENCH_FAINT;
    bench_print_name(name, width);
    few_words(p, words);
    printf("  %8s  %8s  %s%8s%s  %6s  %s\n", old, new, bench_colour_on(colour), change, bench_colour_off(), noise,
           words);
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
        bench_print(2, "%s%s: %s: %s%s%s%s\n", bench_colour_on(is_bad ? BENCH_BAD : BENCH_PLAIN), move_words(m->kind),
                    name, states, bench_colour_off(), reason[0] ? ": " : "", reason);
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
    char text[1000], name[BENCH_ROW_NAME], words[128];
    size_t longest = 20;
    bool has_words = false;
    for (size_t i = 0; i < c->pair_count; i++) {
        format_case(c, i, name, sizeof name);
        longest = strlen(name) > longest ? strlen(name) : longest;
        few_words(&c->pairs[i], words);
        has_words = has_words || words[0];
    }
    const int width = bench_name_width(longest, has_words ? 60 : 40);
    bench_print(2, "%s%s%s (driver %s)\n", bench_colour_on(BENCH_STRONG), bench_text_of(c->devices[1], "name"),
                bench_colour_off(), bench_text_of(c->devices[1], "driver"));
    for (int side = 0; side < 2; side++)
        bench_print(2, "%s  %s: Husk %s, %s\n", side ? "new" : "old", names[side],
                    bench_text_of(c->documents[side], "husk_version"), started(c, side));
    void (*const lines[])(const bench_comparison *, char *, size_t) = {machine, levels};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        lines[i](c, text, sizeof text);
        bench_print(0, "%s%s", text, text[0] ? "\n" : "");
    }
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
    advice(c, text, sizeof text);
    bench_print(0, "%s%s", text, text[0] ? "\n" : "");
}

// ---- Markdown ----

bool bench_comparison_markdown(const bench_comparison *c, const char *const names[2], FILE *file)
{
    char text[1000], name[BENCH_ROW_NAME], old[32], new[32], change[32], noise[32], words[128];
    verdict(c, text, sizeof text);
    fprintf(file, "**%s**\n\n", text);
    fprintf(file, "%s, driver %s: %s (%s) against %s (%s). ", bench_text_of(c->devices[1], "name"),
            bench_text_of(c->devices[1], "driver"), names[1], started(c, 1), names[0], started(c, 0));
    machine(c, text, sizeof text);
    fprintf(file, "%s ", text);
    levels(c, text, sizeof text);
    fprintf(file, "%s\n\n", text);
    for (size_t i = 0; i < c->group_count; i++) {
        format_group(&c->groups[i], text, sizeof text);
        fprintf(file, "- %s\n", text);
    }
    advice(c, text, sizeof text);
    fprintf(file, "%s%s%s", text[0] ? "\n" : "", text, text[0] ? "\n" : "");
    fputs("\n| case | old | new | change | noise | |\n|---|---:|---:|---:|---:|---|\n", file);
    for (size_t i = 0; i < c->pair_count; i++) {
        const bench_pair *p = &c->pairs[i];
        format_case(c, i, name, sizeof name);
        bench_format_ns(p->sides[0].median_ns, old, sizeof old);
        bench_format_ns(p->sides[1].median_ns, new, sizeof new);
        format_change(p->ratio, p->change, change);
        format_percent(p->limit, noise);
        const bool is_known = p->change == BENCH_SLOWER || p->change == BENCH_FASTER;
        few_words(p, words);
        fprintf(file, "| `%s` | %s | %s | %s%s%s | %s | %s |\n", name, old, new, is_known ? "**" : "", change,
                is_known ? "**" : "", noise, words);
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

static const char *json_level(bench_level level)
{
    static const char *const names[] = {"processes", "samples", "least"};
    return names[level];
}

static json_t *side_json(const bench_side *s)
{
    json_t *processes = json_array();
    for (size_t i = 0; i < s->processes; i++)
        json_array_append_new(processes, number(exp(s->measured[i])));
    return json_pack("{s:o, s:I, s:o, s:o, s:o, s:I, s:b}", "median_ns", number(s->median_ns), "n",
                     (json_int_t)s->count, "processes_ns", processes, "within", number(s->within), "between",
                     number(s->deviation), "disturbed", (json_int_t)s->disturbed, "disagree", s->levels.disagree);
}

static json_t *pair_json(const bench_pair *p)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:b, s:o, s:o, s:o}", "case", p->text, "op",
                     p->op, "variant", p->variant, "change", json_change(p->change), "ratio", number(p->ratio),
                     "measured", number(exp(p->distances[BENCH_AS_MEASURED])), "by_arithmetic",
                     number(exp(p->distances[BENCH_BY_ARITHMETIC])), "by_memory",
                     number(exp(p->distances[BENCH_BY_MEMORY])), "noise", number(p->limit), "level",
                     json_level(p->level), "by_machine", p->by_machine, "p", number(p->p), "old",
                     side_json(&p->sides[0]), "new", side_json(&p->sides[1]));
}

static json_t *group_json(const bench_group *g)
{
    return json_pack("{s:o, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "op",
                     g->op ? json_string(g->op) : json_null(), "change", json_change(g->change), "count",
                     (json_int_t)g->count, "ratio", number(g->ratio), "low", number(g->low), "high", number(g->high),
                     "noise", number(g->limit), "p", number(g->p), "slower", (json_int_t)g->slower, "faster",
                     (json_int_t)g->faster, "ambiguous", (json_int_t)g->unsure, "two_speeds", (json_int_t)g->divided);
}

static json_t *move_json(const bench_move *m)
{
    json_t *old = m->old_row ? json_string(bench_text_of(m->old_row, "state")) : json_null();
    return json_pack("{s:s, s:s, s:o, s:s}", "case", bench_text_of(m->new_row, "case"), "variant",
                     bench_text_of(m->new_row, "variant"), "old", old, "new", bench_text_of(m->new_row, "state"));
}

json_t *bench_comparison_json(const bench_comparison *c, const char *const names[2])
{
    json_t *rows = json_array(), *ops = json_array(), *states = json_array(), *only[2] = {json_array(), json_array()};
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
                     "clbench-compare/2", "old", names[0], "new", names[1], "device",
                     bench_text_of(c->devices[1], "name"), "normalised", c->is_normalised, "sentinel_ratio",
                     number(c->speed), "verdict", text, "code", bench_comparison_code(c), "all",
                     group_json(&c->groups[c->group_count - 1]), "ops", ops, "results", rows, "states", states,
                     "only_old", only[0], "only_new", only[1]);
}
