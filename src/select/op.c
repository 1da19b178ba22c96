// SPDX-License-Identifier: MIT
#include "select/op.h"

#include <string.h>

const char *husk_op_name(size_t index)
{
    size_t count = 0;
    while (husk__ops[count])
        ++count;
    return index < count ? husk__ops[index]->name : NULL;
}

const husk__op *husk__op_find(const char *name)
{
    for (size_t i = 0; name && husk__ops[i]; ++i) {
        if (strcmp(husk__ops[i]->name, name) == 0)
            return husk__ops[i];
    }
    return NULL;
}

const char *husk_op_variant(const char *op, size_t index)
{
    const husk__op *found = husk__op_find(op);
    size_t count = 0;
    while (found && found->variants[count])
        ++count;
    return index < count ? found->variants[index]->name : NULL;
}

const char *husk_op_configuration(const char *op, const char *variant, size_t index)
{
    const husk__op *found = husk__op_find(op);
    for (size_t i = 0; found && variant && found->variants[i]; ++i) {
        const husk__variant *row = found->variants[i];
        if (strcmp(row->name, variant) == 0)
            return index < row->configuration_count ? row->configurations[index].name : NULL;
    }
    return NULL;
}

void husk__class_size(husk__text *text, const char *name, int64_t size)
{
    int64_t bucket = 1;
    while (bucket <= size / 2)
        bucket *= 2;
    husk__text_format(text, " %s=%lld%s", name, (long long)(size > 0 ? bucket : 0), size > 1 ? "+" : "");
}
