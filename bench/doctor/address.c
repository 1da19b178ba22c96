// SPDX-License-Identifier: MIT
#include "doctor/address.h"

#include <stdio.h>

bool bench_doctor_read_address(const char *text, bench_address *a)
{
    char end = '\0';
    *a = (bench_address){0};
    return sscanf(text, "%x:%x:%x.%x%c", &a->domain, &a->bus, &a->device, &a->function, &end) == 4 ||
           (a->domain = 0, sscanf(text, "%x:%x.%x%c", &a->bus, &a->device, &a->function, &end) == 3);
}

bool bench_doctor_same_address(const char *left, const char *right)
{
    bench_address a, b;
    return bench_doctor_read_address(left, &a) && bench_doctor_read_address(right, &b) && a.domain == b.domain &&
           a.bus == b.bus && a.device == b.device && a.function == b.function;
}
