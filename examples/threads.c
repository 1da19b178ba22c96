// SPDX-License-Identifier: MIT
// Two threads, a queue each, one plan and one set of packed weights: a plan is immutable, so both run it at once.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <husk/husk.h>

enum { ROWS = 96, INNER = 64, COLUMNS = 48, RUNS = 20 };

typedef struct worker {
    husk_context *context;
    husk_plan *plan;
    const husk_packed *packed;
    float value;  /* every element of A */
    float answer; /* what C holds afterwards */
    husk_error error;
} worker;

static husk_status work_with(worker *self, husk_queue *queue, husk_buffer *a_memory, husk_buffer *c_memory)
{
    husk_tensor a = husk_tensor_make(a_memory, HUSK_F32, 2, (int64_t[]){ROWS, INNER});
    husk_tensor c = husk_tensor_make(c_memory, HUSK_F32, 2, (int64_t[]){ROWS, COLUMNS});
    husk_tensor b = husk_packed_tensor(self->packed);
    husk_status status =
        husk_buffer_fill(queue, a_memory, 0, husk_buffer_size(a_memory), &self->value, sizeof self->value);
    for (int run = 0; run < RUNS && !status; run++) {
        status = husk_gemm_plan_run(self->plan, queue, 1.0f, &a, &b, NULL, 0.0f, &c);
    }
    if (!status) {
        status = husk_buffer_read(queue, c_memory, 0, sizeof self->answer, &self->answer);
    }
    if (status) {
        self->error = *husk_queue_error(queue);
    }
    return status;
}

/* The thread: everything it makes, it makes for itself; what it shares is read only. */
static void *work(void *argument)
{
    worker *self = argument;
    husk_queue *queue = NULL;
    husk_buffer *a = NULL, *c = NULL;
    if (!husk_queue_create(self->context, NULL, &queue, &self->error) &&
        !husk_buffer_create(self->context, sizeof(float) * ROWS * INNER, &a, &self->error) &&
        !husk_buffer_create(self->context, sizeof(float) * ROWS * COLUMNS, &c, &self->error)) {
        work_with(self, queue, a, c);
    }
    husk_buffer_release(a);
    husk_buffer_release(c);
    husk_queue_release(queue);
    return NULL;
}

/* The plan, and B packed for it: all of its elements are 0.5. */
static husk_status prepare(husk_context *context, husk_plan **plan, husk_packed **packed, husk_error *error)
{
    const float half = 0.5f;
    husk_queue *queue = NULL;
    husk_buffer *memory = NULL;
    husk_tensor a = husk_tensor_make(NULL, HUSK_F32, 2, (int64_t[]){ROWS, INNER});
    husk_tensor c = husk_tensor_make(NULL, HUSK_F32, 2, (int64_t[]){ROWS, COLUMNS});
    husk_status status = husk_queue_create(context, NULL, &queue, error);
    if (!status) {
        status = husk_buffer_create(context, sizeof(float) * INNER * COLUMNS, &memory, error);
    }
    husk_tensor b = husk_tensor_make(memory, HUSK_F32, 2, (int64_t[]){INNER, COLUMNS});
    if (!status) {
        status = husk_gemm_plan_create(context, NULL, &a, &b, NULL, &c, plan, error);
    }
    if (!status && (status = husk_buffer_fill(queue, memory, 0, husk_buffer_size(memory), &half, sizeof half)) == 0 &&
        (status = husk_gemm_plan_pack(*plan, queue, &b, packed)) == 0) {
        /* Uses on other queues come after the packing. An event would do; here there is nothing else to do. */
        status = husk_queue_finish(queue);
    }
    if (status && queue && husk_queue_error(queue)->status) {
        *error = *husk_queue_error(queue);
    }
    husk_buffer_release(memory);
    husk_queue_release(queue);
    return status;
}

int main(void)
{
    husk_error error = {0};
    husk_context *context = NULL;
    husk_plan *plan = NULL;
    husk_packed *packed = NULL;
    if (husk_context_create(NULL, NULL, &context, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    /* The driver's threads, not these two: before there is work, and a GPU has none. */
    husk_context_bind_threads(context, NULL, 0, NULL);
    if (prepare(context, &plan, &packed, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    worker workers[2] = {
        {.context = context, .plan = plan, .packed = packed, .value = 1.0f},
        {.context = context, .plan = plan, .packed = packed, .value = -3.0f},
    };
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, work, &workers[i])) {
            return 1;
        }
    }
    int failures = 0;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        printf("thread %d: %g %s\n", i, (double)workers[i].answer, workers[i].error.text);
        failures += workers[i].answer != workers[i].value * 0.5f * INNER;
    }
    husk_packed_release(packed);
    husk_plan_release(plan);
    husk_context_release(context);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
