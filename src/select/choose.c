// SPDX-License-Identifier: MIT
#include "select/choose.h"

#include <stdio.h>
#include <string.h>

bool husk__variant_matches(const char *wanted, const husk__variant *variant, const husk__configuration *configuration)
{
    size_t length = strlen(variant->name);
    if (strncmp(wanted, variant->name, length) != 0)
        return false;
    return wanted[length] == 0 || (wanted[length] == ':' && strcmp(wanted + length + 1, configuration->name) == 0);
}

static bool in_family(const husk__variant *variant, const husk_device_traits *traits)
{
    bool is_cpu = traits->device_class == HUSK_DEVICE_CPU || traits->device_class == HUSK_DEVICE_SIMULATOR;
    return variant->family == HUSK__FAMILY_ANY || (variant->family == HUSK__FAMILY_CPU) == is_cpu;
}

static bool is_before(const husk__ranked *a, const husk__ranked *b)
{
    return a->is_foreign != b->is_foreign ? b->is_foreign : a->cost < b->cost;
}

// Of more candidates than there is room for the last go.
static void insert(husk__ranking *ranking, husk__ranked ranked)
{
    const bool is_full = ranking->count == HUSK__MAX_CANDIDATES;
    if (is_full && !is_before(&ranked, &ranking->candidates[ranking->count - 1]))
        return;
    size_t at = is_full ? ranking->count - 1 : ranking->count++;
    while (at > 0 && is_before(&ranked, &ranking->candidates[at - 1])) {
        ranking->candidates[at] = ranking->candidates[at - 1];
        --at;
    }
    ranking->candidates[at] = ranked;
}

// One refusal is kept to be told: the first by a variant of the device's own family, as tables begin with the
// general ones.
static bool is_worth_telling(husk__ranking *ranking, const husk__variant *variant, const husk_device_traits *traits)
{
    const bool is_own = in_family(variant, traits);
    if (ranking->reason[0] && (ranking->reason_is_own || !is_own))
        return false;
    ranking->reason_is_own = is_own;
    return true;
}

void husk__explain_workspace(const husk__candidate *candidate, uint64_t workspace, uint64_t limit,
                             char reason[HUSK__REASON_CAPACITY])
{
    const uint64_t largest = candidate->traits->max_allocation; // it is one buffer
    const bool is_too_large = workspace > largest;
    snprintf(reason, HUSK__REASON_CAPACITY, "needs %llu bytes of workspace, %s %llu", (unsigned long long)workspace,
             is_too_large ? "one buffer may have" : "the limit is",
             (unsigned long long)(is_too_large ? largest : limit));
}

// aside, where there is one, receives what nothing but the limit keeps out, of the device's own family.
static void consider(const husk__variant *variant, const husk__candidate *candidate, uint64_t limit,
                     husk__ranking *ranking, husk__ranking *aside)
{
    char reason[HUSK__REASON_CAPACITY] = "it does not compute this";
    if (variant->supports && !variant->supports(candidate, reason)) {
        if (is_worth_telling(ranking, variant, candidate->traits))
            snprintf(ranking->reason, sizeof ranking->reason, "%.60s: %.90s", variant->name, reason);
        return;
    }
    const bool is_own = in_family(variant, candidate->traits);
    husk__ranked ranked = {.variant = variant, .configuration = candidate->configuration, .is_foreign = !is_own};
    ranked.workspace = variant->workspace ? variant->workspace(candidate) : 0;
    // It is one buffer, which the device may not have as large.
    const uint64_t largest = candidate->traits->max_allocation;
    const bool is_too_large = ranked.workspace > largest;
    const bool is_aside = limit > 0 && ranked.workspace > limit && aside && is_own && !is_too_large;
    if (is_too_large || (limit > 0 && ranked.workspace > limit)) {
        husk__explain_workspace(candidate, ranked.workspace, limit, reason);
        if (is_worth_telling(ranking, variant, candidate->traits))
            snprintf(ranking->reason, sizeof ranking->reason, "%.60s %.98s", variant->name, reason);
        if (!is_aside)
            return;
    }
    ranked.cost = variant->cost ? variant->cost(candidate) : 0.0;
    insert(is_aside ? aside : ranking, ranked);
}

// A default that nobody has asked for refuses nothing, and leaves no device to the other family's variants: those of
// its own are taken that need the least, or little more.
static void take_least(const husk__ranking *aside, husk__ranking *ranking)
{
    uint64_t least = UINT64_MAX;
    if (ranking->count > 0 && !ranking->candidates[0].is_foreign)
        return;
    for (size_t i = 0; i < aside->count; ++i)
        least = aside->candidates[i].workspace < least ? aside->candidates[i].workspace : least;
    for (size_t i = 0; i < aside->count; ++i)
        if (aside->candidates[i].workspace <= least + least / 4)
            insert(ranking, aside->candidates[i]);
}

static husk_status unknown_variant(const husk__op *op, const char *wanted, const husk__scope *scope)
{
    char names[512] = "";
    size_t used = 0;
    for (const husk__variant *const *row = op->variants; *row && used < sizeof names; ++row)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", (*row)->name);
    return husk__reject(scope, "variant", "\"%s\" is not a variant of %s; there is: %s", wanted, op->name, names);
}

husk_status husk__rank(const husk__op *op, const void *problem, const husk__target *target, const char *wanted,
                       bool is_named, husk__limit limit, husk__ranking *ranking, const husk__scope *scope)
{
    const bool gives_way = limit.is_default && !wanted;
    husk__ranking aside = {0};
    *ranking = (husk__ranking){0};
    bool is_known = false;
    for (const husk__variant *const *row = op->variants; *row; ++row) {
        for (size_t c = 0; c < (*row)->configuration_count; ++c) {
            husk__candidate candidate = {problem, target->traits, target->machine, &(*row)->configurations[c],
                                         is_named};
            if (wanted && !husk__variant_matches(wanted, *row, candidate.configuration))
                continue;
            is_known = true;
            consider(*row, &candidate, limit.bytes, ranking, gives_way ? &aside : NULL);
        }
    }
    if (gives_way)
        take_least(&aside, ranking);
    return wanted && !is_known ? unknown_variant(op, wanted, scope) : HUSK_OK;
}
