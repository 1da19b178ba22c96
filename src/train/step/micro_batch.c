// SPDX-License-Identifier: MIT
#include "train/step/micro_batch.h"

static void bind(const husk__compiled *own, husk__schedule *schedule)
{
    for (int32_t c = 0; c < schedule->count; c++)
        for (int32_t s = 0; s < schedule->calls[c].slot_count; s++) {
            husk__slot *slot = &schedule->calls[c].slots[s];
            if (slot->storage >= 0)
                slot->tensor.buffer = own->regions[schedule->storages[slot->storage].region];
        }
}

void husk__use_micro_batch(husk__compiled *own, uint32_t index)
{
    husk__micro_batch *before = &own->micro_batches[own->micro_batch], *next = &own->micro_batches[index];
    before->at = own->at;
    before->has_forward = own->has_forward;
    before->batch = own->batch;
    own->micro_batch = index;
    own->at = next->at;
    own->has_forward = next->has_forward;
    own->batch = next->batch;
    own->regions[HUSK__REGION_ARENA] = next->arena;
    own->regions[HUSK__REGION_OUTSIDE] = next->outside;
    for (int mode = 0; mode < 2; mode++)
        bind(own, &own->schedules[mode]);
}

void husk__drop_forwards(husk__compiled *own)
{
    own->has_forward = false;
    for (uint32_t m = 0; m < own->options.micro_batches; m++)
        own->micro_batches[m].has_forward = false;
}

void husk__begin_forward(husk__compiled *own)
{
    own->has_forward = false;
    own->batch = own->position.batches;
    for (uint32_t m = 0; m < own->options.micro_batches; m++)
        own->batch += m != own->micro_batch && own->micro_batches[m].has_forward;
    // Where a forward was given up, one that waits may have this number already.
    for (uint32_t m = 0; m < own->options.micro_batches; m++)
        if (m != own->micro_batch && own->micro_batches[m].has_forward && own->micro_batches[m].batch >= own->batch)
            own->batch = own->micro_batches[m].batch + 1;
}

husk_status husk_graph_micro_batch(husk_graph *graph, uint32_t index)
{
    if (!graph)
        return HUSK_INVALID_ARGUMENT;
    const husk__train_scope scope = {"husk_graph_micro_batch", &graph->error};
    if (graph->failed)
        return graph->failed;
    if (!graph->compiled)
        return husk__train_reject(&scope, "graph", "it is not compiled");
    if (index >= graph->compiled->options.micro_batches)
        return husk__train_reject(&scope, "index", "%u; options.micro_batches is %u", (unsigned)index,
                                  (unsigned)graph->compiled->options.micro_batches);
    if (index != graph->compiled->micro_batch)
        husk__use_micro_batch(graph->compiled, index);
    return HUSK_OK;
}
