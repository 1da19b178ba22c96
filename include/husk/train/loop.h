/* SPDX-License-Identifier: MIT */
/** @file
 * What surrounds the steps of training: early stopping, progress, a log.
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

/** Options of early stopping. */
typedef struct husk_stopping_params {
    uint32_t size;      /**< sizeof this struct; HUSK_STOPPING_PARAMS() sets it. */
    husk_better better;
    uint64_t patience;  /**< Stop after this many values in a row without a better one; 1 or more, required. */
    double min_delta;   /**< A better value is below best - min_delta, or above best + min_delta; 0 or more. */
} husk_stopping_params;

/** Makes a husk_stopping_params; see husk/export.h. */
#define HUSK_STOPPING_PARAMS(...) HUSK_MAKE(husk_stopping_params, __VA_ARGS__)

/** The state; zeros before the first value. It is plain numbers, as husk_plateau. */
typedef struct husk_stopping {
    double best;
    uint64_t best_step; /**< The step that had the best value. */
    uint64_t waited;    /**< Values in a row that were not better. */
    uint32_t has_best;
    uint32_t is_best;   /**< The last value is the best so far. */
    uint32_t stop;      /**< It is time to stop. */
} husk_stopping;

/** Process the value of a step, or of an epoch: `step` is the caller's number of it. NaN is never better. */
HUSK_API husk_status husk_stopping_step(const husk_stopping_params *params, husk_stopping *stopping, uint64_t step,
                                        double value, husk_error *error);
/** Write the state as a text, as husk_plateau_save() does. */
HUSK_API husk_status husk_stopping_save(const husk_stopping *stopping, char text[HUSK_STATE_TEXT], husk_error *error);
/** Read the state from a text of husk_stopping_save(). */
HUSK_API husk_status husk_stopping_load(const char *text, husk_stopping *stopping, husk_error *error);

/* ---- progress --------------------------------------------------------------------------------------------- */

/**
 * One line that is written again and again to a stream of the caller. The library prints nowhere else.
 *
 *     digits  [##########..........]  50%  15/30  0:12 left  loss 0.0421
 *
 * The remaining time is estimated by the mean time of what this run has done. A failure to write is ignored.
 */
typedef struct husk_progress husk_progress;

/** When the line is written. */
typedef enum husk_progress_mode {
    HUSK_PROGRESS_AUTO = 0,   /**< If the stream is a terminal. */
    HUSK_PROGRESS_ALWAYS = 1,
    HUSK_PROGRESS_NEVER = 2
} husk_progress_mode;

/** Options of the progress line. */
typedef struct husk_progress_params {
    uint32_t size;     /**< sizeof this struct; HUSK_PROGRESS_PARAMS() sets it. */
    husk_progress_mode mode;
    FILE *stream;      /**< For example stderr; NULL: nothing is written. */
    const char *label; /**< The beginning of the line; NULL: nothing. */
    uint64_t total;    /**< Steps, epochs or the like; 1 or more, required. */
    uint64_t done;     /**< Done before, by a run that is resumed. */
    double interval;   /**< The least seconds between two lines, except for the last; 0 means 0.1. */
    int32_t columns;   /**< Longer lines are cut; 0: the terminal's width, or 80. */
} husk_progress_params;

/** Makes a husk_progress_params; see husk/export.h. */
#define HUSK_PROGRESS_PARAMS(...) HUSK_MAKE(husk_progress_params, __VA_ARGS__)

/** Create a progress line. */
HUSK_API husk_status husk_progress_create(const husk_progress_params *params, husk_progress **progress,
                                          husk_error *error);
/**
 * Show how much is done.
 *
 * @param text the end of the line; may be NULL. Control characters become blanks.
 */
HUSK_API void husk_progress_show(husk_progress *progress, uint64_t done, const char *text);
/** End the line, if there is one, and release the object. */
HUSK_API void husk_progress_release(husk_progress *progress);

/* ---- a log ------------------------------------------------------------------------------------------------ */

/**
 * Numbers as text that gnuplot can plot: a line "# step loss rate" with the names of the columns, then a line of as
 * many numbers for each row. Each number has nine digits; NaN is "nan", which gnuplot skips. Each row is in the file
 * when husk_log_write() returns. examples/plot_log.gp plots all columns over the first.
 */
typedef struct husk_log husk_log;

/** What happens to an existing file. */
typedef enum husk_log_mode {
    HUSK_LOG_ANEW = 0,   /**< The file is overwritten. */
    HUSK_LOG_APPEND = 1, /**< Existing rows are kept. The file may be absent. Its columns must be the same. */
    /** Existing rows whose first number is less than resume_at are kept. A run that died some steps after its
     * checkpoint writes the others again. */
    HUSK_LOG_RESUME = 2
} husk_log_mode;

/** Options of a log. */
typedef struct husk_log_params {
    uint32_t size;              /**< sizeof this struct; HUSK_LOG_PARAMS() sets it. */
    const char *const *columns; /**< Printable ASCII without blanks, 1 to 60 characters each. */
    size_t count;               /**< 1 to 64. */
    husk_log_mode mode;
    double resume_at;           /**< RESUME only. */
} husk_log_params;

/** Makes a husk_log_params; see husk/export.h. */
#define HUSK_LOG_PARAMS(...) HUSK_MAKE(husk_log_params, __VA_ARGS__)

/**
 * Open a log.
 *
 * If rows are kept, an incomplete last line, of a process that was killed, is dropped. Any other line that is no row,
 * and a file with other columns, are refused; the error names the line, and the file is not changed.
 */
HUSK_API husk_status husk_log_open(const char *path, const husk_log_params *params, husk_log **log, husk_error *error);
/**
 * Write a row: as many numbers as there are columns.
 *
 * @retval HUSK_IO The row is not in the file, and may be written again. What was written of it is cut off. If that
 *   fails, too, it is cut off before the next row is written, and no row is written until then.
 */
HUSK_API husk_status husk_log_write(husk_log *log, const double *values, husk_error *error);
/** Close the log. */
HUSK_API void husk_log_close(husk_log *log);

HUSK_END_DECLS

#endif
