/* SPDX-License-Identifier: MIT */
/*
 * husk/tuning.h: what was measured about variants, and how it takes part in their choice.
 *
 * A tuning database says which variant and configuration was the fastest for a problem on a device. clbench tune
 * makes it; the library reads it by itself, from HUSK_TUNING or $XDG_DATA_HOME/husk/tuning, and has defaults compiled
 * in. docs/tuning.md has the format and the rules. A program that ships a database of its own loads it here.
 *
 * The order of choice: params.variant, HUSK_VARIANT, the tuning databases, the variants' own prediction.
 */
#ifndef HUSK_TUNING_H
#define HUSK_TUNING_H

#include <husk/plan.h>

HUSK_BEGIN_DECLS

/* Who chose a plan's variant. */
typedef enum husk_choice {
    HUSK_CHOICE_PREDICTED = 0,     /* the cheapest by the variants' own prediction */
    HUSK_CHOICE_NAMED = 1,         /* params.variant, or the weights were packed for it */
    HUSK_CHOICE_ENVIRONMENT = 2,   /* HUSK_VARIANT */
    HUSK_CHOICE_TUNED = 3,         /* measured on this device, for this problem */
    HUSK_CHOICE_TUNED_CLASS = 4,   /* measured on this device, for problems of its shape class */
    HUSK_CHOICE_FAMILY = 5,        /* measured on a device of this one's family, for this problem */
    HUSK_CHOICE_FAMILY_CLASS = 6   /* measured on a device of this one's family, for its shape class */
} husk_choice;

HUSK_API husk_choice husk_plan_choice(const husk_plan *plan);
/* "predicted", "named", "environment", "tuned", "tuned class", "family", "family class". */
HUSK_API const char *husk_choice_text(husk_choice choice);

/* One of path and text is wanted. Zero means the default throughout. */
typedef struct husk_tuning_params {
    uint32_t size;     /* sizeof this struct: HUSK_TUNING_PARAMS sets it */
    const char *path;  /* a file, or a folder whose *.json are read in the order of their names */
    const char *text;  /* a database in memory; it is copied */
    size_t text_size;  /* bytes of text; 0: up to its zero */
} husk_tuning_params;

#define HUSK_TUNING_PARAMS(...) HUSK_MAKE(husk_tuning_params, __VA_ARGS__)

/*
 * Load a database into the context: its entries come before those that were there. The plans of immediate calls are
 * chosen anew; plans that the caller holds stay what they are. Entries for other devices are left out. Here, unlike
 * where the library reads by itself, a file that cannot be read or is none is INVALID_ARGUMENT, and nothing is loaded
 * from it.
 */
HUSK_API husk_status husk_context_load_tuning(husk_context *context, const husk_tuning_params *params,
                                              husk_error *error);

/* What the context has of the databases, the automatic ones included. */
typedef struct husk_tuning_stats {
    uint64_t entries; /* read */
    uint64_t device;  /* ... measured on this device with this driver */
    uint64_t family;  /* ... on another device of its family */
} husk_tuning_stats;

HUSK_API husk_status husk_context_tuning_stats(husk_context *context, husk_tuning_stats *stats, husk_error *error);

/* ---- for those who tune ---- */

enum { HUSK_TUNING_TEXT = 256 };

/* By what an entry is found. Texts are cut to their room. */
typedef struct husk_tuning_key {
    char device[HUSK_TUNING_TEXT]; /* the device, and for a CPU its model */
    char platform[HUSK_TUNING_TEXT];
    char driver[HUSK_TUNING_TEXT];
    char family[HUSK_TUNING_TEXT]; /* of the device: entries of one of the same family are the second choice */
    char path[4096];               /* where the user's database of this device lies: $XDG_DATA_HOME/husk/tuning/... */
    /* The rest is about a problem, and empty where none was asked about. */
    char op[32];
    char problem[64];                   /* every option, shape and stride, as a hash */
    char shape_class[HUSK_TUNING_TEXT]; /* the same in round numbers */
    char kernels[33];                   /* a hash of the operator's kernels: entries for others are not used */
    char variant[HUSK_TUNING_TEXT];     /* "name:configuration", what the plan took */
    husk_choice choice;
} husk_tuning_key;

/*
 * The key of a plan's problem; of an immediate call's by husk_queue_plan. plan NULL: of the device alone, where kernels
 * is one hash of all operators'.
 */
HUSK_API husk_status husk_tuning_key_get(husk_context *context, const husk_plan *plan, husk_tuning_key *key,
                                         husk_error *error);

/* What a problem can be computed with. Texts belong to the library. */
typedef struct husk_tuning_candidate {
    const char *variant;
    const char *configuration;
    double predicted_ns; /* for comparison among an operator's variants */
    uint64_t workspace;
    bool is_foreign;     /* written for another class of device */
} husk_tuning_candidate;

/*
 * The variants and configurations that compute a plan's problem within its workspace limit, those predicted to be fast
 * first, foreign ones last. *count: how many there are in all; up to capacity are written.
 */
HUSK_API husk_status husk_tuning_candidates(husk_context *context, const husk_plan *plan,
                                            husk_tuning_candidate *candidates, size_t capacity, size_t *count,
                                            husk_error *error);

HUSK_END_DECLS

#endif
