// SPDX-License-Identifier: MIT
#include "support/tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <husk/context.h>

#include "ref/random.h"
#include "support/device.h"
#include "support/main.h"

// Quiet NaN as f32, as half of an f64, and twice as f16 or bf16: what was never written, and the guards, of which
// neighbours differ.
#define POISON             0x7ff8deadu
#define POISON_HALVES      0x7fed7fedu
#define GUARD_WORD(i)      (0x7ff80000u | ((uint32_t)(i)&0x7ffffu))
#define GUARD_HALVES(i)    (0x7fc07fe0u + ((uint32_t)(i)&0xfu) * 0x10001u)

// Packed, without the dimension `over`.
static void repeat(int32_t rank, const int64_t *shape, int32_t over, int64_t *strides)
{
    int64_t stride = 1;
    for (int32_t i = rank - 1; i >= 0; i--) {
        strides[i] = i == over ? 0 : stride;
        stride *= i == over || shape[i] == 0 ? 1 : shape[i];
    }
}

void test_layout_strides(test_layout layout, int32_t rank, const int64_t *shape, int64_t *strides)
{
    int32_t order[HUSK_MAX_RANK]; // dimensions, fastest first
    for (int32_t i = 0; i < rank; i++)
        order[i] = layout == TEST_REVERSED ? i : rank - 1 - i;
    if (layout == TEST_CHANNELS_LAST && rank > 2) {
        order[0] = 1;
        for (int32_t i = 1; i < rank - 1; i++)
            order[i] = rank - i;
    }
    int64_t stride = layout == TEST_SPREAD ? 2 : 1;
    for (int32_t i = 0; i < rank; i++) {
        int64_t extent = shape[order[i]] > 0 ? shape[order[i]] : 1;
        strides[order[i]] = stride;
        stride *= extent;
        if ((layout == TEST_PADDED && i == 0) || layout == TEST_SPREAD)
            stride += 3;
    }
    if (rank > 0 && (layout == TEST_REPEATED_LAST || layout == TEST_REPEATED_FIRST))
        repeat(rank, shape, layout == TEST_REPEATED_LAST ? rank - 1 : 0, strides);
}

// What a tensor has taken, in a list, so that failed tests do not look like leaks.
typedef struct test_memory {
    husk_buffer *buffer;
    void *initial, *current;
    struct test_memory *previous, *next;
} test_memory;

static test_memory *first_memory;

static void keep_memory(test_tensor *tensor)
{
    test_memory *memory = calloc(1, sizeof(*memory));
    ck_assert_msg(memory != NULL, "host memory does not suffice");
    *memory = (test_memory){tensor->tensor.buffer, tensor->initial, tensor->current, NULL, first_memory};
    if (first_memory != NULL)
        first_memory->previous = memory;
    first_memory = memory;
    tensor->memory = memory;
}

static void free_memory(test_memory *memory)
{
    if (memory->next != NULL)
        memory->next->previous = memory->previous;
    if (memory->previous != NULL)
        memory->previous->next = memory->next;
    else
        first_memory = memory->next;
    husk_buffer_release(memory->buffer);
    free(memory->initial);
    free(memory->current);
    free(memory);
}

void test_release(test_tensor *tensor)
{
    if (tensor->memory != NULL)
        free_memory(tensor->memory);
    *tensor = (test_tensor){0};
}

void test_release_all(void)
{
    while (first_memory != NULL)
        free_memory(first_memory);
}

// Where the tensor lies in its buffer, in elements: guard before, then its extent, then guard after.
typedef struct placement {
    int64_t before, after;
} placement;

static test_tensor make_tensor(husk_dtype dtype, int32_t rank, const int64_t *shape, test_layout layout,
                               placement place)
{
    test_tensor made = {.tensor = {.dtype = dtype, .rank = rank, .offset = place.before}};
    for (int32_t d = 0; d < rank; d++) // of rank 0 shape may be NULL
        made.tensor.shape[d] = shape[d];
    test_layout_strides(layout, rank, shape, made.tensor.strides);
    if (layout == TEST_PACKED) // packed is what strides of zero mean, too: tests meet both spellings
        memset(made.tensor.strides, 0, sizeof(made.tensor.strides));
    int64_t element = (int64_t)husk_dtype_size(dtype);
    husk_ref_array view = husk_ref_array_from_tensor(NULL, &made.tensor);
    made.words = ((place.before + husk_ref_array_extent(&view) + place.after) * element + 3) / 4;
    size_t bytes = (size_t)(made.words + 2) * sizeof(uint32_t);
    made.initial = malloc(bytes);
    made.current = malloc(bytes);
    ck_assert_msg(made.initial != NULL && made.current != NULL, "host memory does not suffice");
    made.before = husk_ref_array_from_tensor(made.initial, &made.tensor);
    made.array = husk_ref_array_from_tensor(made.current, &made.tensor);
    husk_error error;
    uint64_t device_bytes = (uint64_t)made.words * sizeof(uint32_t);
    test_ok_error(husk_buffer_create(test_context(), device_bytes, &made.tensor.buffer, &error), &error);
    keep_memory(&made);
    for (int64_t i = 0; i < made.words; i++)
        made.initial[i] = element == 2 ? GUARD_HALVES(i) : GUARD_WORD(i);
    return made;
}

static void send(test_tensor *tensor)
{
    uint64_t bytes = (uint64_t)tensor->words * sizeof(uint32_t);
    memcpy(tensor->current, tensor->initial, (size_t)bytes);
    test_ok(husk_buffer_write(test_queue(), tensor->tensor.buffer, 0, bytes, tensor->initial));
}

static bool repeats(test_layout layout)
{
    return layout == TEST_REPEATED_LAST || layout == TEST_REPEATED_FIRST;
}

// Bounds of sums are those of rounding errors of random signs (docs/operators.md), and those of equal terms have one
// sign: what repeats has six bits, of which sums are exact.
static void fill_input(test_tensor *tensor, test_layout layout, uint64_t seed, float scale)
{
    husk_ref_random_fill_array(&tensor->before, seed, scale);
    if (!repeats(layout) || husk_ref_array_count(&tensor->before) == 0)
        return;
    const double step = ldexp(1.0, ilogb(scale) - 5);
    int64_t index[HUSK_MAX_RANK] = {0};
    do {
        const int64_t at = husk_ref_offset(&tensor->before, index);
        const double value = rint(husk_ref_load(&tensor->before, at) / step);
        husk_ref_store(&tensor->before, at, (value == 0.0 ? 1.0 : value) * step);
    } while (husk_ref_index_next(tensor->tensor.rank, tensor->tensor.shape, index));
}

test_tensor test_input_of(husk_dtype dtype, int32_t rank, const int64_t *shape, test_layout layout, uint64_t seed,
                          float scale)
{
    // An odd number of elements in front: kernels must not take a tensor's start to be aligned.
    test_tensor made = make_tensor(dtype, rank, shape, layout, (placement){(int64_t)(seed % 4), 0});
    fill_input(&made, layout, seed, scale);
    send(&made);
    return made;
}

husk_dtype test_dtype(int64_t round)
{
    static const husk_dtype dtypes[] = {HUSK_F16, HUSK_BF16, HUSK_F64};
    const husk_dtype dtype = dtypes[round % 3];
    return dtype == HUSK_F64 && !husk_context_has(test_context(), HUSK_FEATURE_F64) ? HUSK_F32 : dtype;
}

test_tensor test_input(int32_t rank, const int64_t *shape, test_layout layout, uint64_t seed, float scale)
{
    return test_input_of(HUSK_F32, rank, shape, layout, seed, scale);
}

test_tensor test_input_amid_nan(int32_t rank, const int64_t *shape, test_layout layout, uint64_t seed, float scale)
{
    test_tensor made = make_tensor(HUSK_F32, rank, shape, layout, (placement){TEST_GUARD / 4, TEST_GUARD / 4});
    fill_input(&made, layout, seed, scale);
    send(&made);
    return made;
}

test_tensor test_input_alike(int32_t rank, const int64_t *shape, test_layout layout, float value)
{
    test_tensor made = make_tensor(HUSK_F32, rank, shape, layout, (placement){1, 0});
    int64_t index[HUSK_MAX_RANK] = {0};
    do
        husk_ref_store(&made.before, husk_ref_offset(&made.before, index), (double)value);
    while (husk_ref_index_next(rank, shape, index));
    send(&made);
    return made;
}

test_tensor test_input_i32(int64_t count, const int32_t *values)
{
    test_tensor made = make_tensor(HUSK_I32, 1, &count, TEST_PACKED, (placement){0, 0});
    memcpy(made.initial, values, (size_t)count * sizeof(*values));
    send(&made);
    return made;
}

// Whether the device has what .array has, and .before something else: then it was .before that got the new values.
static bool is_before_alone_new(const test_tensor *input, size_t bytes)
{
    void *sent = malloc(bytes + 1);
    ck_assert_msg(sent != NULL, "host memory does not suffice");
    test_ok(husk_buffer_read(test_queue(), input->tensor.buffer, 0, bytes, sent));
    const bool result = memcmp(sent, input->current, bytes) == 0 && memcmp(sent, input->initial, bytes) != 0;
    free(sent);
    return result;
}

void test_input_update(test_tensor *input)
{
    const size_t bytes = (size_t)input->words * sizeof(uint32_t);
    ck_assert_msg(!is_before_alone_new(input, bytes), "an input's new values are not in .array, and would be lost");
    memcpy(input->initial, input->current, bytes);
    send(input);
}

// Every element of the tensor gets the bytes of a repeated word.
static void fill_elements(test_tensor *tensor, uint32_t word)
{
    int64_t size = (int64_t)husk_dtype_size(tensor->tensor.dtype), index[HUSK_MAX_RANK] = {0};
    const uint32_t pattern[2] = {word, word};
    if (husk_ref_array_count(&tensor->before) == 0)
        return;
    do {
        int64_t at = (tensor->tensor.offset + husk_ref_offset(&tensor->before, index)) * size;
        memcpy((unsigned char *)tensor->initial + at, pattern, (size_t)size);
    } while (husk_ref_index_next(tensor->tensor.rank, tensor->tensor.shape, index));
}

// Guards of at least TEST_GUARD bytes; the start is one element past any alignment.
static placement output_placement(husk_dtype dtype)
{
    int64_t elements = TEST_GUARD / (int64_t)husk_dtype_size(dtype);
    return (placement){elements + 1, elements};
}

// What is written has no two elements in one place.
static test_layout of_output(test_layout layout)
{
    return repeats(layout) ? TEST_PACKED : layout;
}

test_tensor test_output(husk_dtype dtype, int32_t rank, const int64_t *shape, test_layout layout)
{
    test_tensor made = make_tensor(dtype, rank, shape, of_output(layout), output_placement(dtype));
    fill_elements(&made, husk_dtype_size(dtype) == 2 ? POISON_HALVES : POISON);
    send(&made);
    return made;
}

test_tensor test_inout_of(husk_dtype dtype, int32_t rank, const int64_t *shape, test_layout layout, uint64_t seed,
                          float scale)
{
    test_tensor made = make_tensor(dtype, rank, shape, of_output(layout), output_placement(dtype));
    husk_ref_random_fill_array(&made.before, seed, scale);
    send(&made);
    return made;
}

test_tensor test_inout(int32_t rank, const int64_t *shape, test_layout layout, uint64_t seed, float scale)
{
    return test_inout_of(HUSK_F32, rank, shape, layout, seed, scale);
}

static void read_back(test_tensor *output)
{
    uint64_t bytes = (uint64_t)output->words * sizeof(uint32_t);
    test_ok(husk_buffer_read(test_queue(), output->tensor.buffer, 0, bytes, output->current));
}

int64_t test_changed_guard(const test_tensor *output)
{
    int64_t size = (int64_t)husk_dtype_size(output->tensor.dtype), index[HUSK_MAX_RANK] = {0};
    int64_t bytes = output->words * (int64_t)sizeof(uint32_t);
    unsigned char *owned = calloc((size_t)bytes + 1, 1);
    ck_assert_msg(owned != NULL, "host memory does not suffice");
    if (husk_ref_array_count(&output->array) > 0)
        do {
            int64_t at = (output->tensor.offset + husk_ref_offset(&output->array, index)) * size;
            memset(owned + at, 1, (size_t)size);
        } while (husk_ref_index_next(output->tensor.rank, output->tensor.shape, index));
    const unsigned char *now = (const unsigned char *)output->current;
    const unsigned char *then = (const unsigned char *)output->initial;
    int64_t changed = -1;
    for (int64_t i = 0; changed < 0 && i < bytes; i++)
        if (!owned[i] && now[i] != then[i])
            changed = i - i % (size < 4 ? size : 4);
    free(owned);
    return changed;
}

void test_fetch(test_tensor *output)
{
    husk_error error;
    read_back(output);
    ck_assert_msg(test_guards_are_intact(&error), "%s", error.text);
    int64_t changed = test_changed_guard(output), size = (int64_t)husk_dtype_size(output->tensor.dtype);
    ck_assert_msg(changed < 0, "an element that is not the output's was written: %lld past its first",
                  (long long)(changed / size - output->tensor.offset));
}

void test_restore(test_tensor *output)
{
    send(output);
}

void test_untouched(test_tensor *output)
{
    read_back(output);
    size_t bytes = (size_t)output->words * sizeof(uint32_t);
    ck_assert_msg(memcmp(output->current, output->initial, bytes) == 0, "a refused call changed an output");
}
