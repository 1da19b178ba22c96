// SPDX-License-Identifier: MIT
// ctest: tiers=default
// The first plan of a context, of which each allocation fails once: either the call says that there is no host memory,
// or the plan is what HUSK_VARIANT prefers. Want of memory never leaves another one in its place.
#include <errno.h>
#include <stdlib.h>

#include "support/environment.h"
#include "support/support.h"

enum { SIDE = 8 };

static long until_failure = -1; // callocs that succeed before one fails; below 0: none does

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
    if (until_failure < 0 || until_failure-- > 0)
        return __real_calloc(count, bytes);
    errno = ENOMEM;
    return NULL;
}

static husk_buffer *buffer;

static husk_status plan_gemm(husk_context *context, husk_plan **plan, husk_error *error)
{
    const husk_gemm_params params = HUSK_GEMM_PARAMS(0);
    const husk_tensor a = husk_tensor_make(buffer, HUSK_F32, 2, (int64_t[]){SIDE, SIDE});
    return husk_gemm_plan_create(context, &params, &a, &a, NULL, &a, plan, error);
}

START_TEST(each_allocation_fails_once)
{
    int failed = 0;
    bool is_over = false;
    test_setenv("HUSK_VARIANT", "gemm:tiled:32x32");
    for (long n = 0; !is_over; n++) {
        husk_context *context;
        husk_plan *plan = NULL;
        husk_error error = {0};
        test_ok_error(husk_context_create(NULL, NULL, &context, &error), &error);
        test_ok_error(husk_buffer_create(context, SIDE * SIDE * sizeof(float), &buffer, &error), &error);
        until_failure = n;
        const husk_status status = plan_gemm(context, &plan, &error);
        is_over = until_failure >= 0;
        until_failure = -1;
        failed += status != HUSK_OK;
        ck_assert_msg(status == HUSK_OK || status == HUSK_OUT_OF_HOST_MEMORY, "allocation %ld: %s", n, error.text);
        if (status != HUSK_OK)
            test_ok_error(plan_gemm(context, &plan, &error), &error);
        ck_assert_msg(husk_plan_choice(plan) == HUSK_CHOICE_ENVIRONMENT, "allocation %ld leaves %s:%s", n,
                      husk_plan_variant(plan), husk_plan_configuration(plan));
        husk_plan_release(plan);
        husk_buffer_release(buffer);
        husk_context_release(context);
    }
    ck_assert_int_ge(failed, 4);
    test_setenv("HUSK_VARIANT", NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("first_plan");
    TCase *tests = tcase_create("first_plan");
    tcase_add_test(tests, each_allocation_fails_once);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
