// SPDX-License-Identifier: MIT
// What libhusk_dist refuses, for check_dist.sh. "calls": what changes nothing, in one run of all ranks, which then sum,
// train and end as if nothing had been said. Any other argument: one rule of husk_parallel_create or
// husk_pipeline_create that one rank breaks, and which ends the run.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#include <husk/dist.h>

enum { BATCH = 4, WIDTH = 8, MICRO_BATCHES = 3 };

// The next allocation of the library's fails.
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
static bool lacks_memory;

// The library's thread is not to be had; what is received meanwhile is counted.
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user);
int __real_MPI_Irecv(void *data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request);
int __wrap_MPI_Irecv(void *data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request);
int __real_MPI_Cancel(MPI_Request *request);
int __wrap_MPI_Cancel(MPI_Request *request);
static bool lacks_threads;
static int received, cancelled;

static const char *what;
static int failures;
static husk_dist *dist;
static husk_context *context;
static husk_graph *graph;
static husk_error error;

static bool is(const char *name)
{
    return strcmp(what, name) == 0;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    if (!lacks_memory)
        return __real_calloc(count, bytes);
    lacks_memory = false;
    return NULL;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user)
{
    return lacks_threads ? EAGAIN : __real_pthread_create(thread, attributes, run, user);
}

int __wrap_MPI_Irecv(void *data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request)
{
    received++;
    return __real_MPI_Irecv(data, count, type, rank, tag, comm, request);
}

int __wrap_MPI_Cancel(MPI_Request *request)
{
    cancelled++;
    return __real_MPI_Cancel(request);
}

// Before husk_dist_create: Open MPI's number of this rank, and MPICH's.
static bool is_second(void)
{
    const char *number = getenv("OMPI_COMM_WORLD_RANK");
    number = number ? number : getenv("PMI_RANK");
    return number && strcmp(number, "1") == 0;
}

static void expect(husk_status status, const husk_error *said, const char *text, const char *call, int line)
{
    if (status == HUSK_INVALID_ARGUMENT &&
        (!said || (said->status == status && strstr(said->text, text) == said->text)))
        return;
    failures++;
    fprintf(stderr, "line %d: %s answers %s: %s\n", line, call, husk_status_name(status), said ? said->text : "");
}

#define FAILS(call, text) expect((call), &error, text, #call, __LINE__)
// The text is husk_dist_error's.
#define DIST_FAILS(call, text) expect((call), husk_dist_error(dist), text, #call, __LINE__)
#define NOTHING_THERE(call)    expect((call), NULL, "", #call, __LINE__)
#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            failures++;                                                     \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
        }                                                                   \
    } while (0)

static void refuse_nothing(void)
{
    double number = 0;
    husk_parallel *parallel = (husk_parallel *)&error;
    husk_pipeline *pipeline = (husk_pipeline *)&error;
    husk_parallel_exchange exchange = HUSK_PARALLEL_EXCHANGE();
    FAILS(husk_dist_create(NULL, NULL, &error), "husk_dist_create: dist: it is NULL");
    NOTHING_THERE(husk_dist_create(NULL, NULL, NULL));
    CHECK(husk_dist_rank(NULL) == 0 && husk_dist_count(NULL) == 1);
    CHECK(husk_dist_local_rank(NULL) == 0 && husk_dist_local_count(NULL) == 1);
    CHECK(husk_dist_error(NULL)->status == HUSK_INVALID_ARGUMENT && husk_pipeline_depth(NULL, 5) == 1);
    husk_dist_fail(NULL, NULL);
    husk_dist_release(NULL);
    NOTHING_THERE(husk_dist_sum(NULL, &number, 1));
    NOTHING_THERE(husk_dist_broadcast(NULL, &number, sizeof number));
    NOTHING_THERE(husk_dist_barrier(NULL));
    FAILS(husk_dist_context_create(NULL, NULL, NULL, &context, &error), "husk_dist_context_create: dist: it is NULL");
    FAILS(husk_parallel_create(NULL, NULL, NULL, &parallel, &error), "husk_parallel_create: dist: it is NULL");
    FAILS(husk_pipeline_create(NULL, NULL, NULL, &pipeline, &error), "husk_pipeline_create: dist: it is NULL");
    NOTHING_THERE(husk_parallel_create(NULL, NULL, NULL, &parallel, NULL));
    NOTHING_THERE(husk_parallel_step(NULL));
    NOTHING_THERE(husk_parallel_backward(NULL));
    NOTHING_THERE(husk_parallel_settle(NULL));
    NOTHING_THERE(husk_parallel_exchange_at(NULL, 0, &exchange));
    CHECK(husk_parallel_exchange_count(NULL) == 0);
    husk_parallel_release(NULL);
    NOTHING_THERE(husk_pipeline_step(NULL));
    NOTHING_THERE(husk_pipeline_loss(NULL, &number));
    husk_pipeline_release(NULL);
}

static void refuse_wrong_arguments(void)
{
    double number = 1;
    husk_parallel *parallel;
    husk_pipeline *pipeline;
    husk_context *none = (husk_context *)&error;
    DIST_FAILS(husk_dist_sum(dist, &number, 65537), "husk_dist_sum: count: 65537; at most 65536");
    DIST_FAILS(husk_dist_sum(dist, NULL, 1), "husk_dist_sum: values: it is NULL");
    DIST_FAILS(husk_dist_broadcast(dist, NULL, 1), "husk_dist_broadcast: data: it is NULL");
    FAILS(husk_dist_context_create(dist, NULL, NULL, NULL, &error), "husk_dist_context_create: context: it is NULL");
    if (!husk_dist_context_create(dist, "no such device", NULL, &none, &error) || none) {
        failures++;
        fprintf(stderr, "a context on no such device\n");
    }
    FAILS(husk_parallel_create(dist, NULL, NULL, &parallel, &error), "husk_parallel_create: graph: it is NULL");
    FAILS(husk_parallel_create(dist, graph, NULL, NULL, &error), "husk_parallel_create: parallel: it is NULL");
    FAILS(husk_pipeline_create(dist, NULL, NULL, &pipeline, &error), "husk_pipeline_create: graph: it is NULL");
    FAILS(husk_pipeline_create(dist, graph, NULL, NULL, &error), "husk_pipeline_create: pipeline: it is NULL");
    CHECK(husk_dist_sum(dist, NULL, 0) == HUSK_OK && husk_dist_broadcast(dist, NULL, 0) == HUSK_OK);
    CHECK(husk_dist_sum(dist, &number, 1) == HUSK_OK && number == husk_dist_count(dist));
    CHECK(husk_dist_barrier(dist) == HUSK_OK);
    number = husk_dist_rank(dist) + 3;
    CHECK(husk_dist_broadcast(dist, &number, sizeof number) == HUSK_OK && number == 3);
}

// Rules of husk_parallel_create; others are husk_pipeline_create's.
static bool is_parallel(void)
{
    return is("part_bytes") || is("parallel_size") || is("parallel_memory") || is("gradients");
}

static husk_status build(void)
{
    husk_optimizer_params sgd = husk_sgd(0.1);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &sgd);
    husk_status status = husk_dist_context_create(dist, NULL, NULL, &context, &error);
    if (!status)
        status = husk_graph_create(context, &HUSK_GRAPH_PARAMS(.seed = 7), &graph, &error);
    if (status)
        return status;
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 2, (int64_t[]){BATCH, WIDTH});
    husk_value y = husk_graph_linear(graph, "fc", &HUSK_LINEAR_LAYER(.outputs = WIDTH), x);
    options.loss = husk_graph_reduce(graph, "loss", &HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_NORM), y);
    husk_graph_output(graph, "y", y);
    if (is("gradients")) {
        options.loss = HUSK_NO_VALUE;
        options.optimizer = NULL;
    } else if (!is("calls") && !is_parallel()) { // for a pipeline
        husk_graph_input(graph, "codes", HUSK_I32, 2, (int64_t[]){BATCH, WIDTH});
        husk_graph_input_gradient(graph, "dx", x);
        husk_graph_output_gradient(graph, "dy", husk_graph_slice(graph, "part", y, 0, 0, 1));
        options.accumulate = MICRO_BATCHES;
        options.micro_batches = husk_pipeline_depth(dist, MICRO_BATCHES);
    }
    return husk_graph_compile(graph, &options, &error);
}

// In all ranks: a step, and then what is known of it.
static husk_status train(void)
{
    husk_parallel *parallel;
    husk_parallel_exchange exchange = HUSK_PARALLEL_EXCHANGE(), small = {.size = 1};
    float x[BATCH * WIDTH] = {1, 2, 3};
    husk_status status = husk_parallel_create(dist, graph, NULL, &parallel, &error);
    if (status)
        return status;
    status = husk_graph_write(graph, "x", x, sizeof x);
    if (!status)
        status = husk_parallel_step(parallel);
    if (!status)
        status = husk_parallel_settle(parallel);
    DIST_FAILS(husk_parallel_exchange_at(parallel, 0, NULL), "husk_parallel_exchange_at: exchange: it is NULL");
    DIST_FAILS(husk_parallel_exchange_at(parallel, 0, &small), "husk_parallel_exchange_at: exchange: size is 1, not ");
    DIST_FAILS(husk_parallel_exchange_at(parallel, 99, &exchange), "husk_parallel_exchange_at: index: 99; there are ");
    CHECK(husk_parallel_exchange_count(parallel) > 0 || husk_dist_count(dist) == 1);
    CHECK(husk_graph_get_position(graph).updates == 1);
    husk_parallel_release(parallel);
    return status;
}

static husk_status refuse_parallel(void)
{
    husk_parallel *parallel;
    husk_parallel_params params = HUSK_PARALLEL_PARAMS(.part_bytes = is("part_bytes") ? ((uint64_t)1 << 30) + 1 : 0);
    if (is("parallel_size"))
        params.size = 1;
    lacks_memory = is("parallel_memory") && is_second();
    return husk_parallel_create(dist, graph, &params, &parallel, &error);
}

static husk_status refuse_pipeline(void)
{
    static const husk_pipeline_link good = {"x", "dx"}, nameless = {NULL, NULL}, unknown = {"z", NULL},
                                    no_gradient = {"x", "dz"}, other = {"y", "dy"}, codes = {"codes", "dx"}, nine[9];
    husk_pipeline *pipeline;
    const bool is_last = husk_dist_rank(dist) + 1 == husk_dist_count(dist);
    husk_pipeline_params params = HUSK_PIPELINE_PARAMS(.micro_batches = MICRO_BATCHES, .loss = is_last ? "loss" : NULL);
    if (is("pipeline_size"))
        params.size = 1;
    if (is("no_micro_batch"))
        params.micro_batches = 0;
    if (is("many_micro_batches"))
        params.micro_batches = 513;
    if (is("other_micro_batches") && is_second())
        params.micro_batches = 1;
    if (is("nine_links"))
        params.previous = nine, params.previous_count = 9;
    if (is("no_links"))
        params.next_count = 1;
    if (is("first_stage"))
        params.previous = &good, params.previous_count = 1;
    if (is("last_stage"))
        params.next = &good, params.next_count = 1;
    if (is("one_link") && is_second())
        params.previous = &good, params.previous_count = 1;
    if (is("nameless"))
        params.previous = &nameless, params.previous_count = 1;
    if (is("unknown"))
        params.next = &unknown, params.next_count = 1;
    if (is("no_gradient"))
        params.previous = &no_gradient, params.previous_count = 1;
    if (is("other_shape"))
        params.next = &other, params.next_count = 1;
    if (is("other_dtype"))
        params.previous = &codes, params.previous_count = 1;
    if (is("no_loss"))
        params.loss = NULL;
    if (is("early_loss"))
        params.loss = "loss";
    if (is("unknown_loss"))
        params.loss = "nothing";
    if (is("loss_of_many"))
        params.loss = "y";
    lacks_memory = is("pipeline_memory") && is_second();
    return husk_pipeline_create(dist, graph, &params, &pipeline, &error);
}

int main(int count, char **arguments)
{
    what = count > 1 ? arguments[1] : "calls";
    husk_dist_params params = HUSK_DIST_PARAMS();
    if (is("dist_size"))
        params.size = 1;
    if (is("calls"))
        refuse_nothing();
    if (is("absent") || is("absent_memory"))
        params.patience_ms = 1000;
    if (is("absent") && is_second()) { // MPI_Init has to be called by all
        MPI_Init(NULL, NULL);
        sleep(60);
        return 1;
    }
    lacks_memory = is("absent_memory") && is_second();
    lacks_threads = is("no_thread");
    husk_status status = husk_dist_create(&params, &dist, &error);
    if (is("no_thread"))
        fprintf(stderr, "receives: %d, cancelled: %d\n", received, cancelled);
    if (!status)
        status = build();
    if (!status && is("calls")) {
        refuse_wrong_arguments();
        status = train();
    } else if (!status)
        status = is_parallel() ? refuse_parallel() : refuse_pipeline();
    if (status) {
        fprintf(stderr, "rank %d: %s\n", (int)husk_dist_rank(dist), error.text);
        if ((is("parallel_memory") || is("pipeline_memory") || is("absent_memory")) && is_second())
            sleep(60); // it tells nobody: the library does
        husk_dist_fail(dist, &error);
    }
    husk_graph_release(graph);
    husk_context_release(context);
    husk_dist_release(dist);
    return status || failures;
}
