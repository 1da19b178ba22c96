// SPDX-License-Identifier: MIT
#include "worker/described.h"

#include <stdlib.h>

#include "spec/read.h"

static void end(bench_described *d)
{
    if (d->has_launcher)
        bench_kernel_launcher_end(&d->launcher);
    bench_description_free(&d->description);
    free(d);
}

bench_described *bench_described_read(bench_husk_session *session, const char *path, char reason[BENCH_REASON_TEXT])
{
    if (session->described)
        end(session->described);
    bench_described *d = session->described = calloc(1, sizeof *d);
    session->end_described = end;
    if (!d) {
        bench_explain(reason, BENCH_REASON_TEXT, "host memory does not suffice");
        return NULL;
    }
    if (!path || !bench_description_read(path, &d->description, reason)) {
        if (!path)
            bench_explain(reason, BENCH_REASON_TEXT, "the request has no path");
        return NULL;
    }
    // A simulator looks at each access itself, and would take bands for memory of the kernel's.
    d->is_simulator = husk_context_traits(session->context)->device_class == HUSK_DEVICE_SIMULATOR;
    husk_error error;
    if (!d->is_simulator && husk_context_set_guards(session->context, HUSK_GUARD_BYTES, &error) != HUSK_OK) {
        bench_explain(reason, BENCH_REASON_TEXT, "%.900s", error.text);
        return NULL;
    }
    d->has_launcher = bench_kernel_launcher_begin(&d->launcher, session->context, !d->is_simulator, reason);
    d->launcher.description = &d->description;
    return d->has_launcher ? d : NULL;
}

static bool read_numbers(const json_t *array, size_t count, int64_t *numbers)
{
    if (json_array_size(array) != count)
        return false;
    for (size_t i = 0; i < count; i++)
        numbers[i] = json_integer_value(json_array_get(array, i));
    return true;
}

bool bench_described_point(const bench_described *d, const json_t *request, bench_point *point,
                           char reason[BENCH_REASON_TEXT])
{
    int64_t config[BENCH_MOST_CONFIGS], size[BENCH_MOST_SIZES];
    const json_int_t number = json_integer_value(json_object_get(request, "spec"));
    if (!d || !d->has_launcher || number < 0 || number >= d->description.count)
        return bench_explain(reason, BENCH_REASON_TEXT, "the request is of no kernel that was described");
    const bench_spec *spec = d->description.specs[number];
    if (!read_numbers(json_object_get(request, "config"), (size_t)spec->config_count, config) ||
        !read_numbers(json_object_get(request, "size"), (size_t)spec->sizes.names, size))
        return bench_explain(reason, BENCH_REASON_TEXT, "the request lacks parameters or sizes");
    return bench_point_set(point, spec, config, size, reason);
}
