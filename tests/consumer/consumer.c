// SPDX-License-Identifier: MIT
// An external C program that runs one convolution: 3 x 3 ones over the numbers 1 to 16.
#include <stdio.h>

#include <husk/husk.h>

int main(void)
{
    float image[16], filter[9], result[16];
    husk_error error = {0};
    husk_device_list *devices = NULL;
    const husk_device *device = NULL;
    husk_context *context = NULL;
    husk_queue *queue = NULL;
    husk_buffer *memory[3] = {NULL, NULL, NULL};
    int failed = 1;

    for (int i = 0; i < 16; i++) {
        image[i] = (float)(i + 1);
    }
    for (int i = 0; i < 9; i++) {
        filter[i] = 1.0f;
    }
    if (husk_device_list_create(&devices, &error) || husk_device_list_select(devices, NULL, &device, &error) ||
        husk_context_create(device, NULL, &context, &error) || husk_queue_create(context, NULL, &queue, &error) ||
        husk_buffer_create(context, sizeof image, &memory[0], &error) ||
        husk_buffer_create(context, sizeof filter, &memory[1], &error) ||
        husk_buffer_create(context, sizeof result, &memory[2], &error)) {
        fprintf(stderr, "%s\n", error.text);
        goto cleanup;
    }
    husk_tensor x = husk_tensor_make(memory[0], HUSK_F32, 4, (const int64_t[]){1, 1, 4, 4});
    husk_tensor w = husk_tensor_make(memory[1], HUSK_F32, 4, (const int64_t[]){1, 1, 3, 3});
    husk_tensor y = husk_tensor_make(memory[2], HUSK_F32, 4, (const int64_t[]){1, 1, 4, 4});
    husk_conv_params params = HUSK_CONV_PARAMS(.pad = {1, 1});
    if (husk_buffer_write(queue, memory[0], 0, sizeof image, image) ||
        husk_buffer_write(queue, memory[1], 0, sizeof filter, filter) || husk_conv(queue, &params, &x, &w, NULL, &y) ||
        husk_buffer_read(queue, memory[2], 0, sizeof result, result)) {
        fprintf(stderr, "%s\n", husk_queue_error(queue)->text);
        goto cleanup;
    }
    printf("husk %s: %g %g\n", husk_version(), (double)result[0], (double)result[5]);
    failed = result[0] != 14.0f || result[5] != 54.0f;
cleanup:
    for (int i = 0; i < 3; i++) {
        husk_buffer_release(memory[i]);
    }
    husk_queue_release(queue);
    husk_context_release(context);
    husk_device_list_release(devices);
    return failed;
}
