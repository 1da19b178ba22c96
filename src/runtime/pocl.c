// SPDX-License-Identifier: MIT
// What PoCL needs of the process and of the machine, and does not ask for. Where its folder cannot be made it lists no
// device and does not say why (its issues #289, #325, #1887): a service's user without a home, or a container whose
// disk is read-only, meets that. Where there is no room in the folder, or on its threads' stacks (#1525), it ends the
// process, so that both are looked at before.
#include "runtime/pocl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "os/environment.h"
#include "os/folder.h"
#include "os/thread.h"

static const char pocl[] = "Portable Computing Language";

bool husk__is_pocl(const husk_device_traits *traits)
{
    return husk__contains_ignoring_case(traits->platform_name, pocl);
}

// A kernel that ends the process cannot be tried, so this one fault is known by its version: "6.0+debian".
bool husk__breaks_on_assembly(const husk_device_traits *traits)
{
    const long major = strtol(traits->driver_version, NULL, 10);
    return major >= 4 && major <= 6 && husk__is_pocl(traits);
}

// Tried: 3.1 and 6.0 do. 7.1 inlines them, and LLVM ends the process. 4 and 5 were not at hand.
bool husk__keeps_functions(const husk_device_traits *traits)
{
    const long major = strtol(traits->driver_version, NULL, 10);
    return (major == 3 || major == 6) && husk__is_pocl(traits);
}

// ---- its folder ----

// As PoCL looks for it (pocl_cache_init_topdir), versions 3 to 7; source is the variable that names it.
static char *find_folder(const char **source)
{
    static const struct {
        const char *variable, *below;
    } places[] = {{"POCL_CACHE_DIR", ""}, {"XDG_CACHE_HOME", "/pocl/kcache"}, {"HOME", "/.cache/pocl/kcache"}};
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

char *husk__explain_no_device(const char *platform_name, bool *lacks_memory)
{
    const char *source;
    husk__text text = {0};
    if (!husk__contains_ignoring_case(platform_name, pocl))
        return NULL;
    char *folder = find_folder(&source), *tried = folder ? husk__copy_string(folder) : NULL;
    const int error = tried ? husk__try_folder(tried) : 0;
    if (error)
        husk__text_format(&text,
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

// LLVM ends the process where a file of it cannot be written. A kernel takes less than a megabyte, and several
// processes may be at it.
husk_status husk__refuse_full_folder(const husk_device_traits *traits, const husk__scope *scope)
{
    enum { ASKED_MIB = 16 };
    const char *source;
    uint64_t bytes = 0;
    if (!husk__is_pocl(traits))
        return HUSK_OK;
    char *folder = find_folder(&source), *tried = folder ? husk__copy_string(folder) : NULL;
    husk_status status = HUSK_OK;
    if (!tried)
        status = husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the name of PoCL's folder");
    else if (husk__try_folder(tried) == 0 && husk__free_bytes(tried, &bytes) && bytes < (uint64_t)ASKED_MIB << 20)
        status = husk__fail(scope, HUSK_IO,
                            "PoCL writes what it compiles to %s, which %s names, and ends the process where that "
                            "fails: %" PRIu64 " KiB are free there, and %d MiB are asked for. Make room, or set "
                            "POCL_CACHE_DIR to another folder",
                            folder, source ? source : "its own default", bytes >> 10, ASKED_MIB);
    free(folder);
    free(tried);
    return status;
}

// ---- its threads ----

// Its threads have the stack that the system gives to any thread, and what a work-group keeps over a barrier lies on
// it. With 512 KiB (AVX-512, PoCL 3.1) one configuration of thirty ends the process, with 128 some are wrong; all are
// right with 1024.
husk_status husk__refuse_small_stacks(const husk_device_traits *traits, const husk__scope *scope)
{
    enum { ASKED_KIB = 1024 };
    const size_t bytes = husk__thread_stack_bytes();
    if (!husk__is_pocl(traits) || traits->device_class != HUSK_DEVICE_CPU || bytes == 0 ||
        bytes >= (size_t)ASKED_KIB << 10)
        return HUSK_OK;
    return husk__fail(scope, HUSK_UNSUPPORTED,
                      "PoCL's threads have stacks of %zu KiB, as any thread of this process, and its kernels need "
                      "%d, or end the process: raise the limit before it starts (ulimit -s 8192), or the default "
                      "before it first calls OpenCL (pthread_setattr_default_np)",
                      bytes >> 10, ASKED_KIB);
}
