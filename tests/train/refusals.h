/* SPDX-License-Identifier: MIT */
/*
 * train/refusals.h: one line for each rule that is broken once.
 */
#ifndef HUSK_TESTS_REFUSALS_H
#define HUSK_TESTS_REFUSALS_H

#include <stdbool.h>
#include <string.h>

#include <check.h>

#include <husk/train.h>

static inline void test_begins_with(const char *text, const char *words, const char *call, int line)
{
    ck_assert_msg(strncmp(text, words, strlen(words)) == 0, "line %d: %s says \"%s\", not \"%s\"", line, call, text,
                  words);
}

/* A call that gives its text in the husk_error `error`: its status, and what the text begins with. */
#define FAILS_WITH(wanted, call, words)                                                                             \
    do {                                                                                                            \
        memset(&error, 0, sizeof error);                                                                            \
        const husk_status said_ = (call);                                                                           \
        ck_assert_msg(said_ == (wanted) && error.status == said_, "line %d: %s answers %s, its error %s", __LINE__, \
                      #call, husk_status_name(said_), husk_status_name(error.status));                              \
        test_begins_with(error.text, words, #call, __LINE__);                                                       \
    } while (0)
#define FAILS(call, words) FAILS_WITH(HUSK_INVALID_ARGUMENT, call, words)

/* A call of a compiled graph, whose text is husk_graph_error's. */
#define GRAPH_FAILS(graph, call, words)                                                           \
    do {                                                                                          \
        const husk_status said_ = (call);                                                         \
        ck_assert_msg(said_ == HUSK_INVALID_ARGUMENT && husk_graph_error(graph)->status == said_, \
                      "line %d: %s answers %s", __LINE__, #call, husk_status_name(said_));        \
        test_begins_with(husk_graph_error(graph)->text, words, #call, __LINE__);                  \
    } while (0)

/* NULL for an object that would have kept the text. */
#define NOTHING_THERE(call) ck_assert_msg((call) == HUSK_INVALID_ARGUMENT, "line %d: %s", __LINE__, #call)

#endif
