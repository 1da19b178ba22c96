// SPDX-License-Identifier: MIT
#include "train/graph/compiled.h"

#include <stdlib.h>

void husk__compiled_release(husk__compiled *compiled)
{
    if (!compiled)
        return;
    for (int mode = 0; mode < 2; mode++)
        husk__schedule_release(&compiled->schedules[mode]);
    for (uint32_t m = 0; compiled->micro_batches && m < compiled->options.micro_batches; m++) {
        husk_buffer_release(compiled->micro_batches[m].arena);
        husk_buffer_release(compiled->micro_batches[m].outside);
    }
    free(compiled->micro_batches);
    for (int r = HUSK__REGION_KEPT; r < HUSK__REGIONS; r++)
        husk_buffer_release(compiled->regions[r]);
    for (int s = 0; s < HUSK__STATES; s++)
        husk_buffer_release(compiled->states[s]);
    husk_buffer_release(compiled->masks);
    free(compiled->masked);
    free(compiled->trained);
    free(compiled->parameters);
    free(compiled->buckets);
    free(compiled);
}

bool husk__can_train(const husk_graph *graph)
{
    return graph->compiled->options.loss || husk__graph_is_given(graph);
}
