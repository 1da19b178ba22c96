// SPDX-License-Identifier: MIT
#include "select/variant_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "os/environment.h"

bool husk__variant_list_read(husk__variant_list *list)
{
    const char *text = husk__environment("HUSK_VARIANT");
    list->text = text ? husk__copy_string(text) : NULL;
    return !text || list->text;
}

void husk__variant_list_free(husk__variant_list *list)
{
    free(list->text);
    list->text = NULL;
}

bool husk__variant_from_list(const char *list, const char *op, char *wanted, size_t capacity)
{
    size_t length = strlen(op);
    while (list && *list) {
        size_t item = strcspn(list, ",");
        if (item > length + 1 && strncmp(list, op, length) == 0 && list[length] == ':' &&
            item - length - 1 < capacity) {
            memcpy(wanted, list + length + 1, item - length - 1);
            wanted[item - length - 1] = 0;
            return true;
        }
        list += item + (list[item] == ',');
    }
    return false;
}
