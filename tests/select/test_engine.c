// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=300
// Matrix engines: which are offered, and that one which computes wrongly is found out and not used. The engines here
// are the soft ones (cl/lib/fragment_soft.clh), of which a mistake is planted in a copy of the kernels.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "select/engine.h"
#include "support/environment.h"
#include "support/support.h"
#include "support/wrong_kernels.h"

static char last_log[2048];

static void keep_log(void *user, husk_log_level level, const char *text)
{
    (void)user;
    if (level >= HUSK_LOG_WARNING)
        snprintf(last_log, sizeof last_log, "%s", text);
}

static husk_context *open_context(void)
{
    husk_context *context = NULL;
    husk_error error = {0};
    const husk_context_params params = HUSK_CONTEXT_PARAMS(.log = keep_log);
    last_log[0] = 0;
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
    return context;
}

// Whether an engine computes this in a new context.
static bool finds(husk__engine_kind kind, husk_dtype dtype, husk_precision precision)
{
    const husk__engine *engine;
    husk__product product;
    husk_context *context = open_context();
    husk_error error;
    const husk__scope scope = {"husk_test", &error};
    const bool found = husk__engine_find(context, kind, dtype, precision, &engine, &product, &scope) == HUSK_OK;
    husk_context_release(context);
    return found;
}

// ---- which are offered ----

static size_t index_of(const char *name)
{
    size_t i = 0;
    while (husk_engine_name(i) && strcmp(husk_engine_name(i), name) != 0)
        ++i;
    ck_assert_msg(husk_engine_name(i), "there is no engine %s", name);
    return i;
}

static bool claims(const char *list, husk_dtype dtype, husk_precision precision)
{
    test_setenv("HUSK_ENGINES", list);
    const husk__engine *engine =
        husk__engine_claimed(HUSK__ENGINE_FRAGMENTS, husk_context_traits(test_context()), dtype, precision);
    return engine && engine->is_soft;
}

START_TEST(soft_engines_are_there_when_they_are_named)
{
    ck_assert(!claims(NULL, HUSK_F16, HUSK_PRECISION_HIGHEST));
    ck_assert(!claims("none", HUSK_F16, HUSK_PRECISION_HIGHEST));
    ck_assert(!claims("portable,nv_mma,oft_nv_mma", HUSK_F16, HUSK_PRECISION_HIGHEST));
    ck_assert(claims("soft_nv_mma", HUSK_F16, HUSK_PRECISION_HIGHEST));
    ck_assert(claims("amx,soft", HUSK_BF16, HUSK_PRECISION_HIGHEST));
    ck_assert(claims("soft", HUSK_F32, HUSK_PRECISION_HIGHEST)); // the MFMA of f32
    ck_assert(!claims("soft_nv_mma", HUSK_F32, HUSK_PRECISION_HIGHEST));
    ck_assert(claims("soft_nv_mma", HUSK_F32, HUSK_PRECISION_HIGH));
    ck_assert(claims("soft_amd_wmma", HUSK_F32, HUSK_PRECISION_MEDIUM));
    ck_assert(!claims("soft", HUSK_F64, HUSK_PRECISION_HIGHEST));
    ck_assert(claims("soft_nv_mma", HUSK_U8, HUSK_PRECISION_HIGHEST));
    ck_assert(!claims("soft_amd_mfma", HUSK_U8, HUSK_PRECISION_HIGHEST)); // which has i8 alone
    ck_assert(!claims("soft_amx", HUSK_I8, HUSK_PRECISION_HIGHEST));      // which is of the other kind
    test_restore_environment();
}
END_TEST

START_TEST(states_say_what_is_used_and_why_not)
{
    char text[64];
    husk_context *context = open_context();
    test_setenv("HUSK_ENGINES", "none");
    ck_assert_int_eq(husk_context_engine(context, index_of("soft_nv_mma"), text, sizeof text), HUSK_ENGINE_OFF);
    ck_assert_str_eq(husk_engine_state_name(HUSK_ENGINE_OFF), "off");
    ck_assert_str_eq(husk_engine_state_name((husk_engine_state)9), "unknown");
    ck_assert_int_eq(husk_context_engine(context, 999, text, sizeof text), HUSK_ENGINE_ABSENT);
    ck_assert_int_eq(husk_context_engine(NULL, 0, NULL, 0), HUSK_ENGINE_ABSENT);
    husk_context_release(context);
    test_setenv("HUSK_ENGINES", "soft,tensor_cores");
    context = open_context();
    husk_context_engine(context, 0, NULL, 0);
    ck_assert_msg(strstr(last_log, "\"tensor_cores\" is no engine"), "%s", last_log);
    husk_context_release(context);
    test_restore_environment();
}
END_TEST

// Every soft engine passes for everything that it claims.
START_TEST(soft_engines_pass_their_probes)
{
    if (test_is_long()) {
        test_setenv("HUSK_ENGINES", "soft");
        husk_context *context = open_context();
        for (size_t i = 0; husk_engine_name(i); ++i) {
            char text[200];
            if (strncmp(husk_engine_name(i), "soft", 4) != 0)
                continue;
            const husk_engine_state state = husk_context_engine(context, i, text, sizeof text);
            ck_assert_msg(state == HUSK_ENGINE_READY && !last_log[0], "%s: %s; %s", husk_engine_name(i), text,
                          last_log);
        }
        husk_context_release(context);
    } else {
        test_setenv("HUSK_ENGINES", "soft_nv_mma");
        ck_assert_msg(finds(HUSK__ENGINE_FRAGMENTS, HUSK_F32, HUSK_PRECISION_HIGH), "%s", last_log);
    }
    test_restore_environment();
}
END_TEST

// What an immediate multiplication in bf16 chooses, of two parts of a buffer into a third.
static husk_status multiply(husk_context *context, husk_buffer *buffer, const char **variant)
{
    enum { SIDE = 128 };
    husk_queue *queue;
    husk_error error = {0};
    husk_tensor of[3];
    test_ok_error(husk_queue_create(context, NULL, &queue, &error), &error);
    for (int i = 0; i < 3; ++i) {
        of[i] = husk_tensor_make(buffer, HUSK_BF16, 2, (const int64_t[]){SIDE, SIDE});
        of[i].offset = i * SIDE * SIDE;
    }
    const husk_status status = husk_gemm(queue, NULL, 1.0f, &of[0], &of[1], NULL, 0.0f, &of[2]);
    *variant = status == HUSK_OK ? husk_plan_variant(husk_queue_plan(queue)) : "";
    husk_queue_release(queue);
    return status;
}

// There was no memory for the probe: that says nothing of the engine, and chooses no other variant for good.
START_TEST(a_probe_without_memory_is_made_again)
{
    char text[200];
    const char *variant;
    husk_context *context;
    husk_buffer *all;
    husk_error error = {0};
    const husk_context_params params = HUSK_CONTEXT_PARAMS(.log = keep_log, .memory_budget = 1 << 20);
    if (!test_device_is_home()) // its variant is for CPUs
        return;
    test_setenv("HUSK_ENGINES", "soft_amx");
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
    test_ok_error(husk_buffer_create(context, 1 << 20, &all, &error), &error);
    ck_assert_int_eq(husk_context_engine(context, index_of("soft_amx"), text, sizeof text), HUSK_ENGINE_REFUSED);
    ck_assert_msg(strstr(text, "budget"), "%s", text);
    ck_assert_int_eq(multiply(context, all, &variant), HUSK_OUT_OF_MEMORY);
    husk_buffer_release(all);
    test_ok_error(husk_buffer_create(context, 1 << 19, &all, &error), &error);
    ck_assert_int_eq(multiply(context, all, &variant), HUSK_OK);
    ck_assert_str_eq(variant, "cpu_matrix");
    husk_buffer_release(all);
    husk_context_release(context);
    test_restore_environment();
}
END_TEST

// ---- planted mistakes ----

typedef struct mistake {
    const char *engine;
    husk_dtype dtype;
    husk_precision precision;
    const char *file, *right, *wrong; // in the kernels
    const char *found;                // part of what the log says
} mistake;

static const mistake mistakes[] = {
    {"soft_nv_mma", HUSK_F32, HUSK_PRECISION_HIGH, "lib/fragment_nv_mma.clh", "return lane / 4 + 8 * i;",
     "return lane / 4 + 8 * (1 - i);", "integers"},
    {"soft_nv_mma", HUSK_F16, HUSK_PRECISION_HIGHEST, "lib/fragment_nv_mma.clh", "i < inside ?", "i < inside - 1 ?",
     "integers"},
    {"soft_nv_mma", HUSK_F32, HUSK_PRECISION_HIGH, "lib/fragment_soft.clh",
     "return part ? tf32_left(element, high) : high;", "return part ? 0.0f : high;", "random numbers"},
    {"soft_nv_mma", HUSK_F32, HUSK_PRECISION_MEDIUM, "lib/parts.clh", "bits | (isnan(value) ? 0x400000u : 0u);",
     "bits;", "random numbers"},
    {"soft_nv_mma", HUSK_F32, HUSK_PRECISION_MEDIUM, "lib/fragment_nv_mma.clh", "#error \"LANES is 32 here\"",
     "#error \"LANES is 32 here\"\n#endif\n#if 1\n#error \"planted\"", "does not build"},
    // Of the copies of chunks: an element twice, another line, one that is left out.
    {"soft_nv_mma", HUSK_BF16, HUSK_PRECISION_HIGHEST, "lib/fragment_nv_mma.clh",
     "panel[across_at(at_line, at_step + 1)]", "panel[across_at(at_line, at_step)]", "way 4"},
    {"soft_nv_mma", HUSK_F32, HUSK_PRECISION_HIGH, "lib/fragment_nv_mma.clh",
     "as_uint(panel[across_at(at_line, at_step)])", "as_uint(panel[across_at(at_line ^ 1, at_step)])", "way 4"},
    {"soft_nv_mma", HUSK_F16, HUSK_PRECISION_HIGHEST, "lib/fragment_nv_mma.clh", "for (int i = 0; i < CHUNK; ++i)",
     "for (int i = 0; i < CHUNK - 1; ++i)", "way 3"},
    {"soft_amd_wmma", HUSK_F32, HUSK_PRECISION_HIGH, "lib/fragment_matrix.clh", "to[lines * BLOCK_K] = bf16_part(",
     "to[lines * BLOCK_K] = 0 & bf16_part(", "random numbers"},
    {"soft_amd_mfma", HUSK_F16, HUSK_PRECISION_HIGHEST, "lib/fragment_soft.clh", "return vload_half(",
     "return element & 0x7c00 ? vload_half(0, (const half *)&element) : 0 * vload_half(", "denormals"},
    {"soft_amd_mfma", HUSK_BF16, HUSK_PRECISION_HIGHEST, "lib/fragment_matrix.clh", "*(__local carried_four *)to = v;",
     "*(__local carried_four *)to = v.xx;", "integers"},
    {"soft_amd_wmma", HUSK_BF16, HUSK_PRECISION_HIGHEST, "lib/fragment_soft.clh", "k < FRAGMENT_K;",
     "k < FRAGMENT_K - 1;", "integers"},
    {"soft_intel_dpas", HUSK_BF16, HUSK_PRECISION_HIGHEST, "lib/fragment_soft.clh", "SUMS_ELEMENT(*sums, e) = sum;",
     "SUMS_ELEMENT(*sums, e) = as_float(as_uint(sum) & 0xffff0000u);", "integers"},
    {"soft_amx", HUSK_BF16, HUSK_PRECISION_HIGHEST, "lib/amx.clh", "return sum + (even + odd);", "return sum + even;",
     "integers"},
    {"soft_amx", HUSK_BF16, HUSK_PRECISION_HIGHEST, "lib/amx.clh", "load_some(from + i * line + 16)",
     "load_some(from + i * line + 15)", "integers"},
    {"soft_amx", HUSK_F32, HUSK_PRECISION_HIGH, "lib/amx.clh", "sum = amx_dot(sum, row_a, column_b + 2 * AMX_TILE);",
     ";", "random numbers"},
    // Bytes: a row of two exchanged, u8 taken for i8, a copy that drops one, the last steps left out, sums of 20 bits.
    {"soft_nv_mma", HUSK_I8, HUSK_PRECISION_HIGHEST, "lib/fragment_nv_mma.clh", "return lane / 4 + 8 * i;",
     "return lane / 4 + 8 * (1 - i);", "integers"},
    {"soft_nv_mma", HUSK_U8, HUSK_PRECISION_HIGHEST, "lib/fragment_soft.clh",
     "return of_b ? (int)(char)element : (int)element;", "return (int)(char)element;", "integers"},
    {"soft_nv_mma", HUSK_U8, HUSK_PRECISION_HIGHEST, "lib/fragment_nv_mma.clh", "i < inside ?", "i < inside - 1 ?",
     "integers"},
    {"soft_amd_mfma", HUSK_I8, HUSK_PRECISION_HIGHEST, "lib/fragment_amd_mfma.clh", "(MFMA_I8_STEPS / 4)",
     "(MFMA_I8_STEPS / 8)", "integers"},
    {"soft_amd_wmma", HUSK_U8, HUSK_PRECISION_HIGHEST, "lib/fragment_soft.clh", "k < FRAGMENT_K;",
     "k < FRAGMENT_K - 1;", "integers"},
    {"soft_intel_dpas", HUSK_I8, HUSK_PRECISION_HIGHEST, "lib/fragment_soft.clh",
     "#define SOFT_ADD(a, b, sum)        ((a) * (b) + (sum))",
     "#define SOFT_ADD(a, b, sum)        clamp((a) * (b) + (sum), -524288, 524287)", "extremes"},
    // u8 taken for i8, lines that begin a byte late, sums of 20 bits.
    {"soft_amx", HUSK_U8, HUSK_PRECISION_HIGHEST, "lib/amx.clh", "return (int)(word >> 8 * q & 255u);",
     "return (int)(word << (24 - 8 * q)) >> 24;", "integers"},
    {"soft_amx", HUSK_I8, HUSK_PRECISION_HIGHEST, "lib/amx_bytes.clh", "words_anywhere *)(from + i * line)",
     "words_anywhere *)(from + i * line + 1)", "integers"},
    {"soft_amx", HUSK_I8, HUSK_PRECISION_HIGHEST, "lib/amx.clh",
     "sum += amx_byte_a(a[i], q) * amx_byte_b(b[i * AMX_SIDE], q);",
     "sum = clamp(sum + amx_byte_a(a[i], q) * amx_byte_b(b[i * AMX_SIDE], q), -524288, 524287);", "extremes"},
};

START_TEST(a_wrong_engine_is_found_out)
{
    const mistake *m = &mistakes[_i];
    char folder[] = "/tmp/husk-engine-XXXXXX";
    if (_i > 0 && !test_is_long())
        return;
    test_copy_kernels(folder);
    test_plant(folder, m->file, m->right, m->wrong);
    test_setenv("HUSK_KERNEL_DIR", folder);
    test_setenv("HUSK_ENGINES", m->engine);
    const bool is_amx = strcmp(m->engine, "soft_amx") == 0;
    const bool found = finds(is_amx ? HUSK__ENGINE_TILES : HUSK__ENGINE_FRAGMENTS, m->dtype, m->precision);
    test_restore_environment();
    test_remove_kernels(folder);
    ck_assert_msg(!found, "mistake %d was not found", _i);
    ck_assert_msg(strstr(last_log, m->engine) && strstr(last_log, m->found), "mistake %d: %s", _i, last_log);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine");
    TCase *cases = tcase_create("engine");
    tcase_set_timeout(cases, 300);
    tcase_add_test(cases, soft_engines_are_there_when_they_are_named);
    tcase_add_test(cases, states_say_what_is_used_and_why_not);
    tcase_add_test(cases, a_probe_without_memory_is_made_again);
    tcase_add_test(cases, soft_engines_pass_their_probes);
    tcase_add_loop_test(cases, a_wrong_engine_is_found_out, 0, sizeof mistakes / sizeof *mistakes);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
