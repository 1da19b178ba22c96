// SPDX-License-Identifier: MIT
// So many different calls of every operator and gradient against the reference, in pieces of any length.
//
//     configurations --file FILE [--seed S] [--seconds T] [--op NAME] [--conv N] [--gemm N] [--others N]
//     configurations --file FILE --summary
//
// Every call that was made is a line of FILE: the operator or gradient, what came of it, the largest error over its
// bound, and the call. A run goes on where the file ends; what is in it is not made again. Draws of which most expected
// values are zero, and which prove nothing, are inconclusive: not counted, others take their place, and an operator
// that has more than one of them to four fails. Nor is counted what has no output to compare (empty). An operator of
// which burst after burst is refused, or knows nothing new, is given up, and fails. Exit status: 0 all are there and
// right, 1 some are wrong or given up, 2 usage, 3 there is more to do, 6 no device.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases/ops.h"
#include "cases/parse.h"
#include "common/digest.h"
#include "common/text.h"
#include "system/timer.h"
#include "random_calls.h"
#include "worker/runner.h"
#include "worker/husk_runner.h"

enum { BURST = 24, HOPELESS = 40, BARREN = 100, INCONCLUSIVE_SHARE = 4, SECONDS_A_CALL = 600, MORE_TO_DO = 3 };
typedef enum verdict { RIGHT, WRONG, INCONCLUSIVE, REFUSED, CRASHED, EMPTY, VERDICTS } verdict;
static const char *const verdict_texts[] = {"right", "wrong", "inconclusive", "refused", "crashed", "empty"};

typedef struct row {
    int64_t wanted, counts[VERDICTS], cases;
    int64_t idle; // bursts in a row that added nothing
    int64_t barren; // bursts in a row of which none was right
    double max_ratio;
} row;

typedef struct options {
    const char *path, *op;
    uint64_t seed;
    int64_t seconds, conv, gemm, others;
    bool summary;
} options;

typedef struct run {
    options o;
    void *session;
    FILE *file;
    row rows[BENCH_OP_COUNT][BENCH_DIRECTIONS];
    uint64_t *known; // digests of calls and of cases, open addressing; 0 is free
    size_t known_count, known_capacity;
    uint64_t start;
} run;

// ---- what is known ----

static bool add_known(run *r, const char *text, const char *form)
{
    uint64_t digest = bench_digest_add(BENCH_DIGEST_EMPTY, text, strlen(text) + 1);
    digest = form ? bench_digest_add(digest, form, strlen(form) + 1) : digest;
    if (2 * (r->known_count + 1) > r->known_capacity) {
        const size_t capacity = r->known_capacity ? 2 * r->known_capacity : 1 << 16;
        uint64_t *grown = calloc(capacity, sizeof *grown);
        if (!grown)
            abort();
        for (size_t i = 0; i < r->known_capacity; i++) {
            size_t at = (size_t)r->known[i] % capacity;
            while (r->known[i] && grown[at])
                at = (at + 1) % capacity;
            grown[at] = r->known[i] ? r->known[i] : grown[at];
        }
        free(r->known);
        r->known = grown;
        r->known_capacity = capacity;
    }
    digest += digest == 0;
    size_t at = (size_t)digest % r->known_capacity;
    while (r->known[at] && r->known[at] != digest)
        at = (at + 1) % r->known_capacity;
    if (r->known[at])
        return false;
    r->known[at] = digest;
    r->known_count++;
    return true;
}

static void tally(run *r, const bench_case *c, verdict what, double ratio)
{
    row *w = &r->rows[c->op][c->dir];
    w->counts[what]++;
    w->cases += what == RIGHT && add_known(r, c->canonical, NULL);
    w->max_ratio = what == RIGHT && ratio > w->max_ratio ? ratio : w->max_ratio;
}

// A line as record() writes it. A line that was cut off by the end of a run is none.
static void take_line(run *r, const char *line)
{
    char name[32], what[16], form[CALL_FORM], reason[BENCH_REASON_TEXT];
    double ratio;
    int used = 0;
    bench_case c;
    if (sscanf(line, "%31[^\t]\t%15[^\t]\t%lf\t%95[^\t]\t%n", name, what, &ratio, form, &used) != 4 || !used ||
        !strchr(line, '\n') || !strchr(line + used, '\t')) // the next run ends a line that was cut off
        return;
    char text[BENCH_CASE_TEXT];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(line + used, "\t\n"), line + used);
    for (int i = 0; i < VERDICTS; i++)
        if (!strcmp(what, verdict_texts[i]) && bench_case_parse(text, &c, reason) &&
            add_known(r, c.canonical, strcmp(form, "-") != 0 ? form : ""))
            tally(r, &c, (verdict)i, ratio);
}

static void read_file(run *r)
{
    char line[3 * BENCH_CASE_TEXT]; // with the longest reason of record(): what does not fit would be forgotten
    FILE *file = fopen(r->o.path, "r");
    while (file && fgets(line, sizeof line, file))
        take_line(r, line);
    if (file)
        fclose(file);
}

// ---- calls ----

static char present[BENCH_CASE_TEXT + 600]; // the line of the call that is being made, if it ends the program
static int present_file = -1;

static ssize_t write_to(int file, const char *text)
{
    return write(file, text, strlen(text));
}

static void die(int signal_number)
{
    const char *how = signal_number == SIGALRM ? "no end in ten minutes\n" : "a signal of a crash\n";
    ssize_t ignored = write_to(1, present) + write_to(1, how);
    if (present_file >= 0)
        ignored += write_to(present_file, present) + write_to(present_file, how);
    _exit(ignored < 0 ? 2 : 1);
}

static void record(run *r, const bench_case *c, const char *form, verdict what, const call_result *result)
{
    char why[sizeof result->why];
    snprintf(why, sizeof why, "%s", what == RIGHT ? "" : result->why);
    bench_clean_line(why);
    fprintf(r->file, "%s\t%s\t%.3g\t%s\t%s\t%s\n", bench_op_row(c), verdict_texts[what], result->max_ratio,
            *form ? form : "-", c->canonical, why);
    fflush(r->file);
    if (what == WRONG || what == INCONCLUSIVE)
        printf("%s: clbench verify %s%s%s # %s\n", verdict_texts[what], c->canonical, *form ? " --variant " : "", form,
               why);
}

static void make_call(run *r, const bench_case *c, const char *form)
{
    call_result result;
    if (!add_known(r, c->canonical, form))
        return;
    snprintf(present, sizeof present, "%s\tcrashed\t0\t%s\t%s\t", bench_op_row(c), *form ? form : "-", c->canonical);
    alarm(SECONDS_A_CALL);
    call_check_guarded(r->session, c, form, &result);
    alarm(0);
    const verdict what = result.outcome == CALL_REFUSED ? REFUSED
                         : result.outcome == CALL_WRONG ? WRONG
                         : result.is_empty              ? EMPTY
                         : result.inconclusive          ? INCONCLUSIVE
                                                        : RIGHT;
    tally(r, c, what, result.max_ratio);
    record(r, c, form, what, &result);
}

static bool is_over(const run *r)
{
    return r->o.seconds && bench_now_ns() - r->start >= (uint64_t)r->o.seconds * 1000000000u;
}

static int64_t made(const row *w)
{
    int64_t sum = 0;
    for (int i = 0; i < VERDICTS; i++)
        sum += w->counts[i];
    return sum;
}

static bool is_given_up(const row *w)
{
    return w->counts[RIGHT] < w->wanted && (w->idle >= HOPELESS || w->barren >= BARREN);
}

static bool is_short(const row *w)
{
    return w->counts[RIGHT] < w->wanted && !is_given_up(w);
}

static bool has_directions(const bench_op *op)
{
    const bench_field *field;
    for (size_t i = 0; (field = bench_field_get(op, i)); i++)
        if (!strcmp(field->key, "dir"))
            return true;
    return false;
}

// Options, then sizes for them, which share the programs that one of them builds.
static void burst(run *r, bench_op_kind kind, bench_direction dir)
{
    const bench_op *op = bench_op_get(kind);
    row *w = &r->rows[kind][dir];
    // What is drawn hangs on what the file has of the row alone, and so does not on how the runs were cut.
    const uint64_t number = (uint64_t)made(w) + (uint64_t)w->idle;
    husk_ref_random random = {.seed = ((r->o.seed * 1000 + (uint64_t)kind) * 10 + (uint64_t)dir) << 20 | number};
    const int64_t before = made(w), right = w->counts[RIGHT];
    call varied, k;
    bench_case c;
    char forms[CALL_FORMS][CALL_FORM];
    size_t count = 0;
    call_draw_options(op, has_directions(op) ? bench_direction_text(dir) : NULL, &random, &varied);
    for (int i = 0; i < BURST && w->counts[RIGHT] < w->wanted && !is_over(r); i++) {
        if (!call_draw_sizes(op, &random, &varied, &k, &c))
            break;
        count = count ? count : call_draw_forms(&c, &random, forms);
        for (size_t f = 0; f < count && w->counts[RIGHT] < w->wanted && !is_over(r); f++)
            make_call(r, &c, forms[f]);
    }
    w->idle = made(w) > before ? 0 : w->idle + 1;
    w->barren = w->counts[RIGHT] > right ? 0 : w->barren + 1;
}

static bool is_wanted(const run *r, int op, int dir)
{
    const bench_case c = {.op = (bench_op_kind)op, .dir = (bench_direction)dir};
    return bench_op_row(&c) && (!r->o.op || !strcmp(r->o.op, bench_op_row(&c)));
}

static void draw_and_run(run *r)
{
    bool more = true;
    while (more && !is_over(r)) {
        more = false;
        for (int op = 0; op < BENCH_OP_COUNT; op++)
            for (int dir = 0; dir < BENCH_DIRECTIONS; dir++)
                if (!is_over(r) && is_wanted(r, op, dir) && is_short(&r->rows[op][dir])) {
                    burst(r, (bench_op_kind)op, (bench_direction)dir);
                    more = true;
                }
    }
}

// ---- what it came to ----

static int print_table(const run *r)
{
    row all = {0};
    int64_t rows_short = 0, rows_inconclusive = 0, rows_given_up = 0;
    printf("%-24s %8s %8s %8s %8s %12s %8s %10s\n", "operator", "wanted", "right", "cases", "wrong", "inconclusive",
           "refused", "of bound");
    for (int op = 0; op < BENCH_OP_COUNT; op++)
        for (int dir = 0; dir < BENCH_DIRECTIONS; dir++) {
            const bench_case c = {.op = (bench_op_kind)op, .dir = (bench_direction)dir};
            const row *w = &r->rows[op][dir];
            if (!is_wanted(r, op, dir))
                continue;
            const bool is_done = w->counts[RIGHT] >= w->wanted;
            printf("%-24s %8" PRId64 " %8" PRId64 " %8" PRId64 " %8" PRId64 " %12" PRId64 " %8" PRId64 " %10.3g%s\n",
                   bench_op_row(&c), w->wanted, w->counts[RIGHT], w->cases, w->counts[WRONG] + w->counts[CRASHED],
                   w->counts[INCONCLUSIVE], w->counts[REFUSED], w->max_ratio,
                   is_done          ? ""
                   : is_given_up(w) ? "  (given up: refused, inconclusive or known, burst after burst)"
                                    : "  (to go on)");
            for (int i = 0; i < VERDICTS; i++)
                all.counts[i] += w->counts[i];
            all.cases += w->cases;
            rows_short += !is_done;
            rows_given_up += is_given_up(w);
            rows_inconclusive += is_done && w->counts[INCONCLUSIVE] * INCONCLUSIVE_SHARE > w->counts[RIGHT];
        }
    printf("%" PRId64 " configurations of %" PRId64 " cases right, %" PRId64
           " over the bound, 0 inconclusive among them "
           "(%" PRId64 " were, and others drawn), %" PRId64 " refused (not supported); %" PRId64
           " operators and gradients to go, %" PRId64 " of which too much is inconclusive; %s\n",
           all.counts[RIGHT], all.cases, all.counts[WRONG] + all.counts[CRASHED], all.counts[INCONCLUSIVE],
           all.counts[REFUSED], rows_short, rows_inconclusive, r->o.path);
    return all.counts[WRONG] + all.counts[CRASHED] + rows_inconclusive + rows_given_up ? 1
           : rows_short                                                                ? MORE_TO_DO
                                                                                       : 0;
}

// ---- the command ----

static bool parse(int argc, char **argv, options *o)
{
    *o = (options){.seed = 2026, .conv = 2000, .gemm = 1000, .others = 200};
    const struct {
        const char *name;
        int64_t *to;
    } numbers[] = {{"--seconds", &o->seconds}, {"--conv", &o->conv}, {"--gemm", &o->gemm}, {"--others", &o->others}};
    for (int i = 1; i < argc; i++) {
        int64_t number = 0;
        bool is_taken = !strcmp(argv[i], "--summary");
        o->summary = o->summary || is_taken;
        const bool is_number = !is_taken && i + 1 < argc && bench_parse_integer(argv[i + 1], &number) && number >= 0;
        for (size_t n = 0; is_number && n < sizeof numbers / sizeof *numbers; n++)
            if (!strcmp(argv[i], numbers[n].name)) {
                *numbers[n].to = number;
                is_taken = ++i > 0;
                break;
            }
        if (is_taken)
            continue;
        if (is_number && !strcmp(argv[i], "--seed"))
            o->seed = (uint64_t)number;
        else if (i + 1 < argc && !strcmp(argv[i], "--file"))
            o->path = argv[i + 1];
        else if (i + 1 < argc && !strcmp(argv[i], "--op"))
            o->op = argv[i + 1];
        else
            return false;
        i++;
    }
    return o->path != NULL;
}

static bool want(run *r)
{
    bool any = false;
    for (int op = 0; op < BENCH_OP_COUNT; op++)
        for (int dir = 0; dir < BENCH_DIRECTIONS; dir++) {
            const bool is_first = dir == BENCH_FWD;
            r->rows[op][dir].wanted = op == BENCH_CONV && is_first   ? r->o.conv
                                      : op == BENCH_GEMM && is_first ? r->o.gemm
                                                                     : r->o.others;
            any = any || is_wanted(r, op, dir);
        }
    return any;
}

int main(int argc, char **argv)
{
    static run r;
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    char reason[BENCH_REASON_TEXT] = "";
    if (!parse(argc, argv, &r.o) || !want(&r)) {
        fprintf(stderr, "usage: configurations --file FILE [--summary] [--seed S] [--seconds T] [--op NAME] "
                        "[--conv N] [--gemm N] [--others N]\n");
        return 2;
    }
    r.start = bench_now_ns();
    read_file(&r);
    int code = 0;
    if (!r.o.summary) {
        const bench_open_options open = {.device = NULL};
        if (!(r.file = fopen(r.o.path, "a+"))) {
            perror(r.o.path);
            return 2;
        }
        if (fseek(r.file, -1, SEEK_END) == 0 && fgetc(r.file) != '\n') // a line that was cut off
            fputc('\n', r.file);
        present_file = fileno(r.file);
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
            signal(signals[i], die);
        if (bench_runner_husk.open(&open, &r.session, reason) == BENCH_OK) {
            draw_and_run(&r);
        } else {
            fprintf(stderr, "configurations: %s\n", reason);
            code = 6;
        }
        bench_runner_husk.close(r.session);
        fclose(r.file);
    }
    code = code ? code : print_table(&r);
    free(r.known);
    return code;
}
