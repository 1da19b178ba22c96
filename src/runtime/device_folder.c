// SPDX-License-Identifier: MIT
// The folder in which PoCL keeps what it has compiled: where it cannot be made, PoCL lists no device and does not say
// why (its issues #289, #325, #1887). A service's user without a home, or a container whose disk is read-only, meets
// that.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "base/text.h"
#include "runtime/internal.h"

// As PoCL looks for it (pocl_cache_init_topdir), versions 3 to 7; source is the variable that names it.
static char *find_folder(const char **source)
{
    static const struct {
        const char *variable, *below;
    } places[] = {{"POCL_CACHE_DIR", ""},
                  {"XDG_CACHE_HOME", "/pocl/kcache"},
                  {"HOME", "/.cache/pocl/kcache"}};
    husk__text path = {0};
    *source = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !*source; ++i) {
        const char *base = husk__environment(places[i].variable);
        if (!base)
            continue;
        *source = places[i].variable;
        husk__text_format(&path, "%s%s", base, places[i].below);
    }
    if (!*source)
        husk__text_format(&path, "/tmp/pocl/kcache");
    if (path.failed)
        husk__text_free(&path);
    return path.bytes;
}

// 0 where the folder is there and may be written to, or may be made in the nearest one above that is there; else errno,
// and the path is cut to that one.
static int try_folder(char *path)
{
    struct stat status;
    while (stat(path, &status) != 0) {
        char *slash = strrchr(path, '/');
        if (errno != ENOENT && errno != ENOTDIR)
            return errno;
        if (!slash || slash == path) // below the root, or the current folder
            strcpy(path, slash ? "/" : ".");
        else
            *slash = 0;
    }
    if (!S_ISDIR(status.st_mode))
        return ENOTDIR;
    return access(path, W_OK | X_OK) == 0 ? 0 : errno;
}

char *husk__explain_no_device(const char *platform_name, bool *lacks_memory)
{
    const char *source;
    husk__text text = {0};
    if (!husk__contains_ignoring_case(platform_name, "Portable Computing Language"))
        return NULL;
    char *folder = find_folder(&source), *tried = folder ? husk__copy_string(folder) : NULL;
    const int error = tried ? try_folder(tried) : 0;
    if (error)
        husk__text_format(
            &text,
            "PoCL needs a folder for what it compiles and cannot make %s, which %s names: %s: %s. Set "
            "POCL_CACHE_DIR to a folder that this user may write to",
            folder, source ? source : "its own default", tried, strerror(error));
    *lacks_memory |= !tried || text.failed;
    if (text.failed)
        husk__text_free(&text);
    free(folder);
    free(tried);
    return text.bytes;
}
