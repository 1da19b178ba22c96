// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind timeout=30
// docs/operators.md's table names the operators and the variants that the library has, no more and no fewer. And each
// operator writes its problems as cases.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/plan.h>

#include "os/read_file.h"
#include "select/op.h"
#include "support/main.h"

static char *document;

static void read_document(void)
{
    document = husk__read_file(HUSK_SOURCE_DIR "/docs/operators.md", NULL);
    ck_assert_msg(document != NULL, "docs/operators.md cannot be read");
}

static void free_document(void)
{
    free(document);
}

// The table's row "| op | ... |", without the line's end; NULL where there is none.
static char *find_row(const char *text, const char *op)
{
    char start[64];
    snprintf(start, sizeof start, "\n| %s |", op);
    const char *row = strstr(text, start);
    return row ? strndup(row + 1, strcspn(row + 1, "\n")) : NULL;
}

static const char *last_cell(const char *row)
{
    const char *cell = row;
    for (const char *at = row; *at; ++at)
        if (*at == '|' && at[1])
            cell = at + 1;
    return cell;
}

// Whether the name stands in the last cell between backquotes.
static bool last_cell_names(const char *row, const char *name)
{
    char quoted[80];
    snprintf(quoted, sizeof quoted, "`%s`", name);
    return strstr(last_cell(row), quoted) != NULL;
}

static size_t names_in_last_cell(const char *row)
{
    size_t quotes = 0;
    for (const char *at = last_cell(row); *at; ++at)
        quotes += *at == '`';
    return quotes / 2;
}

// How many variants the row names that another library brings, where this one is built without it.
static size_t names_of_absent_libraries(const char *row, const char *op)
{
    return last_cell_names(row, "clblast") && !test_has_variant(op, "clblast");
}

// The first disagreement between the text's table and the library, or NULL.
static const char *disagreement(const char *text)
{
    static char message[256];
    for (size_t o = 0; husk_op_name(o); ++o) {
        const char *op = husk_op_name(o);
        char *row = find_row(text, op);
        size_t count = 0;
        if (!row)
            return snprintf(message, sizeof message, "no row for %s", op), message;
        for (; husk_op_variant(op, count); ++count)
            if (!last_cell_names(row, husk_op_variant(op, count))) {
                free(row);
                return snprintf(message, sizeof message, "%s: %s is missing", op, husk_op_variant(op, count)), message;
            }
        size_t named = names_in_last_cell(row) - names_of_absent_libraries(row, op);
        free(row);
        if (named != count)
            return snprintf(message, sizeof message, "%s: %zu variants named, %zu there", op, named, count), message;
    }
    return NULL;
}

START_TEST(the_table_is_true)
{
    const char *wrong = disagreement(document);
    ck_assert_msg(wrong == NULL, "docs/operators.md: %s", wrong);
}
END_TEST

// The check must catch a table that has lost a row and one that names a variant too many.
START_TEST(a_false_table_is_caught)
{
    char *lost = strdup(document);
    char *row = strstr(lost, "\n| gemm |");
    ck_assert_ptr_nonnull(row);
    row[3] = 'x';
    ck_assert_ptr_nonnull(disagreement(lost));
    row[3] = 'g';
    ck_assert_ptr_null(disagreement(lost));
    char *quote = strchr(row, '`');
    ck_assert_ptr_nonnull(quote);
    quote[1] = quote[1] == 'z' ? 'y' : 'z';
    ck_assert_ptr_nonnull(disagreement(lost));
    free(lost);
}
END_TEST

START_TEST(each_operator_writes_its_cases)
{
    for (size_t o = 0; husk__ops[o]; ++o)
        ck_assert_msg(husk__ops[o]->write_case != NULL, "%s has no write_case", husk__ops[o]->name);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("operators_table");
    TCase *tests = tcase_create("operators_table");
    tcase_add_checked_fixture(tests, read_document, free_document);
    tcase_add_test(tests, the_table_is_true);
    tcase_add_test(tests, a_false_table_is_caught);
    tcase_add_test(tests, each_operator_writes_its_cases);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
