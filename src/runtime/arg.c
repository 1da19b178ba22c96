// SPDX-License-Identifier: MIT
#include "runtime/arg.h"

husk__arg husk__arg_tensor(const husk_tensor *tensor)
{
    husk__arg argument = {.tag = HUSK__TAG_BUFFER, .element_size = 1};
    if (tensor && tensor->buffer) {
        argument.buffer = tensor->buffer;
        argument.element_size = (uint32_t)husk_dtype_size(tensor->dtype);
        argument.value.i64 = tensor->offset;
    }
    return argument;
}

husk__arg husk__arg_buffer(const husk_buffer *buffer, uint64_t byte_offset, uint32_t element_size)
{
    return (husk__arg){.tag = HUSK__TAG_BUFFER,
                       .element_size = element_size,
                       .buffer = buffer,
                       .value.i64 = (int64_t)(byte_offset / element_size)};
}

husk__arg husk__arg_acc(husk_dtype dtype, double number)
{
    if (dtype == HUSK_F64)
        return (husk__arg){.tag = HUSK__TAG_F64, .value.f64 = number};
    return HUSK__ARG_F32(number);
}
