// SPDX-License-Identifier: MIT
// A stranger's program with the installed libhusk_dist: a run of one rank.
#include <stdio.h>

#include <husk/dist.h>

int main(void)
{
    husk_error error = {0};
    husk_dist *dist = NULL;
    double one = 1;
    if (husk_dist_create(NULL, &dist, &error) || husk_dist_sum(dist, &one, 1)) {
        fprintf(stderr, "%s\n", dist ? husk_dist_error(dist)->text : error.text);
        return 1;
    }
    printf("husk %s: %d ranks, %.0f in all\n", husk_version(), (int)husk_dist_count(dist), one);
    husk_dist_release(dist);
    return one != 1;
}
