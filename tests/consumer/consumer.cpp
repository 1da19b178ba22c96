// SPDX-License-Identifier: MIT
// An external C++ program that runs one convolution: 3 x 3 ones over the numbers 1 to 16.
#include <cstdio>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <husk/husk.h>

static void check(husk_status status, const husk_error &error)
{
    if (status != HUSK_OK) {
        throw std::runtime_error(error.text);
    }
}

template <typename T> using handle = std::unique_ptr<T, void (*)(T *)>;

static bool run()
{
    husk_error error = {};
    husk_context *raw_context = nullptr;
    husk_queue *raw_queue = nullptr;
    check(husk_context_create(nullptr, nullptr, &raw_context, &error), error);
    handle<husk_context> context(raw_context, husk_context_release);
    check(husk_queue_create(raw_context, nullptr, &raw_queue, &error), error);
    handle<husk_queue> queue(raw_queue, husk_queue_release);

    std::vector<float> image(16), filter(9, 1.0f), result(16);
    std::iota(image.begin(), image.end(), 1.0f);
    const int64_t image_shape[] = {1, 1, 4, 4}, filter_shape[] = {1, 1, 3, 3};
    husk_buffer *memory = nullptr;
    check(husk_buffer_create(raw_context, 41 * sizeof(float), &memory, &error), error);
    handle<husk_buffer> guard(memory, husk_buffer_release);
    husk_tensor x = husk_tensor_make(memory, HUSK_F32, 4, image_shape);
    husk_tensor w = husk_tensor_make(memory, HUSK_F32, 4, filter_shape);
    husk_tensor y = husk_tensor_make(memory, HUSK_F32, 4, image_shape);
    w.offset = 16;
    y.offset = 25;
    husk_conv_params params = {};
    params.size = sizeof params;
    params.pad[0] = params.pad[1] = 1;
    const husk_error &queue_error = *husk_queue_error(raw_queue);
    check(husk_buffer_write(raw_queue, memory, 0, 64, image.data()), queue_error);
    check(husk_buffer_write(raw_queue, memory, 64, 36, filter.data()), queue_error);
    check(husk_conv(raw_queue, &params, &x, &w, nullptr, &y), queue_error);
    check(husk_buffer_read(raw_queue, memory, 100, 64, result.data()), queue_error);
    std::printf("husk %s: %g %g\n", husk_version(), result[0], result[5]);
    return result[0] == 14.0f && result[5] == 54.0f;
}

int main()
try {
    return run() ? 0 : 1;
} catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
