// SPDX-License-Identifier: MIT
// The order of the reference implementation's writer: large elements first, then by name. The header ends at a
// multiple of 8, so every element is aligned.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "train/files/safetensors_digits.h"
#include "train/files/safetensors_header.h"

enum { PIECE = 1 << 22, ALIGNMENT = 8 };

// ---- the header, as text ----

typedef struct text {
    char *bytes;
    size_t size, capacity;
    bool failed;
} text;

static void append(text *to, const char *bytes, size_t size)
{
    if (to->failed)
        return;
    if (size > to->capacity - to->size) {
        const size_t capacity = 2 * (to->size + size);
        char *grown = realloc(to->bytes, capacity);
        if (!grown) {
            to->failed = true;
            return;
        }
        to->bytes = grown;
        to->capacity = capacity;
    }
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

static void append_text(text *to, const char *bytes)
{
    append(to, bytes, strlen(bytes));
}

static void append_quoted(text *to, const char *bytes)
{
    append(to, "\"", 1);
    for (; *bytes; ++bytes) {
        const unsigned char c = (unsigned char)*bytes;
        char escape[8];
        if (c < 0x20)
            append(to, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", c));
        else if (c == '"' || c == '\\')
            append(to, escape, (size_t)snprintf(escape, sizeof escape, "\\%c", c));
        else
            append(to, bytes, 1);
    }
    append(to, "\"", 1);
}

static void append_tensor(text *to, const husk_safetensors_item *item, uint64_t begin, uint64_t end)
{
    char number[64];
    append_quoted(to, item->name);
    append_text(to, ":{\"dtype\":\"");
    append_text(to, husk__safetensors_dtype_name(item->tensor.dtype));
    append_text(to, "\",\"shape\":[");
    for (int32_t i = 0; i < item->tensor.rank; ++i)
        append(to, number,
               (size_t)snprintf(number, sizeof number, "%s%lld", i ? "," : "", (long long)item->tensor.shape[i]));
    append(to, number,
           (size_t)snprintf(number, sizeof number, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin,
                            (unsigned long long)end));
}

static uint64_t bytes_of(const husk_safetensors_item *item)
{
    return (uint64_t)husk_tensor_count(&item->tensor) * husk_dtype_size(item->tensor.dtype);
}

// With zeros for the digits of checksums. The place of the elements' is answered: from the file's first byte.
static uint64_t make_header(text *to, const husk_safetensors_item *const *items, size_t count,
                            const husk_safetensors_pair *metadata, size_t metadata_count)
{
    static const char zeros[] = "00000000000000000000000000000000";
    uint64_t end = 0;
    append(to, zeros, 8); // the length, later
    append_text(to, HUSK__SAFETENSORS_BEGINNING);
    append_text(to, zeros);
    append_text(to, "\",\"" HUSK__SAFETENSORS_CHECKSUM "\":\"");
    const uint64_t checksum = to->size;
    append_text(to, zeros);
    append_text(to, "\"");
    for (size_t i = 0; i < metadata_count; ++i) {
        append_text(to, ",");
        append_quoted(to, metadata[i].key);
        append_text(to, ":");
        append_quoted(to, metadata[i].value);
    }
    append_text(to, "}");
    for (size_t i = 0; i < count; ++i) {
        append_text(to, ",");
        append_tensor(to, items[i], end, end + bytes_of(items[i]));
        end += bytes_of(items[i]);
    }
    append_text(to, "}");
    append(to, "       ", (ALIGNMENT - to->size % ALIGNMENT) % ALIGNMENT);
    for (int i = 0; !to->failed && i < 8; ++i)
        to->bytes[i] = (char)((to->size - 8) >> 8 * i);
    return checksum;
}

// ---- checks ----

static husk_status check_item(const husk_safetensors_item *item, size_t index, bool has_queue,
                              const husk__source *source)
{
    const husk_tensor *tensor = &item->tensor;
    if (!item->name)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "items[%zu]: its name is NULL", index);
    const char *rule = NULL;
    if (strcmp(item->name, HUSK__SAFETENSORS_METADATA) == 0)
        rule = "the name is taken by the format";
    else if (!husk__is_utf8(item->name, strlen(item->name)))
        rule = "the name is not UTF-8";
    else if (!husk__safetensors_dtype_name(tensor->dtype))
        rule = "it has no dtype";
    else if (!husk__safetensors_is_packed(tensor))
        rule = "it is not packed";
    else if (husk_tensor_count(tensor) < 0 || (uint64_t)husk_tensor_count(tensor) > INT64_MAX / 16)
        rule = "its shape is too large";
    else if (!item->host && (!tensor->buffer || tensor->offset < 0) && husk_tensor_count(tensor) > 0)
        rule = "it has neither host nor device memory";
    else if (!item->host && tensor->buffer && !has_queue && husk_tensor_count(tensor) > 0)
        rule = "it is in device memory, and queue is NULL";
    if (rule)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "items[%zu], \"%.256s\": %s", index, item->name, rule);
    return HUSK_OK;
}

static husk_status check_pairs(const husk_safetensors_pair *metadata, size_t count, const husk__source *source)
{
    for (size_t i = 0; i < count; ++i) {
        const husk_safetensors_pair *pair = &metadata[i];
        const char *rule = NULL;
        if (!pair->key || !pair->value)
            rule = "it is NULL";
        else if (strcmp(pair->key, HUSK__SAFETENSORS_CHECKSUM) == 0 || strcmp(pair->key, HUSK__SAFETENSORS_HEADER) == 0)
            rule = "the checksum's key is the writer's";
        else if (!husk__is_utf8(pair->key, strlen(pair->key)) || !husk__is_utf8(pair->value, strlen(pair->value)))
            rule = "it is not UTF-8";
        for (size_t j = 0; !rule && j < i; ++j)
            if (strcmp(metadata[j].key, pair->key) == 0)
                rule = "the key is there twice";
        if (rule)
            return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "metadata[%zu], \"%.256s\": %s", i,
                                     pair->key ? pair->key : "", rule);
    }
    return HUSK_OK;
}

static int compare_items(const void *a, const void *b)
{
    const husk_safetensors_item *x = *(const husk_safetensors_item *const *)a,
                                *y = *(const husk_safetensors_item *const *)b;
    const uint64_t x_size = husk_dtype_size(x->tensor.dtype), y_size = husk_dtype_size(y->tensor.dtype);
    if (x_size != y_size)
        return x_size > y_size ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const husk_safetensors_item *const *)a)->name, (*(const husk_safetensors_item *const *)b)->name);
}

static husk_status sort_items(const husk_safetensors_item **sorted, size_t count, const husk__source *source)
{
    uint64_t bytes = 0;
    qsort(sorted, count, sizeof *sorted, compare_names);
    for (size_t i = 0; i < count; ++i) {
        if (i && strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "items: \"%.256s\" is there twice",
                                     sorted[i]->name);
        if (__builtin_add_overflow(bytes, bytes_of(sorted[i]), &bytes) || bytes > INT64_MAX / 2)
            return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "items: all of them are too large");
    }
    qsort(sorted, count, sizeof *sorted, compare_items);
    return HUSK_OK;
}

// ---- writing ----

typedef struct writer {
    husk__part part;
    husk_queue *queue;
    XXH3_state_t *hash;
    char *piece; // what comes from the device
    const husk__source *source;
} writer;

static husk_status write_hashed(writer *out, const char *bytes, uint64_t size)
{
    for (uint64_t done = 0; done < size;) {
        const uint64_t left = size - done, most = left < PIECE ? left : PIECE;
        const husk_status status = husk__part_write(&out->part, bytes + done, most);
        if (status)
            return status;
        XXH3_128bits_update(out->hash, bytes + done, (size_t)most);
        done += most;
    }
    return HUSK_OK;
}

static husk_status write_item(writer *out, const husk_safetensors_item *item)
{
    const uint64_t size = bytes_of(item), begin = (uint64_t)item->tensor.offset * husk_dtype_size(item->tensor.dtype);
    if (item->host)
        return write_hashed(out, item->host, size);
    for (uint64_t done = 0; done < size;) {
        const uint64_t left = size - done, most = left < PIECE ? left : PIECE;
        husk_status status = husk_buffer_read(out->queue, item->tensor.buffer, begin + done, most, out->piece);
        if (status)
            return husk__caused_by(out->source->error, husk_queue_error(out->queue),
                                   husk__source_fail(out->source, status, "items: \"%.256s\": %s", item->name,
                                                     husk_queue_error(out->queue)->text));
        if ((status = write_hashed(out, out->piece, most)))
            return status;
        done += most;
    }
    return HUSK_OK;
}

// The header once more, with its digits: the elements' first, for the header's own are of these, too.
static husk_status write_checksums(writer *out, text *header, uint64_t place)
{
    const XXH128_hash_t hash = XXH3_128bits_digest(out->hash);
    char *own = header->bytes + 8;
    memcpy(header->bytes + place, husk__safetensors_digits_of(hash.high64, hash.low64).text, HUSK__SAFETENSORS_DIGITS);
    memcpy(own + strlen(HUSK__SAFETENSORS_BEGINNING), husk__safetensors_hash_header(own, header->size - 8).text,
           HUSK__SAFETENSORS_DIGITS);
    return husk__part_write_at(&out->part, 0, header->bytes, header->size);
}

static husk_status write_all(writer *out, text *header, uint64_t checksum, const husk_safetensors_item *const *items,
                             size_t count)
{
    husk_status status = husk__part_begin(&out->part, out->source);
    if (status)
        return status;
    XXH3_128bits_reset(out->hash);
    status = husk__part_write(&out->part, header->bytes, header->size);
    for (size_t i = 0; !status && i < count; ++i)
        status = write_item(out, items[i]);
    if (!status)
        status = write_checksums(out, header, checksum);
    if (!status)
        return husk__part_commit(&out->part);
    husk__part_drop(&out->part);
    return status;
}

static husk_status write_sorted(const husk__source *source, husk_queue *queue, const husk_safetensors_item **sorted,
                                size_t count, const husk_safetensors_pair *metadata, size_t metadata_count)
{
    text header = {0};
    husk_status status = sort_items(sorted, count, source);
    if (status)
        return status;
    const uint64_t checksum = make_header(&header, sorted, count, metadata, metadata_count);
    writer out = {.queue = queue, .source = source, .hash = XXH3_createState(), .piece = malloc(PIECE)};
    if (header.failed || !out.hash || !out.piece)
        status = husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory to write it");
    else if (header.size - 8 > HUSK__SAFETENSORS_MOST_HEADER)
        status = husk__source_fail(source, HUSK_INVALID_ARGUMENT, "the header has at most %d bytes, and this has %zu",
                                   HUSK__SAFETENSORS_MOST_HEADER, header.size - 8);
    else
        status = write_all(&out, &header, checksum, sorted, count);
    XXH3_freeState(out.hash);
    free(out.piece);
    free(header.bytes);
    return status;
}

husk_status husk_safetensors_write(const char *path, husk_queue *queue, const husk_safetensors_item *items,
                                   size_t count, const husk_safetensors_pair *metadata, size_t metadata_count,
                                   husk_error *error)
{
    husk__source source = {.call = "husk_safetensors_write", .error = error};
    if (!path || (count && !items) || (metadata_count && !metadata))
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL",
                                 !path             ? "path"
                                 : count && !items ? "items"
                                                   : "metadata");
    source.path = path;
    husk_status status = check_pairs(metadata, metadata_count, &source);
    for (size_t i = 0; !status && i < count; ++i)
        status = check_item(&items[i], i, queue != NULL, &source);
    if (status)
        return status;
    const husk_safetensors_item **sorted = malloc((count ? count : 1) * sizeof *sorted);
    if (!sorted)
        return husk__source_fail(&source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for the list of tensors");
    for (size_t i = 0; i < count; ++i)
        sorted[i] = &items[i];
    status = write_sorted(&source, queue, sorted, count, metadata, metadata_count);
    free(sorted);
    return status;
}
