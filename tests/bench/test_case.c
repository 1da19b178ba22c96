// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/array.h"
#include "cases/data.h"
#include "cases/op.h"
#include "cases/ops.h"
#include "cases/parse.h"
#include "cases/size.h"
#include "cases/touched.h"
#include "cases/verdict.h"
#include "common/text.h"
#include "measure/cold.h"
#include "system/host.h"
#include "ref/random.h"
#include "ref/reduce/reduce.h"

static bench_case parse(const char *line)
{
    bench_case c;
    char reason[BENCH_REASON_TEXT] = "";
    ck_assert_msg(bench_case_parse(line, &c, reason), "%s: %s", line, reason);
    return c;
}

static void refuse(const char *line, const char *part)
{
    bench_case c;
    char reason[BENCH_REASON_TEXT] = "";
    ck_assert_msg(!bench_case_parse(line, &c, reason), "%s was accepted", line);
    ck_assert_msg(strstr(reason, part) != NULL, "%s: '%s' lacks '%s'", line, reason, part);
}

START_TEST(canonical_form_drops_defaults_and_orders_keys)
{
    static const char *const pairs[][2] = {
        {"gemm n=3 m=2 k=4", "gemm m=2 n=3 k=4"},
        {"gemm m=2 n=3 k=4 alpha=1.0 beta=0 ta=0 act=none dtype=f32", "gemm m=2 n=3 k=4"},
        {"gemm m=2 n=3 k=4 lda=4 ldb=3 ldc=5 bias=row", "gemm m=2 n=3 k=4 ldc=5 bias=1"},
        {"gemm m=2 n=3 k=4 ta=1 lda=2 beta=0.50", "gemm m=2 n=3 k=4 ta=1 beta=0.5"},
        {"conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1x1 stride=1 n=1", "conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1"},
        {"conv c=8 h=9 w=9 k=8 r=3 s=3 pad=0:1", "conv c=8 h=9 w=9 k=8 r=3 s=3 pad=0:1"},
        {"conv c=8 h=9 w=9 k=8 r=3 s=3 pad=1x2:1x2", "conv c=8 h=9 w=9 k=8 r=3 s=3 pad=1x2"},
        {"conv c=8 w=9 k=8 s=3 stride=2", "conv c=8 w=9 k=8 s=3 stride=2"},
        {"pool c=8 h=9 w=9 r=3 s=3 stride=3", "pool c=8 h=9 w=9 r=3 s=3"},
        {"pool c=8 h=9 w=9 r=3 s=2 stride=3x2 kind=avg", "pool kind=avg c=8 h=9 w=9 r=3 s=2"},
        {"softmax outer=1 axis=10 inner=1", "softmax outer=1 axis=10"},
        {"activation count=5", "activation count=5"},
        {"activation count=5 act=gelu", "activation count=5 act=gelu"},
        {"rnn hidden=4 input=3 b=2 t=1 cell=gru bias=1", "rnn cell=gru t=1 b=2 input=3 hidden=4"},
        {"  gemm\tm=1  n=1 k=0 \n", "gemm m=1 n=1 k=0"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        bench_case c = parse(pairs[i][0]);
        ck_assert_str_eq(c.canonical, pairs[i][1]);
        bench_case again = parse(c.canonical);
        ck_assert_str_eq(again.canonical, c.canonical);
    }
}
END_TEST

START_TEST(defaults_are_resolved)
{
    bench_case c = parse("gemm m=2 n=3 k=4 ta=1 tb=1");
    ck_assert_int_eq(c.as.gemm.lda, 2);
    ck_assert_int_eq(c.as.gemm.ldb, 4);
    ck_assert_int_eq(c.as.gemm.ldc, 3);
    c = parse("conv c=3 h=224 w=200 k=64 r=7 s=5 stride=2 pad=3x2");
    ck_assert_int_eq(c.as.conv.space, 2);
    ck_assert_int_eq(c.as.conv.in[0], 224);
    ck_assert_int_eq(c.as.conv.filter[1], 5);
    ck_assert_int_eq(c.as.conv.out[0], 112);
    ck_assert_int_eq(c.as.conv.out[1], 100);
    ck_assert_int_eq(c.as.conv.pad_end[0], 3);
    c = parse("conv c=3 d=8 h=9 w=10 k=4 t=1 r=2 s=3 stride=1x2x3");
    ck_assert_int_eq(c.as.conv.space, 3);
    ck_assert_int_eq(c.as.conv.filter[0], 1);
    ck_assert_int_eq(c.as.conv.out[2], 3);
    c = parse("pool c=3 h=112 w=112 r=3 s=3 stride=2 pad=1");
    ck_assert_int_eq(c.as.pool.out[0], 56);
    c = parse("pool c=3 h=5 w=5 r=2 s=2 ceil=1");
    ck_assert_int_eq(c.as.pool.out[0], 3);
    c = parse("pool kind=avg c=3 h=7 w=9 global=1");
    ck_assert_int_eq(c.as.pool.window[1], 9);
    ck_assert_int_eq(c.as.pool.out[1], 1);
    c = parse("rnn cell=lstm t=2 b=3 input=4 hidden=5 bidir=1");
    ck_assert_int_eq(c.as.rnn.gates, 4);
    ck_assert_int_eq(c.as.rnn.directions, 2);
}
END_TEST

START_TEST(mistakes_are_refused_with_the_nearest_spelling)
{
    refuse("gem m=1 n=1 k=1", "'gemm'");
    refuse("sofmax outer=1 axis=1", "'softmax'");
    refuse("gemm m=1 n=1 k=1 apha=2", "'alpha'");
    refuse("gemm m=1 n=1 k=1 act=rleu", "act=relu");
    refuse("rnn cell=lsmt t=1 b=1 input=1 hidden=1", "cell=lstm");
    refuse("conv c=1 h=4 w=4 k=1 r=1 s=1 dtype=fp16", "dtype=f16");
    refuse("gemm m=1 n=1", "k is required");
    refuse("gemm m=1 n=1 k=1 m=2", "twice");
    refuse("gemm m=1 n=1 k", "k needs a value");
    refuse("gemm m=1 n=1 k=", "k needs a value");
    refuse("gemm m=x n=1 k=1", "whole number");
    refuse("gemm m=-1 n=1 k=1", "at least 0");
    refuse("gemm m=99999999999999999999 n=1 k=1", "m=99999999999999999999: too large");
    refuse("gemm m=-99999999999999999999 n=1 k=1", "at least 0");
    refuse("gemm m=9999999999999999 n=1 k=1", "too large, 1099511627776 is the most");
    refuse("matmul m=1 n=1 k=1", "unknown operator 'matmul'; the nearest is 'gemm'");
    refuse("LSTM hidden=1", "the nearest is 'rnn cell=lstm'");
    refuse("conv2d c=1", "the nearest is 'conv'");
    refuse("gemm m=1 n=4 k=1 ldc=3", "ldc=3 is less");
    refuse("gemm m=1 n=1 k=1 alpha=nan", "number");
    refuse("conv c=4 h=4 w=4 k=4 r=3 s=3 stride=1x1x1", "2 dimensions");
    refuse("conv c=4 h=4 w=4 k=4 r=5 s=5", "larger");
    refuse("conv c=4 h=4 w=4 k=4 r=3 s=3 groups=3", "multiples");
    refuse("conv c=4 h=4 w=4 k=4 s=3", "r is required");
    refuse("conv c=4 w=4 k=4 r=3 s=3", "no h");
    refuse("conv c=4 h=4 w=4 k=4 r=3 s=3 stride=0", "at least 1");
    refuse("pool c=4 h=4 w=4 r=2 s=2 pad=2", "less than the window");
    refuse("pool kind=avg c=4 h=4 w=4 r=2 s=2 indices=1", "max");
    refuse("pool c=4 h=4 w=4 global=1 r=2 s=2", "global");
    refuse("rnn cell=lstm t=1 b=1 input=1 hidden=1 reset=before", "gru");
    refuse("rnn cell=gru t=1 b=1 input=1 hidden=1 layers=17 dir=bwd", "at most 16");
    refuse("binary rows=1 columns=1 op=less dir=bwd", "less has no gradient");
    refuse("", "empty");
}
END_TEST

START_TEST(work_is_counted_by_the_definition)
{
    bench_case c = parse("gemm m=10 n=20 k=30 batch=2");
    ck_assert_double_eq(bench_case_flops(&c), 2.0 * 2 * 10 * 20 * 30);
    ck_assert_double_eq(bench_case_bytes(&c), 4.0 * 2 * (300 + 600 + 200));
    c = parse("conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1");
    ck_assert_double_eq(bench_case_flops(&c), 2.0 * 56 * 56 * 64 * 64 * 9);
    c = parse("conv c=32 h=112 w=112 k=32 r=3 s=3 pad=1 groups=32");
    ck_assert_double_eq(bench_case_flops(&c), 2.0 * 112 * 112 * 32 * 9);
    c = parse("rnn cell=lstm t=5 b=3 input=7 hidden=11");
    ck_assert_double_eq(bench_case_flops(&c), 2.0 * 5 * 3 * 4 * 11 * (7 + 11));
    c = parse("rnn cell=gru t=5 b=3 input=7 hidden=11 layers=2 bidir=1");
    ck_assert_double_eq(bench_case_flops(&c), 2.0 * 5 * 3 * 3 * 11 * 2 * ((7 + 11) + (22 + 11)));
    c = parse("softmax outer=3 axis=10");
    ck_assert_double_eq(bench_case_bytes(&c), 8.0 * 30);
    c = parse("embedding lookups=10 rows=40 columns=8"); // indices, what is read, what is written
    ck_assert_double_eq(bench_case_bytes(&c), 4.0 * (10 + 80 + 80));
    c = parse("embedding lookups=100 rows=4 columns=8"); // a table of four rows is read once
    ck_assert_double_eq(bench_case_bytes(&c), 4.0 * (100 + 32 + 800));
    ck_assert(bench_case_is_bandwidth(&c));
}
END_TEST

typedef struct known {
    const char *line;
    double bytes;
} known;

static void expect_bytes(const known *counts, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const bench_case c = parse(counts[i].line);
        ck_assert_msg(bench_case_bytes(&c) == counts[i].bytes, "%s: %.17g bytes, not %.17g", counts[i].line,
                      bench_case_bytes(&c), counts[i].bytes);
    }
}

// Labels, indices, conditions and what is kept in f32 have the size they have, whatever the dtype.
START_TEST(bytes_have_the_size_of_their_dtype)
{
    const double n = 1 << 20;
    const known counts[] = {
        {"gemm m=10 n=20 k=30 bias=1 dtype=f16", 2 * (300 + 600 + 200 + 20)},
        {"conv c=3 h=9 w=9 k=5 r=3 s=3 bias=1 dtype=bf16", 2 * (243 + 135 + 245 + 5)},
        {"activation count=1048576 dtype=f16", 4 * n},
        {"activation count=1048576 dtype=f16 dir=bwd", 6 * n},
        {"unary count=1048576 dtype=f64", 16 * n},
        {"binary rows=1024 columns=1024 b=row dtype=f16", 2 * (2 * n + 1024)},
        {"copy rows=1024 columns=1024 dtype=f16", 4 * n},
        {"concat a=512 b=512 inner=1024 dtype=f16", 4 * n},
        {"dropout count=1048576 dtype=f16", 4 * n},
        {"rotary heads=16 length=1024 d=64 dtype=f16", 4 * n},
        {"softmax outer=1024 axis=1024 dtype=bf16 dir=bwd", 6 * n},
        {"pad h=10 w=10 width=1 dtype=f16", 2 * (100 + 144)},
        {"where rows=1024 columns=1024 dtype=f16", 7 * n},
        {"where rows=1024 columns=1024 dtype=f16 numbers=1", 8 * n},
        {"pool c=64 h=112 w=112 r=3 s=3 stride=2 pad=1 indices=1 dtype=f16", 2809856},
        {"pool c=64 h=112 w=112 r=3 s=3 stride=2 pad=1 indices=1 dtype=f64", 8830976},
        {"pool c=64 h=112 w=112 r=3 s=3 stride=2 pad=1 indices=1 dtype=f16 dir=bwd", 2809856},
        {"pool c=64 h=112 w=112 r=3 s=3 stride=2 pad=1 dtype=f16 dir=bwd", 2 * (2 * 802816 + 200704)},
        {"loss n=65536 c=2 reduction=none dtype=bf16", 655360},
        {"loss n=65536 c=2 reduction=none probabilities=1 dtype=bf16", 655360},
        {"loss n=65536 c=2 reduction=none dtype=bf16 dir=bwd", 917504},
        {"embedding lookups=65536 rows=1024 columns=1 dtype=f16", 395264},
        {"embedding lookups=65536 rows=1024 columns=1 dtype=f64 dir=bwd", 262144 + 8 * 66560},
        {"one_hot labels=100 classes=10 dtype=f16", 400 + 2000},
        {"reduce outer=100 axis=10 dtype=f16", 2 * 1100},
        {"reduce outer=100 axis=10 kind=argmax dtype=f16", 2000 + 400},
        {"reduce outer=100 axis=10 kind=max dtype=f16 dir=bwd", 2 * 2100},
        {"attention heads=2 length=10 keys=20 d=4 e=5 dtype=f16", 2 * 2 * (10 + 20) * 9},
        // q, k, v, y, dy and log_sum_exp; dq, dk and dv
        {"attention heads=2 length=10 keys=20 d=4 e=5 dir=bwd", 2 * 4 * (2 * (10 + 20) * 9 + 10)},
        {"attention heads=2 length=10 keys=20 d=4 e=5 dtype=f16 dir=bwd", 2 * (2 * 2 * (10 + 20) * 9 + 4 * 10)},
        {"attention heads=2 length=10 keys=20 d=4 e=5 dtype=f64 dir=bwd", 2 * 8 * (2 * (10 + 20) * 9 + 10)},
        {"rnn cell=relu t=5 b=3 input=7 hidden=11 bias=0 dtype=f16", 2 * (18 * 11 + 15 * 18)},
        // twice the weights, x, y, dx, dy; the reserve
        {"rnn cell=relu t=5 b=3 input=7 hidden=11 bias=0 dtype=f16 dir=bwd", 4 * (18 * 11 + 15 * 18) + 4 * 15 * 11},
        {"rnn cell=relu t=5 b=3 input=7 hidden=11 bias=0 dtype=f64 dir=bwd", 16 * (18 * 11 + 15 * 18) + 8 * 15 * 11},
    };
    expect_bytes(counts, sizeof counts / sizeof *counts);
}
END_TEST

// What an operator need not read is not counted, however large the operand is.
START_TEST(bytes_that_nobody_reads_are_not_counted)
{
    const known counts[] = {
        {"attention heads=8 length=1 keys=65536 causal=top_left d=128", 4 * 8 * 128 * (2 + 2 * 1)},
        {"attention heads=8 length=16 keys=65536 causal=top_left d=64", 4 * 8 * 64 * (2 * 16 + 2 * 16)},
        {"attention heads=8 length=16 keys=65536 causal=bottom_right d=64", 4 * 8 * 64 * (2 * 16 + 2 * 65536)},
        {"attention heads=8 length=65536 keys=16 causal=bottom_right d=64", 4 * 8 * 64 * (16 + 65536 + 2 * 16)},
        // q, y, dy, k, v and log_sum_exp of what sees and is seen; dq, dk, dv of all
        {"attention heads=8 length=2 keys=64 causal=top_left d=4 dir=bwd",
         4 * 8 * (4 * (3 * 2 + 2 * 2 + 2 + 2 * 64) + 2)},
        {"pool c=64 h=512 w=512 r=1 s=1 stride=16", 4 * 64 * (32 * 512 + 32 * 32)},
        {"pool c=64 h=512 w=512 r=1 s=1 stride=16 layout=nhwc", 4 * 64 * (32 * 32 + 32 * 32)},
        {"pool c=64 h=512 w=512 r=1 s=1 stride=16 dir=bwd", 4 * 64 * (32 * 512 + 512 * 512 + 32 * 32)},
        {"pool kind=avg c=64 h=512 w=512 r=1 s=1 stride=16 dir=bwd", 4 * 64 * (512 * 512 + 32 * 32)},
        {"pool c=64 h=512 w=512 r=1 s=1 stride=64", 4 * 64 * (8 * 8 * 16 + 8 * 8)}, // a line each
        {"conv c=64 k=1 h=512 w=512 r=1 s=1 stride=16", 4 * (64 * 32 * 512 + 64 + 32 * 32)},
        {"conv c=64 k=1 h=512 w=512 r=1 s=1 stride=16 dir=bwd_weight", 4 * (64 * 32 * 512 + 64 + 32 * 32)},
        {"conv c=64 k=1 h=512 w=512 r=1 s=1 stride=16 dir=bwd_data", 4 * (64 * 512 * 512 + 64 + 32 * 32)},
        {"conv c=1 k=1 h=64 w=64 r=3 s=3 pad=1", 4 * (64 * 64 + 9 + 64 * 64)},
        {"quantized_conv c=64 k=1 h=512 w=512 r=1 s=1 stride=16 y=i32", 64 * 32 * 512 + 64 + 4 * 32 * 32},
        {"pad h=1 w=1 width=1000 dir=bwd", 8},
        {"pad h=1 w=1 width=1000 mode=replicate dir=bwd", 4 * (1 + 2001.0 * 2001)},
        {"activation count=100 act=none dir=bwd", 800},
        {"unary count=100 op=negate dir=bwd", 800},
        {"unary count=100 op=floor dir=bwd", 400},
        {"loss n=100 c=1000 kind=negative_log", 4 * (100 + 100 + 1)},
        // Nothing is written, or zeros alone.
        {"gemm m=0 n=2048 k=2048", 0},
        {"gemm m=0 n=20 k=30 bias=1 dir=bwd", 4 * (20 * 30 + 20)},
        {"conv c=64 h=512 w=512 k=0 r=1 s=1", 0},
        {"conv n=0 c=6 h=5 w=5 k=4 r=3 s=3 dir=bwd_weight", 4 * 6 * 4 * 9},
        {"conv c=6 h=5 w=5 k=0 r=3 s=3 dir=bwd_data", 4 * 6 * 25},
        {"quantized_gemm m=0 n=2048 k=2048", 0},
        {"quantized_conv n=0 c=64 k=64 h=5 w=5 r=3 s=3", 0},
        {"binary rows=0 columns=1000 b=row", 0},
        {"binary rows=0 columns=1000 b=row op=multiply dir=bwd", 4000},
        {"rnn cell=lstm t=0 b=1 input=1024 hidden=1024", 0},
        {"rnn cell=relu t=0 b=1 input=7 hidden=11 bias=0 dir=bwd", 4 * 18 * 11},
    };
    expect_bytes(counts, sizeof counts / sizeof *counts);
    // Memory for all of it is there all the same.
    bench_case c = parse("attention heads=8 length=1 keys=65536 causal=top_left d=128");
    ck_assert_double_eq(bench_case_operands(&c), 4.0 * 8 * 128 * (2 + 2 * 65536));
    c = parse("pool c=64 h=512 w=512 r=1 s=1 stride=16");
    ck_assert_double_eq(bench_case_operands(&c), 4.0 * 64 * (512 * 512 + 32 * 32));
    c = parse("gemm m=0 n=2048 k=2048");
    ck_assert_double_eq(bench_case_operands(&c), 4.0 * 2048 * 2048);
    c = parse("embedding lookups=1 rows=1000 columns=8");
    ck_assert_double_eq(bench_case_operands(&c), 4.0 * (1 + 8 + 8000));
}
END_TEST

// Steps past a sequence's end are not read; y there is written.
START_TEST(sequences_are_read_to_their_ends)
{
    const bench_case c = parse("rnn cell=relu t=20 b=5 input=7 hidden=11 bias=0 lengths=1"),
                     back = parse("rnn cell=relu t=20 b=5 input=7 hidden=11 bias=0 lengths=1 dir=bwd");
    const double weights = 18 * 11, steps = bench_case_flops(&c) / (2 * weights),
                 back_steps = bench_case_flops(&back) / (4 * weights);
    ck_assert_double_lt(steps, 100);
    ck_assert_double_eq(bench_case_bytes(&c), 4 * (weights + steps * 7 + 100 * 11));
    ck_assert_double_eq(bench_case_operands(&c), 4 * (weights + 100 * 18 + 5 * 11)); // with the states at the ends
    ck_assert_double_eq(bench_case_bytes(&back), 4 * (2 * weights + back_steps * (7 + 3 * 11) + 100 * 7));
}
END_TEST

// Position by position: which of them windows touch, and which share a line with one that is touched.
static void check_touched(const int64_t a[6], int64_t line)
{
    enum { MOST = 64 };
    const bench_windows windows = {1, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], 64.0 / (double)line};
    bool is_touched[MOST] = {false}, is_moved[MOST] = {false};
    double touched = 0, moved = 0;
    for (int64_t o = 0; o < a[5]; o++) {
        for (int64_t k = 0; k < a[1]; k++) {
            const int64_t at = o * a[2] + k * a[4] - a[3];
            if (at < 0 || at >= a[0])
                continue;
            is_touched[at] = true;
            for (int64_t i = at; i < a[0] && i < at + line; i++)
                is_moved[i] = true;
        }
    }
    for (int64_t i = 0; i < a[0]; i++) {
        touched += is_touched[i];
        moved += is_moved[i];
    }
    const double made = bench_touched(&windows), most = fmin(touched * (double)line, (double)a[0]);
    const bool is_exact = line == 1 || (a[3] == 0 && (a[2] <= line || a[4] <= line));
    ck_assert_msg(made >= moved && made <= most && (!is_exact || made == moved),
                  "in=%d window=%d stride=%d pad=%d dilation=%d out=%d, %d a line: %g, not %g", (int)a[0], (int)a[1],
                  (int)a[2], (int)a[3], (int)a[4], (int)a[5], (int)line, made, moved);
}

START_TEST(windows_touch_what_they_touch)
{
    for (int64_t i = 0; i < 20000; i++) {
        husk_ref_random draw = {.seed = 0x746f7563 + (uint64_t)i};
#define BELOW(limit) ((int64_t)husk_ref_random_below(&draw, limit))
        int64_t a[6] = {1 + BELOW(60), 1 + BELOW(7), 1 + BELOW(12), BELOW(3) ? 0 : BELOW(8), 1 + BELOW(9), 1};
        const int64_t room = a[0] + a[3] + (BELOW(2) ? a[3] : 0) - (a[4] * (a[1] - 1) + 1);
        if (room < 0)
            continue;
        a[5] = room / a[2] + 1;
        check_touched(a, 1);
        check_touched(a, 4);
#undef BELOW
    }
}
END_TEST

// What each row of queries sees, row by row.
static double seen(int64_t length, int64_t keys, int64_t shift)
{
    double all = 0;
    for (int64_t i = 0; i < length; i++)
        all += fmin(fmax((double)(i + shift + 1), 0), (double)keys);
    return all;
}

START_TEST(causal_attention_counts_what_rows_see)
{
    char line[BENCH_CASE_TEXT];
    for (int64_t length = 1; length <= 9; length++) {
        for (int64_t keys = 1; keys <= 9; keys++) {
            const double top_left = seen(length, keys, 0), bottom_right = seen(length, keys, keys - length);
            snprintf(line, sizeof line, "attention n=2 heads=3 length=%d keys=%d d=4 e=5 causal=", (int)length,
                     (int)keys);
            const size_t end = strlen(line);
            strcpy(line + end, "top_left");
            bench_case c = parse(line);
            ck_assert_double_eq(bench_case_flops(&c), 2.0 * 2 * 3 * top_left * (4 + 5));
            strcpy(line + end, "bottom_right");
            c = parse(line);
            ck_assert_double_eq(bench_case_flops(&c), 2.0 * 2 * 3 * bottom_right * (4 + 5));
            strcpy(line + end, "none dir=bwd");
            c = parse(line);
            ck_assert_double_eq(bench_case_flops(&c), 2.0 * 2 * 3 * (double)(length * keys) * (3 * 4 + 2 * 5));
        }
    }
}
END_TEST

START_TEST(layers_count_each_with_its_input)
{
    char line[BENCH_CASE_TEXT];
    for (int layers = 1; layers <= 5; layers++) {
        for (int directions = 1; directions <= 2; directions++) {
            double inputs = 0;
            for (int layer = 0; layer < layers; layer++)
                inputs += (layer ? directions * 11 : 7) + 11;
            const double weights = inputs * 3 * 11 * directions, biases = 2.0 * layers * directions * 3 * 11;
            snprintf(line, sizeof line, "rnn cell=gru t=5 b=2 input=7 hidden=11 layers=%d bidir=%d", layers,
                     directions - 1);
            bench_case c = parse(line);
            ck_assert_double_eq(bench_case_flops(&c), 2.0 * 5 * 2 * weights);
            ck_assert_double_eq(bench_case_bytes(&c), 4 * (weights + biases + 5 * 2 * (7 + directions * 11)));
            strcat(line, " dir=bwd");
            c = parse(line);
            ck_assert_double_eq(bench_case_flops(&c), 4.0 * 5 * 2 * weights);
            const double reserve = 4.0 * layers * directions * 5 * 2 * 11;
            ck_assert_double_eq(bench_case_bytes(&c),
                                4 * (2 * weights + biases + 2 * 5 * 2 * (7 + directions * 11) + reserve));
        }
    }
}
END_TEST

// The sizes of a case nobody can run are there at once, too, and no count wraps around.
START_TEST(large_cases_are_counted_at_once)
{
    bench_case c = parse("attention heads=2 length=68738721640 keys=40 d=6 causal=bottom_right");
    ck_assert_double_eq(bench_case_flops(&c), 2.0 * 2 * (40 * 41 / 2) * 12);
    c = parse("attention heads=1 length=1099511627776 keys=3 d=1 causal=top_left");
    ck_assert_double_eq(bench_case_flops(&c), 2 * (1 + 2 + 3 * (0x1p40 - 2)) * 2);
    c = parse("rnn cell=lstm t=1 b=1 input=1 hidden=1099511627776 layers=1099511627776 bidir=1");
    ck_assert_double_eq_tol(bench_case_flops(&c) / (2 * 8 * 3 * 0x1p120), 1, 1e-9);
    ck_assert_double_ge(bench_case_bytes(&c), 4 * 8 * 3 * 0x1p120);
    c = parse("rnn cell=gru t=1099511627776 b=1099511627776 input=1 hidden=1099511627776 layers=16 dir=bwd");
    ck_assert_double_ge(bench_case_bytes(&c), 4 * 4 * 16 * 0x1p120);
    c = parse("conv c=1 w=1099511627776 k=1 s=549755813888 stride=549755813887 dilation=2");
    ck_assert_double_le(bench_case_bytes(&c), bench_case_operands(&c));
    c = parse("conv c=1 w=1099511627776 k=1 s=1048575 stride=1048573 dilation=1048571");
    ck_assert_double_le(bench_case_bytes(&c), bench_case_operands(&c));
}
END_TEST

START_TEST(data_is_a_function_of_the_case)
{
    char reason[BENCH_REASON_TEXT];
    bench_case plain = parse("gemm m=5 n=6 k=7 lda=9 beta=1"), packed = parse("gemm m=5 n=6 k=7 lda=9 beta=1 packed=1");
    bench_case other = parse("gemm m=5 n=6 k=7 lda=9 beta=2");
    bench_data a, b, c;
    ck_assert(bench_data_make(&plain, &a, reason) && bench_data_make(&packed, &b, reason) &&
              bench_data_make(&other, &c, reason));
    const float *x = a.x.data;
    ck_assert_int_eq(a.x.count, 4 * 9 + 7);
    ck_assert(isnan(x[7]) && isnan(x[8]) && !isnan(x[9]));
    ck_assert_mem_eq(a.w.data, b.w.data, (size_t)bench_array_bytes(&a.w));
    ck_assert(memcmp(a.w.data, c.w.data, (size_t)bench_array_bytes(&a.w)) != 0);
    ck_assert(!isnan(((float *)a.y.data)[0]));
    bench_data_free(&plain, &a);
    bench_data_free(&packed, &b);
    bench_data_free(&other, &c);
}
END_TEST

// Layouts and strides change where a number lies, not which one it is.
START_TEST(data_is_the_same_in_both_layouts)
{
    bench_array nchw, nhwc;
    int64_t shape[4] = {2, 3, 4, 5};
    ck_assert(bench_array_make_layout(&nchw, BENCH_NCHW, 4, shape));
    ck_assert(bench_array_make_layout(&nhwc, BENCH_NHWC, 4, shape));
    bench_array_fill(&nchw, 7, 1);
    bench_array_fill(&nhwc, 7, 1);
    for (int64_t i = 0; i < 120; i++) {
        int64_t n = i / 60, c = i / 20 % 3, p = i % 20;
        ck_assert_float_eq(((float *)nchw.data)[i], ((float *)nhwc.data)[n * 60 + p * 3 + c]);
    }
    bench_array_free(&nchw);
    bench_array_free(&nhwc);
}
END_TEST

// What is allocated for one set of operands and its results.
static double allocated(const bench_case *c)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_data data;
    bench_output output;
    ck_assert_msg(bench_data_make(c, &data, reason), "%s: %s", c->canonical, reason);
    ck_assert_msg(bench_output_make(c, &data, &output, reason), "%s: %s", c->canonical, reason);
    const bench_array *const arrays[] = {&data.x,  &data.w,  &data.bias,      &data.y,     &data.dy,   &data.lengths,
                                         &data.h0, &data.c0, &output.indices, &output.h_n, &output.c_n};
    double bytes = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        bytes += (double)bench_array_bytes(arrays[i]);
    for (size_t i = 0; i < BENCH_SAVED; i++)
        bytes += (double)bench_array_bytes(&data.saved[i]);
    for (size_t i = 0; i < BENCH_GRADIENTS; i++)
        bytes += (double)bench_array_bytes(&output.gradients[i]);
    for (int64_t i = 0; i < data.layer_count; i++) {
        const bench_rnn_weights *layer = &data.layers[i];
        bytes += (double)(bench_array_bytes(&layer->input) + bench_array_bytes(&layer->hidden) +
                          bench_array_bytes(&layer->input_bias) + bench_array_bytes(&layer->hidden_bias));
    }
    bench_output_free(&output);
    bench_data_free(c, &data);
    return bytes;
}

// Gaps between rows, rows that nothing looks up, states: they need not move, and are there.
START_TEST(operands_are_what_is_allocated)
{
    static const char *const lines[] = {
        "gemm m=300 n=1 k=1 lda=10000",
        "gemm m=1 n=300 k=1 ta=1 tb=1 ldb=20000",
        "gemm m=64 n=64 k=64 lda=1000 ldb=2000 ldc=500 batch=3 dtype=f16",
        "gemm m=64 n=8 k=64 ldc=500 bias=1 packed=1 dtype=bf16",
        "gemm m=64 n=64 k=64 lda=1000 ldb=2000 ldc=500 dir=bwd act=gelu beta=1 bias=1",
        "embedding lookups=3 rows=3000 columns=50",
        "embedding lookups=3000 rows=30 columns=50 dtype=f16",
        "embedding lookups=3 rows=3000 columns=50 dir=bwd",
        "loss n=19 c=1000 kind=negative_log",
        "loss n=19 c=1000 kind=negative_log dir=bwd",
        "rnn cell=lstm t=1 b=100 input=10 hidden=20 layers=9 state=1",
        "rnn cell=gru t=1 b=100 input=10 hidden=20 layers=9 state=1 dir=bwd",
        "softmax outer=300 axis=40",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const bench_case c = parse(lines[i]);
        const double is = allocated(&c), said = bench_case_operands(&c);
        ck_assert_msg(said >= 0.9 * is && said <= 1.3 * is, "%s: %.0f bytes, not %.0f", lines[i], is, said);
    }
    for (int k = 0; k < BENCH_OP_COUNT; k++) {
        const bench_op *op = bench_op_get((bench_op_kind)k);
        char line[BENCH_CASE_TEXT];
        for (int64_t i = 0; op->generate && op->generate(i, line); i += 3) { // small ones, for the sake of time
            const bench_case c = parse(line);
            const double said = bench_case_operands(&c), is = said < 16384 ? allocated(&c) : 0;
            ck_assert_msg(is <= 2.5 * said + 256, "%s: %.0f bytes, not %.0f", line, is, said);
        }
    }
}
END_TEST

START_TEST(cold_copies_fit_in_memory)
{
    const bench_case narrow = parse("gemm m=64 n=64 k=64"), far = parse("gemm m=64 n=64 k=64 lda=10000"),
                     large = parse("gemm m=4096 n=4096 k=4096"), tiny = parse("softmax outer=1 axis=1");
    const double cache = 32e6, room = 1e9;
    const int copies = bench_cold_copies(&narrow, cache, room);
    ck_assert_double_ge(copies * bench_case_bytes(&narrow), 2 * cache);
    ck_assert_int_eq(bench_cold_copies(&far, cache, room), 0); // its rows are as many bytes, 600 times as far apart
    ck_assert_int_eq(bench_cold_copies(&far, cache, 1e11), copies);
    ck_assert_int_eq(bench_cold_copies(&large, cache, room), 2);
    ck_assert_int_eq(bench_cold_copies(&large, cache, 3e8), 0);
    ck_assert_int_eq(bench_cold_copies(&tiny, cache, room), 0);
}
END_TEST

// Before it is allocated: a system that gives more than it has takes it from others later.
START_TEST(memory_is_asked_for_as_much_as_is_allocated)
{
    static const char *const lines[] = {
        "gemm m=100000 n=1 k=1 lda=1000000000",
        "embedding lookups=1 rows=1000000000000 columns=100",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char reason[BENCH_REASON_TEXT] = "";
        const bench_case c = parse(lines[i]);
        bench_data data;
        ck_assert(!bench_data_make(&c, &data, reason));
        if (bench_host_free_memory("") > 0)
            ck_assert_msg(strstr(reason, "memory does not suffice: it takes 7") == reason && strstr(reason, "TiB"),
                          "%s", reason);
    }
}
END_TEST

static bench_verdict verdict_of(const bench_case *c, const bench_data *data, const bench_output *output)
{
    const bench_verify_options options = {.seed = 1};
    bench_verdict verdict;
    bench_verdict_begin(&verdict);
    bench_op_get(c->op)->verify(c, data, output, &options, &verdict);
    return verdict;
}

// Of however many factors: what is right proves something, and zeros are wrong.
START_TEST(long_products_are_of_ordinary_size)
{
    static const char *const lines[] = {
        "reduce outer=64 axis=1 kind=product",
        "reduce outer=64 axis=256 kind=product",
        "reduce outer=64 axis=1024 kind=product",
        "reduce outer=20 axis=50000 kind=product",
        "reduce outer=30 axis=64 inner=40 kind=product ends=1",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char reason[BENCH_REASON_TEXT] = "";
        const bench_case c = parse(lines[i]);
        bench_data data;
        bench_output output;
        ck_assert_msg(bench_data_make(&c, &data, reason), "%s", reason);
        ck_assert_msg(bench_output_make(&c, &data, &output, reason), "%s", reason);
        husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_PRODUCT);
        params.axis_count = c.as.reduce.ends ? 2 : 1;
        params.axes[0] = c.as.reduce.ends ? 0 : 1;
        params.axes[1] = c.as.reduce.ends ? 2 : 0;
        const husk_ref_array x = bench_ref_array(&data.x), y = bench_ref_array(&output.y);
        const husk_ref_reduce op = {.params = &params, .x = &x};
        husk_ref_reduce_run(&op, &y);
        bench_verdict verdict = verdict_of(&c, &data, &output);
        ck_assert_msg(verdict.pass && !verdict.inconclusive, "%s: %s", lines[i], verdict.text);
        for (int64_t k = 0; k < output.y.count; k++) {
            const double size = fabs((double)((const float *)output.y.data)[k]);
            ck_assert_msg(size > 1e-6 && size < 1e6, "%s: %g", lines[i], size);
        }
        memset(output.y.data, 0, (size_t)bench_array_bytes(&output.y));
        verdict = verdict_of(&c, &data, &output);
        ck_assert_msg(!verdict.pass, "%s: zeros are right", lines[i]);
        bench_output_free(&output);
        bench_data_free(&c, &data);
    }
}
END_TEST

START_TEST(generated_configurations_parse_and_differ)
{
    for (int kind = 0; kind < BENCH_OP_COUNT; kind++) {
        const bench_op *op = bench_op_get((bench_op_kind)kind);
        char line[BENCH_CASE_TEXT];
        int64_t count = 0;
        for (; op->generate(count, line); count++) {
            const bench_case c = parse(line);
            ck_assert_msg(bench_case_bytes(&c) <= bench_case_operands(&c), "%s", line);
        }
        ck_assert_msg(count >= 30, "%s generates %d configurations", op->name, (int)count);
    }
}
END_TEST

START_TEST(numbers_and_words)
{
    ck_assert_uint_eq(bench_edit_distance("kitten", "sitting"), 3);
    ck_assert_uint_eq(bench_edit_distance("rleu", "relu"), 1);
    ck_assert_uint_eq(bench_edit_distance("", "abc"), 3);
    double seconds;
    ck_assert(bench_parse_duration("60s", &seconds) && seconds == 60);
    ck_assert(bench_parse_duration("250ms", &seconds) && seconds == 0.25);
    ck_assert(bench_parse_duration("1.5m", &seconds) && seconds == 90);
    ck_assert(!bench_parse_duration("5x", &seconds));
    ck_assert(!bench_parse_duration("-1", &seconds));
    ck_assert(!bench_parse_duration("", &seconds));
    char text[40];
    bench_format_ns(1234, text, sizeof text);
    ck_assert_str_eq(text, "1.23 us");
    bench_format_ns(999.7e3, text, sizeof text);
    ck_assert_str_eq(text, "1.00 ms");
    bench_format_real((double)0.1f, text, sizeof text);
    ck_assert_double_eq(strtod(text, NULL), (double)0.1f);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("case");
    tcase_add_test(tests, canonical_form_drops_defaults_and_orders_keys);
    tcase_add_test(tests, defaults_are_resolved);
    tcase_add_test(tests, mistakes_are_refused_with_the_nearest_spelling);
    tcase_add_test(tests, work_is_counted_by_the_definition);
    tcase_add_test(tests, bytes_have_the_size_of_their_dtype);
    tcase_add_test(tests, bytes_that_nobody_reads_are_not_counted);
    tcase_add_test(tests, sequences_are_read_to_their_ends);
    tcase_add_test(tests, windows_touch_what_they_touch);
    tcase_add_test(tests, causal_attention_counts_what_rows_see);
    tcase_add_test(tests, layers_count_each_with_its_input);
    tcase_add_test(tests, large_cases_are_counted_at_once);
    tcase_add_test(tests, data_is_a_function_of_the_case);
    tcase_add_test(tests, data_is_the_same_in_both_layouts);
    tcase_add_test(tests, long_products_are_of_ordinary_size);
    tcase_add_test(tests, operands_are_what_is_allocated);
    tcase_add_test(tests, cold_copies_fit_in_memory);
    tcase_add_test(tests, memory_is_asked_for_as_much_as_is_allocated);
    tcase_add_test(tests, generated_configurations_parse_and_differ);
    tcase_add_test(tests, numbers_and_words);
    Suite *suite = suite_create("clbench case");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
