// SPDX-License-Identifier: MIT
// Linux' files cpuN/cache/indexM/{level,type,size,shared_cpu_list,coherency_line_size}:
// https://docs.kernel.org/admin-guide/cputopology.html and Documentation/ABI/testing/sysfs-devices-system-cpu.
#include "os/cpu_caches.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/read_file.h"

// What is read of a file, and how many CPUs and caches of each are asked: machines with more have more of the same.
enum { MOST_TEXT = 4096, MOST_CPUS = 1024, ASKED_CPUS = 32, MOST_CACHES = 8 };

typedef struct cache {
    unsigned level, sharers;
    uint64_t bytes;
    unsigned line;
} cache;

typedef struct reading {
    const char *folder;
    bool lacks_memory;
} reading;

static bool read_text(reading *r, unsigned cpu, unsigned index, const char *leaf, char text[64])
{
    char path[512];
    snprintf(path, sizeof path, "%s/cpu%u/cache/index%u/%s", r->folder, cpu, index, leaf);
    errno = 0;
    char *all = husk__read_stream(path, MOST_TEXT);
    r->lacks_memory |= !all && errno == ENOMEM;
    if (all)
        snprintf(text, 64, "%.60s", all);
    free(all);
    return all != NULL;
}

// "48K" or "32M".
static uint64_t parse_bytes(const char *text)
{
    char *end;
    const uint64_t number = strtoull(text, &end, 10);
    return *end == 'K' ? number << 10 : *end == 'M' ? number << 20 : number;
}

// CPUs in a list such as "0-3,8"; at least 1.
static unsigned count_cpus(const char *text)
{
    unsigned count = 0;
    for (const char *at = text; *at >= '0' && *at <= '9';) {
        char *end;
        const unsigned long from = strtoul(at, &end, 10), to = *end == '-' ? strtoul(end + 1, &end, 10) : from;
        count += to >= from && to - from < MOST_CPUS ? (unsigned)(to - from) + 1 : 1;
        at = *end == ',' ? end + 1 : end;
        if (*end != ',')
            break;
    }
    return count > 0 ? count : 1;
}

static bool read_cache(reading *r, unsigned cpu, unsigned index, cache *found)
{
    char level[64], type[64], size[64], sharers[64], line[64];
    if (!read_text(r, cpu, index, "level", level) || !read_text(r, cpu, index, "type", type) ||
        !read_text(r, cpu, index, "size", size))
        return false;
    *found = (cache){.level = (unsigned)strtoul(level, NULL, 10), .sharers = 1, .bytes = parse_bytes(size)};
    if (read_text(r, cpu, index, "shared_cpu_list", sharers))
        found->sharers = count_cpus(sharers);
    if (read_text(r, cpu, index, "coherency_line_size", line))
        found->line = (unsigned)strtoul(line, NULL, 10);
    if (strncmp(type, "Instruction", 11) == 0)
        found->level = 0; // no level of data
    return true;
}

static void take_least(uint64_t *least, uint64_t bytes)
{
    if (bytes > 0 && (*least == 0 || bytes < *least))
        *least = bytes;
}

static void read_cpu(reading *r, unsigned cpu, husk__cpu_caches *caches)
{
    cache found;
    for (unsigned index = 0; index < MOST_CACHES && read_cache(r, cpu, index, &found); ++index) {
        if (found.level == 1)
            take_least(&caches->l1, found.bytes / found.sharers);
        else if (found.level == 2)
            take_least(&caches->l2, found.bytes / found.sharers);
        else if (found.level == 3 && (caches->l3 == 0 || found.bytes < caches->l3)) {
            caches->l3 = found.bytes;
            caches->l3_sharers = found.sharers;
        }
        if (found.level > 0 && found.line > 0)
            caches->line = found.line;
    }
}

bool husk__read_cpu_caches(const char *folder, husk__cpu_caches *caches)
{
    char level[64];
    unsigned count = 0;
    reading r = {.folder = folder};
    *caches = (husk__cpu_caches){0};
    while (count < MOST_CPUS && read_text(&r, count, 0, "level", level))
        ++count;
    for (unsigned i = 0; i < count; i += (count + ASKED_CPUS - 1) / ASKED_CPUS)
        read_cpu(&r, i, caches);
    if (count > 0)
        read_cpu(&r, count - 1, caches); // often of another kind than the first
    return !r.lacks_memory;
}

bool husk__cpu_caches_here(husk__cpu_caches *caches)
{
    return husk__read_cpu_caches("/sys/devices/system/cpu", caches);
}
