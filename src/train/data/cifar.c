// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train/data/parse.h"

enum { RECORDS_AT_ONCE = 256 };

husk_status husk__cifar10_count(uint64_t size, int64_t *records, const husk__source *source)
{
    *records = (int64_t)(size / HUSK__CIFAR10_RECORD);
    if (size == 0 || size % HUSK__CIFAR10_RECORD != 0)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT,
                                 "its %llu bytes are not whole records of CIFAR-10, a label and 3072 pixels each",
                                 (unsigned long long)size);
    return HUSK_OK;
}

husk_status husk__cifar10_parse(const unsigned char *bytes, int64_t first, int64_t records, uint8_t *images,
                                uint8_t *labels, const husk__source *source)
{
    for (int64_t i = 0; i < records; ++i, bytes += HUSK__CIFAR10_RECORD) {
        if (bytes[0] >= HUSK__CIFAR10_CLASSES)
            return husk__source_fail(source, HUSK_INVALID_ARGUMENT,
                                     "record %lld: its label is %d, and labels are 0 to 9", (long long)(first + i),
                                     bytes[0]);
        labels[i] = bytes[0];
        memcpy(images + i * HUSK__CIFAR10_PIXELS, bytes + 1, HUSK__CIFAR10_PIXELS);
    }
    return HUSK_OK;
}

// The records of all files; each file's count is looked at again when it is read.
static husk_status count_records(const char *const *paths, size_t count, int64_t *counts, int64_t *all,
                                 husk__source *source)
{
    *all = 0;
    for (size_t i = 0; i < count; ++i) {
        int descriptor;
        uint64_t size;
        source->path = paths[i];
        husk_status status = husk__file_open(source, &descriptor, &size);
        if (status)
            return status;
        close(descriptor);
        if ((status = husk__cifar10_count(size, &counts[i], source)))
            return status;
        *all += counts[i];
    }
    return HUSK_OK;
}

// In pieces, so that a file is not in memory twice.
static husk_status read_records(const husk__source *source, int64_t records, uint8_t *images, uint8_t *labels)
{
    int descriptor;
    uint64_t size;
    husk_status status = husk__file_open(source, &descriptor, &size);
    if (status)
        return status;
    unsigned char *piece = malloc((size_t)RECORDS_AT_ONCE * HUSK__CIFAR10_RECORD);
    if (!piece)
        status = husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory to read it");
    for (int64_t done = 0; !status && done < records;) {
        const int64_t left = records - done, now = left < RECORDS_AT_ONCE ? left : RECORDS_AT_ONCE;
        status = husk__file_read(source, descriptor, (uint64_t)done * HUSK__CIFAR10_RECORD, piece,
                                 (uint64_t)now * HUSK__CIFAR10_RECORD);
        if (!status)
            status = husk__cifar10_parse(piece, done, now, images + done * HUSK__CIFAR10_PIXELS, labels + done, source);
        done += now;
    }
    free(piece);
    close(descriptor);
    return status;
}

static husk_status read_files(const char *const *paths, size_t count, int64_t *counts, husk_array *images,
                              husk_array *labels, husk__source *source)
{
    int64_t all, done = 0;
    husk_status status = count_records(paths, count, counts, &all, source);
    if (!status)
        status = husk__array_make(images, HUSK_U8, 4, (int64_t[]){all, 3, 32, 32}, source);
    if (!status)
        status = husk__array_make(labels, HUSK_U8, 1, &all, source);
    for (size_t i = 0; !status && i < count; ++i) {
        source->path = paths[i];
        status = read_records(source, counts[i], (uint8_t *)images->data + done * HUSK__CIFAR10_PIXELS,
                              (uint8_t *)labels->data + done);
        done += counts[i];
    }
    return status;
}

husk_status husk_cifar10_read(const char *const *paths, size_t count, husk_array *images, husk_array *labels,
                              husk_error *error)
{
    husk__source source = {.call = "husk_cifar10_read", .error = error};
    if (!paths || !count || !images || !labels)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s",
                                 !paths   ? "paths: it is NULL"
                                 : !count ? "count: it is 0"
                                          : "images, labels: NULL");
    for (size_t i = 0; i < count; ++i)
        if (!paths[i])
            return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "paths[%zu]: it is NULL", i);
    *images = *labels = (husk_array){0};
    int64_t *counts = malloc(count * sizeof *counts);
    husk_status status = counts ? read_files(paths, count, counts, images, labels, &source)
                                : husk__source_fail(&source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory");
    free(counts);
    if (status) {
        husk_array_release(images);
        husk_array_release(labels);
    }
    return status;
}
