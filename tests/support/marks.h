/* SPDX-License-Identifier: MIT */
/* support/marks.h: what stands for Check's _mark_point. */
#ifndef HUSK_TESTS_MARKS_H
#define HUSK_TESTS_MARKS_H

void test_mark_point(const char *file, int line);

#endif
