// SPDX-License-Identifier: MIT
#include "cli/table.h"

enum {
    ALL = -1,
    RUNS = 1 << BENCH_COMMAND_STANDARD | 1 << BENCH_COMMAND_RUN,
    RUN = 1 << BENCH_COMMAND_RUN,
    VERIFY = 1 << BENCH_COMMAND_VERIFY,
    LIST = 1 << BENCH_COMMAND_LIST,
    DEVICES = 1 << BENCH_COMMAND_DEVICES,
    DOCTOR = 1 << BENCH_COMMAND_DOCTOR,
    OVERHEAD = 1 << BENCH_COMMAND_OVERHEAD,
    CALIBRATE = 1 << BENCH_COMMAND_CALIBRATE,
    ROOFLINE = 1 << BENCH_COMMAND_ROOFLINE,
    TUNE = 1 << BENCH_COMMAND_TUNE,
    COMPARE = 1 << BENCH_COMMAND_COMPARE,
    REPORT = 1 << BENCH_COMMAND_REPORT,
    INIT_CI = 1 << BENCH_COMMAND_INIT_CI
};

static const bench_cli_command commands[BENCH_COMMAND_COUNT] = {
    [BENCH_COMMAND_STANDARD] = {"", "[OPTION]...", "the standard suite on the default device, about a minute",
                                BENCH_WORDS_NONE},
    [BENCH_COMMAND_RUN] = {"run", "[CASE... | {--suite S | --file F} [OPERATOR...] | --kernels FILE...] [OPTION]...",
                           "measure cases, a suite, a file of cases, or kernels of your own", BENCH_WORDS_CASES},
    [BENCH_COMMAND_VERIFY] = {"verify",
                              "[CASE... | {--suite S | --file F} [OPERATOR...] | --kernels FILE...] [OPTION]...",
                              "compare every variant of every operator with the reference, or kernels of your own "
                              "with their descriptions",
                              BENCH_WORDS_CASES},
    [BENCH_COMMAND_TUNE] =
        {"tune", "[CASE... | {--suite S | --file F} [OPERATOR...] | --kernels FILE...] [OPTION]...",
         "measure which variants to take from now on, or which configurations of kernels of your own "
         "are the fastest",
         BENCH_WORDS_CASES},
    [BENCH_COMMAND_LIST] = {"list", "[CASE... | {--suite S | --file F} [OPERATOR...]]",
                            "the suites, or cases, with their lists written out", BENCH_WORDS_CASES},
    [BENCH_COMMAND_DEVICES] = {"devices", "[-d D]... [--peaks] [--json]",
                               "what is here, which is the default and why, what each can do at most",
                               BENCH_WORDS_NONE},
    [BENCH_COMMAND_DOCTOR] = {"doctor", "[-d D]... [--quick] [--heat TIME] [--json]",
                              "what is wrong with this machine, and what to do about it", BENCH_WORDS_NONE},
    [BENCH_COMMAND_OVERHEAD] = {"overhead", "[-d D]... [--json]",
                                "what a call costs beyond the bare enqueue of its kernels", BENCH_WORDS_NONE},
    [BENCH_COMMAND_CALIBRATE] = {"calibrate", "[-d D]... [--json]",
                                 "measure anew what the choice among variants predicts times from", BENCH_WORDS_NONE},
    [BENCH_COMMAND_COMPARE] = {"compare", "OLD.json NEW.json | A.json B.json C.json...",
                               "what became slower or faster, and what is noise; devices beside each other",
                               BENCH_WORDS_FILES},
    [BENCH_COMMAND_HISTORY] = {"history", "[list | show [RESULT]]",
                               "what was measured before; compare knows it as last, last~1", BENCH_WORDS_HISTORY},
    [BENCH_COMMAND_REPORT] = {"report", "RESULT.json... [-o FILE.html]",
                              "results as one page: plots, baselines, networks, the table", BENCH_WORDS_FILES},
    [BENCH_COMMAND_ROOFLINE] = {"roofline", "RESULT.json [-o FILE.svg]",
                                "a result's cases under the measured roofs, as a picture", BENCH_WORDS_FILES},
    [BENCH_COMMAND_INIT_CI] = {"init-ci", "github|gitlab [FILE...] [-o FILE]",
                               "write a CI job that verifies kernels of your own", BENCH_WORDS_FILES},
};

#define AT(member) offsetof(bench_options, member)
#define FLAG       BENCH_OPTION_FLAG
#define TEXT       BENCH_OPTION_TEXT
#define INTEGER    BENCH_OPTION_INTEGER
#define DURATION   BENCH_OPTION_DURATION

static const bench_cli_option options[] = {
    {"device", 'd', BENCH_OPTION_DEVICE, 0, RUNS | VERIFY | DEVICES | DOCTOR | OVERHEAD | CALIBRATE | TUNE, "D",
     "gpu cpu all", "a device: gpu, cpu, P:D or part of a name; may be repeated; all: each but simulators"},
    {"platform", 'p', TEXT, AT(platform), RUNS | VERIFY | OVERHEAD | CALIBRATE | TUNE, "P", "",
     "the default device of the platform with this number or name"},
    {"suite", 0, TEXT, AT(suite), RUNS | VERIFY | LIST | TUNE, "S", "SUITE", "a named list of cases (clbench list)"},
    {"file", 'f', TEXT, AT(file), RUNS | VERIFY | LIST | TUNE, "F", "FILE", "a file with a case a line"},
    {"baseline", 'b', TEXT, AT(baselines), RUNS, "B,...", "onednn blas clblast ref new all none",
     "rivals: onednn, blas, clblast, ref, new, all, none, or NAME=PROGRAM:RUNNER of another clbench"},
    {"variant", 0, TEXT, AT(variant), RUNS | VERIFY, "V", "all",
     "a variant by name, or all; verify all: in every configuration"},
    {"dtype", 0, TEXT, AT(dtype), RUNS | VERIFY | LIST, "T", "f32 f16 bf16 f64 i8",
     "the cases with this dtype in place of theirs"},
    {"quick", 0, FLAG, AT(quick), RUNS, NULL, "", "0.1 s for each of Husk and the baselines, 20 s in all"},
    {"quick", 0, FLAG, AT(quick), DOCTOR, NULL, "", "look at the system alone, and compute nothing"},
    {"budget", 0, DURATION, AT(budget), RUNS | TUNE, "TIME", "", "time for the whole run, such as 60s; 0: no limit"},
    {"budget", 0, DURATION, AT(budget), DOCTOR, "TIME", "",
     "time for each device's operators and --heat together (default 80s; 0: all operators)"},
    {"heat", 0, DURATION, AT(heat), DOCTOR, "TIME", "",
     "work by which a device shows whether it slows down (default 20s or a quarter of --budget; 0: none)"},
    {"max-time", 0, DURATION, AT(max_time), RUNS | VERIFY | TUNE | DEVICES | OVERHEAD | CALIBRATE, "TIME", "",
     "what takes longer is ended (default 120s, and 600s where something may have to be compiled)"},
    {"max-time", 0, DURATION, AT(max_time), DOCTOR, "TIME", "", "a driver that takes longer is ended (default 30s)"},
    {"rounds", 'r', INTEGER, AT(rounds), RUNS, "N", "",
     "measure everything N times, each time by new processes (default 1; of the suite standard, without --quick, 3)"},
    {"warmup", 'w', INTEGER, AT(warmup), RUNS, "N", "", "runs before measuring, at least (default 3)"},
    {"seed", 0, INTEGER, AT(seed), RUNS | VERIFY | TUNE | DOCTOR, "N", "",
     "of the shuffling and of the samples that are verified"},
    {"again", 0, FLAG, AT(again), TUNE, NULL, "", "also the cases that the database has an answer for"},
    {"show", 0, FLAG, AT(show), TUNE, NULL, "", "say what is in the database"},
    {"predictions", 0, FLAG, AT(predictions), TUNE, NULL, "",
     "measure every candidate beside what is predicted of it, and keep nothing"},
    {"export", 0, TEXT, AT(export_path), TUNE, "FILE", "FILE",
     "write what differs from the prediction on this device; - is stdout"},
    {"merge", 0, BENCH_OPTION_MERGED, 0, TUNE, "FILE...", "FILE", "take over the entries of other databases"},
    {"compile", 0, FLAG, AT(compile), RUNS, NULL, "", "also each case's first call in new processes, cold and cached"},
    {"startup", 0, FLAG, AT(startup), RUNS, NULL, "", "also the time to a ready context, cold and warm"},
    {"no-startup", 0, FLAG, AT(no_startup), RUNS, NULL, "", "leave that out"},
    {"cold", 0, FLAG, AT(cold), RUNS, NULL, "", "operands rotate over twice the last-level cache"},
    {"json", 0, TEXT, AT(json_path), RUNS, "FILE", "FILE", "write results as JSON (schema clbench/2); - is stdout"},
    {"json", 0, TEXT, AT(json_path), VERIFY, "FILE", "FILE",
     "write each result as JSON (schema clbench-verify/2); - is stdout"},
    {"junit", 0, TEXT, AT(junit_path), VERIFY, "FILE", "FILE", "write each result as JUnit XML, for a CI system"},
    {"json", 0, TEXT, AT(json_path), TUNE, "FILE", "FILE",
     "--kernels: write each configuration's time as JSON (schema clbench-tune/1); - is stdout"},
    {"t4", 0, TEXT, AT(t4_path), TUNE, "FILE", "FILE",
     "--kernels: the same of one kernel at one size as Kernel Tuner and others keep it"},
    {"json", 0, FLAG, AT(json), DEVICES | DOCTOR | OVERHEAD | CALIBRATE, NULL, "", "print JSON"},
    {"json", 0, TEXT, AT(json_path), COMPARE, "FILE", "FILE", "write the comparison as JSON"},
    {"csv", 0, TEXT, AT(csv_path), RUNS, "FILE", "FILE", "write results as CSV"},
    {"md", 0, TEXT, AT(md_path), RUNS | COMPARE, "FILE", "FILE", "write results as a Markdown table"},
    {"plain", 0, TEXT, AT(plain_path), RUNS, "FILE", "FILE", "write results as lines, name: value unit"},
    {"resume", 0, TEXT, AT(resume_path), RUNS, "FILE", "FILE", "go on with the run that wrote this file"},
    {"no-history", 0, FLAG, AT(no_history), RUNS, NULL, "", "do not keep the result in the history"},
    {"peaks", 0, FLAG, AT(peaks), DEVICES, NULL, "", "also measure what each can do at most"},
    {"force", 0, FLAG, AT(force), COMPARE, NULL, "", "compare different devices or drivers nevertheless"},
    {"fail-on", 0, TEXT, AT(fail_on), COMPARE, "WHAT", "regression ambiguous never",
     "regression (the default), ambiguous or never"},
    {"kernels", 0, BENCH_OPTION_KERNELS, 0, VERIFY | RUN | TUNE, "FILE...", "FILE",
     "kernels of your own, described in files; words behind them choose: KERNEL NAME=VALUE..."},
    {"repeat", 0, INTEGER, AT(repeat), VERIFY, "N", "",
     "--kernels: run each N times, which have to come to the same bits (default 2)"},
    {"fuzz", 0, DURATION, AT(fuzz), VERIFY, "TIME", "",
     "--kernels: on each device, time for sizes that are drawn; the smallest that fails is said"},
    {"offline", 0, TEXT, AT(offline), VERIFY, "TARGET,...", "nvidia amd intel all",
     "--kernels: compile for GPUs that are not here, and say what kernels take there; no device is opened without -d"},
    {"require", 0, TEXT, AT(required), VERIFY, "NAME,...", "pocl oclgrind intel rusticl nvidia amd",
     "--kernels: devices that have to be here, by a part of their or their platform's name; the devices, without -d"},
    {"annotate", 0, TEXT, AT(annotate), VERIFY, "WHAT", "github",
     "--kernels: also print what is wrong as annotations of GitHub Actions"},
    {"digests", 0, TEXT, AT(digests_path), VERIFY, "FILE", "FILE",
     "write a line a result: case, variant, a hash of all its bits"},
    {"output", 'o', TEXT, AT(output_path), ROOFLINE | REPORT | INIT_CI, "FILE", "FILE",
     "where the picture, the page or the job goes; init-ci: - is stdout"},
    {"list", 'l', FLAG, AT(list), RUNS | VERIFY | LIST | TUNE, NULL, "", "list the cases and do nothing else"},
    {"dry-run", 'n', FLAG, AT(dry_run), RUNS | VERIFY | TUNE, NULL, "",
     "say what would be done, where, against what and how long it takes, and do nothing"},
    {"quiet", 'q', FLAG, AT(quiet), ALL, NULL, "", "no progress; doctor: nor what is in order"},
    {"help", 'h', FLAG, AT(help), ALL, NULL, "", "this text; behind a command, its own"},
    {"version", 'V', FLAG, AT(version), ALL, NULL, "", "the version"},
};

const bench_cli_line bench_cli_exit_codes[] = {
    {"0", "all right"},
    {"1",
     "a case ended with an error, or is suspect, or no case of a device came to a right result; a file or stdout could "
     "not be written; verify: nothing could be verified; doctor: a problem was found"},
    {"2", "usage: an unknown command, option, suite, case, key or value; the message names the nearest valid one"},
    {"3", "verification failed: a result is wrong; compare: one of the new run is; doctor: a device computes wrong"},
    {"4", "compare: something became slower, or is no longer measured"},
    {"5", "compare: ambiguous, with --fail-on ambiguous; and where nothing could be compared"},
    {"6",
     "no device fits what -d says, or there is no OpenCL platform; the message says what there is, or what to install"},
    {"124", "a case did not end in time; the others were measured"},
    {"129, 130, 143", "hang-up, Ctrl-C, SIGTERM: what was measured is kept, and the last line says how to go on"},
    {"141", "nobody reads stdout any more (a pipe into head, say): the same"},
    {NULL, NULL},
};

const bench_cli_line bench_cli_variables[] = {
    {"HUSK_DEVICE", "the device, where -d does not name one"},
    {"HUSK_VARIANT, HUSK_ENGINES, HUSK_TUNING, HUSK_MACHINE, HUSK_LIMITS, HUSK_CACHE, HUSK_KERNEL_DIR, "
     "HUSK_PROGRAM_DIR, HUSK_VERBOSE",
     "as for every program that uses Husk"},
    {"XDG_DATA_HOME",
     "where the history, tuning databases and measured rates are: $XDG_DATA_HOME/husk, or ~/.local/share/husk"},
    {"NO_COLOR", "no colours"},
    {NULL, NULL},
};

const bench_cli_line bench_cli_examples[] = {
    {"clbench", "the standard suite"},
    {"clbench run gemm m=512 n=512 k=512", "one case"},
    {"clbench run gemm m=1,16,256..4096*2 n=4096 k=4096", "a case for each m"},
    {"clbench run --suite resnet50 --baseline onednn --json resnet50.json", "a network against oneDNN"},
    {"clbench verify -d gpu", "whether a GPU computes right"},
    {"clbench verify --kernels saxpy.txt -d all --junit out.xml", "kernels of your own, on every device"},
    {"clbench doctor", "why it is not there"},
    {NULL, NULL},
};

const bench_cli_command *bench_cli_command_at(size_t index)
{
    return index < BENCH_COMMAND_COUNT ? &commands[index] : NULL;
}

const bench_cli_option *bench_cli_option_at(size_t index)
{
    return index < sizeof options / sizeof *options ? &options[index] : NULL;
}

bool bench_cli_knows(bench_command command, const bench_cli_option *option)
{
    return (option->commands & (1 << command)) != 0;
}
