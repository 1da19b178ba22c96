// SPDX-License-Identifier: MIT
#include "ops/optimizer/grad_list.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/tensor.h"

typedef husk__grad_list_problem problem;
typedef husk__grad_list_launch launch;

problem husk__grad_list_resolve(const husk__list *list, bool has_parts)
{
    return (problem){husk__list_units(list), husk__list_dtypes(list), husk__list_accumulator(list), has_parts};
}

void husk__grad_list_describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_i64(key, own->units);
    husk__key_i64(key, own->dtypes);
    husk__key_i64(key, own->has_parts);
}

void husk__grad_list_classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    husk__text_format(text, " dtypes=%u", (unsigned)own->dtypes);
    husk__class_size(text, "units", own->units);
}

void husk__grad_list_begin_case(const problem *own, const char *op, const husk__list *list, husk__case *c)
{
    const bool is_known = list && list->count > 0;
    bool is_alike = true;
    husk__case_begin(c, op);
    husk__case_size(c, "count", is_known ? husk__tensor_count(list->tensors[0]) : own->units * HUSK__LIST_UNIT);
    if (is_known)
        husk__case_integer(c, "tensors", (int64_t)list->count, 1);
    else
        husk__case_note(c, "%lld units, of any tensors", (long long)own->units);
    for (size_t i = 1; is_known && i < list->count; ++i)
        is_alike = is_alike && husk__tensor_count(list->tensors[i]) == husk__tensor_count(list->tensors[0]);
    if (!is_alike)
        husk__case_note(c, "tensors of other sizes");
    if (own->dtypes != 1u << HUSK_F32) // cases have f32 alone
        for (int dtype = 0; dtype < 32; ++dtype)
            if (own->dtypes >> dtype & 1)
                husk__case_note(c, "%s", husk_dtype_name((husk_dtype)dtype));
}

const husk__configuration husk__grad_list_vector_menu[1] = {{.name = "1", .options = "", .values = {1}}};

uint64_t husk__grad_list_workspace(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    return own->has_parts ? (uint64_t)own->units * husk__accumulator_size(own->accumulator) : 0;
}

husk_status husk__grad_list_prepare(husk_plan *plan, const husk__scope *scope)
{
    const problem *what = plan->problem;
    launch *own = calloc(1, sizeof *own);
    plan->state = own; // freed with the plan
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    char file[64], kernel[64], finish[64], options[96];
    snprintf(file, sizeof file, "optimizer/%s_%s.cl", plan->op->name, plan->variant->name);
    snprintf(kernel, sizeof kernel, "husk_%s_%s", plan->op->name, plan->variant->name);
    snprintf(finish, sizeof finish, "husk_%s_%s_finish", plan->op->name, plan->variant->name);
    husk_status status = HUSK_OK;
    for (int dtype = 0; dtype < HUSK__LIST_DTYPES && status == HUSK_OK; ++dtype) {
        if (!(what->dtypes >> dtype & 1))
            continue;
        snprintf(options, sizeof options, "%s %s", husk__dtype_option((husk_dtype)dtype), plan->configuration->options);
        status = husk__kernel_get(plan->context, file, options, kernel, &own->kernels[dtype], scope);
        if (status == HUSK_OK && !own->finish)
            status = husk__kernel_get(plan->context, file, options, finish, &own->finish, scope);
    }
    return status;
}

husk__arg husk__grad_list_parts(const husk_plan *plan, const husk__scratch *scratch)
{
    const problem *own = plan->problem;
    return HUSK__ARG_BUFFER(own->has_parts && own->units > 0 ? scratch->buffer : NULL, 0,
                            husk__accumulator_size(own->accumulator));
}
