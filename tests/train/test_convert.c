// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=60 with=whole_gradient
// Weights of another floating-point dtype than the graph's: rounded to nearest, and refused where they do not fit.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ref/random.h"
#include "ref/ref.h"
#include "support/device.h"
#include "support/main.h"
#include "train/convert.h"
#include "train/whole_gradient.h"

static const husk_dtype dtypes[] = {HUSK_F16, HUSK_BF16, HUSK_F32, HUSK_F64};

START_TEST(every_number_of_16_bits_comes_back)
{
    for (int d = 0; d < 2; d++)
        for (uint32_t bits = 0; bits < 65536; bits++) {
            const uint16_t from = (uint16_t)bits;
            const double wanted = d ? husk_ref_bf16_load(from) : husk_ref_f16_load(from);
            double wide;
            uint16_t back;
            ck_assert_uint_eq(husk__convert(&wide, HUSK_F64, &from, dtypes[d], 1), 1);
            ck_assert_uint_eq(husk__convert(&back, dtypes[d], &wide, HUSK_F64, 1), 1);
            if (isnan(wanted)) {
                const double again = d ? husk_ref_bf16_load(back) : husk_ref_f16_load(back);
                ck_assert(isnan(wide) && isnan(again));
                continue;
            }
            ck_assert(memcmp(&wide, &wanted, sizeof wide) == 0);
            ck_assert_uint_eq(back, from);
        }
}
END_TEST

// Midpoints between neighbours and what lies closest beside them, and random bits of doubles.
START_TEST(rounding_is_to_nearest_even)
{
    for (int d = 0; d < 2; d++) {
        double (*const load)(uint16_t) = d ? husk_ref_bf16_load : husk_ref_f16_load;
        uint16_t (*const store)(double) = d ? husk_ref_bf16_store : husk_ref_f16_store;
        const uint16_t infinity = d ? 0x7F80 : 0x7C00;
        for (uint16_t below = 0; below + 1 < infinity; below++) {
            const double middle = (load(below) + load((uint16_t)(below + 1))) / 2;
            const double points[] = {middle, nextafter(middle, 0), nextafter(middle, INFINITY)};
            const uint16_t wanted[] = {(uint16_t)(below + (below & 1)), below, (uint16_t)(below + 1)};
            for (int i = 0; i < 3; i++) {
                uint16_t bits;
                const double negative = -points[i];
                ck_assert_uint_eq(husk__convert(&bits, dtypes[d], &points[i], HUSK_F64, 1), 1);
                ck_assert_uint_eq(bits, wanted[i]);
                ck_assert_uint_eq(husk__convert(&bits, dtypes[d], &negative, HUSK_F64, 1), 1);
                ck_assert_uint_eq(bits, 0x8000 | wanted[i]);
            }
        }
        for (uint64_t i = 0; i < 100000; i++) {
            const uint64_t drawn = (uint64_t)husk_ref_random_bits(7, 2 * i) << 32 | husk_ref_random_bits(7, 2 * i + 1);
            double value;
            uint16_t bits;
            memcpy(&value, &drawn, sizeof value);
            husk__convert(&bits, dtypes[d], &value, HUSK_F64, 1);
            ck_assert(isnan(value) ? isnan(load(bits)) : bits == store(value));
        }
    }
}
END_TEST

START_TEST(what_becomes_infinite_is_named)
{
    const double values[] = {1, -65519, INFINITY, -65520, 1e300};
    uint16_t narrow[5];
    float single[5];
    ck_assert_uint_eq(husk__convert(narrow, HUSK_F16, values, HUSK_F64, 5), 3);
    ck_assert_uint_eq(narrow[1], 0xFBFF);
    ck_assert_uint_eq(husk__convert(single, HUSK_F32, values, HUSK_F64, 5), 4);
    ck_assert_uint_eq(husk__convert(narrow, HUSK_BF16, values, HUSK_F64, 5), 4);
}
END_TEST

// ---- whole files ----

enum { INPUTS = 5, OUTPUTS = 3, WEIGHTS = INPUTS * OUTPUTS };

static husk_error error;
static char path[64];

static husk_graph *linear(husk_dtype dtype)
{
    husk_graph *graph = test_graph(dtype, 3);
    husk_value x = husk_graph_input(graph, "x", dtype, 2, (int64_t[]){4, INPUTS});
    x = husk_graph_linear(graph, "fc", &HUSK_LINEAR_LAYER(.outputs = OUTPUTS), x);
    husk_graph_output(graph, "y", x);
    test_ok_error(husk_graph_compile(graph, NULL, &error), &error);
    return graph;
}

// The graph's shapes, in the file's dtype: its bias has an odd number of elements.
static void write_file(husk_graph *graph, husk_dtype dtype, const double weights[WEIGHTS])
{
    char host[2][WEIGHTS * 8];
    const char *const names[] = {"fc.bias", "fc.weight"};
    husk_safetensors_item items[2];
    for (int i = 0; i < 2; i++) {
        test_graph_ok(graph, husk_graph_tensor(graph, names[i], &items[i].tensor));
        const uint64_t count = (uint64_t)husk_tensor_count(&items[i].tensor);
        if (dtype == HUSK_I32)
            memset(host[i], 0, sizeof host[i]);
        else
            ck_assert_uint_eq(husk__convert(host[i], dtype, weights, HUSK_F64, count), count);
        items[i].name = names[i];
        items[i].host = host[i];
        items[i].tensor.dtype = dtype;
    }
    test_ok_error(husk_safetensors_write(path, NULL, items, 2, NULL, 0, &error), &error);
}

static husk_status load(husk_graph *graph, husk_load_mode mode)
{
    husk_safetensors *file;
    test_ok_error(husk_safetensors_open(path, NULL, &file, &error), &error);
    husk_status status = husk_graph_load(graph, file, &HUSK_LOAD_PARAMS(.mode = mode), NULL, &error);
    husk_safetensors_close(file);
    return status;
}

static void read_weights(husk_graph *graph, husk_dtype dtype, double weights[WEIGHTS])
{
    char host[WEIGHTS * 8];
    test_graph_ok(graph, husk_graph_read(graph, "fc.weight", host, WEIGHTS * husk_dtype_size(dtype)));
    husk__convert(weights, HUSK_F64, host, dtype, WEIGHTS);
}

START_TEST(weights_of_every_floating_dtype_are_loaded)
{
    double weights[WEIGHTS], before[WEIGHTS], after[WEIGHTS];
    for (int i = 0; i < WEIGHTS; i++)
        weights[i] = husk_ref_random_float(5, (uint64_t)i) / 3;
    const size_t graphs = husk_context_has(test_context(), HUSK_FEATURE_F64) ? 4 : 3;
    for (size_t g = 2; g < graphs; g++) { // f32, f64
        husk_graph *graph = linear(dtypes[g]);
        for (size_t d = 0; d < 4; d++)
            for (int mode = HUSK_LOAD_WEIGHTS; mode <= HUSK_LOAD_MATCHING; mode++) {
                char kept[WEIGHTS * 8], rounded[WEIGHTS * 8];
                write_file(graph, dtypes[d], weights);
                test_ok_error(load(graph, (husk_load_mode)mode), &error);
                read_weights(graph, dtypes[g], after);
                husk__convert(kept, dtypes[d], weights, HUSK_F64, WEIGHTS);
                husk__convert(rounded, dtypes[g], kept, dtypes[d], WEIGHTS);
                husk__convert(before, HUSK_F64, rounded, dtypes[g], WEIGHTS);
                ck_assert(memcmp(before, after, sizeof before) == 0);
            }
        husk_graph_release(graph);
    }
}
END_TEST

START_TEST(what_cannot_be_converted_changes_nothing)
{
    double weights[WEIGHTS] = {0}, before[WEIGHTS], after[WEIGHTS];
    husk_graph *graph = linear(HUSK_F32);
    read_weights(graph, HUSK_F32, before);
    write_file(graph, HUSK_I32, weights);
    ck_assert_int_eq(load(graph, HUSK_LOAD_WEIGHTS), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, "I32 [") && strstr(error.text, "for F32 ["), "%s", error.text);
    weights[7] = -1e39; // the weight's alone: the bias has three elements
    write_file(graph, HUSK_F64, weights);
    ck_assert_int_eq(load(graph, HUSK_LOAD_MATCHING), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, "fc.weight: its element 7, of F64, is too large for the graph's F32"), "%s",
                  error.text);
    read_weights(graph, HUSK_F32, after);
    ck_assert(memcmp(before, after, sizeof before) == 0);
    husk_graph_release(graph);
}
END_TEST

static void setup(void)
{
    snprintf(path, sizeof path, "/tmp/husk-convert-%ld.safetensors", (long)getpid());
}

static void teardown(void)
{
    unlink(path);
}

int main(void)
{
    Suite *suite = suite_create("convert");
    TCase *tests = tcase_create("all");
    tcase_add_unchecked_fixture(tests, setup, teardown);
    tcase_add_test(tests, every_number_of_16_bits_comes_back);
    tcase_add_test(tests, rounding_is_to_nearest_even);
    tcase_add_test(tests, what_becomes_infinite_is_named);
    tcase_add_test(tests, weights_of_every_floating_dtype_are_loaded);
    tcase_add_test(tests, what_cannot_be_converted_changes_nothing);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
