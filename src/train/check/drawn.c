// SPDX-License-Identifier: MIT
#include "train/check/drawn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/convert.h"

enum { BAND = 4096, OFFSETS = 64 };

// ---- elements ----

static double load(const char *bytes, husk_dtype dtype, int64_t at)
{
    return husk__load_element(bytes + at * (int64_t)husk_dtype_size(dtype), dtype);
}

static void store(char *bytes, husk_dtype dtype, int64_t at, double number)
{
    husk__store_element(bytes + at * (int64_t)husk_dtype_size(dtype), dtype, number);
}

static void store_singles(float *to, const double *numbers, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = (float)numbers[i];
}

// ---- drawing ----

// A bijection of 32 bits whose every bit depends on all (Wellons' lowbias32).
uint32_t husk__drawn_hash(uint32_t stream, uint32_t place)
{
    uint32_t x = place ^ stream * 0x9E3779B9u;
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

static inline double draw(const husk__draw *how, double factor, int64_t place)
{
    const uint32_t h = husk__drawn_hash(how->stream, (uint32_t)place);
    const int32_t size = (int32_t)(1 + ((h & 0xffff) * how->range >> 16));
    const int32_t number = ((h >> 31) & (uint32_t)!how->positive) ? -size : size;
    return (h >> 16 & 0x7fff) < how->kept ? number * factor : 0;
}

static void draw_row(const husk__draw *how, int64_t place, int64_t count, double *numbers)
{
    const double factor = 1 / how->scale;
    for (int64_t i = 0; i < count; i++)
        numbers[i] = draw(how, factor, place + i);
}

double husk__drawn_at(const husk__drawn *drawn, const int64_t index[HUSK__DRAWN_RANK])
{
    int64_t place = 0;
    for (int d = 0; d < HUSK__DRAWN_RANK; d++)
        place += index[d] * drawn->strides[d];
    return draw(&drawn->draw, 1 / drawn->draw.scale, place);
}

// ---- images ----

// The next index of an image and its place in memory; false past the last.
static bool next_place(const husk__drawn *drawn, int64_t index[HUSK__DRAWN_RANK], int64_t *place)
{
    for (int d = HUSK__DRAWN_RANK - 1; d > 0; d--) {
        *place += drawn->strides[d];
        if (++index[d] < drawn->shape[d])
            return true;
        *place -= drawn->shape[d] * drawn->strides[d];
        index[d] = 0;
    }
    return false;
}

void husk__drawn_image(const husk__drawn *drawn, int64_t image, double *numbers)
{
    int64_t place = image * drawn->strides[0], index[HUSK__DRAWN_RANK] = {0};
    if (drawn->is_packed) {
        draw_row(&drawn->draw, place, drawn->image, numbers);
        return;
    }
    const double factor = 1 / drawn->draw.scale;
    do
        *numbers++ = draw(&drawn->draw, factor, place);
    while (next_place(drawn, index, &place));
}

static int64_t extent_of(const husk__drawn *drawn, int first)
{
    int64_t extent = 1;
    for (int d = first; d < HUSK__DRAWN_RANK; d++)
        extent += (drawn->shape[d] - 1) * drawn->strides[d];
    return extent;
}

// ---- memory ----

void husk__drawn_describe(husk__drawn *drawn, const husk_tensor *like)
{
    *drawn = (husk__drawn){.is_there = like != NULL};
    if (!like)
        return;
    const husk_tensor packed = husk_tensor_make(NULL, like->dtype, like->rank, like->shape);
    bool has_strides = false;
    for (int32_t d = 0; d < like->rank; d++)
        has_strides = has_strides || like->strides[d] != 0;
    drawn->tensor = *like;
    for (int d = 0; d < HUSK__DRAWN_RANK; d++) {
        // A bias is one image of so many channels.
        const int own = like->rank == 1 ? (d == 1 ? 0 : -1) : d < 2 ? d : d - HUSK__DRAWN_RANK + like->rank;
        const bool is_own = own >= 0 && (like->rank == 1 || d < 2 || own >= 2);
        drawn->shape[d] = is_own ? like->shape[own] : 1;
        drawn->strides[d] = !is_own ? 0 : has_strides ? like->strides[own] : packed.strides[own];
    }
    int64_t step = 1;
    drawn->is_packed = true;
    for (int d = HUSK__DRAWN_RANK - 1; d > 0; d--) {
        drawn->is_packed = drawn->is_packed && (drawn->shape[d] == 1 || drawn->strides[d] == step);
        step *= drawn->shape[d];
    }
    drawn->image = step;
    drawn->extent = extent_of(drawn, 0);
    drawn->by_images = drawn->shape[0] > 1 && drawn->strides[0] >= extent_of(drawn, 1);
}

void husk__drawn_release(husk__drawn *drawn)
{
    husk_buffer_release(drawn->buffer);
    free(drawn->bytes);
    drawn->buffer = NULL;
    drawn->bytes = NULL;
    drawn->room = 0;
}

static husk_status need(husk__drawn *drawn, uint64_t room)
{
    if (room <= drawn->room)
        return HUSK_OK;
    char *larger = realloc(drawn->bytes, room);
    if (!larger)
        return HUSK_OUT_OF_HOST_MEMORY;
    drawn->bytes = larger;
    drawn->room = room;
    return HUSK_OK;
}

static husk_status write_range(husk__drawn *drawn, husk_queue *queue, int64_t first, int64_t count)
{
    enum { ROW = 1024 };
    const uint64_t size = husk_dtype_size(drawn->tensor.dtype);
    double row[ROW];
    husk_status status = need(drawn, (uint64_t)count * size);
    if (status)
        return status;
    for (int64_t i = 0; i < count; i += ROW) {
        const int64_t part = count - i < ROW ? count - i : ROW;
        draw_row(&drawn->draw, first + i, part, row);
        if (drawn->tensor.dtype == HUSK_F32)
            store_singles((float *)(void *)drawn->bytes + i, row, part);
        else
            for (int64_t j = 0; j < part; j++)
                store(drawn->bytes, drawn->tensor.dtype, i + j, row[j]);
    }
    return husk_buffer_write(queue, drawn->buffer, drawn->before + (uint64_t)first * size, (uint64_t)count * size,
                             drawn->bytes);
}

husk_status husk__drawn_write(husk__drawn *drawn, husk_queue *queue, bool has_numbers, const int64_t *images,
                              int64_t count, husk_error *error)
{
    const uint64_t size = husk_dtype_size(drawn->tensor.dtype), bytes = (uint64_t)drawn->extent * size;
    const uint64_t ones[2] = {UINT64_MAX, UINT64_MAX};
    const uint64_t zero = 0;
    // Where the tensor begins within a line may matter to a kernel.
    drawn->before = BAND + (uint64_t)(drawn->tensor.offset % OFFSETS) * size;
    drawn->is_whole = false;
    const uint64_t all = (drawn->before + bytes + 2 * BAND) / 16 * 16;
    husk_status status =
        drawn->buffer ? HUSK_OK : husk_buffer_create(husk_queue_context(queue), all, &drawn->buffer, error);
    if (status)
        return status;
    drawn->tensor.buffer = drawn->buffer;
    drawn->tensor.offset = (int64_t)(drawn->before / size);
    // Of what is written only the bands, and what fills up the last 16 bytes.
    status = husk_buffer_fill(queue, drawn->buffer, 0, has_numbers ? 2 * BAND : all, ones, sizeof ones);
    if (status || !has_numbers)
        return status;
    const uint64_t end = (drawn->before + bytes) / 16 * 16;
    status = husk_buffer_fill(queue, drawn->buffer, end, all - end, ones, sizeof ones);
    if (status)
        return status;
    if (!images || !drawn->by_images)
        return write_range(drawn, queue, 0, drawn->extent);
    status = husk_buffer_fill(queue, drawn->buffer, drawn->before, bytes, &zero, size);
    for (int64_t i = 0; i < count && !status; i++)
        status = write_range(drawn, queue, images[i] * drawn->strides[0], extent_of(drawn, 1));
    return status;
}

husk_status husk__drawn_read(husk__drawn *drawn, husk_queue *queue, int64_t image, bool whole, double *numbers)
{
    const husk_dtype dtype = drawn->tensor.dtype;
    const uint64_t size = husk_dtype_size(dtype);
    const bool all = whole || !drawn->by_images;
    const int64_t first = image * drawn->strides[0], count = all ? drawn->extent : extent_of(drawn, 1);
    husk_status status = need(drawn, (uint64_t)count * size);
    if (!status && !drawn->is_whole)
        status = husk_buffer_read(queue, drawn->buffer, drawn->before + (all ? 0 : (uint64_t)first * size),
                                  (uint64_t)count * size, drawn->bytes);
    if (status)
        return status;
    drawn->is_whole = all;
    int64_t place = all ? first : 0, index[HUSK__DRAWN_RANK] = {0};
    if (drawn->is_packed && dtype == HUSK_F32) {
        const float *from = (const float *)(const void *)drawn->bytes + place;
        for (int64_t i = 0; i < drawn->image; i++)
            numbers[i] = (double)from[i];
        return HUSK_OK;
    }
    do
        *numbers++ = load(drawn->bytes, dtype, place);
    while (next_place(drawn, index, &place));
    return HUSK_OK;
}

husk_status husk__drawn_is_within(husk__drawn *drawn, husk_queue *queue, bool *is_within)
{
    char band[2 * BAND];
    const uint64_t bytes = (uint64_t)drawn->extent * husk_dtype_size(drawn->tensor.dtype);
    const uint64_t parts[2][2] = {{0, drawn->before}, {drawn->before + bytes, BAND}};
    husk_status status = HUSK_OK;
    *is_within = true;
    for (int p = 0; p < 2 && !status; p++) {
        status = husk_buffer_read(queue, drawn->buffer, parts[p][0], parts[p][1], band);
        for (uint64_t i = 0; i < parts[p][1] && !status; i++)
            *is_within = *is_within && (unsigned char)band[i] == 0xff;
    }
    return status;
}
