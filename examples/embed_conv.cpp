// SPDX-License-Identifier: MIT
// The same in C++17: objects that release themselves, and failures as exceptions.
#include <cstdio>
#include <vector>

#include <husk/husk.hpp>

int main()
try {
    std::vector<float> image(3 * 32 * 32), filter(8 * 3 * 3 * 3), result(8 * 32 * 32);
    image[0] = 4.0f;
    filter[4] = 0.25f;
    husk::object<husk_context> context;
    husk::object<husk_queue> queue;
    husk::object<husk_buffer> memory;
    husk::create(husk_context_create, context, nullptr, nullptr);
    husk::create(husk_queue_create, queue, context.get(), nullptr);
    husk::create(husk_buffer_create, memory, context.get(), 64 * 1024);
    const int64_t x_shape[] = {1, 3, 32, 32}, w_shape[] = {8, 3, 3, 3}, y_shape[] = {1, 8, 32, 32};
    husk_tensor x = husk_tensor_make(memory.get(), HUSK_F32, 4, x_shape);
    husk_tensor w = husk_tensor_make(memory.get(), HUSK_F32, 4, w_shape);
    husk_tensor y = husk_tensor_make(memory.get(), HUSK_F32, 4, y_shape);
    w.offset = 4 * 1024; // elements
    y.offset = 8 * 1024;
    auto params = husk::make<husk_conv_params>();
    params.pad[0] = params.pad[1] = 1;
    params.activation = HUSK_ACT_RELU;
    husk_queue *q = queue.get();
    husk::check(q, husk_buffer_write(q, memory.get(), 0, image.size() * sizeof(float), image.data()));
    husk::check(q, husk_buffer_write(q, memory.get(), 16 * 1024, filter.size() * sizeof(float), filter.data()));
    husk::check(q, husk_conv(q, &params, &x, &w, nullptr, &y));
    husk::check(q, husk_buffer_read(q, memory.get(), 32 * 1024, result.size() * sizeof(float), result.data()));
    std::printf("%s says %g\n", husk_context_traits(context.get())->name, static_cast<double>(result[0]));
    return result[0] == 1.0f ? 0 : 1;
} catch (const husk::failure &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
