// SPDX-License-Identifier: MIT
// ctest: tiers=long timeout=60
// Of every operator and gradient one store of a kernel writes an element further: past the end of its output. The bands
// around a verified case's memory show each of them, and clbench says which operand was passed.
// This program is its own worker: the parent starts it again with --worker, as clbench does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cases/ops.h"
#include "cases/parse.h"
#include "support/environment.h"
#include "support/support.h"
#include "support/wrong_kernels.h"
#include "verify/check.h"
#include "worker/husk_runner.h"
#include "worker/husk_extra.h"
#include "worker/worker.h"

#ifndef HUSK_CLBENCH
#error "HUSK_CLBENCH is the path of clbench; bench/CMakeLists.txt defines it"
#endif

// The first `right` of a file becomes `wrong`; rows whose kernels share a file share its store.
typedef struct planted {
    const char *op, *variant, *line, *file, *right, *wrong;
} planted;

static const planted plants[] = {
    {"activation", "grid", "activation count=1001", "lib/map_grid.clh", "store_one(y, at, r)",
     "store_one(y, at + 1, r)"},
    {"activation_backward", "grid", "activation count=1001 dir=bwd", "lib/map_grid.clh", NULL, NULL},
    {"unary", "grid", "unary count=1001", "lib/map_grid.clh", NULL, NULL},
    {"unary_backward", "grid", "unary count=1001 dir=bwd", "lib/map_grid.clh", NULL, NULL},
    {"binary", "grid", "binary rows=3 columns=11", "lib/map_grid.clh", NULL, NULL},
    {"binary_backward", "grid", "binary rows=3 columns=11 op=multiply b=row dir=bwd", "lib/sum_grid.clh",
     "store_one(y, at, flags", "store_one(y, at + 1, flags"},
    {"where", "grid", "where rows=3 columns=11", "lib/map_grid.clh", NULL, NULL},
    {"where_backward", "grid", "where rows=3 columns=11 dir=bwd", "lib/map_grid.clh", NULL, NULL},
    {"dropout", "grid", "dropout count=1001", "lib/dropout_grid.clh", "store_one(y, y_at, r)",
     "store_one(y, y_at + 1, r)"},
    {"dropout_backward", "grid", "dropout count=1001 dir=bwd", "lib/dropout_grid.clh", NULL, NULL},
    {"embedding", "grid", "embedding lookups=5 rows=7 columns=13", "lookup/embedding_grid.cl",
     "lookup.at[1] + c * y_column, value", "lookup.at[1] + 1 + c * y_column, value"},
    {"embedding_backward", "grid", "embedding lookups=5 rows=7 columns=13 dir=bwd", "lookup/embedding_backward_grid.cl",
     "store_one(to, c * dtable_column,", "store_one(to, 1 + c * dtable_column,"},
    {"rotary", "grid", "rotary heads=3 length=5 d=6", "lib/rotary_grid.clh", "store_one(y, y_other, is",
     "store_one(y, y_other + 1, is"},
    {"rotary_backward", "grid", "rotary heads=3 length=5 d=6 dir=bwd", "lib/rotary_grid.clh", NULL, NULL},
    {"one_hot", "grid", "one_hot labels=5 classes=13", "lookup/one_hot_grid.cl", "label.at[1] + c * y_class, wanted",
     "label.at[1] + 1 + c * y_class, wanted"},
    {"softmax", "workgroup", "softmax outer=5 axis=33", "softmax/workgroup.cl", "store_one(y, a * y_stride,",
     "store_one(y, 1 + a * y_stride,"},
    {"softmax_backward", "columns", "softmax outer=3 axis=5 inner=7 dir=bwd", "softmax/backward_columns.cl",
     "store_vf_part(g, to, n)", "store_vf_part(g, to + 1, n)"},
    {"attention", "workgroup", "attention heads=2 length=13 d=20", "attention/workgroup.cl", "store_one(y, at, output",
     "store_one(y, at + 1, output"},
    {"attention_backward", "workgroup", "attention heads=2 length=13 d=20 dir=bwd", "attention/backward_workgroup.cl",
     "store_one(to, row * to_row + at, adds", "store_one(to, row * to_row + at + 1, adds"},
    {"pool", "direct", "pool c=3 h=9 w=9 r=2 s=2", "pool/direct.cl", "store_one(y, 0, best)", "store_one(y, 1, best)"},
    {"pool_backward", "direct", "pool c=3 h=9 w=9 r=2 s=2 dir=bwd", "pool/backward_direct.cl", "store_one(dx, at, acc",
     "store_one(dx, at + 1, acc"},
    {"gemm", "tiled", "gemm m=13 n=17 k=19", "gemm/tiled.cl", "store_either(to, activate(value,",
     "store_either(to + c_units, activate(value,"},
    {"gemm_backward", "grid", "gemm m=13 n=17 k=19 bias=1 act=relu dir=bwd", "gemm/backward_grid.cl",
     "store_either(bias, adds", "store_either(bias + units, adds"},
    {"conv", "tiled", "conv c=5 h=9 w=7 k=11 r=3 s=3 pad=1", "conv/tiled.cl",
     "store_either(y + filter * y_stride_c, activate", "store_either(y + y_units + filter * y_stride_c, activate"},
    {"conv_backward_data", "tiled", "conv c=5 h=9 w=7 k=11 r=3 s=3 pad=1 dir=bwd_data", "conv/backward_data_tiled.cl",
     "store_either(dx + channel * x_stride_c, value", "store_either(dx + units + channel * x_stride_c, value"},
    {"conv_backward_weights", "tiled", "conv c=5 h=9 w=7 k=11 r=3 s=3 pad=1 dir=bwd_weight",
     "conv/backward_weights_tiled.cl", "store_either(to, value, w_units)",
     "store_either(to + w_units, value, w_units)"},
    {"rnn", "tile", "rnn cell=lstm t=3 b=2 input=7 hidden=11", "rnn/tile.cl", "y_base[y_offset + time",
     "y_base[1 + y_offset + time"},
    {"rnn_backward", "tile", "rnn cell=lstm t=3 b=2 input=7 hidden=11 state=1 dir=bwd", "rnn/backward_tile.cl",
     "store_one(dh0, 0, adds", "store_one(dh0, 1, adds"},
    {"reduce", "rows", "reduce outer=5 axis=33", "lib/reduction.clh", "store_one((__global data_t *)y, at,",
     "store_one((__global data_t *)y, at + 1,"},
    {"reduce_backward", "grid", "reduce outer=5 axis=33 dir=bwd", "reduce/backward_grid.cl", "store_one(dx, place, acc",
     "store_one(dx, place + 1, acc"},
    {"copy", "grid", "copy rows=5 columns=13", "layout/copy_grid.cl",
     "y_base[y_offset + all.at[1]] =", "y_base[y_offset + 1 + all.at[1]] ="},
    {"quantize", "grid", "quantize rows=5 columns=13", "quantized/quantize_grid.cl",
     "y_base[y_offset + all.at[0]] =", "y_base[y_offset + 1 + all.at[0]] ="},
    {"dequantize", "grid", "dequantize rows=5 columns=13", "quantized/dequantize_grid.cl",
     "store_one(y_base, y_offset + all.at[0],", "store_one(y_base, y_offset + 1 + all.at[0],"},
    {"concat", "grid", "concat a=5 b=3 outer=9 inner=3", "lib/concat.clh", "*to = *from;", "to[1] = *from;"},
    {"concat_backward", "grid", "concat a=5 b=3 outer=9 inner=3 dir=bwd", "lib/concat.clh", NULL, NULL},
    {"quantized_gemm", "tiled", "quantized_gemm m=13 n=17 k=19", "quantized/gemm_tiled.cl", "c_base, to + row",
     "c_base, to + 1 + row"},
    {"pad", "grid", "pad h=7 w=5 outer=3 mode=reflect", "layout/pad_grid.cl", "y_base[y] =", "y_base[y + 1] ="},
    {"pad_backward", "grid", "pad h=7 w=5 outer=3 mode=reflect dir=bwd", "layout/pad_backward_grid.cl",
     "store_one(x_base, x,", "store_one(x_base, x + 1,"},
    {"quantized_conv", "grid", "quantized_conv c=5 h=9 w=7 k=11 r=3 s=3 pad=1", "quantized/conv_grid.cl",
     "y_base, y_offset + n", "y_base, y_offset + 1 + n"},
    {"norm", "workgroup", "norm n=5 c=33", "norm/workgroup.cl", "y_offset + start.y, ELEMENT(y), v)",
     "y_offset + start.y, 1 + ELEMENT(y), v)"},
    {"norm_backward", "workgroup", "norm n=5 c=33 dir=bwd", "norm/backward_workgroup.cl",
     "store_one(dx, ELEMENT(z), v)", "store_one(dx, 1 + ELEMENT(z), v)"},
    {"loss", "workgroup", "loss n=5 c=33 reduction=none", "loss/workgroup.cl", "column * loss_step, v); \\",
     "column * loss_step + 1, v); \\"},
    {"loss_backward", "workgroup", "loss n=5 c=33 dir=bwd", "loss/backward_workgroup.cl",
     "store_one(dx, c * o.dx_class, r); \\", "store_one(dx, 1 + c * o.dx_class, r); \\"},
    {"optimizer", "grid", "optimizer count=1001", "optimizer/grid.cl",
     "w_base[w_offset + i] =", "w_base[w_offset + i + 1] ="},
    {"grad_norm", "grid", "grad_norm count=1001 tensors=3", "lib/grad_norm.clh", "*norm = made", "norm[1] = made"},
    {"grad_scale", "grid", "grad_scale count=1001 tensors=3 clips=1", "optimizer/grad_scale_grid.cl",
     "store_one(own.p, i, y)", "store_one(own.p, i + 1, y)"},
};

enum { PLANTS = sizeof plants / sizeof *plants };

static char folder[] = "/tmp/husk-writes-XXXXXX";

static void setup(void)
{
    test_copy_kernels(folder);
    for (size_t i = 0; i < PLANTS; i++)
        if (plants[i].right)
            test_plant(folder, plants[i].file, plants[i].right, plants[i].wrong);
    test_setenv("HUSK_KERNEL_DIR", folder);
}

static void teardown(void)
{
    test_remove_kernels(folder);
}

START_TEST(every_operator_is_there)
{
    const char *name;
    for (size_t i = 0; (name = husk_op_name(i)); i++) {
        size_t at = 0;
        while (at < PLANTS && strcmp(plants[at].op, name) != 0)
            at++;
        ck_assert_msg(at < PLANTS, "%s: no write past its output is planted", name);
    }
}
END_TEST

static bench_check check_of(bench_runner_process *husk, const planted *p)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_case c;
    bench_check check;
    const bench_check_options options = {.form = p->variant, .max_time = 60, .compile_time = 300, .seed = 1};
    ck_assert_msg(bench_case_parse(p->line, &c, reason), "%s: %s", p->line, reason);
    ck_assert_str_eq(bench_op_row(&c), p->op);
    bench_check_case(husk, &c, &options, &check);
    return check;
}

START_TEST(each_write_is_found)
{
    bench_runner_process husk;
    ck_assert(bench_runner_process_start(&husk, "husk", NULL, 1, NULL));
    ck_assert_msg(bench_runner_process_await(&husk, 120), "%s", husk.why);
    int missed = 0;
    for (size_t i = 0; i < PLANTS; i++) {
        bench_check check = check_of(&husk, &plants[i]);
        const bool is_found = check.state == BENCH_STATE_FAILED && strstr(check.reason, "memory outside a buffer") &&
                              strstr(check.reason, "behind its end");
        if (!is_found)
            fprintf(stderr, "%s (%s): %s: %s\n", plants[i].op, plants[i].variant, bench_state_text(check.state),
                    check.reason);
        missed += !is_found;
        bench_check_free(&check);
    }
    bench_runner_process_stop(&husk);
    ck_assert_msg(missed == 0, "%d of %d planted writes are not found", missed, (int)PLANTS);
}
END_TEST

// What a command says, with stderr, and its exit code.
static int say(const char *arguments, char *text, size_t size)
{
    char command[1024];
    snprintf(command, sizeof command, "{ HUSK_TUNING=0 '%s' %s; } 2>&1 < /dev/null", HUSK_CLBENCH, arguments);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    text[fread(text, 1, size - 1, pipe)] = '\0';
    return WEXITSTATUS(pclose(pipe));
}

static void expect_said(const char *text, const char *wanted)
{
    ck_assert_msg(strstr(text, wanted) != NULL, "not said: %s\n%.2000s", wanted, text);
}

#define BEHIND_C "memory outside a buffer of 884 bytes was written: bytes 0 to 3 behind its end"

START_TEST(the_commands_say_it)
{
    static char text[1 << 16];
    char arguments[512];
    ck_assert_int_eq(say("verify 'gemm m=13 n=17 k=19' --variant tiled", text, sizeof text), 3);
    expect_said(text, "failed  tiled  the output: " BEHIND_C "; the last kernel that used it is husk_gemm_tiled");
    snprintf(arguments, sizeof arguments,
             "run 'gemm m=13 n=17 k=19' --variant tiled --quick --baseline none --json '%s/run.json' > '%s/run.txt'; "
             "code=$?; cat '%s/run.json'; exit $code",
             folder, folder, folder);
    ck_assert_int_eq(say(arguments, text, sizeof text), 3);
    expect_said(text, "\"state\": \"failed\"");
    expect_said(text, "\"reason\": \"the output: " BEHIND_C);
    expect_said(text, "\"guards\": \"touched\"");
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], BENCH_WORKER_ARGUMENT)) {
        const bench_worker_options options = {.runner = &bench_runner_husk, .extra = bench_husk_extra};
        return bench_worker_serve(&options);
    }
    Suite *suite = suite_create("planted_writes");
    TCase *tests = tcase_create("planted_writes");
    tcase_set_timeout(tests, 1800);
    tcase_add_unchecked_fixture(tests, setup, teardown);
    tcase_add_test(tests, every_operator_is_there);
    tcase_add_test(tests, each_write_is_found);
    tcase_add_test(tests, the_commands_say_it);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
