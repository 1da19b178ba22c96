// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=60
// What 0 means in every member of every params struct (tests/structure/*.abi names them): nothing, no, none or the
// default, which is 0 too; another number, where 0 is no legal value; or 0, though the default is another number. Of
// the last kind each is tried: 0 does not give what the default gives.
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/train.h>

#include "os/read_file.h"
#include "support/support.h"
#include "support/values.h"

// ---- what the default and 0 give ----

enum { COUNT = 6, MOST = 64 };
static const int64_t shape[] = {2, 3};
static const float numbers[COUNT] = {-1.5f, -0.25f, 0.5f, 1.25f, 2.5f, 0.75f};
static const float others[COUNT] = {0.5f, -2.0f, 1.5f, -0.75f, 0.25f, 3.0f};

typedef struct results {
    float values[MOST];
    int count;
} results;

static void keep(results *to, const test_tensor *tensor)
{
    const int count = (int)husk_tensor_count(&tensor->tensor);
    ck_assert_int_le(to->count + count, MOST);
    test_fetch((test_tensor *)tensor);
    for (int i = 0; i < count; i++)
        to->values[to->count++] = (float)husk_ref_load(&tensor->array, i);
}

static void step(results *to, const husk_optimizer_params *params)
{
    test_tensor g = test_input_values(2, shape, numbers), w = test_inout(2, shape, TEST_PACKED, 1, 1.0f);
    test_tensor states[3];
    for (int i = 0; i < 3; i++)
        states[i] = test_inout(2, shape, TEST_PACKED, (uint64_t)i + 2, 1.0f);
    for (int i = 1; i < 3; i++)
        for (int k = 0; k < COUNT; k++)
            husk_ref_store(&states[i].array, k, 1.0 + (double)k);
    for (int i = 1; i < 3; i++)
        test_input_update(&states[i]);
    const bool is_adam = params->kind >= HUSK_OPTIMIZER_ADAM;
    test_ok(husk_optimizer(test_queue(), params, &g.tensor, &w.tensor, is_adam ? &states[0].tensor : NULL,
                           params->kind != HUSK_OPTIMIZER_SGD ? &states[1].tensor : NULL, NULL));
    keep(to, &w);
    test_release(&g);
    test_release(&w);
    for (int i = 0; i < 3; i++)
        test_release(&states[i]);
}

#define OPTIMIZER(name, maker, member)              \
    static void name(results *to, bool is_zero)     \
    {                                               \
        husk_optimizer_params params = maker(0.25); \
        params.step = 3;                            \
        if (is_zero)                                \
            params.member = 0;                      \
        step(to, &params);                          \
    }
OPTIMIZER(adam_beta, husk_adam, beta)
OPTIMIZER(adam_beta2, husk_adam, beta2)
OPTIMIZER(rmsprop_beta, husk_rmsprop, beta)
OPTIMIZER(adamw_decay, husk_adamw, weight_decay)

// Of a second moment of nothing but the last gradient, which is tiny: epsilon decides.
static void adam_epsilon(results *to, bool is_zero)
{
    const float tiny[COUNT] = {1e-9f, -2e-9f, 1e-8f, 3e-9f, -1e-8f, 2e-8f};
    husk_optimizer_params params = husk_adam(0.25);
    params.beta2 = 0;
    if (is_zero)
        params.epsilon = 0;
    test_tensor g = test_input_values(2, shape, tiny), w = test_inout(2, shape, TEST_PACKED, 1, 1.0f);
    test_tensor first = test_inout(2, shape, TEST_PACKED, 2, 0.0f), second = test_inout(2, shape, TEST_PACKED, 3, 0.0f);
    test_ok(husk_optimizer(test_queue(), &params, &g.tensor, &w.tensor, &first.tensor, &second.tensor, NULL));
    keep(to, &w);
    test_release(&g);
    test_release(&w);
    test_release(&first);
    test_release(&second);
}

static void normalise(results *to, const husk_norm_params *params, const float *values)
{
    const int64_t channels[] = {3};
    test_tensor x = test_input_values(2, shape, values), y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_tensor mean = test_inout(1, channels, TEST_PACKED, 1, 1.0f);
    test_tensor variance = test_inout(1, channels, TEST_PACKED, 2, 1.0f);
    const bool is_batch = params->kind == HUSK_NORM_BATCH;
    test_ok(husk_norm(test_queue(), params, &x.tensor, NULL, NULL, is_batch ? &mean.tensor : NULL,
                      is_batch ? &variance.tensor : NULL, &y.tensor, NULL, NULL));
    keep(to, is_batch ? &mean : &y);
    test_release(&x);
    test_release(&y);
    test_release(&mean);
    test_release(&variance);
}

static void norm_axis(results *to, bool is_zero)
{
    husk_norm_params params = husk_norm_defaults(HUSK_NORM_LAYER);
    if (is_zero)
        params.axis = 0;
    normalise(to, &params, numbers);
}

static void norm_epsilon(results *to, bool is_zero)
{
    const float small[COUNT] = {1e-3f, 2e-3f, 4e-3f, -1e-3f, 0.0f, 3e-3f};
    husk_norm_params params = husk_norm_defaults(HUSK_NORM_LAYER);
    if (is_zero)
        params.epsilon = 0;
    normalise(to, &params, small);
}

static void norm_momentum(results *to, bool is_zero)
{
    husk_norm_params params = husk_norm_defaults(HUSK_NORM_BATCH);
    params.training = 1;
    if (is_zero)
        params.momentum = 0;
    normalise(to, &params, numbers);
}

static void binary(results *to, const husk_binary_params *params)
{
    test_tensor a = test_input_values(2, shape, numbers), b = test_input_values(2, shape, others);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED), da = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_tensor db = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_ok(husk_binary(test_queue(), params, &a.tensor, &b.tensor, &y.tensor));
    test_ok(husk_binary_backward(test_queue(), params, &a.tensor, &b.tensor, &a.tensor, &da.tensor, &db.tensor));
    keep(to, &y);
    keep(to, &da);
    keep(to, &db);
    test_release(&a);
    test_release(&b);
    test_release(&y);
    test_release(&da);
    test_release(&db);
}

static void binary_alpha(results *to, bool is_zero)
{
    husk_binary_params params = husk_binary_defaults(HUSK_BINARY_ADD);
    if (is_zero)
        params.alpha = 0;
    binary(to, &params);
}

static void binary_beta(results *to, bool is_zero)
{
    husk_binary_params params = husk_binary_defaults(HUSK_BINARY_SUBTRACT);
    if (is_zero)
        params.beta = 0;
    binary(to, &params);
}

static void loss(results *to, const husk_loss_params *params, const husk_tensor *target)
{
    const int64_t one[] = {1};
    test_tensor x = test_input_values(2, shape, numbers), y = test_output(HUSK_F32, 0, one, TEST_PACKED);
    test_ok(husk_loss(test_queue(), params, &x.tensor, target, NULL, NULL, &y.tensor));
    keep(to, &y);
    test_release(&x);
    test_release(&y);
}

static void loss_beta(results *to, bool is_zero)
{
    husk_loss_params params = husk_loss_defaults(HUSK_LOSS_SMOOTH_ABSOLUTE);
    if (is_zero)
        params.beta = 0;
    test_tensor target = test_input_values(2, shape, others);
    loss(to, &params, &target.tensor);
    test_release(&target);
}

static void loss_ignore_index(results *to, bool is_zero)
{
    const int64_t rows[] = {2};
    husk_loss_params params = husk_loss_defaults(HUSK_LOSS_CROSS_ENTROPY);
    if (is_zero)
        params.ignore_index = 0;
    test_tensor target = test_input_of(HUSK_I32, 1, rows, TEST_PACKED, 1, 0.0f);
    husk_ref_store(&target.array, 0, 0);
    husk_ref_store(&target.array, 1, 2);
    test_input_update(&target);
    loss(to, &params, &target.tensor);
    test_release(&target);
}

static void softmax_axis(results *to, bool is_zero)
{
    husk_softmax_params params = husk_softmax_defaults();
    if (is_zero)
        params.axis = 0;
    test_tensor x = test_input_values(2, shape, numbers), y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_ok(husk_softmax(test_queue(), &params, &x.tensor, &y.tensor));
    keep(to, &y);
    test_release(&x);
    test_release(&y);
}

static void one_hot_on(results *to, bool is_zero)
{
    const int64_t rows[] = {2};
    husk_one_hot_params params = husk_one_hot_defaults();
    if (is_zero)
        params.on = 0;
    test_tensor labels = test_input_of(HUSK_I32, 1, rows, TEST_PACKED, 1, 0.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_ok(husk_one_hot(test_queue(), &params, &labels.tensor, &y.tensor));
    keep(to, &y);
    test_release(&labels);
    test_release(&y);
}

static void grad_scale_factor(results *to, bool is_zero)
{
    husk_grad_scale_params params = husk_grad_scale_defaults();
    if (is_zero)
        params.factor = 0;
    test_tensor x = test_inout(2, shape, TEST_PACKED, 1, 1.0f);
    const husk_tensor *const tensors[] = {&x.tensor};
    test_ok(husk_grad_scale(test_queue(), &params, tensors, 1, NULL, NULL));
    keep(to, &x);
    test_release(&x);
}

#define RATE(name, step, member)                                              \
    static void name(results *to, bool is_zero)                               \
    {                                                                         \
        husk_rate_params params = husk_rate_defaults(HUSK_RATE_ONE_CYCLE, 1); \
        husk_error error;                                                     \
        double rate;                                                          \
        params.steps = 20;                                                    \
        if (is_zero)                                                          \
            params.member = 0;                                                \
        test_ok_error(husk_rate_at(&params, step, &rate, &error), &error);    \
        to->values[to->count++] = (float)rate;                                \
    }
RATE(rate_start, 0, start_rate)
RATE(rate_end, 19, end_rate)

// Of a teacher who is of no weight, labels are left.
static void distillation_weight(results *to, bool is_zero)
{
    husk_error error;
    husk_graph *graph;
    husk_distillation_params params = husk_distillation_defaults();
    const float labels[] = {0, 2};
    float value;
    if (is_zero)
        params.weight = 0;
    test_ok_error(husk_graph_create(test_context(), NULL, &graph, &error), &error);
    const int32_t numbers_of_labels[] = {(int32_t)labels[0], (int32_t)labels[1]};
    const husk_value x = husk_graph_input(graph, "x", HUSK_F32, 2, shape);
    const husk_value teacher = husk_graph_input(graph, "teacher", HUSK_F32, 2, shape);
    const husk_value target = husk_graph_input(graph, "labels", HUSK_I32, 1, shape);
    const husk_value own = husk_graph_distillation(graph, "loss", &params, x, teacher, target);
    husk_graph_output(graph, "loss_out", own);
    const husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = HUSK_NO_VALUE);
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    ck_assert(!husk_graph_write(graph, "x", numbers, sizeof numbers));
    ck_assert(!husk_graph_write(graph, "teacher", others, sizeof others));
    ck_assert(!husk_graph_write(graph, "labels", numbers_of_labels, sizeof numbers_of_labels));
    ck_assert(!husk_graph_forward(graph, HUSK_GRAPH_EVALUATION));
    ck_assert(!husk_graph_read(graph, "loss_out", &value, sizeof value));
    to->values[to->count++] = value;
    husk_graph_release(graph);
}

// ---- every member ----

static const struct {
    const char *member;
    void (*run)(results *to, bool is_zero);
} kept[] = {
    {"husk_binary_params.alpha", binary_alpha},
    {"husk_binary_params.beta", binary_beta},
    {"husk_distillation_params.weight", distillation_weight},
    {"husk_grad_scale_params.factor", grad_scale_factor},
    {"husk_loss_params.beta", loss_beta},
    {"husk_loss_params.ignore_index", loss_ignore_index},
    {"husk_norm_params.axis", norm_axis},
    {"husk_norm_params.epsilon", norm_epsilon},
    {"husk_norm_params.momentum", norm_momentum},
    {"husk_one_hot_params.on", one_hot_on},
    {"husk_optimizer_params.beta", adam_beta},
    {"husk_optimizer_params.beta", rmsprop_beta},
    {"husk_optimizer_params.beta2", adam_beta2},
    {"husk_optimizer_params.epsilon", adam_epsilon},
    {"husk_optimizer_params.weight_decay", adamw_decay},
    {"husk_rate_params.end_rate", rate_end},
    {"husk_rate_params.start_rate", rate_start},
    {"husk_softmax_params.axis", softmax_axis},
};
enum { KEPT = sizeof kept / sizeof *kept };

// Members by what 0 means, separated by blanks: what is 0, no or none where nothing is said; and that for which 0 is no
// legal value. `size`, `variant` and `accumulate` are alike everywhere. Operators' structs are in their own files.
typedef struct meaning {
    const char *name, *zero, *illegal;
} meaning;

static const meaning structs[] = {
    {"husk_context_params", "cache cache_directory log log_user precision", "plan_cache_capacity memory_budget units"},
    {"husk_conv_layer", "params no_bias weight bias", "filters window"},
    {"husk_dataset_params", "numbers classes ids", ""},
    {"husk_dist_params", "communicator log log_user", "silence_ms patience_ms"},
    {"husk_distillation_params", "", "temperature"},
    {"husk_embedding_layer", "params weight", "rows columns"},
    {"husk_feed_params", "in_order keep_partial profiling seed channels mean deviation flip shift shards shard",
     "batch slots scale"},
    {"husk_graph_options", "loss optimizer clip_norm keep_values check_finite cold clip_value loss_scale unverified",
     "memory_limit bucket_bytes micro_batches"},
    {"husk_graph_params", "dtype seed queue", ""},
    {"husk_initializer", "kind value spread", "gain"},
    {"husk_linear_layer", "activation activation_slope no_bias weight bias", "outputs"},
    {"husk_load_params", "mode feed except except_count", ""},
    {"husk_log_params", "mode resume_at", "columns count"},
    {"husk_loss_scale_params", "fixed none", "start growth backoff interval"},
    {"husk_metrics_params", "dtype top confusion", "classes rows"},
    {"husk_norm_layer", "params no_scale no_bias", ""},
    {"husk_parallel_params", "mixed check_finite", "part_bytes"},
    {"husk_pipeline_params", "previous previous_count next next_count loss load load_user", "micro_batches"},
    {"husk_plateau_params", "better patience threshold absolute cooldown least_rate", "rate factor"},
    {"husk_progress_params", "mode stream label done", "total interval columns"},
    {"husk_prune_params", "per_tensor names name_count", "share"},
    {"husk_queue_params", "profiling", ""},
    {"husk_rate_params", "kind rate milestones milestone_count warmup warmup_rate", "factor steps power growth rise"},
    {"husk_rnn_layer", "no_bias weight bias", "params"},
    {"husk_safetensors_params", "unverified", ""},
    {"husk_save_params", "weights_only feed tensors tensor_count metadata metadata_count", ""},
    {"husk_stopping_params", "better patience min_delta", ""},
    {"husk_tuning_params", "path text", "text_size"},
};
enum { STRUCTS = sizeof structs / sizeof *structs, MOST_OPERATORS = 100 };

static meaning operators[MOST_OPERATORS]; // [zeros] of bench/cases/FAMILY/NAME.txt: "NAME | ZERO | ILLEGAL"
static int operator_count;
static char *texts[MOST_OPERATORS];
static size_t text_count;

static void read_line(char *line)
{
    char *zero = strstr(line, " | "), *illegal = zero ? strstr(zero + 3, " | ") : NULL;
    ck_assert_msg(illegal != NULL, "[zeros]: %s has too few columns", line);
    ck_assert_int_lt(operator_count, MOST_OPERATORS);
    *zero = *illegal = '\0';
    operators[operator_count++] = (meaning){line, zero + 3, illegal + 3};
}

static void read_operators(void)
{
    glob_t files;
    ck_assert_int_eq(glob(HUSK_SOURCE_DIR "/bench/cases/*/*.txt", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        ck_assert_uint_lt(text_count, MOST_OPERATORS);
        char *text = husk__read_file(files.gl_pathv[i], NULL), *next;
        ck_assert_ptr_nonnull(text);
        texts[text_count++] = text;
        bool is_inside = false;
        for (char *line = text; *line; line = next) {
            next = line + strcspn(line, "\n");
            next += *next == '\n' ? (*next = '\0', 1) : 0;
            if (*line == '[')
                is_inside = !strcmp(line, "[zeros]");
            else if (is_inside && *line)
                read_line(line);
        }
    }
    globfree(&files);
    ck_assert_int_gt(operator_count, 20);
}

static void free_operators(void)
{
    while (text_count > 0)
        free(texts[--text_count]);
    operator_count = 0;
}

START_TEST(zero_is_not_the_default)
{
    results given = {0}, zero = {0};
    kept[_i].run(&given, false);
    kept[_i].run(&zero, true);
    ck_assert_int_gt(given.count, 0);
    ck_assert_int_eq(given.count, zero.count);
    ck_assert_msg(memcmp(given.values, zero.values, (size_t)given.count * sizeof *given.values) != 0,
                  "%s: 0 gives what the default gives", kept[_i].member);
}
END_TEST

// How often a word is in a text of words.
static int count_word(const char *words, const char *word)
{
    const size_t length = strlen(word);
    int count = 0;
    for (const char *at = words; (at = strstr(at, word)); at += length)
        count += (at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0');
    return count;
}

static bool is_alike_everywhere(const char *member)
{
    return !strcmp(member, "size") || !strcmp(member, "variant") || !strcmp(member, "accumulate");
}

static void check_member(const char *name, const char *member)
{
    char whole[160];
    int meanings = 0, tried = 0;
    snprintf(whole, sizeof whole, "%s.%s", name, member);
    for (int i = 0; i < STRUCTS + operator_count; i++) {
        const meaning *one = i < STRUCTS ? &structs[i] : &operators[i - STRUCTS];
        if (!strcmp(one->name, name))
            meanings += count_word(one->zero, member) + count_word(one->illegal, member);
    }
    for (int i = 0; i < KEPT; i++)
        tried += !strcmp(kept[i].member, whole);
    ck_assert_msg(meanings + (tried > 0) == 1,
                  "%s: what 0 means is said %d times; say it in this file, or under [zeros] in the operator's", whole,
                  meanings + (tried > 0));
}

static bool is_given_by_callers(const char *name)
{
    const size_t length = strlen(name);
    return (length > 7 && !strcmp(name + length - 7, "_params")) ||
           (length > 6 && !strcmp(name + length - 6, "_layer")) || !strcmp(name, "husk_graph_options") ||
           !strcmp(name, "husk_initializer");
}

// Lines "struct NAME BYTES", and "  OFFSET BYTES TYPE MEMBER" for each member.
static int check_record(const char *path)
{
    char line[400], name[120] = "";
    int found = 0;
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != ' ') {
            name[0] = '\0';
            sscanf(line, "struct %119s", name);
            if (!is_given_by_callers(name))
                name[0] = '\0';
            found += name[0] != '\0';
        } else if (name[0] && !is_alike_everywhere(strrchr(line, ' ') + 1)) {
            check_member(name, strrchr(line, ' ') + 1);
        }
    }
    fclose(file);
    return found;
}

START_TEST(every_member_is_known)
{
    int found = 0;
    found += check_record(HUSK_SOURCE_DIR "/tests/structure/husk.abi");
    found += check_record(HUSK_SOURCE_DIR "/tests/structure/husk_train.abi");
    found += check_record(HUSK_SOURCE_DIR "/tests/structure/husk_dist.abi");
    ck_assert_int_eq(found, STRUCTS + operator_count);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("zeros");
    TCase *tests = tcase_create("zeros");
    tcase_add_checked_fixture(tests, read_operators, free_operators);
    tcase_add_loop_test(tests, zero_is_not_the_default, 0, KEPT);
    tcase_add_test(tests, every_member_is_known);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
