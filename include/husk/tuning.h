/* SPDX-License-Identifier: MIT */
/** @file
 * Measured speeds of variants, and how they decide which variant is chosen.
 *
 * A tuning database says which variant and configuration was the fastest for a problem on a device. `clbench tune`
 * makes one. The library reads databases from HUSK_TUNING or $XDG_DATA_HOME/husk/tuning, and has defaults compiled in.
 * docs/tuning.md describes the format and the rules. A program that has a database of its own loads it with
 * husk_context_load_tuning().
 *
 * A variant is chosen by the first of these that applies:
 *
 * 1. params.variant
 * 2. the environment variable HUSK_VARIANT
 * 3. the tuning databases
 * 4. the prediction of the variants
 */
#ifndef HUSK_TUNING_H
#define HUSK_TUNING_H

#include <husk/plan.h>

HUSK_BEGIN_DECLS

/** What decided a plan's variant. */
typedef enum husk_choice {
    HUSK_CHOICE_PREDICTED = 0,     /**< The variants' own prediction: this one is the cheapest. */
    HUSK_CHOICE_NAMED = 1,         /**< params.variant, or weights that are packed for it. */
    HUSK_CHOICE_ENVIRONMENT = 2,   /**< HUSK_VARIANT. */
    HUSK_CHOICE_TUNED = 3,         /**< A measurement on this device, for this problem. */
    HUSK_CHOICE_TUNED_CLASS = 4,   /**< A measurement on this device, for problems of its shape class. */
    HUSK_CHOICE_FAMILY = 5,        /**< A measurement on a device of the same family, for this problem. */
    HUSK_CHOICE_FAMILY_CLASS = 6   /**< A measurement on a device of the same family, for its shape class. */
} husk_choice;

/** What decided the plan's variant. */
HUSK_API husk_choice husk_plan_choice(const husk_plan *plan);
/** "predicted", "named", "environment", "tuned", "tuned class", "family" or "family class". */
HUSK_API const char *husk_choice_text(husk_choice choice);

/** A tuning database to load. Set either path or text. Zero means the default for every member. */
typedef struct husk_tuning_params {
    uint32_t size;     /**< sizeof this struct; HUSK_TUNING_PARAMS() sets it. */
    const char *path;  /**< A file, or a folder whose *.json are read in the order of their names. */
    const char *text;  /**< A database in memory; it is copied. */
    size_t text_size;  /**< Bytes of text; 0: the text ends with a zero. */
} husk_tuning_params;

/** Makes a husk_tuning_params; see husk/export.h. */
#define HUSK_TUNING_PARAMS(...) HUSK_MAKE(husk_tuning_params, __VA_ARGS__)

/**
 * Load a database into the context. Its entries take precedence over those already loaded; entries for other devices
 * are ignored. The plans of immediate calls are chosen again. Plans that the caller holds do not change.
 *
 * @retval HUSK_INVALID_ARGUMENT A file cannot be read or is no database. Nothing of it is loaded. For the databases
 *   that the library reads on its own this is no error.
 */
HUSK_API husk_status husk_context_load_tuning(husk_context *context, const husk_tuning_params *params,
                                              husk_error *error);

/** What the context has from all databases, also from those that the library reads on its own. */
typedef struct husk_tuning_stats {
    uint64_t entries; /**< Entries read. */
    uint64_t device;  /**< Of these, measured on this device with this driver. */
    uint64_t family;  /**< Of these, measured on another device of its family. */
} husk_tuning_stats;

/** Read the statistics of the tuning databases. */
HUSK_API husk_status husk_context_tuning_stats(husk_context *context, husk_tuning_stats *stats, husk_error *error);

/* ---- for tools that tune ---- */

enum { HUSK_TUNING_TEXT = 256 /**< The size of the texts of a husk_tuning_key, with the terminating zero. */ };

/** The key of an entry of a database. Texts that are too long are cut. The members from `op` on describe a problem, and
 * are empty if the key is that of a device alone; see husk_tuning_key_get() for `kernels`. */
typedef struct husk_tuning_key {
    char device[HUSK_TUNING_TEXT]; /**< The device and, for a CPU, its model. */
    char platform[HUSK_TUNING_TEXT];
    char driver[HUSK_TUNING_TEXT];
    char family[HUSK_TUNING_TEXT]; /**< The device's family. Its entries are the second choice. */
    char path[4096]; /**< The user's database of this device: $XDG_DATA_HOME/husk/tuning/... */
    char op[32];
    char problem[64]; /**< A hash of every option, shape and stride. */
    char shape_class[HUSK_TUNING_TEXT]; /**< The same in round numbers. */
    char kernels[33]; /**< A hash of the operator's kernels. Entries for others are not used. */
    char variant[HUSK_TUNING_TEXT]; /**< "name:configuration", as the plan uses it. */
    husk_choice choice;
} husk_tuning_key;

/**
 * The key of a plan's problem. For an immediate call, pass the plan of husk_queue_plan().
 *
 * @param plan NULL: the key of the device alone, whose `kernels` is one hash of all operators' kernels
 */
HUSK_API husk_status husk_tuning_key_get(husk_context *context, const husk_plan *plan, husk_tuning_key *key,
                                         husk_error *error);

/** A way to compute a problem. The texts belong to the library. */
typedef struct husk_tuning_candidate {
    const char *variant;
    const char *configuration;
    double predicted_ns; /**< For comparison among the variants of one operator. */
    uint64_t workspace; /**< Bytes of scratch memory. */
    bool is_foreign; /**< Written for another class of device. */
} husk_tuning_candidate;

/**
 * The variants and configurations that compute a plan's problem within its workspace limit. Those that are predicted to
 * be fast come first, foreign ones last.
 *
 * @param capacity how many candidates may be written
 * @param count receives how many candidates there are
 */
HUSK_API husk_status husk_tuning_candidates(husk_context *context, const husk_plan *plan,
                                            husk_tuning_candidate *candidates, size_t capacity, size_t *count,
                                            husk_error *error);

HUSK_END_DECLS

#endif
