// SPDX-License-Identifier: MIT
// Normalisation as its kernels see it: lists of dimensions, or rows of channels; and how they are handed over.
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/norm/problem.h"
#include "runtime/groups.h"
#include "select/grid.h"

typedef husk__norm_problem problem;
typedef husk__norm_dimension dimension;
typedef husk__norm_list list;

// ---- lists of dimensions ----

static bool is_trailing(const problem *own)
{
    return own->kind == HUSK_NORM_LAYER || own->kind == HUSK_NORM_RMS;
}

// Larger strides of x first; among equal ones, those of the next tensor.
static bool comes_before(const dimension *a, const dimension *b)
{
    for (int t = 0; t < HUSK__NORM_TENSORS; ++t)
        if (a->strides[t] != b->strides[t])
            return a->strides[t] > b->strides[t];
    return false;
}

static void insert(list *to, dimension added)
{
    if (added.extent == 1)
        return;
    int32_t at = to->rank++;
    for (; at > 0 && comes_before(&added, &to->dimensions[at - 1]); --at)
        to->dimensions[at] = to->dimensions[at - 1];
    to->dimensions[at] = added;
}

static bool lie_together(const dimension *outer, const dimension *inner)
{
    bool together =
        outer->parameter == inner->extent * inner->parameter && outer->statistic == inner->extent * inner->statistic;
    for (int t = 0; t < HUSK__NORM_TENSORS; ++t)
        together = together && outer->strides[t] == inner->extent * inner->strides[t];
    return together;
}

static void merge(list *all)
{
    int32_t rank = 0;
    for (int32_t d = 0; d < all->rank; ++d) {
        dimension inner = all->dimensions[d];
        if (rank > 0 && lie_together(&all->dimensions[rank - 1], &inner)) {
            inner.extent *= all->dimensions[rank - 1].extent;
            --rank;
        }
        all->dimensions[rank++] = inner;
    }
    all->rank = rank;
}

static int64_t count(const list *all)
{
    int64_t product = 1;
    for (int32_t d = 0; d < all->rank; ++d)
        product *= all->dimensions[d].extent;
    return product;
}

// Every dimension of x, channels as groups and what is in each: to `outer` where decide says so.
static husk__norm_lists split(const problem *own, bool by_parameter)
{
    husk__norm_lists made;
    memset(&made, 0, sizeof made);
    const husk_tensor *x = &own->tensors[HUSK__NORM_X];
    const bool is_batch = own->kind == HUSK_NORM_BATCH;
    int64_t parameter = 1, statistic = 1; // of the dimension in hand, LAYER and RMS
    for (int32_t d = x->rank - 1; d >= 0; --d) {
        dimension whole = {.extent = x->shape[d]};
        for (int t = 0; t < HUSK__NORM_TENSORS; ++t)
            whole.strides[t] = own->tensors[t].strides[d];
        if (is_trailing(own)) {
            const bool is_in_set = d >= x->rank - own->dimensions;
            *(is_in_set ? &whole.parameter : &whole.statistic) = is_in_set ? parameter : statistic;
            *(is_in_set ? &parameter : &statistic) *= whole.extent;
            insert(is_in_set == by_parameter ? &made.outer : &made.inner, whole);
        } else if (d != 1) {
            const bool is_set = d == 0 && !is_batch;
            whole.statistic = is_set ? own->groups : 0;
            insert(is_set && !by_parameter ? &made.outer : &made.inner, whole);
        } else {
            dimension group = whole;
            whole.extent /= own->groups;
            whole.parameter = 1;
            group.extent = own->groups;
            for (int t = 0; t < HUSK__NORM_TENSORS; ++t)
                group.strides[t] *= whole.extent;
            group.parameter = whole.extent;
            group.statistic = 1;
            insert(&made.outer, group);
            insert(by_parameter ? &made.outer : &made.inner, whole);
        }
    }
    merge(&made.outer);
    merge(&made.inner);
    made.outer_count = count(&made.outer);
    made.inner_count = count(&made.inner);
    return made;
}

husk__norm_lists husk__norm_sets(const problem *own)
{
    return split(own, false);
}

husk__norm_lists husk__norm_parameters(const problem *own)
{
    return split(own, true);
}

list husk__norm_of_x(const list *all)
{
    list made = {0};
    for (int32_t d = 0; d < all->rank; ++d) {
        const int64_t stride = all->dimensions[d].strides[HUSK__NORM_X];
        made.dimensions[made.rank++] = (dimension){all->dimensions[d].extent, {stride, stride, stride}, 0, 0};
    }
    merge(&made);
    return made;
}

dimension husk__norm_take_last(list *all)
{
    if (all->rank == 0)
        return (dimension){1, {1, 1, 1}, 0, 0};
    return all->dimensions[--all->rank];
}

// ---- rows of channels ----

enum {
    BLOCK_ELEMENTS = 32768, // of a block of rows: 128 KiB, which a second-level cache keeps
    STRIP = 512,            // of cl/lib/norm_columns.clh
    LEAST_ROWS = 16,        // of a block
    PITCH = 16,             // columns in scratch memory are whole vectors
    FINISH_COLUMNS = 64     // of a work-group, where sets are single columns
};

static void cut_up(husk__norm_columns *made)
{
    made->pitch = husk__round_up(made->columns, PITCH);
    made->strip = husk__min_i64(made->pitch, STRIP);
    made->block_rows = husk__max_i64(BLOCK_ELEMENTS / made->strip, LEAST_ROWS);
    made->blocks = husk__divide_up(made->rows, made->block_rows);
    made->units = made->images * made->blocks * husk__divide_up(made->columns, made->strip);
    made->finish_columns = made->group == 1 ? FINISH_COLUMNS : made->columns;
    made->finish_units = made->images * husk__divide_up(made->columns, made->finish_columns);
}

bool husk__norm_as_columns(const problem *own, husk__norm_columns *made)
{
    memset(made, 0, sizeof *made);
    const husk_tensor *x = &own->tensors[HUSK__NORM_X];
    if (is_trailing(own))
        return false;
    const bool is_batch = own->kind == HUSK_NORM_BATCH;
    list rows = {0};
    for (int32_t d = 0; d < x->rank; ++d) {
        dimension one = {.extent = x->shape[d]};
        for (int t = 0; t < HUSK__NORM_TENSORS; ++t) {
            one.strides[t] = own->tensors[t].strides[d];
            if (d == 1 && one.extent > 1 && one.strides[t] != 1)
                return false;
            if (d == 0)
                made->image_strides[t] = is_batch ? 0 : one.strides[t];
        }
        if (d > 1 || (d == 0 && is_batch))
            insert(&rows, one);
    }
    merge(&rows);
    if (rows.rank > 1)
        return false;
    const dimension row = husk__norm_take_last(&rows);
    memcpy(made->row_strides, row.strides, sizeof row.strides);
    made->rows = row.extent;
    made->images = is_batch ? 1 : x->shape[0];
    made->columns = x->shape[1];
    made->group = x->shape[1] / own->groups;
    cut_up(made);
    return true;
}

bool husk__norm_columns_supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    husk__norm_columns columns;
    snprintf(reason, HUSK__REASON_CAPACITY, "it needs channels at stride 1 and positions at equal distances");
    return husk__norm_as_columns(candidate->problem, &columns);
}

// ---- launching ----

enum {
    GPU_GROUPS_PER_UNIT = 16,
    LANES = 32,
    LARGE_GROUP = 256, // work-items of the larger groups of select/grid.h; they are for sets of as many elements
    LIST = 4 // dimensions of the kernels' lists
};

int32_t husk__norm_mode(const problem *own)
{
    int32_t mode = 0;
    mode |= own->kind != HUSK_NORM_RMS ? HUSK__NORM_CENTRED : 0;
    mode |= own->uses_running ? HUSK__NORM_RUNNING : 0;
    mode |= own->kind == HUSK_NORM_BATCH && !own->uses_running ? HUSK__NORM_UPDATES : 0;
    mode |= own->kind == HUSK_NORM_BATCH ? HUSK__NORM_JOINT : 0;
    mode |= own->accumulate & HUSK_ACCUMULATE_INPUTS ? HUSK__NORM_ADD_INPUTS : 0;
    mode |= own->accumulate & HUSK_ACCUMULATE_PARAMETERS ? HUSK__NORM_ADD_PARAMETERS : 0;
    return mode;
}

int32_t husk__norm_streams(const problem *own, const husk_device_traits *traits)
{
    const husk_tensor *x = &own->tensors[HUSK__NORM_X];
    const uint64_t tensors = own->is_backward ? 3 : 2;
    const uint64_t bytes = tensors * husk_dtype_size(x->dtype) * (uint64_t)husk__tensor_count(x);
    const bool is_read = own->accumulate & HUSK_ACCUMULATE_INPUTS;
    return traits->global_cache > 0 && bytes > traits->global_cache && !is_read ? HUSK__NORM_STREAMS : 0;
}

// What has just been read is in the caches anyway.
int32_t husk__norm_mode_to(int32_t mode, const husk_tensor *x, const husk_tensor *dy, const husk_tensor *output)
{
    const bool is_in_place = output && (output->buffer == x->buffer || (dy && output->buffer == dy->buffer));
    return is_in_place ? mode & ~HUSK__NORM_STREAMS : mode;
}

uint64_t husk__norm_accumulator_size(const problem *own)
{
    return husk__accumulator_size(own->tensors[HUSK__NORM_X].dtype);
}

int64_t husk__norm_share(const husk_device_traits *traits, int64_t units, int64_t unit_elements)
{
    return husk__group_share(traits, units, 40.0 + 0.25 * (double)unit_elements);
}

husk__arg *husk__norm_write_statistics(const problem *own, const husk__norm_arguments *given, husk__arg *end)
{
    const husk_tensor *x = &own->tensors[HUSK__NORM_X];
    double unbiased = 1;
    if (own->kind == HUSK_NORM_BATCH && !own->uses_running) {
        const double n = (double)(husk__tensor_count(x) / x->shape[1]);
        unbiased = n / (n - 1);
    }
    *end++ = HUSK__ARG_TENSOR(given->running_mean);
    *end++ = HUSK__ARG_TENSOR(given->running_variance);
    *end++ = HUSK__ARG_TENSOR(given->mean);
    *end++ = HUSK__ARG_TENSOR(given->rstd);
    *end++ = HUSK__ARG_ACC(x->dtype, own->epsilon);
    *end++ = HUSK__ARG_ACC(x->dtype, own->momentum);
    *end++ = HUSK__ARG_ACC(x->dtype, unbiased);
    return end;
}

static husk__arg *write_four(const list *all, size_t field, husk__arg *end)
{
    for (int32_t i = 0; i < LIST; ++i) {
        const int32_t d = i - (LIST - all->rank);
        int64_t value = field == offsetof(dimension, extent) ? 1 : 0;
        if (d >= 0)
            memcpy(&value, (const char *)&all->dimensions[d] + field, sizeof value);
        *end++ = HUSK__ARG_I64(value);
    }
    return end;
}

husk__arg *husk__norm_write_list(const list *all, husk__arg *end)
{
    end = write_four(all, offsetof(dimension, extent), end);
    for (size_t t = 0; t < HUSK__NORM_TENSORS; ++t)
        end = write_four(all, offsetof(dimension, strides) + t * sizeof(int64_t), end);
    end = write_four(all, offsetof(dimension, parameter), end);
    return write_four(all, offsetof(dimension, statistic), end);
}

husk__arg *husk__norm_write_columns(const husk__norm_columns *own, int64_t share, husk__arg *end)
{
    *end++ = HUSK__ARG_I64(own->columns);
    *end++ = HUSK__ARG_I64(own->pitch);
    *end++ = HUSK__ARG_I64(own->rows);
    *end++ = HUSK__ARG_I64(own->block_rows);
    *end++ = HUSK__ARG_I64(own->blocks);
    *end++ = HUSK__ARG_I64(own->strip);
    *end++ = HUSK__ARG_I64(own->units);
    *end++ = HUSK__ARG_I64(share);
    return end;
}

husk__arg *husk__norm_write_strides(const dimension *own, int tensors, husk__arg *end)
{
    for (int t = 0; t < tensors; ++t)
        *end++ = HUSK__ARG_I64(own->strides[t]);
    *end++ = HUSK__ARG_I64(own->parameter);
    *end++ = HUSK__ARG_I64(own->statistic);
    return end;
}

bool husk__norm_workgroup_supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const problem *own = candidate->problem;
    const int32_t items = husk__grid_items(candidate->configuration);
    if ((uint64_t)items > candidate->traits->work_group) {
        snprintf(reason, HUSK__REASON_CAPACITY, "needs work-groups of %d", (int)items);
        return false;
    }
    return husk__norm_workgroup_lists_fit(own, reason);
}

bool husk__norm_workgroup_lists_fit(const problem *own, char reason[HUSK__REASON_CAPACITY])
{
    const husk__norm_lists sets = husk__norm_sets(own), parameters = husk__norm_parameters(own);
    snprintf(reason, HUSK__REASON_CAPACITY, "x and y have more than %d dimensions that do not lie one after the other",
             (int)LIST);
    return sets.outer.rank <= LIST && sets.inner.rank <= LIST &&
           (!own->wants_parameters || (parameters.outer.rank <= LIST && parameters.inner.rank <= LIST));
}

// Larger work-groups where sets are large.
double husk__norm_workgroup_cost(const husk__candidate *candidate)
{
    const husk__norm_lists sets = husk__norm_sets(candidate->problem);
    const bool is_large = husk__grid_items(candidate->configuration) >= LARGE_GROUP;
    return is_large == (sets.inner_count * husk__norm_lanes(&sets) >= LARGE_GROUP) ? 0 : 1;
}

// Beside each other where that is how they lie in memory, and their elements do not.
int32_t husk__norm_lanes(const husk__norm_lists *lists)
{
    list outer = lists->outer, inner = lists->inner;
    const dimension across = husk__norm_take_last(&outer), along = husk__norm_take_last(&inner);
    if (lists->outer.rank == 0 || lists->inner.rank == 0)
        return 1;
    return across.strides[0] < along.strides[0] && across.extent >= LANES / 2 ? LANES : 1;
}

husk__range husk__norm_workgroup_range(const husk__norm_lists *lists, int32_t lanes, int32_t items,
                                       const husk_device_traits *traits)
{
    const int64_t strips = husk__divide_up(lists->outer_count, lanes);
    const int64_t groups = husk__min_i64(strips, GPU_GROUPS_PER_UNIT * (int64_t)traits->compute_units);
    return (husk__range){{(size_t)groups, 1, 1}, {(size_t)items, 1, 1}};
}

const char *husk__norm_index_option(const husk_plan *plan, const husk__norm_lists *lists)
{
    int64_t reach = lists->inner_count;
    const list *all = &lists->inner;
    for (int t = 0; t < HUSK__NORM_TENSORS; ++t) {
        int64_t last = 0;
        for (int32_t d = 0; d < all->rank; ++d)
            last += (all->dimensions[d].extent - 1) * all->dimensions[d].strides[t];
        reach = husk__max_i64(reach, last);
    }
    return husk__needs_index_64(plan->context, reach) ? "-DINDEX_64" : "";
}

void husk__norm_workgroup_options(const husk_plan *plan, const husk__norm_lists *lists, char *text, size_t capacity)
{
    const problem *own = plan->problem;
    snprintf(text, capacity, "%s %s %s", husk__dtype_option(own->tensors[0].dtype), plan->configuration->options,
             husk__norm_index_option(plan, lists));
}

const husk__configuration husk__norm_cpu_menu[1] = {{.name = "1", .options = ""}};

// ---- cases ----

// Images of other than two dimensions of space have as many rows of the last one; rows are all but the last dimensions.
static void write_shape(const husk__norm_problem *own, husk__case *c)
{
    const husk_tensor *x = &own->tensors[HUSK__NORM_X];
    const int32_t rows = x->rank - own->dimensions; // of LAYER and RMS
    int64_t n = 1, channels = 1, h = 1;
    for (int32_t d = 0; d < x->rank && own->dimensions; ++d)
        *(d < rows ? &n : &channels) *= x->shape[d];
    husk__case_size(c, "n", own->dimensions ? n : x->shape[0]);
    husk__case_size(c, "c", own->dimensions ? channels : x->shape[1]);
    for (int32_t d = 2; d + 1 < x->rank && !own->dimensions; ++d)
        h *= x->shape[d];
    if (x->rank > 2 && !own->dimensions) {
        husk__case_size(c, "h", h);
        husk__case_size(c, "w", x->shape[x->rank - 1]);
    }
}

static void note_gradients(const husk__norm_problem *own, husk__case *c)
{
    if (!own->wants_input)
        husk__case_note(c, "without dx");
    if (!own->wants_parameters)
        husk__case_note(c, "without dscale and dbias");
    if (own->accumulate)
        husk__case_note(c, "accumulates");
}

void husk__norm_write_case(const void *untyped, const void *untyped_run, husk__case *c)
{
    const husk__norm_problem *own = untyped;
    const husk__norm_arguments *given = untyped_run;
    const husk_norm_params usual = husk_norm_defaults(own->kind);
    const husk_tensor *tensors = own->tensors;
    husk__case_begin(c, "norm");
    husk__case_word(c, "kind", husk_norm_kind_name(own->kind), husk_norm_kind_name(HUSK_NORM_LAYER));
    write_shape(own, c);
    if (own->kind == HUSK_NORM_GROUP)
        husk__case_integer(c, "groups", own->groups, 1);
    husk__case_integer(c, "training", own->kind == HUSK_NORM_BATCH && !own->uses_running, 0);
    husk__case_layout(c, "x", &tensors[HUSK__NORM_X], own->is_backward ? "dy" : "y", &tensors[HUSK__NORM_Y]);
    if (own->is_backward)
        husk__case_word(c, "dir", "bwd", NULL);
    if (tensors[HUSK__NORM_X].dtype != HUSK_F32) // cases have f32 alone
        husk__case_note(c, "%s", husk_dtype_name(tensors[HUSK__NORM_X].dtype));
    if (given && !given->scale)
        husk__case_note(c, "without scale");
    if (given && !own->is_backward && !given->bias)
        husk__case_note(c, "without bias");
    if (!own->is_backward && own->epsilon != usual.epsilon)
        husk__case_note(c, "epsilon %g", (double)own->epsilon);
    if (own->is_backward)
        note_gradients(own, c);
}

// ---- shape classes ----

void husk__norm_classify(const void *untyped, husk__text *text)
{
    const husk__norm_problem *own = untyped;
    const husk__norm_lists sets = husk__norm_sets(own);
    husk__norm_list inner = sets.inner;
    husk__norm_columns columns;
    const bool is_packed = husk__norm_take_last(&inner).strides[HUSK__NORM_X] == 1;
    husk__text_format(text, " %s %s%s %s", husk_dtype_name(own->tensors[HUSK__NORM_X].dtype),
                      husk_norm_kind_name(own->kind), own->uses_running ? " running" : "",
                      husk__norm_as_columns(own, &columns) ? "columns"
                      : is_packed                          ? "rows"
                                                           : "strided");
    if (own->is_backward)
        husk__text_format(text, " %s%s", own->wants_input ? "dx" : "", own->wants_parameters ? " parameters" : "");
    husk__class_size(text, "sets", sets.outer_count);
    husk__class_size(text, "elements", sets.inner_count);
}
