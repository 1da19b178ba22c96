// SPDX-License-Identifier: MIT
#define _GNU_SOURCE // REG_RIP
#include "os/amx.h"
#include "os/avx512.h"
#include "support/amx_emulator.h"

#include <stddef.h>
#include <string.h>

#include "support/device.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64 };

// What a thread's tile registers hold.
typedef struct state {
    bool is_configured;
    uint16_t row_bytes[TILES];
    uint8_t rows[TILES];
    unsigned char tile[TILES][ROWS][ROW_BYTES];
} state;

static _Thread_local state tiles;
static atomic_bool is_there;
static atomic_ullong emulated;

// ---- decoding ----

// An instruction of the VEX map 0F 38, with what its ModRM byte says.
enum { NONE, P66, PF3, PF2 };
typedef struct instruction {
    unsigned prefix, opcode;
    unsigned mod, reg, rm, third;
    uint64_t base, index; // of an address: what to begin at, and how far apart rows lie
    size_t length;
} instruction;

static uint64_t register_of(const ucontext_t *context, unsigned number)
{
    static const int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return (uint64_t)context->uc_mcontext.gregs[order[number]];
}

// The address of ModRM at p[4]; false for forms that no tile instruction needs here (RIP-relative).
static bool decode_address(const unsigned char *p, const ucontext_t *context, instruction *it)
{
    const unsigned x = p[1] & 0x40 ? 0 : 8, b = p[1] & 0x20 ? 0 : 8;
    const unsigned char *at = p + 5;
    unsigned base = it->rm;
    bool has_base = true;
    if (it->rm == 4) {
        const unsigned sib = *at++, index = (sib >> 3 & 7) | x;
        base = sib & 7;
        has_base = base != 5 || it->mod != 0;
        it->index = index == 4 ? 0 : register_of(context, index) << (sib >> 6);
    } else if (it->rm == 5 && it->mod == 0) {
        return false;
    }
    it->base = has_base ? register_of(context, base | b) : 0;
    int32_t far = 0;
    if (it->mod == 1) {
        far = (signed char)*at++;
    } else if (it->mod == 2 || !has_base) {
        memcpy(&far, at, sizeof far);
        at += 4;
    }
    it->base += (uint64_t)(int64_t)far;
    it->length = (size_t)(at - p);
    return true;
}

static bool decode(const unsigned char *p, const ucontext_t *context, instruction *it)
{
    // C4: VEX of three bytes; map 2 is 0F 38; W and L are 0.
    if (p[0] != 0xc4 || (p[1] & 0x1f) != 2 || (p[2] & 0x84) != 0)
        return false;
    *it = (instruction){.prefix = p[2] & 3u,
                        .opcode = p[3],
                        .mod = p[4] >> 6u,
                        .reg = p[4] >> 3u & 7u,
                        .rm = p[4] & 7u,
                        .third = ~(unsigned)p[2] >> 3u & 15u,
                        .length = 5};
    return it->mod == 3 || decode_address(p, context, it);
}

// ---- instructions ----

static bool configure(const unsigned char *from)
{
    tiles = (state){0};
    if (from[0] != 1 || from[1] != 0)
        return false;
    for (int t = 0; t < TILES; ++t) {
        memcpy(&tiles.row_bytes[t], from + 16 + 2 * t, 2);
        tiles.rows[t] = from[48 + t];
        if (tiles.row_bytes[t] > ROW_BYTES || tiles.rows[t] > ROWS)
            return false;
    }
    tiles.is_configured = true;
    return true;
}

static void move(const instruction *it, bool loads)
{
    const unsigned t = it->reg;
    if (loads)
        memset(tiles.tile[t], 0, sizeof tiles.tile[t]);
    for (unsigned row = 0; row < tiles.rows[t]; ++row) {
        unsigned char *memory = (unsigned char *)(uintptr_t)(it->base + row * it->index); // NOLINT: an address it is
        if (loads)
            memcpy(tiles.tile[t][row], memory, tiles.row_bytes[t]);
        else
            memcpy(memory, tiles.tile[t][row], tiles.row_bytes[t]);
    }
}

// f32 of bf16's bits; denormals count as zero.
static float number(const unsigned char *p)
{
    uint32_t bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 24;
    float value;
    if ((bits & 0x7f800000u) == 0)
        bits &= 0x80000000u;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float flushed(float value)
{
    return fpclassify(value) == FP_SUBNORMAL ? copysignf(0.0f, value) : value;
}

// Sums, A and B of a product: three different tiles.
static bool are_distinct(const instruction *it)
{
    const unsigned c = it->reg, a = it->rm, b = it->third;
    return c != a && a != b && b != c && c < TILES && a < TILES && b < TILES;
}

static int32_t extended(unsigned char byte, bool is_signed)
{
    return is_signed ? (int32_t)(signed char)byte : (int32_t)byte;
}

// TDPBSSD, TDPBSUD, TDPBUSD, TDPBUUD by prefix: four products of bytes are added to an i32, modulo 2^32; nothing
// saturates.
static bool multiply_bytes(const instruction *it)
{
    const unsigned c = it->reg, a = it->rm, b = it->third;
    const bool a_is_signed = it->prefix == PF2 || it->prefix == PF3;
    const bool b_is_signed = it->prefix == PF2 || it->prefix == P66;
    if (!are_distinct(it))
        return false;
    for (unsigned m = 0; m < tiles.rows[c]; ++m)
        for (unsigned n = 0; n < tiles.row_bytes[c] / 4u; ++n) {
            uint32_t sum;
            memcpy(&sum, tiles.tile[c][m] + 4 * n, 4);
            for (unsigned k = 0; k < tiles.row_bytes[a] / 4u; ++k)
                for (unsigned q = 0; q < 4; ++q)
                    sum += (uint32_t)(extended(tiles.tile[a][m][4 * k + q], a_is_signed) *
                                      extended(tiles.tile[b][k][4 * n + q], b_is_signed));
            memcpy(tiles.tile[c][m] + 4 * n, &sum, 4);
        }
    return true;
}

// TDPBF16PS: even and odd products add up apart, then their sum is added.
static bool multiply(const instruction *it)
{
    const unsigned c = it->reg, a = it->rm, b = it->third;
    if (!are_distinct(it))
        return false;
    for (unsigned m = 0; m < tiles.rows[c]; ++m)
        for (unsigned n = 0; n < tiles.row_bytes[c] / 4u; ++n) {
            float even = 0.0f, odd = 0.0f, sum;
            for (unsigned k = 0; k < tiles.row_bytes[a] / 4u; ++k) {
                const unsigned char *left = tiles.tile[a][m] + 4 * k, *right = tiles.tile[b][k] + 4 * n;
                even = flushed(fmaf(number(left), number(right), even));
                odd = flushed(fmaf(number(left + 2), number(right + 2), odd));
            }
            memcpy(&sum, tiles.tile[c][m] + 4 * n, 4);
            sum = flushed(flushed(sum) + flushed(even + odd));
            memcpy(tiles.tile[c][m] + 4 * n, &sum, 4);
        }
    return true;
}

static bool execute(const instruction *it)
{
    const bool has_address = it->mod != 3;
    if (it->opcode == 0x49 && it->prefix == NONE && has_address) // LDTILECFG
        return configure((const unsigned char *)(uintptr_t)it->base); // NOLINT
    if (it->opcode == 0x49 && it->prefix == NONE && it->reg == 0 && it->rm == 0) { // TILERELEASE
        tiles = (state){0};
        return true;
    }
    if (!tiles.is_configured)
        return false;
    if (it->opcode == 0x49 && it->prefix == PF2 && !has_address) { // TILEZERO
        memset(tiles.tile[it->reg], 0, sizeof tiles.tile[it->reg]);
        return true;
    }
    if (it->opcode == 0x4b && it->prefix != NONE && has_address && it->rm == 4) { // TILELOADD, TILELOADDT1, TILESTORED
        move(it, it->prefix != PF3);
        return true;
    }
    if (has_address)
        return false;
    return it->opcode == 0x5e ? multiply_bytes(it) : it->opcode == 0x5c && it->prefix == PF3 && multiply(it);
}

// ---- the handler ----

static void on_illegal_instruction(int number_of_signal, siginfo_t *information, void *user)
{
    ucontext_t *context = user;
    greg_t *next = &context->uc_mcontext.gregs[REG_RIP];
    instruction it;
    (void)information;
    if (decode((const unsigned char *)(uintptr_t)*next, context, &it) && execute(&it)) { // NOLINT
        atomic_fetch_add(&emulated, 1);
        *next += (greg_t)it.length;
        return;
    }
    signal(number_of_signal, SIG_DFL); // and once more, to die of it
}

static bool cpu_has_it(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1) && (d >> 24 & 3) == 3;
}

// Found in the C library's place by whatever this program loads. LLVM, when it compiles, puts a handler of its own
// before the one above, which is gone with its first signal: a second thread that then meets an instruction dies, and
// files that a third one writes are removed. So nobody takes the place of the one above.
typedef int (*sigaction_fn)(int number, const struct sigaction *action, struct sigaction *old);
__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    static _Atomic(sigaction_fn) real;
    if (!atomic_load(&real)) {
        sigaction_fn found;
        *(void **)&found = dlsym(RTLD_NEXT, "sigaction");
        atomic_store(&real, found);
    }
    const bool is_kept = number == SIGILL && is_there && !cpu_has_it();
    return atomic_load(&real)(number, is_kept ? NULL : action, old);
}

bool test_emulate_amx(void)
{
    const struct sigaction action = {.sa_sigaction = on_illegal_instruction, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (!cpu_has_it() && !is_there && sigaction(SIGILL, &action, NULL) != 0)
        return false;
    is_there = true;
    return true;
}

uint64_t test_amx_emulated(void)
{
    return emulated;
}

bool husk__cpu_has_amx(void)
{
    return is_there;
}

const char *husk__permit_amx(void)
{
    return cpu_has_it() && syscall(SYS_arch_prctl, 0x1023, 18) != 0 ? "no permission for tile data" : NULL;
}

#else
bool test_emulate_amx(void)
{
    return false;
}

uint64_t test_amx_emulated(void)
{
    return 0;
}

bool husk__cpu_has_amx(void)
{
    return false;
}

const char *husk__permit_amx(void)
{
    return "not on this machine";
}
#endif

bool test_engine_is_here(const char *name)
{
    if (strncmp(name, "avx512", 6) == 0)
        return husk__cpu_has_avx512_bf16();
    return strncmp(name, "soft", 4) == 0 || test_emulate_amx();
}

int test_amx_is_wanted(void)
{
    const husk_device_traits *traits = husk_context_traits(test_context());
    if (traits->device_class != HUSK_DEVICE_CPU || !strstr(traits->platform_name, "Portable Computing"))
        return -1;
    return !husk_context_has_quirk(test_context(), HUSK_QUIRK_ASSEMBLY);
}
