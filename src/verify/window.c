// SPDX-License-Identifier: MIT
#include "verify/window.h"

husk_status husk__verify_check_window(const husk__verify_window *window, int32_t d, const husk__scope *scope)
{
    const struct {
        const char *name;
        int64_t value;
    } options[] = {{"stride", window->stride}, {"dilation", window->dilation}, {"pad", window->pad}};
    for (int i = 0; i < 3; ++i)
        if (options[i].value < 0 || options[i].value >= HUSK__VERIFY_LARGEST)
            return husk__reject(scope, "params", "%s[%d] is %lld, must be 0 or more, and less than 2^29",
                                options[i].name, (int)d, (long long)options[i].value);
    if (window->pad_end_extra < -window->pad || window->pad_end_extra >= HUSK__VERIFY_LARGEST)
        return husk__reject(scope, "params", "pad_end_extra[%d] is %lld, must be -%lld or more, and less than 2^29",
                            (int)d, (long long)window->pad_end_extra, (long long)window->pad);
    if (window->in >= HUSK__VERIFY_LARGEST || window->size >= HUSK__VERIFY_LARGEST)
        return husk__fail(scope, HUSK_UNSUPPORTED, "a size of space dimension %d is 2^29 or more", (int)d);
    const int64_t dilation = window->dilation ? window->dilation : 1, extent = dilation * (window->size - 1) + 1;
    const int64_t padded = window->in + 2 * window->pad + window->pad_end_extra;
    if (extent > padded)
        return husk__reject(scope, "x",
                            "has %lld elements with its padding in space dimension %d, fewer than the "
                            "%lld that the window spans",
                            (long long)padded, (int)d, (long long)extent);
    return HUSK_OK;
}
