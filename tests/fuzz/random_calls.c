// SPDX-License-Identifier: MIT
// Random calls of every operator, gradient and variant, against the reference by clbench's own check, with the bounds
// the operators' tests have. What goes wrong is made smaller and printed as a line that shows it again.
//
//     random_calls [--seed S] [--calls N] [--seconds T] [--op NAME] [--findings N]
//     random_calls --case "softmax outer=2 axis=3" [--variant NAME[:CONFIGURATION]]
//
// Calls depend on the seed alone. They come in bursts, options first and then sizes for them, so that many calls share
// the programs that one of them builds.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases/ops.h"
#include "cases/parse.h"
#include "common/text.h"
#include "system/timer.h"
#include "random_calls.h"
#include "worker/runner.h"
#include "worker/husk_runner.h"

enum { BURST = 24, HOPELESS = 3, SECONDS_A_CALL = 600, EXIT_STOPPED = 3 };

typedef struct options {
    uint64_t seed;
    int64_t calls, seconds, findings;
    const char *op, *line, *variant;
} options;

typedef struct run {
    const options *options;
    void *session;
    const char *form; // of the call that is shrunk
    char why[600];    // what is wrong with the last call
    int64_t calls, refused, inconclusive, findings;
    int64_t by_op[BENCH_OP_COUNT][BENCH_DIRECTIONS];
    uint64_t start;
} run;

// ---- a call ----

// What a signal's handler prints: the call that is being made.
static char present[BENCH_CASE_TEXT + 200];

static void die(int signal_number)
{
    static const char crashed[] = "finding: crashed or hangs: ";
    ssize_t ignored = write(1, crashed, sizeof crashed - 1);
    ignored += write(1, present, strlen(present));
    ignored += write(1, "\n", 1);
    _exit(EXIT_STOPPED + (ignored < 0 || signal_number < 0));
}

// Of AddressSanitizer and its kin, where the program is built with them: they end it without a signal.
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void die_by_sanitizer(void)
{
    die(0);
}

static void watch(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], die);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(die_by_sanitizer);
}

static call_outcome make_call(run *r, const bench_case *c, const char *form)
{
    call_result result;
    snprintf(present, sizeof present, "clbench verify %s%s%.100s", c->canonical, form ? " --variant " : "",
             form ? form : "");
    alarm(SECONDS_A_CALL);
    call_check_guarded(r->session, c, form, &result);
    alarm(0);
    snprintf(r->why, sizeof r->why, "%s", result.why);
    r->calls += result.outcome != CALL_REFUSED && !result.is_empty;
    r->refused += result.outcome == CALL_REFUSED;
    r->inconclusive += result.inconclusive || result.is_empty;
    r->by_op[c->op][c->dir] += result.outcome != CALL_REFUSED;
    return result.outcome;
}

// ---- what is wrong ----

static bool still_fails(void *user, const bench_case *c)
{
    run *r = user;
    return make_call(r, c, r->form) == CALL_WRONG;
}

static void report(run *r, const call *found, const char *form)
{
    call k = *found;
    bench_case c;
    char why[sizeof r->why];
    snprintf(why, sizeof why, "%s", r->why);
    bench_clean_line(why);
    r->form = form;
    r->findings++;
    call_parse(&k, &c);
    printf("found: %s%s%s: %s\n", c.canonical, form ? " --variant " : "", form ? form : "", why);
    const int steps = call_shrink(&k, still_fails, r);
    call_parse(&k, &c);
    make_call(r, &c, form); // for its words
    bench_clean_line(r->why);
    printf("finding: clbench verify %s%s%s # %s (%d steps)\n", c.canonical, form ? " --variant " : "", form ? form : "",
           r->why, steps);
    fflush(stdout);
}

// ---- bursts ----

static bool is_over(const run *r)
{
    const options *o = r->options;
    return (o->calls && r->calls >= o->calls) || r->findings >= o->findings ||
           (o->seconds && bench_now_ns() - r->start >= (uint64_t)o->seconds * 1000000000u);
}

static void burst(run *r, const bench_op *op, husk_ref_random *random)
{
    call varied, k;
    bench_case c;
    char forms[CALL_FORMS][CALL_FORM];
    size_t form_count = 0;
    int64_t before = r->calls;
    if (!call_draw_options(op, NULL, random, &varied))
        return;
    for (int i = 0; i < BURST && !is_over(r) && !(i == HOPELESS && r->calls == before); i++) {
        if (!call_draw_sizes(op, random, &varied, &k, &c))
            return;
        if (!form_count)
            form_count = call_draw_forms(&c, random, forms);
        for (size_t f = 0; f < form_count && !is_over(r); f++)
            if (make_call(r, &c, forms[f][0] ? forms[f] : NULL) == CALL_WRONG)
                report(r, &k, forms[f][0] ? forms[f] : NULL);
    }
}

static void draw_and_run(run *r)
{
    husk_ref_random random = {.seed = r->options->seed};
    while (!is_over(r)) {
        const int64_t drawn = husk_ref_random_below(&random, BENCH_OP_COUNT);
        burst(r, r->options->op ? bench_op_find(r->options->op) : bench_op_get((bench_op_kind)drawn), &random);
    }
}

// ---- the command ----

static int usage(const char *what)
{
    fprintf(stderr,
            "random_calls: %s\nusage: random_calls [--seed S] [--calls N] [--seconds T] [--op NAME] "
            "[--findings N]\n       random_calls --case \"CASE\" [--variant NAME]\n",
            what);
    return 2;
}

static bool parse(int argc, char **argv, options *o)
{
    *o = (options){.seed = 1, .findings = 20};
    for (int i = 1; i + 1 < argc; i += 2) {
        int64_t number = 0;
        const bool is_number = bench_parse_integer(argv[i + 1], &number) && number >= 0;
        if (!strcmp(argv[i], "--seed") && is_number)
            o->seed = (uint64_t)number;
        else if (!strcmp(argv[i], "--calls") && is_number)
            o->calls = number;
        else if (!strcmp(argv[i], "--seconds") && is_number)
            o->seconds = number;
        else if (!strcmp(argv[i], "--findings") && is_number)
            o->findings = number;
        else if (!strcmp(argv[i], "--op") && bench_op_find(argv[i + 1]))
            o->op = argv[i + 1];
        else if (!strcmp(argv[i], "--case"))
            o->line = argv[i + 1];
        else if (!strcmp(argv[i], "--variant"))
            o->variant = argv[i + 1];
        else
            return false;
    }
    return argc % 2 == 1 && (o->calls || o->seconds || o->line);
}

static int one_case(run *r)
{
    char reason[BENCH_REASON_TEXT];
    bench_case c;
    call k;
    if (!bench_case_parse(r->options->line, &c, reason))
        return usage(reason);
    const call_outcome result = make_call(r, &c, r->options->variant);
    call_from_line(c.canonical, &k);
    if (result == CALL_WRONG)
        report(r, &k, r->options->variant);
    else
        printf("%s: %s\n", c.canonical, result == CALL_RIGHT ? "right" : r->why);
    return 0;
}

static void print_counts(const run *r)
{
    for (int op = 0; op < BENCH_OP_COUNT; op++)
        for (int dir = 0; dir < BENCH_DIRECTIONS; dir++)
            if (r->by_op[op][dir])
                printf("  %-16s %-10s %8lld\n", bench_op_text((bench_op_kind)op),
                       bench_direction_text((bench_direction)dir), (long long)r->by_op[op][dir]);
    printf("seed %llu: %lld refused (not supported), %lld void, %lld findings, %.1f s\n",
           (unsigned long long)r->options->seed, (long long)r->refused, (long long)r->inconclusive,
           (long long)r->findings, (double)(bench_now_ns() - r->start) * 1e-9);
    printf("calls: %lld\n", (long long)r->calls);
}

int main(int argc, char **argv)
{
    static run r;
    options o;
    char reason[BENCH_REASON_TEXT] = "";
    if (!parse(argc, argv, &o))
        return usage("--calls, --seconds or --case is wanted");
    r.options = &o;
    r.start = bench_now_ns();
    const bench_open_options open = {.device = NULL};
    if (bench_runner_husk.open(&open, &r.session, reason) != BENCH_OK) {
        fprintf(stderr, "random_calls: %s\n", reason);
        bench_runner_husk.close(r.session);
        return 6;
    }
    watch();
    const int code = o.line ? one_case(&r) : (draw_and_run(&r), 0);
    snprintf(present, sizeof present, "random_calls, after its last call"); // LeakSanitizer speaks up at the end
    print_counts(&r);
    fflush(stdout); // and leaves nobody the time to
    bench_runner_husk.close(r.session);
    if (!o.line && o.findings > 0 && r.calls == 0)
        puts("random_calls: no call was compared with anything");
    return code ? code : r.findings > 0 || (!o.line && o.findings > 0 && r.calls == 0);
}
