/* SPDX-License-Identifier: MIT */
/* bench/report/roofline_svg.h: a roofline as SVG. */
#ifndef BENCH_REPORT_ROOFLINE_SVG_H
#define BENCH_REPORT_ROOFLINE_SVG_H

#include <stdio.h>

#include "report/roofline.h"

/* As SVG, with nothing from elsewhere; light or dark as the reader's system is. */
void bench_roofline_draw(const bench_roofline *roofline, FILE *file);

#endif
