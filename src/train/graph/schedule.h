/* SPDX-License-Identifier: MIT */
/*
 * train/graph/schedule.h: what a step does: calls of operators in order, and the memory that their tensors lie in.
 *
 * A graph has two: training (forward, then backward) and evaluation. Each is written by the nodes' kinds, forward in
 * the order in which they were made, backward in the opposite one; then the arena is planned from which call touches
 * what (train/graph/arena.h), and buffers and plans are bound to the calls (train/step/compile.c).
 */
#ifndef HUSK_TRAIN_GRAPH_SCHEDULE_H
#define HUSK_TRAIN_GRAPH_SCHEDULE_H

#include "train/graph/graph.h"

/* The first two are those of the micro-batch in use. */
typedef enum husk__region {
    HUSK__REGION_ARENA,
    HUSK__REGION_OUTSIDE, /* inputs, outputs, and a few numbers */
    HUSK__REGION_PARAMETERS,
    HUSK__REGION_COPIES, /* of parameters, in the graph's dtype, where that is narrower than theirs */
    HUSK__REGION_GRADIENTS,
    HUSK__REGION_SCALE /* the loss scale: husk_grad_scale's state */
} husk__region;
#define HUSK__REGION_KEPT HUSK__REGION_PARAMETERS /* and those behind it */
#define HUSK__REGIONS 6

/* Memory of one root, of its gradient, or of what a node needs for a moment. */
typedef struct husk__storage {
    husk__region region;
    uint64_t bytes, offset; /* within the region */
    int32_t value;          /* the root whose it is; 0: for a moment */
    bool is_gradient;
    bool is_kept;           /* to the end of the step */
    int32_t first, last;    /* the calls that touch it; last < 0: none does */
    int32_t shares;         /* in place: the storage whose memory it has; itself else */
} husk__storage;

typedef enum husk__access { HUSK__READ = 1, HUSK__WRITE = 2, HUSK__UPDATE = 3 } husk__access;

/* An argument of a call. */
typedef struct husk__slot {
    int32_t storage; /* -1: the argument is NULL */
    husk__access access;
    uint32_t in_place;  /* of a WRITE: bit i: it may take the memory of slot i */
    husk_tensor tensor; /* within the storage; after binding, with buffer, within that */
} husk__slot;

typedef struct husk__call husk__call;
struct husk__call {
    int32_t node;
    bool is_backward;
    bool is_idle; /* a copy onto itself */
    husk_status (*run)(husk_graph *graph, const husk__call *call);
    /* Makes the plan, where the operator has plans. */
    husk_status (*plan_create)(husk_graph *graph, husk__call *call, husk_error *error);
    uint64_t workspace; /* at most, where there is no plan */
    husk_plan *plan;
    const struct husk__verifier *verifier; /* train/check/verify.h; NULL: none */
    char *variant;                         /* what params name since it was verified; NULL: nothing */
    husk__node_params params;
    float alpha;
    husk__slot *slots;
    int32_t slot_count;
    void *room; /* malloc'ed, for what run makes of the slots; NULL: it needs none */
};

struct husk__schedule {
    husk_graph *graph;
    husk_graph_mode mode;
    bool accumulates; /* gradients of parameters are added to what is there */
    bool keep_values; /* every value has memory of its own */
    bool is_backward; /* what is being written */
    bool failed;      /* no host memory for a storage */
    husk__train_scope scope;
    husk__call *calls;
    int32_t count, capacity, forward_count;
    husk__storage *storages;
    int32_t storage_count, storage_capacity;
    int32_t *of_value, *of_gradient; /* by root: its storage, -1: none yet */
    bool *written;                   /* by root: the gradient is there, or a part of it in a storage of zeros */
    husk__slot *targets; /* room for husk__targets */
    int32_t target_capacity;
    int32_t loss; /* its root, which is kept as an output is; 0: none */
    int32_t seed; /* the storage of the loss' gradient; -1: none */
    uint64_t arena, unshared, workspace;
};

husk_status husk__schedule_build(husk__schedule *schedule, husk_graph *graph, husk_graph_mode mode, husk_value loss,
                                 bool accumulates, bool keep_values, const husk__train_scope *scope);
void husk__schedule_release(husk__schedule *schedule);

/* ---- for the kinds of nodes ------------------------------------------------------------------------------ */

static inline bool husk__is_training(const husk__schedule *schedule)
{
    return schedule->mode == HUSK_GRAPH_TRAINING;
}
static inline const husk_tensor *husk__value_tensor(const husk__schedule *schedule, int32_t value)
{
    return &schedule->graph->values[value].tensor;
}

/* An argument that is absent. */
husk__slot husk__slot_none(void);
/* A value; absent for value 0. */
husk__slot husk__slot_read(husk__schedule *schedule, int32_t value);
husk__slot husk__slot_write(husk__schedule *schedule, int32_t value, uint32_t in_place);
husk__slot husk__slot_update(husk__schedule *schedule, int32_t value);
/* The gradient of an output, to be read; absent where it has none. */
husk__slot husk__slot_gradient(husk__schedule *schedule, int32_t value);
/* Packed memory of this tensor's shape for a moment: written by one call, read by later ones. */
husk__slot husk__slot_temporary(husk__schedule *schedule, const husk_tensor *like, uint32_t in_place);
/* The same memory, read. */
husk__slot husk__slot_again(husk__slot slot);

/* Add a call; NULL: no memory. The slots are copied. */
husk__call *husk__call_add(husk__schedule *schedule, const husk__node *node,
                           husk_status (*run)(husk_graph *graph, const husk__call *call), const husk__slot *slots,
                           int32_t count);

/* The first output, or that of the activation which the node takes over. */
int32_t husk__output_of(const husk__schedule *schedule, const husk__node *node);
/* That activation; NULL: none. */
const husk__node *husk__activation_of(const husk__schedule *schedule, const husk__node *node);
/* Whether backward will want what forward can save for it. */
bool husk__saves(const husk__schedule *schedule, const husk__node *node);
/* Whether the gradient by this value is wanted. */
bool husk__wants_gradient(const husk__schedule *schedule, int32_t value);

/*
 * Where a call is to write gradients by several values. Those that are not wanted are absent. bits says which bit of
 * husk_accumulate a value belongs to (NULL: all to that of inputs): where one of a bit's has to be added to, all have,
 * and the others' memory is filled with zeros before. A value that lies in the memory of another one is computed
 * elsewhere and added by husk__targets_settle, after the call; so is a parameter's gradient that is f32 where its value
 * is not, unless bits has HUSK__WIDE: the operator can write it. One is in use at a time: the slots are the schedule's.
 */
#define HUSK__WIDE 0x80
typedef struct husk__targets {
    husk__slot *slots;   /* as many as values */
    uint32_t accumulate; /* husk_accumulate's bits */
    bool any;            /* something is wanted */
    int32_t count;
    husk__slot *settled; /* what is added to or written, absent where nothing is */
} husk__targets;

husk_status husk__targets_begin(husk__schedule *schedule, const husk__node *node, const int32_t *values,
                                const uint8_t *bits, int32_t count, uint32_t in_place, husk__targets *targets);
husk_status husk__targets_settle(husk__schedule *schedule, const husk__node *node, husk__targets *targets);

/* y = x, from the gradient of one value to another's, added where something is there. */
husk_status husk__add_gradient(husk__schedule *schedule, const husk__node *node, husk__slot from, int32_t value);
/* y = x: no call at all where both can have one memory. */
husk_status husk__add_copy(husk__schedule *schedule, const husk__node *node, husk__slot from, husk__slot to);

bool husk__call_is_copy(const husk__call *call);

/* ---- for running ----------------------------------------------------------------------------------------- */

/* The tensor of a slot; NULL where it is absent. */
static inline const husk_tensor *husk__tensor_of(const husk__call *call, int32_t slot)
{
    return call->slots[slot].storage < 0 ? NULL : &call->slots[slot].tensor;
}

#endif
