/* SPDX-License-Identifier: MIT */
/*
 * select/plan.h: choosing a variant, plans, their cache, packed weights. What operators call.
 */
#ifndef HUSK_SELECT_PLAN_H
#define HUSK_SELECT_PLAN_H

#include <stdatomic.h>

#include <husk/tuning.h>

#include "select/op.h"

/* A plan may have plans inside it, and they too: rnn_backward, gemm_backward, gemm. */
enum { HUSK__PLAN_DEPTH = 3 };

/* Most bytes of scratch memory. */
typedef struct husk__limit {
    uint64_t bytes;  /* 0: none */
    bool is_default; /* nobody has asked for it */
} husk__limit;

struct husk_plan {
    atomic_int references;
    husk_context *context;
    bool holds_context; /* not while it lies in the context's own cache or inside another plan */
    const husk__op *op;
    const husk__variant *variant;
    const husk__configuration *configuration;
    void *problem; /* a copy of the operator's problem */
    void *state;   /* the variant's own */
    uint64_t workspace;
    husk__limit limit;
    uint64_t inside_limit;                       /* husk__preference's, or less */
    uint64_t inside_workspace[HUSK__PLAN_DEPTH]; /* of the plans inside it, and inside those: the most at each depth */
    uint64_t largest_inside; /* the most that one of them takes with those inside it */
    double flops;
    double error_factor;
    double predicted_ns;
    husk_choice choice;
    bool is_call; /* made for immediate calls, not by the caller */
};

/* The context's device, which is measured where nobody has asked for it before. */
husk_status husk__target_find(husk_context *context, husk__target *target, const husk__scope *scope);
/* What the variant is asked about a plan of its own. */
husk__candidate husk__candidate_of(const husk_plan *plan);

/* How a caller restricts the choice. */
typedef struct husk__preference {
    const char *variant; /* NULL, "name" or "name:configuration": never replaced by another */
    husk__limit limit; /* of the workspace */
    uint64_t inside_limit; /* a composite's: what it and the plans inside it may take together; 0: no limit */
} husk__preference;

/*
 * A plan for the problem: the user's word, else HUSK_VARIANT (which gives way, with a log line, where it
 * cannot compute the problem), else what a tuning database says (which gives way in the same manner), else the cheapest
 * by the variants' own prediction that prepares successfully.
 * INVALID_ARGUMENT for a variant that does not exist; UNSUPPORTED with the reason where none computes it.
 */
husk_status husk__plan_create(husk_context *context, const husk__op *op, const void *problem,
                              const husk__preference *preference, husk_plan **plan, const husk__scope *scope);

/*
 * The plan inside belongs to outer from now on, which keeps the context alive for both and counts its scratch memory.
 */
void husk__plan_adopt(husk_plan *outer, husk_plan *inside);
/*
 * What a plan inside outer may take: what the caller's own limit leaves, at least one byte; 0 where the caller gave
 * none, so that the default of its own tensors holds.
 */
uint64_t husk__plan_inside_limit(const husk_plan *outer);

/* husk__plan_create through the context's cache. Release the plan after use. */
husk_status husk__plan_find(husk_context *context, const husk__op *op, const void *problem,
                            const husk__preference *preference, husk_plan **plan, const husk__scope *scope);

/*
 * Run with scratch from the queue. The caller has checked the arguments. Where the device refuses a launch of a variant
 * that was not named, it is not chosen again, nor what contains it unless with another one inside.
 */
husk_status husk__plan_execute(const husk_plan *plan, husk_queue *queue, const void *arguments,
                               const husk__scope *scope);

/*
 * An immediate call: find and execute. In the place of a variant whose launch the device refuses another one is taken
 * at once where that launch was the first of the run.
 */
husk_status husk__plan_immediate(husk_queue *queue, const husk__op *op, const void *problem,
                                 const husk__preference *preference, const void *arguments, const husk__scope *scope);

/* The plan of the queue's last immediate call, for husk_queue_plan; the caller's reference goes to the queue. */
void husk__plan_was_last(husk_plan *plan, husk_queue *queue);

/* A plan of this operator, whose context is the queue's: what every ..._plan_run begins with. */
husk_status husk__plan_check(const husk_plan *plan, const husk__op *op, const husk_queue *queue,
                             const husk__scope *scope);

/* The tensor of a run against the one the plan was made for: rank, dtype, shape and strides are the same. */
husk_status husk__plan_check_tensor(const husk_tensor *planned, const husk_tensor *given, const char *argument,
                                    const husk__scope *scope);

/*
 * The default limit: the larger of 64 MiB and twice the tensors' bytes, those of f16 and bf16 counted as the f32 that
 * they are computed in. NULL tensors count nothing.
 */
husk__limit husk__default_limit(const husk_tensor *const *tensors, size_t count);
/*
 * Packed weights (or NULL) ask for what they were packed for, where nothing is named, or its variant without a
 * configuration.
 */
void husk__preference_of_packed(husk__preference *preference, const husk_packed *packed);
/* The preference of a call whose params name this variant (or NULL) and limit (or 0), for these tensors. */
husk__preference husk__preference_of(const char *named, uint64_t limit, const husk_tensor *const *tensors,
                                     size_t count);

/* ---- packed weights ---- */

struct husk_packed {
    atomic_int references;
    const husk__op *op;
    const husk__variant *variant;
    const husk__configuration *configuration;
    husk_buffer *buffer;
    husk_tensor logical; /* shape and dtype of the plain weights */
    husk__key key; /* whatever else must agree, written by the operator */
    char preference[96]; /* "variant:configuration" */
    uint32_t flags; /* the operator's own */
    /* A composite's: packed weights of the plans it is made of, entries may be NULL. Freed with the array. */
    husk_packed **parts;
    size_t part_count;
};

/* An empty object with memory of bytes, for the operator to fill by enqueuing its packing. */
husk_status husk__packed_create(const husk_plan *plan, uint64_t bytes, const husk_tensor *logical, husk_packed **packed,
                                const husk__scope *scope);

/* Refuse packed weights that were made for another context, operator, variant, configuration or key. */
husk_status husk__packed_check(const husk_packed *packed, const husk_plan *plan, const husk__scope *scope);

/* husk__plan_create for a call that may have packed weights (else NULL): a plan that does not fit them is none. */
husk_status husk__packed_plan_create(husk_context *context, const husk__op *op, const void *problem,
                                     const husk__preference *preference, const husk_packed *packed, husk_plan **plan,
                                     const husk__scope *scope);

/* husk__plan_immediate likewise. With packed weights no other variant can take the place of one that is refused. */
husk_status husk__packed_immediate(husk_queue *queue, const husk__op *op, const void *problem,
                                   const husk__preference *preference, const husk_packed *packed, const void *arguments,
                                   const husk__scope *scope);

/*
 * The weights of a run, packed or not, against the planned ones. is_packed: the plan was made for packed weights, so it
 * knows no strides of plain ones.
 */
husk_status husk__packed_check_weights(const husk_plan *plan, const husk_tensor *planned, bool is_packed,
                                       const husk_tensor *given, const husk__scope *scope);

/* Any other tensor of a run, which may not be packed. has: the plan was made for one. */
husk_status husk__packed_check_other(const husk_plan *plan, const husk_tensor *planned, bool has,
                                     const husk_tensor *given, const char *argument, const husk__scope *scope);

/* What every ..._plan_pack asks of its arguments once it has its plan; planned and is_packed as above. */
husk_status husk__packed_begin(const husk_plan *plan, husk_queue *queue, const husk_tensor *planned, bool is_packed,
                               const husk_tensor *given, husk_packed *const *packed, const husk__scope *scope);

#endif
