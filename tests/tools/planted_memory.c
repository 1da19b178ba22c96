// SPDX-License-Identifier: MIT
// planted_memory HOW: a program with one mistake, which a checker has to see. For check_planted.sh.
//
//   end             a number past the end of a block is read
//   freed           a number of a block that was freed is read
//   uninitialised   a branch on a number that nobody wrote
//   overflow        a signed sum that is too large
//   lost            a block to which no pointer is left
//   kernel          none by itself: an activation of 70 zeros, whose kernel may have one
//   sound           none, with Husk and its driver, whose own blocks stay
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/husk.h>

enum { COUNT = 10, ELEMENTS = 70 };
static int *volatile numbers; // volatile: no compiler knows where it points to, or that it is freed
static volatile int one = 1;

static husk_status activate(husk_context *context, husk_error *error)
{
    static float host[ELEMENTS];
    const int64_t shape[] = {ELEMENTS};
    const husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_RELU, .variant = "vector");
    husk_queue *queue = NULL;
    husk_buffer *x = NULL, *y = NULL;
    husk_status status = husk_queue_create(context, NULL, &queue, error);
    if (status == HUSK_OK)
        status = husk_buffer_create(context, sizeof host, &x, error);
    if (status == HUSK_OK)
        status = husk_buffer_create(context, sizeof host, &y, error);
    if (status == HUSK_OK) {
        const husk_tensor from = husk_tensor_make(x, HUSK_F32, 1, shape), to = husk_tensor_make(y, HUSK_F32, 1, shape);
        status = husk_buffer_write(queue, x, 0, sizeof host, host);
        if (status == HUSK_OK)
            status = husk_activation(queue, &params, &from, &to);
        if (status == HUSK_OK)
            status = husk_buffer_read(queue, y, 0, sizeof host, host);
        *error = *husk_queue_error(queue);
    }
    for (int i = 0; i < ELEMENTS; i++)
        if (host[i] != 0.0f) // who looks at it wants it written
            printf("planted_memory: %d is not zero\n", i);
    husk_buffer_release(x);
    husk_buffer_release(y);
    husk_queue_release(queue);
    return status;
}

int main(int argc, char **argv)
{
    husk_context *context;
    husk_error error = {0};
    const char *how = argc > 1 ? argv[1] : "";
    if (husk_context_create(NULL, NULL, &context, &error) != HUSK_OK ||
        (strcmp(how, "kernel") == 0 && activate(context, &error) != HUSK_OK)) {
        fprintf(stderr, "planted_memory: %s\n", error.text);
        return 2;
    }
    numbers = malloc(COUNT * sizeof *numbers);
    if (!numbers)
        return 2;
    for (int i = 1; i < COUNT; i++) // all but the first
        numbers[i] = i;
    if (strcmp(how, "end") == 0)
        one += numbers[COUNT - 1 + one];
    if (strcmp(how, "uninitialised") == 0 && numbers[0] == 7)
        puts("seven");
    if (strcmp(how, "overflow") == 0)
        one += INT_MAX;
    if (strcmp(how, "lost") == 0)
        numbers = NULL;
    free(numbers);
    if (strcmp(how, "freed") == 0)
        one += numbers[1];
    husk_context_release(context);
    puts("planted_memory: done");
    return 0;
}
