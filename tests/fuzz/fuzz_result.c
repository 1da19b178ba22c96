// SPDX-License-Identifier: MIT
// A result file, byte by byte: fuzz/readers.h says what those that are accepted have to stand. Most of what chance
// makes of a document is no JSON any more; fuzz_result_edits.c changes documents as documents.
#include "fuzz.h"
#include "readers.h"
#include "record/result_file.h"

void fuzz_target(const char *text, size_t size)
{
    static json_t *schema;
    char reason[BENCH_REASON_TEXT] = "";
    if (!schema)
        schema = bench_result_schema();
    json_t *document = bench_result_parse(schema, text, size, "a result", reason);
    if (!document) {
        fuzz_expect_reason(reason, sizeof reason);
        fuzz_expect_clean(reason);
        return;
    }
    fuzz_write_result(schema, document);
    for (unsigned reader = 0; reader < FUZZ_READERS; reader++)
        fuzz_read_result(document, reader);
    json_decref(document);
}
