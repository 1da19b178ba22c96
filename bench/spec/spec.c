// SPDX-License-Identifier: MIT
#include "spec/spec.h"

#include <stdlib.h>

int bench_spec_buffer_of(const bench_spec *spec, int symbol)
{
    for (int i = 0; i < spec->buffer_count; i++) {
        if (spec->buffers[i].symbol == symbol)
            return i;
    }
    return -1;
}

bool bench_spec_compares(const bench_spec *spec)
{
    for (int i = 0; i < spec->expectation_count; i++) {
        if (spec->expectations[i].by != BENCH_BY_NOBODY)
            return true;
    }
    return false;
}

static void free_step(bench_step *step)
{
    for (int i = 0; i < step->argument_count; i++) {
        for (int k = 0; k < step->arguments[i].value_count; k++)
            bench_expression_free(&step->arguments[i].values[k]);
    }
    for (int i = 0; i < 3; i++) {
        bench_expression_free(&step->local[i]);
        bench_expression_free(&step->global[i]);
    }
}

static void free_expectation(bench_expectation *expectation)
{
    for (int i = 0; i < expectation->range_count; i++)
        bench_expression_free(&expectation->ranges[i].end);
    for (int i = 0; i < expectation->key_count; i++)
        bench_expression_free(&expectation->keys[i].value);
    bench_expression_free(&expectation->subscript);
    bench_expression_free(&expectation->formula);
}

void bench_spec_free(bench_spec *spec)
{
    for (int i = 0; i < spec->config_count; i++)
        free(spec->configs[i].values);
    for (int i = 0; i < spec->rule_count; i++)
        bench_expression_free(&spec->rules[i]);
    for (int i = 0; i < spec->define_count; i++)
        bench_expression_free(&spec->defines[i].value);
    free(spec->sizes.values);
    free(spec->measured.values);
    for (int i = 0; i < spec->buffer_count; i++) {
        bench_expression_free(&spec->buffers[i].count);
        bench_expression_free(&spec->buffers[i].generator.formula);
        for (int k = 0; k < 2; k++)
            bench_expression_free(&spec->buffers[i].generator.numbers[k]);
    }
    for (int i = 0; i < spec->step_count; i++)
        free_step(&spec->steps[i]);
    for (int i = 0; i < spec->expectation_count; i++)
        free_expectation(&spec->expectations[i]);
    bench_expression_free(&spec->flops);
    bench_expression_free(&spec->bytes);
    free(spec);
}
