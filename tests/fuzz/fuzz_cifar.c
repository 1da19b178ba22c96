// SPDX-License-Identifier: MIT
// A file of CIFAR-10's records. What is taken is, written again from images and labels, the same bytes.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "train/data/parse.h"

void fuzz_target(const char *text, size_t size)
{
    husk_error error = {0};
    int64_t records;
    const husk__source source = {.call = "fuzz", .path = "input", .error = &error};
    uint8_t *images = NULL, *labels = NULL;
    husk_status status = husk__cifar10_count(size, &records, &source);
    if (!status) {
        fuzz_expect(records > 0 && (size_t)records * HUSK__CIFAR10_RECORD == size, "%zu bytes became %lld records",
                    size, (long long)records);
        images = malloc((size_t)records * HUSK__CIFAR10_PIXELS);
        labels = malloc((size_t)records);
        fuzz_expect(images && labels, "memory is short");
        status = husk__cifar10_parse((const unsigned char *)text, 0, records, images, labels, &source);
    }
    if (status) {
        fuzz_expect(status == HUSK_INVALID_ARGUMENT, "refused with %d: %s", (int)status, error.text);
        fuzz_expect_reason(error.text, sizeof error.text);
        fuzz_expect_clean(error.text);
    }
    for (int64_t i = 0; !status && i < records; i++) {
        const char *record = text + i * HUSK__CIFAR10_RECORD;
        fuzz_expect(labels[i] == (uint8_t)record[0] && labels[i] < HUSK__CIFAR10_CLASSES, "label %lld is another",
                    (long long)i);
        fuzz_expect(!memcmp(images + i * HUSK__CIFAR10_PIXELS, record + 1, HUSK__CIFAR10_PIXELS),
                    "image %lld is another", (long long)i);
    }
    free(images);
    free(labels);
}
