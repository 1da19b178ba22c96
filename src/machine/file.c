// SPDX-License-Identifier: MIT
#include "machine/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "machine/sizes.h"
#include "os/cpu_model.h"
#include "os/file_lock.h"
#include "os/private.h"
#include "os/write_file.h"

static const char SCHEMA[] = "husk-machine/1\n";

bool husk__machine_header(const husk_device_traits *traits, husk__text *header)
{
    char device[256];
    snprintf(device, sizeof device, "%.200s", traits->name);
    if (!husk__append_cpu_model(device, sizeof device))
        return false;
    husk__text_format(header, "device %s\ndriver %s, %s, %s, %u units, vectors of %u floats\n", device,
                      traits->platform_name, traits->driver_version, traits->device_version,
                      (unsigned)traits->compute_units, (unsigned)traits->vector_width);
    return !header->failed;
}

bool husk__machine_path(const husk_device_traits *traits, husk__text *path)
{
    char hash[33];
    husk__text header = {0};
    errno = 0;
    char *folder = husk__user_data_path("machine");
    if (!folder)
        return false;
    const bool is_known = husk__machine_header(traits, &header);
    if (is_known) {
        husk__hash128_text(husk__hash128_of(header.bytes, header.size), hash);
        husk__text_format(path, "%s/%s.txt", folder, hash);
    }
    husk__text_free(&header);
    free(folder);
    if (is_known && !path->failed)
        return true;
    errno = ENOMEM;
    return false;
}

// Millionths, by whole numbers: what printf and strtod take for a point is the program's locale's.
static const uint64_t ONE = 1000000;

static void write_number(const char *name, double value, husk__text *text)
{
    const uint64_t millionths = (uint64_t)(value * (double)ONE + 0.5);
    husk__text_format(text, "%s %" PRIu64 ".%06" PRIu64 "\n", name, millionths / ONE, millionths % ONE);
}

static bool skip(const char **at, const char *wanted)
{
    const size_t length = strlen(wanted);
    if (strncmp(*at, wanted, length) != 0)
        return false;
    *at += length;
    return true;
}

static bool read_digits(const char **at, uint64_t *number)
{
    enum { MOST_DIGITS = 9 };
    const size_t digits = strspn(*at, "0123456789");
    *number = 0;
    for (size_t i = 0; i < digits && i < MOST_DIGITS; ++i)
        *number = 10 * *number + (uint64_t)((*at)[i] - '0');
    *at += digits;
    return digits > 0 && digits <= MOST_DIGITS;
}

static bool read_number(const char **at, double *value)
{
    uint64_t whole, millionths;
    if (!read_digits(at, &whole) || !skip(at, "."))
        return false;
    const char *point = *at;
    if (!read_digits(at, &millionths) || *at - point != 6 || !skip(at, "\n"))
        return false;
    *value = (double)whole + (double)millionths / (double)ONE;
    return true;
}

void husk__machine_write(const char *header, husk_machine_rates rates, husk__text *text)
{
    husk__text_format(text, "%s%s", SCHEMA, header);
    for (const husk__rate *rate = husk__machine_rate_names; rate->name; ++rate)
        write_number(rate->name, *husk__rate_of(&rates, rate), text);
}

bool husk__machine_parse(const char *text, const char *header, husk_machine_rates *rates)
{
    husk_machine_rates found = {0};
    const char *at = text;
    if (!skip(&at, SCHEMA) || !skip(&at, header))
        return false;
    for (const husk__rate *rate = husk__machine_rate_names; rate->name; ++rate) {
        if (!skip(&at, rate->name) || !skip(&at, " ") || !read_number(&at, husk__rate_of(&found, rate)))
            return false;
    }
    if (*at)
        return false;
    *rates = found;
    return true;
}

bool husk__machine_load(const husk_device_traits *traits, const husk_machine *machine, husk_machine_rates *rates)
{
    husk__text path = {0}, header = {0};
    husk_machine_rates found;
    bool is_there = husk__machine_path(traits, &path) && husk__machine_header(traits, &header);
    char *text = is_there ? husk__read_private_file(path.bytes, NULL) : NULL;
    is_there = text && husk__machine_parse(text, header.bytes, &found) && husk__rates_are_plausible(machine, &found);
    if (is_there)
        *rates = found;
    free(text);
    husk__text_free(&path);
    husk__text_free(&header);
    return is_there;
}

int husk__machine_lock(const husk_device_traits *traits)
{
    static const uint64_t patience_ns = UINT64_C(5000000000);
    char *folder = husk__user_data_path("machine");
    husk__text header = {0}, path = {0};
    int lock = -1;
    if (folder && husk__prepare_private_directory(folder) && husk__machine_header(traits, &header)) {
        husk__text_format(&path, "%s/lock", folder);
        if (!path.failed)
            lock = husk__lock(path.bytes, (uint32_t)husk__hash128_of(header.bytes, header.size).low, patience_ns);
    }
    husk__text_free(&header);
    husk__text_free(&path);
    free(folder);
    return lock;
}

static husk_status store(const husk__text *path, const husk__text *text, const husk__scope *scope)
{
    char *folder = husk__copy_string(path->bytes);
    if (!folder)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a folder's name");
    *strrchr(folder, '/') = 0;
    errno = 0;
    const bool is_there = husk__prepare_private_directory(folder);
    const int why = errno;
    husk_status status = HUSK_OK;
    if (!is_there)
        status = husk__fail(scope, HUSK_IO, "the folder %s cannot be made, or is not this user's alone: %s", folder,
                            strerror(why ? why : EPERM));
    else if (!husk__write_file_atomically(path->bytes, text->bytes, text->size))
        status = husk__fail(scope, HUSK_IO, "%s cannot be written: %s", path->bytes, strerror(errno));
    free(folder);
    return status;
}

husk_status husk__machine_store(const husk_device_traits *traits, const husk_machine_rates *rates,
                                const husk__scope *scope)
{
    husk__text path = {0}, header = {0}, text = {0};
    husk_status status = HUSK_OK;
    if (!husk__machine_path(traits, &path) && errno != ENOMEM)
        status = husk__fail(scope, HUSK_IO, "no folder for the measured rates: neither XDG_DATA_HOME nor HOME is set");
    else if (path.bytes && husk__machine_header(traits, &header))
        husk__machine_write(header.bytes, *rates, &text);
    if (status == HUSK_OK && (!text.bytes || text.failed))
        status = husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the measured rates");
    if (status == HUSK_OK)
        status = store(&path, &text, scope);
    husk__text_free(&path);
    husk__text_free(&header);
    husk__text_free(&text);
    return status;
}
