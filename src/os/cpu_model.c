// SPDX-License-Identifier: MIT
#include "os/cpu_model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/read_file.h"

void husk__cpu_model(const char *info, char *text, size_t size)
{
    static const char *const names[] = {"cpu family", "model", "CPU implementer", "CPU part"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        for (const char *line = info; line; line = strchr(line, '\n')) {
            line += *line == '\n';
            size_t length = strlen(names[i]);
            if (strncmp(line, names[i], length) != 0)
                continue;
            const char *value = line + length + strspn(line + length, "\t ");
            if (*value != ':')
                continue;
            value += 1 + strspn(value + 1, " ");
            size_t used = strlen(text);
            snprintf(text + used, size - used, "/%.*s", (int)strcspn(value, "\n"), value);
            break;
        }
    }
}

bool husk__append_cpu_model(char *text, size_t size)
{
    errno = 0;
    char *info = husk__read_stream("/proc/cpuinfo", 4096);
    const bool lacks_memory = !info && errno == ENOMEM;
    if (info)
        husk__cpu_model(info, text, size);
    free(info);
    return !lacks_memory;
}
