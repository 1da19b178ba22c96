// SPDX-License-Identifier: MIT
// clbench roofline.
#include "report/roofline_command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "compare/history.h"
#include "system/output.h"
#include "record/result_file.h"
#include "report/roofline_svg.h"

// "-" is stdout.
static int write_picture(const bench_roofline *r, const char *path)
{
    const bool is_stdout = !strcmp(path, "-");
    bench_writing writing;
    FILE *file = is_stdout ? stdout : bench_output_open(&writing, path);
    if (!file)
        return BENCH_EXIT_ERROR;
    bench_roofline_draw(r, file);
    if (is_stdout && (ferror(file) || fflush(file) != 0)) {
        fprintf(stderr, "clbench: stdout could not be written: %s\n", strerror(errno));
        return BENCH_EXIT_ERROR;
    }
    if (is_stdout)
        return BENCH_EXIT_OK;
    if (!bench_output_close(&writing, path))
        return BENCH_EXIT_ERROR;
    printf("%zu cases are in %s\n", r->count, path);
    return BENCH_EXIT_OK;
}

int bench_command_roofline(const bench_options *options)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_roofline roofline;
    if (!options->file_count) {
        fprintf(stderr, "clbench: roofline needs a result: clbench roofline RESULT.json [-o PICTURE.svg]\n");
        return BENCH_EXIT_USAGE;
    }
    char path[BENCH_PATH_TEXT];
    const char *picture = options->output_path ? options->output_path : "roofline.svg";
    json_t *document =
        bench_history_resolve(options->files[0], NULL, path, reason) && bench_output_is_apart(picture, path, reason)
            ? bench_result_read(path, reason)
            : NULL;
    if (!document) {
        fprintf(stderr, "clbench: %s\n", reason);
        return BENCH_EXIT_USAGE;
    }
    if (!bench_roofline_make(document, &roofline, reason)) {
        fprintf(stderr, "clbench: %s: %s\n", options->files[0], reason);
        json_decref(document);
        return BENCH_EXIT_USAGE;
    }
    const int code = write_picture(&roofline, picture);
    bench_roofline_free(&roofline);
    json_decref(document);
    return code;
}
