// SPDX-License-Identifier: MIT
// The table of matrix engines, and which of them devices may have.
#include "select/engine.h"

#include <math.h>
#include <string.h>

#include "os/amx.h"
#include "os/avx512.h"
#include "os/environment.h"
#include "runtime/pocl.h"

// ---- the table ----

#define BIT(product) (1u << HUSK__PRODUCT_##product)
enum {
    HALVES = BIT(F16) | BIT(BF16),
    BF16_PARTS = BIT(BF16X3) | BIT(BF16X1),
    TF32_PARTS = BIT(TF32X3) | BIT(TF32X1),
    BYTES = BIT(I8) | BIT(U8),
    NV_MMA = HALVES | TF32_PARTS | BYTES,
    MFMA = HALVES | BIT(F32) | BF16_PARTS | BIT(I8),
    WMMA = HALVES | BF16_PARTS | BYTES,
    DPAS = WMMA,
    AMX = BIT(BF16) | BF16_PARTS | BYTES
};

static bool is_gpu(const husk_device_traits *traits)
{
    return traits->device_class != HUSK_DEVICE_CPU && traits->device_class != HUSK_DEVICE_SIMULATOR;
}

// NVIDIA's own platform: inline PTX is for its compiler.
static bool claims_nv(const husk_device_traits *traits)
{
    return is_gpu(traits) && strstr(traits->platform_name, "NVIDIA");
}

static bool is_amd(const husk_device_traits *traits, const char *name)
{
    return is_gpu(traits) && strstr(traits->platform_name, "AMD") && strncmp(traits->name, name, strlen(name)) == 0;
}

static bool claims_cdna(const husk_device_traits *traits)
{
    return is_amd(traits, "gfx9");
}

static bool claims_rdna3(const husk_device_traits *traits)
{
    return is_amd(traits, "gfx11");
}

static bool claims_rdna4(const husk_device_traits *traits)
{
    return is_amd(traits, "gfx12");
}

static bool claims_dpas(const husk_device_traits *traits)
{
    return is_gpu(traits) && strstr(traits->extensions, "cl_intel_subgroup_matrix_multiply_accumulate");
}

// PoCL compiles for the CPU that this process runs on, by a compiler whose assembler knows the instructions.
static bool claims_amx(const husk_device_traits *traits)
{
    return traits->device_class == HUSK_DEVICE_CPU && husk__is_pocl(traits) && !husk__breaks_on_assembly(traits) &&
           husk__cpu_has_amx();
}

// The same, by a builtin of its compiler, which uses vectors of 512 bits, in a function of its own.
static bool has_avx512_bf16(const husk_device_traits *traits)
{
    return traits->device_class == HUSK_DEVICE_CPU && husk__is_pocl(traits) && traits->vector_width == 16 &&
           husk__cpu_has_avx512_bf16();
}

static bool claims_avx512_bf16(const husk_device_traits *traits)
{
    return has_avx512_bf16(traits) && husk__keeps_functions(traits);
}

// And by inline assembly where it would not be a function of its own.
static bool claims_avx512_bf16_asm(const husk_device_traits *traits)
{
    return has_avx512_bf16(traits) && !husk__keeps_functions(traits) && !husk__breaks_on_assembly(traits);
}

static bool claims_all(const husk_device_traits *traits)
{
    (void)traits;
    return true;
}

// name, devices, products, options, lanes, shares of tiles of 128, 64 and 32
#define FRAGMENTS(engine, who, what, flags, items, ...) \
    {.name = engine, .claims = who, .products = what, .options = flags, .lanes = items, .share = __VA_ARGS__}
#define SOFT(engine, what, flags, items, ...) \
    {.name = engine, .claims = claims_all, .products = what, .options = flags " -DENGINE_SOFT", .lanes = items, \
     .is_soft = true, .share = __VA_ARGS__}
// name, devices, products; one work-item multiplies 32 rows by 32 columns
#define TILES(engine, who, what, ...) \
    {.name = engine, .kind = HUSK__ENGINE_TILES, .claims = who, .products = what, .lanes = 1, \
     .share = SHARES(128, 128, 64, 64, 32, 32), __VA_ARGS__}
#define SHARES(a, b, c, d, e, f) {{a, b}, {c, d}, {e, f}}
#define COPIES(a, b, c, d) .copies = true, .async_share = {{a, b}, {c, d}}
// Half as many threads, each with 256 registers: in 128 nearly all of these kernels spill. Devices with DPAS have both.
#define ALL_REGISTERS " -cl-intel-256-GRF-per-thread"

const husk__engine husk__engines[HUSK__ENGINES] = {
    FRAGMENTS("nv_mma", claims_nv, NV_MMA, "-DENGINE_NV_MMA", 32, SHARES(64, 32, 32, 32, 16, 16),
              COPIES(64, 64, 32, 32)),
    FRAGMENTS("amd_mfma", claims_cdna, MFMA, "-DENGINE_AMD_MFMA", 64, SHARES(64, 64, 32, 32, 32, 16)),
    FRAGMENTS("amd_wmma", claims_rdna3, WMMA, "-DENGINE_AMD_WMMA=11", 32, SHARES(64, 32, 32, 32, 16, 16)),
    FRAGMENTS("amd_wmma_gfx12", claims_rdna4, WMMA, "-DENGINE_AMD_WMMA=12", 32, SHARES(64, 32, 32, 32, 16, 16)),
    FRAGMENTS("intel_dpas", claims_dpas, DPAS, "-DENGINE_INTEL_DPAS" ALL_REGISTERS, 16, SHARES(32, 32, 32, 16, 16, 16)),
    FRAGMENTS("intel_dpas_8", claims_dpas, DPAS, "-DENGINE_INTEL_DPAS" ALL_REGISTERS, 8, SHARES(32, 16, 16, 16, 16, 8)),
    TILES("amx", claims_amx, AMX, .permit = husk__permit_amx, .options = ""),
    TILES("avx512_bf16", claims_avx512_bf16, BIT(BF16) | BIT(BF16X1), .options = "-DENGINE_AVX512",
          .dots_per_fma = 1.0),
    TILES("avx512_bf16_asm", claims_avx512_bf16_asm, BIT(BF16) | BIT(BF16X1),
          .options = "-DENGINE_AVX512 -DENGINE_ASSEMBLY", .dots_per_fma = 1.0),
    SOFT("soft_nv_mma", NV_MMA, "-DENGINE_NV_MMA", 32, SHARES(64, 32, 32, 32, 16, 16), COPIES(64, 64, 32, 32)),
    SOFT("soft_amd_mfma", MFMA, "-DENGINE_AMD_MFMA", 64, SHARES(64, 64, 32, 32, 32, 16)),
    SOFT("soft_amd_wmma", WMMA, "-DENGINE_AMD_WMMA=11", 32, SHARES(64, 32, 32, 32, 16, 16)),
    SOFT("soft_amd_wmma_gfx12", WMMA, "-DENGINE_AMD_WMMA=12", 32, SHARES(64, 32, 32, 32, 16, 16)),
    SOFT("soft_intel_dpas", DPAS, "-DENGINE_INTEL_DPAS", 16, SHARES(32, 32, 32, 16, 16, 16)),
    SOFT("soft_intel_dpas_8", DPAS, "-DENGINE_INTEL_DPAS", 8, SHARES(32, 16, 16, 16, 16, 8)),
    TILES("soft_amx", claims_all, AMX, .is_soft = true, .options = "-DENGINE_SOFT"),
};

// What the products are called, their -D option, and what they lose before anything is added, in units of 2^-24.
static const struct {
    const char *name, *option;
    int32_t steps, terms;
    double splitting;
} products[HUSK__PRODUCTS] = {
    [HUSK__PRODUCT_F16] = {"f16", "-DPRODUCT_F16", 32, 1, 0.0},
    [HUSK__PRODUCT_BF16] = {"bf16", "-DPRODUCT_BF16", 32, 1, 0.0},
    [HUSK__PRODUCT_F32] = {"f32", "-DPRODUCT_F32", 16, 1, 0.0},
    [HUSK__PRODUCT_BF16X3] = {"bf16x3", "-DPRODUCT_BF16X3", 16, 3, 3.0 * 0x1p8},
    [HUSK__PRODUCT_BF16X1] = {"bf16x1", "-DPRODUCT_BF16X1", 32, 1, 0x1p17 + 0x1p8},
    [HUSK__PRODUCT_TF32X3] = {"tf32x3", "-DPRODUCT_TF32X3", 16, 3, 3.0 * 0x1p2},
    [HUSK__PRODUCT_TF32X1] = {"tf32x1", "-DPRODUCT_TF32X1", 16, 1, 0x1p14 + 0x1p2},
    [HUSK__PRODUCT_I8] = {"i8", "-DPRODUCT_I8", 64, 1, 0.0},
    [HUSK__PRODUCT_U8] = {"u8", "-DPRODUCT_U8", 64, 1, 0.0},
};

void husk__engine_product_options(const husk__engine *engine, husk__product product, husk__text *options)
{
    husk__text_format(options, "%s %s", engine->options, products[product].option);
}

// Of a tile, which loses its flags.
static const int32_t *share_of(const husk__engine *engine, int32_t *tile)
{
    const bool is_async = *tile & HUSK__ENGINE_ASYNC;
    *tile &= ~(HUSK__ENGINE_ASYNC | HUSK__ENGINE_HALF_STEPS);
    const int size = *tile >= 128 ? 0 : *tile >= 64 ? 1 : 2;
    return is_async ? engine->async_share[size] : engine->share[size];
}

void husk__engine_options(const husk__engine *engine, husk__product product, int32_t tile, husk__text *options)
{
    const int32_t steps = products[product].steps / (tile & HUSK__ENGINE_HALF_STEPS ? 2 : 1);
    const int32_t *share = share_of(engine, &tile);
    husk__engine_product_options(engine, product, options);
    husk__text_format(options, " -DLANES=%d -DBLOCK_M=%d -DBLOCK_N=%d -DBLOCK_K=%d -DSUBGROUP_M=%d -DSUBGROUP_N=%d",
                      (int)engine->lanes, (int)tile, (int)tile, (int)steps, (int)share[0], (int)share[1]);
}

int64_t husk__engine_items(const husk__engine *engine, int32_t tile)
{
    const int32_t *share = share_of(engine, &tile);
    return (int64_t)engine->lanes * (tile / share[0]) * (tile / share[1]);
}

int32_t husk__engine_steps(husk__product product)
{
    return products[product].steps;
}

bool husk__product_is_of_bytes(husk__product product)
{
    return product == HUSK__PRODUCT_I8 || product == HUSK__PRODUCT_U8;
}

const char *husk__product_name(husk__product product)
{
    return products[product].name;
}

double husk__engine_tile_cycles(const husk__engine *engine, const husk_machine_rates *rates)
{
    // By the manual a product of two of AMX's tiles takes 16 cycles; a tile is 16 vectors, by 16 elements of the other.
    static const double TILE = 16.0, VECTORS = 256.0;
    static const double EFFICIENCY = 0.8; // beside the loads
    const double cycles = engine->dots_per_fma > 0.0 ? VECTORS / (rates->fma_per_cycle * engine->dots_per_fma) : TILE;
    return cycles / EFFICIENCY;
}

double husk__engine_error_factor(const husk__engine *engine, husk__product product, int64_t k)
{
    enum { LEAST_STEPS = 4, EPILOGUE = 4, SPLITS = 16 };
    const double terms = (double)k * products[product].terms;
    if (husk__product_is_of_bytes(product))
        return 0.0;
    const double sums =
        engine->is_soft ? EPILOGUE + 2.0 * sqrt(terms) : 2.0 * (terms + terms / LEAST_STEPS) + EPILOGUE + SPLITS;
    return products[product].splitting + sums;
}

// ---- which may be used ----

bool husk__engine_is_listed(const char *list, const char *name)
{
    while (*list) {
        const size_t length = strcspn(list, ",");
        if (length > 0 && strncmp(list, name, length) == 0 && (name[length] == 0 || name[length] == '_'))
            return true;
        list += length + (list[length] == ',');
    }
    return false;
}

bool husk__engine_is_allowed(const husk__engine *engine)
{
    const char *list = husk__environment("HUSK_ENGINES");
    return list ? husk__engine_is_listed(list, engine->name) : !engine->is_soft;
}

size_t husk__engine_products(husk_dtype dtype, husk_precision precision, husk__product wanted[HUSK__ENGINE_WANTED])
{
    size_t count = 0;
    if (dtype == HUSK_F16)
        wanted[count++] = HUSK__PRODUCT_F16;
    if (dtype == HUSK_BF16)
        wanted[count++] = HUSK__PRODUCT_BF16;
    if (dtype == HUSK_I8)
        wanted[count++] = HUSK__PRODUCT_I8;
    if (dtype == HUSK_U8)
        wanted[count++] = HUSK__PRODUCT_U8;
    if (dtype != HUSK_F32)
        return count;
    if (precision == HUSK_PRECISION_HIGH) {
        wanted[count++] = HUSK__PRODUCT_TF32X3;
        wanted[count++] = HUSK__PRODUCT_BF16X3;
    } else if (precision == HUSK_PRECISION_MEDIUM) {
        wanted[count++] = HUSK__PRODUCT_TF32X1;
        wanted[count++] = HUSK__PRODUCT_BF16X1;
    }
    wanted[count++] = HUSK__PRODUCT_F32;
    return count;
}

husk__product husk__engine_amx_product(husk_dtype dtype, husk_precision precision)
{
    return dtype == HUSK_BF16                   ? HUSK__PRODUCT_BF16
           : precision == HUSK_PRECISION_MEDIUM ? HUSK__PRODUCT_BF16X1
                                                : HUSK__PRODUCT_BF16X3;
}

bool husk__engine_may_be(const husk__engine *engine, husk__engine_kind kind, husk__product product,
                         const husk_device_traits *traits)
{
    return engine->kind == kind && (engine->products >> product & 1) && engine->claims(traits) &&
           husk__engine_is_allowed(engine);
}

const husk__engine *husk__engine_claimed(husk__engine_kind kind, const husk_device_traits *traits, husk_dtype dtype,
                                         husk_precision precision)
{
    husk__product wanted[HUSK__ENGINE_WANTED];
    const size_t count = husk__engine_products(dtype, precision, wanted);
    for (size_t p = 0; p < count; ++p)
        for (size_t e = 0; e < HUSK__ENGINES; ++e)
            if (husk__engine_may_be(&husk__engines[e], kind, wanted[p], traits))
                return &husk__engines[e];
    return NULL;
}
