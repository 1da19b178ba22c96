// SPDX-License-Identifier: MIT
// HUSK_DEVICE, and clbench's -d: which device of a list a text chooses. What was chosen is what the text says; a
// refusal says what there is.
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "fuzz.h"
#include "runtime/device.h"

#define DEVICE(platform_, device_, name_, platform_name_, class_, available_) \
    {                                                                         \
        .traits =                                                             \
        {.platform_index = platform_,                                         \
         .device_index = device_,                                             \
         .name = name_,                                                       \
         .platform_name = platform_name_,                                     \
         .device_class = class_,                                              \
         .is_available = available_ }                                         \
    }
static husk_device devices[] = {
    DEVICE(0, 0, "NVIDIA H200", "NVIDIA CUDA", HUSK_DEVICE_GPU_DISCRETE, true),
    DEVICE(0, 1, "NVIDIA H200", "NVIDIA CUDA", HUSK_DEVICE_GPU_DISCRETE, true),
    DEVICE(1, 0, "Intel(R) UHD Graphics 770 [0x4680]", "Intel(R) OpenCL", HUSK_DEVICE_GPU_INTEGRATED, true),
    DEVICE(2, 0, "cpu-haswell-AMD EPYC 9R14", "Portable Computing Language", HUSK_DEVICE_CPU, true),
    DEVICE(3, 0, "Oclgrind Simulator", "Oclgrind", HUSK_DEVICE_SIMULATOR, true),
    DEVICE(12, 3, "gfx1100", "AMD Accelerated Parallel Processing", HUSK_DEVICE_GPU_DISCRETE, false),
};
static husk_device_list list = {.count = sizeof devices / sizeof *devices, .devices = devices};

// "2:0", in digits alone.
static bool is_place(const char *preference)
{
    const size_t platform = strspn(preference, "0123456789");
    const size_t device = preference[platform] == ':' ? strspn(preference + platform + 1, "0123456789") : 0;
    return platform && device && !preference[platform + 1 + device];
}

static const char *without_zeros(const char *digits)
{
    while (*digits == '0' && isdigit((unsigned char)digits[1]))
        digits++;
    return digits;
}

static bool is_at(const husk_device_traits *traits, const char *preference)
{
    char platform[24], device[24];
    snprintf(platform, sizeof platform, "%u:", (unsigned)traits->platform_index);
    snprintf(device, sizeof device, "%u", (unsigned)traits->device_index);
    preference = without_zeros(preference);
    return !strncmp(preference, platform, strlen(platform)) &&
           !strcmp(without_zeros(preference + strlen(platform)), device);
}

static bool contains(const char *whole, const char *part)
{
    for (; *whole; whole++)
        if (!strncasecmp(whole, part, strlen(part)))
            return true;
    return !*part;
}

static bool fits(const husk_device_traits *t, const char *preference)
{
    const bool is_gpu = t->device_class == HUSK_DEVICE_GPU_DISCRETE || t->device_class == HUSK_DEVICE_GPU_INTEGRATED;
    if (!t->is_available)
        return false;
    if (is_place(preference))
        return is_at(t, preference);
    if (!strcasecmp(preference, "gpu"))
        return is_gpu;
    if (!strcasecmp(preference, "cpu"))
        return t->device_class == HUSK_DEVICE_CPU;
    return contains(t->name, preference) || contains(t->platform_name, preference);
}

void fuzz_target(const char *text, size_t size)
{
    husk_error error = {0};
    const husk_device *device = NULL;
    if (size == 0) // the environment's
        return;
    const husk_status status = husk_device_list_select(&list, text, &device, &error);
    fuzz_expect((status == HUSK_OK) == (device != NULL), "a device with %s", husk_status_name(status));
    bool any = false;
    for (size_t i = 0; i < list.count && *text; i++)
        any = any || fits(&devices[i].traits, text);
    if (!*text) // a zero: as no preference
        return;
    fuzz_expect((device != NULL) == any, "\"%s\" chooses %s", text, device ? device->traits.name : "nothing");
    fuzz_expect(!device || fits(&device->traits, text), "\"%s\" chooses %u:%u", text,
                device ? (unsigned)device->traits.platform_index : 0,
                device ? (unsigned)device->traits.device_index : 0);
    if (device)
        return;
    fuzz_expect(status == HUSK_NO_DEVICE, "\"%s\" answers %s", text, husk_status_name(status));
    fuzz_expect_reason(error.text, sizeof error.text);
}
