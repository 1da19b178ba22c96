// SPDX-License-Identifier: MIT
#include "cli/take_stdout.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void bench_output_take_stdout(bench_options *options, char path[32])
{
    const char **const paths[] = {&options->json_path,  &options->csv_path,     &options->md_path, &options->plain_path,
                                  &options->junit_path, &options->digests_path, &options->t4_path};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!*paths[i] || strcmp(*paths[i], "-"))
            continue;
        if (!path[0]) {
            fflush(stdout);
            snprintf(path, 32, "/dev/fd/%d", fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)); // not for workers
            dup2(STDERR_FILENO, STDOUT_FILENO);
        }
        *paths[i] = path;
    }
}
