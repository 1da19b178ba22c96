// SPDX-License-Identifier: MIT
// clbench: see docs/clbench.md.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <husk/husk.h>

#include "cli/help.h"
#include "cli/pages.h"
#include "cli/parse.h"
#include "compare/command.h"
#include "compare/history_command.h"
#include "doctor/doctor.h"
#include "doctor/probe.h"
#include "system/awake.h"
#include "system/interrupt.h"
#include "system/process.h"
#include "report/command.h"
#include "report/roofline_command.h"
#include "run/runners.h"
#include "run/devices.h"
#include "run/list.h"
#include "run/machine.h"
#include "run/overhead.h"
#include "run/run.h"
#include "tune/command.h"
#include "verify/command.h"
#include "verify/init_ci.h"
#include "worker/husk_runner.h"
#include "worker/husk_extra.h"
#include "worker/kernel_runner.h"
#include "worker/worker.h"

// A file or a worker's pipe that came to have the number of a standard descriptor would be taken for it. What stands
// for stdout cannot be written: that it was missing is said in the end.
static bool open_standard_descriptors(void)
{
    for (int number = STDIN_FILENO; number <= STDERR_FILENO; number++) {
        const int way = number == STDERR_FILENO ? O_WRONLY : O_RDONLY;
        if (fcntl(number, F_GETFD) < 0 && open("/dev/null", way) != number) {
            fprintf(stderr, "clbench: /dev/null cannot be opened: %s\n", strerror(errno));
            return false;
        }
    }
    return true;
}

// clbench --worker NAME DEVICE THREADS: what the parent process starts.
static int serve(char **argv)
{
    const bench_runner *runner = bench_runner_find(argv[2]);
    if (!runner)
        return BENCH_EXIT_USAGE;
    bench_worker_options options = {
        .runner = runner,
        .open = {.device = argv[3][0] ? argv[3] : NULL, .threads = atoi(argv[4])},
        .extra = runner == &bench_runner_husk || runner == &bench_runner_kernel ? bench_husk_extra : NULL,
    };
    return bench_worker_serve(&options);
}

static int run_command(const bench_options *options)
{
    switch (options->command) {
    case BENCH_COMMAND_VERIFY:
        return bench_command_verify(options);
    case BENCH_COMMAND_LIST:
        return bench_command_list(options);
    case BENCH_COMMAND_DEVICES:
        return bench_command_devices(options);
    case BENCH_COMMAND_DOCTOR:
        return bench_command_doctor(options);
    case BENCH_COMMAND_TUNE:
        return bench_command_tune(options);
    case BENCH_COMMAND_OVERHEAD:
        return bench_command_overhead(options);
    case BENCH_COMMAND_CALIBRATE:
        return bench_command_calibrate(options);
    case BENCH_COMMAND_ROOFLINE:
        return bench_command_roofline(options);
    case BENCH_COMMAND_COMPARE:
        return bench_command_compare(options);
    case BENCH_COMMAND_HISTORY:
        return bench_command_history(options);
    case BENCH_COMMAND_INIT_CI:
        return bench_command_init_ci(options);
    case BENCH_COMMAND_REPORT:
        return bench_command_report(options);
    default:
        return bench_command_run(options);
    }
}

// What could not be said must not look as if it had been: a full disk, a pipe whose reader has gone.
static int finish(int code)
{
    const bool is_written = !ferror(stdout) && fflush(stdout) == 0;
    if (is_written || code != BENCH_EXIT_OK)
        return code;
    if (bench_stdout_is_unread())
        return 128 + SIGPIPE;
    fprintf(stderr, "clbench: stdout could not be written\n");
    return BENCH_EXIT_ERROR;
}

int main(int argc, char **argv)
{
    bench_options options;
    char reason[BENCH_REASON_TEXT];
    signal(SIGPIPE, SIG_IGN); // a worker that died is found out by reading from it
    if (argc == 5 && !strcmp(argv[1], BENCH_WORKER_ARGUMENT))
        return serve(argv);
    if (argc == 2 && !strcmp(argv[1], BENCH_AWAKE_ARGUMENT))
        return bench_awake_serve();
    if (argc == 4 && !strcmp(argv[1], BENCH_PROBE_ARGUMENT))
        return bench_doctor_probe(argv[2], argv[3]);
    if (!open_standard_descriptors())
        return BENCH_EXIT_ERROR;
    if (argc == 3 && !strcmp(argv[1], BENCH_GENERATE_ARGUMENT))
        return finish(bench_cli_generate(argv[2], stdout) ? BENCH_EXIT_OK : BENCH_EXIT_USAGE);
    if (!bench_cli_parse(argc, argv, &options, reason)) {
        fprintf(stderr, "clbench: %s\n", reason);
        return BENCH_EXIT_USAGE;
    }
    if (options.help) {
        if (!options.cases[0] || !bench_cli_help_case(options.cases))
            bench_cli_help(options.command);
        return finish(BENCH_EXIT_OK);
    }
    if (options.version) {
        printf("clbench %s\nbaselines:", husk_version());
        for (size_t i = 1; bench_runner_get(i); i++)
            printf(" %s", bench_runner_get(i)->name);
        putchar('\n');
        return finish(BENCH_EXIT_OK);
    }
    return finish(run_command(&options));
}
