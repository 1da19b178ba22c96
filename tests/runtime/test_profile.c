// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind
// Times of commands, and the trace they are exported to.
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if HUSK_WITH_JANSSON
#include <jansson.h>
#endif

#include "support/support.h"

enum { BYTES = 1 << 20 };

static husk_queue *queue;
static husk_buffer *a, *b;
static unsigned char host[BYTES];

static void setup(void)
{
    husk_error error = {0};
    husk_queue_params params = HUSK_QUEUE_PARAMS(.profiling = 1);
    test_ok_error(husk_queue_create(test_context(), &params, &queue, &error), &error);
    test_ok_error(husk_buffer_create(test_context(), BYTES, &a, &error), &error);
    test_ok_error(husk_buffer_create(test_context(), BYTES, &b, &error), &error);
}

static void teardown(void)
{
    husk_buffer_release(a);
    husk_buffer_release(b);
    husk_queue_release(queue);
}

static const char *const names[] = {"fill", "copy", "write", "write", "read", "read"};
enum { COMMANDS = sizeof names / sizeof *names };

static void enqueue(void)
{
    const uint32_t word = 1;
    test_ok(husk_buffer_fill(queue, a, 0, BYTES, &word, sizeof word));
    test_ok(husk_buffer_copy(queue, a, 0, b, 0, BYTES));
    test_ok(husk_buffer_write(queue, a, 0, BYTES, host));
    test_ok(husk_buffer_write_async(queue, a, 0, 1000, host));
    test_ok(husk_buffer_read(queue, b, 0, BYTES, host));
    test_ok(husk_buffer_read_async(queue, b, 0, 1000, host));
}

START_TEST(every_command_is_recorded_in_order)
{
    const husk_profile_record *records = NULL;
    size_t count = 99;
    test_ok(husk_queue_profile(queue, &records, &count));
    ck_assert_uint_eq(count, 0);
    enqueue();
    test_ok(husk_queue_profile(queue, &records, &count));
    ck_assert_uint_eq(count, COMMANDS);
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(records[i].name, names[i]);
        ck_assert_uint_gt(records[i].queued_ns, 0);
        ck_assert_uint_le(records[i].queued_ns, records[i].submitted_ns);
        ck_assert_uint_le(records[i].submitted_ns, records[i].started_ns);
        ck_assert_uint_le(records[i].started_ns, records[i].ended_ns);
        if (i > 0)
            ck_assert_uint_le(records[i - 1].ended_ns, records[i].started_ns);
    }
    husk_queue_profile_clear(queue);
    test_ok(husk_queue_profile(queue, &records, &count));
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(many_commands_are_recorded)
{
    const husk_profile_record *records = NULL;
    size_t count = 0;
    for (int i = 0; i < 300; i++)
        enqueue();
    test_ok(husk_queue_profile(queue, &records, &count));
    ck_assert_uint_eq(count, 300 * COMMANDS);
}
END_TEST

START_TEST(a_queue_without_profiling_says_so)
{
    husk_queue *plain = NULL;
    husk_error error = {0};
    const husk_profile_record *records = NULL;
    size_t count = 0;
    test_ok_error(husk_queue_create(test_context(), NULL, &plain, &error), &error);
    ck_assert_int_eq(husk_queue_profile(plain, &records, &count), HUSK_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(husk_queue_error(plain)->text, "husk_queue_profile"));
    ck_assert_int_eq(husk_queue_profile_export(plain, "/tmp/never"), HUSK_UNSUPPORTED);
    husk_queue_profile_clear(plain);
    husk_queue_profile_clear(NULL);
    husk_queue_release(plain);
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
    const husk_profile_record *records = NULL;
    size_t count = 0;
    ck_assert_int_eq(husk_queue_profile(NULL, &records, &count), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_queue_profile(queue, NULL, &count), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_queue_profile(queue, &records, NULL), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_queue_profile_export(queue, NULL), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_queue_profile_export(queue, "/no/such/folder/trace.json"), HUSK_IO);
    ck_assert_ptr_nonnull(strstr(husk_queue_error(queue)->text, "/no/such/folder/trace.json"));
}
END_TEST

static struct stat status_of(const char *path)
{
    struct stat status;
    ck_assert_int_eq(lstat(path, &status), 0);
    return status;
}

/* What is there stays what it is: a pipe, a link, a file and its mode; a new one has the mode that the umask leaves. */
START_TEST(a_trace_replaces_nothing_but_files)
{
    enum { MODE = 0777, OPEN = 0640, SIZE = 60 };
    char folder[] = "/tmp/husk-trace-XXXXXX", path[SIZE], link[SIZE], pipe[SIZE], text[4096];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/trace.json", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    snprintf(pipe, sizeof pipe, "%s/pipe", folder);
    enqueue();
    const mode_t before = umask(0027);
    test_ok(husk_queue_profile_export(queue, path));
    umask(before);
    ck_assert_int_eq(status_of(path).st_mode & MODE, OPEN);
    const off_t size = status_of(path).st_size;
    ck_assert_int_gt(size, 0);
    ck_assert_int_eq(chmod(path, 0604), 0);
    test_ok(husk_queue_profile_export(queue, path));
    ck_assert_int_eq(status_of(path).st_mode & MODE, 0604);
    ck_assert(symlink(path, link) == 0 && truncate(path, 0) == 0);
    test_ok(husk_queue_profile_export(queue, link));
    ck_assert(S_ISLNK(status_of(link).st_mode));
    ck_assert_int_eq(status_of(path).st_size, size);
    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    const int reader = open(pipe, O_RDONLY | O_NONBLOCK);
    ck_assert_int_ge(reader, 0);
    test_ok(husk_queue_profile_export(queue, pipe));
    ck_assert(S_ISFIFO(status_of(pipe).st_mode));
    ck_assert_int_eq(read(reader, text, sizeof text), size);
    close(reader);
    ck_assert(unlink(path) == 0 && unlink(link) == 0 && unlink(pipe) == 0 && rmdir(folder) == 0); /* nothing else */
}
END_TEST

#if HUSK_WITH_JANSSON
START_TEST(the_trace_is_json_of_complete_events)
{
    char path[] = "/tmp/husk-trace-XXXXXX";
    const int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    /* An application's locale may write numbers with a comma. */
    const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    for (size_t i = 0; i < sizeof commas / sizeof *commas && !setlocale(LC_NUMERIC, commas[i]); i++)
        ;
    enqueue();
    test_ok(husk_queue_profile_export(queue, path));
    setlocale(LC_NUMERIC, "C");
    json_error_t error;
    json_t *trace = json_load_file(path, 0, &error);
    ck_assert_msg(trace != NULL, "%s, line %d", error.text, error.line);
    json_t *events = json_object_get(trace, "traceEvents");
    ck_assert_uint_eq(json_array_size(events), COMMANDS);
    double last = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        ck_assert_str_eq(json_string_value(json_object_get(event, "name")), names[i]);
        ck_assert_str_eq(json_string_value(json_object_get(event, "ph")), "X");
        const double start = json_number_value(json_object_get(event, "ts"));
        ck_assert(start >= last);
        ck_assert(json_number_value(json_object_get(event, "dur")) >= 0);
        last = start;
    }
    ck_assert(last > 0);
    json_decref(trace);
    unlink(path);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("profile");
    TCase *tests = tcase_create("profile");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, every_command_is_recorded_in_order);
    tcase_add_test(tests, many_commands_are_recorded);
    tcase_add_test(tests, a_queue_without_profiling_says_so);
    tcase_add_test(tests, bad_arguments_are_refused);
    tcase_add_test(tests, a_trace_replaces_nothing_but_files);
#if HUSK_WITH_JANSSON
    tcase_add_test(tests, the_trace_is_json_of_complete_events);
#endif
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
