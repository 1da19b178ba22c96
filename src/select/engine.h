/* SPDX-License-Identifier: MIT */
/*
 * select/engine.h: matrix engines: which there are, which a device may have, and which have proved themselves.
 *
 * An engine is reached by cl/lib/fragment_*.clh (GPUs) or by cl/lib/amx.clh (CPUs). A row of the table says by whose
 * devices it may be found; whether it is there is decided by its probe, which multiplies matrices on the device and
 * compares them with what the host computes, once a context for each kind of product, when that is first wanted. A
 * variant asks in supports() whether an engine may be there, and in prepare() for one that is.
 */
#ifndef HUSK_SELECT_ENGINE_H
#define HUSK_SELECT_ENGINE_H

#include <husk/engine.h>
#include <husk/machine.h>
#include <husk/plan.h>

#include "base/error.h"
#include "base/text.h"

/* What is multiplied; cl/lib/fragment_matrix.clh. Sums are f32, of bytes i32. */
typedef enum husk__product {
    HUSK__PRODUCT_F16,
    HUSK__PRODUCT_BF16,
    HUSK__PRODUCT_F32,
    HUSK__PRODUCT_BF16X3, /* f32 in two bf16 parts each, three products */
    HUSK__PRODUCT_BF16X1, /* f32 rounded to bf16 */
    HUSK__PRODUCT_TF32X3,
    HUSK__PRODUCT_TF32X1,
    HUSK__PRODUCT_I8, /* A's i8 by B's i8 */
    HUSK__PRODUCT_U8, /* A's u8 by B's i8 */
    HUSK__PRODUCTS
} husk__product;

/* How an engine is reached, and so by which kernels. */
typedef enum husk__engine_kind {
    HUSK__ENGINE_FRAGMENTS, /* cl/lib/fragment.clh: GPUs */
    HUSK__ENGINE_TILES      /* cl/lib/amx.clh: CPUs */
} husk__engine_kind;

enum { HUSK__ENGINE_SIZES = 3, HUSK__ENGINE_WANTED = 3, HUSK__ENGINE_REASON = 200 };
/* Bytes that a line of a tile takes in local memory, twice as the next tiles are fetched meanwhile. */
enum { HUSK__ENGINE_LINE = 2 * 64 };
/* A tile of 128 or 64 that asynchronous copies fill: 128 | HUSK__ENGINE_ASYNC; of half the steps, so that more fit. */
enum { HUSK__ENGINE_ASYNC = 1 << 16, HUSK__ENGINE_HALF_STEPS = 1 << 17, HUSK__ENGINE_ASYNC_SIZES = 2 };

typedef struct husk__engine husk__engine;
struct husk__engine {
    const char *name;
    husk__engine_kind kind;
    bool is_soft;     /* arithmetic in place of the instruction: for tests, only where HUSK_ENGINES names it */
    uint32_t products; /* bits of husk__product */
    /* Whether devices like this may have it. */
    bool (*claims)(const husk_device_traits *traits);

    /* NULL where nothing has to be asked for before it may be used: why it may not, or NULL. */
    const char *(*permit)(void);

    const char *options; /* what selects it */
    /* Tiles: dot products of vectors for each of f32's multiply-adds; 0 where they are a unit of their own. */
    double dots_per_fma;
    /* Fragments: items of a sub-group, their share of tiles of 128, 64 and 32 squared. */
    int32_t lanes;
    int32_t share[HUSK__ENGINE_SIZES][2];
    /* Whether tiles may be filled by asynchronous copies (cl/lib/fragment_async.clh), and then its share of 128, 64. */
    bool copies;
    int32_t async_share[HUSK__ENGINE_ASYNC_SIZES][2];
};

enum { HUSK__ENGINES = 16 };
extern const husk__engine husk__engines[HUSK__ENGINES];

/*
 * The products that compute a multiplication of this dtype (of bytes A's) in this precision (resolved), best first.
 */
size_t husk__engine_products(husk_dtype dtype, husk_precision precision, husk__product products[HUSK__ENGINE_WANTED]);
/* Of bf16, and of f32 below the highest precision: the one of them that AMX has. */
husk__product husk__engine_amx_product(husk_dtype dtype, husk_precision precision);

/* Whether the list of HUSK_ENGINES has a name, or the first words of one: "amd_wmma" is amd_wmma_gfx12, too. */
bool husk__engine_is_listed(const char *list, const char *name);

/* Whether HUSK_ENGINES lets it be used. */
bool husk__engine_is_allowed(const husk__engine *engine);
/* Whether such devices may have it, and HUSK_ENGINES lets it be used, for this product. */
bool husk__engine_may_be(const husk__engine *engine, husk__engine_kind kind, husk__product product,
                         const husk_device_traits *traits);

/* The first engine of a kind that such devices may have and HUSK_ENGINES lets be used, for one of these products. */
const husk__engine *husk__engine_claimed(husk__engine_kind kind, const husk_device_traits *traits, husk_dtype dtype,
                                         husk_precision precision);
/*
 * The first that is there: claimed, not left out, its probe passed. HUSK_UNSUPPORTED where none is; another failure
 * where a probe could not be made, for want of memory, say: then it is not known yet.
 */
husk_status husk__engine_find(husk_context *context, husk__engine_kind kind, husk_dtype dtype, husk_precision precision,
                              const husk__engine **engine, husk__product *product, const husk__scope *scope);

/* -D options that say what is multiplied, and by what. */
void husk__engine_product_options(const husk__engine *engine, husk__product product, husk__text *options);
/* And those of cl/lib/fragment.clh for square tiles of 128, 64 or 32; the work-items of a group. */
void husk__engine_options(const husk__engine *engine, husk__product product, int32_t tile, husk__text *options);
int64_t husk__engine_items(const husk__engine *engine, int32_t tile);
/*
 * For prepare(): such options of the engine that is there for a product of sums of k terms, its work-items, and the
 * plan's error factor. Fails as husk__engine_find does.
 */
husk_status husk__engine_configure(husk_plan *plan, husk_dtype dtype, husk_precision precision, int32_t tile, int64_t k,
                                   husk__text *options, int64_t *items, const husk__scope *scope);
/* k steps of a tile in local memory; 64 is a multiple of all. */
int32_t husk__engine_steps(husk__product product);
/* Whether it is of bytes: sums are i32 then, and exact. */
bool husk__product_is_of_bytes(husk__product product);
/* "bf16x3" */
const char *husk__product_name(husk__product product);

/*
 * For the costs of variants on CPUs' engines: cycles to multiply 16 rows, 32 steps (64 of bytes) and 16 columns, with
 * the loads of both.
 */
double husk__engine_tile_cycles(const husk__engine *engine, const husk_machine_rates *rates);

/*
 * The bound of a sum of k products, see husk_plan_error_factor. Splitting: 3 * 2^-16 for BF16X3 (low * low, and what
 * two parts leave of either factor), 2^-7 + 2^-16 for BF16X1 (a rounding of 2^-8 of either), 3 * 2^-22 and 2^-10 +
 * 2^-22 for TF32. Sums: an engine may cut off where f32 rounds, 2 u an addition and once an instruction; rounded sums
 * err by 4 + 2 sqrt(terms) as elsewhere.
 */
double husk__engine_error_factor(const husk__engine *engine, husk__product product, int64_t k);

/*
 * Whether an engine multiplies rightly on this device, by cl/runtime/engine_probe.cl or cl/runtime/amx_probe.cl; writes
 * why not. Fails where that is not known, as there was no memory for it, say. Never called by two threads at once for a
 * context.
 */
husk_status husk__engine_probe(husk_context *context, const husk__engine *engine, husk__product product, bool *is_right,
                               char reason[HUSK__ENGINE_REASON], const husk__scope *scope);

#endif
