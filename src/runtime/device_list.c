// SPDX-License-Identifier: MIT
// What there is of platforms and devices.
#include "runtime/device_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/device_notes.h"
#include "runtime/device_traits.h"
#include "runtime/fork.h"
#include "runtime/opencl_error.h"
#include "runtime/pocl.h"

// False, and the list as it was, where there was no memory or the device did not answer: then failed has the call.
static bool append_device(husk_device_list *list, cl_platform_id platform, cl_device_id id, husk__unanswered *failed)
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
        husk__device_free_texts(device);
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
        return husk__opencl_error(scope, failed.function, failed.code);
    husk__device_list_add_note(list, HUSK_NOTE_WARNING, "device %u of platform %u is left out: %s failed (%s)",
                               (unsigned)device_index, (unsigned)platform_index, failed.function,
                               husk__opencl_name(failed.code));
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
                                   "platform %u, %s, has no device (%s)%s%s", (unsigned)index, name ? name : "",
                                   husk__opencl_name(code), why ? ": " : "", why ? why : "");
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
                                           (unsigned)b->platform_index, (unsigned)b->device_index, a->pci_address);
        }
}

// What the list's notes would have said stands in the text: a platform that is there but broken, a GPU.
static husk_status no_platform(const husk__scope *scope)
{
    husk__text text = {0};
    husk_device_list *list = husk__device_list_create();
    if (list)
        husk__device_list_examine_system(list);
    for (size_t i = 0; list && i < list->note_count; ++i)
        husk__text_format(&text, "\n  %s", list->notes[i].text);
    husk_device_list_release(list);
    husk_status status =
        husk__fail(scope, HUSK_NO_PLATFORM,
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
        return husk__opencl_error(&scope, "clGetPlatformIDs", code);
    cl_platform_id *platforms = calloc(count, sizeof *platforms);
    husk_device_list *made = husk__device_list_create();
    if (!platforms || !made)
        status = lacks_memory(&scope);
    else if ((code = clGetPlatformIDs(count, platforms, NULL)) != CL_SUCCESS)
        status = husk__opencl_error(&scope, "clGetPlatformIDs", code);
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
        return husk__opencl_error(scope, "clGetDeviceInfo", code);
    husk__unanswered failed = {0};
    husk_device_list *made = husk__device_list_create();
    if (made && append_device(made, platform, id, &failed) && !made->lacks_memory) {
        *list = made;
        return HUSK_OK;
    }
    husk_device_list_release(made);
    if (failed.code != CL_SUCCESS)
        return husk__opencl_error(scope, failed.function, failed.code);
    return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the device's description");
}
