// SPDX-License-Identifier: MIT
// ctest: timeout=60
// T1 documents: what they come to, which of them are refused by which words, and that nothing in them breaks clbench.
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_place.h"
#include "spec/fill.h"
#include "spec/read.h"
#include "spec/t1.h"

static bench_description description;
static char reason[BENCH_REASON_TEXT];
static bench_point point;

static void parse(const char *text)
{
    bench_description_free(&description);
    if (!bench_t1_parse("d/k.json", text, strlen(text), &description, reason))
        ck_assert(reason[0] && description.count == 0);
}

static void teardown(void)
{
    bench_description_free(&description);
}

// As KTT has them: expressions in strings, arguments with and without names, references.
static const char ktt[] =
    "{\n"
    "  \"ConfigurationSpace\": {\n"
    "    \"TuningParameters\": [\n"
    "      {\"Name\": \"WG\", \"Type\": \"uint\", \"Values\": \"[16, 32, 64]\"},\n"
    "      {\"Name\": \"UNROLL\", \"Type\": \"int\", \"Values\": [0, 1, 2], \"Default\": 1},\n"
    "      {\"Name\": \"PAD\", \"Type\": \"bool\", \"Values\": \"[True, False]\"}\n"
    "    ],\n"
    "    \"Conditions\": [\n"
    "      {\"Parameters\": [\"WG\", \"UNROLL\"], \"Expression\": \"WG < 64 or UNROLL != 2\"},\n"
    "      {\"Parameters\": [\"UNROLL\"], \"Expression\": \"not UNROLL == 1\"}\n"
    "    ]\n"
    "  },\n"
    "  \"Budget\": [{\"Type\": \"TuningDuration\", \"BudgetValue\": 60}],\n"
    "  \"Search\": {\"Name\": \"Random\"},\n"
    "  \"General\": {\"TimeUnit\": \"Microseconds\", \"OutputFormat\": \"JSON\"},\n"
    "  \"KernelSpecification\": {\n"
    "    \"Language\": \"OpenCL\",\n"
    "    \"CompilerOptions\": [\"-cl-fast-relaxed-math\", \"\", \"-DX=\\\"a b\\\"\"],\n"
    "    \"KernelName\": \"vector\",\n"
    "    \"KernelFile\": \"sub folder/vector.cl\",\n"
    "    \"GlobalSize\": {\"X\": \"1024 // (UNROLL + 1)\", \"Y\": 2},\n"
    "    \"LocalSize\": {\"X\": \"WG\"},\n"
    "    \"SharedMemory\": 256,\n"
    "    \"Arguments\": [\n"
    "      {\"Type\": \"float\", \"Size\": 4, \"FillType\": \"Random\", \"FillValue\": 40.0,\n"
    "       \"AccessType\": \"ReadOnly\", \"MemoryType\": \"Vector\"},\n"
    "      {\"Name\": \"let\", \"Type\": \"uint8\", \"Size\": 4, \"FillType\": \"Generator\",\n"
    "       \"DataSource\": \"i*2 if i % 2 == 0 else 7\", \"AccessType\": \"ReadOnly\", \"MemoryType\": \"Vector\"},\n"
    "      {\"Name\": \"n\", \"Type\": \"int32\", \"FillValue\": 4096.0, \"MemoryType\": \"Scalar\"},\n"
    "      {\"Name\": \"v\", \"Type\": \"float4\", \"FillValue\": 0.5, \"MemoryType\": \"Scalar\"},\n"
    "      {\"Name\": \"w\", \"Type\": \"double2\", \"Size\": 5, \"FillValue\": -1000, \"MemoryType\": \"Vector\",\n"
    "       \"MemType\": \"Constant\", \"AccessType\": \"ReadOnly\", \"TypeSize\": 16},\n"
    "      {\"Name\": \"t\", \"Type\": \"half\", \"Size\": \"2*WG\", \"MemoryType\": \"Local\"},\n"
    "      {\"Name\": \"result\", \"Type\": \"float\", \"Size\": 8, \"FillType\": \"Constant\", \"FillValue\": 0.0,\n"
    "       \"AccessType\": \"WriteOnly\", \"MemoryType\": \"Vector\"},\n"
    "      {\"Name\": \"more\", \"Type\": \"int32\", \"Size\": 8, \"FillValue\": 3, \"MemoryType\": \"Vector\"}\n"
    "    ],\n"
    "    \"ReferenceArguments\": [\n"
    "      {\"Name\": \"r\", \"TargetName\": \"result\", \"FillType\": \"Generator\", \"DataSource\": \"2 * i + 3\",\n"
    "       \"ValidationMethod\": \"SideBySideRelativeComparison\", \"ValidationThreshold\": 0.01}\n"
    "    ]\n"
    "  }\n"
    "}\n";

static int64_t whole(const bench_expression *expression)
{
    int64_t value = 0;
    ck_assert_msg(bench_point_integer(&point, expression, &value, reason), "%s", reason);
    return value;
}

static void set_point(const bench_spec *spec, int64_t number)
{
    int64_t config[BENCH_MOST_CONFIGS];
    bench_spec_config(spec, number, config);
    ck_assert_msg(bench_point_set(&point, spec, config, NULL, reason), "%s", reason);
}

START_TEST(as_ktt_has_it)
{
    parse(ktt);
    ck_assert_msg(description.count == 1, "%s", reason);
    const bench_spec *spec = description.specs[0];
    const bench_step *step = &spec->steps[0];
    ck_assert_str_eq(description.folder, "d/");
    ck_assert_str_eq(spec->name, "vector");
    ck_assert_str_eq(step->function, "vector");
    ck_assert_str_eq(spec->file, "sub folder/vector.cl");
    ck_assert_str_eq(spec->options, "-cl-fast-relaxed-math -DX=\"a b\"");
    ck_assert_int_eq(spec->line, 16);
    ck_assert_int_eq(bench_spec_config_count(spec), 18);
    set_point(spec, 0); // WG=16 UNROLL=0 PAD=1
    ck_assert(bench_point_is_allowed(&point, reason));
    ck_assert(step->dimensions == 2 && step->local_dimensions == 2 && !step->is_groups);
    ck_assert(whole(&step->global[0]) == 1024 && whole(&step->global[1]) == 2);
    ck_assert(whole(&step->local[0]) == 16 && whole(&step->local[1]) == 1);
    set_point(spec, 2); // UNROLL=1
    ck_assert(!bench_point_is_allowed(&point, reason) && !reason[0]);
    set_point(spec, 17); // WG=64 UNROLL=2 PAD=0
    ck_assert(!bench_point_is_allowed(&point, reason) && !reason[0]);
    set_point(spec, 11); // WG=32 UNROLL=2 PAD=0
    ck_assert(bench_point_is_allowed(&point, reason));
    ck_assert(whole(&step->global[0]) == 341 && whole(&step->arguments[5].values[0]) == 64);
    char macros[200];
    bench_point_macros(&point, macros, sizeof macros);
    ck_assert_str_eq(macros, " -DWG=32 -DUNROLL=2 -DPAD=0");
    ck_assert_int_eq(step->argument_count, 9); // with SharedMemory's
    ck_assert(step->arguments[8].kind == BENCH_ARGUMENT_LOCAL && whole(&step->arguments[8].values[0]) == 256);
    ck_assert(step->arguments[2].element == BENCH_ELEMENT_INT && whole(&step->arguments[2].values[0]) == 4096);
    ck_assert(step->arguments[3].width == 4 && step->arguments[3].element == BENCH_ELEMENT_FLOAT);
}
END_TEST

START_TEST(its_buffers)
{
    float real[4];
    double pairs[10];
    uint8_t bytes[4];
    parse(ktt);
    ck_assert_msg(description.count == 1, "%s", reason);
    const bench_spec *spec = description.specs[0];
    set_point(spec, 0);
    ck_assert_int_eq(spec->buffer_count, 5);
    ck_assert_str_eq(spec->symbols.items[spec->buffers[0].symbol].name, "arg1"); // has no name
    ck_assert_str_eq(spec->symbols.items[spec->buffers[1].symbol].name, "arg2"); // `let` can be none
    ck_assert(bench_fill(&point, &description, 0, 1, real, reason));
    for (int i = 0; i < 4; i++)
        ck_assert(real[i] >= 0 && real[i] < 40);
    ck_assert(real[0] != real[1]);
    ck_assert(bench_fill(&point, &description, 1, 1, bytes, reason));
    ck_assert(bytes[0] == 0 && bytes[1] == 7 && bytes[2] == 4 && bytes[3] == 7);
    ck_assert(spec->buffers[2].is_constant && spec->buffers[2].access == BENCH_ACCESS_IN);
    ck_assert_int_eq(point.bindings[spec->buffers[2].symbol].count, 10); // five pairs
    ck_assert(bench_fill(&point, &description, 2, 1, pairs, reason) && pairs[9] == -1000);
    ck_assert(spec->buffers[3].access == BENCH_ACCESS_OUT && spec->buffers[3].generator.filling == BENCH_FILL_POISON);
    ck_assert(spec->buffers[4].access == BENCH_ACCESS_INOUT); // the default
    // The reference, and what has none.
    ck_assert(bench_spec_compares(spec) && spec->expectation_count == 2);
    ck_assert(spec->expectations[0].by == BENCH_BY_FORMULA && spec->expectations[0].limit == 0.01);
    ck_assert(spec->expectations[0].tolerance == BENCH_WITHIN_RELATIVE);
    ck_assert(spec->expectations[1].by == BENCH_BY_NOBODY && spec->expectations[1].buffer == 4);
    ck_assert(!spec->expectations[1].any_order);
}
END_TEST

// As Kernel Tuner and its benchmarks have them: ProblemSize and its divisors, sizes in strings.
static const char tuner[] =
    "{\"General\": {\"BenchmarkName\": \"convolution\"},\n"
    " \"ConfigurationSpace\": {\"TuningParameters\": [\n"
    "   {\"Name\": \"filter_width\", \"Type\": \"int\", \"Values\": \"[i for i in range(3,35,2)]\", \"Default\": 17},\n"
    "   {\"Name\": \"block_size_x\", \"Type\": \"int\", \"Values\": \"[16*i for i in range(1,9)]\"},\n"
    "   {\"Name\": \"block_size_y\", \"Type\": \"int\", \"Values\": \"[2**i for i in range(6)]\"},\n"
    "   {\"Name\": \"tile_size_x\", \"Type\": \"int\", \"Values\": \"[1] + [2*i for i in range(1, 3)]\"}],\n"
    "  \"Conditions\": [\n"
    "   {\"Expression\": \"32 <= block_size_x*block_size_y <= 1024\", \"Parameters\": []},\n"
    "   {\"Expression\": \"block_size_x % ((tile_size_x*3)/2) == 0\", \"Parameters\": []}]},\n"
    " \"KernelSpecification\": {\"Language\": \"OpenCL\", \"CompilerOptions\": [], \"BenchmarkName\": \"x\",\n"
    "  \"KernelName\": \"convolution_kernel\", \"KernelFile\": \"convolution.cl\",\n"
    "  \"LocalSize\": {\"X\": \"block_size_x\", \"Y\": \"block_size_y\", \"Z\": \"1\"},\n"
    "  \"GlobalSize\": {\"X\": \"(262144 // block_size_x) // tile_size_x\", \"Y\": \"7\"},\n"
    "  \"GridDivX\": [\"block_size_x\", \"tile_size_x\"], \"GridDivY\": [], \"ProblemSize\": [1000, 64],\n"
    "  \"SharedMemory\": null, \"Stream\": null, \"Misc\": {\"jitify\": true},\n"
    "  \"Arguments\": [\n"
    "   {\"Name\": \"out\", \"Type\": \"float\", \"MemoryType\": \"Vector\", \"AccessType\": \"WriteOnly\",\n"
    "    \"FillType\": \"Constant\", \"Size\": \"ProblemSize[0]*ProblemSize[1]\", \"FillValue\": 0.0, \"Output\": 1},\n"
    "   {\"Name\": \"image\", \"Type\": \"float\", \"MemoryType\": \"Vector\", \"AccessType\": \"ReadOnly\",\n"
    "    \"FillType\": \"Random\", \"Size\": \"(ProblemSize[0]+max(filter_width)-1) * 2\", \"FillValue\": -1.0}]}}\n";

START_TEST(as_kernel_tuner_has_it)
{
    float image[2 * 1032];
    parse(tuner);
    ck_assert_msg(description.count == 1, "%s", reason);
    const bench_spec *spec = description.specs[0];
    const bench_step *step = &spec->steps[0];
    ck_assert_int_eq(spec->configs[0].count, 16);
    ck_assert(spec->configs[2].count == 6 && spec->configs[2].values[5] == 32);
    ck_assert(spec->configs[3].count == 3 && spec->configs[3].values[2] == 4);
    const int64_t config[] = {3, 48, 2, 4};
    ck_assert(bench_point_set(&point, spec, config, NULL, reason));
    ck_assert(bench_point_is_allowed(&point, reason)); // 48 % 6 == 0
    ck_assert(step->is_groups && step->dimensions == 3);
    ck_assert_int_eq(whole(&step->global[0]), 6); // 1000 / (48 * 4), up
    ck_assert_int_eq(whole(&step->global[1]), 32); // 64 / block_size_y
    ck_assert_int_eq(whole(&step->global[2]), 1);
    ck_assert_int_eq(point.bindings[spec->buffers[0].symbol].count, 64000);
    ck_assert_int_eq(point.bindings[spec->buffers[1].symbol].count, 2 * 1032);
    ck_assert(bench_fill(&point, &description, 1, 1, image, reason) && image[0] >= -1 && image[0] < 0);
    ck_assert(!bench_spec_compares(spec));
    // 3/2 divides 48, which 3//2 would have said of 16, too.
    const int64_t thirds[] = {3, 48, 2, 1}, halves[] = {3, 16, 2, 1};
    ck_assert(bench_point_set(&point, spec, thirds, NULL, reason) && bench_point_is_allowed(&point, reason));
    ck_assert(bench_point_set(&point, spec, halves, NULL, reason) && !bench_point_is_allowed(&point, reason));
    // Without divisors GlobalSize is what it says.
    char *text = strdup(tuner), *divisors = text ? strstr(text, "[\"block_size_x\", \"tile_size_x\"]") : NULL;
    ck_assert_ptr_nonnull(divisors);
    memset(divisors + 1, ' ', strlen("\"block_size_x\", \"tile_size_x\""));
    parse(text);
    free(text);
    ck_assert_msg(description.count == 1, "%s", reason);
    step = &description.specs[0]->steps[0];
    ck_assert(bench_point_set(&point, description.specs[0], config, NULL, reason));
    ck_assert(!step->is_groups && whole(&step->global[0]) == 1365 && whole(&step->global[1]) == 7);
}
END_TEST

// Our document with this in place of that.
static void parse_with(const char *that, const char *this)
{
    char text[8000];
    const char *at = strstr(ktt, that);
    ck_assert_msg(at != NULL, "the document lacks %s", that);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - ktt), ktt, this, at + strlen(that));
    parse(text);
}

START_TEST(work_groups)
{
    static const char *const types[] = {"OpenCL", "CUDA", "Vulkan"};
    for (int i = 0; i < 3; i++) {
        char member[80];
        snprintf(member, sizeof member, "\"GlobalSizeType\": \"%s\"", types[i]);
        parse_with("\"SharedMemory\": 256", member);
        ck_assert_msg(description.count == 1, "%s", reason);
        ck_assert(description.specs[0]->steps[0].is_groups == (i > 0));
        ck_assert_int_eq(description.specs[0]->steps[0].argument_count, 8);
    }
}
END_TEST

// ---- refusals ----

// The message's line, member and words.
static void refuse(const char *that, const char *this, const char *words)
{
    parse_with(that, this);
    ck_assert_msg(description.count == 0, "%s is read", this);
    ck_assert_msg(strstr(reason, words) != NULL, "%s: '%s' lacks '%s'", this, reason, words);
    ck_assert_msg(!strncmp(reason, "d/k.json:", 9), "%s: '%s' names no place", this, reason);
}

START_TEST(what_is_refused)
{
#define S "KernelSpecification"
#define P "ConfigurationSpace.TuningParameters"
    static const struct {
        const char *that, *this, *words;
    } cases[] = {
        {"\"OpenCL\"", "\"CUDA\"", "d/k.json:17: " S ".Language: CUDA: clbench runs kernels in OpenCL"},
        {"\"OpenCL\"", "3", S ".Language: a string is wanted"},
        {"\"Language\"", "\"Langauge\"", "it has a member Langauge; the nearest that T1 knows is Language"},
        {"\"Language\"", "\"Tongue\"", S ".Language: it is missing"},
        {"\"vector\"", "\"vec<float>\"", S ".KernelName: vec<float> is no name of a kernel"},
        {"\"vector\"", "\"v file=x\"", S ".KernelName: v file=x is no name"},
        {"vector.cl", "vec\\ntor.cl", S ".KernelFile: it has control characters"},
        {"\"\", ", "7, ", S ".CompilerOptions[1]: a string is wanted"},
        {"[\"-cl-fast-relaxed-math\", \"\", \"-DX=\\\"a b\\\"\"]", "\"-w\"", S ".CompilerOptions: an array"},
        {"\"SharedMemory\": 256", "\"KernelTypeNames\": [\"float\"]", S ".KernelTypeNames: OpenCL C has no templates"},
        {"\"SharedMemory\": 256", "\"SharedMemory\": \"many\"", S ".SharedMemory: nothing is called many"},
        {"\"SharedMemory\": 256", "\"SharedMemory\": 0.5", S ".SharedMemory: this is a whole number"},
        {"\"SharedMemory\": 256", "\"GridDivX\": [\"WG\"]", S ".ProblemSize: GridDivX and the like divide it"},
        {"\"SharedMemory\": 256", "\"GridDivX\": [\"ABC\"], \"ProblemSize\": 9",
         S ".GridDivX[0]: nothing is called ABC"},
        {"\"SharedMemory\": 256", "\"GlobalSizeType\": \"HIP\"", S ".GlobalSizeType: HIP: OpenCL (work-items)"},
        {"1024 // (UNROLL + 1)", "1024 / UNROLL", "d/k.json:21: " S ".GlobalSize.X: this is a whole number"},
        {"1024 // (UNROLL + 1)", "1024 //", S ".GlobalSize.X: character 8: a number or a name is wanted"},
        {"1024 // (UNROLL + 1)", "1024 // QQQ", S ".GlobalSize.X: nothing is called QQQ"},
        {"{\"X\": \"WG\"}", "{\"Y\": \"WG\"}", S ".LocalSize.X: it is missing"},
        {"{\"X\": \"WG\"}", "{\"X\": [1]}", S ".LocalSize.X: a number, or an expression in a string, is wanted"},
        {"{\"X\": \"WG\"}", "\"WG\"", S ".LocalSize: an object is wanted"},
        // Parameters.
        {"\"WG\", \"Type\": \"uint\"", "\"WG\", \"Type\": \"float\"",
         "d/k.json:4: " P "[0].Type: float: parameters are whole numbers"},
        {"\"WG\", \"Type\": \"uint\"", "\"WG\", \"Type\": \"string\"", P "[0].Type: string: parameters are whole"},
        {"\"WG\", \"Type\": \"uint\"", "\"W=1 V\", \"Type\": \"uint\"", P "[0].Name: 'W=1 V' can be no macro"},
        {"\"WG\", \"Type\": \"uint\"", "\"sum\", \"Type\": \"uint\"", "sum is a word of expressions"},
        {"[16, 32, 64]", "[16, '32']", P "[0].Values: character 6: unexpected character"},
        {"[16, 32, 64]", "[]", P "[0].Values: it has no values"},
        {"\"[16, 32, 64]\"", "16", P "[0].Values: an array, or a list of Python in a string"},
        {"[0, 1, 2]", "[0, 1.5]", P "[1].Values: value 2 is no whole number"},
        {"[0, 1, 2]", "[]", P "[1].Values: it has no values"},
        {"[0, 1, 2]", "[9000000000000000000]", "a value is at most"},
        {"\"Name\": \"PAD\"", "\"Name\": \"WG\"", P "[2]: WG is in use already"},
        {"\"Values\": \"[True", "\"Valeus\": \"[True", "it has a member Valeus; the nearest that T1 knows is Values"},
        {"WG < 64 or UNROLL != 2", "WG in [16]",
         "d/k.json:9: ConfigurationSpace.Conditions[0].Expression: character 4: nothing is wanted here: 'in"},
        {"WG < 64 or UNROLL != 2", "XY < 64", "Conditions[0].Expression: nothing is called XY"},
        {"\"WG < 64 or UNROLL != 2\"", "1", "Conditions[0].Expression: a string is wanted"},
        {"\"Conditions\": [", "\"Constraints\": [", "ConfigurationSpace.Constraints: T1 calls them Conditions"},
        // Arguments.
        {"\"Type\": \"float\", \"Size\": 4,", "\"Type\": \"custom\", \"Size\": 4,",
         "d/k.json:25: " S ".Arguments[0].Type: custom: structs cannot be described"},
        {"\"Type\": \"float\", \"Size\": 4,", "\"Type\": \"bool\", \"Size\": 4,", "[0].Type: bool: OpenCL has no"},
        {"\"Type\": \"float\", \"Size\": 4,", "\"Type\": \"float3\", \"Size\": 4,", "[0].Type: float3: int8 to int64"},
        {"\"Type\": \"float\", \"Size\": 4,", "\"Type\": \"int324\", \"Size\": 4,", "[0].Type: int324: int8 to"},
        {"\"Type\": \"float\", \"Size\": 4,", "\"Type\": \"image2d_t\", \"Size\": 4,", "[0].Type: image2d_t: int8 to"},
        {"\"Type\": \"float\", \"Size\": 4,", "\"Type\": \"float\",", "[0].Size: it is missing"},
        {"\"Type\": \"float\", \"Size\": 4,", "\"Type\": \"float\", \"Size\": \"WG/2\",",
         "[0].Size: this is a whole number"},
        {"\"FillType\": \"Random\"", "\"FillType\": \"Script\"", "[0].FillType: Script: scripts are not run"},
        {"\"FillType\": \"Random\"", "\"FillType\": \"BinaryRaw\"", "[0].FillType: BinaryRaw: files of raw numbers"},
        {"\"FillType\": \"Random\"", "\"FillType\": \"BinaryHDF\"", "[0].FillType: BinaryHDF: files"},
        {"\"FillType\": \"Random\"", "\"FillType\": \"Ones\"", "[0].FillType: Ones: T1 has no such filling"},
        {"40.0", "\"many\"", "[0].FillValue: a number is wanted"},
        {"40.0", "1e300", "[0].FillValue: float holds"},
        {"\"ReadOnly\"", "\"Readonly\"", "[0].AccessType: Readonly: ReadOnly, WriteOnly and ReadWrite are known"},
        {"\"AccessType\": \"ReadOnly\"", "\"Accesstype\": \"ReadOnly\"", "has a member Accesstype; the nearest"},
        {"\"Vector\"}", "\"Symbol\"}", "[0].MemoryType: Symbol: Vector, Scalar and Local are read"},
        {"i*2 if", "i*x if", "d/k.json:28: " S ".Arguments[1].DataSource: nothing is called x"},
        {"i*2 if", "i***2 if", "[1].DataSource: character"},
        {"\"FillValue\": 4096.0", "\"FillValue\": 0.5", "[2].FillValue: int is a whole number"},
        {"\"FillValue\": 4096.0", "\"FillValue\": null", "[2].FillValue: a number, or an expression"},
        {"\"FillValue\": 4096.0, ", "", "[2].FillValue: it is missing"},
        {"\"Name\": \"n\"", "\"Name\": \"WG\"", "[2].Name: WG is in use already"},
        {"\"Name\": \"more\"", "\"Name\": \"result\"", "[7].Name: result is in use already"},
        {"\"MemType\": \"Constant\"", "\"MemType\": \"Texture\"", "[4].MemType: Texture: Global and Constant"},
        {"\"FillValue\": 3,", "\"FillValue\": 3.5,", "[7].FillValue: int has whole numbers"},
        {"\"FillValue\": 3,", "\"FillValue\": 3000000000,", "[7].FillValue: int holds"},
        {"\"FillValue\": 3,", "", "[7].FillValue: it is missing"},
        {"\"Name\": \"PAD\"", "\"Name\": \"i\"", "[1].DataSource: i is the index of the generator"},
        // References.
        {"\"TargetName\": \"result\"", "\"TargetName\": \"resutl\"",
         "d/k.json:39: " S ".ReferenceArguments[0].TargetName: no argument is called resutl"},
        {"\"TargetName\": \"result\"", "\"TargetName\": \"n\"", "[0].DataSource: n is no buffer"},
        {"\"TargetName\": \"result\"", "\"TargetName\": \"w\"", "[0].TargetName: the argument has vectors"},
        {"\"FillType\": \"Generator\", \"DataSource\": \"2", "\"FillType\": \"BinaryRaw\", \"DataSource\": \"2",
         "ReferenceArguments[0].FillType: BinaryRaw: Constant and Generator are read of references"},
        {"SideBySideRelativeComparison", "AbsoluteDifference",
         "ReferenceArguments[0].ValidationMethod: AbsoluteDifference: SideBySideComparison and"},
        {"0.01", "-1", "ReferenceArguments[0].ValidationThreshold: results cannot be off by less than nothing"},
        {"2 * i + 3", "2 * j + 3", "ReferenceArguments[0].DataSource: nothing is called j"},
        // The document itself.
        {"{\n  \"Conf", "{\n  \"Search\": 1,\n  \"Conf", "this is no JSON: duplicate object key"},
        {"\"ConfigurationSpace\"", "\"ConfigurationSpaces\"", "it has a member ConfigurationSpaces; the nearest"},
        {"\"KernelSpecification\"", "\"Kernel\"", "d/k.json:1: KernelSpecification: it is missing"},
        {"\"TuningParameters\": [", "\"TuningParameters\": 1, \"x\": [", "TuningParameters: an array is wanted"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse(cases[i].that, cases[i].this, cases[i].words);
}
END_TEST

// What goes wrong in a run names the document's line, and no column.
START_TEST(when_it_runs)
{
    parse_with("(UNROLL + 1)", "UNROLL");
    ck_assert_msg(description.count == 1, "%s", reason);
    set_point(description.specs[0], 0);
    int64_t value = 0;
    ck_assert(!bench_point_integer(&point, &description.specs[0]->steps[0].global[0], &value, reason));
    ck_assert_str_eq(reason, "d/k.json:21: division by zero");
}
END_TEST

// ---- documents that nobody has meant ----

// Every prefix, and every byte replaced by some others: read or refused, and said.
START_TEST(broken_texts)
{
    static const char others[] = "\"{}[]:,0-e\\ ";
    char *text = strdup(ktt);
    const size_t length = strlen(ktt) - 2; // up to the last brace
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < length; i++) {
        const char kept = text[i];
        text[i] = '\0';
        parse(text);
        ck_assert_int_eq(description.count, 0);
        text[i] = others[i % (sizeof others - 1)];
        parse(text);
        text[i] = kept;
    }
    free(text);
}
END_TEST

static int parsed;

static void parse_dump(const json_t *document)
{
    char *text = json_dumps(document, 0);
    ck_assert_ptr_nonnull(text);
    parse(text);
    parsed++;
    free(text);
}

// Each value of the document replaced by one of every other kind.
static void replace_values(json_t *document, json_t *container)
{
    const char *const others[] = {"null",  "true", "-7",    "1e300", "\"\"",  "\"(\"",
                                  "\"i\"", "[]",   "[[1]]", "{}",    "[null]"};
    const bool is_array = json_is_array(container);
    void *at = json_object_iter(container);
    for (size_t i = 0; is_array ? i < json_array_size(container) : at != NULL; i++) {
        json_t *value = is_array ? json_array_get(container, i) : json_object_iter_value(at);
        json_incref(value);
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            json_t *other = json_loads(others[k], JSON_DECODE_ANY, NULL);
            if (is_array)
                json_array_set_new(container, i, other);
            else
                json_object_iter_set_new(container, at, other);
            parse_dump(document);
        }
        if (is_array)
            json_array_set(container, i, value);
        else
            json_object_iter_set(container, at, value);
        if (json_is_array(value) || json_is_object(value))
            replace_values(document, value);
        json_decref(value);
        at = is_array ? NULL : json_object_iter_next(container, at);
    }
}

START_TEST(other_kinds)
{
    json_t *document = json_loads(ktt, 0, NULL);
    ck_assert_ptr_nonnull(document);
    replace_values(document, document);
    ck_assert_int_gt(parsed, 500);
    parse_dump(document); // it is as it was
    ck_assert_msg(description.count == 1, "%s", reason);
    json_decref(document);
}
END_TEST

// Long ones and deep ones.
START_TEST(large_texts)
{
    enum { LENGTH = 200000 };
    char *text = malloc(LENGTH + 10000);
    ck_assert_ptr_nonnull(text);
    static const char *const places[] = {"WG < 64 or UNROLL != 2", "16, 32, 64", "vector.cl", "1024 // (UNROLL + 1)",
                                         "\"vector\""};
    static const char fillings[] = "(9a-[\" ";
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        for (const char *filling = fillings; *filling; filling++) {
            const char *at = strstr(ktt, places[i]);
            ck_assert_ptr_nonnull(at);
            const size_t before = (size_t)(at - ktt);
            memcpy(text, ktt, before);
            memset(text + before, *filling, LENGTH);
            strcpy(text + before + LENGTH, at + strlen(places[i]));
            parse(text);
            ck_assert_int_eq(description.count, 0);
        }
    }
    free(text);
    json_t *document = json_loads(ktt, 0, NULL);
    for (int i = 0; i < 2000; i++) {
        char name[20];
        snprintf(name, sizeof name, "m%d", i);
        json_object_set_new(document, name, json_null());
    }
    parse_dump(document);
    json_decref(document);
    ck_assert_ptr_nonnull(strstr(reason, "it has more than 1000 members"));
}
END_TEST

START_TEST(lines)
{
    static const char text[] =
        "{\n \"a\": [1,\n  {\"b\\\"\": 2, \"c\": \"]\\\"\",\n   \"d\": {\"e\": 3}},\n 4],\n \"f\": 5}";
    ck_assert_int_eq(bench_json_line(text, ""), 1);
    ck_assert_int_eq(bench_json_line(text, "a"), 2);
    ck_assert_int_eq(bench_json_line(text, "a[1]"), 3);
    ck_assert_int_eq(bench_json_line(text, "a[1].c"), 3);
    ck_assert_int_eq(bench_json_line(text, "a[1].d.e"), 4);
    ck_assert_int_eq(bench_json_line(text, "a[2]"), 5);
    ck_assert_int_eq(bench_json_line(text, "f"), 6);
    ck_assert_int_eq(bench_json_line(text, "a[1].d.x"), 4); // the innermost that is there
    ck_assert_int_eq(bench_json_line(text, "a[7]"), 2);
    ck_assert_int_eq(bench_json_line(text, "x.y"), 1);
    ck_assert_int_eq(bench_json_line("", "x[1]"), 1);
}
END_TEST

// A file is T1 if its first character says so.
START_TEST(files)
{
    char path[] = "/tmp/husk_t1_XXXXXX";
    const int descriptor = mkstemp(path);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    ck_assert_ptr_nonnull(file);
    fprintf(file, "\xef\xbb\xbf \n%s", ktt);
    fclose(file);
    bench_description_free(&description);
    const bool is_read = bench_description_read(path, &description, reason);
    ck_assert_msg(is_read && description.count == 1, "%s", reason);
    bench_description_free(&description);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "kernel k file=k.cl\n arg y global int[1] out\n global 1\n expect y repeatable\n"
                  "kernel l file=k.cl\n arg y global int[1] out\n global 1\n expect y anything\n");
    fclose(file);
    ck_assert_msg(bench_description_read(path, &description, reason), "%s", reason);
    for (int i = 0; i < 2; i++) {
        ck_assert(!bench_spec_compares(description.specs[i]));
        ck_assert(description.specs[i]->expectations[0].any_order == (i == 1));
    }
    bench_description_free(&description);
    remove(path);
    ck_assert(!bench_description_read(path, &description, reason));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("t1");
    TCase *tcase = tcase_create("t1");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_test(tcase, as_ktt_has_it);
    tcase_add_test(tcase, its_buffers);
    tcase_add_test(tcase, as_kernel_tuner_has_it);
    tcase_add_test(tcase, work_groups);
    tcase_add_test(tcase, what_is_refused);
    tcase_add_test(tcase, when_it_runs);
    tcase_add_test(tcase, broken_texts);
    tcase_add_test(tcase, other_kinds);
    tcase_add_test(tcase, large_texts);
    tcase_add_test(tcase, lines);
    tcase_add_test(tcase, files);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
