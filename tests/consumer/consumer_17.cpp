// SPDX-License-Identifier: MIT
// consumer.cpp's convolution in C++17, by husk/husk.hpp: structs that know their size, objects that release themselves.
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

#include <husk/husk.hpp>

static bool run()
{
    husk::object<husk_context> context;
    husk::object<husk_queue> queue;
    husk::object<husk_buffer> memory;
    husk::create(husk_context_create, context, nullptr, nullptr);
    husk::create(husk_queue_create, queue, context.get(), nullptr);
    husk::create(husk_buffer_create, memory, context.get(), 41 * sizeof(float));

    std::vector<float> image(16), filter(9, 1.0f), result(16);
    std::iota(image.begin(), image.end(), 1.0f);
    const int64_t image_shape[] = {1, 1, 4, 4}, filter_shape[] = {1, 1, 3, 3};
    husk_tensor x = husk_tensor_make(memory.get(), HUSK_F32, 4, image_shape);
    husk_tensor w = husk_tensor_make(memory.get(), HUSK_F32, 4, filter_shape);
    husk_tensor y = husk_tensor_make(memory.get(), HUSK_F32, 4, image_shape);
    w.offset = 16;
    y.offset = 25;
    auto params = husk::make<husk_conv_params>();
    params.pad[0] = params.pad[1] = 1;
    husk_queue *const q = queue.get();
    husk::check(q, husk_buffer_write(q, memory.get(), 0, 64, image.data()));
    husk::check(q, husk_buffer_write(q, memory.get(), 64, 36, filter.data()));
    husk::check(q, husk_conv(q, &params, &x, &w, nullptr, &y));
    husk::check(q, husk_buffer_read(q, memory.get(), 100, 64, result.data()));
    std::printf("husk %s: %g %g\n", husk_version(), static_cast<double>(result[0]), static_cast<double>(result[5]));
    return result[0] == 14.0f && result[5] == 54.0f;
}

// A failure carries its status and its text, and leaves nothing behind.
static bool fails_well()
{
    husk::object<husk_context> context;
    auto params = husk::make<husk_context_params>();
    params.size = 0;
    try {
        husk::create(husk_context_create, context, nullptr, &params);
    } catch (const husk::failure &failure) {
        return failure.status() == HUSK_INVALID_ARGUMENT && !context &&
               std::strstr(failure.what(), "husk_context_create: params: size is 0") != nullptr;
    }
    return false;
}

int main()
try {
    return run() && fails_well() ? 0 : 1;
} catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
