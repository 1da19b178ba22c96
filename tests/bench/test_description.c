// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Files that describe kernels: what they come to, which mistakes are said where, and what is compared by which bound.
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/description.h"
#include "spec/fill.h"
#include "spec/judge.h"
#include "spec/npy.h"

static bench_description description;
static char reason[BENCH_REASON_TEXT];

static void parse(const char *text)
{
    bench_description_free(&description);
    reason[0] = '\0';
    if (!bench_description_parse("k.txt", text, &description, reason))
        ck_assert(reason[0] && description.count == 0);
}

static void teardown(void)
{
    bench_description_free(&description);
}

static const char saxpy[] = "# a kernel\n"
                            "kernel saxpy file=d/saxpy.cl options=\"-DX=\\\"1\\\" -w\" include=inc include=/usr/inc\n"
                            "  config WG=64,128 V=1..4*2\n"
                            "  where WG*V <= 256\n"
                            "  size n=1,3..5 m=2 # a comment\n"
                            "  size m=7 n=100\n"
                            "  define TILE = WG*V\n"
                            "  let groups_1 = ceil(n/TILE)\n"
                            "\n"
                            "  arg n int = n, a f32 = 0.1\n"
                            "  arg v float4 = (1, 2, 3, n)\n"
                            "  arg x constant float[n + 1] in = uniform(-1, 1)\n"
                            "  arg t local float[2*WG]\n"
                            "  arg y global double[n*m] inout = ramp\n"
                            "  local WG\r\n"
                            "  groups groups_1\n"
                            "  expect y[i*m] = 2*y[i*m] + x[i] + a for i<n computed in float within 3 ulp\n"
                            "  flops 2*n\n"
                            "  limit registers<=32 spills=0\n"
                            "pipeline two file=p.cl\n"
                            "  buffer b int[4] scratch\n"
                            "  buffer c int[4] out\n"
                            "  step one(b, int(4), local float[8]) local 1, 2 global 4, 8 file=q.cl\n"
                            "  step two(b, c) global 4\n"
                            "  expect c[i] = i\n";

START_TEST(what_it_comes_to)
{
    int64_t config[BENCH_MOST_CONFIGS];
    char text[BENCH_POINT_TEXT], macros[200];
    static bench_point point;
    parse(saxpy);
    ck_assert_msg(description.count == 2, "%s", reason);
    const bench_spec *spec = description.specs[0];
    ck_assert_str_eq(spec->options, "-DX=\"1\" -w");
    ck_assert_int_eq(spec->include_count, 2);
    ck_assert_int_eq(bench_spec_config_count(spec), 6);
    ck_assert_int_eq(bench_spec_size_count(spec), 5);
    bench_spec_config(spec, 5, config);
    ck_assert(config[0] == 128 && config[1] == 4);
    ck_assert_int_eq(bench_spec_size(spec, 3)[0], 5);
    ck_assert_int_eq(bench_spec_size(spec, 4)[0], 100); // by name, not by place
    ck_assert_int_eq(bench_spec_size(spec, 4)[1], 7);
    ck_assert(bench_point_set(&point, spec, config, bench_spec_size(spec, 4), reason));
    ck_assert(!bench_point_is_allowed(&point, reason) && !reason[0]);
    bench_spec_config(spec, 3, config);
    ck_assert(bench_point_set(&point, spec, config, bench_spec_size(spec, 4), reason));
    ck_assert(bench_point_is_allowed(&point, reason));
    bench_point_text(spec, config, bench_spec_size(spec, 4), text);
    ck_assert_str_eq(text, "WG=128 V=1 n=100 m=7");
    bench_point_macros(&point, macros, sizeof macros);
    ck_assert_str_eq(macros, " -DWG=128 -DV=1 -DTILE=128");
    ck_assert_int_eq(point.bindings[bench_symbols_find(&spec->symbols, "y")].count, 700);
    ck_assert(point.bindings[bench_symbols_find(&spec->symbols, "a")].real == (double)0.1f); // as the kernel gets it
    ck_assert(spec->buffers[0].is_constant && spec->buffers[1].access == BENCH_ACCESS_INOUT);
    ck_assert_int_eq(spec->steps[0].argument_count, 6);
    ck_assert(spec->steps[0].is_groups && spec->steps[0].arguments[2].width == 4);
    ck_assert_int_eq(spec->limits[0].most, 32);
    const bench_spec *two = description.specs[1];
    ck_assert(two->is_pipeline && two->step_count == 2);
    ck_assert_str_eq(two->steps[0].file, "q.cl");
    ck_assert_int_eq(two->steps[0].dimensions, 2);
}
END_TEST

// `where` is asked before there are buffers.
START_TEST(elements_too_early)
{
    static bench_point point;
    parse("kernel k file=k.cl\n size n=4\n arg x global int[n] in = ramp\n where x[0] == 0\n global n\n");
    ck_assert_msg(description.count == 1, "%s", reason);
    const bench_spec *spec = description.specs[0];
    ck_assert(bench_point_set(&point, spec, NULL, bench_spec_size(spec, 0), reason));
    ck_assert(!bench_point_is_allowed(&point, reason));
    ck_assert_msg(strstr(reason, "k.txt:4:8: what x holds is not known here"), "%s", reason);
}
END_TEST

// A kernel with this line in place of what is behind the sizes; the message's place and words.
static void refuse(const char *line, const char *words)
{
    char text[2000];
    snprintf(text, sizeof text,
             "kernel k file=k.cl\n  size n=10\n  arg x global float[n] in = ramp\n  arg c global int[n] in = ramp\n"
             "  arg y global float[n] out\n  global n\n  %s\n",
             line);
    parse(text);
    ck_assert_msg(strstr(reason, words) != NULL, "%s: '%s' lacks '%s'", line, reason, words);
    ck_assert_msg(!strncmp(reason, "k.txt:", 6), "%s: '%s' names no place", line, reason);
}

START_TEST(mistakes)
{
    static const struct {
        const char *line, *words;
    } cases[] = {
        {"", "k.txt:5:1: y is an output, and what it should hold is not said"},
        {"bogus", "k.txt:7:3: no line begins with bogus"},
        {"step f(x) global n", "step is of a pipeline"},
        {"size k=3", "k.txt:7:8: the first line of sizes has no k"},
        {"size n=1 n=2", "given twice"},
        {"size n=5..1", "a range goes up"},
        {"size n=1..4*1", "a range goes up"},
        {"size n=", "a value, a whole number, is wanted"},
        {"size n=2000000000000", "a value is at most"},
        {"size n=1..20000", "more than 10000 values"},
        {"config n=3", "n is in use already"},
        {"config sum=3", "sum is a word of expressions"},
        {"config for=3", "for is a word of expressions"},
        {"where 0.5", "a rule is a whole number"},
        {"define n = 3", "n is in use already"},
        {"arg z image2d_t", "images, samplers and pipes cannot be described"},
        {"arg z struct s", "structs cannot be described"},
        {"arg z floot = 1", "floot is no type of numbers"},
        {"arg z int = 0.5", "int is a whole number"},
        {"arg z float4 = (1, 2)", "the vector has 4 numbers"},
        {"arg z int = 1, 2", "k.txt:7:18: the argument's name is wanted"},
        {"arg z int = 1 v int = 2", "k.txt:7:17: nothing is wanted here: 'v int = 2'"},
        {"arg z global float[n]", "in, out or inout is wanted"},
        {"arg z global float[n] inn", "a buffer is in, out or inout"},
        {"arg z global float[n] in", "what z holds is not said"},
        {"arg z global float[0.5] in = ones", "the number of elements is a whole number"},
        {"arg z global int[n] in = uniform(0, 1)", "int has whole numbers"},
        {"arg z global float[n] in = uniform(1, 0)", "the first number is above the second"},
        {"arg z global uchar[n] in = integers(0, 256)", "uchar holds 0 to 255"},
        {"arg z global float[n] in = integers(0, 0.5)", "whole numbers"},
        {"arg z global float[n] in = uniform(0, m)", "nothing is called m"},
        {"arg z global float[n] in = uniform(0, x[0])", "elements of buffers are known later"},
        {"arg z global int[n] in = integers(0, 1//0)", "divi"},
        {"arg z global float[n] in = random", "nothing fills a buffer by the name random"},
        {"arg z global int[n] in = special", "int has whole numbers"},
        {"arg z global uchar[n] in = constant(256)", "uchar holds 0 to 255"},
        {"arg z global int[n] in = constant(0.5)", "int has whole numbers"},
        {"arg z global double[n] in = uniform(-1e308, 1e308)", "the numbers are too far apart"},
        {"arg z global float[n] in = npy(z.npy)", "the path is wanted in quotes"},
        {"global n", "this is given twice"},
        {"local 1, 1", "local has 2 dimensions, and global 1"},
        {"expect q[i] = 1", "k.txt:7:10: q is no buffer"},
        {"expect x[i] = 1", "x is no output"},
        {"expect y", "behind y comes [i] = FORMULA"},
        {"expect y[2*i] = 1", "nothing is called i; indices come from for i<n"},
        {"expect y[i+1] = 1", "how far i goes is not said"},
        {"expect y[i] = 1 for i<n/2", "the end of an index is a whole number"},
        {"expect y[i] = 1 for i", "'<' is wanted behind the index"},
        {"expect y[3*i+j] = 1 for i<3, j<i+1", "the end of an index cannot depend on another index"},
        {"expect y[i] = 1 for i<3 for i<n", "k.txt:7:27: for is given twice"},
        {"expect y[i] = z[i]", "nothing is called z"},
        {"expect y[i] = 1 within", "how far results may be off"},
        {"expect y[i] = 1 within -1", "less than nothing"},
        {"expect y[i] = 1 within 1 ulp bogus", "k.txt:7:32: nothing is wanted here: 'bogus'"},
        {"expect y[i] = 1 computed in int", "kernels round in half, float and double"},
        {"expect y[i] = 1 in some order", "'any' is wanted"},
        {"expect y by", "k.txt:7:14: \"LIBRARY:FUNCTION\" or the path of an .npy file is wanted, and the line ends"},
        {"\"\xc3\x1b[0m\"", "k.txt:7:4: a description is UTF-8 text without control characters"},
        {"bogus # \x1b", "k.txt:7:11: a description is UTF-8 text without control characters"},
        {"\xe2\x82\xac", "k.txt:7:3: unexpected character '\xe2\x82\xac'"},
        {"size n=3 : \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\xc3\xa9\"",
         "xxx?'"}, // a character that is cut
        {"expect y by \"ref\"", "neither \"LIBRARY:FUNCTION\" nor"},
        {"expect y by \"ref.so:f\"", "no bound can be derived here"},
        {"expect y by \"y.npy\" computed in half", "this is of formulas alone"},
        {"expect y as gemm(m=)", "a number or a name is wanted"},
        {"limit regs<=3", "the nearest is registers"},
        {"limit spills", "<= is wanted"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse(cases[i].line, cases[i].words);
    ck_assert(!bench_description_parse("\xff.txt", "", &description, reason));
    ck_assert_str_eq(reason, "?.txt: a description's path is UTF-8 text without control characters");
    parse("size n=1\n");
    ck_assert_ptr_nonnull(strstr(reason, "k.txt:1:1: a description begins with kernel"));
    parse("# nothing\n");
    ck_assert_ptr_nonnull(strstr(reason, "no kernel is described"));
    parse("kernel k\n global 1\n");
    ck_assert_ptr_nonnull(strstr(reason, "where its program is is not said"));
    parse("kernel k file=k.cl\n");
    ck_assert_ptr_nonnull(strstr(reason, "how many work-items run is not said"));
    parse("kernel k file=k.cl\n groups 1\n");
    ck_assert_ptr_nonnull(strstr(reason, "groups needs local"));
    parse("kernel k file=k.cl\n global 1\nkernel k file=k.cl\n global 1\n");
    ck_assert_ptr_nonnull(strstr(reason, "k.txt:3:1: k is described twice"));
    parse("kernel k file=k.cl colour=red\n");
    ck_assert_ptr_nonnull(strstr(reason, "colour is no key here"));
    parse("pipeline p\n step f() global 1 file=f.cl\n step g() global 1\n");
    ck_assert_ptr_nonnull(
        strstr(reason, "k.txt:1:1: g: where its program is is not said: write file=NAME.cl behind the"));
    parse("kernel k file=\n");
    ck_assert_ptr_nonnull(strstr(reason, "k.txt:1:15: file is wanted, and the line ends"));
    parse("kernel k file k.cl\n");
    ck_assert_ptr_nonnull(strstr(reason, "'=' is wanted before file, and 'k' stands there"));
    parse("pipeline p file=k.cl\n buffer b int[1] out\n step f(3) global 1\n");
    ck_assert_ptr_nonnull(strstr(reason, "the number's type is not said"));
    parse("kernel k file=k.cl options=\"-cl-fast-relaxed-math\"\n arg y global float[4] out\n global 4\n"
          " expect y[i] = i\n");
    ck_assert_ptr_nonnull(strstr(reason, "k.txt:4:1: -cl-fast-relaxed-math leaves open"));
}
END_TEST

// ---- what is compared ----

// The only kernel's only expectation, of a y before and after.
static bench_judgement judge(const char *lines, const void *before, const void *after)
{
    char text[1000];
    static bench_point point;
    bench_judgement judgement;
    static unsigned char touched[1 << 22];
    bool all = false;
    snprintf(text, sizeof text, "kernel k file=k.cl\n%s\n global 1\n", lines);
    parse(text);
    ck_assert_msg(description.count == 1, "%s", reason);
    const bench_spec *spec = description.specs[0];
    int64_t config[BENCH_MOST_CONFIGS] = {0};
    ck_assert_msg(bench_point_set(&point, spec, config, bench_spec_size(spec, 0), reason), "%s", reason);
    const bench_contents contents = {before, after};
    point.bindings[spec->buffers[0].symbol].data = before;
    memset(touched, 0, sizeof touched);
    bench_judgement_begin(&judgement);
    bench_judge_formula(&point, &spec->expectations[0], &contents, 1, touched, &all, &judgement);
    if (!all && judgement.is_right)
        bench_judge_untouched(&point, 0, &contents, touched, &judgement);
    bench_judgement_end(&judgement);
    return judgement;
}

// Clauses behind a formula take no name away: `in` is what many kernels call their input.
START_TEST(names)
{
    parse("kernel k file=k.cl\n size n=4\n arg in global float[n] in = ones\n arg within global float[n] out\n"
          " global n\n expect within[i] = 2*in[i] in any order within 2 ulp\n");
    ck_assert_msg(description.count == 1, "%s", reason);
    ck_assert(description.specs[0]->expectations[0].any_order);
}
END_TEST

START_TEST(comparing)
{
    const float before[4] = {1, 2, 3, 4}, doubled[4] = {2, 4, 6, 8}, wrong[4] = {2, 4, 6, 8.000001f};
    const float nan[4] = {2, 4, NAN, 8}, half[4] = {2, 2, 6, 4}, written[4] = {2, 2, 6, 5};
    static const char twice[] = " arg y global float[4] inout = ones\n expect y[i] = 2*y[i]";
    ck_assert(judge(twice, before, doubled).is_right);
    bench_judgement judgement = judge(twice, before, wrong);
    ck_assert(!judgement.is_right && judgement.wrong == 1 && judgement.checked == 4);
    ck_assert_str_eq(judgement.text, "y[3] is 8.00000095, and 8 is right");
    judgement = judge(twice, before, nan);
    ck_assert_msg(strstr(judgement.text, "y[2] is") && strstr(judgement.text, "nan"), "%s", judgement.text);
    // It is the next number.
    ck_assert(
        !judge(" arg y global float[4] inout = ones\n expect y[i] = 2*y[i] within 0.5 ulp", before, wrong).is_right);
    ck_assert(judge(" arg y global float[4] inout = ones\n expect y[i] = 2*y[i] within 1 ulp", before, wrong).is_right);
    ck_assert(judge(" arg y global float[4] inout = ones\n expect y[i] = 2*y[i] within 1e-5", before, wrong).is_right);
    ck_assert(judge(" arg y global float[4] inout = ones\n expect y[i] = 2*y[i] within 1e-6 relative", before, wrong)
                  .is_right);
    // Of every other element; those between are to stay.
    static const char even[] = " arg y global float[4] inout = ones\n expect y[2*i] = 2*y[2*i] for i<2";
    ck_assert(judge(even, before, half).is_right);
    judgement = judge(even, before, written);
    ck_assert_str_eq(judgement.text, "y[3] was written, and no expectation is of it");
    judgement = judge(" arg y global float[4] inout = ones\n expect y[2*i] = 1 for i<3", before, half);
    ck_assert_ptr_nonnull(strstr(judgement.text, "k.txt:3: the expectation is of element 4, and the buffer has 4"));
    // A bound as large as the number proves nothing.
    const float zeros[4] = {0, 0, 0, 0};
    judgement = judge(" arg y global float[4] inout = ones\n expect y[i] = y[i]/3 - y[i]/3", before, zeros);
    ck_assert(judgement.is_right && judgement.is_inconclusive);
    const int32_t counts[2] = {1, 2}, more[2] = {2, 3}, off[2] = {2, 4};
    static const char next[] = " arg y global int[2] inout = ones\n expect y[i] = y[i] + 1";
    ck_assert(judge(next, counts, more).is_right);
    judgement = judge(next, counts, off);
    ck_assert_str_eq(judgement.text, "y[1] is 4, and 3 is right");
    const uint8_t small[1] = {255}, wrapped[1] = {0};
    // Neighbours that are the same as doubles.
    const int64_t large[1] = {((int64_t)1 << 60) + 1};
    static const char longs[] = " arg y global long[1] out\n expect y[i] = 1 << 60";
    ck_assert(!judge(longs, large, large).is_right);
    ck_assert(judge(" arg y global long[1] out\n expect y[i] = 1 << 60 within 1", large, large).is_right);
    ck_assert(judge(" arg y global long[1] out\n expect y[i] = 1 << 60 within 1e300", large, large).is_right);
    ck_assert(!judge(" arg y global long[1] out\n expect y[i] = 1 << 60 within 1e-19 relative", large, large).is_right);
    ck_assert(judge(" arg y global long[1] out\n expect y[i] = 1 << 60 within 1e-18 relative", large, large).is_right);
    judgement = judge(" arg y global uchar[1] inout = ones\n expect y[i] = y[i] + 1", small, wrapped);
    ck_assert_ptr_nonnull(strstr(judgement.text, "uchar does not hold: write uchar(...)"));
    ck_assert(judge(" arg y global uchar[1] inout = ones\n expect y[i] = uchar(y[i] + 1)", small, wrapped).is_right);
}
END_TEST

// Samples find a wrong element beside a tile's edge, and NaN anywhere.
START_TEST(samples)
{
    enum { COUNT = 1 << 22 };
    float *before = malloc(COUNT * sizeof *before), *after = malloc(COUNT * sizeof *after);
    static const char text[] = " size n=4194304\n arg y global float[n] inout = ones\n"
                               " expect y[i] = y[i] + y[max(i-1, 0)] + y[min(i+1, n-1)] - 2*y[i]";
    ck_assert(before && after);
    for (int64_t i = 0; i < COUNT; i++)
        before[i] = after[i] = 1;
    bench_judgement judgement = judge(text, before, after);
    ck_assert_msg(judgement.is_right && judgement.checked < COUNT, "%s", judgement.text);
    after[COUNT - 1] = 2;
    ck_assert(!judge(text, before, after).is_right);
    after[COUNT - 1] = 1;
    after[1234567] = NAN;
    judgement = judge(text, before, after);
    ck_assert_str_eq(judgement.text, "y[1234567] is NaN, or was not written");
    before[1234567] = NAN; // as outputs are before a run
    judgement = judge(" size n=4194304\n arg y global float[n] out\n expect y[i] = sum(k<8, 0.125)", before, after);
    ck_assert_str_eq(judgement.text, "y[1234567] is NaN, or was not written");
    free(before);
    free(after);
}
END_TEST

// What was not written among whole numbers.
START_TEST(unwritten)
{
    enum { COUNT = 1 << 20 };
    uint8_t *before = malloc(COUNT), *after = malloc(COUNT);
    static const char text[] = " size n=1048576\n arg y global uchar[n] out\n expect y[i] = sum(k<8, k) - 21";
    ck_assert(before && after);
    bench_fill_poison(BENCH_ELEMENT_UCHAR, before, COUNT, 0);
    memset(after, 7, COUNT);
    bench_judgement judgement = judge(text, before, after);
    ck_assert_msg(judgement.is_right && judgement.checked < COUNT, "%s", judgement.text);
    after[123456] = before[123456];
    judgement = judge(text, before, after);
    ck_assert_str_eq(judgement.text, "y[123456] was not written: it holds what it held before the run");
    // The pattern may be what is right.
    memset(after, 166, COUNT);
    ck_assert(
        judge(" size n=1048576\n arg y global uchar[n] out\n expect y[i] = sum(k<8, k) + 138", before, after).is_right);
    free(before);
    free(after);
}
END_TEST

START_TEST(contents)
{
    static bench_point point;
    float real[1000];
    int32_t whole[1000];
    parse("kernel k file=k.cl\n size n=1000\n arg a global float[n] in = uniform(-1, 3)\n"
          " arg b global int[n] in = permutation\n arg c global int[n] in = each(i, 3*i % 7)\n"
          " arg d global int[n] in = integers(-2, 2)\n arg e global float[n] in = special\n"
          " arg f global float[n] in = normal(10, 2)\n arg g global int[n] in = integers(n - 3, 2*n/2)\n"
          " arg h global int[n] in = integers(n, 3)\n arg k global uchar[n] in = integers(0, n)\n global 1\n");
    ck_assert_msg(description.count == 1, "%s", reason);
    const bench_spec *spec = description.specs[0];
    ck_assert(bench_point_set(&point, spec, NULL, bench_spec_size(spec, 0), reason));
    ck_assert(bench_fill(&point, &description, 0, 1, real, reason));
    double least = 9, most = -9, sum = 0, squares = 0;
    for (int i = 0; i < 1000; i++) {
        least = fmin(least, real[i]);
        most = fmax(most, real[i]);
    }
    ck_assert_msg(least >= -1 && least < -0.9 && most < 3 && most > 2.9, "%g to %g", least, most);
    bool seen[1000] = {false};
    ck_assert(bench_fill(&point, &description, 1, 1, whole, reason));
    for (int i = 0; i < 1000; i++) {
        ck_assert(whole[i] >= 0 && whole[i] < 1000 && !seen[whole[i]]);
        seen[whole[i]] = true;
    }
    ck_assert(bench_fill(&point, &description, 2, 1, whole, reason));
    ck_assert(whole[0] == 0 && whole[1] == 3 && whole[3] == 2);
    int counts[5] = {0};
    ck_assert(bench_fill(&point, &description, 3, 1, whole, reason));
    for (int i = 0; i < 1000; i++)
        counts[whole[i] + 2]++;
    for (int i = 0; i < 5; i++)
        ck_assert_msg(counts[i] > 120, "%d of %d", counts[i], i - 2);
    ck_assert(bench_fill(&point, &description, 4, 1, real, reason));
    ck_assert(isnan(real[0]) && isinf(real[1]) && signbit(real[4]));
    ck_assert(bench_fill(&point, &description, 5, 1, real, reason));
    for (int i = 0; i < 1000; i++) {
        sum += (double)real[i];
        squares += (double)real[i] * (double)real[i];
    }
    const double mean = sum / 1000, deviation = sqrt(squares / 1000 - mean * mean);
    ck_assert_msg(fabs(mean - 10) < 0.3 && fabs(deviation - 2) < 0.2, "mean %g, deviation %g", mean, deviation);
    // Numbers that depend on the size.
    bool is_seen[4] = {false};
    ck_assert(bench_fill(&point, &description, 6, 1, whole, reason));
    for (int i = 0; i < 1000; i++) {
        ck_assert_msg(whole[i] >= 997 && whole[i] <= 1000, "%d", whole[i]);
        is_seen[whole[i] - 997] = true;
    }
    ck_assert(is_seen[0] && is_seen[1] && is_seen[2] && is_seen[3]);
    ck_assert(!bench_fill(&point, &description, 7, 1, whole, reason));
    ck_assert_msg(strstr(reason, ":10: the first number is above the second: 1000 and 3"), "%s", reason);
    ck_assert(!bench_fill(&point, &description, 8, 1, whole, reason));
    ck_assert_msg(strstr(reason, "uchar holds 0 to 255"), "%s", reason);
    // Other seeds and other names, other numbers.
    float other[1000];
    ck_assert(bench_fill(&point, &description, 5, 2, other, reason));
    ck_assert(memcmp(real, other, sizeof real) != 0);
}
END_TEST

// A file of NumPy, from its header's text and its bytes.
static bool read_npy(const char *header, const void *bytes, size_t size, bench_element element, int64_t count, void *to)
{
    unsigned char file[512] = "\x93NUMPY\x01";
    const size_t length = strlen(header);
    file[7] = 0;
    file[8] = (unsigned char)length;
    file[9] = 0;
    memcpy(file + 10, header, length);
    memcpy(file + 10 + length, bytes, size);
    return bench_npy_parse("f.npy", file, 10 + length + size, element, count, to, reason);
}

// Sums and let have names of their own, which have no place while a file is read.
START_TEST(names_in_contents)
{
    static bench_point point;
    int32_t whole[100];
    parse("kernel k file=k.cl\n arg a global int[100] in = integers(-max(k<3, k), let(t = 2, sum(k<t, t) - 3))\n"
          " arg b global float[4] in = uniform(-max(k<1, 1), 1)\n global 1\n");
    ck_assert_msg(description.count == 1, "%s", reason);
    ck_assert(bench_point_set(&point, description.specs[0], NULL, NULL, reason));
    ck_assert_msg(bench_fill(&point, &description, 0, 1, whole, reason), "%s", reason);
    int least = 9, most = -9;
    for (int i = 0; i < 100; i++) {
        least = whole[i] < least ? whole[i] : least;
        most = whole[i] > most ? whole[i] : most;
    }
    ck_assert_int_eq(least, -2);
    ck_assert_int_eq(most, 1);
}
END_TEST

START_TEST(numpy)
{
    const float numbers[] = {1, 2, 3, 4, 5, 6};
    float read[6];
    static const char right[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    ck_assert_msg(read_npy(right, numbers, sizeof numbers, BENCH_ELEMENT_FLOAT, 6, read), "%s", reason);
    ck_assert(!memcmp(numbers, read, sizeof read));
    ck_assert(!read_npy(right, numbers, sizeof numbers, BENCH_ELEMENT_INT, 6, read));
    ck_assert_ptr_nonnull(strstr(reason, "its elements are '<f4'"));
    ck_assert(!read_npy(right, numbers, sizeof numbers, BENCH_ELEMENT_FLOAT, 5, read));
    ck_assert_ptr_nonnull(strstr(reason, "it has 6 elements, and 5 are wanted"));
    ck_assert(!read_npy(right, numbers, sizeof numbers - 1, BENCH_ELEMENT_FLOAT, 6, read));
    ck_assert(!read_npy("{'descr': '>f4', 'fortran_order': False, 'shape': (6,), }", numbers, sizeof numbers,
                        BENCH_ELEMENT_FLOAT, 6, read));
    ck_assert(!read_npy("{'descr': '<f4', 'fortran_order': True, 'shape': (6,), }", numbers, sizeof numbers,
                        BENCH_ELEMENT_FLOAT, 6, read));
    ck_assert(!read_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (6", numbers, sizeof numbers,
                        BENCH_ELEMENT_FLOAT, 6, read));
    // As many as 64 bits do not hold: 2^40 times 2^40, and one that comes to 6 again.
    ck_assert(!read_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776), }", numbers,
                        0, BENCH_ELEMENT_FLOAT, 0, read));
    ck_assert_ptr_nonnull(strstr(reason, "it has -1 elements"));
    ck_assert(!read_npy("{'descr': '\xe9\x1b', 'fortran_order': False, 'shape': (6,), }", numbers, sizeof numbers,
                        BENCH_ELEMENT_FLOAT, 6, read));
    ck_assert_ptr_nonnull(strstr(reason, "its elements are '? "));
    ck_assert(!bench_npy_parse("f.npy", "short", 5, BENCH_ELEMENT_FLOAT, 6, read, reason));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("description");
    TCase *tcase = tcase_create("description");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_test(tcase, what_it_comes_to);
    tcase_add_test(tcase, elements_too_early);
    tcase_add_test(tcase, mistakes);
    tcase_add_test(tcase, names);
    tcase_add_test(tcase, comparing);
    tcase_add_test(tcase, samples);
    tcase_add_test(tcase, unwritten);
    tcase_add_test(tcase, contents);
    tcase_add_test(tcase, names_in_contents);
    tcase_add_test(tcase, numpy);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
