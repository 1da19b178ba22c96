// SPDX-License-Identifier: MIT
// The same in C++20 by the C interface's own macros, as README.md has them.
#include <cstdio>
#include <vector>

#include <husk/husk.hpp>

static bool run()
{
    husk::object<husk_context> context;
    husk::object<husk_queue> queue;
    husk::object<husk_buffer> memory;
    const husk_context_params choice = HUSK_CONTEXT_PARAMS(.precision = HUSK_PRECISION_HIGHEST);
    husk::create(husk_context_create, context, nullptr, &choice);
    husk::create(husk_queue_create, queue, context.get(), nullptr);
    husk::create(husk_buffer_create, memory, context.get(), 41 * sizeof(float));
    std::vector<float> values(41, 1.0f);
    for (int i = 0; i < 16; i++)
        values[static_cast<size_t>(i)] = static_cast<float>(i + 1);
    const int64_t image[] = {1, 1, 4, 4}, filter[] = {1, 1, 3, 3};
    husk_tensor x = husk_tensor_make(memory.get(), HUSK_F32, 4, image);
    husk_tensor w = husk_tensor_make(memory.get(), HUSK_F32, 4, filter), y = x;
    w.offset = 16;
    y.offset = 25;
    const husk_conv_params params = HUSK_CONV_PARAMS(.pad = {1, 1}, .activation = HUSK_ACT_RELU);
    husk_queue *const q = queue.get();
    husk::check(q, husk_buffer_write(q, memory.get(), 0, 41 * sizeof(float), values.data()));
    husk::check(q, husk_conv(q, &params, &x, &w, nullptr, &y));
    husk::check(q, husk_buffer_read(q, memory.get(), 0, 41 * sizeof(float), values.data()));
    std::printf("husk %s: %g %g\n", husk_version(), static_cast<double>(values[25]), static_cast<double>(values[30]));
    return values[25] == 14.0f && values[30] == 54.0f;
}

int main()
try {
    return run() ? 0 : 1;
} catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
