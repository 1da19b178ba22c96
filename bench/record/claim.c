// SPDX-License-Identifier: MIT
#include "record/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "system/output.h"
#include "record/result_file.h"

#define ATTEMPTS 100 // at a file that is replaced while it is opened

static int open_there(const char *path)
{
    const int descriptor = open(path, O_RDWR | O_CLOEXEC); // some file systems lock only what may be written
    return descriptor < 0 && errno == EACCES ? open(path, O_RDONLY | O_CLOEXEC) : descriptor;
}

static bool is_at(int descriptor, const char *path)
{
    struct stat own, there;
    return fstat(descriptor, &own) == 0 && stat(path, &there) == 0 && own.st_dev == there.st_dev &&
           own.st_ino == there.st_ino;
}

bool bench_claim_take(bench_claim *claim, const char *path, char reason[BENCH_REASON_TEXT])
{
    for (int i = 0; i < ATTEMPTS; i++) {
        const int descriptor = open_there(path);
        claim->is_there = descriptor >= 0 || errno != ENOENT;
        if (descriptor < 0)
            return true;
        const bool is_taken = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (!is_taken && is_at(descriptor, path)) {
            claim->file = fdopen(descriptor, "r");
            return true;
        }
        close(descriptor);
        if (is_taken)
            break;
    }
    return bench_explain(reason, BENCH_REASON_TEXT, "%.400s: another clbench is writing it", path);
}

static bool write_whole(FILE *file, const json_t *document, bool *fits)
{
    const mode_t mask = umask(0);
    umask(mask);
    const bool good =
        json_dumpf(document, file, JSON_INDENT(1) | JSON_REAL_PRECISION(10)) == 0 && fputc('\n', file) != EOF;
    *fits = !good || bench_result_fits(file);
    return good && *fits && fchmod(fileno(file), 0666 & ~mask) == 0 && bench_output_sync(file);
}

bool bench_claim_write(bench_claim *claim, const char *path, const json_t *document, bool *fits)
{
    char temporary[4096];
    snprintf(temporary, sizeof temporary, "%.4000s.XXXXXX", path);
    FILE *file = bench_output_temporary(temporary);
    if (!file)
        return false;
    bool good = write_whole(file, document, fits);
    if (good)
        flock(fileno(file), LOCK_EX | LOCK_NB); // where there are no locks, it goes without
    good = good && bench_output_place(temporary, path, claim->is_there);
    if (good) {
        bench_claim_drop(claim);
        *claim = (bench_claim){.file = file, .is_there = true};
        return true;
    }
    const int error = errno;
    fclose(file);
    unlink(temporary);
    errno = error;
    return false;
}

void bench_claim_drop(bench_claim *claim)
{
    if (claim->file)
        fclose(claim->file);
    *claim = (bench_claim){0};
}
