/* SPDX-License-Identifier: MIT */
/*
 * train/files/safetensors.h: what is known of a safetensors file that is open.
 */
#ifndef HUSK_TRAIN_FILES_SAFETENSORS_H
#define HUSK_TRAIN_FILES_SAFETENSORS_H

#include <husk/train/safetensors.h>

/* "F32 [2, 3]" */
void husk__safetensors_describe(char text[256], const char *dtype, int32_t rank, const int64_t *shape);
/* As it was opened. */
const char *husk__safetensors_path(const husk_safetensors *file);
/* Whether its header has a checksum, which is right; also of a file that was opened unverified. */
bool husk__safetensors_is_verified(const husk_safetensors *file);

#endif
