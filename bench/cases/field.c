// SPDX-License-Identifier: MIT
// The keys that several operators share.
#include "cases/field.h"

const bench_choice bench_flag_choices[] = {{"0", 0}, {"1", 1}, {NULL, 0}};

const bench_choice bench_act_choices[] = {
#define ACT_CHOICE(name, number, text) {text, number},
    HUSK_ACT_LIST(ACT_CHOICE)
#undef ACT_CHOICE
        {NULL, 0},
};

static const bench_choice dtype_choices[] = {
    {"f32", HUSK_F32}, {"f16", HUSK_F16}, {"bf16", HUSK_BF16}, {"f64", HUSK_F64}, {NULL, 0},
};
static const bench_choice precision_choices[] = {
    {"highest", HUSK_PRECISION_HIGHEST},
    {"high", HUSK_PRECISION_HIGH},
    {"medium", HUSK_PRECISION_MEDIUM},
    {NULL, 0},
};
static const bench_choice layout_choices[] = {{"nchw", BENCH_NCHW}, {"nhwc", BENCH_NHWC}, {NULL, 0}};
static const bench_choice dir_choices[] = {
    {"fwd", BENCH_FWD}, {"bwd_data", BENCH_BWD_DATA}, {"bwd_weight", BENCH_BWD_WEIGHT},
    {"bwd", BENCH_BWD}, {"fwd_bwd", BENCH_FWD_BWD},   {NULL, 0},
};

static const struct {
    unsigned bit;
    bench_field field;
} common_fields[] = {
    {BENCH_COMMON_ACT, BENCH_CHOICE("act", act, HUSK_ACT_NONE, bench_act_choices, "activation applied last")},
    {BENCH_COMMON_LAYOUT, BENCH_CHOICE("layout", layout, BENCH_NCHW, layout_choices, "memory order of x and y")},
    {BENCH_COMMON_DTYPE, BENCH_CHOICE("dtype", dtype, HUSK_F32, dtype_choices, "type of every operand")},
    {BENCH_COMMON_PRECISION,
     BENCH_CHOICE("precision", precision, HUSK_PRECISION_HIGHEST, precision_choices, "of f32 products")},
    {BENCH_COMMON_PACKED, BENCH_CHOICE("packed", packed, 0, bench_flag_choices, "1: weights packed beforehand")},
    {BENCH_COMMON_DIR, BENCH_CHOICE("dir", dir, BENCH_FWD, dir_choices, "forward or a backward pass")},
};

const char *bench_direction_text(bench_direction dir)
{
    return (size_t)dir < sizeof dir_choices / sizeof *dir_choices - 1 ? dir_choices[dir].text : "unknown";
}

const bench_field *bench_common_field(unsigned common, size_t index)
{
    size_t i = 0;
    for (size_t k = 0; k < sizeof common_fields / sizeof *common_fields; k++) {
        if ((common & common_fields[k].bit) && i++ == index)
            return &common_fields[k].field;
    }
    return NULL;
}
