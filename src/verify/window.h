/* SPDX-License-Identifier: MIT */
/*
 * verify/window.h: the options of one dimension of space, which convolution and pooling share.
 */
#ifndef HUSK_VERIFY_WINDOW_H
#define HUSK_VERIFY_WINDOW_H

#include "base/error.h"

/* Sizes and options from here on are refused, so that nothing overflows. */
#define HUSK__VERIFY_LARGEST (INT64_C(1) << 29)

/* Of the params; 0 of stride and dilation means a default. size: of the window or the filter. */
typedef struct husk__verify_window {
    int64_t in, size, stride, pad, pad_end_extra, dilation;
} husk__verify_window;

/* The options are in range, and padded dimension d of x holds the window. */
husk_status husk__verify_check_window(const husk__verify_window *window, int32_t d, const husk__scope *scope);

#endif
