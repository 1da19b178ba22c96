// SPDX-License-Identifier: MIT
// A test program outside the tree: it links libhusk_verify and OpenCL, and nothing else of Husk's.
#include <stdio.h>

#include <husk/verify_opencl.h>

int main(void)
{
    float y[] = {1, 4, 9};
    const float x[] = {1, 2, 3};
    double expected[3], bounds[3];
    const husk_verify_array vx = husk_verify_vector(x, HUSK_F32, 3), vy = husk_verify_vector(y, HUSK_F32, 3);
    const husk_unary_params square = {.size = sizeof square, .op = HUSK_UNARY_SQUARE};
    husk_verify_report report;
    husk_error error;
    if (husk_verify_unary(&square, &vx, &vy, expected, bounds, &error) ||
        !husk_verify_compare(&vy, expected, bounds, NULL, &report))
        return 1;
    y[1] = 5;
    if (husk_verify_compare(&vy, expected, bounds, NULL, &report) || report.worst != 1)
        return 1;
    if (husk_verify_buffer_create(NULL, 1, NULL, &error) != HUSK_INVALID_ARGUMENT)
        return 1;
    printf("%s\n", report.text);
    return 0;
}
