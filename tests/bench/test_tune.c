// SPDX-License-Identifier: MIT
// ctest: timeout=240 processors=2
// Tuning: the judge, the database, and the command as people call it, on kernels with planted mistakes, too.
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include <husk/husk.h>

#include "support/main.h"
#include "tune/database.h"
#include "tune/race.h"

// ---- the judge ----

static bench_race_verdict judge(size_t count, double low, double high)
{
    double ratios[24];
    for (size_t i = 0; i < count; i++)
        ratios[i] = i % 2 ? high : low;
    return bench_race_judge(ratios, count);
}

START_TEST(only_what_is_surely_faster_wins)
{
    ck_assert_int_eq(judge(3, 0.5, 0.5), BENCH_RACE_OPEN);
    ck_assert_int_eq(judge(5, 0.5, 0.5), BENCH_RACE_OPEN); // five rounds give no 95%
    ck_assert_int_eq(judge(6, 0.5, 0.6), BENCH_RACE_FASTER);
    ck_assert_int_eq(judge(6, 0.5, 0.98), BENCH_RACE_OPEN);
    ck_assert_int_eq(judge(20, 0.96, 0.965), BENCH_RACE_FASTER);
    ck_assert_int_eq(judge(20, 0.98, 0.985), BENCH_RACE_NOT_FASTER); // faster, but not by what counts
    ck_assert_int_eq(judge(4, 0.98, 1.2), BENCH_RACE_NOT_FASTER);
    ck_assert_int_eq(judge(20, 0.5, 1.5), BENCH_RACE_OPEN);
    double one_hiccup[] = {0.9, 0.91, 0.92, 5, 0.9, 0.91, 0.93, 0.9, 0.9};
    ck_assert_int_eq(bench_race_judge(one_hiccup, 9), BENCH_RACE_FASTER);
    ck_assert_int_eq(bench_race_judge(one_hiccup, 100), BENCH_RACE_OPEN); // more than it knows what to do with
}
END_TEST

// ---- the database ----

static char folder[] = "/tmp/husk-test-tune-XXXXXX";
static char path[200];

static void begin(void)
{
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a/b/database.json", folder);
}

static void end(void)
{
    char command[200];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static json_t *entry(const char *problem, const char *state, const char *variant, const char *measured, double ns)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:f, s:f}", "device", "d", "platform",
                     "p", "driver", "1", "family", "f", "op", "toy", "kernels", "k", "problem", problem, "class", "c",
                     "state", state, "variant", variant, "measured", measured, "median_ns", ns, "predicted_ns", 100.0);
}

static const char *variant_at(const json_t *entries, size_t i)
{
    return bench_entry_text(json_array_get(entries, i), "variant");
}

START_TEST(the_later_and_the_better_entry_stays)
{
    json_t *own = json_array(), *more = json_array();
    bench_database_put(own, entry("1", "tuned", "v:1", "2026-01-02", 50));
    bench_database_put(own, entry("2", "tuned", "v:2", "2026-01-02", 50));
    bench_database_put(own, entry("3", "tuned", "v:3", "2026-01-02", 50));
    json_array_append_new(more, entry("1", "kept", "v:older", "2026-01-01", 10));
    json_array_append_new(more, entry("2", "kept", "v:later", "2026-01-03", 99));
    json_array_append_new(more, entry("3", "tuned", "v:better", "2026-01-02", 40));
    json_array_append_new(more, entry("4", "tuned", "v:new", "2026-01-01", 50));
    json_array_append_new(more, entry("1", "wrong", "v:1", "2026-01-01", 0)); // beside what was measured
    json_array_append_new(more, entry("9", "wrong", "v:1", "2026-01-01", 0)); // said before
    json_array_append_new(more, json_string("no entry"));
    ck_assert_uint_eq(bench_database_merge(own, more), 4);
    ck_assert_uint_eq(json_array_size(own), 5);
    ck_assert_str_eq(variant_at(own, 0), "v:1");
    ck_assert_str_eq(variant_at(own, 1), "v:later");
    ck_assert_str_eq(variant_at(own, 2), "v:better");
    ck_assert_str_eq(variant_at(own, 3), "v:new");
    ck_assert_uint_eq(bench_database_merge(own, more), 0); // once is enough
    json_decref(own);
    json_decref(more);
}
END_TEST

START_TEST(what_was_written_is_read_again)
{
    char reason[BENCH_REASON_TEXT];
    bench_database database;
    bench_database_open(&database, path, reason); // nothing there is no fault
    ck_assert_str_eq(reason, "");
    bench_database_put(database.entries, entry("1", "tuned", "v:\"1\"\n", "2026-01-02", 50));
    ck_assert_msg(bench_database_save(&database, reason), "%s", reason);
    json_t *again = bench_database_read(path, reason);
    ck_assert_msg(again != NULL, "%s", reason);
    ck_assert(json_equal(again, database.entries));
    json_decref(again);

    truncate(path, 100);
    ck_assert_ptr_null(bench_database_read(path, reason));
    ck_assert_ptr_nonnull(strstr(reason, "is no tuning database"));
    bench_database_close(&database);
    bench_database_open(&database, path, reason);
    ck_assert_ptr_nonnull(strstr(reason, "is no tuning database"));
    ck_assert_uint_eq(json_array_size(database.entries), 0);
    bench_database_close(&database);
    unlink(path);

    json_t *none = json_array();
    ck_assert(!bench_database_write("/proc/nowhere/x.json", none, reason));
    ck_assert_ptr_nonnull(strstr(reason, "could not be written"));
    json_decref(none);
}
END_TEST

static void put_text(const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void expect_text(const char *name, const char *text)
{
    char is[200] = "";
    FILE *file = fopen(name, "r");
    ck_assert_msg(file != NULL, "%s is not there", name);
    is[fread(is, 1, sizeof is - 1, file)] = '\0';
    fclose(file);
    ck_assert_str_eq(is, text);
}

// An entry that is no object is nothing that the library would read, or jansson write. What a person has spoilt by hand
// is not lost, the second time neither.
START_TEST(a_damaged_database_is_kept_aside)
{
    static const char *const texts[] = {"{\"schema\": \"husk-tuning/1\", \"entries\": [{}, 1]}",
                                        "{\"schema\": \"husk-tuning/1\", \"entries\": [[]]}", "spoilt"};
    static const char *const names[] = {".refused", ".refused2", ".refused3"};
    static const char *const words[] = {"entry 1 is no object", "entry 0 is no object", "line 1: "};
    char reason[BENCH_REASON_TEXT], aside[320];
    json_t *none = json_array();
    ck_assert_msg(bench_database_write(path, none, reason), "%s", reason); // with the folders
    json_decref(none);
    for (int i = 0; i < 3; i++) {
        bench_database database;
        put_text(texts[i]);
        bench_database_open(&database, path, reason);
        ck_assert_msg(strstr(reason, "is no tuning database") && strstr(reason, words[i]), "%s", reason);
        expect_text(path, texts[i]); // reading changes nothing
        bench_database_put(database.entries, entry("1", "tuned", "v:1", "2026-01-02", 50));
        ck_assert_msg(bench_database_save(&database, reason), "%s", reason);
        bench_database_close(&database);
        json_t *again = bench_database_read(path, reason);
        ck_assert_msg(again && json_array_size(again) == 1, "%s", reason);
        json_decref(again);
    }
    for (int i = 0; i < 3; i++) {
        snprintf(aside, sizeof aside, "%s%s", path, names[i]);
        expect_text(aside, texts[i]);
        unlink(aside);
    }
    unlink(path);
}
END_TEST

// A name that is as long as names may be has no room for another's ending.
START_TEST(what_cannot_be_kept_aside_is_not_replaced)
{
    char reason[BENCH_REASON_TEXT], longest[600];
    bench_database database;
    json_t *none = json_array();
    ck_assert_msg(bench_database_write(path, none, reason), "%s", reason); // with the folders
    json_decref(none);
    unlink(path);
    const int length = (int)(strrchr(path, '/') - path);
    snprintf(longest, sizeof longest, "%.*s/%0248d", length, path, 7);
    FILE *file = fopen(longest, "w");
    ck_assert(file && fputs("spoilt", file) >= 0 && fclose(file) == 0);
    bench_database_open(&database, longest, reason);
    bench_database_put(database.entries, entry("1", "tuned", "v:1", "2026-01-02", 50));
    ck_assert(!bench_database_save(&database, reason));
    ck_assert_msg(strstr(reason, "cannot be kept aside"), "%s", reason);
    expect_text(longest, "spoilt");
    bench_database_close(&database);
    unlink(longest);
}
END_TEST

static void in_folder(const char *line)
{
    char command[1000];
    snprintf(command, sizeof command, "cd '%s' && { %s; }", folder, line);
    ck_assert_msg(system(command) == 0, "%s", line);
}

static void name_in_folder(char name[200], const char *file)
{
    snprintf(name, 200, "%s/%s", folder, file);
}

// A pipe is written to, a link stays one, and rights are those of the file that was there, or what the mask leaves.
START_TEST(what_is_exported_is_written_as_other_files_are)
{
    char reason[BENCH_REASON_TEXT], name[200];
    json_t *entries = json_array();
    json_array_append_new(entries, entry("1", "tuned", "v:1", "2026-01-02", 50));
    in_folder("mkfifo pipe; { timeout 60 cat pipe > read; mv read arrived; } > /dev/null 2>&1 & true");
    name_in_folder(name, "pipe");
    ck_assert_msg(bench_database_write(name, entries, reason), "%s", reason);
    in_folder("for i in $(seq 200); do [ ! -e arrived ] || break; sleep 0.05; done");
    in_folder("[ -p pipe ] && grep -q husk-tuning/1 arrived");

    in_folder("mkdir there; echo old > there/target; chmod 640 there/target; ln -s there/target soft");
    name_in_folder(name, "soft");
    ck_assert_msg(bench_database_write(name, entries, reason), "%s", reason);
    in_folder("[ -L soft ] && [ $(stat -c %a there/target) = 640 ] && grep -q husk-tuning/1 there/target");
    in_folder("[ $(ls there | wc -l) = 1 ]");

    const mode_t mask = umask(027);
    name_in_folder(name, "new/file.json");
    ck_assert_msg(bench_database_write(name, entries, reason), "%s", reason);
    umask(mask);
    in_folder("[ $(stat -c %a new/file.json) = 640 ]");
    json_decref(entries);
}
END_TEST

static bool save_as(const char *name, bool is_own, char reason[BENCH_REASON_TEXT])
{
    bench_database database = {.entries = json_array(), .is_own = is_own};
    snprintf(database.path, sizeof database.path, "%s", name);
    bench_database_put(database.entries, entry("1", "tuned", "v:1", "2026-01-02", 50));
    reason[0] = '\0';
    const bool good = bench_database_save(&database, reason);
    bench_database_close(&database);
    return good;
}

// What others may write to, and a link, are not read in the user's own folder.
START_TEST(the_users_own_database_is_one_that_is_read)
{
    char reason[BENCH_REASON_TEXT], name[200];
    const mode_t mask = umask(0);
    name_in_folder(name, "own.json");
    ck_assert_msg(save_as(name, true, reason), "%s", reason);
    in_folder("[ $(stat -c %a own.json) = 600 ] && chmod 664 own.json");
    ck_assert_msg(save_as(name, true, reason), "%s", reason);
    in_folder("[ $(stat -c %a own.json) = 644 ] && chmod 664 own.json");
    ck_assert_msg(save_as(name, false, reason), "%s", reason); // as HUSK_TUNING names it
    in_folder("[ $(stat -c %a own.json) = 664 ] && ln -s own.json soft.json");
    umask(mask);
    name_in_folder(name, "soft.json");
    ck_assert(!save_as(name, true, reason));
    ck_assert_msg(strstr(reason, "soft.json is a link, which the library does not read there"), "%s", reason);
}
END_TEST

// Through a link the file is replaced, and what was spoilt in it is kept beside the file.
START_TEST(a_database_behind_a_link_is_replaced_where_it_is)
{
    char reason[BENCH_REASON_TEXT], name[200];
    in_folder("mkdir there; printf spoilt > there/target.json; ln -s there/target.json soft.json");
    name_in_folder(name, "soft.json");
    for (int i = 0; i < 2; i++)
        ck_assert_msg(save_as(name, false, reason), "%s", reason);
    in_folder("[ -L soft.json ] && [ ! -L there/target.json ] && grep -q husk-tuning/1 there/target.json");
    in_folder("[ $(cat there/target.json.refused) = spoilt ] && [ $(ls there | wc -l) = 2 ] && [ ! -e *.refused ]");
}
END_TEST

START_TEST(what_is_no_plain_file_is_no_database)
{
    char reason[BENCH_REASON_TEXT], name[200];
    in_folder("mkfifo pipe; ln -s pipe soft");
    for (int i = 0; i < 2; i++) {
        name_in_folder(name, i ? "soft" : "pipe");
        ck_assert(!save_as(name, false, reason));
        ck_assert_msg(strstr(reason, "is no plain file, and cannot be a tuning database"), "%s", reason);
    }
    in_folder("[ -p pipe ] && [ -L soft ] && [ $(ls | wc -l) = 2 ]");
}
END_TEST

// Two processes tune different cases of a device: each writes the whole file.
START_TEST(what_another_has_written_stays)
{
    char reason[BENCH_REASON_TEXT];
    bench_database one, other;
    unlink(path);
    bench_database_open(&one, path, reason);
    bench_database_open(&other, path, reason);
    bench_database_put(one.entries, entry("1", "tuned", "v:1", "2026-01-02", 50));
    ck_assert_msg(bench_database_save(&one, reason), "%s", reason);
    bench_database_put(other.entries, entry("2", "tuned", "v:2", "2026-01-02", 50));
    ck_assert_msg(bench_database_save(&other, reason), "%s", reason);
    bench_database_put(one.entries, entry("1", "kept", "v:3", "2026-01-03", 50)); // a later one of the same
    ck_assert_msg(bench_database_save(&one, reason), "%s", reason);
    json_t *both = bench_database_read(path, reason);
    ck_assert_uint_eq(json_array_size(both), 2);
    ck_assert_str_eq(variant_at(both, 0), "v:3");
    ck_assert_str_eq(variant_at(both, 1), "v:2");
    json_decref(both);
    bench_database_close(&one);
    bench_database_close(&other);
}
END_TEST

START_TEST(only_what_differs_is_exported)
{
    json_t *own = json_array(), *key = entry("", "", "", "", 0);
    json_array_append_new(own, entry("1", "tuned", "v:1", "2026-01-02", 50));
    json_array_append_new(own, entry("2", "kept", "v:2", "2026-01-02", 50)); // of the same class: its veto counts
    json_array_append_new(own, entry("3", "kept", "v:3", "2026-01-02", 50));
    json_object_set_new(json_array_get(own, 2), "class", json_string("another"));
    json_array_append_new(own, entry("4", "tuned", "v:4", "2026-01-02", 50));
    json_object_set_new(json_array_get(own, 3), "device", json_string("another"));
    json_array_append_new(own, entry("5", "wrong", "v:5", "2026-01-02", 50));
    json_t *essence = bench_database_essence(own, key);
    ck_assert_uint_eq(json_array_size(essence), 3);
    ck_assert_str_eq(variant_at(essence, 1), "v:2");
    ck_assert_str_eq(variant_at(essence, 2), "v:5");
    json_decref(essence);
    json_decref(own);
    json_decref(key);
}
END_TEST

// ---- the command ----

static char output[1 << 16];
static char kernels[300]; // a folder, or "" for those that are compiled in

static int run(const char *arguments)
{
    char command[2048], from[400] = "";
    if (kernels[0])
        snprintf(from, sizeof from, "HUSK_KERNEL_DIR='%s'", kernels);
    // A crash ends the process by its signal, also where a sanitizer would answer it.
    snprintf(command, sizeof command,
             "{ ASAN_OPTIONS=\"$ASAN_OPTIONS:handle_segv=0\" TSAN_OPTIONS=\"$TSAN_OPTIONS:handle_segv=0\" "
             "HUSK_TUNING='%s' %s '%s' %s; } 2>&1 < /dev/null",
             path, from, HUSK_CLBENCH, arguments);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    size_t size = fread(output, 1, sizeof output - 1, pipe);
    output[size] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(const char *arguments, int code, const char *part)
{
    int got = run(arguments);
    ck_assert_msg(got == code, "clbench %s: exit code %d instead of %d\n%.3000s", arguments, got, code, output);
    ck_assert_msg(strstr(output, part) != NULL, "clbench %s: '%s' is not in\n%.3000s", arguments, part, output);
}

static json_t *read_entries(void)
{
    char reason[BENCH_REASON_TEXT];
    json_t *entries = bench_database_read(path, reason);
    ck_assert_msg(entries != NULL, "%s\n%.2000s", reason, output);
    return entries;
}

static bool is_pocl(void)
{
    husk_device_list *list;
    const husk_device *device;
    if (husk_device_list_create(&list, NULL) != HUSK_OK)
        return false;
    bool is = husk_device_list_select(list, NULL, &device, NULL) == HUSK_OK &&
              strstr(husk_device_get_traits(device)->platform_name, "Portable") != NULL;
    husk_device_list_release(list);
    return is;
}

// What may be any operator is one with few candidates: each of them is a program to build.
#define SOFTMAX "softmax outer=60 axis=50"
#define POOL "pool c=64 h=112 w=112 r=3 s=3 stride=2 pad=1"

START_TEST(a_case_is_tuned_once_and_shown)
{
    char reason[BENCH_REASON_TEXT];
    kernels[0] = '\0';
    expect("tune --budget 0 " SOFTMAX, 0, "1 of 1 cases");
    json_t *entries = read_entries();
    ck_assert_uint_eq(json_array_size(entries), 1);
    ck_assert_str_eq(bench_entry_text(json_array_get(entries, 0), "case"), SOFTMAX);
    ck_assert_str_eq(bench_entry_text(json_array_get(entries, 0), "op"), "softmax");
    json_decref(entries);
    expect("tune " SOFTMAX, 0, "1 were known");
    expect("tune --show", 0, SOFTMAX);
    expect("tune --list " SOFTMAX, 0, SOFTMAX);

    char exported[300], arguments[900];
    snprintf(exported, sizeof exported, "%s/exported.json", folder);
    entries = read_entries();
    json_object_set_new(json_array_get(entries, 0), "state", json_string("tuned"));
    ck_assert(bench_database_write(path, entries, reason));
    snprintf(arguments, sizeof arguments, "tune --export %s", exported);
    expect(arguments, 0, "1 entries");
    unlink(path);
    snprintf(arguments, sizeof arguments, "tune --merge %s %s", exported, exported);
    expect(arguments, 0, "1 of 1 entries taken over");
    ck_assert_ptr_nonnull(strstr(output, "0 of 1 entries taken over"));
    json_t *again = read_entries();
    ck_assert(json_equal(again, entries));
    json_decref(again);
    json_decref(entries);
    expect("tune --export - 2> /dev/null", 0, "\"schema\": \"husk-tuning/1\"");
    expect("tune --export /dev/fd/1 2> /dev/null", 0, "\"schema\": \"husk-tuning/1\"");
    ck_assert_ptr_null(strstr(output, "entries\n")); // nothing but the document
    snprintf(arguments, sizeof arguments, "tune --export %s", path);
    expect(arguments, 2, "is the database itself");
    unlink(exported);
    ck_assert_int_eq(link(path, exported), 0);
    snprintf(arguments, sizeof arguments, "tune --export %s", exported);
    expect(arguments, 2, "is read, and would be lost if it were written");
    snprintf(arguments, sizeof arguments, "tune --export %s/nowhere/x.json " SOFTMAX, folder);
    expect(arguments, 1, "nowhere/x.json cannot be written: No such file or directory");
    ck_assert_ptr_null(strstr(output, "were known")); // it is said before anything is tuned
    expect("tune --merge /nonexistent.json", 2, "clbench: /nonexistent.json: No such file or directory");
    expect("tune --merge /", 2, "clbench: /: Is a directory");
    expect("tune --merge /dev/null", 2, "/dev/null is no tuning database");
    expect("tune --bugdet 5s", 2, "'--budget'");
    expect("tune gemn m=1 n=1 k=1", 2, "'gemm'");
    expect("tune -d no-such-device " SOFTMAX, 6, "there is");
}
END_TEST

// Said before a device is opened, and what is there stays what it is.
START_TEST(a_pipe_is_refused_as_the_database_before_anything_is_done)
{
    kernels[0] = '\0';
    in_folder("mkfifo pipe");
    name_in_folder(path, "pipe");
    expect("tune --budget 0 " SOFTMAX, 2, "pipe is no plain file, and cannot be a tuning database");
    ck_assert_ptr_nonnull(strstr(output, "clbench: HUSK_TUNING: "));
    expect("tune --show", 2, "is no plain file");
    in_folder("[ -p pipe ] && [ $(ls | wc -l) = 1 ]");
    // In a folder that it names, the device's file.
    in_folder("rm pipe");
    snprintf(path, sizeof path, "%s", folder);
    expect("tune --budget 0 " SOFTMAX, 0, "1 of 1 cases");
    in_folder("name=$(ls); rm \"$name\"; mkfifo \"$name\"");
    expect("tune --budget 0 " SOFTMAX, 2, "is no plain file");
    in_folder("[ -p \"$(ls)\" ]");
}
END_TEST

// The gemm within it is no variant of attention's.
START_TEST(what_several_operators_compute_has_nothing_to_choose)
{
    kernels[0] = '\0';
    expect("tune --budget 0 attention heads=2 length=40 d=32 form=composed", 0, "nothing to choose");
    ck_assert_ptr_nonnull(strstr(output, "; 1 have nothing to choose."));
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

START_TEST(a_run_shows_what_was_tuned)
{
    char reason[BENCH_REASON_TEXT], arguments[900], result[300];
    kernels[0] = '\0';
    snprintf(result, sizeof result, "%s/result.json", folder);
    snprintf(arguments, sizeof arguments, "run --quick --baseline none --json %s " POOL, result);
    expect("tune --budget 0 " POOL, 0, "1 of 1 cases");
    json_t *entries = read_entries(), *first = json_array_get(entries, 0);
    json_object_set_new(first, "state", json_string("tuned"));
    json_object_set_new(first, "variant", json_string("window:1"));
    ck_assert(bench_database_write(path, entries, reason));
    for (int pass = 0; pass < 2; pass++) {
        expect(arguments, 0, POOL);
        json_t *document = json_load_file(result, 0, NULL);
        const json_t *row = json_array_get(json_object_get(document, "results"), 0);
        ck_assert_str_eq(bench_entry_text(row, "choice"), pass == 0 ? "tuned" : "predicted");
        ck_assert_int_eq(!strcmp(bench_entry_text(row, "variant"), "window"), pass == 0);
        json_decref(document);
        json_object_set_new(first, "kernels", json_string("others"));
        ck_assert(bench_database_write(path, entries, reason));
    }
    json_decref(entries);
}
END_TEST

// The library's kernels with a line at the head of one of pool's.
static void plant_in(const char *variant, const char *line)
{
    char command[1000], file[400];
    snprintf(kernels, sizeof kernels, "%s/cl", folder);
    snprintf(command, sizeof command, "rm -rf '%s' && cp -r '%s/cl' '%s'", kernels, HUSK_SOURCE_DIR, kernels);
    ck_assert_int_eq(system(command), 0);
    snprintf(file, sizeof file, "%s/pool/%s.cl", kernels, variant);
    FILE *stream = fopen(file, "r");
    ck_assert_ptr_nonnull(stream);
    static char text[1 << 17];
    size_t size = fread(text, 1, sizeof text - 1, stream);
    text[size] = '\0';
    fclose(stream);
    char name[60];
    snprintf(name, sizeof name, "void husk_pool_%s_max(", variant);
    char *at = strstr(text, name);
    ck_assert_ptr_nonnull(at);
    at = strstr(at, "\n{\n");
    ck_assert_ptr_nonnull(at);
    stream = fopen(file, "w");
    fwrite(text, 1, (size_t)(at - text) + 3, stream);
    fputs(line, stream);
    fputs(at + 3, stream);
    fclose(stream);
}

static void plant(const char *line)
{
    plant_in("window", line);
}

START_TEST(a_faster_candidate_wins_and_is_taken)
{
    char result[300], arguments[600];
    if (!is_pocl())
        return;
    // What is predicted for planes that lie one after the other wastes some fifty milliseconds.
    plant_in("planes", "    volatile int wasted = 0;\n    while (wasted < 20000000)\n        ++wasted;\n");
    expect("tune --budget 0 " POOL, 0, "instead of planes:");
    ck_assert_ptr_nonnull(strstr(output, "1 with a faster variant than predicted"));
    snprintf(result, sizeof result, "%s/result.json", folder);
    snprintf(arguments, sizeof arguments, "run --quick --baseline none --json %s " POOL, result);
    expect(arguments, 0, "right");
    json_t *document = json_load_file(result, 0, NULL);
    const json_t *row = json_array_get(json_object_get(document, "results"), 0);
    ck_assert_str_eq(bench_entry_text(row, "choice"), "tuned");
    ck_assert_str_eq(bench_entry_text(row, "variant"), "window");
    json_decref(document);
    kernels[0] = '\0'; // other kernels: the entry is not for them
    expect(arguments, 0, "right");
    document = json_load_file(result, 0, NULL);
    row = json_array_get(json_object_get(document, "results"), 0);
    ck_assert_str_eq(bench_entry_text(row, "choice"), "predicted");
    json_decref(document);
}
END_TEST

START_TEST(a_wrong_candidate_is_never_chosen)
{
    if (!is_pocl())
        return;
    plant("    return;\n"); // very fast
    expect("tune --budget 0 " POOL, 3, "wrong");
    ck_assert_ptr_nonnull(strstr(output, "clbench verify " POOL " --variant window:"));
    json_t *entries = read_entries();
    ck_assert_uint_eq(json_array_size(entries), 2);
    for (size_t i = 0; i < 2; i++) {
        bool is_wrong = !strcmp(bench_entry_text(json_array_get(entries, i), "state"), "wrong");
        ck_assert_int_eq(!strncmp(variant_at(entries, i), "window:", 7), is_wrong);
    }
    json_decref(entries);
    expect("run --quick --baseline none " POOL, 0, "right");
    expect("tune --again --budget 0 " POOL, 0, "stands (0 tried)"); // remembered
    expect("tune --show", 0, "computed a wrong result");
}
END_TEST

START_TEST(a_crash_or_a_hang_costs_one_candidate)
{
    if (!is_pocl())
        return;
    plant("    *(volatile __global int *)8 = 1;\n");
    expect("tune --budget 0 " POOL, 1, "the driver or Husk crashed: SIGSEGV");
    ck_assert_ptr_nonnull(strstr(output, "1 of 1 cases"));
    unlink(path);
    plant("    volatile int i = 1;\n    while (i)\n        i = 1;\n");
    expect("tune --budget 0 --max-time 12s " POOL, 124, "no answer within");
    ck_assert_ptr_nonnull(strstr(output, "1 of 1 cases"));
}
END_TEST

static bool has_entry_of(const char *case_line)
{
    json_t *entries = access(path, F_OK) == 0 ? read_entries() : json_array();
    bool found = false;
    for (size_t i = 0; i < json_array_size(entries); i++)
        found = found || !strcmp(bench_entry_text(json_array_get(entries, i), "case"), case_line);
    json_decref(entries);
    return found;
}

// What hangs is told, also where the budget leaves it less than --max-time, and does not hold up the cases behind it.
START_TEST(a_hang_does_not_take_the_budget)
{
    if (!is_pocl())
        return;
    // In its second run: the output's first element is no number before the first one.
    plant("    const volatile __global data_t *before = y_base;\n"
          "    while (get_global_id(0) == 0 && before[0] == before[0])\n        ;\n");
    expect("tune --budget 5s --max-time 15s " POOL " " SOFTMAX, 124, "failed  window:");
    ck_assert_ptr_nonnull(strstr(output, "no answer within 15 s while being measured"));
    ck_assert_ptr_nonnull(strstr(output, "clbench verify " POOL " --variant window:"));
    run("tune --budget 5s --max-time 15s " POOL " " SOFTMAX); // on a slow machine the first one may not get there
    ck_assert_msg(has_entry_of(SOFTMAX), "%.3000s", output);
}
END_TEST

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

START_TEST(the_budget_is_kept)
{
    kernels[0] = '\0';
    double start = now();
    expect("tune --suite smoke --budget 1s", 0, "the same command goes on with them");
    ck_assert_msg(now() - start < 30, "%.1f s\n%.2000s", now() - start, output);
}
END_TEST

// Kill it as soon as there is something in the file.
static void interrupt_with(int signal_number)
{
    pid_t pid = fork();
    if (pid == 0) {
        setenv("HUSK_TUNING", path, 1);
        execl(HUSK_CLBENCH, "clbench", "tune", "-q", "--budget", "0", "softmax", "outer=60", "axis=50", "softmax",
              "outer=64", "axis=500", "softmax", "outer=600", "axis=5000", "activation", "count=1000000", (char *)NULL);
        _exit(127);
    }
    double start = now();
    while (access(path, F_OK) != 0 && now() - start < 100)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    int status = 0;
    kill(pid, signal_number);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (signal_number == SIGINT)
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 130);
    json_t *entries = read_entries();
    ck_assert_uint_ge(json_array_size(entries), 1);
    json_decref(entries);
    unlink(path);
}

START_TEST(an_interruption_keeps_what_was_found)
{
    interrupt_with(SIGINT);
    interrupt_with(SIGTERM);
    interrupt_with(SIGKILL);
}
END_TEST

START_TEST(a_damaged_file_gives_way)
{
    kernels[0] = '\0';
    char directory[300], *slash;
    snprintf(directory, sizeof directory, "mkdir -p '%s", path);
    slash = strrchr(directory, '/');
    strcpy(slash, "'");
    ck_assert_int_eq(system(directory), 0);
    FILE *file = fopen(path, "w");
    fputs("{\"schema\": \"husk-tuning/1\", \"entr", file);
    fclose(file);
    expect("run --quick --baseline none " SOFTMAX, 0, "right");
    ck_assert_ptr_nonnull(strstr(output, "is left out"));
    expect("tune --budget 0 " SOFTMAX, 0, "a new one takes its place");
    ck_assert_ptr_nonnull(strstr(output, "what was there is kept as"));
    json_decref(read_entries());
}
END_TEST

// Every candidate with its two times, a table at the end, and nothing kept.
START_TEST(predictions_stand_beside_measurements)
{
    expect("tune --predictions 'softmax outer=64 axis=64'", 0, "chosen rows:1");
    ck_assert_ptr_nonnull(strstr(output, "of the best"));
    ck_assert_ptr_nonnull(strstr(output, "within 10%"));
    expect("tune --predictions --kernels nothing.txt", 2, "predictions");
    expect("tune --show", 0, "nothing yet");
}
END_TEST

// In the tests' own data folder.
START_TEST(calibrating_measures)
{
    expect("calibrate", 0, "measured: ");
    expect("calibrate --json", 0, "\"wake_ns\"");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tune");
    TCase *tests = tcase_create("tune");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_set_timeout(tests, 240);
    tcase_add_test(tests, only_what_is_surely_faster_wins);
    tcase_add_test(tests, the_later_and_the_better_entry_stays);
    tcase_add_test(tests, what_was_written_is_read_again);
    tcase_add_test(tests, a_damaged_database_is_kept_aside);
    tcase_add_test(tests, what_cannot_be_kept_aside_is_not_replaced);
    tcase_add_test(tests, what_is_exported_is_written_as_other_files_are);
    tcase_add_test(tests, the_users_own_database_is_one_that_is_read);
    tcase_add_test(tests, a_database_behind_a_link_is_replaced_where_it_is);
    tcase_add_test(tests, what_is_no_plain_file_is_no_database);
    tcase_add_test(tests, what_another_has_written_stays);
    tcase_add_test(tests, only_what_differs_is_exported);
    tcase_add_test(tests, a_case_is_tuned_once_and_shown);
    tcase_add_test(tests, a_pipe_is_refused_as_the_database_before_anything_is_done);
    tcase_add_test(tests, what_several_operators_compute_has_nothing_to_choose);
    tcase_add_test(tests, a_run_shows_what_was_tuned);
    tcase_add_test(tests, a_faster_candidate_wins_and_is_taken);
    tcase_add_test(tests, a_wrong_candidate_is_never_chosen);
    tcase_add_test(tests, a_crash_or_a_hang_costs_one_candidate);
    tcase_add_test(tests, a_hang_does_not_take_the_budget);
    tcase_add_test(tests, the_budget_is_kept);
    tcase_add_test(tests, an_interruption_keeps_what_was_found);
    tcase_add_test(tests, a_damaged_file_gives_way);
    tcase_add_test(tests, predictions_stand_beside_measurements);
    tcase_add_test(tests, calibrating_measures);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
