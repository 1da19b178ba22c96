// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Rows of tables and class numbers: the reference against golden vectors from PyTorch (support/golden.h).
#include <stdlib.h>

#include "ref/lookup/embedding.h"
#include "ref/lookup/one_hot.h"
#include "support/golden.h"
#include "support/main.h"

struct golden_embedding {
    const char *name;
    husk_embedding_params params;
    golden_array table, indices, y, dy, dtable;
};

static golden_table golden_embedding =
    GOLDEN_TABLE("lookup", "embedding", struct golden_embedding, GOLDEN_EMBEDDING, name, table, indices, y, dy, dtable);

struct golden_one_hot {
    const char *name;
    husk_one_hot_params params;
    golden_array labels, y;
};

static golden_table golden_one_hot =
    GOLDEN_TABLE("lookup", "one_hot", struct golden_one_hot, GOLDEN_ONE_HOT, name, labels, y);

START_TEST(test_embedding)
{
    const struct golden_embedding *golden = golden_case(&golden_embedding, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array table = golden_make(&golden->table, HUSK_F32), y = golden_make_output(&golden->y);
    husk_ref_array indices = golden_make(&golden->indices, _i % 2 != 0 ? HUSK_I64 : HUSK_I32);
    husk_ref_array dy = golden_make(&golden->dy, HUSK_F32), dtable = golden_make_output(&golden->dtable);
    husk_ref_embedding op = {.params = &golden->params, .table = &table, .indices = &indices};
    husk_ref_embedding_backward backward = {
        .params = &golden->params, .indices = &indices, .dy = &dy, .rows = golden->table.shape[0]};
    husk_ref_function function = husk_ref_embedding_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_embedding_run(&op, &y);
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    function = husk_ref_embedding_backward_function(&backward);
    golden_expect_function(golden->name, &function, &golden->dtable);
    husk_ref_embedding_backward_run(&backward, &dtable);
    golden_expect_equal(golden->name, "dtable", &golden->dtable, &dtable);
    free(table.data);
    free(indices.data);
    free(y.data);
    free(dy.data);
    free(dtable.data);
}
END_TEST

START_TEST(test_one_hot)
{
    const struct golden_one_hot *golden = golden_case(&golden_one_hot, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array labels = golden_make(&golden->labels, _i % 2 != 0 ? HUSK_I64 : HUSK_I32);
    husk_ref_array y = golden_make_output(&golden->y);
    husk_ref_one_hot op = {
        .params = &golden->params, .labels = &labels, .classes = golden->y.shape[golden->y.rank - 1]};
    husk_ref_function function = husk_ref_one_hot_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_one_hot_run(&op, &y);
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    free(labels.data);
    free(y.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_tables");
    TCase *cases = tcase_create("golden_tables");
    tcase_add_loop_test(cases, test_embedding, 0, 2 * golden_load(&golden_embedding));
    tcase_add_loop_test(cases, test_one_hot, 0, 2 * golden_load(&golden_one_hot));
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
