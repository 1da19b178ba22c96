// SPDX-License-Identifier: MIT
#include "os/standard_error.h"

#include <stdio.h>

void husk__print_line(const char *line)
{
    (void)fprintf(stderr, "%s\n", line); // stderr is locked meanwhile
}
