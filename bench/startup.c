// SPDX-License-Identifier: MIT
#include "startup.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contestant.h"

static void remove_tree(const char *path, int depth)
{
    DIR *folder = depth < 16 ? opendir(path) : NULL;
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        char child[4096];
        struct stat about;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        snprintf(child, sizeof child, "%.3500s/%.500s", path, entry->d_name);
        if (!lstat(child, &about) && S_ISDIR(about.st_mode))
            remove_tree(child, depth + 1);
        else
            unlink(child);
    }
    if (folder)
        closedir(folder);
    rmdir(path);
}

static bool make_folder(char path[256])
{
    const char *parent = getenv("TMPDIR");
    snprintf(path, 256, "%.200s/clbench-XXXXXX", parent && *parent ? parent : "/tmp");
    return mkdtemp(path) != NULL;
}

// One request to a new worker whose caches lie in folder (NULL: where they always lie).
static json_t *ask_new_worker(const char *device, const char *folder, json_t *request, double max_time)
{
    bench_contestant c;
    char reason[BENCH_REASON_TEXT];
    json_t *reply = NULL;
    const char *const environment[] = {
        "XDG_CACHE_HOME", folder, "POCL_CACHE_DIR", folder, "CUDA_CACHE_PATH", folder, NULL,
    };
    if (bench_contestant_start(&c, "husk", device, 1, folder ? environment : NULL) &&
        bench_contestant_await(&c, 60))
        bench_process_call(&c.process, json_incref(request), max_time, &reply, reason);
    json_decref(request);
    bench_contestant_stop(&c);
    const char *answer = json_string_value(json_object_get(reply, "answer"));
    if (answer && !strcmp(answer, "ok"))
        return reply;
    json_decref(reply);
    return NULL;
}

static json_t *or_null(json_t *value)
{
    return value ? value : json_null();
}

// A program's first result, context included: {gemm_ns, conv_ns}, each in a new process.
static json_t *first_results(const char *device, const char *const folders[2], double max_time)
{
    static const char *const cases[2][2] = {
        {"gemm_ns", "gemm m=256 n=256 k=256"},
        {"conv_ns", "conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1"},
    };
    json_t *firsts = json_object();
    for (int i = 0; i < 2; i++) {
        json_t *reply = ask_new_worker(device, folders[i],
                                       json_pack("{s:s, s:s}", "do", "first", "case", cases[i][1]), max_time);
        json_t *ns = json_object_get(reply, "first_ns");
        json_object_set_new(firsts, cases[i][0], ns ? json_incref(ns) : json_null());
        json_decref(reply);
    }
    return firsts;
}

static json_t *start_of(const char *device, const char *folder, double max_time)
{
    return or_null(ask_new_worker(device, folder, json_pack("{s:s}", "do", "prewarm"), max_time));
}

json_t *bench_startup_json(const char *device, double max_time)
{
    char folders[3][256];
    const char *const as_they_are[2] = {NULL, NULL}, *const empty[2] = {folders[1], folders[2]};
    json_t *startup = json_object();
    bool made[3] = {make_folder(folders[0]), make_folder(folders[1]), make_folder(folders[2])};
    // The first ones fill the caches where they have not been filled, the second are what a user sees.
    json_decref(start_of(device, NULL, max_time));
    json_decref(first_results(device, as_they_are, max_time));
    json_t *warm = start_of(device, NULL, max_time), *cold = json_null();
    if (made[0] && made[1] && made[2])
        cold = start_of(device, folders[0], max_time);
    if (json_is_object(warm))
        json_object_set_new(warm, "first", first_results(device, as_they_are, max_time));
    if (json_is_object(cold))
        json_object_set_new(cold, "first", first_results(device, empty, max_time));
    json_object_set_new(startup, "warm", warm);
    json_object_set_new(startup, "cold", cold);
    for (int i = 0; i < 3; i++)
        if (made[i])
            remove_tree(folders[i], 0);
    return startup;
}

static json_t *first_call(const char *device, const char *folder, const char *case_line, double max_time)
{
    json_t *reply =
        ask_new_worker(device, folder,
                       json_pack("{s:s, s:s, s:i}", "do", "prepare", "case", case_line, "slot", 0), max_time);
    json_t *ns = NULL;
    if (reply)
        ns = json_integer(json_integer_value(json_object_get(reply, "prepare_ns")) +
                          json_integer_value(json_object_get(reply, "first_ns")));
    json_decref(reply);
    return or_null(ns);
}

json_t *bench_first_call_json(const char *device, const char *case_line, double max_time)
{
    char folder[256];
    json_t *compile = json_object();
    if (!make_folder(folder))
        return compile;
    json_object_set_new(compile, "cold_ns", first_call(device, folder, case_line, max_time));
    json_object_set_new(compile, "cached_ns", first_call(device, folder, case_line, max_time));
    remove_tree(folder, 0);
    return compile;
}
