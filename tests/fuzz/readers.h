/* SPDX-License-Identifier: MIT */
/* fuzz/readers.h: everything that reads a result, for the targets result and result_edits. */
#ifndef HUSK_TESTS_FUZZ_READERS_H
#define HUSK_TESTS_FUZZ_READERS_H

#include <jansson.h>

/*
 * The document was accepted: one who reads results takes it, and says no nonsense. Which one of FUZZ_READERS it is:
 * comparing, the report, the roofline, resuming.
 */
enum { FUZZ_READERS = 4 };
void fuzz_read_result(json_t *document, unsigned reader);
/* Written out as clbench writes it, it is accepted again. */
void fuzz_write_result(const json_t *schema, const json_t *document);

#endif
