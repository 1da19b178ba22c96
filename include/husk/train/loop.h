/* SPDX-License-Identifier: MIT */
/*
 * husk/train/loop.h: what stands around the steps: early stopping, progress, a log.
 *
 *     for (epoch = 0; epoch < epochs && !stopping.stop; epoch++) {
 *         train(...);                                         husk_graph_schedule_rate, husk_graph_step
 *         husk_progress_show(progress, epoch + 1, text);
 *         husk_log_write(log, (double[]){epoch, loss, accuracy}, &error);
 *         husk_stopping_step(&HUSK_STOPPING_PARAMS(.patience = 5), &stopping, epoch, loss, &error);
 *         if (stopping.is_best) ...                           keep a checkpoint
 *     }
 *
 * Rates are in husk/train/rate.h, metrics in husk/train/metrics.h.
 */
#ifndef HUSK_TRAIN_LOOP_H
#define HUSK_TRAIN_LOOP_H

#include <stdio.h>

#include <husk/train/rate.h>

HUSK_BEGIN_DECLS

/* ---- early stopping --------------------------------------------------------------------------------------- */

typedef struct husk_stopping_params {
    uint32_t size;      /* sizeof this struct: HUSK_STOPPING_PARAMS sets it */
    husk_better better;
    uint64_t patience;  /* so many values in a row without a better one, and it stops; 1 or more, required */
    double min_delta;   /* a better one is below best - min_delta, or above best + min_delta; 0 or more */
} husk_stopping_params;

#define HUSK_STOPPING_PARAMS(...) HUSK_MAKE(husk_stopping_params, __VA_ARGS__)

/* Zeros before the first value. Nothing but numbers, as husk_plateau. */
typedef struct husk_stopping {
    double best;
    uint64_t best_step; /* whose value that was */
    uint64_t waited;    /* values in a row that were not better */
    uint32_t has_best;
    uint32_t is_best;   /* the last one is the best so far */
    uint32_t stop;      /* it is time */
} husk_stopping;

/* The value of a step, or of an epoch: the caller's number. NaN is not better than anything. */
HUSK_API husk_status husk_stopping_step(const husk_stopping_params *params, husk_stopping *stopping, uint64_t step,
                                        double value, husk_error *error);
HUSK_API husk_status husk_stopping_save(const husk_stopping *stopping, char text[HUSK_STATE_TEXT], husk_error *error);
HUSK_API husk_status husk_stopping_load(const char *text, husk_stopping *stopping, husk_error *error);

/* ---- progress --------------------------------------------------------------------------------------------- */

/*
 * One line, written over and over, on a stream that the caller gives; the library prints nowhere else.
 *
 *     digits  [##########..........]  50%  15/30  0:12 left  loss 0.0421
 *
 * What is left is estimated by the mean time of what this run has done. A failure to write is no failure of the run,
 * and is passed over.
 */
typedef struct husk_progress husk_progress;

typedef enum husk_progress_mode {
    HUSK_PROGRESS_AUTO = 0,   /* where the stream is a terminal */
    HUSK_PROGRESS_ALWAYS = 1,
    HUSK_PROGRESS_NEVER = 2
} husk_progress_mode;

typedef struct husk_progress_params {
    uint32_t size;     /* sizeof this struct: HUSK_PROGRESS_PARAMS sets it */
    husk_progress_mode mode;
    FILE *stream;      /* stderr, say; NULL: nothing is written */
    const char *label; /* what the line begins with; NULL: nothing */
    uint64_t total;    /* steps, epochs ...; 1 or more, required */
    uint64_t done;     /* before, by a run that is resumed */
    double interval;   /* seconds between two lines at least, but for the last; 0 means 0.1 */
    int32_t columns;   /* what is longer is cut off; 0: the terminal's, or 80 */
} husk_progress_params;

#define HUSK_PROGRESS_PARAMS(...) HUSK_MAKE(husk_progress_params, __VA_ARGS__)

HUSK_API husk_status husk_progress_create(const husk_progress_params *params, husk_progress **progress,
                                          husk_error *error);
/* So much is done. text, which may be NULL, stands at the end; its control characters become blanks. */
HUSK_API void husk_progress_show(husk_progress *progress, uint64_t done, const char *text);
/* Ends the line where there is one. */
HUSK_API void husk_progress_release(husk_progress *progress);

/* ---- a log ------------------------------------------------------------------------------------------------ */

/*
 * Numbers as text, which gnuplot draws: a line "# step loss rate" with the columns' names, and a line of as many
 * numbers for each row, nine digits each (NaN is "nan", which gnuplot leaves out). Each row is in the file when
 * husk_log_write has returned. examples/plot_log.gp draws all columns over the first.
 */
typedef struct husk_log husk_log;

typedef enum husk_log_mode {
    HUSK_LOG_ANEW = 0,   /* the file is written anew */
    HUSK_LOG_APPEND = 1, /* rows that are there already stay. The file may be absent; its columns may not be others */
    HUSK_LOG_RESUME = 2  /* of those the rows whose first number is less than resume_at: a run that died some steps
                            behind its checkpoint comes by the others again */
} husk_log_mode;

typedef struct husk_log_params {
    uint32_t size;              /* sizeof this struct: HUSK_LOG_PARAMS sets it */
    const char *const *columns; /* printable ASCII without blanks, 1 to 60 characters each */
    size_t count;               /* 1 to 64 */
    husk_log_mode mode;
    double resume_at;           /* RESUME alone */
} husk_log_params;

#define HUSK_LOG_PARAMS(...) HUSK_MAKE(husk_log_params, __VA_ARGS__)

/*
 * A last line without its end, of a process that was killed, is dropped where rows stay; another one that is no row,
 * and a file of other columns, are refused by their line, and the file stays as it is.
 */
HUSK_API husk_status husk_log_open(const char *path, const husk_log_params *params, husk_log **log,
                                   husk_error *error);
/*
 * As many numbers as there are columns. After IO the row is not in the file: what was written of it is cut off, or,
 * where that fails, too, before the next row is written; until then no row is. It may be written again.
 */
HUSK_API husk_status husk_log_write(husk_log *log, const double *values, husk_error *error);
HUSK_API void husk_log_close(husk_log *log);

HUSK_END_DECLS

#endif
