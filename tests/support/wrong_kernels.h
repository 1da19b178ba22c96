/* SPDX-License-Identifier: MIT */
/*
 * support/wrong_kernels.h: copies of the kernels with mistakes in them, for HUSK_KERNEL_DIR.
 */
#ifndef HUSK_TESTS_SUPPORT_WRONG_KERNELS_H
#define HUSK_TESTS_SUPPORT_WRONG_KERNELS_H

/* A copy of all kernels in a folder of this template's (mkdtemp). */
void test_copy_kernels(char *folder);
/* In the copy's file, the first `right` becomes `wrong`; fails the test where there is none. */
void test_plant(const char *folder, const char *file, const char *right, const char *wrong);
void test_remove_kernels(const char *folder);

#endif
