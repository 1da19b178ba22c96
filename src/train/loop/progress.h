/* SPDX-License-Identifier: MIT */
/*
 * train/loop/progress.h: the text of a line of progress, without the stream and the clock.
 */
#ifndef HUSK_TRAIN_LOOP_PROGRESS_H
#define HUSK_TRAIN_LOOP_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#define HUSK__PROGRESS_LINE 512
#define HUSK__PROGRESS_TIME 32

typedef struct husk__progress_line {
    const char *label, *text;    /* may be NULL */
    uint64_t begun, done, total; /* begun: what was done before `seconds` began */
    double seconds;
    int32_t columns;
} husk__progress_line;

/* "0:07", "1:02:03", "2 d 03 h"; "-:--" for what is not known (negative). */
void husk__progress_time(double seconds, char text[HUSK__PROGRESS_TIME]);
/* Returns the bytes of the line, which is cut to its columns between two characters. */
size_t husk__progress_line_write(const husk__progress_line *line, char text[HUSK__PROGRESS_LINE]);

#endif
