// SPDX-License-Identifier: MIT
#include "train/nodes/views.h"

#include "train/nodes/copy.h"

husk_value husk__graph_reshape(husk__building *building, husk_value x, int32_t rank, const int64_t *shape)
{
    husk_tensor xt;
    char text[160], other[160];
    if (!husk__graph_argument(building, x, "x", &xt))
        return HUSK_NO_VALUE;
    if (rank < 0 || rank > HUSK_MAX_RANK || (rank > 0 && !shape))
        return husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "shape", "a rank of 0 to %d and a shape are wanted",
                                  HUSK_MAX_RANK);
    int64_t count = husk_tensor_count(&xt), known = 1;
    husk_tensor wanted = husk_tensor_make(NULL, xt.dtype, rank, shape);
    int32_t open = -1;
    for (int32_t d = 0; d < rank; d++)
        if (shape[d] == -1 && open < 0)
            open = d;
        else if (shape[d] < 1 || shape[d] > count)
            return husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "shape",
                                      "dimension %d is %lld; x is %s, and one dimension may be -1", (int)d,
                                      (long long)shape[d], husk__graph_shape_text(&xt, text));
        else if (known && shape[d] <= count / known)
            known *= shape[d];
        else
            known = 0; // past count: it fits in no way
    if (open >= 0 && known)
        wanted.shape[open] = count / known;
    if (!known || (open >= 0 ? count % known : known != count))
        return husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "shape", "%s, but x is %s",
                                  husk__graph_shape_text(&wanted, text), husk__graph_shape_text(&xt, other));
    if (!husk__is_packed(&xt)) {
        x = husk__graph_copied(building, NULL, x, &xt);
        if (!x)
            return HUSK_NO_VALUE;
        xt = building->graph->values[x].tensor;
    }
    husk_tensor view = husk_tensor_make(NULL, xt.dtype, rank, wanted.shape);
    view.offset = xt.offset;
    return husk__graph_view(building, x, &view, true);
}

husk_value husk_graph_reshape(husk_graph *graph, const char *name, husk_value x, int32_t rank, const int64_t *shape)
{
    husk__building building;
    if (!husk__graph_begin(&building, graph, "husk_graph_reshape", "reshape", name, true))
        return HUSK_NO_VALUE;
    return husk__graph_reshape(&building, x, rank, shape);
}

husk_value husk_graph_permute(husk_graph *graph, const char *name, husk_value x, const int32_t *order)
{
    husk__building building;
    husk_tensor xt;
    if (!husk__graph_begin(&building, graph, "husk_graph_permute", "permute", name, true) ||
        !husk__graph_argument(&building, x, "x", &xt))
        return HUSK_NO_VALUE;
    uint32_t seen = 0;
    for (int32_t d = 0; d < xt.rank && order; d++)
        seen |= order[d] >= 0 && order[d] < xt.rank ? 1u << order[d] : 0;
    if (!order || seen != (1u << xt.rank) - 1)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "order",
                                  "each of x's %d dimensions has to be there once", (int)xt.rank);
    husk_tensor view = husk_tensor_permute(&xt, order);
    return husk__graph_view(&building, x, &view, true);
}

husk_value husk_graph_slice(husk_graph *graph, const char *name, husk_value x, int32_t axis, int64_t first,
                            int64_t count)
{
    husk__building building;
    husk_tensor xt;
    if (!husk__graph_begin(&building, graph, "husk_graph_slice", "slice", name, true) ||
        !husk__graph_argument(&building, x, "x", &xt))
        return HUSK_NO_VALUE;
    int32_t dimension;
    if (!husk__graph_axis(&building, "axis", "", axis, &xt, "x", &dimension))
        return HUSK_NO_VALUE;
    int64_t extent = xt.shape[dimension];
    if (first < 0 || count < 1 || count > extent || first > extent - count)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "count", "%lld elements from %lld on of %lld",
                                  (long long)count, (long long)first, (long long)extent);
    husk_tensor view = husk_tensor_slice(&xt, dimension, first, count, 1);
    return husk__graph_view(&building, x, &view, count == extent);
}
