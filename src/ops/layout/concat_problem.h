/* SPDX-License-Identifier: MIT */
/*
 * ops/layout/concat_problem.h: a tensor and its parts, one after the other along an axis; what husk_concat and its
 * gradient, which copies the other way round, share.
 */
#ifndef HUSK_OPS_LAYOUT_CONCAT_PROBLEM_H
#define HUSK_OPS_LAYOUT_CONCAT_PROBLEM_H

#include <husk/ops/concat.h>

#include "runtime/walk.h"
#include "select/plan.h"

enum { HUSK__CONCAT_PARTS = 8 }; /* of a launch; PARTS in cl/lib/concat.clh */

/* A launch: cl/lib/concat.clh says how its parts lie. */
typedef struct husk__concat_problem {
    bool is_gradient, adds;
    husk_dtype dtype;
    int32_t count;
    uint32_t wanted;
    husk__walk outer; /* of the whole and, where there is one part, of that */
    int64_t whole_step, part_step, total;
    int64_t ends[HUSK__CONCAT_PARTS], strides[HUSK__CONCAT_PARTS];
} husk__concat_problem;

typedef struct husk__concat_arguments {
    const husk_tensor *whole;                     /* of these parts alone */
    const husk_tensor *parts[HUSK__CONCAT_PARTS]; /* NULL where it is not wanted */
} husk__concat_arguments;

extern const husk__variant *const husk__concat_variants[];

void husk__concat_describe(const void *problem, husk__key *key);
void husk__concat_classify(const void *problem, husk__text *text);
void husk__concat_write_case(const void *problem, const void *arguments, husk__case *c);

/* A call: the whole is y or dy, the parts inputs or gradients. */
typedef struct husk__concat_call {
    const husk__op *op;
    bool is_gradient;
    const char *whole_name, *part_name; /* as in texts for people: "y", "inputs" */
    const husk_tensor *whole;
    const husk_tensor *const *parts;
    const int64_t *extents; /* of the gradient; may be NULL */
    size_t count;
} husk__concat_call;

husk_status husk__concat_validate(husk_queue *queue, const husk_concat_params *params, const husk__concat_call *call,
                                  const husk__scope *scope);
/* In as many launches as it takes. */
husk_status husk__concat_enqueue(husk_queue *queue, const husk_concat_params *params, const husk__concat_call *call,
                                 const husk__scope *scope);
/* The program that calls on this device usually take, on two vectors of numbers. */
husk_status husk__concat_prewarm(husk_queue *queue, const husk__op *op, bool is_gradient, const husk__scope *scope);

#endif
