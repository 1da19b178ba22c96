// SPDX-License-Identifier: MIT
// The lesson docs/first-call.md: softmax(x w) on the default OpenCL device, and what a wrong call says.
#include <stdio.h>

#include <husk/husk.h>

enum { ROWS = 2, INPUTS = 2, CLASSES = 3 };

static const float x_values[ROWS * INPUTS] = {1, 0, 0, 3};          // two rows
static const float w_values[INPUTS * CLASSES] = {0, 1, 2, 1, 1, 1}; // a row for each input

static husk_status compute(husk_queue *queue, husk_buffer *x_memory, husk_buffer *w_memory, husk_buffer *y_memory,
                           float *y_values)
{
    husk_tensor x = husk_tensor_make(x_memory, HUSK_F32, 2, (int64_t[]){ROWS, INPUTS});
    husk_tensor w = husk_tensor_make(w_memory, HUSK_F32, 2, (int64_t[]){INPUTS, CLASSES});
    husk_tensor y = husk_tensor_make(y_memory, HUSK_F32, 2, (int64_t[]){ROWS, CLASSES});
    husk_softmax_params params = husk_softmax_defaults();
    husk_status status = husk_buffer_write(queue, x_memory, 0, sizeof x_values, x_values);
    if (!status) {
        status = husk_buffer_write(queue, w_memory, 0, sizeof w_values, w_values);
    }
    if (!status) {
        status = husk_gemm(queue, NULL, 1.0f, &x, &w, NULL, 0.0f, &y); // y = x w
    }
    if (!status) {
        status = husk_softmax(queue, &params, &y, &y); // in place
    }
    if (!status) {
        status = husk_buffer_read(queue, y_memory, 0, sizeof(float) * ROWS * CLASSES, y_values); // waits
    }
    return status;
}

static void make_a_mistake(husk_queue *queue, husk_buffer *x_memory, husk_buffer *y_memory)
{
    husk_tensor x = husk_tensor_make(x_memory, HUSK_F32, 2, (int64_t[]){ROWS, INPUTS});
    husk_tensor y = husk_tensor_make(y_memory, HUSK_F32, 2, (int64_t[]){ROWS, CLASSES});
    husk_status status = husk_gemm(queue, NULL, 1.0f, &x, &y, NULL, 0.0f, &x); // the result cannot be x
    printf("a mistake: %s\n", husk_status_name(status));
    printf("  %s\n", husk_queue_error(queue)->text);
}

int main(void)
{
    husk_error error = {HUSK_OK, 0, ""};
    husk_context *context = NULL;
    husk_queue *queue = NULL;
    husk_buffer *x = NULL, *w = NULL, *y = NULL;
    float y_values[ROWS * CLASSES];
    int result = 1;

    if (husk_context_create(NULL, NULL, &context, &error) || husk_queue_create(context, NULL, &queue, &error) ||
        husk_buffer_create(context, sizeof x_values, &x, &error) ||
        husk_buffer_create(context, sizeof w_values, &w, &error) ||
        husk_buffer_create(context, sizeof y_values, &y, &error)) {
        fprintf(stderr, "%s\n", error.text);
        goto cleanup;
    }
    printf("device: %s\n", husk_context_traits(context)->name);

    if (compute(queue, x, w, y, y_values)) {
        fprintf(stderr, "%s\n", husk_queue_error(queue)->text);
        goto cleanup;
    }
    for (int row = 0; row < ROWS; row++) {
        const float *p = y_values + row * CLASSES;
        printf("row %d: %.3f %.3f %.3f\n", row, (double)p[0], (double)p[1], (double)p[2]);
    }
    make_a_mistake(queue, x, y);
    result = 0;

cleanup:
    husk_buffer_release(y);
    husk_buffer_release(w);
    husk_buffer_release(x);
    husk_queue_release(queue);
    husk_context_release(context);
    return result;
}
