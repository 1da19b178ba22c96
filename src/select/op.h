/* SPDX-License-Identifier: MIT */
/*
 * select/op.h: what an operator tells the library of itself: its name, its variants and how to warm it up.
 *
 * An operator resolves a public call into a problem: a plain struct of its own that holds every option with
 * defaults filled in, and every shape and stride, but no buffer. Problems are what variants judge, what plans
 * are made for and what the plan cache is keyed by.
 */
#ifndef HUSK_SELECT_OP_H
#define HUSK_SELECT_OP_H

#include <husk/plan.h>

#include "base/error.h"
#include "base/text.h"
#include "machine/machine.h"
#include "runtime/call.h"
#include "runtime/launch.h"
#include "select/case.h"
#include "select/key.h"

/*
 * One legal setting of a variant's build constants. A variant's menu has at most 8 for a dtype tuple. Its values are
 * read by names: those of an enum, or the fields of a struct that one function fills from them.
 */
typedef struct husk__configuration {
    const char *name;    /* "12x2v" */
    const char *options; /* "-DTILE_M=12 -DTILE_N=2" */
    int32_t values[8];   /* the same numbers for the host; their meaning is the variant's */
} husk__configuration;

typedef enum husk__family {
    HUSK__FAMILY_ANY = 0,
    HUSK__FAMILY_CPU = 1,
    HUSK__FAMILY_GPU = 2 /* GPUs and accelerators */
} husk__family;

enum { HUSK__REASON_CAPACITY = 160 };

/* What a choice is made for. */
typedef struct husk__target {
    const husk_device_traits *traits;
    const husk_machine *machine;
} husk__target;

/* A problem on a device in one configuration: what a variant is asked about. */
typedef struct husk__candidate {
    const void *problem;
    const husk_device_traits *traits;
    const husk_machine *machine; /* block sizes follow from its sizes, times from its rates (husk/machine.h) */
    const husk__configuration *configuration;
    bool is_named; /* by the caller, or HUSK_VARIANT: a variant that needs leave has it */
} husk__candidate;

/* One way of computing an operator. Tuner, verifier, clbench and documentation read this row. */
typedef struct husk__variant {
    const char *name;
    husk__family family; /* where the heuristic takes it; named explicitly it runs anywhere */
    const husk__configuration *configurations;
    size_t configuration_count;

    /* Whether it computes this problem here; writes why not. NULL: always. */
    bool (*supports)(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY]);
    /* Predicted time in nanoseconds, for comparison among the operator's variants. NULL: 0. */
    double (*cost)(const husk__candidate *candidate);
    /* Bytes of scratch a run takes. NULL: none. */
    uint64_t (*workspace)(const husk__candidate *candidate);
    /* See husk_plan_error_factor; NULL: 0. */
    double (*error_factor)(const husk__candidate *candidate);
    /* Operations executed; NULL: 0. */
    double (*flops)(const husk__candidate *candidate);

    /*
     * Get the kernels and whatever else a run needs, into plan->state (freed by unprepare, or by free when
     * that is NULL). UNSUPPORTED and BUILD_FAILED make the library take the next candidate.
     */
    husk_status (*prepare)(husk_plan *plan, const husk__scope *scope);
    void (*unprepare)(husk_plan *plan);
    /*
     * Enqueue. UNSUPPORTED, for a launch that the device refuses, makes the library run another variant instead, if
     * nothing had been enqueued; else the call is answered so, and the next one takes another. arguments is the
     * operator's own struct of tensors; scratch has plan->workspace bytes.
     */
    husk_status (*run)(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope);
} husk__variant;

typedef struct husk__op {
    const char *name;
    size_t problem_size;
    const husk__variant *const *variants; /* ends with NULL */
    /* Everything in the problem, field by field. */
    void (*describe)(const void *problem, husk__key *key);
    /* Build, and launch once, the programs that calls on this device usually take. */
    husk_status (*prewarm)(husk_queue *queue, const husk__scope *scope);
    /*
     * Append the problem's shape class, for tuning: dtype, layout and options that matter to the choice of a variant,
     * and sizes in round numbers (husk__class_size). NULL: only the very same problems are alike.
     */
    void (*classify)(const void *problem, husk__text *text);
    /*
     * The problem as a case of clbench (select/case.h), for whoever reads the log. arguments are those of a run, for
     * what is no part of the problem; NULL where there is no run. Each operator of husk__ops has it; without it the
     * line has the operator's name alone, which does for operators that tests make up.
     */
    void (*write_case)(const void *problem, const void *arguments, husk__case *c);
    /*
     * Where one of the arguments may be packed weights: its name, and what they have to agree with a plan in beside
     * variant and configuration. NULL: none may.
     */
    const char *packed_argument;
    void (*describe_packed)(const husk_plan *plan, husk__key *key);
} husk__op;

/* A size within a factor of two, for classify: " m=512+" for 512 to 1023. 0 and 1 are exact. */
void husk__class_size(husk__text *text, const char *name, int64_t size);

/* Every operator, made by CMake from the husk_add_op lines; ends with NULL. */
extern const husk__op *const husk__ops[];

/*
 * What the names of the kernel files of each begin with: "conv/", "conv/backward_data", "elementwise/unary". Gradients
 * that share forward's files have forward's.
 */
extern const char *const husk__op_kernels[];

/* The operator of this name, or NULL. */
const husk__op *husk__op_find(const char *name);

#endif
