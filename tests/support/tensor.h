/* SPDX-License-Identifier: MIT */
/*
 * support/tensor.h: tensors of a test, on the device and on the host at once.
 *
 * Inputs end exactly where their buffer ends, so that reading past them is out of bounds (a checking device
 * such as Oclgrind sees it), or lie between NaN, so that reading past them shows in the result. Gaps between
 * the elements of a strided input are NaN, too.
 *
 * Outputs lie between guard bands of TEST_GUARD bytes, and their elements are NaN before the run: an element
 * that was not written, and a word outside (in a gap, too) that was, both show.
 */
#ifndef HUSK_TESTS_TENSOR_H
#define HUSK_TESTS_TENSOR_H

#include <husk/husk.h>

#include "ref/ref.h"

#define TEST_GUARD 4096

typedef enum test_layout {
    TEST_PACKED,        /* last dimension fastest */
    TEST_CHANNELS_LAST, /* dimension 1 fastest: NHWC and its kin */
    TEST_REVERSED,      /* first dimension fastest: a transposed view */
    TEST_PADDED,        /* packed, but rows of the last dimension are 3 elements apart */
    TEST_SPREAD,        /* gaps everywhere: even the last dimension's stride is 2 */
    TEST_REPEATED_LAST, /* an expanded view: the last dimension's stride is 0, but of rank 1. Outputs are packed */
    TEST_REPEATED_FIRST /* the same of the first dimension */
} test_layout;
#define TEST_LAYOUTS 5 /* without those that repeat */

typedef struct test_tensor {
    husk_tensor tensor;    /* for the library */
    husk_ref_array array;  /* for the reference: an input's values; an output's as last fetched */
    husk_ref_array before; /* the values before the run */
    /* private */
    struct test_memory *memory;
    uint32_t *initial; /* the buffer's words as they were written to the device */
    uint32_t *current; /* outputs: as last fetched */
    int64_t words;
} test_tensor;

/* strides receives the layout's, in elements. */
void test_layout_strides(test_layout layout, int32_t rank, const int64_t *shape, int64_t *strides);

/* A random f32 input in (-scale, scale), the same values by index in every layout. */
test_tensor test_input(int32_t rank, const int64_t *shape, test_layout layout, uint64_t seed, float scale);
/* The same of any dtype: what the random numbers become when they are stored in it. */
test_tensor test_input_of(husk_dtype dtype, int32_t rank, const int64_t *shape, test_layout layout, uint64_t seed,
                          float scale);
/* For the tier "dtypes", in turns: f16, bf16, and f64 where the device has it, f32 where not. */
husk_dtype test_dtype(int64_t round);
/* An f32 input between NaN, not at the end of its buffer. */
test_tensor test_input_amid_nan(int32_t rank, const int64_t *shape, test_layout layout, uint64_t seed, float scale);
/*
 * An f32 input whose elements are all `value`: of many such terms the rounding errors have one sign, and a sum in one
 * chain loses more than its bound allows.
 */
test_tensor test_input_alike(int32_t rank, const int64_t *shape, test_layout layout, float value);
/* A packed i32 input of one dimension. */
test_tensor test_input_i32(int64_t count, const int32_t *values);
/* The input's values were changed through husk_ref_store and array: send them to the device. */
void test_input_update(test_tensor *input);

test_tensor test_output(husk_dtype dtype, int32_t rank, const int64_t *shape, test_layout layout);
/* An f32 output that is also read: random values in (-scale, scale) instead of NaN. See before. */
test_tensor test_inout(int32_t rank, const int64_t *shape, test_layout layout, uint64_t seed, float scale);
test_tensor test_inout_of(husk_dtype dtype, int32_t rank, const int64_t *shape, test_layout layout, uint64_t seed,
                          float scale);

/* Read the output back, after everything on the queue; fail the test if a guard has changed. */
void test_fetch(test_tensor *output);
/* Make the output as it was before the run, for the next one. */
void test_restore(test_tensor *output);
/* Fail the test if anything in the output's buffer differs from what it was before. */
void test_untouched(test_tensor *output);
/* Bytes of the first changed guard word from the buffer's start, after a fetch; -1: none has changed. */
int64_t test_changed_guard(const test_tensor *output);

void test_release(test_tensor *tensor);
/* Whatever a failed test has left; the device does this at the process' end. */
void test_release_all(void);

#endif
