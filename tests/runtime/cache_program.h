/* SPDX-License-Identifier: MIT */
/*
 * cache_program.h: one small program, built or loaded in a context of its own.
 */
#ifndef HUSK_TESTS_CACHE_PROGRAM_H
#define HUSK_TESTS_CACHE_PROGRAM_H

#include <husk/context.h>

#include "cache_folder.h"

/* The program computes number + EXTRA from now on; its source lies in the folder. For test_restore_environment. */
void cache_program_write(const cache_folder *folder, int number);

/* Build or load the program in a context with this cache, run it, check the number. */
husk_program_stats cache_program_use(const char *cache, husk_cache_mode mode, const char *options, int32_t expected);
/* The same, and it was built, or loaded. */
void cache_program_expect_build(const char *cache, const char *options, int32_t expected);
void cache_program_expect_load(const char *cache, const char *options, int32_t expected);

#endif
