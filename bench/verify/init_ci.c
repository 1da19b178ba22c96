// SPDX-License-Identifier: MIT
#include "verify/init_ci.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/embedded.h"
#include "common/text.h"
#include "system/output.h"

typedef struct service {
    const char *name;
    const char *text; // among the embedded files
    const char *folders[3]; // to be made, NULL-ended
    const char *path;
} service;

static const service services[] = {
    {"github", "ci/github.yml", {".github", ".github/workflows", NULL}, ".github/workflows/verify-kernels.yml"},
    {"gitlab", "ci/gitlab.yml", {NULL}, ".gitlab-ci.yml"},
};

static const service *find_service(const char *name)
{
    for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
        if (!strcmp(services[i].name, name))
            return &services[i];
    }
    return NULL;
}

static void put(FILE *file, const char *text, const char *kernels)
{
    static const char mark[] = "@KERNELS@";
    for (const char *at; (at = strstr(text, mark)); text = at + sizeof mark - 1) {
        fwrite(text, 1, (size_t)(at - text), file);
        fputs(kernels, file);
    }
    fputs(text, file);
}

// The files as words of a shell; without any, a pattern.
static void name_kernels(const bench_options *options, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 1; i < options->file_count; i++) {
        char quoted[4 * 4096];
        bench_shell_word(options->files[i], quoted, sizeof quoted);
        bench_append(text, size, "%s%s", i > 1 ? " " : "", quoted);
    }
    if (!text[0])
        snprintf(text, size, "kernels/*.txt");
}

static bool exists(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file)
        fclose(file);
    return file != NULL;
}

static bool make_folders(const service *s)
{
    for (size_t i = 0; s->folders[i]; i++) {
        if (mkdir(s->folders[i], 0777) != 0 && errno != EEXIST) {
            fprintf(stderr, "clbench: %s: %s\n", s->folders[i], strerror(errno));
            return false;
        }
    }
    return true;
}

static bool write_file(const char *path, const char *text, const char *kernels)
{
    bench_writing writing;
    FILE *file = bench_output_open(&writing, path);
    if (!file)
        return false;
    put(file, text, kernels);
    return bench_output_close(&writing, path);
}

int bench_command_init_ci(const bench_options *options)
{
    char kernels[20000];
    const service *s = options->file_count ? find_service(options->files[0]) : NULL;
    if (!s) {
        fprintf(stderr, "clbench: init-ci: github or gitlab is wanted, and then files that describe kernels\n");
        return BENCH_EXIT_USAGE;
    }
    const char *path = options->output_path ? options->output_path : s->path;
    name_kernels(options, kernels, sizeof kernels);
    if (!strcmp(path, "-")) {
        put(stdout, bench_embedded_text(s->text), kernels);
        return BENCH_EXIT_OK;
    }
    if (exists(path)) {
        fprintf(stderr, "clbench: %s is there already and stays as it is; -o FILE names another, and - is stdout\n",
                path);
        return BENCH_EXIT_ERROR;
    }
    if ((!options->output_path && !make_folders(s)) || !write_file(path, bench_embedded_text(s->text), kernels))
        return BENCH_EXIT_ERROR;
    printf("%s is written: it verifies %s.\nIt builds Husk from the folder husk of your repository, for example a Git "
           "submodule.\n",
           path, kernels);
    return BENCH_EXIT_OK;
}
