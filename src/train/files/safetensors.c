// SPDX-License-Identifier: MIT
#include "train/files/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "train/files/safetensors_digits.h"
#include "train/files/safetensors_header.h"

enum { PIECE = 1 << 22 }; // bytes on their way from the file to the device or the checksum

struct husk_safetensors {
    char *path;
    int descriptor;
    uint64_t begin; // of the elements, in the file
    uint64_t data_size;
    bool is_verified; // the header is the one that its checksum was made of
    husk__tensor_list list;
};

static husk__source source_of(const husk_safetensors *file, const char *call, husk_error *error)
{
    return (husk__source){.call = call, .path = file->path, .error = error};
}

static void *make_piece(const husk__source *source, uint64_t size, husk_status *status)
{
    void *piece = malloc(size < PIECE ? (size ? (size_t)size : 1) : PIECE);
    *status = piece ? HUSK_OK : husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory to read it");
    return piece;
}

// ---- opening ----

// Before it is read: reading changes the text. A header that does not begin with its checksum stays unverified; so does
// a damaged one, which is refused where `verifies`.
static husk_status verify_header(husk_safetensors *file, char *text, uint64_t length, bool verifies,
                                 const husk__source *source)
{
    const size_t begin = strlen(HUSK__SAFETENSORS_BEGINNING);
    if (length <= begin + HUSK__SAFETENSORS_DIGITS || memcmp(text, HUSK__SAFETENSORS_BEGINNING, begin) != 0)
        return HUSK_OK;
    char wanted[HUSK__SAFETENSORS_DIGITS + 1] = "";
    memcpy(wanted, text + begin, HUSK__SAFETENSORS_DIGITS);
    const husk__safetensors_digits digits = husk__safetensors_hash_header(text, (size_t)length);
    memcpy(text + begin, wanted, HUSK__SAFETENSORS_DIGITS);
    file->is_verified = strcmp(digits.text, wanted) == 0;
    if (file->is_verified || !verifies)
        return HUSK_OK;
    return husk__source_fail(source, HUSK_INVALID_ARGUMENT,
                             "its header is damaged: its checksum is %s, and " HUSK__SAFETENSORS_HEADER " says %s",
                             digits.text, wanted);
}

static husk_status read_list(husk_safetensors *file, uint64_t file_size, bool verifies, const husk__source *source)
{
    unsigned char first[8];
    uint64_t length;
    if (file_size < sizeof first)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "it ends before its header");
    husk_status status = husk__file_read(source, file->descriptor, 0, first, sizeof first);
    if (!status)
        status = husk__tensor_list_length(first, file_size, &length, source);
    if (status)
        return status;
    char *text = malloc((size_t)length + 1);
    if (!text)
        return husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for its header");
    file->list.text = text; // the file's from here on
    file->begin = sizeof first + length;
    file->data_size = file_size - file->begin;
    status = husk__file_read(source, file->descriptor, sizeof first, text, length);
    if (!status)
        status = verify_header(file, text, length, verifies, source);
    if (!status)
        status = husk__tensor_list_parse(&file->list, text, (size_t)length, file->data_size, source);
    if (!status && verifies && !file->is_verified && husk_safetensors_metadata(file, HUSK__SAFETENSORS_HEADER))
        status = husk__source_fail(source, HUSK_INVALID_ARGUMENT,
                                   HUSK__SAFETENSORS_HEADER " is not where it can be verified: the header has to begin "
                                                            "with it, and with %d digits",
                                   HUSK__SAFETENSORS_DIGITS);
    return status;
}

static husk_status hash_data(const husk_safetensors *file, husk__safetensors_digits *digits, const husk__source *source)
{
    husk_status status;
    char *piece = make_piece(source, file->data_size, &status);
    XXH3_state_t *state = XXH3_createState();
    if (!state && !status)
        status = husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for its checksum");
    if (!status)
        XXH3_128bits_reset(state);
    for (uint64_t done = 0; !status && done < file->data_size;) {
        const uint64_t left = file->data_size - done, size = left < PIECE ? left : PIECE;
        status = husk__file_read(source, file->descriptor, file->begin + done, piece, size);
        if (!status)
            XXH3_128bits_update(state, piece, (size_t)size);
        done += size;
    }
    if (!status) {
        const XXH128_hash_t hash = XXH3_128bits_digest(state);
        *digits = husk__safetensors_digits_of(hash.high64, hash.low64);
    }
    XXH3_freeState(state);
    free(piece);
    return status;
}

static husk_status verify_elements(const husk_safetensors *file, const husk__source *source)
{
    const char *wanted = husk_safetensors_metadata(file, HUSK__SAFETENSORS_CHECKSUM);
    husk__safetensors_digits digits;
    if (!wanted)
        return HUSK_OK;
    const husk_status status = hash_data(file, &digits, source);
    if (status || strcmp(digits.text, wanted) == 0)
        return status;
    return husk__source_fail(source, HUSK_INVALID_ARGUMENT,
                             "its elements are damaged: their checksum is %s, and " HUSK__SAFETENSORS_CHECKSUM
                             " in its metadata says %.64s",
                             digits.text, wanted);
}

husk_status husk_safetensors_open(const char *path, const husk_safetensors_params *params, husk_safetensors **file,
                                  husk_error *error)
{
    husk__source source = {.call = "husk_safetensors_open", .error = error};
    if (!file)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "file: it is NULL");
    *file = NULL;
    if (!path)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "path: it is NULL");
    if (params && params->size != sizeof *params)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "params: " HUSK__TRAIN_SIZE_RULE,
                                 (unsigned)params->size, (unsigned)sizeof *params, "HUSK_SAFETENSORS_PARAMS");
    source.path = path;
    husk_safetensors *made = calloc(1, sizeof *made);
    if (!made || !(made->path = strdup(path))) {
        free(made);
        return husk__source_fail(&source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for its name");
    }
    uint64_t size;
    husk_status status = husk__file_open(&source, &made->descriptor, &size);
    const bool verifies = !(params && params->unverified);
    if (!status)
        status = read_list(made, size, verifies, &source);
    if (!status && verifies)
        status = verify_elements(made, &source);
    if (status) {
        husk_safetensors_close(made);
        return status;
    }
    *file = made;
    return HUSK_OK;
}

void husk_safetensors_close(husk_safetensors *file)
{
    if (!file)
        return;
    if (file->descriptor >= 0)
        close(file->descriptor);
    free(file->list.text);
    husk__tensor_list_free(&file->list);
    free(file->path);
    free(file);
}

// ---- what is in it ----

const char *husk__safetensors_path(const husk_safetensors *file)
{
    return file->path;
}

bool husk__safetensors_is_verified(const husk_safetensors *file)
{
    return file->is_verified;
}

size_t husk_safetensors_count(const husk_safetensors *file)
{
    return file ? file->list.count : 0;
}

void husk_safetensors_get(const husk_safetensors *file, size_t index, husk_safetensors_entry *entry)
{
    husk__tensor_list_entry(&file->list.places[index], entry);
}

bool husk_safetensors_find(const husk_safetensors *file, const char *name, husk_safetensors_entry *entry)
{
    const husk__tensor_place *place = file && name ? husk__tensor_list_find(&file->list, name) : NULL;
    if (place && entry)
        husk__tensor_list_entry(place, entry);
    return place != NULL;
}

bool husk_safetensors_metadata_get(const husk_safetensors *file, size_t index, const char **key, const char **value)
{
    if (!file || index >= file->list.metadata_count)
        return false;
    const char *text = file->list.metadata;
    for (size_t i = 0; i < 2 * index; ++i)
        text += strlen(text) + 1;
    *key = text;
    *value = text + strlen(text) + 1;
    return true;
}

const char *husk_safetensors_metadata(const husk_safetensors *file, const char *key)
{
    const char *text = file ? file->list.metadata : NULL;
    for (size_t i = 0; key && file && i < file->list.metadata_count; ++i) {
        const char *value = text + strlen(text) + 1;
        if (strcmp(text, key) == 0)
            return value;
        text = value + strlen(value) + 1;
    }
    return NULL;
}

// ---- reading ----

static husk_status find(const husk_safetensors *file, const char *name, husk_safetensors_entry *entry,
                        const husk__source *source)
{
    if (!name)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "name: it is NULL");
    if (!husk_safetensors_find(file, name, entry))
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "it has no tensor \"%.256s\"", name);
    return HUSK_OK;
}

husk_status husk_safetensors_read(const husk_safetensors *file, const char *name, void *host, uint64_t bytes,
                                  husk_error *error)
{
    husk_safetensors_entry entry;
    husk__source source = {.call = "husk_safetensors_read", .error = error};
    if (!file)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "file: it is NULL");
    source = source_of(file, source.call, error);
    const husk_status status = find(file, name, &entry, &source);
    if (status)
        return status;
    if (bytes != entry.bytes || (bytes && !host))
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT,
                                 "host: memory of %llu bytes for tensor \"%.256s\", which has %llu",
                                 (unsigned long long)(host ? bytes : 0), name, (unsigned long long)entry.bytes);
    return husk__file_read(&source, file->descriptor, file->begin + entry.offset, host, bytes);
}

void husk__safetensors_describe(char text[256], const char *dtype, int32_t rank, const int64_t *shape)
{
    int used = snprintf(text, 256, "%s [", dtype);
    for (int32_t i = 0; i < rank && i < HUSK_MAX_RANK; ++i)
        used += snprintf(text + used, (size_t)(256 - used), "%s%lld", i ? ", " : "", (long long)shape[i]);
    snprintf(text + used, (size_t)(256 - used), "]");
}

static bool same_shape(const husk_safetensors_entry *entry, const husk_tensor *tensor)
{
    bool same = entry->dtype == (int32_t)tensor->dtype && entry->rank == tensor->rank;
    for (int32_t i = 0; same && i < entry->rank; ++i)
        same = entry->shape[i] == tensor->shape[i];
    return same;
}

static husk_status check_tensor(const husk_safetensors_entry *entry, const husk_tensor *to, const husk__source *source)
{
    if (!same_shape(entry, to)) {
        char has[256], wanted[256];
        const char *dtype = husk__safetensors_dtype_name(to->dtype);
        husk__safetensors_describe(has, entry->dtype_name, entry->rank, entry->shape);
        husk__safetensors_describe(wanted, dtype ? dtype : "another dtype", to->rank, to->shape);
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "tensor \"%.256s\" is %s there, and to is %s",
                                 entry->name, has, wanted);
    }
    return husk__safetensors_is_packed(to) ? HUSK_OK
                                           : husk__source_fail(source, HUSK_INVALID_ARGUMENT, "to: it is not packed");
}

husk_status husk_safetensors_read_tensor(const husk_safetensors *file, const char *name, husk_queue *queue,
                                         const husk_tensor *to, husk_error *error)
{
    husk_safetensors_entry entry;
    husk__source source = {.call = "husk_safetensors_read_tensor", .error = error};
    if (!file || !queue || !to)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL",
                                 !file    ? "file"
                                 : !queue ? "queue"
                                          : "to");
    source = source_of(file, source.call, error);
    husk_status status = find(file, name, &entry, &source);
    if (!status)
        status = check_tensor(&entry, to, &source);
    if (status)
        return status;
    if (!to->buffer || to->offset < 0)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "to: it has no memory");
    char *piece = make_piece(&source, entry.bytes, &status);
    const uint64_t begin = (uint64_t)to->offset * husk_dtype_size(to->dtype);
    for (uint64_t done = 0; !status && done < entry.bytes;) {
        const uint64_t left = entry.bytes - done, size = left < PIECE ? left : PIECE;
        status = husk__file_read(&source, file->descriptor, file->begin + entry.offset + done, piece, size);
        if (!status && (status = husk_buffer_write(queue, to->buffer, begin + done, size, piece)))
            husk__caused_by(
                error, husk_queue_error(queue),
                husk__source_fail(&source, status, "tensor \"%.256s\": %s", name, husk_queue_error(queue)->text));
        done += size;
    }
    free(piece);
    return status;
}
