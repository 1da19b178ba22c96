// SPDX-License-Identifier: MIT
// clbench report: results as a page.
#include "report/command.h"

#include <stdio.h>
#include <string.h>

#include "compare/history.h"
#include "system/output.h"
#include "system/terminal.h"
#include "record/result_file.h"
#include "report/report.h"

static int write_page(const bench_column *columns, size_t count, const char *path)
{
    const bool is_stdout = !strcmp(path, "-");
    bench_writing writing;
    FILE *file = is_stdout ? stdout : bench_output_open(&writing, path);
    if (!file)
        return BENCH_EXIT_ERROR;
    bench_report_write(columns, count, file);
    if (is_stdout)
        return fflush(stdout) == 0 ? BENCH_EXIT_OK : BENCH_EXIT_ERROR;
    if (!bench_output_close(&writing, path))
        return BENCH_EXIT_ERROR;
    printf("The report is %s\n", path);
    return BENCH_EXIT_OK;
}

int bench_command_report(const bench_options *options)
{
    bench_column columns[BENCH_MAX_COLUMNS];
    json_t *documents[BENCH_MAX_FILES] = {NULL};
    char path[BENCH_PATH_TEXT], reason[BENCH_REASON_TEXT];
    const char *page = options->output_path ? options->output_path : "report.html";
    size_t count = 0;
    int code = BENCH_EXIT_OK;
    if (!options->file_count) {
        fprintf(stderr, "clbench: report needs a result: clbench report RESULT.json... [-o report.html]\n");
        return BENCH_EXIT_USAGE;
    }
    bench_progress_start(options->quiet);
    for (size_t i = 0; i < options->file_count && code == BENCH_EXIT_OK; i++) {
        bench_progress_show("[%zu/%zu] reading %s", i + 1, options->file_count, options->files[i]);
        if (bench_history_resolve(options->files[i], NULL, path, reason))
            documents[i] = bench_output_is_apart(page, path, reason) ? bench_result_read(path, reason) : NULL;
        if (!documents[i] || !bench_columns_add(columns, &count, documents[i], options->files[i], reason)) {
            bench_progress_clear();
            fprintf(stderr, "clbench: %s\n", reason);
            code = BENCH_EXIT_USAGE;
        }
    }
    bench_progress_clear();
    if (code == BENCH_EXIT_OK)
        code = write_page(columns, count, page);
    for (size_t i = 0; i < BENCH_MAX_FILES; i++)
        json_decref(documents[i]);
    return code;
}
