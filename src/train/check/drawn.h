/* SPDX-License-Identifier: MIT */
/*
 * train/check/drawn.h: tensors for verification. Inputs are whole numbers that are drawn by their place, so that the
 * host knows each without keeping any; outputs are read image by image, an image being all of one index of the first
 * dimension. Both lie in buffers of their own, between bands that hold NaN.
 */
#ifndef HUSK_TRAIN_CHECK_DRAWN_H
#define HUSK_TRAIN_CHECK_DRAWN_H

#include <stdbool.h>

#include <husk/husk.h>

#define HUSK__DRAWN_RANK 5 /* images, channels, three dimensions of space */

/* What is drawn: sign * 1 ... range, or 0, over a power of two. Zeros throughout: 0. */
typedef struct husk__draw {
    uint32_t stream;   /* another one for every tensor */
    uint32_t range;    /* at most 127, which f16 and bf16 have exactly */
    uint32_t kept;     /* of 2^15: how many are not 0 */
    uint32_t positive; /* not 0: none is negative */
    double scale;      /* what they are divided by */
} husk__draw;

typedef struct husk__drawn {
    bool is_there; /* else the argument is absent */
    husk_buffer *buffer;
    husk_tensor tensor;
    husk__draw draw;
    int64_t shape[HUSK__DRAWN_RANK], strides[HUSK__DRAWN_RANK]; /* dimensions of space are the last ones */
    int64_t extent;                                             /* elements from the first to past the last */
    int64_t image;                                              /* elements of an image */
    bool is_packed;                                             /* an image is, by itself */
    bool by_images;                                             /* images lie one behind the other in memory */
    bool is_whole;                                              /* it has all of the tensor that was read */
    uint64_t before;                                            /* bytes in front of the tensor */
    char *bytes;                                                /* room for what goes to the device and comes back */
    uint64_t room;
} husk__drawn;

/* The numbers of a tensor like this one, which may be NULL: absent. Nothing is allocated. */
void husk__drawn_describe(husk__drawn *drawn, const husk_tensor *like);
void husk__drawn_release(husk__drawn *drawn);

/*
 * Allocate and write. has_numbers: what is drawn, of these images (NULL: of all), and 0 in the others; else NaN.
 * OUT_OF_MEMORY where there is no room. error receives a failure of allocating; others are the queue's.
 */
husk_status husk__drawn_write(husk__drawn *drawn, husk_queue *queue, bool has_numbers, const int64_t *images,
                              int64_t count, husk_error *error);
/* An element of what was drawn. */
double husk__drawn_at(const husk__drawn *drawn, const int64_t index[HUSK__DRAWN_RANK]);
/* An image of it, packed: drawn->image numbers. */
void husk__drawn_image(const husk__drawn *drawn, int64_t image, double *numbers);
/* An image as the device has it. whole: others will be asked for, too. */
husk_status husk__drawn_read(husk__drawn *drawn, husk_queue *queue, int64_t image, bool whole, double *numbers);
/* Whether the bands are as they were. */
husk_status husk__drawn_is_within(husk__drawn *drawn, husk_queue *queue, bool *is_within);

/* One of 2^32 by a number and a place. */
uint32_t husk__drawn_hash(uint32_t stream, uint32_t place);

#endif
