// SPDX-License-Identifier: MIT
// What the variants of quantized_gemm share.
#include "ops/quantized/gemm_problem.h"

#include <math.h>

#include "base/checked.h"

typedef husk__quantized_gemm_problem problem;
typedef husk__quantized_run arguments;

void husk__quantized_gemm_describe_packed(const husk_plan *plan, husk__key *key)
{
    const problem *own = plan->problem;
    husk__key_i64(key, own->products.k);
    husk__key_i64(key, own->products.n);
    husk__key_i64(key, own->tensors.weights.rank);
}

// The common list has the zero point of i8 with its highest bit turned, 128 higher.
husk__arg *husk__quantized_gemm_write_finish(const husk__products *own, const arguments *given, husk__arg *end)
{
    husk_quantization a = given->input_quantization;
    a.zero -= own->a_dtype == HUSK_I8 ? 128 : 0;
    return husk__products_write_finish(own, given->scale, given->bias, &a, &given->output_quantization, end);
}

double husk__quantized_gemm_flops(const husk__candidate *candidate)
{
    const husk__products *own = &((const problem *)candidate->problem)->products;
    return 2.0 * (double)own->groups * (double)own->m * (double)own->n * (double)own->k;
}

// To begin and finish a tile takes the kernels as long as so many steps of k.
enum { ENTER_STEPS = 64 };
// Nanoseconds, roughly, of a product by gemm_tiled.cl on a busy device; variant matrix is counted as faster than this.
static const double PRODUCT_NS = 1e-3;

double husk__quantized_gemm_tiles_cost(const husk__candidate *candidate, int64_t side)
{
    const husk__products *own = &((const problem *)candidate->problem)->products;
    const double tiles = (double)(own->groups * husk__divide_up(own->m, side) * husk__divide_up(own->n, side));
    const double units = candidate->traits->compute_units;
    return ceil(tiles / units) * units * (double)(side * side) * (double)(own->k + ENTER_STEPS) * PRODUCT_NS;
}
