/* SPDX-License-Identifier: MIT */
/*
 * husk/train/data.h: examples from files.
 *
 * Files are not trusted: lengths are compared with the file's before memory is asked for, and what is wrong is refused
 * with a text that names the file and the rule. Failures of the system are IO, broken rules of a file INVALID_ARGUMENT,
 * memory OUT_OF_HOST_MEMORY.
 */
#ifndef HUSK_TRAIN_DATA_H
#define HUSK_TRAIN_DATA_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

/* Elements in host memory, packed, last dimension fastest. */
typedef struct husk_array {
    husk_dtype dtype;
    int32_t rank;
    int64_t shape[HUSK_MAX_RANK];
    uint64_t bytes;
    void *data; /* the array's, by malloc */
} husk_array;

/* Frees the elements and makes it empty. An array of zeros may be released, too, and NULL. */
HUSK_API void husk_array_release(husk_array *array);

/*
 * IDX, the format of MNIST: two zeros, a byte for the type, a byte for the rank, the sizes in 32 bits each, the
 * elements; all big-endian. Types 0x08 (u8), 0x09 (i8), 0x0B (16 bits, which become i32), 0x0C (i32), 0x0D (f32) and
 * 0x0E (f64); at most HUSK_MAX_RANK dimensions; nothing behind the elements. What is allocated is as large as the file,
 * or twice as large for elements of 16 bits.
 */
HUSK_API husk_status husk_idx_read(const char *path, husk_array *array, husk_error *error);

/*
 * CIFAR-10, the binary version: records of a label, 0 to 9, and 3 x 32 x 32 bytes of red, green and blue. The files
 * (data_batch_1.bin ...) one behind the other: images u8 [n, 3, 32, 32], labels u8 [n].
 */
HUSK_API husk_status husk_cifar10_read(const char *const *paths, size_t count, husk_array *images,
                                       husk_array *labels, husk_error *error);

/* ---- texts ---- */

/* A whole file, whatever it holds: u8 [bytes]. */
HUSK_API husk_status husk_text_read(const char *path, husk_array *text, husk_error *error);

/* Texts with labels, 0, 1, 2 ... */
typedef struct husk_corpus husk_corpus;

HUSK_API husk_status husk_corpus_create(husk_corpus **corpus, husk_error *error);
/* The text is copied. label is 0 or more. */
HUSK_API husk_status husk_corpus_add(husk_corpus *corpus, const char *text, uint64_t bytes, int32_t label,
                                     husk_error *error);
/*
 * The files of path/NAME for each of count names, as IMDb's reviews are laid out: label i is that of names[i]. names
 * NULL: all folders in path, by name. Texts are in the order of their labels, then of their files' names. Hidden files
 * and folders below are passed over; a folder without texts is refused.
 */
HUSK_API husk_status husk_corpus_read_folder(const char *path, const char *const *names, size_t count,
                                             husk_corpus **corpus, husk_error *error);
HUSK_API void husk_corpus_release(husk_corpus *corpus);

HUSK_API int64_t husk_corpus_count(const husk_corpus *corpus);
/* The text belongs to the corpus, and ends with a zero that bytes does not count. index is below the count. */
HUSK_API const char *husk_corpus_get(const husk_corpus *corpus, int64_t index, uint64_t *bytes, int32_t *label);
/* One more than the largest label. */
HUSK_API int32_t husk_corpus_classes(const husk_corpus *corpus);

/* Words, or bytes, and their ids, 0 to size - 1. */
typedef struct husk_vocabulary husk_vocabulary;

enum {
    HUSK_WORD_PADDING = 0, /* ids of vocabularies of words that stand for no word */
    HUSK_WORD_UNKNOWN = 1
};

/*
 * The most frequent words of a corpus, behind the two ids above, size of them at most with these; equally frequent
 * ones by their bytes. A word is a run of letters and digits of ASCII, of apostrophes within, and of bytes from 0x80
 * on, which UTF-8 writes all other letters with; capitals of ASCII count as small letters; of a longer one the first
 * 64 bytes.
 */
HUSK_API husk_status husk_vocabulary_create_words(const husk_corpus *corpus, int64_t size,
                                                  husk_vocabulary **vocabulary, husk_error *error);
/* The bytes that occur in a text (u8, rank 1), in their order. */
HUSK_API husk_status husk_vocabulary_create_bytes(const husk_array *text, husk_vocabulary **vocabulary,
                                                  husk_error *error);
HUSK_API void husk_vocabulary_release(husk_vocabulary *vocabulary);

/*
 * A vocabulary as an array, u8 [n], that a checkpoint can hold as a tensor; and from one. "words" and a line for each
 * word, or "bytes", a line's end and the bytes.
 */
HUSK_API husk_status husk_vocabulary_save(const husk_vocabulary *vocabulary, husk_array *text, husk_error *error);
HUSK_API husk_status husk_vocabulary_load(const husk_array *text, husk_vocabulary **vocabulary, husk_error *error);

HUSK_API int64_t husk_vocabulary_size(const husk_vocabulary *vocabulary);
/* The word or byte; "" for padding and unknown. id is below the size. */
HUSK_API const char *husk_vocabulary_get(const husk_vocabulary *vocabulary, int64_t id, uint64_t *bytes);
/* Its id; of what is not there HUSK_WORD_UNKNOWN, or -1 where the vocabulary is of bytes. */
HUSK_API int32_t husk_vocabulary_find(const husk_vocabulary *vocabulary, const char *word, uint64_t bytes);

/*
 * Ids of a corpus' words: inputs i32 [texts, length], labels i32 [texts]. Of longer texts the first length words;
 * before shorter ones stands padding, so that a network that reads on ends with the last word.
 */
HUSK_API husk_status husk_corpus_encode(const husk_corpus *corpus, const husk_vocabulary *vocabulary, int64_t length,
                                        husk_array *inputs, husk_array *labels, husk_error *error);
/* The same for one text. */
HUSK_API husk_status husk_vocabulary_encode_words(const husk_vocabulary *vocabulary, const char *text,
                                                  uint64_t bytes, int64_t length, int32_t *ids, husk_error *error);
/* Ids of a text's bytes: i32 [bytes]. A byte that is not in the vocabulary is refused by its place. */
HUSK_API husk_status husk_vocabulary_encode_bytes(const husk_vocabulary *vocabulary, const husk_array *text,
                                                  husk_array *ids, husk_error *error);

/* ---- examples ---- */

/*
 * Examples: inputs, and labels where there are any, in host memory. It does not change, so threads may share it; parts
 * of one share the elements.
 *
 * Inputs of u8, i8, f32 and f64 are numbers and are handed out as f32; those of i32 and i64 are ids (of words, letters)
 * and stay i32. Labels of integers are handed out as i32, of f32 and f64 as f32.
 */
typedef struct husk_dataset husk_dataset;

typedef struct husk_dataset_params {
    uint32_t size;    /* sizeof this struct: HUSK_DATASET_PARAMS sets it */
    uint32_t numbers; /* not 0: inputs of i32 and i64 are numbers, too */
    int64_t classes;  /* not 0: labels are whole numbers from 0 to classes - 1 */
    int64_t ids;      /* not 0: ids are from 0 to ids - 1 */
} husk_dataset_params;

#define HUSK_DATASET_PARAMS(...) HUSK_MAKE(husk_dataset_params, __VA_ARGS__)

/*
 * The first dimension of inputs and labels is the examples'; labels may be NULL. The dataset takes the elements, and
 * leaves empty arrays; after a failure they are the caller's still. A label or an id that is not in its range is
 * refused by the number of its example.
 */
HUSK_API husk_status husk_dataset_create(husk_array *inputs, husk_array *labels, const husk_dataset_params *params,
                                         husk_dataset **dataset, husk_error *error);
/*
 * Pieces of a text of ids (rank 1, integers), for models that predict what comes next: example i has the ids from i *
 * length on, length of them, as its inputs, and as its labels those one further on. What does not fill a piece at the
 * end is left out. params->classes is not looked at.
 */
HUSK_API husk_status husk_dataset_create_windows(husk_array *text, int64_t length,
                                                 const husk_dataset_params *params, husk_dataset **dataset,
                                                 husk_error *error);
HUSK_API void husk_dataset_release(husk_dataset *dataset);

HUSK_API int64_t husk_dataset_count(const husk_dataset *dataset);
/* dtype and shape of one example as it is handed out, without memory; labels may be NULL. Without labels rank is -1. */
HUSK_API void husk_dataset_describe(const husk_dataset *dataset, husk_tensor *inputs, husk_tensor *labels);

/* Examples first, first + 1 ... of another one, count of them. */
HUSK_API husk_status husk_dataset_part(const husk_dataset *dataset, int64_t first, int64_t count,
                                       husk_dataset **part, husk_error *error);
/*
 * Two parts by chance, the same for the same seed: the first has fraction (0 to 1) of the examples, rounded. Within a
 * part examples are in the order of the whole.
 */
HUSK_API husk_status husk_dataset_split(const husk_dataset *dataset, double fraction, uint64_t seed,
                                        husk_dataset **first, husk_dataset **second, husk_error *error);

/*
 * Mean and standard deviation of inputs that are numbers, times scale, in each of the channels: channels equal parts,
 * one behind the other, of an example. A deviation of 0 is given as 1.
 */
HUSK_API husk_status husk_dataset_statistics(const husk_dataset *dataset, float scale, int32_t channels, float *mean,
                                             float *deviation, husk_error *error);

/* Examples first, first + 1 ... into host memory as they are handed out, not normalised. labels may be NULL. */
HUSK_API husk_status husk_dataset_read(const husk_dataset *dataset, int64_t first, int64_t count, void *inputs,
                                       void *labels, husk_error *error);

/* ---- batches ---- */

/*
 * Batches of a dataset in device memory, one epoch after the other. Each epoch has its own order, which follows from
 * seed and epoch alone. While the device computes with one batch the next ones are on their way, on a queue of the
 * feed's own and through pinned memory. A feed belongs to one thread at a time.
 */
typedef struct husk_feed husk_feed;

/* Zero means the default throughout. */
typedef struct husk_feed_params {
    uint32_t size;          /* sizeof this struct: HUSK_FEED_PARAMS sets it */
    uint32_t in_order;      /* not 0: the dataset's order in every epoch */
    uint32_t keep_partial;  /* not 0: examples that are left at an epoch's end are a smaller batch; else left out */
    uint32_t profiling;     /* not 0: the feed's queue keeps its times (husk_feed_queue) */
    uint64_t seed;
    int64_t batch;          /* examples of a batch; at least 1, and has no default. With keep_partial it may be larger
                               than the dataset, which is one batch then */
    int32_t slots;          /* batches in device memory at once, 2 to 8; default 2 */
    int32_t channels;       /* how many means and deviations; default: no normalising */
    float scale;            /* default 1 */
    const float *mean;      /* default 0 each */
    const float *deviation; /* default 1 each */
    uint32_t flip;          /* not 0: every other image by chance is mirrored, left for right */
    int32_t shift;          /* every image is moved by up to so many pixels up or down, and left or right, by chance */
    int32_t shards, shard;  /* of every batch only the shard-th of shards parts, which are as equal as can be; of a
                               smaller one some may have no example */
} husk_feed_params;

#define HUSK_FEED_PARAMS(...) HUSK_MAKE(husk_feed_params, __VA_ARGS__)

/* The next batch: the batch-th of the epoch. */
typedef struct husk_feed_position {
    uint64_t epoch;
    uint64_t batch;
} husk_feed_position;

typedef struct husk_batch {
    husk_tensor inputs; /* [count, the example's shape] */
    husk_tensor labels; /* rank -1 where the dataset has none */
    int64_t count;
    husk_feed_position position;
    bool is_last; /* of its epoch */
} husk_batch;

/*
 * Numbers become (x * scale - mean) / deviation of their channel, channels equal parts of an example. Images for flip
 * and shift are the last two dimensions of an example's shape; what a shift brings in is 0 before scale. Both follow
 * from seed, epoch and the example, on the host, while a batch is put together.
 */
HUSK_API husk_status husk_feed_create(husk_context *context, const husk_dataset *dataset,
                                      const husk_feed_params *params, husk_feed **feed, husk_error *error);
/* Batches that were handed out are gone with it; work that is enqueued on them still ends. */
HUSK_API void husk_feed_release(husk_feed *feed);

/* Batches of an epoch. */
HUSK_API int64_t husk_feed_batches(const husk_feed *feed);

/*
 * The next batch. What is enqueued on queue from now on finds it there. Its tensors may be used, on this queue, until
 * husk_feed_done or the next call of this, which is refused on another queue: its work says nothing of the batch's use.
 */
HUSK_API husk_status husk_feed_next(husk_feed *feed, husk_queue *queue, husk_batch *batch, husk_error *error);
/*
 * All that uses the batch has been enqueued, and queue is where the last of it will end: the host puts a further batch
 * together while the device computes. husk_feed_next does this where nobody has; a loop that waits for the device in
 * each step wants it before it waits.
 */
HUSK_API husk_status husk_feed_done(husk_feed *feed, husk_queue *queue, husk_error *error);

/* What husk_feed_next gives next; and another place to go on from, to resume where a run was ended. */
HUSK_API husk_feed_position husk_feed_tell(const husk_feed *feed);
HUSK_API husk_status husk_feed_seek(husk_feed *feed, husk_feed_position position, husk_error *error);

/* The queue of the feed's transfers, for its profile. */
HUSK_API husk_queue *husk_feed_queue(const husk_feed *feed);

HUSK_END_DECLS

#endif
