// SPDX-License-Identifier: MIT
// What is said about a kernel: by the simulator Oclgrind in its log, and by a compiler. Findings are JSON that can be
// written, each of a line of the text without an indent; the first error has a line's text behind "error: ".
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "fuzz.h"
#include "common/compiler_log.h"
#include "worker/simulator_log.h"

// Lines that are no details of one above: as many findings at most, and none is missing unless there are very many.
static size_t heads_of(const char *text)
{
    size_t heads = 0;
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");
        heads += length && *line != ' ' && *line != '\t';
        line += length + (line[length] == '\n');
    }
    return heads;
}

static void expect_findings(const char *text)
{
    json_t *findings = bench_simulator_findings(text);
    const size_t heads = heads_of(text), count = json_array_size(findings);
    size_t times = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *finding = json_array_get(findings, i);
        static const char *const keys[] = {"text", "kernel", "source"};
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            fuzz_expect(json_is_string(json_object_get(finding, keys[k])), "a finding without %s", keys[k]);
            fuzz_expect_clean(bench_text_of(finding, keys[k]));
        }
        fuzz_expect(bench_text_of(finding, "text")[0] != '\0', "a finding without a word");
        fuzz_expect(json_integer_value(json_object_get(finding, "line")) >= 0, "a line below zero");
        times += (size_t)json_integer_value(json_object_get(finding, "times"));
    }
    fuzz_expect(count < 100 ? times == heads : times <= heads, "%zu findings of %zu", times, heads);
    char *written = json_dumps(findings, 0);
    fuzz_expect(written != NULL, "the findings cannot be written");
    free(written);
    json_decref(findings);
}

static void expect_error(const char *text)
{
    const bench_log_message message = bench_log_first_error(text);
    char clean[sizeof message.text];
    fuzz_expect(memchr(message.text, 0, sizeof message.text) != NULL, "the message does not end");
    fuzz_expect(message.line >= 0, "line %d", message.line);
    fuzz_expect(strstr(text, "error: ") || (!message.line && !message.text[0]), "an error that is none: %s",
                message.text);
    memcpy(clean, message.text, sizeof clean);
    bench_clean_line(clean);
    fuzz_expect(!strcmp(clean, message.text), "this is no UTF-8, or has more than one line: %s", message.text);
}

void fuzz_target(const char *text, size_t size)
{
    (void)size;
    expect_findings(text);
    expect_error(text);
}
