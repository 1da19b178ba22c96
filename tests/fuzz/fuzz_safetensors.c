// SPDX-License-Identifier: MIT
// A safetensors file. The input is looked at twice: as a file; and, so that the header's length is no riddle, as the
// bytes that the tensors have together, in eight bytes, and a header. What is taken has every name once, every tensor
// where its dtype and shape say, one behind the other, and texts that are whole.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "train/files/safetensors_header.h"

static void expect_within(const husk__tensor_list *list, const char *text)
{
    fuzz_expect(text >= list->text && text + strlen(text) < list->text + list->size, "a text is not in the header");
    fuzz_expect(husk__is_utf8(text, strlen(text)), "a text is not UTF-8");
}

static void expect_sound(const husk__tensor_list *list, uint64_t data_size)
{
    uint64_t end = 0;
    for (size_t i = 0; i < list->count; i++) {
        husk_safetensors_entry entry;
        husk__tensor_list_entry(&list->places[i], &entry);
        expect_within(list, entry.name);
        fuzz_expect(husk__tensor_list_find(list, entry.name) == &list->places[i], "a name is there twice");
        fuzz_expect(entry.offset == end, "a tensor does not begin where the last one ends");
        fuzz_expect(entry.bytes <= data_size - end, "a tensor passes the file");
        end += entry.bytes;
        fuzz_expect(entry.rank >= 0 && entry.rank <= HUSK_MAX_RANK, "rank %d", entry.rank);
        if (entry.dtype >= 0) {
            const husk_tensor tensor = husk_tensor_make(NULL, (husk_dtype)entry.dtype, entry.rank, entry.shape);
            const int64_t count = husk_tensor_count(&tensor);
            fuzz_expect(count < 0 ? entry.bytes == 0 : (uint64_t)count * husk_dtype_size(tensor.dtype) == entry.bytes,
                        "%lld elements in %llu bytes", (long long)count, (unsigned long long)entry.bytes);
        }
    }
    fuzz_expect(end == data_size, "the tensors end at %llu of %llu", (unsigned long long)end,
                (unsigned long long)data_size);
    const char *text = list->metadata;
    for (size_t i = 0; i < 2 * list->metadata_count; i++, text += strlen(text) + 1)
        expect_within(list, text);
}

static void parse(const char *header, size_t size, uint64_t data_size)
{
    husk_error error = {0};
    husk__tensor_list list;
    const husk__source source = {.call = "fuzz", .path = "input", .error = &error};
    char *text = malloc(size + 1);
    fuzz_expect(text != NULL, "memory is short");
    memcpy(text, header, size);
    const husk_status status = husk__tensor_list_parse(&list, text, size, data_size, &source);
    if (status) {
        fuzz_expect(status == HUSK_INVALID_ARGUMENT, "refused with %d: %s", (int)status, error.text);
        fuzz_expect_reason(error.text, sizeof error.text);
        fuzz_expect_clean(error.text);
    } else {
        expect_sound(&list, data_size);
    }
    husk__tensor_list_free(&list);
    free(text);
}

void fuzz_target(const char *text, size_t size)
{
    husk_error error = {0};
    uint64_t number = 0, length;
    const husk__source source = {.call = "fuzz", .path = "input", .error = &error};
    if (size < 8)
        return;
    for (int i = 0; i < 8; i++)
        number |= (uint64_t)(unsigned char)text[i] << 8 * i;
    if (husk__tensor_list_length((const unsigned char *)text, size, &length, &source))
        fuzz_expect_reason(error.text, sizeof error.text);
    else
        parse(text + 8, (size_t)length, size - 8 - length);
    parse(text + 8, size - 8, number);
}
