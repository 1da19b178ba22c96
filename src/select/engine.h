/* SPDX-License-Identifier: MIT */
/*
 * select/engine.h: matrix engines: which there are, which a device may have, and which have proved themselves.
 *
 * An engine is reached by cl/lib/fragment_*.clh (GPUs) or by kernels of its own. A row of the table says by whose
 * devices it may be found; whether it is there is decided by its probe, which multiplies matrices on the device and
 * compares them with what the host computes, once a context for each kind of product, when that is first wanted. A
 * variant asks in supports() whether an engine may be there, and in prepare() for one that is.
 */
#ifndef HUSK_SELECT_ENGINE_H
#define HUSK_SELECT_ENGINE_H

#include <husk/engine.h>
#include <husk/plan.h>

#include "base/text.h"

/* What is multiplied; cl/lib/fragment_matrix.clh. Sums are f32. */
typedef enum husk__product {
    HUSK__PRODUCT_F16,
    HUSK__PRODUCT_BF16,
    HUSK__PRODUCT_F32,
    HUSK__PRODUCT_BF16X3, /* f32 in two bf16 parts each, three products */
    HUSK__PRODUCT_BF16X1, /* f32 rounded to bf16 */
    HUSK__PRODUCT_TF32X3,
    HUSK__PRODUCT_TF32X1,
    HUSK__PRODUCTS
} husk__product;

enum { HUSK__ENGINE_SIZES = 3, HUSK__ENGINE_WANTED = 3, HUSK__ENGINE_REASON = 200 };
/* Bytes that a line of a tile takes in local memory, twice as the next tiles are fetched meanwhile. */
enum { HUSK__ENGINE_LINE = 2 * 64 };

typedef struct husk__engine husk__engine;
struct husk__engine {
    const char *name;
    bool is_soft;     /* arithmetic in place of the instruction: for tests, only where HUSK_ENGINES names it */
    uint32_t products; /* bits of husk__product */
    /* Whether devices like this may have it. */
    bool (*claims)(const husk_device_traits *traits);

    /* cl/lib/fragment.clh's: what selects it, items of a sub-group, their share of tiles of 128, 64 and 32 squared. */
    const char *options;
    int32_t lanes;
    int32_t share[HUSK__ENGINE_SIZES][2];

    /*
     * Whether it multiplies rightly here; writes why not. NULL: by cl/runtime_engine_probe.cl, for engines reached by
     * fragments. Called once a context and product, never by two threads at once.
     */
    bool (*probe)(husk_context *context, const husk__engine *engine, husk__product product,
                  char reason[HUSK__ENGINE_REASON]);
};

extern const husk__engine *const husk__engines[]; /* ends with NULL */

/* The products that compute a multiplication of this dtype in this precision (resolved), best first. */
size_t husk__engine_products(husk_dtype dtype, husk_precision precision, husk__product products[HUSK__ENGINE_WANTED]);

/* The first engine that such devices may have and HUSK_ENGINES lets be used, for one of these products; or NULL. */
const husk__engine *husk__engine_claimed(const husk_device_traits *traits, husk_dtype dtype, husk_precision precision);
/* The first that is there: claimed, not left out, its probe passed. False where none is. */
bool husk__engine_find(husk_context *context, husk_dtype dtype, husk_precision precision, const husk__engine **engine,
                       husk__product *product);

/* -D options of cl/lib/fragment.clh for square tiles of 128, 64 or 32, and the work-items of a group. */
void husk__engine_options(const husk__engine *engine, husk__product product, int32_t tile, husk__text *options);
int64_t husk__engine_items(const husk__engine *engine, int32_t tile);
/* k steps of a tile in local memory; 64 is a multiple of all. */
int32_t husk__engine_steps(husk__product product);

/*
 * The bound of a sum of k products, see husk_plan_error_factor. Splitting: 3 * 2^-16 for BF16X3 (low * low, and what
 * two parts leave of either factor), 2^-7 + 2^-16 for BF16X1 (a rounding of 2^-8 of either), 3 * 2^-22 and 2^-10 +
 * 2^-22 for TF32. Sums: an engine may cut off where f32 rounds, 2 u an addition and once an instruction; rounded sums
 * err by 4 + 2 sqrt(terms) as elsewhere.
 */
double husk__engine_error_factor(const husk__engine *engine, husk__product product, int64_t k);

/* The probe of engines that are reached by fragments. */
bool husk__engine_probe_fragments(husk_context *context, const husk__engine *engine, husk__product product,
                                  char reason[HUSK__ENGINE_REASON]);

/* What a context knows of its engines. */
typedef struct husk__engine_states husk__engine_states;
husk__engine_states *husk__engine_states_create(husk_context *context);
void husk__engine_states_destroy(husk__engine_states *states);
/* Every engine counts as right: to list programs on a device that computes nothing. */
void husk__engine_states_assume(husk__engine_states *states);

#endif
