/* SPDX-License-Identifier: MIT */
/*
 * select/case.h: writing a problem as a case of clbench, such as "conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1", which
 * clbench runs, verifies and compares. What no case can say (strides, offsets) is noted beside it.
 */
#ifndef HUSK_SELECT_CASE_H
#define HUSK_SELECT_CASE_H

#include <husk/context.h>
#include <husk/ops/activation.h>

#include "base/text.h"

typedef struct husk__case {
    husk__text text;  /* the case */
    husk__text notes; /* "x has strides, ...": what it leaves out */
} husk__case;

void husk__case_free(husk__case *c);
void husk__case_begin(husk__case *c, const char *op);

/* " key=value". Those with a usual value, the default of clbench's key, write nothing where the value is that. */
void husk__case_size(husk__case *c, const char *key, int64_t value);
void husk__case_integer(husk__case *c, const char *key, int64_t value, int64_t usual);
void husk__case_real(husk__case *c, const char *key, double value, double usual);
void husk__case_word(husk__case *c, const char *key, const char *value, const char *usual);
/* One number where all are alike, else "1x2x3". */
void husk__case_list(husk__case *c, const char *key, const int64_t *values, int count, int64_t usual);
/* As a list, or as "BEGIN:END" where the two differ. 0 is usual. */
void husk__case_pad(husk__case *c, const char *key, const int64_t *begin, const int64_t *end, int count);

/* Keys that several operators share. */
void husk__case_dtype(husk__case *c, husk_dtype dtype);             /* f32 is usual; notes integers */
void husk__case_precision(husk__case *c, husk_precision precision); /* highest */
void husk__case_act(husk__case *c, husk_act act, float slope);      /* none; LEAKY_RELU's slope is 0.01 in cases */

/*
 * A stored matrix, or a batch of them: " key=" and the distance of its rows where that is larger than a row. Other
 * strides are noted.
 */
void husk__case_matrix(husk__case *c, const char *name, const char *key, const husk_tensor *matrix);

/* " rows=R columns=C": all but the last dimension, and the last. */
void husk__case_rows(husk__case *c, const husk_tensor *tensor);
/* " key=...": what of `whole`'s shape `part` has, which is broadcast to it: full is usual, row, column, scalar. */
void husk__case_broadcast(husk__case *c, const char *key, const husk_tensor *part, const husk_tensor *whole);

/*
 * Images, x and what is made of it: " layout=nhwc" where both have their channels last, and not as well first. Strides
 * that neither layout has are noted.
 */
void husk__case_layout(husk__case *c, const char *x_name, const husk_tensor *x, const char *y_name,
                       const husk_tensor *y);

/* Something that no case can say. */
void husk__case_note(husk__case *c, const char *format, ...) HUSK__PRINTF(2, 3);
/* Notes strides other than those of packed memory. NULL is legal. */
void husk__case_tensor(husk__case *c, const char *name, const husk_tensor *tensor);

#endif
