/* SPDX-License-Identifier: MIT */
/* bench/doctor/address.h: where a card is on the PCI bus. */
#ifndef BENCH_DOCTOR_ADDRESS_H
#define BENCH_DOCTOR_ADDRESS_H

#include <stdbool.h>

typedef struct bench_address {
    unsigned domain, bus, device, function;
} bench_address;

/* "0000:03:00.0" or "03:00.0", of domain 0. False: it is none. */
bool bench_doctor_read_address(const char *text, bench_address *address);
/* "0000:03:00.0", "03:00.0", "00000000:03:00.0": the same card. */
bool bench_doctor_same_address(const char *a, const char *b);

#endif
