/* SPDX-License-Identifier: MIT */
/* support/list.h: lists of tensors drawn by chance: few and many, empty ones, of one dtype or mixed, in any order. */
#ifndef HUSK_TESTS_LIST_H
#define HUSK_TESTS_LIST_H

#include "support/generate.h"
#include "support/tensor.h"

enum { TEST_LIST_MOST = 40 };

typedef struct test_list {
    size_t count;
    test_tensor tensors[TEST_LIST_MOST];
    const husk_tensor *list[TEST_LIST_MOST];
    const husk_ref_array *arrays[TEST_LIST_MOST]; /* the values before the run */
    char text[120];
} test_list;

/* dtype: of all; HUSK_I32 stands for f32, f16 and bf16 mixed. largest: elements of a tensor, about. */
void test_list_make(test_list *made, husk_ref_random *random, husk_dtype dtype, int64_t largest);
void test_list_release(test_list *made);

#endif
