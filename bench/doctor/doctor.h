/* SPDX-License-Identifier: MIT */
/*
 * bench/doctor/doctor.h: `clbench doctor`: what is wrong with a machine, and what to do about it. The order of its
 * examinations, what it prints and what it leaves with are doctor.c's; below it lie
 *
 *     loader.c    OpenCL loaders, and the variables that lead them
 *     icd.c       the drivers that are registered: each loaded and listed in a process of its own
 *     system.c    GPUs that the system has without an OpenCL device, and why
 *     node.c      device files, and whether they open
 *     access.c    whose rights count, and whose Husk's folders are
 *     host.c      what the process may use, cache folders, variables
 *     list.c      devices: which OpenCL lists, and which are meant
 *     device.c    devices: results and clocks
 *     speed.c     devices: whether they hold their speed
 *     threads.c   devices: whether a CPU's driver binds its threads
 *     patient.c   one device, and what its worker is asked
 *     findings.c  what was found, in groups, each a sentence with what to do about it
 *     machine.c   files of the machine that is looked at
 *     vendors.c   whose cards a driver's library serves, and the packages that have it
 *     address.c   addresses on the PCI bus
 *     probe.c     what runs in those processes
 *
 * For tests alone: HUSK_DOCTOR_ROOT is a folder that stands for / where /sys, /dev, /proc, /etc and /usr are looked at,
 * and HUSK_DOCTOR_USER=UID:GID,GID... whose rights are looked at. Neither changes what the devices do.
 */
#ifndef BENCH_DOCTOR_DOCTOR_H
#define BENCH_DOCTOR_DOCTOR_H

#include "cli/options.h"

/* The exit code. */
int bench_command_doctor(const bench_options *options);

#endif
