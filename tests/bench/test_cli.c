// SPDX-License-Identifier: MIT
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases/size.h"
#include "cases/suite.h"
#include "cases/suites.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/table.h"
#include "common/text.h"
#include "run/select.h"

#define MAX_WORDS 16

static bool parse(const char *line, bench_options *options, char reason[BENCH_REASON_TEXT])
{
    static char copies[8][512]; // options point into the words
    static int next;
    static char program[] = "clbench";
    char *words[MAX_WORDS] = {program}, *copy = copies[next++ % 8], *position = NULL;
    int count = 1;
    ck_assert_uint_lt(strlen(line), sizeof copies[0]);
    strcpy(copy, line);
    for (char *word = strtok_r(copy, " ", &position); word; word = strtok_r(NULL, " ", &position)) {
        ck_assert_int_lt(count, MAX_WORDS);
        words[count++] = word;
    }
    return bench_cli_parse(count, words, options, reason);
}

static bench_options accept(const char *line)
{
    bench_options options;
    char reason[BENCH_REASON_TEXT] = "";
    ck_assert_msg(parse(line, &options, reason), "%s: %s", line, reason);
    return options;
}

static void refuse(const char *line, const char *part)
{
    bench_options options;
    char reason[BENCH_REASON_TEXT] = "";
    ck_assert_msg(!parse(line, &options, reason), "'%s' was accepted", line);
    ck_assert_msg(strstr(reason, part) != NULL, "%s: '%s' lacks '%s'", line, reason, part);
}

// A device's name may have spaces, quotes, anything.
START_TEST(words_are_quoted_for_a_shell)
{
    static const struct {
        const char *word, *quoted;
    } words[] = {
        {"0:0", "0:0"}, {"cpu-1_x.2", "cpu-1_x.2"}, {"a b", "'a b'"},
        {"", "''"},     {"a'b", "'a'\\''b'"},       {"$(x)", "'$(x)'"},
    };
    char text[64];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        bench_shell_word(words[i].word, text, sizeof text);
        ck_assert_str_eq(text, words[i].quoted);
    }
}
END_TEST

START_TEST(what_a_terminal_obeys_is_cleaned_away)
{
    static const struct {
        const char *said, *cleaned;
    } lines[] = {
        {"plain", "plain"},
        {"a\033[31mb\177c\nd", "a [31mb c d"},
        // C1 as UTF-8: U+009B, U+0085, U+0080, U+009F; and as bytes
        {"a\302\233[b\302\205c\302\200\302\237", "a  [b  c    "},
        {"a\233[b\205", "a [b "},
        {"Stra\303\237e \342\204\242 \302\240", "Stra\303\237e \342\204\242 \302\240"},
        {"\360\235\204\236", "\360\235\204\236"},
        {"cut \342\204", "cut ? "},
        {"\300\233 \355\240\233 \377", "?  ??  ?"}, // no UTF-8: too long a form, half a pair
        {"", ""},
    };
    char text[64];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        strcpy(text, lines[i].said);
        bench_clean_line(text);
        ck_assert_str_eq(text, lines[i].cleaned);
    }
    strcpy(text, "a\302\233\nb\033");
    bench_clean_text(text);
    ck_assert_str_eq(text, "a  \nb ");
}
END_TEST

START_TEST(options_are_read_in_every_form)
{
    bench_options o = accept("");
    ck_assert_int_eq(o.command, BENCH_COMMAND_STANDARD);
    ck_assert(o.rounds == BENCH_ROUNDS_UNSAID);
    ck_assert_int_eq(o.warmup, 3);
    o = accept("run --suite resnet50 -d gpu -d 1:0 --json=out.json -r 3 -w5 --max-time 2m --budget=30 -q");
    ck_assert_int_eq(o.command, BENCH_COMMAND_RUN);
    ck_assert_str_eq(o.suite, "resnet50");
    ck_assert_uint_eq(o.device_count, 2);
    ck_assert_str_eq(o.devices[1], "1:0");
    ck_assert_str_eq(o.json_path, "out.json");
    ck_assert_int_eq(o.rounds, 3);
    ck_assert_int_eq(o.warmup, 5);
    ck_assert_double_eq(o.max_time, 120);
    ck_assert_double_eq(o.budget, 30);
    ck_assert(o.quiet);
    ck_assert_double_lt(accept("--budget 0").budget, 0);
    ck_assert_double_eq(accept("run").max_time, 120);
    ck_assert_double_eq(accept("run").compile_time, 600);
    ck_assert_double_eq(accept("run --max-time 5").compile_time, 5); // who gives a time means it
    ck_assert_str_eq(accept("run --resume a.json -q --csv b.csv").resume_path, "a.json");
    ck_assert_str_eq(accept("run --resume a.json --plain out.txt").plain_path, "out.txt");
    ck_assert(accept("run --cold").cold);
    ck_assert(accept("devices --json").json);
    ck_assert(accept("--quick --help").help);
    ck_assert(accept("tune -n").dry_run);
    o = accept("list gemm m=1,2 n=1..3 k=4");
    ck_assert_str_eq(o.cases, "gemm m=1,2 n=1..3 k=4");
    o = accept("doctor --quick -d gpu --json");
    ck_assert_int_eq(o.command, BENCH_COMMAND_DOCTOR);
    ck_assert_double_eq(o.max_time, 30); // a driver is not given what a case is
    ck_assert_double_eq(accept("doctor --max-time 5").max_time, 5);
    ck_assert_double_eq(accept("doctor --heat 5m").heat, 300);
    ck_assert_double_eq(accept("doctor").heat, 0);
    ck_assert_double_lt(accept("doctor --heat 0").heat, 0);
    o = accept("run gemm m=1 n=2 k=3 softmax outer=1 axis=2");
    ck_assert_str_eq(o.cases, "gemm m=1 n=2 k=3 softmax outer=1 axis=2");
}
END_TEST

static char help[1 << 14];

static const char *help_of(const char *command)
{
    char line[2000];
    snprintf(line, sizeof line, "'%s' %s --help", HUSK_CLBENCH, command);
    FILE *pipe = popen(line, "r");
    ck_assert_ptr_nonnull(pipe);
    help[fread(help, 1, sizeof help - 1, pipe)] = '\0';
    ck_assert_int_eq(pclose(pipe), 0);
    return help;
}

// One name, and what it means to the command.
START_TEST(a_budget_is_explained_as_the_command_takes_it)
{
    ck_assert_ptr_nonnull(strstr(help_of("run"), "time for the whole run"));
    ck_assert_ptr_null(strstr(help_of("run"), "--heat"));
    ck_assert_ptr_null(strstr(help_of("doctor"), "the whole run"));
    ck_assert_ptr_nonnull(strstr(help_of("doctor"), "time for each device's operators"));
    ck_assert_ptr_nonnull(strstr(help_of("doctor"), "--heat TIME"));
}
END_TEST

START_TEST(an_operator_alone_is_run)
{
    bench_options options = accept("gemm m=8 n=8 k=8 --quick");
    ck_assert_int_eq(options.command, BENCH_COMMAND_RUN);
    ck_assert_str_eq(options.cases, "gemm m=8 n=8 k=8");
    ck_assert(options.quick);
    refuse("gem m=8 n=8 k=8", "unknown command 'gem'");
}
END_TEST

START_TEST(mistakes_are_refused_with_the_nearest_spelling)
{
    refuse("rum", "'run'");
    refuse("run --json a --csv a", "cannot go to one file: a");
    refuse("run --resume a.json --md a.json", "cannot go to one file: a.json");
    refuse("--jsno x", "'--json'");
    refuse("run --siute x", "'--suite'");
    refuse("list --quick", "no option");
    refuse("run --suite", "needs a value");
    refuse("run -r x", "whole number");
    refuse("run -r -3", "whole number");
    refuse("run -r 99999999999999999999", "--rounds 99999999999999999999: too large, 1000000 is the most");
    refuse("run --rounds 0", "at least 1");
    refuse("run --max-time 5parsecs", "a time is wanted");
    refuse("run --max-time 0", "--max-time 0: a time above zero is wanted");
    refuse("doctor --max-time=0ms", "--max-time 0ms: a time above zero is wanted");
    refuse("run --quick=1", "takes no value");
    refuse("run --suite a --file b", "exclude");
    refuse("run gemm m=1 --suite a", "cases and --suite exclude each other");
    refuse("run -d a -p b", "exclude");
    refuse("devices gpu", "unexpected");
    refuse("doctor gpu", "unexpected");
    refuse("list --dry-run", "no option");
    refuse("run --budget 1e300h", "a time is wanted");
    refuse("run --max-time 1e19", "a time is wanted"); // its result could not be read
    refuse("run --resume a.json --quick", "--quick cannot stand beside");
    refuse("run --resume a.json gemm m=1", "gemm m=1 cannot stand beside");
    refuse("run -d all -d cpu", "excludes further");
    refuse("tune -d all -d cpu", "excludes further");
    refuse("list -d all", "no option");
    refuse("compare -d all a.json b.json", "no option");
    // What one file or one answer holds is about one device.
    refuse("verify -d all --digests out.txt", "--digests is about one device: name it with -d");
    refuse("tune -d all --export -", "--export is about one device");
    refuse("tune -d cpu -d gpu --show", "--show is about one device");
}
END_TEST

// Everything that takes -d takes "all"; who looks at every device anyway has then nothing to choose.
START_TEST(all_devices_are_a_preference_of_every_command_with_devices)
{
    static const char *const commands[] = {"", "run", "verify", "tune", "overhead", "calibrate", "devices", "doctor"};
    const bench_cli_option *o;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char line[64];
        snprintf(line, sizeof line, "%s -d all", commands[i]);
        const bench_options options = accept(line);
        const bool is_all = options.device_count == 1 && !strcmp(options.devices[0], "all");
        const bool looks_at_all = options.command == BENCH_COMMAND_DEVICES || options.command == BENCH_COMMAND_DOCTOR;
        ck_assert_msg(looks_at_all ? options.device_count == 0 : is_all, "%s", line);
        snprintf(line, sizeof line, "%s -d cpu -d 0:0", commands[i]);
        ck_assert_uint_eq(accept(line).device_count, 2);
    }
    size_t with_devices = 0;
    for (size_t i = 0; (o = bench_cli_option_at(i)); i++)
        for (size_t c = 0; !strcmp(o->name, "device") && c < BENCH_COMMAND_COUNT; c++)
            with_devices += bench_cli_knows((bench_command)c, o);
    ck_assert_uint_eq(with_devices, sizeof commands / sizeof *commands); // a new one belongs into this test
    ck_assert_str_eq(accept("verify -d cpu --digests out.txt").digests_path, "out.txt");
}
END_TEST

START_TEST(words_become_cases)
{
    bench_options o = accept("run gemm m=1 n=2 k=3 softmax outer=1 axis=2 gemm k=3 n=2 m=1");
    bench_suite suite;
    char reason[BENCH_REASON_TEXT];
    ck_assert_msg(bench_select_cases(&o, "standard", &suite, reason), "%s", reason);
    ck_assert_uint_eq(suite.count, 2); // the third is the first
    ck_assert_str_eq(suite.entries[0].c.canonical, "gemm m=1 n=2 k=3");
    ck_assert_int_eq(suite.entries[0].count, 2);
    ck_assert_str_eq(suite.entries[1].c.canonical, "softmax outer=1 axis=2");
    bench_suite_free(&suite);
    o = accept("run gemm m=1 n=2 k=3 --dtype f16");
    ck_assert(bench_select_cases(&o, "standard", &suite, reason));
    ck_assert_str_eq(suite.entries[0].c.canonical, "gemm m=1 n=2 k=3 dtype=f16");
    bench_suite_free(&suite);
    o = accept("run gemm m=1 n=2");
    ck_assert(!bench_select_cases(&o, "standard", &suite, reason));
    ck_assert_ptr_nonnull(strstr(reason, "k is required"));
    o = accept("run --suite standrad");
    ck_assert(!bench_select_cases(&o, "standard", &suite, reason));
    ck_assert_ptr_nonnull(strstr(reason, "'standard'"));
    o = accept("run --suite smoke gemm softmax");
    ck_assert_msg(bench_select_cases(&o, "standard", &suite, reason), "%s", reason);
    ck_assert_uint_gt(suite.count, 1);
    bool has[2] = {false, false};
    for (size_t i = 0; i < suite.count; i++) {
        const char *op = bench_op_text(suite.entries[i].c.op);
        ck_assert_msg(!strcmp(op, "gemm") || !strcmp(op, "softmax"), "%s", suite.entries[i].c.canonical);
        has[!strcmp(op, "gemm")] = true;
    }
    ck_assert(has[0] && has[1]);
    bench_suite_free(&suite);
    o = accept("run --suite vgg16 rnn");
    ck_assert(!bench_select_cases(&o, "standard", &suite, reason));
    ck_assert_ptr_nonnull(strstr(reason, "'rnn': no case of vgg16"));
    o = accept("run --file /nonexistent/cases.txt");
    ck_assert(!bench_select_cases(&o, "standard", &suite, reason));
    ck_assert_ptr_nonnull(strstr(reason, "/nonexistent/cases.txt"));
}
END_TEST

START_TEST(every_suite_parses_and_is_canonical)
{
    static const char *const wanted[] = {"standard", "resnet50", "vgg16",  "mobilenetv2", "deepbench", "bert",
                                         "llama",    "smoke",    "parity", "training",    "engines",   "ragged"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        bench_suite suite;
        char reason[BENCH_REASON_TEXT];
        ck_assert_msg(bench_suite_load(wanted[i], &suite, reason), "%s", reason);
        ck_assert_uint_gt(suite.count, 10);
        ck_assert_uint_gt(strlen(suite.title), 10);
        bench_suite_free(&suite);
    }
}
END_TEST

static int64_t layers(const char *name, const char *op)
{
    bench_suite suite;
    char reason[BENCH_REASON_TEXT];
    int64_t count = 0;
    ck_assert(bench_suite_load(name, &suite, reason));
    for (size_t i = 0; i < suite.count; i++)
        count += !strcmp(bench_op_text(suite.entries[i].c.op), op) ? suite.entries[i].count : 0;
    bench_suite_free(&suite);
    return count;
}

// The networks' own numbers of layers, and ResNet-50's 4.1e9 multiply-adds. Two are there twice: as they are, and with
// 3x3 in high precision.
START_TEST(networks_are_whole)
{
    ck_assert_int_eq(layers("resnet50", "conv"), 2 * 53);
    ck_assert_int_eq(layers("vgg16", "conv"), 2 * 13);
    ck_assert_int_eq(layers("mobilenetv2", "conv"), 52);
    bench_suite suite;
    char reason[BENCH_REASON_TEXT];
    double macs = 0;
    ck_assert(bench_suite_load("resnet50", &suite, reason));
    for (size_t i = 0; i < suite.count; i++)
        macs += bench_case_macs(&suite.entries[i].c) * (double)suite.entries[i].count;
    bench_suite_free(&suite);
    ck_assert_double_gt(macs, 2 * 3.7e9);
    ck_assert_double_lt(macs, 2 * 4.2e9);
}
END_TEST

START_TEST(suite_files_name_the_line_of_a_mistake)
{
    bench_suite suite;
    char reason[BENCH_REASON_TEXT];
    ck_assert(
        bench_suite_parse("# Title\n\n gemm m=1 n=1 k=1 * 3 # three\nsoftmax outer=1 axis=1\n", "x", &suite, reason));
    ck_assert_str_eq(suite.title, "Title");
    ck_assert_uint_eq(suite.count, 2);
    ck_assert_int_eq(suite.entries[0].count, 3);
    bench_suite_free(&suite);
    ck_assert(!bench_suite_parse("# T\ngemm m=1 n=1 k=1\ngemm m=1 n=1 l=1\n", "file.txt", &suite, reason));
    ck_assert_ptr_nonnull(strstr(reason, "file.txt, line 3"));
    ck_assert(!bench_suite_parse("gemm m=1 n=1 k=1 * x\n", "file.txt", &suite, reason));
    ck_assert_ptr_nonnull(strstr(reason, "how often"));
}
END_TEST

static bool load(const char *path, const char *bytes, size_t size, bench_suite *suite, char reason[BENCH_REASON_TEXT])
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
    return bench_suite_load_file(path, suite, reason);
}

// What cannot be read to its end is no shorter list.
START_TEST(suite_files_are_read_whole_or_refused)
{
    static const char zero[] = "gemm m=1 n=1 k=1\ngemm m=2\0 n=1 k=1\ngemm m=3 n=1 k=1\n";
    static const char zero_first[] = "\0gemm m=1 n=1 k=1\n", wide[] = "\xff\xfeg\0e\0m\0m\0";
    static const char marked[] = "\xef\xbb\xbfgemm m=1 n=1 k=1\n", short_mark[] = "\xef\xbb";
    char path[] = "/tmp/husk-test-cli-XXXXXX", reason[BENCH_REASON_TEXT];
    bench_suite suite;
    const int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    ck_assert(!load(path, zero, sizeof zero - 1, &suite, reason));
    ck_assert_msg(strstr(reason, ", line 2: a zero byte") != NULL, "%s", reason);
    ck_assert(!load(path, zero_first, sizeof zero_first - 1, &suite, reason));
    ck_assert_msg(strstr(reason, ", line 1: a zero byte") != NULL, "%s", reason);
    ck_assert(!load(path, wide, sizeof wide - 1, &suite, reason));
    ck_assert_msg(strstr(reason, ", line 1: a zero byte") != NULL, "%s", reason);
    ck_assert_msg(load(path, marked, sizeof marked - 1, &suite, reason), "%s", reason);
    ck_assert_uint_eq(suite.count, 1);
    bench_suite_free(&suite);
    ck_assert(!load(path, short_mark, sizeof short_mark - 1, &suite, reason));
    unlink(path);
    ck_assert(!bench_suite_load_file("/tmp", &suite, reason));
    ck_assert_str_eq(reason, "/tmp: Is a directory");
    ck_assert(!bench_suite_load_file("/proc/self/mem", &suite, reason)); // opened, and not read
    ck_assert_str_eq(reason, "/proc/self/mem: Input/output error");
    ck_assert(!bench_suite_load_file("/dev/zero", &suite, reason));
    ck_assert_str_eq(reason, "/dev/zero: it has more than 16 MiB, the most that is read");
}
END_TEST

// What a variable that is not set leaves between quotes.
START_TEST(an_empty_word_is_no_case)
{
    static char program[] = "clbench", empty[] = "", blank[] = " \t", case_word[] = "gemm";
    static char commands[][8] = {"run", "verify", "tune", "list"};
    char reason[BENCH_REASON_TEXT];
    bench_options options;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char *alone[] = {program, commands[i], empty}, *blanks[] = {program, commands[i], blank},
             *behind[] = {program, commands[i], case_word, empty};
        ck_assert(!bench_cli_parse(3, alone, &options, reason));
        ck_assert_str_eq(reason, "a word is empty where a case is wanted");
        ck_assert(!bench_cli_parse(3, blanks, &options, reason));
        ck_assert(!bench_cli_parse(4, behind, &options, reason));
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("cli");
    tcase_add_test(tests, words_are_quoted_for_a_shell);
    tcase_add_test(tests, what_a_terminal_obeys_is_cleaned_away);
    tcase_add_test(tests, options_are_read_in_every_form);
    tcase_add_test(tests, a_budget_is_explained_as_the_command_takes_it);
    tcase_add_test(tests, an_operator_alone_is_run);
    tcase_add_test(tests, mistakes_are_refused_with_the_nearest_spelling);
    tcase_add_test(tests, all_devices_are_a_preference_of_every_command_with_devices);
    tcase_add_test(tests, words_become_cases);
    tcase_add_test(tests, every_suite_parses_and_is_canonical);
    tcase_add_test(tests, networks_are_whole);
    tcase_add_test(tests, suite_files_name_the_line_of_a_mistake);
    tcase_add_test(tests, suite_files_are_read_whole_or_refused);
    tcase_add_test(tests, an_empty_word_is_no_case);
    Suite *suite = suite_create("clbench cli");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
