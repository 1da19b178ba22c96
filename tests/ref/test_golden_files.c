// SPDX-License-Identifier: MIT
// ctest: timeout=60
// The files of golden vectors (tests/golden): every table has all its cases, and what is not whole is refused.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <husk/husk.h>

#include "support/golden_params.h"
#include "support/golden_table.h"
#include "support/main.h"

// How many cases each table has. They change here when a script in tests/golden makes more.
static const struct known_table {
    const char *family, *name;
    int cases;
} tables[] = {
    // clang-format off
    {"attention", "attention", 13}, {"attention", "rotary", 8},
    {"conv", "conv", 27}, {"conv", "conv_backward", 14}, {"conv", "conv_transpose", 6},
    {"conv", "onnx_conv_transpose", 3},
    {"elementwise", "activation", 11}, {"elementwise", "activation_backward", 36}, {"elementwise", "binary", 91},
    {"elementwise", "dropout", 6}, {"elementwise", "onnx_unary", 18}, {"elementwise", "unary", 38},
    {"elementwise", "where", 8},
    {"gemm", "gemm", 26}, {"gemm", "gemm_backward", 20},
    {"layout", "concat", 5}, {"layout", "copy", 13}, {"layout", "onnx_concat", 3}, {"layout", "onnx_pad", 8},
    {"layout", "pad", 19}, {"layout", "resize", 45},
    {"lookup", "embedding", 7}, {"lookup", "one_hot", 5}, {"lookup", "onnx_one_hot", 1},
    {"loss", "loss", 72}, {"loss", "onnx_loss", 12},
    {"norm", "norm", 25}, {"norm", "onnx_norm", 7},
    {"optimizer", "grad_norm", 8}, {"optimizer", "grad_scale", 5}, {"optimizer", "onnx_optimizer", 3},
    {"optimizer", "optimizer", 14}, {"optimizer", "optimizer_scaled", 4},
    {"pool", "onnx_pool", 9}, {"pool", "pool", 37}, {"pool", "pool_backward", 23},
    {"quantized", "onnx_quantize", 3}, {"quantized", "quantize", 6}, {"quantized", "quantized_conv", 6},
    {"quantized", "quantized_gemm", 6},
    {"rate", "plateau", 4}, {"rate", "rate", 11},
    {"reduce", "onnx_reduce", 46}, {"reduce", "reduce", 108},
    {"rnn", "rnn", 26}, {"rnn", "rnn_backward", 30},
    {"softmax", "onnx_softmax", 8}, {"softmax", "softmax", 16}, {"softmax", "softmax_backward", 14},
    // clang-format on
};

enum { TABLES = sizeof tables / sizeof *tables };

static husk_error error;

static husk_safetensors *open_family(const char *family)
{
    char path[4096];
    husk_safetensors *file = NULL;
    snprintf(path, sizeof path, HUSK_TESTS_DIR "/golden/%s.safetensors", family);
    ck_assert_msg(husk_safetensors_open(path, NULL, &file, &error) == HUSK_OK, "%s", error.text);
    return file;
}

// The number NNN behind "TABLE/", if there is one.
static bool number_in(const char *key, const char *table, int *number)
{
    const size_t length = strlen(table);
    return strncmp(key, table, length) == 0 && sscanf(key + length, "/%3d/", number) == 1;
}

START_TEST(tables_have_all_their_cases)
{
    const struct known_table *table = &tables[_i];
    husk_safetensors *file = open_family(table->family);
    char key[64];
    snprintf(key, sizeof key, "%s/cases", table->name);
    const char *cases = husk_safetensors_metadata(file, key);
    ck_assert_msg(cases != NULL && atoi(cases) == table->cases, "%s is %s, not %d", key, cases ? cases : "missing",
                  table->cases);
    int seen[1000] = {0}, distinct = 0;
    husk_safetensors_entry entry;
    for (size_t i = 0; i < husk_safetensors_count(file); i++) {
        husk_safetensors_get(file, i, &entry);
        int number;
        if (number_in(entry.name, table->name, &number))
            distinct += seen[number]++ == 0;
    }
    ck_assert_int_eq(distinct, table->cases);
    for (int i = 0; i < table->cases; i++)
        ck_assert_msg(seen[i] > 0, "%s has no arrays of case %d", table->name, i);
    husk_safetensors_close(file);
}
END_TEST

static bool is_known(const char *family, const char *key)
{
    for (int i = 0; i < TABLES; i++) {
        const size_t length = strlen(tables[i].name);
        if (strcmp(tables[i].family, family) == 0 && strncmp(key, tables[i].name, length) == 0 && key[length] == '/')
            return true;
    }
    return false;
}

START_TEST(nothing_else_is_in_the_files)
{
    int families = 0, files = 0;
    for (int i = 0; i < TABLES; i++) {
        if (i > 0 && strcmp(tables[i].family, tables[i - 1].family) == 0)
            continue;
        families++;
        husk_safetensors *file = open_family(tables[i].family);
        husk_safetensors_entry entry;
        const char *key, *text;
        for (size_t j = 0; j < husk_safetensors_count(file); j++) {
            husk_safetensors_get(file, j, &entry);
            ck_assert_msg(is_known(tables[i].family, entry.name), "%s is of no table", entry.name);
        }
        for (size_t j = 0; husk_safetensors_metadata_get(file, j, &key, &text); j++)
            ck_assert_msg(is_known(tables[i].family, key), "%s is of no table", key);
        husk_safetensors_close(file);
    }
    DIR *folder = opendir(HUSK_TESTS_DIR "/golden");
    ck_assert_ptr_nonnull(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        files += strstr(entry->d_name, ".safetensors") != NULL;
    closedir(folder);
    ck_assert_int_eq(files, families);
}
END_TEST

// ---- what the reader refuses ----

struct small_case {
    const char *name;
    husk_softmax_params params;
    golden_array x, optional, list[3];
};

static golden_table small = GOLDEN_TABLE("", "t", struct small_case, GOLDEN_SOFTMAX, name, x, optional, list);

static const double numbers[] = {1.5, -0.0, 4.0};

// clang-format off
#define ARRAY(text) {.name = text, .host = numbers, .tensor = {.dtype = HUSK_F64, .rank = 1, .shape = {3}}}
// clang-format on

typedef struct small_file {
    husk_safetensors_item arrays[8];
    husk_safetensors_pair texts[16];
    size_t array_count, text_count;
} small_file;

static const small_file right = {
    {ARRAY("t/000/x"), ARRAY("t/000/list.0"), ARRAY("t/000/list.1"), ARRAY("t/001/x"), ARRAY("t/001/optional")},
    {{"t/cases", "2"},
     {"t/made by", "hand"},
     {"t/000/name", "first"},
     {"t/000/params.axis", "-1"},
     {"t/000/params.log", "1"},
     {"t/000/optional", "none"},
     {"t/000/list", "2"},
     {"t/001/name", "second"},
     {"t/001/list", "0"}},
    5,
    9};

static char path[64];

static bool reads(const small_file *file, char *reason)
{
    ck_assert_msg(husk_safetensors_write(path, NULL, file->arrays, file->array_count, file->texts, file->text_count,
                                         &error) == HUSK_OK,
                  "%s", error.text);
    return golden_read(&small, path, reason);
}

START_TEST(cases_are_as_the_file_says)
{
    char reason[GOLDEN_REASON] = "";
    ck_assert_msg(reads(&right, reason), "%s", reason);
    ck_assert_int_eq(small.count, 2);
    const struct small_case *first = golden_case(&small, 0), *second = golden_case(&small, 1);
    ck_assert_str_eq(first->name, "first");
    ck_assert(first->params.axis == -1 && first->params.log == 1 && second->params.log == 0);
    ck_assert(first->x.rank == 1 && first->x.shape[0] == 3);
    ck_assert_mem_eq(first->x.values, numbers, sizeof numbers);
    ck_assert(first->optional.values == NULL && second->optional.values != NULL);
    ck_assert(first->list[1].values != NULL && first->list[2].values == NULL && second->list[0].values == NULL);
    golden_release(&small);
}
END_TEST

static void refuses(const small_file *file, const char *text)
{
    char reason[GOLDEN_REASON] = "";
    ck_assert_msg(!reads(file, reason), "it is not refused: %s", text);
    ck_assert_msg(strstr(reason, text) != NULL, "\"%s\" is not \"%s\"", reason, text);
}

// One text has another value, or is not there (NULL).
static void refuses_text(const char *key, const char *value, const char *text)
{
    small_file file = right;
    size_t at = 0;
    while (at < file.text_count && strcmp(file.texts[at].key, key) != 0)
        at++;
    file.text_count += at == file.text_count;
    file.texts[at] = value != NULL ? (husk_safetensors_pair){key, value} : file.texts[--file.text_count];
    refuses(&file, text);
}

START_TEST(what_is_not_whole_is_refused)
{
    char reason[GOLDEN_REASON] = "";
    ck_assert(!golden_read(&small, "/nowhere/none.safetensors", reason));
    ck_assert_msg(strstr(reason, "/nowhere/none.safetensors"), "%s", reason);
    for (size_t i = 0; i < right.array_count; i++) {
        small_file file = right;
        file.arrays[i] = file.arrays[--file.array_count];
        refuses(&file, "it is missing");
        file = right;
        file.arrays[i].name = "t/001/unknown";
        refuses(&file, "t/001/unknown: no case has it");
        file = right;
        file.arrays[i].tensor.dtype = HUSK_I64;
        refuses(&file, "it is not of F64");
    }
    static const char *const needed[] = {"t/000/name", "t/000/optional", "t/000/list", "t/001/name", "t/001/list"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        refuses_text(needed[i], NULL, "it is missing");
    static const char *const wrong[] = {"", "0", "-2", "two", "2 2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuses_text("t/cases", wrong[i], "it is no number of cases");
    refuses_text("t/cases", NULL, "it is no number of cases");
    refuses_text("t/cases", "1", "t/001/");
    refuses_text("t/cases", "3", "t/002/name: it is missing");
}
END_TEST

START_TEST(what_is_unknown_is_refused)
{
    refuses_text("t/000/params.unknown", "1", "no case has it");
    refuses_text("t/000/params.axis.0", "1", "no case has it");
    refuses_text("t/name", "1", "no case has it");
    refuses_text("t/000/list.3", "none", "no case has it");
    refuses_text("t/000/x", "none", "it is not of F64, or said to be absent");
    refuses_text("t/000/list", "1", "it is not of F64, or said to be absent");
    refuses_text("t/000/list", "3", "t/000/list: it is missing");
    static const char *const wrong[] = {"", " ", "x", "1.5", "1 ", "1 2", "3000000000", "HUSK_ACT_RELU"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuses_text("t/000/params.axis", wrong[i], "t/000/params.axis: ");
    refuses_text("t/000/params.log", "-1", "t/000/params.log: ");
    refuses_text("t/000/params.log", "HUSK_ACT_NOTHING", "t/000/params.log: ");
    refuses_text("t/000/optional", "0", "t/000/optional: ");
    refuses_text("t/000/list", "4", "t/000/list: ");
}
END_TEST

int main(void)
{
    char folder[] = "/tmp/husk-golden-XXXXXX";
    if (mkdtemp(folder) == NULL)
        return EXIT_FAILURE;
    snprintf(path, sizeof path, "%s/t.safetensors", folder);
    Suite *suite = suite_create("golden_files");
    TCase *cases = tcase_create("golden_files");
    tcase_add_loop_test(cases, tables_have_all_their_cases, 0, TABLES);
    tcase_add_test(cases, nothing_else_is_in_the_files);
    tcase_add_test(cases, cases_are_as_the_file_says);
    tcase_add_test(cases, what_is_not_whole_is_refused);
    tcase_add_test(cases, what_is_unknown_is_refused);
    suite_add_tcase(suite, cases);
    const int status = test_main(suite);
    unlink(path);
    rmdir(folder);
    return status;
}
