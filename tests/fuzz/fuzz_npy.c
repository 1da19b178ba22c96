// SPDX-License-Identifier: MIT
// A file of NumPy. The first byte says of which type, the second of how many elements it should be; the rest is the
// file. What is taken is the file's last bytes, and the header, read by a second opinion, has their type and number.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "spec/npy.h"

enum { MANY = 256 }; // more elements than are asked for anywhere

// The numbers of a shape multiplied, or MANY; a zero behind them still makes it none.
static uint64_t count_of(const char *shape)
{
    uint64_t count = 1;
    while (*shape && *shape != ')') {
        char *end;
        if (strchr("0123456789", *shape)) {
            const unsigned long long extent = strtoull(shape, &end, 10);
            count *= extent < MANY ? extent : MANY;
            count = count < MANY ? count : MANY;
            shape = end;
        } else {
            shape++;
        }
    }
    return count;
}

static void expect_header(const char *file, size_t length, bench_element element, uint64_t count)
{
    static const char kinds[] = {'i', 'u', 'i', 'u', 'i', 'u', 'i', 'u', 'f', 'f', 'f'};
    char type[8] = {kinds[element], (char)('0' + bench_element_bytes(element)), '\'', 0};
    char *header = malloc(length + 1);
    fuzz_expect(header != NULL, "memory is short");
    memcpy(header, file, length);
    header[length] = '\0';
    const char *descr = strstr(header, "'descr':"), *order = strstr(header, "'fortran_order':"),
               *shape = strstr(header, "'shape':");
    fuzz_expect(descr && order && shape, "the header lacks something: %s", header);
    descr += 8 + strspn(descr + 8, " ");
    fuzz_expect(descr[0] == '\'' && (descr[1] == '<' || descr[1] == '|') && !strncmp(descr + 2, type, 3),
                "its type is %.6s, not %s", descr, type);
    order += 16 + strspn(order + 16, " ");
    fuzz_expect(!strncmp(order, "False", 5), "the order is %.5s", order);
    shape += 8 + strspn(shape + 8, " ");
    fuzz_expect(shape[0] == '(' && count_of(shape + 1) == count, "the shape %s is not of %llu elements", shape,
                (unsigned long long)count);
    free(header);
}

void fuzz_target(const char *text, size_t size)
{
    char reason[BENCH_REASON_TEXT] = "", clean[BENCH_REASON_TEXT];
    if (size < 2)
        return;
    const bench_element element = (bench_element)((unsigned char)(text[0] - 'a') % BENCH_ELEMENTS);
    const int64_t count = (unsigned char)text[1];
    const size_t bytes = (size_t)count * bench_element_bytes(element);
    const char *file = text + 2;
    size -= 2;
    void *data = malloc(bytes + 1); // of one byte more, as nobody asks for none
    fuzz_expect(data != NULL, "memory is short");
    if (bench_npy_parse("f.npy", file, size, element, count, data, reason)) {
        fuzz_expect(bytes <= size && !memcmp(data, file + size - bytes, bytes), "its elements are others");
        const size_t start = file[6] == 1 ? 10 : 12;
        expect_header(file + start, size - start - bytes, element, (uint64_t)count);
    } else {
        fuzz_expect_reason(reason, sizeof reason);
        memcpy(clean, reason, sizeof clean);
        bench_clean_line(clean);
        fuzz_expect(!strcmp(clean, reason), "this is no UTF-8, or has more than one line: %s", reason);
    }
    free(data);
}
