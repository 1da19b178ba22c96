// SPDX-License-Identifier: MIT
// The list of platforms and devices, and the choice among them.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "os/environment.h"
#include "runtime/internal.h"

const char *husk_device_class_text(husk_device_class device_class)
{
    switch (device_class) {
    case HUSK_DEVICE_CPU:
        return "CPU";
    case HUSK_DEVICE_GPU_INTEGRATED:
        return "integrated GPU";
    case HUSK_DEVICE_GPU_DISCRETE:
        return "discrete GPU";
    case HUSK_DEVICE_ACCELERATOR:
        return "accelerator";
    case HUSK_DEVICE_SIMULATOR:
        return "simulator";
    }
    return "unknown";
}

bool husk__device_list_add_note(husk_device_list *list, husk_note_kind kind, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    husk__note *notes = realloc(list->notes, (list->note_count + 1) * sizeof *notes);
    list->notes = notes ? notes : list->notes;
    char *copy = notes ? husk__copy_string(text) : NULL;
    if (!copy) {
        list->lacks_memory = true;
        return false;
    }
    notes[list->note_count++] = (husk__note){kind, copy};
    return true;
}

// ---- the list ----

static husk_device_list *create_list(void)
{
    husk_device_list *list = calloc(1, sizeof *list);
    if (list)
        atomic_init(&list->references, 1);
    return list;
}

void husk__device_list_retain(husk_device_list *list)
{
    atomic_fetch_add(&list->references, 1);
}

static void free_texts(husk_device *device)
{
    for (size_t s = 0; s < sizeof device->strings / sizeof *device->strings; ++s)
        free(device->strings[s]);
}

void husk_device_list_release(husk_device_list *list)
{
    if (!list || atomic_fetch_sub(&list->references, 1) != 1)
        return;
    for (size_t i = 0; i < list->count; ++i)
        free_texts(&list->devices[i]);
    for (size_t i = 0; i < list->note_count; ++i)
        free(list->notes[i].text);
    free(list->devices);
    free(list->notes);
    free(list);
}

// False, and the list as it was, where there was no memory or the device did not answer: then failed has the call.
static bool append_device(husk_device_list *list, cl_platform_id platform, cl_device_id id,
                          husk__unanswered *failed)
{
    *failed = (husk__unanswered){0};
    husk_device *devices = realloc(list->devices, (list->count + 1) * sizeof *devices);
    if (!devices)
        return false;
    list->devices = devices;
    husk_device *device = &devices[list->count];
    memset(device, 0, sizeof *device);
    device->list = list;
    device->platform = platform;
    device->id = id;
    const bool is_read = husk__device_read(device, failed);
    if (is_read)
        list->count++;
    else
        free_texts(device);
    return is_read;
}

static husk_status lacks_memory(const husk__scope *scope)
{
    return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the list");
}

// A device that does not answer is left out, and a note says so.
static husk_status list_device(husk_device_list *list, cl_platform_id platform, cl_device_id id,
                               uint32_t platform_index, uint32_t device_index, const husk__scope *scope)
{
    husk__unanswered failed;
    if (append_device(list, platform, id, &failed)) {
        husk_device_traits *traits = &list->devices[list->count - 1].traits;
        traits->platform_index = platform_index;
        traits->device_index = device_index;
        return HUSK_OK;
    }
    if (failed.code == CL_SUCCESS)
        return lacks_memory(scope);
    if (failed.code == CL_OUT_OF_HOST_MEMORY)
        return husk__opencl_failed(NULL, scope, failed.function, failed.code);
    husk__device_list_add_note(list, HUSK_NOTE_WARNING,
                               "device %u of platform %u is left out: %s failed (%s)", (unsigned)device_index,
                               (unsigned)platform_index, failed.function, husk__opencl_name(failed.code));
    return HUSK_OK;
}

static husk_status list_platform(husk_device_list *list, cl_platform_id platform, uint32_t index,
                                 const husk__scope *scope)
{
    cl_uint count = 0;
    cl_int code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count);
    if (code != CL_SUCCESS || count == 0) {
        husk__unanswered failed; // its name is missing then
        char *name = husk__platform_name(platform, &failed);
        char *why = husk__explain_no_device(name ? name : "", &list->lacks_memory);
        const bool is_plain = !why && (code == CL_SUCCESS || code == CL_DEVICE_NOT_FOUND);
        husk__device_list_add_note(list, is_plain ? HUSK_NOTE_INFORMATION : HUSK_NOTE_WARNING,
                                   "platform %u, %s, has no device (%s)%s%s", (unsigned)index,
                                   name ? name : "", husk__opencl_name(code), why ? ": " : "",
                                   why ? why : "");
        free(why);
        free(name);
        return HUSK_OK;
    }
    cl_device_id *ids = calloc(count, sizeof *ids);
    if (!ids)
        return lacks_memory(scope);
    code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids, NULL);
    if (code != CL_SUCCESS)
        husk__device_list_add_note(list, HUSK_NOTE_WARNING, "platform %u does not list its devices (%s)",
                                   (unsigned)index, husk__opencl_name(code));
    husk_status status = HUSK_OK;
    for (cl_uint d = 0; status == HUSK_OK && code == CL_SUCCESS && d < count; ++d)
        status = list_device(list, platform, ids[d], index, d, scope);
    free(ids);
    return status;
}

// AMD's driver leaves the domain out of its answer: in virtual machines that have one for each card all of a platform's
// may say the same.
static bool is_same_card(const husk_device_traits *a, const husk_device_traits *b)
{
    return a->pci_address[0] && strcmp(a->pci_address, b->pci_address) == 0 &&
           (a->platform_index != b->platform_index || strstr(a->extensions, "cl_khr_pci_bus_info"));
}

// The same card under two platforms: said, so that nobody counts it twice.
static void note_duplicates(husk_device_list *list)
{
    for (size_t i = 0; i < list->count; ++i)
        for (size_t j = i + 1; j < list->count; ++j) {
            const husk_device_traits *a = &list->devices[i].traits, *b = &list->devices[j].traits;
            if (is_same_card(a, b))
                husk__device_list_add_note(list, HUSK_NOTE_INFORMATION,
                                           "%u:%u and %u:%u are the same card, at PCI address %s",
                                           (unsigned)a->platform_index, (unsigned)a->device_index,
                                           (unsigned)b->platform_index, (unsigned)b->device_index,
                                           a->pci_address);
        }
}

// What the list's notes would have said stands in the text: a platform that is there but broken, a GPU.
static husk_status no_platform(const husk__scope *scope)
{
    husk__text text = {0};
    husk_device_list *list = create_list();
    if (list)
        husk__device_list_examine_system(list);
    for (size_t i = 0; list && i < list->note_count; ++i)
        husk__text_format(&text, "\n  %s", list->notes[i].text);
    husk_device_list_release(list);
    husk_status status = husk__fail(
        scope, HUSK_NO_PLATFORM,
        "no OpenCL platform is installed. For the CPU: apt-get install pocl-opencl-icd (Debian, Ubuntu), "
        "dnf install pocl (Fedora), pacman -S pocl (Arch); for a GPU: its vendor's OpenCL driver%s",
        text.bytes ? text.bytes : "");
    husk__text_free(&text);
    return status;
}

husk_status husk_device_list_create(husk_device_list **list, husk_error *error)
{
    husk__scope scope = {"husk_device_list_create", error};
    if (!list)
        return husk__reject(&scope, "list", "is NULL");
    *list = NULL;
    husk_status status = husk__open_process(&scope);
    if (status != HUSK_OK)
        return status;
    cl_uint count = 0;
    cl_int code = clGetPlatformIDs(0, NULL, &count);
    if (code == -1001 || (code == CL_SUCCESS && count == 0))
        return no_platform(&scope);
    if (code != CL_SUCCESS)
        return husk__opencl_failed(NULL, &scope, "clGetPlatformIDs", code);
    cl_platform_id *platforms = calloc(count, sizeof *platforms);
    husk_device_list *made = create_list();
    if (!platforms || !made)
        status = lacks_memory(&scope);
    else if ((code = clGetPlatformIDs(count, platforms, NULL)) != CL_SUCCESS)
        status = husk__opencl_failed(NULL, &scope, "clGetPlatformIDs", code);
    for (cl_uint p = 0; status == HUSK_OK && p < count; ++p)
        status = list_platform(made, platforms[p], p, &scope);
    free(platforms);
    if (status == HUSK_OK) {
        note_duplicates(made);
        husk__device_list_examine_system(made);
    }
    if (status == HUSK_OK && made->lacks_memory) // for a limit or a note, which are not to be missed
        status = lacks_memory(&scope);
    if (status == HUSK_OK)
        *list = made;
    else
        husk_device_list_release(made);
    return status;
}

husk_status husk__device_list_wrap(cl_device_id id, husk_device_list **list, const husk__scope *scope)
{
    cl_platform_id platform = NULL;
    *list = NULL;
    cl_int code = clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    if (code != CL_SUCCESS)
        return husk__opencl_failed(NULL, scope, "clGetDeviceInfo", code);
    husk__unanswered failed = {0};
    husk_device_list *made = create_list();
    if (made && append_device(made, platform, id, &failed) && !made->lacks_memory) {
        *list = made;
        return HUSK_OK;
    }
    husk_device_list_release(made);
    if (failed.code != CL_SUCCESS)
        return husk__opencl_failed(NULL, scope, failed.function, failed.code);
    return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the device's description");
}

size_t husk_device_list_count(const husk_device_list *list)
{
    return list ? list->count : 0;
}

const husk_device *husk_device_list_get(const husk_device_list *list, size_t index)
{
    return list && index < list->count ? &list->devices[index] : NULL;
}

size_t husk_device_list_note_count(const husk_device_list *list)
{
    return list ? list->note_count : 0;
}

const char *husk_device_list_note(const husk_device_list *list, size_t index, husk_note_kind *kind)
{
    if (!list || index >= list->note_count)
        return NULL;
    if (kind)
        *kind = list->notes[index].kind;
    return list->notes[index].text;
}

const husk_device_traits *husk_device_get_traits(const husk_device *device)
{
    return device ? &device->traits : NULL;
}

// ---- choosing ----

static int rank(const husk_device_traits *traits)
{
    if (!traits->is_available)
        return -1;
    switch (traits->device_class) {
    case HUSK_DEVICE_GPU_DISCRETE:
        return 4;
    case HUSK_DEVICE_GPU_INTEGRATED:
        return 3;
    case HUSK_DEVICE_ACCELERATOR:
        return 2;
    case HUSK_DEVICE_CPU:
        return 1;
    case HUSK_DEVICE_SIMULATOR:
        return 0;
    }
    return -1;
}

// Of two CPUs the one with more compute units: PoCL has one of a single thread beside the whole (basic, cpu-minimal).
static bool is_better(const husk_device_traits *traits, const husk_device *than)
{
    const int here = rank(traits), there = than ? rank(&than->traits) : -1;
    return here > there || (here == there && than && traits->device_class == HUSK_DEVICE_CPU &&
                            traits->compute_units > than->traits.compute_units);
}

bool husk__is_gpu(const husk_device_traits *traits)
{
    return traits->device_class == HUSK_DEVICE_GPU_DISCRETE ||
           traits->device_class == HUSK_DEVICE_GPU_INTEGRATED;
}

// "2:0", in digits alone; a number that is too large is no device's.
static bool parse_place(const char *wish, unsigned long long place[2])
{
    for (int i = 0; i < 2; ++i) {
        char *end;
        if (*wish < '0' || *wish > '9')
            return false;
        place[i] = strtoull(wish, &end, 10);
        if (*end != (i == 0 ? ':' : 0))
            return false;
        wish = end + 1;
    }
    return true;
}

static bool fits(const husk_device_traits *traits, const char *wish)
{
    if (!wish)
        return rank(traits) > 0;
    if (strcasecmp(wish, "gpu") == 0)
        return husk__is_gpu(traits);
    if (strcasecmp(wish, "cpu") == 0)
        return traits->device_class == HUSK_DEVICE_CPU;
    unsigned long long place[2];
    if (parse_place(wish, place))
        return traits->platform_index == place[0] && traits->device_index == place[1];
    return husk__contains_ignoring_case(traits->name, wish) ||
           husk__contains_ignoring_case(traits->platform_name, wish);
}

static husk_status nothing_fits(const husk_device_list *list, const char *wish, const husk__scope *scope)
{
    husk__text text = {0};
    for (size_t i = 0; i < list->count; ++i) {
        const husk_device_traits *traits = &list->devices[i].traits;
        husk__text_format(&text, "\n  %u:%u  %s (%s, %s)%s", (unsigned)traits->platform_index,
                          (unsigned)traits->device_index, traits->name,
                          husk_device_class_text(traits->device_class), traits->platform_name,
                          traits->is_available ? "" : ", not available");
    }
    const bool has_any = text.bytes;
    for (size_t i = 0; i < list->note_count; ++i) // a platform that did not list its devices, and why
        if (list->notes[i].kind == HUSK_NOTE_WARNING)
            husk__text_format(&text, "\n  %s", list->notes[i].text);
    husk_status status =
        husk__fail(scope, HUSK_NO_DEVICE, "%s%s%s%s",
                   wish ? "no device fits \"" : "no device can be the default", wish ? wish : "",
                   wish ? "\"" : "", has_any ? "; there is:" : "; there is none");
    if (text.bytes && scope->error) {
        size_t used = strlen(scope->error->text);
        snprintf(scope->error->text + used, sizeof scope->error->text - used, "%s", text.bytes);
    }
    husk__text_free(&text);
    return status;
}

husk_status husk_device_list_select(const husk_device_list *list, const char *wish,
                                    const husk_device **device, husk_error *error)
{
    husk__scope scope = {"husk_device_list_select", error};
    if (!list)
        return husk__reject(&scope, "list", "is NULL");
    if (!device)
        return husk__reject(&scope, "device", "is NULL");
    *device = NULL;
    if (!wish || !*wish)
        wish = husk__environment("HUSK_DEVICE");
    for (size_t i = 0; i < list->count; ++i) {
        const husk_device *candidate = &list->devices[i];
        if (fits(&candidate->traits, wish) && is_better(&candidate->traits, *device))
            *device = candidate;
    }
    return *device ? HUSK_OK : nothing_fits(list, wish, &scope);
}
