// SPDX-License-Identifier: MIT
// From a public call's arguments to a convolution's problem: validation, defaults, and three dimensions.
#include "ops/conv/problem.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/epilogue.h"
#include "base/params.h"
#include "base/tensor.h"

husk_status husk__conv_read_params(const husk_conv_params *given, husk_conv_params *params, const husk__scope *scope)
{
    return husk__params_read(params, sizeof *params, "HUSK_CONV_PARAMS", given, scope);
}

static husk_status check_options(const husk_conv_params *params, int32_t space, const husk__scope *scope)
{
    husk_status status = husk__epilogue_check(params->activation, params->activation_slope, "activation_slope", scope);
    if (status == HUSK_OK)
        status = husk__precision_check(params->precision, scope);
    if (status != HUSK_OK)
        return status;
    if (params->groups < 0)
        return husk__reject(scope, "params", "groups is %lld, it must be at least 1", (long long)params->groups);
    if (params->winograd > 1)
        return husk__reject(scope, "params", "winograd is %u, neither 0 nor 1", (unsigned)params->winograd);
    for (int32_t i = 0; i < space; ++i) {
        if (params->stride[i] < 0)
            return husk__reject(scope, "params", "stride[%d] is %lld, it must be at least 1", i,
                                (long long)params->stride[i]);
        if (params->dilation[i] < 0)
            return husk__reject(scope, "params", "dilation[%d] is %lld, it must be at least 1", i,
                                (long long)params->dilation[i]);
        if (params->pad[i] < 0)
            return husk__reject(scope, "params", "pad[%d] is %lld, it must not be negative", i,
                                (long long)params->pad[i]);
        int64_t pad_end;
        if (!husk__add_i64(params->pad[i], params->pad_end_extra[i], &pad_end) || pad_end < 0)
            return husk__reject(scope, "params",
                                "pad_end_extra[%d] is %lld, which makes %lld of pad no number from 0 on", i,
                                (long long)params->pad_end_extra[i], (long long)params->pad[i]);
    }
    return HUSK_OK;
}

// Rank, shape, strides and dtype of one tensor, which may be packed by the operator `packs`, if there is one.
static husk_status check_tensor(const husk_tensor *tensor, const char *name, const husk__op *packs,
                                const husk__scope *scope)
{
    husk_status status = husk__tensor_check(tensor, name, scope);
    if (status != HUSK_OK)
        return status;
    if (tensor->packed && !packs)
        return husk__reject(scope, name, "is packed; only the w of husk_conv may be");
    if (tensor->packed && tensor->packed->op != packs)
        return husk__reject(scope, name, "was packed for %s, not for %s", tensor->packed->op->name, packs->name);
    if (tensor->dtype != HUSK_F32 && tensor->dtype != HUSK_F16 && tensor->dtype != HUSK_BF16 &&
        tensor->dtype != HUSK_F64)
        return husk__fail(scope, HUSK_UNSUPPORTED, "%s: is %s; convolution computes f32, f16, bf16 and f64", name,
                          husk_dtype_name(tensor->dtype));
    return HUSK_OK;
}

static husk_status check_weights(const husk_tensor *x, const husk_tensor *w, int64_t groups,
                                 const husk__conv_names *names, const husk__scope *scope)
{
    if (x->rank < 3 || x->rank > 2 + HUSK_MAX_SPACE)
        return husk__reject(scope, names->x,
                            "has rank %d; it must be 3, 4 or 5: N, C and one to three dimensions of space", x->rank);
    if (w->rank != x->rank)
        return husk__reject(scope, names->w, "has rank %d, %s has %d; they must be the same", w->rank, names->x,
                            x->rank);
    if (x->shape[1] % groups != 0)
        return husk__reject(scope, names->x, "has %lld channels, which is no multiple of groups, %lld",
                            (long long)x->shape[1], (long long)groups);
    if (w->shape[1] != x->shape[1] / groups)
        return husk__reject(scope, names->w,
                            "has %lld channels in dimension 1; %s has %lld in %lld groups, so it must be %lld",
                            (long long)w->shape[1], names->x, (long long)x->shape[1], (long long)groups,
                            (long long)(x->shape[1] / groups));
    if (w->shape[0] % groups != 0)
        return husk__reject(scope, names->w, "has %lld filters, which is no multiple of groups, %lld",
                            (long long)w->shape[0], (long long)groups);
    for (int32_t d = 2; d < w->rank; ++d)
        if (w->shape[d] < 1)
            return husk__reject(scope, names->w, "dimension %d is %lld; a filter has at least one element", d,
                                (long long)w->shape[d]);
    return HUSK_OK;
}

// out = floor((in + pad + pad_end - dilation * (filter - 1) - 1) / stride) + 1
static husk_status output_extent(const husk__conv_problem *problem, int32_t i, int64_t *out,
                                 const husk__conv_names *names, const husk__scope *scope)
{
    int64_t padded, extent;
    const int64_t in = problem->x.shape[2 + i], filter = problem->w.shape[2 + i];
    if (!husk__add_i64(in, problem->pad[i], &padded) || !husk__add_i64(padded, problem->pad_end[i], &padded) ||
        !husk__mul_i64(filter - 1, problem->dilation[i], &extent) || !husk__add_i64(extent, 1, &extent))
        return husk__reject(scope, "params", "pad or dilation of dimension %d overflows", i);
    if (padded < extent)
        return husk__reject(scope, names->w, "spans %lld elements in space dimension %d, the padded %s has only %lld",
                            (long long)extent, i, names->x, (long long)padded);
    *out = (padded - extent) / problem->stride[i] + 1;
    return HUSK_OK;
}

husk_status husk__conv_resolve_shape(const husk_conv_params *params, const husk_tensor *x, const husk_tensor *w,
                                     const husk__conv_names *names, husk__conv_problem *problem,
                                     int64_t shape[HUSK_MAX_RANK], const husk__scope *scope)
{
    husk_status status = check_tensor(x, names->x, NULL, scope);
    if (status == HUSK_OK)
        status = check_tensor(w, names->w, names->packs, scope);
    if (status == HUSK_OK)
        status = check_options(params, (int32_t)husk__min_i64(x->rank - 2, HUSK_MAX_SPACE), scope);
    const int64_t groups = params->groups ? params->groups : 1;
    if (status == HUSK_OK)
        status = check_weights(x, w, groups, names, scope);
    if (status != HUSK_OK)
        return status;
    problem->x = *x;
    problem->w = *w;
    problem->activation = params->activation;
    problem->slope = husk__epilogue_resolve(params->activation, params->activation_slope).slope;
    problem->precision = params->precision;
    problem->allows_winograd = params->winograd != 0;
    shape[0] = x->shape[0];
    shape[1] = w->shape[0];
    for (int32_t i = 0; i < x->rank - 2; ++i) {
        problem->stride[i] = params->stride[i] ? params->stride[i] : 1;
        problem->dilation[i] = params->dilation[i] ? params->dilation[i] : 1;
        problem->pad[i] = params->pad[i];
        problem->pad_end[i] = params->pad[i] + params->pad_end_extra[i];
        status = output_extent(problem, i, &shape[2 + i], names, scope);
        if (status != HUSK_OK)
            return status;
    }
    return HUSK_OK;
}

husk_status husk__conv_check_bias(const husk_tensor *bias, const char *name, int64_t filters, bool is_read,
                                  const husk__scope *scope)
{
    husk_status status = check_tensor(bias, name, NULL, scope);
    char text[HUSK__SHAPE_TEXT];
    if (status == HUSK_OK && (bias->rank != 1 || bias->shape[0] != filters))
        return husk__reject(scope, name, "is %s; it must be [%lld], one a filter", husk__shape_text(bias, text),
                            (long long)filters);
    if (status == HUSK_OK && is_read && filters > 1 && bias->strides[0] != 0 && bias->strides[0] != 1)
        return husk__reject(scope, name, "has a stride of %lld; it must be packed (1)", (long long)bias->strides[0]);
    return status;
}

static husk_status check_output(const husk_tensor *y, int32_t rank, const int64_t *shape, const husk__conv_names *names,
                                const husk__scope *scope)
{
    husk_status status = check_tensor(y, names->y, NULL, scope);
    if (status != HUSK_OK)
        return status;
    husk_tensor wanted = {.rank = rank};
    memcpy(wanted.shape, shape, (size_t)rank * sizeof *shape);
    bool is_same = y->rank == rank && memcmp(y->shape, wanted.shape, (size_t)rank * sizeof *shape) == 0;
    char is[HUSK__SHAPE_TEXT], must[HUSK__SHAPE_TEXT];
    if (!is_same)
        return husk__reject(scope, names->y, "is %s, it must be %s", husk__shape_text(y, is),
                            husk__shape_text(&wanted, must));
    husk_tensor resolved = *y;
    husk__tensor_resolve(&resolved);
    if (names->is_forward && husk__tensor_may_alias_itself(&resolved))
        return husk__reject(scope, "y", "has strides that may make two of its elements one");
    return HUSK_OK;
}

// What variants lay out in scratch memory: images with their padding, and the elements under every window. Inputs that
// are expanded do not bound them, nor does a small output.
static husk_status check_products(const husk__conv_geometry *g, const husk__scope *scope)
{
    static const int64_t MOST = INT64_C(1) << 50; // a tile of an engine has up to 2^11 bytes for an element
    const int64_t channels = g->groups * g->channels, filters = g->groups * g->filters;
    int64_t span[3];
    for (int i = 0; i < 3; ++i)
        span[i] = husk__max_i64(g->in[i], (g->out[i] - 1) * g->stride[i] + (g->kernel[i] - 1) * g->dilation[i] + 1);
    const int64_t image[] = {g->batch, channels, span[0], span[1], span[2]};
    const int64_t windows[] = {g->batch,  channels,     g->out[0],    g->out[1],
                               g->out[2], g->kernel[0], g->kernel[1], g->kernel[2]};
    const int64_t places[] = {g->batch, filters,      g->in[0],     g->in[1],
                              g->in[2], g->kernel[0], g->kernel[1], g->kernel[2]};
    if (husk__product_fits(image, 5, MOST) && husk__product_fits(windows, 8, MOST) &&
        husk__product_fits(places, 8, MOST))
        return HUSK_OK;
    return husk__fail(scope, HUSK_UNSUPPORTED,
                      "more than 2^50 elements in x with its padding, or under all windows of w");
}

// What the kernels count with int.
static husk_status check_sizes(const husk__conv_problem *problem, const husk__scope *scope)
{
    const husk__conv_geometry *g = &problem->geometry;
    const int64_t numbers[] = {g->batch,
                               g->groups * g->channels,
                               g->groups * g->filters,
                               g->in[0],
                               g->in[1],
                               g->in[2],
                               g->kernel[0],
                               g->kernel[1],
                               g->kernel[2],
                               g->stride[0],
                               g->stride[1],
                               g->stride[2],
                               g->pad[0],
                               g->pad[1],
                               g->pad[2],
                               g->dilation[0],
                               g->dilation[1],
                               g->dilation[2]};
    // Half of the range, so that a position in the padding and a filter's reach still fit.
    const int64_t most = INT32_MAX / 4;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        if (numbers[i] > most)
            return husk__fail(scope, HUSK_UNSUPPORTED, "a size or option of %lld; convolution counts up to %lld",
                              (long long)numbers[i], (long long)most);
    int64_t positions = 1, depth = g->channels;
    bool fits = true;
    for (int i = 0; i < 3; ++i) {
        fits = fits && g->out[i] <= most && husk__mul_i64(positions, g->out[i], &positions) && positions <= INT32_MAX;
        fits = fits && husk__mul_i64(depth, g->kernel[i], &depth) && depth <= INT32_MAX;
        const int64_t reach = (g->kernel[i] - 1) * g->dilation[i];
        fits = fits && reach <= most && g->out[i] * g->stride[i] + husk__max_i64(reach, 0) <= INT32_MAX;
    }
    if (!fits)
        return husk__fail(scope, HUSK_UNSUPPORTED,
                          "more than 2^31 positions in an image of y, elements in a filter, or places that its "
                          "windows reach over");
    return check_products(g, scope);
}

husk_status husk__conv_check_bias_dtype(const husk_tensor *bias, const char *name, husk_dtype dtype, const char *of,
                                        const husk__scope *scope)
{
    if ((bias->dtype == HUSK_F32 && dtype != HUSK_F64) || bias->dtype == dtype)
        return HUSK_OK;
    return husk__reject(scope, name, "is %s, it must be %s as %s%s", husk_dtype_name(bias->dtype),
                        husk_dtype_name(dtype), of, dtype == HUSK_F64 ? "" : ", or f32");
}

// Both inputs are of one dtype; the output is too, or f32. Nothing of another dtype stands beside f64.
static husk_status check_dtypes(const husk__conv_names *names, husk__conv_problem *problem, const husk__scope *scope)
{
    const husk_tensor *const tensors[] = {&problem->y, &problem->x, &problem->w};
    const char *const all[] = {names->y, names->x, names->w};
    const int first = names->output == HUSK__CONV_Y ? HUSK__CONV_X : HUSK__CONV_Y;
    problem->dtype = tensors[first]->dtype;
    for (int i = 0; i < 3; ++i) {
        const bool may_be_wide = i == (int)names->output && problem->dtype != HUSK_F64;
        if (tensors[i]->dtype == problem->dtype)
            continue;
        if (!may_be_wide || tensors[i]->dtype != HUSK_F32)
            return husk__reject(scope, all[i], "is %s, it must be %s as %s%s", husk_dtype_name(tensors[i]->dtype),
                                husk_dtype_name(problem->dtype), all[first], may_be_wide ? ", or f32" : "");
        problem->wide_output = true;
    }
    if (!problem->has_bias)
        return HUSK_OK;
    return husk__conv_check_bias_dtype(&problem->bias, names->bias, problem->dtype, all[first], scope);
}

// Of a transposed convolution: output_padding, the elements of its result past the fewest that are possible, may be the
// stride or more where it is less than the dilation. Forward would have positions there that its input does not have.
static void allow_padding(husk__conv_problem *problem, const husk_tensor *y, int64_t shape[HUSK_MAX_RANK])
{
    for (int32_t i = 0; i < problem->x.rank - 2 && y->rank == problem->x.rank; ++i) {
        const int64_t stride = problem->stride[i], out = y->shape[2 + i], longer = shape[2 + i] - out;
        const int64_t reach = problem->dilation[i] * (problem->w.shape[2 + i] - 1) + 1;
        const int64_t padded = problem->x.shape[2 + i] + problem->pad[i] + problem->pad_end[i];
        if (out < 1 || longer < 1 || padded - reach - (out - 1) * stride >= problem->dilation[i])
            continue;
        shape[2 + i] = out;
        problem->pad_end[i] -= longer * stride;
    }
}

husk_status husk__conv_resolve(const husk_conv_params *params, const husk_tensor *x, const husk_tensor *w,
                               const husk_tensor *bias, const husk_tensor *y, const husk__conv_names *names,
                               husk__conv_problem *problem, const husk__scope *scope)
{
    int64_t shape[HUSK_MAX_RANK];
    memset(problem, 0, sizeof *problem);
    husk_status status = husk__conv_resolve_shape(params, x, w, names, problem, shape, scope);
    if (status == HUSK_OK && bias)
        status = husk__conv_check_bias(bias, names->bias, w->shape[0], names->output != HUSK__CONV_W, scope);
    if (status == HUSK_OK && names->is_transposed && y)
        allow_padding(problem, y, shape);
    if (status == HUSK_OK)
        status = check_output(y, x->rank, shape, names, scope);
    if (status != HUSK_OK)
        return status;
    problem->y = *y;
    problem->has_bias = bias != NULL;
    if (bias)
        problem->bias = *bias;
    problem->has_packed_weights = w->packed != NULL;
    status = check_dtypes(names, problem, scope);
    if (status != HUSK_OK)
        return status;
    husk_tensor *tensors[] = {&problem->x, &problem->w, &problem->bias, &problem->y};
    for (size_t i = 0; i < 4; ++i) {
        husk__tensor_bare(tensors[i]);
    }
    husk__conv_set_geometry(problem, params->groups ? params->groups : 1);
    return check_sizes(problem, scope);
}

husk_status husk__conv_check_device(husk_context *context, husk__conv_problem *problem, const char *of,
                                    const husk__scope *scope)
{
    problem->precision = husk__context_precision(context, problem->precision);
    problem->allows_winograd = problem->allows_winograd || problem->precision != HUSK_PRECISION_HIGHEST;
    return husk__dtype_check(context, problem->dtype, of, scope);
}

husk_status husk__conv_check_gradient(const husk_conv_params *params, const husk__scope *scope)
{
    if (params->activation != HUSK_ACT_NONE)
        return husk__reject(scope, "params", "activation must be NONE: dy is the gradient before it");
    if (params->accumulate & ~(uint32_t)HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate is %u, which has unknown bits", (unsigned)params->accumulate);
    return HUSK_OK;
}

// ---- three dimensions ----

static void copy_strides(const husk_tensor *tensor, int32_t space, int64_t strides[5])
{
    strides[0] = tensor->strides[0];
    strides[1] = tensor->strides[1];
    for (int32_t i = 0; i < 3; ++i)
        strides[2 + i] = i < 3 - space ? 0 : tensor->strides[2 + i - (3 - space)];
}

static bool is_pointwise(const husk__conv_geometry *g, int i)
{
    return g->kernel[i] == 1 && g->stride[i] == 1 && g->pad[i] == 0 && g->in[i] == g->out[i];
}

// Dimension i vanishes: one of extent 1 comes in from the front.
static void drop_dimension(husk__conv_geometry *g, int i)
{
    int64_t *const lists[] = {g->in, g->out, g->kernel, g->stride, g->dilation};
    for (int j = i; j > 0; --j) {
        for (size_t l = 0; l < sizeof lists / sizeof *lists; ++l)
            lists[l][j] = lists[l][j - 1];
        g->pad[j] = g->pad[j - 1];
        g->x_strides[2 + j] = g->x_strides[1 + j];
        g->y_strides[2 + j] = g->y_strides[1 + j];
        g->w_strides[2 + j] = g->w_strides[1 + j];
    }
    for (size_t l = 0; l < sizeof lists / sizeof *lists; ++l)
        lists[l][0] = 1;
    g->pad[0] = 0;
}

// Neighbouring dimensions of which the filter looks at one element become one where memory allows: the rows
// of a 1x1 convolution are one long row. A last dimension of extent 1 gives its place to the one before.
static void merge_dimensions(husk__conv_geometry *g)
{
    for (int round = 0; round < 2; ++round) {
        const bool last_is_trivial = is_pointwise(g, 2) && g->in[2] == 1;
        const bool can_merge =
            is_pointwise(g, 2) && is_pointwise(g, 1) && g->x_strides[3] == g->in[2] * g->x_strides[4] &&
            g->y_strides[3] == g->out[2] * g->y_strides[4] && g->in[1] <= INT32_MAX / 4 / husk__max_i64(1, g->in[2]);
        if (last_is_trivial) {
            drop_dimension(g, 2);
        } else if (can_merge) {
            const int64_t x_stride = g->x_strides[4], y_stride = g->y_strides[4];
            const int64_t extent = g->in[1] * g->in[2];
            drop_dimension(g, 2);
            g->in[2] = g->out[2] = extent;
            g->x_strides[4] = x_stride;
            g->y_strides[4] = y_stride;
        } else {
            return;
        }
    }
}

// The stride of a dimension of extent 1 is never taken. The one that packed memory would have lets a kernel see
// that the dimensions around it are packed.
static void set_unused_strides(const int64_t extents[3], int64_t strides[5])
{
    for (int i = 1; i >= 0; --i)
        if (extents[i] == 1)
            strides[2 + i] = extents[i + 1] * strides[3 + i];
}

void husk__conv_set_geometry(husk__conv_problem *problem, int64_t groups)
{
    husk__conv_geometry *g = &problem->geometry;
    const int32_t space = problem->x.rank - 2;
    g->batch = problem->x.shape[0];
    g->groups = groups;
    g->channels = problem->w.shape[1];
    g->filters = problem->w.shape[0] / groups;
    for (int32_t i = 0; i < 3; ++i) {
        const int32_t d = i - (3 - space);
        g->in[i] = d < 0 ? 1 : problem->x.shape[2 + d];
        g->out[i] = d < 0 ? 1 : problem->y.shape[2 + d];
        g->kernel[i] = d < 0 ? 1 : problem->w.shape[2 + d];
        g->stride[i] = d < 0 ? 1 : problem->stride[d];
        g->pad[i] = d < 0 ? 0 : problem->pad[d];
        g->dilation[i] = d < 0 ? 1 : problem->dilation[d];
    }
    copy_strides(&problem->x, space, g->x_strides);
    copy_strides(&problem->w, space, g->w_strides);
    copy_strides(&problem->y, space, g->y_strides);
    // A stride or dilation that is never taken is one like any other.
    for (int i = 0; i < 3; ++i) {
        if (g->kernel[i] == 1)
            g->dilation[i] = 1;
        if (g->out[i] == 1)
            g->stride[i] = 1;
    }
    merge_dimensions(g);
    set_unused_strides(g->in, g->x_strides);
    set_unused_strides(g->out, g->y_strides);
}

bool husk__conv_may_transform(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    if (candidate->is_named || ((const husk__conv_problem *)candidate->problem)->allows_winograd)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "Winograd wants leave: precision high, or params.winograd");
    return false;
}

// ---- keys and classes ----

void husk__conv_describe(const void *given, husk__key *key)
{
    const husk__conv_problem *problem = given;
    husk__key_tensor(key, &problem->x);
    husk__key_tensor(key, &problem->w);
    husk__key_tensor(key, problem->has_bias ? &problem->bias : NULL);
    husk__key_tensor(key, &problem->y);
    husk__key_i64(key, problem->has_packed_weights);
    husk__key_i64(key, problem->packs_every_call);
    husk__key_i64(key, problem->accumulates + 2 * problem->is_bias_alone);
    husk__key_i64(key, problem->activation);
    husk__key_f32(key, problem->activation == HUSK_ACT_LEAKY_RELU ? problem->slope : 0.0f);
    husk__key_i64(key, problem->precision + 16 * problem->allows_winograd);
    husk__key_i64(key, problem->geometry.groups);
    for (int32_t i = 0; i < problem->x.rank - 2; ++i) {
        husk__key_i64(key, problem->stride[i]);
        husk__key_i64(key, problem->pad[i]);
        husk__key_i64(key, problem->pad_end[i]);
        husk__key_i64(key, problem->dilation[i]);
    }
}

// Filter, stride and dilation make the algorithm, and are few: only sizes are rounded.
void husk__conv_classify(const void *given, husk__text *text)
{
    const husk__conv_problem *problem = given;
    const husk__conv_geometry *g = &problem->geometry;
    husk__text_format(text, "%s",
                      problem->precision == HUSK_PRECISION_HIGH     ? " high"
                      : problem->precision == HUSK_PRECISION_MEDIUM ? " medium"
                      : problem->allows_winograd                    ? " winograd"
                                                                    : "");
    husk__text_format(text, " %s%s %s%s filter=%lldx%lldx%lld stride=%lldx%lldx%lld dilation=%lldx%lldx%lld",
                      husk_dtype_name(problem->dtype), problem->wide_output ? "/f32" : "",
                      g->x_strides[1] == 1 && g->channels > 1 ? "nhwc" : "nchw",
                      g->groups == 1     ? ""
                      : g->channels == 1 ? " depthwise"
                                         : " grouped",
                      (long long)g->kernel[0], (long long)g->kernel[1], (long long)g->kernel[2],
                      (long long)g->stride[0], (long long)g->stride[1], (long long)g->stride[2],
                      (long long)g->dilation[0], (long long)g->dilation[1], (long long)g->dilation[2]);
    husk__class_size(text, "n", g->batch);
    husk__class_size(text, "groups", g->groups);
    husk__class_size(text, "c", g->channels);
    husk__class_size(text, "k", g->filters);
    husk__class_size(text, "w", g->out[2]);
    husk__class_size(text, "plane", g->out[0] * g->out[1] * g->out[2]);
}
