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

json_t *bench_startup_json(const char *device, double max_time)
{
    char folder[256];
    json_t *startup = json_object();
    // The first one fills the caches where they have not been filled, the second is what a user sees.
    json_decref(ask_new_worker(device, NULL, json_pack("{s:s}", "do", "prewarm"), max_time));
    json_object_set_new(startup, "warm",
                        or_null(ask_new_worker(device, NULL, json_pack("{s:s}", "do", "prewarm"), max_time)));
    json_object_set_new(startup, "cold", json_null());
    if (make_folder(folder)) {
        json_object_set_new(startup, "cold",
                            or_null(ask_new_worker(device, folder, json_pack("{s:s}", "do", "prewarm"),
                                                   max_time)));
        remove_tree(folder, 0);
    }
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
