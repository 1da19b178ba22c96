// SPDX-License-Identifier: MIT
#include "train/shared_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "support/device.h"
#include "train/graph/compiled.h"
#include "train/whole_gradient.h"

// A second opinion: two storages whose bytes overlap are never needed at once, but where a call makes one of the other.
static void check_no_overlap(const husk__schedule *schedule)
{
    int32_t pairs = 0;
    for (int32_t i = 0; i < schedule->storage_count; i++)
        for (int32_t j = 0; j < i; j++) {
            const husk__storage *a = &schedule->storages[i], *b = &schedule->storages[j];
            if (a->region != HUSK__REGION_ARENA || b->region != HUSK__REGION_ARENA ||
                a->offset >= b->offset + b->bytes || b->offset >= a->offset + a->bytes)
                continue;
            // When each is touched, found anew.
            int32_t first[2] = {INT32_MAX, INT32_MAX}, last[2] = {-1, -1};
            bool in_place = false;
            for (int32_t c = 0; c < schedule->count; c++) {
                int32_t reads = -1, writes = -1;
                for (int32_t s = 0; s < schedule->calls[c].slot_count; s++) {
                    const husk__slot *slot = &schedule->calls[c].slots[s];
                    for (int which = 0; which < 2; which++)
                        if (slot->storage == (which ? j : i)) {
                            first[which] = first[which] < c ? first[which] : c;
                            last[which] = c;
                            *(slot->access == HUSK__READ ? &reads : &writes) = which;
                        }
                }
                in_place = in_place || (reads >= 0 && writes >= 0 && reads != writes && last[reads] == c &&
                                        first[writes] == c && a->offset == b->offset && a->bytes == b->bytes);
            }
            if (last[0] < 0 || last[1] < 0)
                continue;
            bool apart = last[0] < first[1] || last[1] < first[0];
            bool touch = last[0] == first[1] || last[1] == first[0];
            ck_assert_msg(apart || (touch && in_place), "storages %d (calls %d to %d) and %d (%d to %d) share bytes",
                          (int)i, (int)first[0], (int)last[0], (int)j, (int)first[1], (int)last[1]);
            pairs++;
        }
    ck_assert_int_gt(pairs, 0);
}

static husk_graph *make(husk_dtype dtype, husk_value (*build)(husk_graph *graph), void (*fill)(husk_graph *graph),
                        uint32_t keep_values)
{
    husk_graph *graph = test_graph(dtype, 7);
    husk_error error = {0};
    husk_optimizer_params adam = husk_adam(0.01);
    husk_graph_options options =
        HUSK_GRAPH_OPTIONS(.loss = build(graph), .optimizer = &adam, .keep_values = keep_values);
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    fill(graph);
    return graph;
}

static char *read_parameters(husk_graph *graph, uint64_t *bytes)
{
    husk_buffer *buffer = graph->compiled->regions[HUSK__REGION_PARAMETERS];
    *bytes = husk_buffer_size(buffer);
    char *host = malloc(*bytes);
    test_ok(husk_buffer_read(graph->queue, buffer, 0, *bytes, host));
    return host;
}

void test_memory_is_shared_rightly(husk_dtype dtype, husk_value (*build)(husk_graph *graph),
                                   void (*fill)(husk_graph *graph))
{
    husk_graph *graph = make(dtype, build, fill, 0), *apart = make(dtype, build, fill, 1);
    for (int mode = 0; mode < 2; mode++)
        check_no_overlap(&graph->compiled->schedules[mode]);
    husk_graph_memory memory;
    husk_graph_memory_used(graph, &memory);
    ck_assert_uint_lt(memory.arena, memory.unshared);
    husk_graph_memory_used(apart, &memory);
    ck_assert_uint_eq(memory.arena, memory.unshared);
    const float nan = NAN; // twice it is one of f64's, too
    for (int step = 0; step < 3; step++) {
        husk_buffer *arena = graph->compiled->regions[HUSK__REGION_ARENA];
        test_ok(husk_buffer_fill(graph->queue, arena, 0, husk_buffer_size(arena), &nan, sizeof nan));
        test_graph_ok(graph, husk_graph_step(graph));
        test_graph_ok(apart, husk_graph_step(apart));
    }
    ck_assert(isfinite(test_read_loss(graph, "loss")));
    uint64_t bytes, other_bytes;
    char *one = read_parameters(graph, &bytes), *other = read_parameters(apart, &other_bytes);
    ck_assert_uint_eq(bytes, other_bytes);
    ck_assert(memcmp(one, other, bytes) == 0);
    free(one);
    free(other);
    husk_graph_release(graph);
    husk_graph_release(apart);
}
