/* SPDX-License-Identifier: MIT */
/* bench/common/json_place.h: on which line of a JSON text a member stands, which jansson does not keep. */
#ifndef BENCH_COMMON_JSON_PLACE_H
#define BENCH_COMMON_JSON_PLACE_H

#include <stddef.h>

/*
 * The line, from 1, of what a path leads to: "Arguments[2].FillType". Where the path leads nowhere, the line of the
 * innermost object or array that it does lead to. text is JSON, without a zero byte in it, and ends with one.
 */
int bench_json_line(const char *text, const char *path);

#endif
