/* SPDX-License-Identifier: MIT */
/* bench/doctor/vendors.h: what is known of drivers' libraries. */
#ifndef BENCH_DOCTOR_VENDORS_H
#define BENCH_DOCTOR_VENDORS_H

/* "NVIDIA", "AMD", "Intel" or "" for a driver's library, and the packages that have it or the vendor's; "" unknown. */
const char *bench_doctor_vendor_of(const char *library);
const char *bench_doctor_packages(const char *library);

#endif
