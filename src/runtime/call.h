/* SPDX-License-Identifier: MIT */
/*
 * runtime/call.h: all that an operator's public call takes of this floor, but for launches (runtime/launch.h).
 */
#ifndef HUSK_RUNTIME_CALL_H
#define HUSK_RUNTIME_CALL_H

#include "runtime/begin.h"
#include "runtime/bind.h"
#include "runtime/context.h"
#include "runtime/opencl_error.h"
#include "runtime/pocl.h"
#include "runtime/probe.h"
#include "runtime/queue.h"
#include "runtime/scratch.h"

#endif
