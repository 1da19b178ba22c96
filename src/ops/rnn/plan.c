// SPDX-License-Identifier: MIT
// Recurrent layers: the tensors of a run against those that its plan was made for.
#include "ops/rnn/resolve.h"

static husk_status check_optional(bool is_planned, const husk_tensor *planned, const husk_tensor *given,
                                  const char *name, const husk__scope *scope)
{
    if (is_planned != (given != NULL))
        return husk__reject(scope, name,
                            is_planned ? "is NULL, the plan was made for one" : "is given, the plan was made for none");
    if (given && given->packed)
        return husk__reject(scope, name, "is packed; packed weights go into inputs.packed");
    return given ? husk__plan_check_tensor(planned, given, name, scope) : HUSK_OK;
}

husk_status husk__rnn_check_run(const husk__rnn_problem *problem, const husk__rnn_run *run, const husk__scope *scope)
{
    const husk_rnn_inputs *inputs = run->inputs;
    const husk_rnn_outputs *outputs = run->outputs;
    const husk__rnn_given *given = &problem->given;
    husk_status status = check_optional(true, &given->x, inputs->x, "x", scope);
    if (status == HUSK_OK)
        status = check_optional(problem->has_lengths, &problem->lengths, inputs->lengths, "lengths", scope);
    if (status == HUSK_OK)
        status = check_optional(problem->has_h0, &given->h0, inputs->h0, "h0", scope);
    if (status == HUSK_OK)
        status = check_optional(problem->has_c0, &given->c0, inputs->c0, "c0", scope);
    if (status == HUSK_OK)
        status = check_optional(true, &given->y, outputs->y, "y", scope);
    if (status == HUSK_OK)
        status = check_optional(problem->has_h_n, &given->h_n, outputs->h_n, "h_n", scope);
    if (status == HUSK_OK)
        status = check_optional(problem->has_c_n, &given->c_n, outputs->c_n, "c_n", scope);
    if (status == HUSK_OK)
        status = check_optional(problem->has_reserve, &problem->reserve, outputs->reserve, "reserve", scope);
    if (status == HUSK_OK && inputs->weights && inputs->packed)
        status = husk__reject(scope, "packed", "is given beside weights; one of the two must be NULL");
    if (status == HUSK_OK && !inputs->weights && !inputs->packed)
        status = husk__reject(scope, "weights", "is NULL, and packed is NULL too");
    return status == HUSK_OK ? husk__rnn_refuse_packed_training(inputs, problem, scope) : status;
}

husk_status husk__rnn_check_weights(const husk__rnn_problem *problem, const husk_rnn_weights *weights,
                                    const husk__scope *scope)
{
    for (int64_t i = 0; i < husk__rnn_weight_count(problem); ++i) {
        husk__rnn_rows rows;
        husk_status status = husk__rnn_resolve_weight(&weights[i], i, problem, &rows, scope);
        if (status != HUSK_OK)
            return status;
        const husk__rnn_rows *planned = &problem->given.rows[i];
        const bool is_same = rows.input == planned->input && rows.hidden == planned->hidden;
        char name[HUSK__RNN_NAME];
        if (!is_same)
            return husk__reject(scope, husk__rnn_weight_name(i, "", name),
                                "has rows %lld and %lld elements apart, the plan was made for %lld and %lld",
                                (long long)rows.input, (long long)rows.hidden, (long long)planned->input,
                                (long long)planned->hidden);
    }
    return HUSK_OK;
}
