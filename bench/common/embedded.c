// SPDX-License-Identifier: MIT
#include "common/embedded.h"

#include <stddef.h>
#include <string.h>

const char *bench_embedded_text(const char *name)
{
    for (const bench_embedded_file *file = bench_embedded_files; file->name; file++) {
        if (!strcmp(file->name, name))
            return file->text;
    }
    return NULL;
}
