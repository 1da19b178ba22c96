/* SPDX-License-Identifier: MIT */
/** @file
 * Deep-learning primitives on any OpenCL device: includes all of libhusk except husk/opencl.h.
 *
 * | calls | purpose |
 * | --- | --- |
 * | husk_device_list_create(), husk_context_create(), husk_queue_create() | find and open a device |
 * | husk_buffer_create(), husk_buffer_write(), husk_buffer_read() | memory |
 * | husk_gemm(), husk_conv(), husk_pool(), husk_softmax(), husk_rnn() and so on | work, enqueued |
 * | husk_queue_finish(), husk_queue_error() | waiting, and the text of a failure |
 *
 * The other libraries have their own headers: husk/train.h and husk/dist.h.
 */
#ifndef HUSK_HUSK_H
#define HUSK_HUSK_H

#include <husk/version.h>

#include <husk/status.h>
#include <husk/device.h>
#include <husk/context.h>
#include <husk/queue.h>
#include <husk/buffer.h>
#include <husk/guard.h>
#include <husk/tensor.h>
#include <husk/plan.h>
#include <husk/engine.h>
#include <husk/tuning.h>
#include <husk/machine.h>

#include <husk/ops.h>

#endif
