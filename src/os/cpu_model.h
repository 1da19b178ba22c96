/* SPDX-License-Identifier: MIT */
/*
 * os/cpu_model.h: which CPU this is.
 */
#ifndef HUSK_OS_CPU_MODEL_H
#define HUSK_OS_CPU_MODEL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Append to the text what distinguishes processors that share a name, as /proc/cpuinfo has it: "cpu family"
 * and "model", or Arm's implementer and part, a slash before each. What passes size, the text's zero included,
 * is cut off.
 */
void husk__cpu_model(const char *info, char *text, size_t size);
/* The same of the CPU that this process runs on. False for want of memory. */
bool husk__append_cpu_model(char *text, size_t size);

#endif
