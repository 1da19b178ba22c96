// SPDX-License-Identifier: MIT
// A 3 x 3 convolution with ReLU on the best OpenCL device of this machine.
#include <stdio.h>

#include <husk/husk.h>

int main(void)
{
    static float image[3 * 32 * 32] = {4.0f}, filter[8 * 3 * 3 * 3] = {[4] = 0.25f}, result[8 * 32 * 32];
    husk_error error;
    husk_context *context;
    husk_queue *queue;
    husk_buffer *x_memory, *w_memory, *y_memory;
    if (husk_context_create(NULL, NULL, &context, &error) || husk_queue_create(context, NULL, &queue, &error) ||
        husk_buffer_create(context, sizeof image, &x_memory, &error) ||
        husk_buffer_create(context, sizeof filter, &w_memory, &error) ||
        husk_buffer_create(context, sizeof result, &y_memory, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    husk_context_bind_threads(context, NULL, 0, NULL); // a CPU's threads, to a core each, if it can be
    husk_tensor x = husk_tensor_make(x_memory, HUSK_F32, 4, (int64_t[]){1, 3, 32, 32});
    husk_tensor w = husk_tensor_make(w_memory, HUSK_F32, 4, (int64_t[]){8, 3, 3, 3});
    husk_tensor y = husk_tensor_make(y_memory, HUSK_F32, 4, (int64_t[]){1, 8, 32, 32});
    husk_conv_params params = HUSK_CONV_PARAMS(.pad = {1, 1}, .activation = HUSK_ACT_RELU);
    if (husk_buffer_write(queue, x_memory, 0, sizeof image, image) ||
        husk_buffer_write(queue, w_memory, 0, sizeof filter, filter) || husk_conv(queue, &params, &x, &w, NULL, &y) ||
        husk_buffer_read(queue, y_memory, 0, sizeof result, result)) {
        fprintf(stderr, "%s\n", husk_queue_error(queue)->text);
        return 1;
    }
    printf("%s says %g\n", husk_context_traits(context)->name, (double)result[0]);
    husk_buffer_release(x_memory);
    husk_buffer_release(w_memory);
    husk_buffer_release(y_memory);
    husk_queue_release(queue);
    husk_context_release(context);
    return result[0] == 1.0f ? 0 : 1;
}
