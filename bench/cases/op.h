/* SPDX-License-Identifier: MIT */
/*
 * bench/cases/op.h: what bench/cases/<op>.c says about its operator: the keys of its cases, sizes, operands, how it
 * is run through the library, how its result is checked, and small configurations for `clbench verify`.
 */
#ifndef BENCH_CASES_OP_H
#define BENCH_CASES_OP_H

#include "cases/field.h"
#include "cases/husk_job.h"
#include "cases/verdict.h"

typedef struct bench_op {
    const char *name;
    /*
     * By direction, the library's operator whose variants compute it: [BENCH_BWD] = "tile_backward". NULL: the library
     * has no such direction; forward is there always, by the operator's own name. The functions below ask c->dir.
     */
    const char *gradients[BENCH_DIRECTIONS];

    /* Parsing. fields ends with a NULL key; the common fields (dtype, dir ...) are added to it by flags. */
    const bench_field *fields;
    unsigned common; /* bench_common_field bits */
    /* Dimensions of space, for list fields; NULL: the operator has none. 0: reason says what is wrong. */
    int64_t (*space)(const bench_case *c, char reason[BENCH_REASON_TEXT]);
    /* Check what single fields cannot; what says the default in other words becomes the default. */
    bool (*normalise)(bench_case *c, char reason[BENCH_REASON_TEXT]);
    /* Write out defaults and derived fields; the canonical form has been taken. */
    void (*resolve)(bench_case *c);

    /* Sizes. */
    double (*flops)(const bench_case *c);
    double (*macs)(const bench_case *c); /* NULL: none */
    double (*bytes)(const bench_case *c); /* that have to move, in the case's dtype: see bench_case_element */
    double (*operands)(const bench_case *c); /* that all operands take, where some need not be read; NULL: as bytes */
    bool is_bandwidth;
    double peak_factor; /* operations an instruction does for one of f32's; 0 means 1, eight-bit integers have 4 */

    /* Whether dtype= makes all floating-point operands that dtype; else the operator is measured in f32 alone. */
    bool narrows;
    unsigned keeps_saved; /* narrows: bits of what forward has saved that stays f32 beside f16 and bf16 */

    unsigned updates_saved; /* bits of data.saved that a run changes in place: its result has them, too */

    /* Operands: shapes, memory and numbers. False: memory is short. */
    bool (*make_data)(const bench_case *c, bench_data *data, uint64_t seed);
    /* Outputs beside y (which is made from data.y), with BENCH_BWD and its kin further gradients; NULL: none. */
    bool (*make_output)(const bench_case *c, const bench_data *data, bench_output *output);

    /* The library: make the plan and the packed weights, for packed=1 alone; enqueue one run of a set. */
    husk_status (*husk_prepare)(bench_husk_job *job);
    husk_status (*husk_enqueue)(bench_husk_job *job, bench_husk_set *set);
    /* Whether several of the library's operators compute the case, so that no plan tells about all; NULL: never. */
    bool (*is_composed)(const bench_case *c);

    /* Compare an output with the reference. */
    void (*verify)(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict);

    /* The index-th small configuration for `clbench verify`, as a case line; false past the last. */
    bool (*generate)(int64_t index, char line[BENCH_CASE_TEXT]);
} bench_op;

#endif
