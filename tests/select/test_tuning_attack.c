// SPDX-License-Identifier: MIT
// ctest: tiers=default,attack timeout=120
// Tuning databases from strangers: files that are damaged, strange or too large, and entries that lie. They may choose
// among variants, all of which compute rightly; they neither crash a program, nor hang it, nor change a result.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "os/private.h"
#include "ref/random.h"
#include "select/tuning_file.h"
#include "support/environment.h"
#include "support/support.h"

// ---- a product whose result is known, in a context of its own ----

enum { M = 5, N = 7, K = 9, WARNINGS = 64 };

static husk_context *context;
static husk_queue *queue;
static husk_buffer *memory;
static husk_tensor a, b, c;
static float expected[M * N];
static int warnings;
static char last_warning[400];

static void count_warnings(void *user, husk_log_level level, const char *text)
{
    (void)user;
    if (level < HUSK_LOG_WARNING)
        return;
    warnings++;
    snprintf(last_warning, sizeof last_warning, "%s", text);
}

static husk_tensor matrix(int64_t offset, int64_t rows, int64_t columns)
{
    husk_tensor tensor = husk_tensor_make(memory, HUSK_F32, 2, (const int64_t[]){rows, columns});
    tensor.offset = offset;
    return tensor;
}

static void open_context(void)
{
    husk_error error = {0};
    float numbers[M * K + K * N];
    warnings = 0;
    test_ok_error(husk_context_create(NULL, &HUSK_CONTEXT_PARAMS(.log = count_warnings), &context, &error), &error);
    test_ok_error(husk_queue_create(context, NULL, &queue, &error), &error);
    test_ok_error(husk_buffer_create(context, sizeof numbers + sizeof expected, &memory, &error), &error);
    for (int i = 0; i < M * K + K * N; ++i)
        numbers[i] = (float)(i * 7 % 11 - 5); // small integers: their sums are exact in any order
    for (int i = 0; i < M * N; ++i) {
        expected[i] = 0;
        for (int k = 0; k < K; ++k)
            expected[i] += numbers[i / N * K + k] * numbers[M * K + k * N + i % N];
    }
    test_ok_error(husk_buffer_write(queue, memory, 0, sizeof numbers, numbers), husk_queue_error(queue));
    a = matrix(0, M, K);
    b = matrix(M * K, K, N);
    c = matrix(M * K + K * N, M, N);
}

static void close_context(void)
{
    husk_buffer_release(memory);
    husk_queue_release(queue);
    husk_context_release(context);
}

static void expect_right(const char *what)
{
    float seen[M * N];
    memset(seen, 0xff, sizeof seen);
    husk_status status = husk_gemm(queue, NULL, 1, &a, &b, NULL, 0, &c);
    if (status == HUSK_OK)
        status = husk_buffer_read(queue, memory, (M * K + K * N) * sizeof(float), sizeof seen, seen);
    ck_assert_msg(status == HUSK_OK, "%s: %s", what, husk_queue_error(queue)->text);
    ck_assert_msg(memcmp(seen, expected, sizeof seen) == 0, "%s: the product is wrong", what);
}

// ---- databases ----

static char folder[] = "/tmp/husk-tuning-XXXXXX";
static char path[200];

static void setup(void)
{
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.json", folder);
    test_setenv("XDG_DATA_HOME", folder);
    test_setenv("HUSK_TUNING", NULL);
    open_context();
}

static void teardown(void)
{
    char command[200];
    close_context();
    test_restore_environment();
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static void append_entry(husk__text *text, const husk_tuning_key *key, const char *problem, const char *state,
                         const char *variant)
{
    husk__text_format(text,
                      "{\"device\": \"%s\", \"platform\": \"%s\", \"driver\": \"%s\", \"family\": \"%s\", "
                      "\"op\": \"%s\", \"problem\": \"%s\", \"class\": \"%s\", \"kernels\": \"%s\", \"state\": \"%s\", "
                      "\"variant\": \"%s\", \"more\": [1, {\"a\": null}]}",
                      key->device, key->platform, key->driver, key->family, key->op, problem, key->shape_class,
                      key->kernels, state, variant);
}

static husk_tuning_key key_of_product(void)
{
    husk_error error = {0};
    husk_tuning_key key;
    husk_plan *plan;
    test_ok_error(husk_gemm_plan_create(context, NULL, &a, &b, NULL, &c, &plan, &error), &error);
    test_ok_error(husk_tuning_key_get(context, plan, &key, &error), &error);
    husk_plan_release(plan);
    return key;
}

// A database of one entry, for the class that the product is of, as a plan and as a call.
static husk__text database_of(const char *state, const char *variant)
{
    husk_tuning_key key = key_of_product();
    husk__text text = {0};
    husk__text_format(&text, "{\"schema\": \"%s\", \"entries\": [\n", HUSK__TUNING_SCHEMA);
    append_entry(&text, &key, key.problem, state, variant);
    husk__text_format(&text, "\n]}\n");
    ck_assert(!text.failed);
    return text;
}

static husk_status load(const husk__text *text)
{
    husk_tuning_params params = HUSK_TUNING_PARAMS(.text = text->bytes, .text_size = text->size);
    return husk_context_load_tuning(context, &params, NULL);
}

static void write_file(const char *at, const husk__text *text)
{
    FILE *file = fopen(at, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text->bytes, 1, text->size, file), text->size);
    fclose(file);
}

// ---- entries that lie ----

START_TEST(entries_that_lie_change_no_result)
{
    static const char *const variants[] = {"",
                                           ":",
                                           "tiled",
                                           "tiled:",
                                           ":32x32",
                                           "tiled:32x32:",
                                           "tiled:no",
                                           "no:32x32",
                                           "../../etc/passwd",
                                           "%s%n%s",
                                           "tiled:32x32 -DEVIL=1",
                                           "conv:winograd_4x4",
                                           "\\u0001",
                                           "\\u00ff\\ud7ff",
                                           "tiled:32x32"};
    static const char *const states[] = {"tuned", "kept", "wrong", "", "TUNED"};
    char longest[20000];
    memset(longest, 'v', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    for (size_t s = 0; s < sizeof states / sizeof *states; ++s) {
        for (size_t v = 0; v <= sizeof variants / sizeof *variants; ++v) {
            const char *variant = v < sizeof variants / sizeof *variants ? variants[v] : longest;
            husk__text text = database_of(states[s], variant);
            load(&text); // refused or taken
            expect_right(variant);
            husk__text_free(&text);
        }
    }
}
END_TEST

// ---- damaged files ----

static size_t below(husk_ref_random *draw, size_t limit)
{
    return (size_t)husk_ref_random_below(draw, (int64_t)limit);
}

// Bits, ranges, parts gone, doubled or exchanged; what JSON is made of more often than other bytes.
static void mutate(husk__text *text, int kind, husk_ref_random *draw)
{
    static const char marks[] = "{}[]\",:\\u0e-. \n";
    const size_t at = below(draw, text->size), count = 1 + below(draw, 40);
    const size_t rest = count < text->size - at ? count : text->size - at;
    switch (kind) {
    case 0:
        text->bytes[at] = (char)(text->bytes[at] ^ 1 << below(draw, 8));
        break;
    case 1:
        text->bytes[at] = marks[below(draw, sizeof marks)];
        break;
    case 2:
        for (size_t i = 0; i < rest; ++i)
            text->bytes[at + i] = (char)below(draw, 256);
        break;
    case 3:
        memmove(text->bytes + at, text->bytes + at + rest, text->size - at - rest);
        text->size -= rest;
        break;
    default:
        memmove(text->bytes + below(draw, text->size - rest), text->bytes + at, rest);
        break;
    }
}

START_TEST(no_mutated_database_does_harm)
{
    enum { MUTATIONS = 2000, KINDS = 5, COMPUTED = 100 };
    husk_ref_random draw = {.seed = 24};
    husk__text whole = database_of("tuned", "tiled:32x32");
    int read = 0, loaded = 0;
    for (int i = 0; i < MUTATIONS; ++i) {
        husk__text text = {.bytes = malloc(whole.size), .size = whole.size}; // of its size, for the sanitizers
        husk__tuning_file file;
        char reason[HUSK__TUNING_REASON];
        memcpy(text.bytes, whole.bytes, whole.size);
        mutate(&text, i % KINDS, &draw);
        if (husk__tuning_file_parse(text.bytes, text.size, &file, reason)) {
            for (size_t e = 0; e < file.count; ++e) {
                ck_assert_uint_le(strlen(file.entries[e].variant), text.size);
                ck_assert_uint_le(strlen(file.entries[e].device), text.size);
            }
            husk__tuning_file_free(&file);
            if (read++ % 20 == 0) {
                ck_assert_int_eq(load(&text), HUSK_OK);
                expect_right("a mutated database");
                loaded++;
            }
        }
        free(text.bytes);
    }
    printf("of %d mutated databases %d could be read, with %d of them the product is right\n", MUTATIONS, read, loaded);
    ck_assert_int_gt(read, MUTATIONS / 20);
    ck_assert_int_lt(read, MUTATIONS - MUTATIONS / 20);
    husk__text_free(&whole);
}
END_TEST

// All of the product's class, and none about the product. Of the second database every problem was measured again, as
// another one that is stacked on a first has it: what came first counts.
START_TEST(a_large_database_takes_no_longer_than_it_must)
{
    enum { ENTRIES = 20000 };
    husk_tuning_key key = key_of_product();
    husk__text text = {0};
    struct timespec start, end;
    const int problems = _i ? ENTRIES / 2 : ENTRIES;
    husk__text_format(&text, "{\"schema\": \"%s\", \"entries\": [\n", HUSK__TUNING_SCHEMA);
    for (int i = 0; i < ENTRIES; ++i) {
        char problem[40];
        snprintf(problem, sizeof problem, "%032d", i % problems);
        append_entry(&text, &key, problem, "tuned", i < problems ? "tiled:32x32" : "tiled:16x16");
        husk__text_format(&text, i + 1 < ENTRIES ? ",\n" : "\n]}\n");
    }
    ck_assert(!text.failed);
    ck_assert_int_eq(load(&text), HUSK_OK);
    clock_gettime(CLOCK_MONOTONIC, &start);
    husk_tuning_key found = key_of_product();
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    printf("a plan with %d entries of its class: %.3f s\n", ENTRIES, seconds);
    ck_assert_str_eq(found.variant, "tiled:32x32");
    ck_assert_msg(seconds < 5, "a plan took %.1f s", seconds);
    husk__text_free(&text);
}
END_TEST

// ---- files and folders ----

// What lies at the path is left out, with a warning, wherever the library looks by itself.
static void expect_left_out(const char *what)
{
    close_context();
    open_context();
    expect_right(what);
    ck_assert_msg(warnings == 1 && strstr(last_warning, "is left out"), "%s: %d warnings, the last one: %s", what,
                  warnings, last_warning);
}

static void expect_read(const char *what)
{
    close_context();
    open_context();
    expect_right(what);
    ck_assert_msg(warnings == 0, "%s: %s", what, last_warning);
}

enum { HUGE_GIB = 4096 }; // more than there is memory for

// A file of that size, nearly all of which is a hole. False where the file system has none such.
static bool grow(const char *at, int gib)
{
    const int descriptor = open(at, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(descriptor, 0);
    const bool grew = ftruncate(descriptor, (off_t)gib << 30) == 0;
    close(descriptor);
    if (!grew)
        printf("skipped: a file of %d GiB, for which there is no room in %s\n", gib, folder);
    return grew;
}

START_TEST(strange_files_are_left_out)
{
    char own[4096], aside[200];
    husk__text text = database_of("tuned", "tiled:32x32");
    husk_tuning_key key = key_of_product();
    snprintf(own, sizeof own, "%s", key.path);
    *strrchr(own, '/') = 0;
    ck_assert(husk__prepare_private_directory(own));
    snprintf(own, sizeof own, "%s", key.path);
    snprintf(aside, sizeof aside, "%s/aside", folder);
    write_file(aside, &text);
    write_file(own, &text);
    expect_read("the user's own file");

    ck_assert_int_eq(chmod(own, 0660), 0);
    expect_left_out("a file that the group may write");
    ck_assert_int_eq(chmod(own, 0600), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(own, 12345, 12345), 0);
        expect_left_out("another user's file");
    } else {
        printf("skipped: another user's file, which root alone can make\n");
    }
    ck_assert_int_eq(unlink(own), 0);
    const char *const targets[] = {aside, "/nonexistent/database", own, "/dev/zero"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i) {
        ck_assert_int_eq(symlink(targets[i], own), 0);
        expect_left_out("a link");
        ck_assert_int_eq(unlink(own), 0);
    }
    ck_assert_int_eq(mkfifo(own, 0600), 0);
    expect_left_out("a pipe");
    ck_assert_int_eq(unlink(own), 0);
    ck_assert_int_eq(mkdir(own, 0700), 0);
    expect_left_out("a folder");
    ck_assert_int_eq(rmdir(own), 0);
    write_file(own, &text);
    if (grow(own, 1))
        expect_left_out("a file that is too large");
    if (grow(own, HUGE_GIB))
        expect_left_out("a file that is far too large");
    husk__text_free(&text);
}
END_TEST

START_TEST(strange_files_that_are_named_are_left_out)
{
    husk_error error = {0};
    husk_tuning_params params = HUSK_TUNING_PARAMS(.path = path);
    test_setenv("HUSK_TUNING", path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    expect_left_out("a pipe"); // of which nobody writes the other end
    ck_assert_int_eq(husk_context_load_tuning(context, &params, &error), HUSK_INVALID_ARGUMENT);
    test_setenv("HUSK_TUNING", folder);
    expect_left_out("a pipe in a folder");
    ck_assert_int_eq(unlink(path), 0);
    test_setenv("HUSK_TUNING", path);
    static const char *const targets[] = {"/dev/zero", "/nonexistent/database", "a.json"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i) {
        ck_assert_int_eq(symlink(targets[i], path), 0);
        expect_left_out(targets[i]);
        ck_assert_int_eq(husk_context_load_tuning(context, &params, &error), HUSK_INVALID_ARGUMENT);
        ck_assert_int_eq(unlink(path), 0);
    }
    husk__text text = database_of("tuned", "tiled:32x32"); // where the user names a file, a link is the user's
    char aside[200];
    snprintf(aside, sizeof aside, "%s/aside", folder);
    write_file(aside, &text);
    ck_assert_int_eq(symlink(aside, path), 0);
    expect_read("a link that is named");
    husk__text_free(&text);
}
END_TEST

// Not for want of memory: that would be answered by every plan, for as long as the file is there.
START_TEST(large_files_that_are_named_are_left_out)
{
    static const int sizes[] = {1, HUGE_GIB};
    husk__text text = database_of("tuned", "tiled:32x32");
    char beside[200];
    snprintf(beside, sizeof beside, "%s/b.json", folder);
    write_file(path, &text);
    write_file(beside, &text);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        husk_error error = {0};
        husk_tuning_stats stats;
        if (!grow(path, sizes[i]))
            continue;
        test_setenv("HUSK_TUNING", path);
        expect_left_out("a large file");
        ck_assert_msg(strstr(last_warning, "256 MiB"), "%s", last_warning);
        test_setenv("HUSK_TUNING", folder);
        expect_left_out("a large file in a folder");
        ck_assert_int_eq(husk_context_tuning_stats(context, &stats, NULL), HUSK_OK);
        const uint64_t entries = stats.entries;
        ck_assert_uint_ge(entries, 1); // the small file beside it is read

        const char *const named[] = {path, folder};
        for (size_t n = 0; n < 2; ++n) {
            husk_tuning_params params = HUSK_TUNING_PARAMS(.path = named[n]);
            ck_assert_int_eq(husk_context_load_tuning(context, &params, &error), HUSK_INVALID_ARGUMENT);
            ck_assert_msg(strstr(error.text, "path: ") && strstr(error.text, "256 MiB"), "%s", error.text);
            expect_right("after a refused database");
        }
        ck_assert_int_eq(husk_context_tuning_stats(context, &stats, NULL), HUSK_OK);
        ck_assert_uint_eq(stats.entries, entries); // all or nothing
    }
    husk_tuning_params params = HUSK_TUNING_PARAMS(.text = text.bytes, .text_size = SIZE_MAX);
    husk_error error = {0};
    ck_assert_int_eq(husk_context_load_tuning(context, &params, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, "text") && strstr(error.text, "256 MiB"), "%s", error.text);
    husk__text_free(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tuning attack");
    TCase *tests = tcase_create("tuning attack");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, entries_that_lie_change_no_result);
    tcase_add_test(tests, no_mutated_database_does_harm);
    tcase_add_loop_test(tests, a_large_database_takes_no_longer_than_it_must, 0, 2);
    tcase_add_test(tests, strange_files_are_left_out);
    tcase_add_test(tests, strange_files_that_are_named_are_left_out);
    tcase_add_test(tests, large_files_that_are_named_are_left_out);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
