// SPDX-License-Identifier: MIT
// One rank of a run, for check_dist.sh: trains a small network with its part of every batch, and does what the first
// argument says. The first rank prints each step's loss, in digits and in bits. A second argument is a checkpoint's
// path: one is written after every step, and what is there at the beginning is resumed.
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <husk/dist.h>

enum { BATCH = 16, STEPS = 6, CLASSES = 5, PIXELS = 2 * 8 * 8, PRUNES_AT = 1, ACTS_AT = 3, MOST_RANKS = 16 };

// HUSK_TEST_VERSION and HUSK_TEST_DRIVER: the second rank has others.
const char *__real_husk_version(void);
const char *__wrap_husk_version(void);
const husk_device_traits *__real_husk_context_traits(const husk_context *context);
const husk_device_traits *__wrap_husk_context_traits(const husk_context *context);

typedef struct rank {
    const char *what, *checkpoint; // the arguments
    husk_dist *dist;
    husk_context *context;
    husk_graph *graph;
    husk_parallel *parallel;
    int64_t part; // examples of a batch
    uint32_t accumulate;
    husk_error error;
} rank;

static bool is(const rank *r, const char *what)
{
    return strcmp(r->what, what) == 0;
}

// With dropout, and pruned in all ranks in the middle of the run, or in the first part of such a run.
static bool is_pruned(const rank *r)
{
    return is(r, "pruned") || is(r, "pruned_part");
}

// The gradients' norm, which the second rank takes by another kernel.
static bool clips(const rank *r)
{
    return is(r, "clips") || is(r, "clips_cold") || is(r, "clips_mixed");
}

// Before MPI tells: Open MPI's number of this rank, and MPICH's.
static bool is_second(void)
{
    const char *number = getenv("OMPI_COMM_WORLD_RANK");
    number = number ? number : getenv("PMI_RANK");
    return number && strcmp(number, "1") == 0;
}

const char *__wrap_husk_version(void)
{
    return getenv("HUSK_TEST_VERSION") && is_second() ? "0.0.7" : __real_husk_version();
}

const husk_device_traits *__wrap_husk_context_traits(const husk_context *context)
{
    static husk_device_traits other;
    if (!getenv("HUSK_TEST_DRIVER") || !is_second())
        return __real_husk_context_traits(context);
    other = *__real_husk_context_traits(context);
    other.driver_version = "0.7";
    return &other;
}

// Whole numbers that follow from their place.
static uint32_t drawn(uint64_t number)
{
    number = (number + 1) * 0x9e3779b97f4a7c15u;
    number ^= number >> 29;
    number *= 0xbf58476d1ce4e5b9u;
    return (uint32_t)(number >> 33);
}

// Enough work for gradients to be sent beside it.
static husk_value build_deep(rank *r)
{
    husk_value x = husk_graph_input(r->graph, "x", HUSK_F32, 4, (int64_t[]){r->part, 2, 8, 8});
    husk_value labels = husk_graph_input(r->graph, "labels", HUSK_I32, 1, (int64_t[]){r->part});
    husk_value y = husk_graph_reshape(r->graph, "flat", x, 2, (int64_t[]){r->part, PIXELS});
    husk_linear_layer wide = HUSK_LINEAR_LAYER(.outputs = 768, .activation = HUSK_ACT_RELU);
    for (int i = 0; i < 8; i++)
        y = husk_graph_linear(r->graph, NULL, &wide, y);
    y = husk_graph_linear(r->graph, "last", &HUSK_LINEAR_LAYER(.outputs = CLASSES), y);
    return husk_graph_loss(r->graph, "loss", NULL, y, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

static husk_value build(rank *r)
{
    if (is(r, "overlap"))
        return build_deep(r);
    int32_t own = husk_dist_rank(r->dist);
    int64_t hidden = is(r, "shapes") && own == 1 ? 60 : 64;
    husk_value x = husk_graph_input(r->graph, "x", HUSK_F32, 4, (int64_t[]){r->part, 2, 8, 8});
    husk_value labels = husk_graph_input(r->graph, "labels", HUSK_I32, 1, (int64_t[]){r->part});
    husk_conv_params same = HUSK_CONV_PARAMS(.pad = {1, 1}, .activation = HUSK_ACT_RELU);
    husk_conv_layer conv = HUSK_CONV_LAYER(.filters = 4, .window = {3, 3}, .params = &same);
    husk_value y = husk_graph_conv_layer(r->graph, "conv1", &conv, x);
    y = husk_graph_pool(r->graph, "pool1", &HUSK_POOL_PARAMS(.window = {2, 2}), y);
    if (is(r, "statistics"))
        y = husk_graph_norm_layer(
            r->graph, "norm1",
            &HUSK_NORM_LAYER(.params = &HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_BATCH, .axis = -1,
                                                  .epsilon = 1e-5f, .momentum = 0.1f)),
            y);
    y = husk_graph_reshape(r->graph, "flat", y, 2, (int64_t[]){r->part, 64});
    y = husk_graph_linear(r->graph, is(r, "names") && own == 1 ? "other" : "fc1",
                          &HUSK_LINEAR_LAYER(.outputs = hidden, .activation = HUSK_ACT_RELU), y);
    if (is_pruned(r))
        y = husk_graph_dropout(r->graph, "dropout", &HUSK_DROPOUT_PARAMS(.p = 0.3f), y);
    y = husk_graph_linear(r->graph, "fc2", &HUSK_LINEAR_LAYER(.outputs = CLASSES), y);
    return husk_graph_loss(r->graph, "loss", NULL, y, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

// Before anybody loads OpenCL, which MPI may do.
static void plant_faults(const rank *r)
{
    if (clips(r) && is_second()) // as its own tuning database could say
        setenv("HUSK_VARIANT", "grad_norm:grid:64", 1);
    if (is(r, "kernel") && is_second()) // the first is compiling's
        setenv("HUSK_TEST_FAULTS", "fail=-5 clEnqueueNDRangeKernel kernel=optimizer nth=4+", 1);
    else if (is(r, "read") && is_second()) // parts of gradients, behind some parameters
        setenv("HUSK_TEST_FAULTS", "fail=-5 clEnqueueReadBuffer over=1000 nth=20", 1);
    else if (is(r, "no_masks") && is_second()) // while it takes over rank 0's masks
        setenv("HUSK_TEST_FAULTS", "fail=-5 clEnqueueCopyBuffer", 1);
    else if (!is(r, "layers")) // all of them, alone: whether there are layers
        unsetenv("OPENCL_LAYERS");
}

static void say(void *user, husk_log_level level, const char *text)
{
    (void)user;
    fprintf(stderr, "%s%s\n", level == HUSK_LOG_INFORMATION ? "there is " : "", text);
}

// Of the same graph, and refused in all ranks, for their drivers differ: the first one still has the graph's buckets.
static husk_status refuse_another(rank *r)
{
    husk_parallel *other;
    husk_error error;
    const husk_status status = husk_parallel_create(r->dist, r->graph, NULL, &other, &error);
    return status == HUSK_INVALID_ARGUMENT ? HUSK_OK : status ? status : HUSK_INTERNAL;
}

static husk_status prune(rank *r)
{
    return husk_graph_prune(r->graph, &HUSK_PRUNE_PARAMS(.share = 0.5), NULL, &r->error);
}

static husk_status open_all(rank *r)
{
    uint32_t silence = is(r, "stop") ? 2000 : is(r, "silence") && is_second() ? 50 : 0;
    uint32_t patience = is(r, "late") ? 1000 : is(r, "linger") ? 5000 : 0;
    husk_dist_params params = HUSK_DIST_PARAMS(.silence_ms = silence, .patience_ms = patience, .log = say);
    if (is(r, "size") && is_second())
        params.size = 1;
    husk_status status = husk_dist_create(&params, &r->dist, &r->error);
    if (status)
        return status;
    int32_t own = husk_dist_rank(r->dist);
    status = husk_dist_context_create(r->dist, NULL, NULL, &r->context, &r->error);
    // Another seed in each rank: all take the parameters of the first.
    husk_graph_params graph_params = HUSK_GRAPH_PARAMS(.seed = 7 + (uint64_t)own);
    if (!status)
        status = husk_graph_create(r->context, &graph_params, &r->graph, &r->error);
    if (status)
        return status;
    husk_optimizer_params sgd =
        HUSK_MAKE(husk_optimizer_params, .kind = HUSK_OPTIMIZER_SGD, .rate = 0.02, .momentum = 0.9);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &sgd, .accumulate = r->accumulate,
                                                    .bucket_bytes = is(r, "buckets") && own == 1 ? 4096 : 1024);
    if (is(r, "overlap"))
        options.bucket_bytes = 1 << 20;
    if (clips(r))
        options.clip_norm = 0.1f;
    options.cold = is(r, "clips_cold");
    // Another scale in each rank, which would spoil the sums: all take that of the first.
    husk_loss_scale_params scale = HUSK_LOSS_SCALE_PARAMS(.start = own == 0 ? 4096.0f : 8.0f);
    if (is(r, "scale") || (is(r, "unscaled") && own == 0))
        options.loss_scale = &scale;
    r->part = BATCH / husk_dist_count(r->dist);
    options.loss = build(r);
    status = husk_graph_compile(r->graph, &options, &r->error);
    if (!status && own == 0 && r->checkpoint && access(r->checkpoint, F_OK) == 0) {
        husk_safetensors *file = NULL;
        status = husk_safetensors_open(r->checkpoint, NULL, &file, &r->error);
        if (!status)
            status = husk_graph_load(r->graph, file, NULL, NULL, &r->error);
        husk_safetensors_close(file);
    }
    if (!status && (((is(r, "masks") || is(r, "no_masks")) && own == 0) || (is(r, "others_masks") && own != 0)))
        status = prune(r);
    uint64_t part_bytes = is(r, "overlap") ? 0 : is(r, "parts") && own == 1 ? 1 : 4096;
    const bool mixed = is(r, "mixed") || is(r, "drift") || is(r, "prunes_mixed") || is(r, "clips_mixed");
    husk_parallel_params parallel =
        HUSK_PARALLEL_PARAMS(.part_bytes = part_bytes, .check_finite = is(r, "finite"), .mixed = mixed);
    if (!status)
        status = husk_parallel_create(r->dist, r->graph, &parallel, &r->parallel, &r->error);
    return status || !is(r, "mixed") ? status : refuse_another(r);
}

static husk_status write_batch(rank *r, int step)
{
    float x[BATCH * PIXELS];
    int32_t labels[BATCH];
    int64_t first = r->part * husk_dist_rank(r->dist);
    for (int64_t e = 0; e < r->part; e++) {
        uint64_t example = (uint64_t)(step % 2) * BATCH + (uint64_t)(first + e);
        labels[e] = (int32_t)(drawn(example) % CLASSES);
        for (int p = 0; p < PIXELS; p++)
            x[e * PIXELS + p] =
                (float)(drawn(example * 1000 + (uint64_t)p) % 2001) / 1000 - 1 + 0.3f * (float)labels[e];
    }
    if (is(r, "finite") && step == ACTS_AT && husk_dist_rank(r->dist) == 1)
        x[5] = NAN;
    husk_status status = husk_graph_write(r->graph, "x", x, sizeof *x * PIXELS * (size_t)r->part);
    return status ? status : husk_graph_write(r->graph, "labels", labels, sizeof *labels * (size_t)r->part);
}

// What the update of another device could have given: another last bit, of a parameter and of what the optimizer
// keeps.
static husk_status drift(rank *r)
{
    husk_parameter p = HUSK_PARAMETER();
    husk_queue *queue = husk_graph_queue(r->graph);
    husk_status status = husk_graph_parameter_at(r->graph, 0, &p);
    const husk_tensor *both[] = {&p.tensor, &p.states[0]};
    for (int i = 0; i < 2 && !status; i++) {
        uint32_t bits;
        const uint64_t offset = (uint64_t)both[i]->offset * sizeof bits;
        status = husk_buffer_read(queue, both[i]->buffer, offset, sizeof bits, &bits);
        bits ^= 1;
        if (!status)
            status = husk_buffer_write(queue, both[i]->buffer, offset, sizeof bits, &bits);
    }
    return status;
}

// What the second rank does in the middle of the run.
static husk_status act(rank *r)
{
    husk_error error = {.status = HUSK_IO, .text = "the data is gone"};
    if (is(r, "kill"))
        raise(SIGKILL);
    if (is(r, "stop"))
        raise(SIGSTOP);
    if (is(r, "late"))
        sleep(60);
    if (is(r, "fail"))
        husk_dist_fail(r->dist, &error);
    if (is(r, "differ")) // its parameters become others
        return husk_graph_write(r->graph, "fc1.bias", (float[64]){1}, sizeof(float[64]));
    if (is(r, "drift"))
        return drift(r);
    if (is(r, "prunes") || is(r, "prunes_mixed"))
        return prune(r);
    return HUSK_OK;
}

// More values in the first rank than in the others.
static husk_status sum_differently(rank *r)
{
    double values[64] = {0};
    husk_status status = husk_dist_sum(r->dist, values, husk_dist_rank(r->dist) ? 2 : 64);
    if (!status)
        fprintf(stderr, "rank %d: the sum of values that are not there is %g\n", (int)husk_dist_rank(r->dist),
                values[63]);
    return status;
}

// The first rank has nothing to give, and then something. It cannot know what has become of it, the other one has to.
static husk_status broadcast_differently(rank *r)
{
    const bool is_first = husk_dist_rank(r->dist) == 0;
    double value = is_first ? 5 : 0, next = value;
    husk_status status = husk_dist_broadcast(r->dist, &value, is_first ? 0 : sizeof value);
    if (!status)
        status = husk_dist_broadcast(r->dist, &next, sizeof next);
    if (!is_first && (!status || value != 0))
        fprintf(stderr, "rank %d: values that are not there are %g\n", (int)husk_dist_rank(r->dist), value);
    return status;
}

// The first rank has more to give than the other one wants.
static husk_status broadcast_more(rank *r)
{
    double values[3] = {1, 2, 3};
    return husk_dist_broadcast(r->dist, values, (husk_dist_rank(r->dist) == 0 ? 3 : 1) * sizeof *values);
}

// Each rank's number, printed by the first one in digits and in bits.
static husk_status print_numbers(rank *r, const char *what, double own)
{
    double numbers[MOST_RANKS] = {0};
    const int32_t count = husk_dist_count(r->dist);
    numbers[husk_dist_rank(r->dist)] = own;
    husk_status status = husk_dist_sum(r->dist, numbers, (size_t)count);
    for (int32_t n = 0; n < count && husk_dist_rank(r->dist) == 0 && !status; n++)
        printf("%s of rank %d: %.9g %a\n", what, (int)n, numbers[n], numbers[n]);
    return status;
}

// A number that follows from every bit.
static uint32_t hash_of(const uint32_t *bits, size_t count, uint32_t hash)
{
    for (size_t i = 0; i < count; i++)
        hash = drawn(hash + ((uint64_t)bits[i] << 31));
    return hash;
}

static husk_status print_parameter(rank *r, const char *name, size_t count)
{
    uint32_t bits[64 * 64];
    husk_status status = husk_graph_read(r->graph, name, bits, sizeof *bits * count);
    return status ? status : print_numbers(r, name, hash_of(bits, count, 0));
}

// Of all parameters and what the optimizer keeps of them.
static husk_status print_whole(rank *r, const char *what)
{
    uint32_t bits[64 * 64], hash = 0;
    husk_status status = HUSK_OK;
    for (size_t i = 0; i < husk_graph_parameter_count(r->graph) && !status; i++) {
        husk_parameter p = HUSK_PARAMETER();
        status = husk_graph_parameter_at(r->graph, i, &p);
        const husk_tensor *both[] = {&p.tensor, &p.states[0]};
        for (int b = 0; b < 2 && !status; b++) {
            const uint64_t bytes = (uint64_t)husk_tensor_extent(both[b]);
            status = husk_buffer_read(husk_graph_queue(r->graph), both[b]->buffer,
                                      (uint64_t)both[b]->offset * sizeof *bits, bytes, bits);
            hash = status ? hash : hash_of(bits, bytes / sizeof *bits, hash);
        }
    }
    return status ? status : print_numbers(r, what, hash);
}

// Ranks that have come apart, and then have what the first one has.
static husk_status settle_mixed(rank *r)
{
    husk_status status = print_whole(r, "before");
    if (!status)
        status = husk_parallel_settle(r->parallel);
    return status ? status : print_whole(r, "after");
}

static husk_status train(rank *r)
{
    int steps = is(r, "pruned_part") ? ACTS_AT : STEPS * (int)r->accumulate;
    for (int step = (int)husk_graph_get_position(r->graph).batches; step < steps; step++) {
        husk_status status = write_batch(r, step);
        if (!status && step == ACTS_AT && husk_dist_rank(r->dist) == 1)
            status = act(r);
        if (!status && is_pruned(r) && step == PRUNES_AT)
            status = prune(r);
        if (!status && is(r, "leave") && step == ACTS_AT && husk_dist_rank(r->dist) == 1)
            return HUSK_OK;
        if (!status)
            status = husk_parallel_step(r->parallel);
        float loss = 0;
        double sum = 0;
        if (!status)
            status = husk_graph_read(r->graph, "loss", &loss, sizeof loss);
        sum = (double)loss;
        if (!status)
            status = husk_dist_sum(r->dist, &sum, 1);
        if (!status && is_pruned(r))
            status = print_numbers(r, "loss", (double)loss);
        if (!status && is(r, "counts"))
            status = sum_differently(r);
        if (!status && is(r, "nothing"))
            status = broadcast_differently(r);
        if (!status && is(r, "longer"))
            status = broadcast_more(r);
        if (status)
            return status;
        sum /= husk_dist_count(r->dist);
        if (husk_dist_rank(r->dist) == 0)
            printf("%d %.9g %a\n", step, sum, sum);
        fflush(stdout);
        if (r->checkpoint && husk_dist_rank(r->dist) == 0)
            status = husk_graph_save(r->graph, r->checkpoint, NULL, &r->error);
        if (status)
            return status;
    }
    husk_status status = is_pruned(r) ? print_parameter(r, "fc1.weight", 64 * 64) : HUSK_OK;
    if (!status && is_pruned(r))
        status = print_parameter(r, "fc2.weight", 64 * CLASSES);
    if (!status && (is(r, "drift") || is(r, "prunes_mixed")))
        return settle_mixed(r);
    return status ? status : husk_parallel_settle(r->parallel);
}

// A rank that goes on after a failure: it is refused, and what is on its way is not forgotten.
static void go_on(rank *r)
{
    if (husk_parallel_step(r->parallel))
        fprintf(stderr, "rank %d: %zu parts are on their way\n", (int)husk_dist_rank(r->dist),
                husk_parallel_exchange_count(r->parallel));
}

// How much of the time that the gradients of the last step were on their way was before the device came to the end of
// backward.
static void print_overlap(rank *r)
{
    size_t count = husk_parallel_exchange_count(r->parallel);
    husk_parallel_exchange one = HUSK_PARALLEL_EXCHANGE(), last = one;
    double whole = 0, hidden = 0;
    if (count < 2 || husk_parallel_exchange_at(r->parallel, count - 1, &last))
        return;
    for (size_t i = 0; i < count && !husk_parallel_exchange_at(r->parallel, i, &one); i++) {
        uint64_t end = one.ended_ns < last.ready_ns ? one.ended_ns : last.ready_ns;
        whole += (double)(one.ended_ns - one.ready_ns);
        hidden += end > one.ready_ns ? (double)(end - one.ready_ns) : 0;
        fprintf(stderr, "part %zu: %llu bytes, at %.3f ms ready, %.3f ms summed, %.3f ms ended\n", i,
                (unsigned long long)one.bytes, ((double)one.ready_ns - (double)last.ready_ns) / 1e6,
                ((double)one.summed_ns - (double)last.ready_ns) / 1e6,
                ((double)one.ended_ns - (double)last.ready_ns) / 1e6);
    }
    printf("parts %zu: on their way for %.3f ms in all, before the end of backward: %.0f%%\n", count, whole / 1e6,
           100 * hidden / whole);
}

int main(int count, char **arguments)
{
    rank r = {.what = "train", .accumulate = 1};
    if (count > 1)
        r.what = arguments[1];
    if (count > 2)
        r.checkpoint = arguments[2];
    if (is(&r, "accumulate"))
        r.accumulate = 3;
    plant_faults(&r);
    husk_status status = open_all(&r);
    if (!status)
        status = train(&r);
    if (!status && is(&r, "overlap") && husk_dist_rank(r.dist) == 0)
        print_overlap(&r);
    if (status) {
        const husk_error *said = r.error.status ? &r.error : husk_dist_error(r.dist);
        fprintf(stderr, "rank %d: %s\n", (int)husk_dist_rank(r.dist),
                said->status ? said->text : husk_graph_error(r.graph)->text);
        if (is(&r, "fail"))
            go_on(&r);
        if ((is(&r, "parts") || is(&r, "unscaled") || is(&r, "silence") || is(&r, "size")) && is_second())
            sleep(60); // it tells nobody: the library does
        husk_dist_fail(r.dist, said->status ? said : husk_graph_error(r.graph));
    }
    husk_parallel_release(r.parallel);
    husk_graph_release(r.graph);
    husk_context_release(r.context);
    if (is(&r, "linger") && husk_dist_rank(r.dist) == 1)
        sleep(60); // the others wait for it in husk_dist_release
    husk_dist_release(r.dist);
    return status != HUSK_OK;
}
