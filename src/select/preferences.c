// SPDX-License-Identifier: MIT
#include "select/preferences.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "os/environment.h"

bool husk__preferences_read(husk__preferences *preferences)
{
    const char *list = husk__environment("HUSK_VARIANT");
    preferences->list = list ? husk__copy_string(list) : NULL;
    return !list || preferences->list;
}

void husk__preferences_free(husk__preferences *preferences)
{
    free(preferences->list);
    preferences->list = NULL;
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
