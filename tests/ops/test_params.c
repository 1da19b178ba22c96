// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=60
// Every call that takes a params struct refuses one whose size is not this version's: one that nobody has made (0), an
// older and a newer one. It says so before it looks at any tensor, names the argument and what sets the size, and
// enqueues nothing. The list of calls is made from include/husk/ops (cmake/ParamsCalls.cmake), which is read again for
// calls that are not in it.
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "params_calls.h"
#include "support/support.h"

static husk_queue *queue;
static husk_context *context;
static husk_error *error;
static husk_plan *plan;
static int64_t shape[HUSK_MAX_RANK];
// Other structs have their sizes, and no tensor.
static const husk_rnn_inputs inputs = {.size = sizeof(husk_rnn_inputs)};
static const husk_rnn_outputs outputs = {.size = sizeof(husk_rnn_outputs)};
static const husk_rnn_gradients gradients = {.size = sizeof(husk_rnn_gradients)};

#define CALL(name, type, ...)                     \
    static husk_status call_##name(const void *p) \
    {                                             \
        const husk_##type##_params *params = p;   \
        return husk_##name(__VA_ARGS__);          \
    }
PARAMS_CALLS(CALL)

#define ROW(name, type, ...)                                            \
    {                                                                   \
        "husk_" #name, #type, call_##name, sizeof(husk_##type##_params) \
    },
static const struct {
    const char *name, *type;
    husk_status (*call)(const void *params);
    uint32_t size;
} calls[] = {PARAMS_CALLS(ROW)};
enum { CALLS = sizeof calls / sizeof *calls };

static const char *said(husk_status status)
{
    (void)status;
    return error->text[0] ? error->text : husk_queue_error(queue)->text;
}

// What a struct is made by: a macro, or a function where 0 is no default for some member.
static void name_maker(const char *type, char *maker, size_t capacity)
{
    static const char *const made_by_function[] = {"binary", "grad_scale", "loss", "norm", "one_hot", "softmax"};
    for (size_t i = 0; i < sizeof made_by_function / sizeof *made_by_function; i++)
        if (!strcmp(type, made_by_function[i])) {
            snprintf(maker, capacity, ": husk_%s_defaults of this", type);
            return;
        }
    snprintf(maker, capacity, ": HUSK_%s_PARAMS of this", type);
    for (char *at = maker; *at && strncmp(at, " of this", 8) != 0; at++)
        *at = (char)toupper((unsigned char)*at);
    if (!strcmp(type, "optimizer"))
        snprintf(maker, capacity, ": husk_sgd, husk_adam ... of this");
}

START_TEST(another_size_is_refused)
{
    const uint32_t size = calls[_i].size, wrong[] = {0, 4, size - 4, size - 8, size + 8, UINT32_MAX};
    char name[80], maker[80];
    queue = test_silent_queue();
    context = test_context();
    uint32_t *params = calloc(1, size + 8); // zeros: the size alone is wrong
    ck_assert_ptr_nonnull(params);
    snprintf(name, sizeof name, "%s: params: size is ", calls[_i].name);
    name_maker(calls[_i].type, maker, sizeof maker);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        husk_error own = {0};
        error = &own;
        params[0] = wrong[i];
        const husk_status status = calls[_i].call(params);
        ck_assert_msg(status == HUSK_INVALID_ARGUMENT, "%s: size %u: %s", calls[_i].name, (unsigned)wrong[i],
                      husk_status_name(status));
        ck_assert_msg(!strncmp(said(status), name, strlen(name)), "%s: size %u: %s", calls[_i].name, (unsigned)wrong[i],
                      said(status));
        ck_assert_msg(strstr(said(status), maker) != NULL, "%s: %s is not in it", said(status), maker);
        ck_assert_ptr_null(plan);
    }
    free(params);
}
END_TEST

// Names behind "HUSK_API husk_status " whose arguments have "_params *params".
static void check_header(const char *path)
{
    static char text[1 << 17];
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (char *at = text; (at = strstr(at, "HUSK_API husk_status husk_"));) {
        char *name = at + strlen("HUSK_API husk_status "), *end = strchr(name, ';');
        ck_assert_ptr_nonnull(end);
        *end = '\0';
        if (strstr(name, "_params *params")) {
            name[strcspn(name, "(")] = '\0';
            int known = 0;
            for (int i = 0; i < CALLS; i++)
                known += !strcmp(calls[i].name, name);
            ck_assert_msg(known == 1, "%s of %s is in the list %d times", name, path, known);
        }
        at = end + 1;
    }
}

START_TEST(no_call_is_missing)
{
    const char *folder = HUSK_SOURCE_DIR "/include/husk/ops";
    DIR *directory = opendir(folder);
    ck_assert_ptr_nonnull(directory);
    int headers = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strstr(entry->d_name, ".h")) {
            check_header(path);
            headers++;
        }
    }
    closedir(directory);
    ck_assert_int_gt(headers, 20);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("params");
    TCase *tests = tcase_create("params");
    tcase_add_loop_test(tests, another_size_is_refused, 0, CALLS);
    tcase_add_test(tests, no_call_is_missing);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
