// SPDX-License-Identifier: MIT
#include "cases/touched.h"

#include <math.h>

#define LINE         64.0  // bytes that memory moves at once
#define MOST_CLASSES 65536 // more have only images that are 2^32 long, which count as a whole

// One dimension: position o * stride + k * dilation - pad, for each of the windows o < out and their elements
// k < window.
typedef struct axis {
    int64_t in, window, stride, pad, dilation, out;
} axis;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// How many numbers from 0 on have number * factor < limit.
static int64_t multiples(int64_t limit, int64_t factor)
{
    return limit <= 0 ? 0 : (limit - 1) / factor + 1;
}

// Runs of so many numbers, the first from 0 on, the others each so far apart: how many numbers of them are below limit.
static int64_t below(int64_t limit, int64_t length, int64_t apart, int64_t runs)
{
    if (apart <= length) // they meet
        return least(limit, (runs - 1) * apart + length);
    const int64_t before = limit / apart;
    return before >= runs ? runs * length : before * length + least(limit % apart, length);
}

// Windows and elements play the same part: as well every element has a position in each window.
static axis turned(axis a)
{
    return (axis){a.in, .window = a.out, .stride = a.dilation, .pad = a.pad, .dilation = a.stride, .out = a.window};
}

// Windows share positions with those that are a multiple of dilation / divisor away, and with no others. Of such a
// class the positions are multiples of dilation from its first window on, a run for each window.
static double count(axis a)
{
    const int64_t divisor = common_divisor(a.stride, a.dilation);
    if (least(a.stride / divisor, a.window) < least(a.dilation / divisor, a.out))
        a = turned(a);
    const int64_t apart = a.stride / divisor, classes = a.dilation / divisor;
    double all = 0;
    if (least(classes, a.out) > MOST_CLASSES)
        return (double)a.in;
    for (int64_t i = 0; i < least(classes, a.out); i++) {
        const int64_t windows = (a.out - 1 - i) / classes + 1, first = i * a.stride - a.pad;
        all += (double)(below(multiples(a.in - first, a.dilation), a.window, apart, windows) -
                        below(multiples(-first, a.dilation), a.window, apart, windows));
    }
    return all;
}

// Wherever lines begin, a touched position moves its own: on average, as many as when every position touches those that
// follow it in a line, too.
static double count_lines(axis a, int64_t line)
{
    const double found = count(a), most = fmin((double)a.in, found * (double)line);
    if (a.dilation > line)
        a = turned(a);
    if (a.dilation > line || line == 1)
        return most;
    a.window = (a.window - 1) * a.dilation + line;
    a.dilation = 1;
    return fmin(most, count(a));
}

double bench_touched(const bench_windows *w)
{
    double positions = 1, apart = w->apart;
    for (int64_t i = w->space - 1; i >= 0; i--) {
        const axis a = {w->in[i], w->window[i], w->stride[i], w->pad[i], w->dilation[i], w->out[i]};
        positions *= count_lines(a, apart < LINE ? (int64_t)(LINE / fmax(apart, 1)) : 1);
        apart *= (double)w->in[i];
    }
    return positions;
}
