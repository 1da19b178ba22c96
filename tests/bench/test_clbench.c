// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=240 processors=2
// The program itself, as people call it: exit codes, messages, and what it writes.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "record/result_file.h"
#include "run/runners.h"
#include "support/main.h"
#include "support/wrong_kernels.h"

#ifndef HUSK_CLBENCH
#error "HUSK_CLBENCH is the path of clbench; bench/CMakeLists.txt defines it"
#endif

static char output[1 << 16];

// Runs clbench through the shell; its exit code, and what it wrote in output: to both streams, where the arguments do
// not send one elsewhere (drivers' compilers write to stderr whenever they like).
static int run(const char *environment, const char *arguments)
{
    char command[2048];
    snprintf(command, sizeof command, "{ %s '%s' %s; } 2>&1 < /dev/null", environment, HUSK_CLBENCH, arguments);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    size_t size = fread(output, 1, sizeof output - 1, pipe);
    output[size] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(const char *environment, const char *arguments, int code, const char *part)
{
    int got = run(environment, arguments);
    ck_assert_msg(got == code, "clbench %s: exit code %d instead of %d\n%.2000s", arguments, got, code, output);
    ck_assert_msg(strstr(output, part) != NULL, "clbench %s: '%s' is not in\n%.2000s", arguments, part, output);
}

START_TEST(mistakes_exit_with_2_and_the_nearest_spelling)
{
    expect("", "run gem m=1 n=1 k=1", 2, "'gemm'");
    expect("", "run gemm m=1 n=1 kk=1", 2, "'k'");
    expect("", "run gemm m=1 n=1 k=1 act=rlu", 2, "act=relu");
    expect("", "run --suite standrad", 2, "'standard'");
    expect("", "run --qiuck", 2, "'--quick'");
    expect("", "run gemm m=1 n=1 k=1 --variant pakced", 2, "'packed'");
    expect("", "run gemm m=1 n=1 k=1 --baseline onednnn", 2, "baseline 'onednnn'");
    expect("", "run gemm m=1 n=1 k=1 --baseline before=" HUSK_CLBENCH, 2, "PROGRAM:RUNNER");
    expect("", "run gemm m=1 n=1 k=1 --baseline before=:husk", 2, "PROGRAM:RUNNER");
    expect("", "run gemm m=1 n=1 k=1 --baseline =" HUSK_CLBENCH ":husk", 2, "a name has up to 31 letters");
    expect("", "run gemm m=1 n=1 k=1 --baseline 'a b=" HUSK_CLBENCH ":husk'", 2, "a name has up to 31 letters");
    expect("", "run gemm m=1 n=1 k=1 --baseline a=" HUSK_CLBENCH ":husk,a=" HUSK_CLBENCH ":ref", 2, "two baselines");
    expect("", "run gemm m=1 n=1 k=1 --baseline before=/nonexistent/clbench:husk", 2, "No such file");
    expect("HUSK_RIVALS=/nonexistent/clbench", "run gemm m=1 n=1 k=1 --baseline new", 2, "`./run rivals` makes it");
    expect("", "verfy", 2, "'verify'");
    expect("", "run ''", 2, "a word is empty where a case is wanted");
    expect("", "run --file /tmp", 2, "clbench: /tmp: Is a directory");
}
END_TEST

// What was not verified must not look as if it had been.
START_TEST(nothing_verified_is_no_success)
{
    expect("", "verify gemm m=8 n=8 k=8 --variant pakced", 2, "'packed'");
    expect("", "verify gemm m=8 n=8 k=8 --variant packed:9999", 2, "'9999'");
    expect("", "run gemm m=8 n=8 k=8 --variant pakced:8x3v", 2, "'packed'");
    expect("HUSK_ENGINES=none", "verify gemm m=8 n=8 k=8 --variant cpu_matrix", 1, "nothing was verified");
    expect("", "verify gemm m=8 n=8 k=8 --variant tiled:32x32", 0, "1 configurations right");
}
END_TEST

static bool device_has_f64(void)
{
    ck_assert_int_eq(run("", "devices --json 2> /dev/null"), 0);
    json_t *document = json_loads(output, 0, NULL);
    const json_t *device = json_array_get(json_object_get(document, "devices"), 0);
    const bool has = json_is_true(json_object_get(json_object_get(device, "traits"), "has_f64"));
    json_decref(document);
    return has;
}

// Scores and weights are stored in between. In the default tier f32 alone, for the sake of few programs.
START_TEST(composed_attention_is_right_in_every_dtype)
{
    expect("", "verify attention heads=2 length=40 d=32 form=composed", 0, "configurations right");
    if (!test_is_long())
        return;
    expect("", "verify attention heads=2 length=40 d=32 form=composed dtype=f16", 0, "configurations right");
    expect("", "verify attention heads=2 length=40 d=32 form=composed dtype=bf16", 0, "configurations right");
    // 1 / sqrt d is no f32 number, as gemm's alpha is in f64, too.
    if (device_has_f64())
        expect("", "verify attention heads=2 length=40 d=2 form=composed dtype=f64", 0, "configurations right");
}
END_TEST

// What works in place is verified, too: a kernel that leaves something as it was is wrong. On kernels for CPUs, which
// run anywhere when they are named.
START_TEST(a_step_that_is_not_done_is_wrong)
{
    static const char skips[] = "    if (OPTIMIZER_SKIPS)\n", never[] = "    if (end >= 0)\n";
    static const char looks[] = "bad |= not_finite(x)", ignores[] = "bad &= not_finite(x)";
    static const char second[] = "        store_acc_part(s.second, o->second + i, n);\n", none[] = "        ;\n";
    static const char found[] = "        found_base[found_offset] = found; \\\n", unsaid[] = "\\\n";
    static const struct {
        const char *file, *right, *wrong, *arguments, *output;
    } plants[] = {
        {"optimizer/vector.cl", skips, never, "optimizer count=10000 kind=sgd,rmsprop,adam,adamw", "w: 10000 of 10000"},
        {"optimizer/vector.cl", second, none, "optimizer count=10000 kind=rmsprop,adam", "second: 10000 of 10000"},
        {"optimizer/grad_scale_vector.cl", looks, ignores, "grad_scale count=40000", "found: 1 of 1"},
        {"lib/grad_scale.clh", found, unsaid, "grad_scale count=1000 tensors=20 clips=0,1", "found: 1 of 1"},
    };
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        char folder[] = "/tmp/husk-test-clbench-XXXXXX", environment[100], arguments[200];
        test_copy_kernels(folder);
        test_plant(folder, plants[i].file, plants[i].right, plants[i].wrong);
        snprintf(environment, sizeof environment, "HUSK_TEST_BUILDS= HUSK_KERNEL_DIR='%s'", folder);
        snprintf(arguments, sizeof arguments, "verify %s --variant vector", plants[i].arguments);
        expect(environment, arguments, 3, plants[i].output);
        ck_assert_msg(strstr(output, "\n0 configurations right") != NULL, "%s", output);
        test_remove_kernels(folder);
    }
}
END_TEST

// Into a pipe whose reader has gone by then.
static void expect_unread(const char *arguments, int code)
{
    char path[] = "/tmp/husk-test-clbench-XXXXXX", line[1024];
    const int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    snprintf(line, sizeof line, "%s; echo $? > %s; } | true; exit $(cat %s)", arguments, path, path);
    expect("{ sleep 1;", line, code, "");
    unlink(path);
}

// A full disk, and a pipe that nobody reads any more.
START_TEST(output_that_cannot_be_written_is_no_success)
{
    expect("", "list > /dev/full", 1, "");
    expect("", "--help > /dev/full", 1, "");
    expect("", "devices --json > /dev/full", 1, "");
    expect("", "run gemm m=8 n=8 k=8 --quick --baseline none --csv /nonexistent/x.csv", 1, "cannot be written");
    ck_assert_ptr_null(strstr(output, "GFLOP/s")); // said at once
    expect("", "verify activation count=100 --digests /nonexistent/x", 1, "cannot be written");
    ck_assert_ptr_null(strstr(output, "every variant"));
    expect("", "verify activation count=100 --digests /dev/full", 1, "could not be written");
    expect_unread("list", 141);
    expect_unread("run gemm m=8,16,32 n=8 k=8 --quick --baseline none --no-history", 141);
}
END_TEST

static void expect_file(const char *path, const char *part, const char *not_there)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    ck_assert_msg(strstr(text, part) != NULL, "'%s' is not in\n%.2000s", part, text);
    ck_assert_msg(strstr(text, not_there) == NULL, "'%s' is in\n%.2000s", not_there, text);
}

// Some services are started without standard descriptors: nothing else may come to have their numbers.
START_TEST(without_stdout_nothing_else_is_written_to)
{
    char path[] = "/tmp/husk-test-clbench-XXXXXX", line[300];
    const int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    expect("exec 5>&1;", "verify activation count=100 2>&5 5>&- <&- >&-; exit $?", 1, "stdout could not be written");
    snprintf(line, sizeof line, "verify activation count=100 --digests %s 2>&5 5>&- >&-; exit $?", path);
    expect("exec 5>&1;", line, 1, "stdout could not be written");
    expect_file(path, "activation count=100\t(chosen)\t", "configurations");
    snprintf(line, sizeof line,
             "run activation count=100 --quick --baseline none --no-history --json %s 2>&5 5>&- <&- >&-; exit $?",
             path);
    expect("exec 5>&1;", line, 1, "stdout could not be written");
    expect_file(path, "\"state\": \"ok\"", "\"state\": \"error\"");
    expect("", "verify activation count=100 2>&- <&-; exit $?", 0, "configurations right");
    unlink(path);
}
END_TEST

// "-" is what stdout is: a file that is added to keeps what it has, and two kinds come one after the other.
START_TEST(what_stdout_has_is_kept)
{
    static char text[1 << 18];
    char path[] = "/tmp/husk-test-clbench-XXXXXX", arguments[400];
    const int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(write(descriptor, "before\n", 7), 7);
    snprintf(arguments, sizeof arguments,
             "run activation count=100 --quick --baseline none --no-history --csv - --plain - --json - >> %s "
             "2> /dev/null",
             path);
    expect("", arguments, 0, "");
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    close(descriptor);
    unlink(path);
    const char *csv = strstr(text, "case,runner,form"), *json = strstr(text, "\"schema\": \"clbench/2\"");
    ck_assert_msg(!strncmp(text, "before\n", 7), "%.2000s", text);
    ck_assert_msg(csv && json && json < csv, "%.2000s", text);
}
END_TEST

START_TEST(no_device_exits_with_6)
{
    expect("", "run gemm m=1 n=1 k=1 -d no-such-device", 6, "there is");
    expect("HUSK_DEVICE=no-such-device", "--quick", 6, "there is");
    expect("HUSK_DEVICE=no-such-device", "devices", 6, "engines      unknown"); // nobody was asked
    expect("HUSK_DEVICE=no-such-device", "devices -d 0:0", 0, "     class ");
    expect("HUSK_DEVICE=no-such-device", "devices -d neither", 6, "neither");
    expect("OCL_ICD_VENDORS=/nonexistent OCL_ICD_FILENAMES=", "--quick", 6, "pocl-opencl-icd");
    expect("OCL_ICD_VENDORS=/nonexistent OCL_ICD_FILENAMES=", "devices", 6, "pocl-opencl-icd");
}
END_TEST

START_TEST(help_and_lists_need_no_device)
{
    const char *none = "OCL_ICD_VENDORS=/nonexistent";
    expect(none, "--help", 0, "--baseline");
    expect(none, "--version", 0, "clbench ");
    expect(none, "list", 0, "resnet50");
    expect(none, "list --suite vgg16", 0, "conv c=3 h=224 w=224 k=64 r=3 s=3");
    expect(none, "run --suite smoke --list", 0, "rnn cell=gru");
    expect(none, "run gemm --help", 0, "clbench run gemm m=64 n=64 k=64");
    expect(none, "gemm --help", 0, "rows of C; required");
    expect(none, "rnn --help", 0, "lstm");
}
END_TEST

START_TEST(devices_are_listed)
{
    expect("", "devices", 0, "the default");
    ck_assert_int_eq(run("", "devices --json 2> /dev/null"), 0);
    json_error_t error;
    json_t *document = json_loads(output, 0, &error);
    ck_assert_msg(document != NULL, "%s\n%.2000s", error.text, output);
    ck_assert_uint_ge(json_array_size(json_object_get(document, "devices")), 1);
    json_decref(document);
}
END_TEST

// Every peak that this device has is a number; what limits what is plain physics.
START_TEST(peaks_are_measured)
{
    ck_assert_int_eq(run("", "devices --peaks --json 2> /dev/null"), 0);
    json_t *document = json_loads(output, 0, NULL), *devices = json_object_get(document, "devices");
    ck_assert_uint_ge(json_array_size(devices), 1);
    const json_t *device = json_array_get(devices, 0), *peaks = json_object_get(device, "peaks");
    ck_assert(json_is_object(peaks));
    static const char *const numbers[] = {"fma_gflops", "local_gbytes_per_s", "launch_ns", "round_trip_ns"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        ck_assert_msg(json_number_value(json_object_get(peaks, numbers[i])) > 0, "%s", numbers[i]);
    const json_t *arithmetic = json_object_get(peaks, "arithmetic");
    const double f32 = json_number_value(json_object_get(arithmetic, "f32"));
    const json_t *f64 = json_object_get(arithmetic, "f64");
    ck_assert_double_gt(f32, 0);
    ck_assert_double_gt(json_number_value(json_object_get(arithmetic, "i8")), 0);
    ck_assert(json_is_number(f64) == json_is_true(json_object_get(json_object_get(device, "traits"), "has_f64")));
    const char *key;
    json_t *value;
    size_t transfers = 0;
    json_object_foreach(json_object_get(peaks, "transfer_gbytes_per_s"), key, value) transfers += json_is_number(value);
    ck_assert_uint_ge(transfers, 2); // there may be no pinned memory
    json_decref(document);
}
END_TEST

static json_t *run_json(const char *arguments)
{
    char path[] = "/tmp/husk-test-clbench-XXXXXX", command[1024];
    int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    snprintf(command, sizeof command, "%s --json %s", arguments, path);
    int code = run("", command);
    ck_assert_msg(code == 0, "clbench %s: exit code %d\n%.2000s", arguments, code, output);
    // It is what the schema says, without anything that the schema does not name.
    char reason[BENCH_REASON_TEXT];
    json_t *document = bench_result_read(path, reason), *schema = bench_result_schema();
    bench_fault fault;
    ck_assert_msg(document != NULL, "%s", reason);
    ck_assert_msg(bench_schema_names_all(schema, document, &fault), "%s: %s", fault.place, fault.rule);
    json_decref(schema);
    snprintf(command, sizeof command, "sh '%s' '%s' %s", HUSK_TESTS_DIR "/tools/check_schema.sh",
             HUSK_SOURCE_DIR "/bench/schema/clbench-2.schema.json", path);
    ck_assert_msg(system(command) == 0, "%s", command);
    unlink(path);
    return document;
}

static const char *string_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static bool has_baseline(const json_t *row, const char *name)
{
    const json_t *all = json_object_get(row, "baselines");
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *b = json_array_get(all, i);
        if (!strcmp(string_of(b, "name"), name))
            return json_number_value(json_object_get(b, "speedup")) > 0;
    }
    return false;
}

START_TEST(a_run_writes_the_documented_json)
{
    static const char *const keys[] = {"schema", "husk_version", "started", "host",  "device",
                                       "timer",  "results",      "summary", "memory"};
    static const char *const times[] = {"median_ns", "ci_low_ns", "ci_high_ns", "min_ns", "q1_ns", "q3_ns", "n"};
    char arguments[200];
    const char *rivals = bench_runner_find("onednn") ? "onednn,ref" : "ref";
    if (!bench_runner_find("ref")) // built without baselines
        return;
    snprintf(arguments, sizeof arguments, "run --quick --baseline %s gemm m=40 n=30 k=20 softmax outer=4 axis=50",
             rivals);
    json_t *document = run_json(arguments);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        ck_assert_msg(json_object_get(document, keys[i]) != NULL, "%s is missing", keys[i]);
    ck_assert_str_eq(string_of(document, "schema"), "clbench/2");
    const json_t *rows = json_object_get(document, "results");
    ck_assert_uint_eq(json_array_size(rows), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *row = json_array_get(rows, i), *time = json_object_get(row, "time");
        ck_assert_msg(!strcmp(string_of(row, "state"), "ok"), "%s: %s", string_of(row, "case"),
                      string_of(row, "reason"));
        ck_assert(json_is_true(json_object_get(json_object_get(row, "verify"), "pass")));
        for (size_t k = 0; k < sizeof times / sizeof *times; k++)
            ck_assert_msg(json_number_value(json_object_get(time, times[k])) > 0, "%s", times[k]);
        ck_assert_uint_eq(json_array_size(json_object_get(time, "samples_ns")),
                          (size_t)json_integer_value(json_object_get(time, "n")));
        ck_assert(has_baseline(row, "ref"));
        if (bench_runner_find("onednn"))
            ck_assert(has_baseline(row, "onednn"));
    }
    const json_t *means = json_object_get(json_object_get(document, "summary"), "geomean_speedup");
    ck_assert_double_gt(json_number_value(json_object_get(means, "ref")), 0);
    json_decref(document);
}
END_TEST

// Another clbench takes part with what is built in there: here this one, so that it is as fast as Husk itself.
START_TEST(another_clbench_is_a_rival)
{
    json_t *document = run_json("run --quick --baseline 'before=" HUSK_CLBENCH ":husk' gemm m=200 n=200 k=200");
    const json_t *row = json_array_get(json_object_get(document, "results"), 0);
    ck_assert(has_baseline(row, "before"));
    const json_t *b = json_array_get(json_object_get(row, "baselines"), 0);
    ck_assert_str_eq(string_of(b, "program"), HUSK_CLBENCH);
    ck_assert_ptr_nonnull(strstr(string_of(b, "version"), "Husk "));
    json_decref(document);
    expect("", "run --quick --no-history --baseline 'before=/bin/true:husk' activation count=100", 0,
           "baseline before cannot be used: ");
    expect("", "run --quick --no-history --baseline 'before=/bin/true:husk' activation count=100", 0,
           "is /bin/true a clbench with a runner 'husk'?");
    expect("", "run --quick --no-history --baseline 'before=" HUSK_CLBENCH ":nobody' activation count=100", 0,
           "baseline before cannot be used: ");
    expect("HUSK_RIVALS=" HUSK_CLBENCH, "run --baseline new -n activation count=100", 0,
           "against onednn_new, blas_new");
}
END_TEST

START_TEST(what_is_not_there_is_unsupported_and_no_error)
{
    json_t *document = run_json("run --quick --baseline none optimizer count=4 dtype=f16 gemm m=4 n=4 k=4 dir=bwd_data "
                                "activation count=100");
    const json_t *rows = json_object_get(document, "results");
    for (size_t i = 0; i < 2; i++)
        ck_assert_str_eq(string_of(json_array_get(rows, i), "state"), "unsupported");
    json_decref(document);
    // But where nothing else was there, nothing was measured.
    expect("", "run --quick --baseline none --no-history gemm m=4 n=4 k=4 dir=bwd_data", 1, "nothing was measured");
}
END_TEST

// Sets of operands are rotated through, where so many have room as twice the last-level cache takes.
// PoCL starts a thread a processor of the machine, unless it is told what is left of that.
START_TEST(a_device_has_no_more_units_than_this_process_processors)
{
    if (system("taskset -c 0 true > /dev/null 2>&1") != 0)
        return;
    const char *bound = "env -u POCL_MAX_PTHREAD_COUNT -u POCL_CPU_MAX_CU_COUNT taskset -c 0";
    ck_assert_int_eq(run(bound, "devices --json 2> /dev/null"), 0);
    json_t *document = json_loads(output, 0, NULL);
    const json_t *device = json_array_get(json_object_get(document, "devices"), 0);
    if (strstr(string_of(device, "platform"), "Portable"))
        ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(device, "traits"), "compute_units")), 1);
    json_decref(document);
    // And what does not fit is refused before it hurts.
    expect(bound, "run --quick --baseline none activation count=100000000000", 1, "memory does not suffice");
    ck_assert_ptr_nonnull(strstr(output, "again: clbench run activation count=100000000000"));
    if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
        ck_assert_ptr_nonnull(strstr(output, "(affinity: 1)"));
}
END_TEST

START_TEST(cold_rows_say_so)
{
    json_t *document = run_json("run --cold --quick --baseline none softmax outer=256 axis=4096 activation count=100");
    const json_t *rows = json_object_get(document, "results"), *cold = json_array_get(rows, 0),
                 *hot = json_array_get(rows, 1);
    const double cache = json_number_value(json_object_get(json_object_get(document, "host"), "cache"));
    ck_assert_str_eq(string_of(cold, "state"), "ok");
    const json_t *traits = json_object_get(json_object_get(document, "device"), "traits");
    if (!strcmp(string_of(cold, "temperature"), "cold")) { // else memory was too short for that
        ck_assert_int_ge(json_integer_value(json_object_get(cold, "copies")), 2);
        if (!strcmp(string_of(traits, "class"), "cpu")) // others have caches of their own
            ck_assert_double_ge(json_number_value(json_object_get(cold, "working_set")), 2 * cache);
        ck_assert_ptr_nonnull(strstr(string_of(cold, "reproduce"), " --cold"));
    }
    ck_assert_str_eq(string_of(hot, "temperature"), "hot"); // its sets would be too many
    json_decref(document);
}
END_TEST

START_TEST(a_picture_needs_a_result)
{
    const char *none = "OCL_ICD_VENDORS=/nonexistent"; // and no device
    expect(none, "roofline", 2, "RESULT.json");
    expect(none, "roofline /no/such/file", 2, "/no/such/file");
    expect(none, "roofline " HUSK_SOURCE_DIR "/README.md", 2, "line 1, column 1: no JSON");
    expect(none, "roofline " HUSK_TESTS_DIR "/bench/data/cpu_result.json -o -", 0, "</svg>");
    expect(none, "roofline " HUSK_TESTS_DIR "/bench/data/cpu_result.json -o /no/such/folder/x", 1, "cannot be written");
}
END_TEST

START_TEST(verify_counts_every_variant)
{
    expect("", "verify softmax outer=5 axis=70 activation count=100", 0, " 0 wrong");
    const char *variant = husk_op_variant("softmax", 0);
    ck_assert_msg(strstr(output, variant) != NULL, "%s is not in\n%.2000s", variant, output);
    expect("", "verify softmax outer=5 axis=70 --junit - 2> /dev/null", 0, "<testcase classname=\"clbench.softmax\"");
    ck_assert_msg(!strncmp(output, "<?xml", 5), "%.200s", output); // nothing else is on stdout
    expect("", "verify softmax outer=5 axis=70 --json - 2> /dev/null", 0, "\"verdict\": \"right\"");
    ck_assert_int_eq(output[0], '{');
    expect("", "verify softmax outer=5 axis=70 --json a --junit a", 2, "one file");
}
END_TEST

// Nothing but text on a pipe: no colours, no progress.
START_TEST(a_pipe_gets_no_escape_sequences)
{
    expect("TERM=xterm", "run --quick --baseline none activation count=100", 0, "right");
    ck_assert_ptr_null(strchr(output, '\033'));
    ck_assert_ptr_null(strchr(output, '\r'));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("clbench");
    tcase_set_timeout(tests, 200);
    tcase_add_test(tests, mistakes_exit_with_2_and_the_nearest_spelling);
    tcase_add_test(tests, nothing_verified_is_no_success);
    tcase_add_test(tests, composed_attention_is_right_in_every_dtype);
    tcase_add_test(tests, a_step_that_is_not_done_is_wrong);
    tcase_add_test(tests, output_that_cannot_be_written_is_no_success);
    tcase_add_test(tests, without_stdout_nothing_else_is_written_to);
    tcase_add_test(tests, what_stdout_has_is_kept);
    tcase_add_test(tests, no_device_exits_with_6);
    tcase_add_test(tests, help_and_lists_need_no_device);
    tcase_add_test(tests, devices_are_listed);
    tcase_add_test(tests, peaks_are_measured);
    tcase_add_test(tests, a_run_writes_the_documented_json);
    tcase_add_test(tests, another_clbench_is_a_rival);
    tcase_add_test(tests, what_is_not_there_is_unsupported_and_no_error);
    tcase_add_test(tests, a_device_has_no_more_units_than_this_process_processors);
    tcase_add_test(tests, cold_rows_say_so);
    tcase_add_test(tests, a_picture_needs_a_result);
    tcase_add_test(tests, verify_counts_every_variant);
    tcase_add_test(tests, a_pipe_gets_no_escape_sequences);
    Suite *suite = suite_create("clbench");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
