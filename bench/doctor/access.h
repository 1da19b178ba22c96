/* SPDX-License-Identifier: MIT */
/* bench/doctor/access.h: whose rights count, and whether files can be kept in Husk's folders. */
#ifndef BENCH_DOCTOR_ACCESS_H
#define BENCH_DOCTOR_ACCESS_H

#include "doctor/findings.h"

/* Whose rights count. In a probe: become that user; false: that is not allowed. */
void bench_doctor_take_user(bench_doctor *d);
bool bench_doctor_is_in_group(const bench_doctor *d, gid_t group);
bool bench_doctor_become_user(void);

/* A folder of Husk's: whether files can be kept there. A private one is neither a link nor open to others' writing. */
void bench_doctor_folder(bench_doctor *d, const char *variable, const char *below_home, const char *what,
                         bool must_be_private);

#endif
