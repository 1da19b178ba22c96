/* SPDX-License-Identifier: MIT */
/*
 * doctor_machine.h: machines that are laid out below a folder, for clbench doctor to look at, and what it says of them.
 * The drivers there do what HUSK_TEST_ICD asks of them (tests/support/icd).
 */
#ifndef HUSK_TESTS_DOCTOR_MACHINE_H
#define HUSK_TESTS_DOCTOR_MACHINE_H

#include <jansson.h>
#include <stdbool.h>

#include "common/text.h"

/* ---- the machine ---- */

extern char machine_root[64];
extern char machine_variables[2048]; /* what the next run has in its environment, or before its command */

/*
 * One on which nothing is wrong: a loader, a driver, its GPU at PCI address 0000:03:00.0, device files that are open,
 * folders. Fixtures of a test case.
 */
void machine_build(void);
void machine_remove(void);

/* A path below the root, its folders made; good until the next call. */
const char *machine_place(const char *path);
void machine_put(const char *path, const char *text);
void machine_link(const char *path, const char *target);
void machine_drop(const char *path);
void machine_let(const char *format, ...) BENCH_PRINTF(1, 2);
/* The fake driver under a name of its own, and the .icd file that names it. */
void machine_install(const char *name, const char *icd);
/* driver: the kernel's; NULL: none. */
void machine_gpu(const char *address, const char *vendor, const char *driver);

/* ---- the doctor ---- */

extern char doctor_said[1 << 18]; /* on stdout */
extern json_t *doctor_document;   /* that, where it is JSON; NULL */

/* Run a shell's command that ends in clbench doctor's; the exit code. */
int doctor_run(const char *command);
/* Look at the machine with --quick and further arguments: it leaves with the code, and says JSON of its schema. */
void machine_examine(int code, const char *arguments);
/* The same, and what people read. */
void machine_examine_in_words(int code, const char *arguments);

const char *doctor_text(const json_t *object, const char *key);
const json_t *doctor_find(const char *id);
/* There is such a finding, of that level; its sentence has the words, and what to do has others. The first of them. */
const json_t *doctor_expect(const char *level, const char *id, const char *words, const char *todo);
/* One of that id has both, whichever it is. */
void doctor_expect_any(const char *id, const char *words, const char *todo);
void doctor_expect_none(const char *level);
/* What another implementation of JSON Schema says of it, where there is one. */
void doctor_check_outside(void);

#endif
