// SPDX-License-Identifier: MIT
// Drives a target where there is no libFuzzer: every file it is given, or of the folders it is given, and -runs=N
// mutations of them by chance, the same in every run (-seed=S). The input is in the file -input=FILE while it is
// tried, so that one that ends the program is there to be looked at.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "ref/random.h"

enum { MOST_INPUTS = 4096, LONGEST = 1 << 16 };

typedef struct input {
    uint8_t *bytes;
    size_t size;
} input;

static input inputs[MOST_INPUTS];
static size_t input_count;
static const char *crash_path;
static uint8_t tried[LONGEST];
static size_t tried_size;

// ---- seeds ----

static void take_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    fuzz_expect(file != NULL && input_count < MOST_INPUTS, "%s cannot be read, or is one too many", path);
    input *in = &inputs[input_count++];
    in->bytes = malloc(LONGEST);
    fuzz_expect(in->bytes != NULL, "memory is short");
    in->size = fread(in->bytes, 1, LONGEST, file);
    fclose(file);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// In the order of their names: a folder's own is the file system's.
static void take_folder(const char *path)
{
    DIR *folder = opendir(path);
    static char *names[MOST_INPUTS];
    size_t count = 0;
    fuzz_expect(folder != NULL, "%s cannot be read", path);
    for (struct dirent *entry; (entry = readdir(folder)) && count < MOST_INPUTS;) {
        char name[1024];
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            names[count++] = bench_copy_text(name);
    }
    closedir(folder);
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; i++) {
        take_file(names[i]);
        free(names[i]);
    }
}

static void take(const char *path)
{
    struct stat about;
    fuzz_expect(stat(path, &about) == 0, "%s is not there", path);
    if (S_ISDIR(about.st_mode))
        take_folder(path);
    else
        take_file(path);
}

// ---- mutations ----

static void remove_bytes(size_t at, size_t count)
{
    count = count < tried_size - at ? count : tried_size - at;
    memmove(tried + at, tried + at + count, tried_size - at - count);
    tried_size -= count;
}

static void insert_bytes(size_t at, const uint8_t *bytes, size_t count)
{
    count = count < LONGEST - tried_size ? count : LONGEST - tried_size;
    memmove(tried + at + count, tried + at, tried_size - at);
    memcpy(tried + at, bytes, count);
    tried_size += count;
}

static size_t below(husk_ref_random *random, size_t limit)
{
    return limit ? (size_t)husk_ref_random_below(random, (int64_t)limit) : 0;
}

static void mutate(husk_ref_random *random)
{
    const input *other = &inputs[below(random, input_count)];
    const size_t at = below(random, tried_size + 1), from = below(random, other->size);
    uint8_t run[16];
    switch (husk_ref_random_below(random, 6)) {
    case 0: // a byte
        if (at < tried_size)
            tried[at] = (uint8_t)husk_ref_random_below(random, 256);
        break;
    case 1: // a bit
        if (at < tried_size)
            tried[at] ^= (uint8_t)(1 << husk_ref_random_below(random, 8));
        break;
    case 2:
        remove_bytes(at, 1 + below(random, 16));
        break;
    case 3: // a run of one letter
        memset(run, (int)husk_ref_random_below(random, 256), sizeof run);
        insert_bytes(at, run, 1 + below(random, sizeof run));
        break;
    case 4: // a piece of another one
        insert_bytes(at, other->bytes + from, below(random, other->size - from));
        break;
    default: // the end of another one
        tried_size = at;
        insert_bytes(at, other->bytes + from, other->size - from);
    }
}

// ---- runs ----

static void run(const uint8_t *bytes, size_t size)
{
    FILE *file = crash_path ? fopen(crash_path, "wb") : NULL;
    if (file) {
        fwrite(bytes, 1, size, file);
        fclose(file);
    }
    LLVMFuzzerTestOneInput(bytes, size);
}

static bool is_option(const char *word, const char *name, long *value)
{
    const size_t length = strlen(name);
    if (strncmp(word, name, length) != 0)
        return false;
    if (value)
        *value = strtol(word + length, NULL, 10);
    return true;
}

int main(int argc, char **argv)
{
    long runs = 0, seed = 1;
    for (int i = 1; i < argc; i++) {
        if (is_option(argv[i], "-input=", NULL))
            crash_path = argv[i] + strlen("-input=");
        else if (!is_option(argv[i], "-runs=", &runs) && !is_option(argv[i], "-seed=", &seed))
            take(argv[i]);
    }
    fuzz_expect(input_count > 0, "there are no seeds");
    for (size_t i = 0; i < input_count; i++)
        run(inputs[i].bytes, inputs[i].size);
    husk_ref_random random = {.seed = (uint64_t)seed};
    for (long i = 0; i < runs; i++) {
        const input *in = &inputs[below(&random, input_count)];
        memcpy(tried, in->bytes, tried_size = in->size);
        for (size_t k = 1 + below(&random, 4); k > 0; k--)
            mutate(&random);
        run(tried, tried_size);
    }
    printf("stat::number_of_executed_units: %ld\n", (long)input_count + runs);
    for (size_t i = 0; i < input_count; i++)
        free(inputs[i].bytes);
    if (crash_path)
        remove(crash_path);
    return 0;
}
