// SPDX-License-Identifier: MIT
// A context's machine: read when it is first asked for, with rates from the file or measured, and unchanged from then
// on, since plans that were chosen by it stay.
#include "machine/machine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "machine/file.h"
#include "machine/measure.h"
#include "machine/sizes.h"
#include "os/environment.h"
#include "os/file_lock.h"
#include "runtime/begin.h"
#include "runtime/context.h"

typedef struct context_machine {
    pthread_mutex_t lock; // one measuring at a time
    atomic_bool is_ready;
    husk_machine machine;
} context_machine;

static bool is_measurable(const husk_device_traits *traits)
{
    return traits->device_class == HUSK_DEVICE_CPU;
}

// False for want of memory: sizes decide bits, and must not be others for that.
static bool read_machine(const husk_context *context, husk_machine *machine)
{
    const husk_device_traits *traits = husk_context_traits(context);
    husk__cpu_caches caches = {0};
    if (is_measurable(traits) && !husk__cpu_caches_here(&caches))
        return false;
    husk__machine_read(traits, &caches, machine);
    return true;
}

static void *create(husk_context *context)
{
    context_machine *own = calloc(1, sizeof *own);
    if (own && !read_machine(context, &own->machine)) {
        free(own);
        return NULL;
    }
    if (own)
        pthread_mutex_init(&own->lock, NULL);
    return own;
}

static void destroy(void *extension)
{
    context_machine *own = extension;
    pthread_mutex_destroy(&own->lock);
    free(own);
}

// ---- rates ----

static bool is_wanted(const husk_context *context)
{
    const char *preference = husk__environment("HUSK_MACHINE");
    if (preference && strcmp(preference, "typical") != 0)
        husk__log_write(husk__context_log(context), HUSK_LOG_WARNING,
                        "HUSK_MACHINE is \"%s\", must be typical; it is as if it were not set", preference);
    return is_measurable(husk_context_traits(context)) && (!preference || strcmp(preference, "typical") != 0);
}

static void log_rates(const husk__log *log, const husk_machine *machine, const char *from)
{
    const husk_machine_rates *r = &machine->rates;
    husk__log_write(
        log, HUSK_LOG_INFORMATION,
        "machine: %s, %u cores; %s: %.2f GHz, %.2f vectors a cycle, %.0f, %.0f and %.0f bytes/ns from L2, L3 "
        "and memory (all cores %.0f), launch %.1f us, wake %.1f us",
        husk_isa_name(machine->isa), (unsigned)machine->cores, from, r->clock_ghz, r->fma_per_cycle, r->l2_rate,
        r->l3_rate, r->memory_rate, r->memory_rate_all, r->launch_ns / 1e3, r->wake_ns / 1e3);
}

static bool take_from_file(husk_context *context, husk_machine *machine)
{
    if (!husk__machine_load(husk_context_traits(context), machine, &machine->rates))
        return false;
    machine->is_measured = true;
    log_rates(husk__context_log(context), machine, "rates from the file");
    return true;
}

// What cannot be measured or kept is no failure of the call that chooses a variant: it is chosen by what is typical, or
// measured again by the next context.
static void measure_rates(husk_context *context, husk_machine *machine)
{
    const husk_device_traits *traits = husk_context_traits(context);
    const husk__log *log = husk__context_log(context);
    husk_error error = {0};
    const husk__scope scope = {"husk_context_machine", &error};
    if (husk__machine_measure(husk__context_device(context), machine, &machine->rates, &scope) != HUSK_OK) {
        husk__log_write(log, HUSK_LOG_INFORMATION, "%s; those of a typical device are taken", error.text);
        return;
    }
    machine->is_measured = true;
    log_rates(log, machine, "rates measured");
    if (husk__machine_store(traits, &machine->rates, &scope) != HUSK_OK)
        husk__log_write(log, HUSK_LOG_INFORMATION, "the measured rates are not kept: %s", error.text);
}

static void find_rates(husk_context *context, husk_machine *machine)
{
    if (!is_wanted(context) || take_from_file(context, machine))
        return;
    const int lock = husk__machine_lock(husk_context_traits(context));
    if (!take_from_file(context, machine)) // which who had the lock has written
        measure_rates(context, machine);
    husk__unlock(lock);
}

// ---- asked for ----

const husk_machine *husk__machine_of(husk_context *context)
{
    context_machine *own = husk__context_extension(context, HUSK__EXTENSION_MACHINE, create, destroy);
    if (!own)
        return NULL;
    if (atomic_load(&own->is_ready))
        return &own->machine;
    pthread_mutex_lock(&own->lock);
    if (!atomic_load(&own->is_ready)) {
        find_rates(context, &own->machine);
        atomic_store(&own->is_ready, true);
    }
    pthread_mutex_unlock(&own->lock);
    return &own->machine;
}

const husk_machine *husk_context_machine(husk_context *context)
{
    return context ? husk__machine_of(context) : NULL;
}

husk_status husk_context_calibrate(husk_context *context, husk_machine *machine, husk_error *error)
{
    husk__scope scope;
    husk_status status = husk__context_call_begin(context, "husk_context_calibrate", error, &scope);
    if (status != HUSK_OK)
        return status;
    if (!machine)
        return husk__reject(&scope, "machine", "is NULL");
    const husk_device_traits *traits = husk_context_traits(context);
    if (!read_machine(context, machine))
        return husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for what the system says of caches");
    if (!is_measurable(traits))
        return husk__fail(&scope, HUSK_UNSUPPORTED, "context: its device is no CPU; only CPUs are measured");
    status = husk__machine_measure(husk__context_device(context), machine, &machine->rates, &scope);
    if (status != HUSK_OK)
        return status;
    machine->is_measured = true;
    return husk__machine_store(traits, &machine->rates, &scope);
}
