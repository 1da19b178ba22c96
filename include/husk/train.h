/* SPDX-License-Identifier: MIT */
/** @file
 * Networks: includes all of libhusk_train.
 *
 * libhusk_train uses only libhusk's public operators. Link both: husk::husk_train, or pkg-config husk_train.
 */
#ifndef HUSK_TRAIN_H
#define HUSK_TRAIN_H

#include <husk/husk.h>

#include <husk/train/data.h>
#include <husk/train/initializer.h>
#include <husk/train/graph.h>
#include <husk/train/layers.h>
#include <husk/train/step.h>
#include <husk/train/rate.h>
#include <husk/train/loop.h>
#include <husk/train/metrics.h>
#include <husk/train/safetensors.h>
#include <husk/train/checkpoint.h>
#include <husk/train/compress.h>

#endif
