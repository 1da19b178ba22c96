// SPDX-License-Identifier: MIT
// A two-layer LSTM over sequences of different length, its weights packed once and used for every batch.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <husk/husk.h>

enum { STEPS = 12, BATCH = 3, FEATURES = 20, HIDDEN = 16, LAYERS = 2, GATES = 4 };

/* Where each tensor lies in one buffer, in elements. */
typedef struct layout {
    int64_t next;
    husk_buffer *memory;
} layout;

static husk_tensor place(layout *at, husk_dtype dtype, int32_t rank, const int64_t *shape)
{
    husk_tensor tensor = husk_tensor_make(at->memory, dtype, rank, shape);
    tensor.offset = at->next; /* every type here has four bytes */
    at->next += husk_tensor_count(&tensor);
    return tensor;
}

/* Repeatable numbers in [-0.25, 0.25). */
static void fill(float *values, int64_t count)
{
    uint32_t state = 1;
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(state >> 8) / 33554432.0f - 0.25f;
    }
}

static husk_status run(husk_context *context, husk_queue *queue, husk_buffer *memory, float *y_host, float *h_host)
{
    husk_error error = {0};
    husk_plan *plan = NULL;
    husk_packed *packed = NULL;
    layout at = {.memory = memory};
    husk_tensor x = place(&at, HUSK_F32, 3, (int64_t[]){STEPS, BATCH, FEATURES});
    husk_tensor lengths = place(&at, HUSK_I32, 1, (int64_t[]){BATCH});
    husk_tensor y = place(&at, HUSK_F32, 3, (int64_t[]){STEPS, BATCH, HIDDEN});
    husk_tensor h_n = place(&at, HUSK_F32, 3, (int64_t[]){LAYERS, BATCH, HIDDEN});
    husk_tensor matrices[LAYERS][2], biases[LAYERS][2];
    husk_rnn_weights weights[LAYERS];
    for (int layer = 0; layer < LAYERS; layer++) {
        const int64_t inputs = layer == 0 ? FEATURES : HIDDEN;
        matrices[layer][0] = place(&at, HUSK_F32, 2, (int64_t[]){GATES * HIDDEN, inputs});
        matrices[layer][1] = place(&at, HUSK_F32, 2, (int64_t[]){GATES * HIDDEN, HIDDEN});
        biases[layer][0] = place(&at, HUSK_F32, 1, (int64_t[]){GATES * HIDDEN});
        biases[layer][1] = place(&at, HUSK_F32, 1, (int64_t[]){GATES * HIDDEN});
        weights[layer] =
            (husk_rnn_weights){&matrices[layer][0], &matrices[layer][1], &biases[layer][0], &biases[layer][1]};
    }

    husk_rnn_params params = HUSK_RNN_PARAMS(.cell = HUSK_RNN_LSTM, .hidden_size = HIDDEN, .layers = LAYERS);
    husk_rnn_inputs inputs = HUSK_RNN_INPUTS(.x = &x, .lengths = &lengths, .weights = weights);
    husk_rnn_outputs outputs = HUSK_RNN_OUTPUTS(.y = &y, .h_n = &h_n);
    husk_status status = husk_rnn_plan_create(context, &params, &inputs, &outputs, &plan, &error);
    if (!status) {
        status = husk_rnn_plan_pack(plan, queue, weights, &packed);
    }
    inputs.weights = NULL;
    inputs.packed = packed;
    for (int batch = 0; batch < 4 && !status; batch++) { /* here the same batch, four times */
        status = husk_rnn_plan_run(plan, queue, &inputs, &outputs);
    }
    if (!status) {
        status =
            husk_buffer_read(queue, memory, (uint64_t)y.offset * 4, sizeof(float) * STEPS * BATCH * HIDDEN, y_host);
    }
    if (!status) {
        status =
            husk_buffer_read(queue, memory, (uint64_t)h_n.offset * 4, sizeof(float) * LAYERS * BATCH * HIDDEN, h_host);
    }
    if (status) {
        fprintf(stderr, "%s\n", plan ? husk_queue_error(queue)->text : error.text);
    }
    husk_packed_release(packed);
    husk_plan_release(plan);
    return status;
}

/* What has to hold whatever the weights: y is 0 past a sequence's end, and h_n is y at its last step. */
static int check(const float *y, const float *h, const int32_t *lengths)
{
    int wrong = 0;
    for (int b = 0; b < BATCH; b++) {
        for (int i = 0; i < HIDDEN; i++) {
            const float last = y[((lengths[b] - 1) * BATCH + b) * HIDDEN + i];
            wrong += last != h[((LAYERS - 1) * BATCH + b) * HIDDEN + i] || !(fabsf(last) > 0.0f && fabsf(last) < 1.0f);
            for (int t = lengths[b]; t < STEPS; t++) {
                wrong += y[(t * BATCH + b) * HIDDEN + i] != 0.0f;
            }
        }
    }
    return wrong;
}

int main(void)
{
    static float y[STEPS * BATCH * HIDDEN], h[LAYERS * BATCH * HIDDEN], numbers[8192];
    const int32_t lengths[BATCH] = {12, 5, 1};
    husk_error error = {0};
    husk_context *context = NULL;
    husk_queue *queue = NULL;
    husk_buffer *memory = NULL;
    int failed = 1;

    if (husk_context_create(NULL, NULL, &context, &error) || husk_queue_create(context, NULL, &queue, &error) ||
        husk_buffer_create(context, sizeof numbers, &memory, &error)) {
        fprintf(stderr, "%s\n", error.text);
        goto cleanup;
    }
    husk_context_bind_threads(context, NULL, 0, NULL); /* a CPU's threads, to a core each, if it can be */
    fill(numbers, sizeof numbers / sizeof *numbers);
    if (husk_buffer_write(queue, memory, 0, sizeof numbers, numbers) ||
        husk_buffer_write(queue, memory, sizeof(float) * STEPS * BATCH * FEATURES, sizeof lengths, lengths)) {
        fprintf(stderr, "%s\n", husk_queue_error(queue)->text);
        goto cleanup;
    }
    if (!run(context, queue, memory, y, h)) {
        const int wrong = check(y, h, lengths);
        printf("the last hidden state begins with %g; %d values break a rule\n", (double)h[BATCH * HIDDEN], wrong);
        failed = wrong != 0;
    }
cleanup:
    husk_buffer_release(memory);
    husk_queue_release(queue);
    husk_context_release(context);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
