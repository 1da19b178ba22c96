/* SPDX-License-Identifier: MIT */
/** @file
 * Examples from files: arrays, texts, vocabularies, data sets, and batches in device memory.
 *
 * Files are not trusted. Lengths are compared with the file's size before memory is allocated. What is wrong is refused
 * with a text that names the file and the rule:
 *
 * | status | reason |
 * | --- | --- |
 * | HUSK_IO | the system failed |
 * | HUSK_INVALID_ARGUMENT | the file breaks a rule |
 * | HUSK_OUT_OF_HOST_MEMORY | memory |
 */
#ifndef HUSK_TRAIN_DATA_H
#define HUSK_TRAIN_DATA_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

/** Elements in host memory, packed, with the last dimension fastest. */
typedef struct husk_array {
    husk_dtype dtype;
    int32_t rank;
    int64_t shape[HUSK_MAX_RANK];
    uint64_t bytes;
    void *data; /**< Owned by the array, from malloc. */
} husk_array;

/** Free the elements and make the array empty. An array of zeros, and NULL, may be released, too. */
HUSK_API void husk_array_release(husk_array *array);

/**
 * Read IDX, the format of MNIST: two zeros, a byte for the type, a byte for the rank, the sizes with 32 bits each, and
 * the elements; all big-endian.
 *
 * | type | elements |
 * | --- | --- |
 * | 0x08 | u8 |
 * | 0x09 | i8 |
 * | 0x0B | 16-bit integers, which become i32 |
 * | 0x0C | i32 |
 * | 0x0D | f32 |
 * | 0x0E | f64 |
 *
 * At most #HUSK_MAX_RANK dimensions are accepted, and nothing after the elements. The memory that is allocated is as
 * large as the file, or twice as large for elements of 16 bits.
 */
HUSK_API husk_status husk_idx_read(const char *path, husk_array *array, husk_error *error);

/**
 * Read CIFAR-10, the binary version: records of a label, 0 to 9, and 3 x 32 x 32 bytes of red, green and blue. The
 * files (data_batch_1.bin and so on) are read one after the other.
 *
 * @param images receives u8 [n, 3, 32, 32]
 * @param labels receives u8 [n]
 */
HUSK_API husk_status husk_cifar10_read(const char *const *paths, size_t count, husk_array *images, husk_array *labels,
                                       husk_error *error);

/* ---- texts ---- */

/** Read a whole file, whatever it contains, as u8 [bytes]. */
HUSK_API husk_status husk_text_read(const char *path, husk_array *text, husk_error *error);

/** Texts with labels: 0, 1, 2 and so on. */
typedef struct husk_corpus husk_corpus;

/** Create an empty corpus. */
HUSK_API husk_status husk_corpus_create(husk_corpus **corpus, husk_error *error);
/** Add a text, which is copied. `label` is 0 or more. */
HUSK_API husk_status husk_corpus_add(husk_corpus *corpus, const char *text, uint64_t bytes, int32_t label,
                                     husk_error *error);
/**
 * Read the files in path/NAME for each name, as IMDb's reviews are laid out. The texts in folder names[i] have label i.
 * They are in the order of their labels, then of their file names. Hidden files and nested folders are skipped. A
 * folder without texts is refused.
 *
 * @param names `count` names; NULL: all folders in path, in the order of their names
 */
HUSK_API husk_status husk_corpus_read_folder(const char *path, const char *const *names, size_t count,
                                             husk_corpus **corpus, husk_error *error);
/** Release the corpus. */
HUSK_API void husk_corpus_release(husk_corpus *corpus);

/** The number of texts. */
HUSK_API int64_t husk_corpus_count(const husk_corpus *corpus);
/**
 * A text and its label. The text belongs to the corpus. It ends with a zero that `bytes` does not count.
 *
 * @param index below the number of texts
 */
HUSK_API const char *husk_corpus_get(const husk_corpus *corpus, int64_t index, uint64_t *bytes, int32_t *label);
/** One more than the largest label. */
HUSK_API int32_t husk_corpus_classes(const husk_corpus *corpus);

/** Words, or bytes, and their ids, 0 to size - 1. */
typedef struct husk_vocabulary husk_vocabulary;

/** Ids of vocabularies of words that stand for no word. */
enum {
    HUSK_WORD_PADDING = 0, /**< Fills short texts. */
    HUSK_WORD_UNKNOWN = 1  /**< A word that is not in the vocabulary. */
};

/**
 * Create a vocabulary of the most frequent words of a corpus. They follow the two ids HUSK_WORD_PADDING and
 * HUSK_WORD_UNKNOWN. Words of equal frequency are ordered by their bytes.
 *
 * A word is a run of
 *
 * - letters and digits of ASCII;
 * - apostrophes inside the word;
 * - bytes from 0x80 on, with which UTF-8 writes all other letters.
 *
 * Capital letters of ASCII count as small letters. Of a longer word the first 64 bytes count.
 *
 * @param size the most ids, including the two
 */
HUSK_API husk_status husk_vocabulary_create_words(const husk_corpus *corpus, int64_t size, husk_vocabulary **vocabulary,
                                                  husk_error *error);
/** Create a vocabulary of the bytes that occur in a text (u8, rank 1), in the order of the bytes. */
HUSK_API husk_status husk_vocabulary_create_bytes(const husk_array *text, husk_vocabulary **vocabulary,
                                                  husk_error *error);
/** Release the vocabulary. */
HUSK_API void husk_vocabulary_release(husk_vocabulary *vocabulary);

/**
 * Write the vocabulary to an array, u8 [n], which a checkpoint can store as a tensor. It contains "words" and a line
 * for each word, or "bytes", the end of the line, and the bytes.
 */
HUSK_API husk_status husk_vocabulary_save(const husk_vocabulary *vocabulary, husk_array *text, husk_error *error);
/** Create a vocabulary from an array of husk_vocabulary_save(). */
HUSK_API husk_status husk_vocabulary_load(const husk_array *text, husk_vocabulary **vocabulary, husk_error *error);

/** The number of ids. */
HUSK_API int64_t husk_vocabulary_size(const husk_vocabulary *vocabulary);
/** The word or byte of an id below the size; "" for padding and unknown. */
HUSK_API const char *husk_vocabulary_get(const husk_vocabulary *vocabulary, int64_t id, uint64_t *bytes);
/** The id of a word or byte. If it is absent: HUSK_WORD_UNKNOWN, or -1 in a vocabulary of bytes. */
HUSK_API int32_t husk_vocabulary_find(const husk_vocabulary *vocabulary, const char *word, uint64_t bytes);

/**
 * The ids of a corpus's words. Of longer texts the first `length` words are used. Shorter ones are padded in front, so
 * that a recurrent network ends with the last word.
 *
 * @param inputs receives i32 [texts, length]
 * @param labels receives i32 [texts]
 */
HUSK_API husk_status husk_corpus_encode(const husk_corpus *corpus, const husk_vocabulary *vocabulary, int64_t length,
                                        husk_array *inputs, husk_array *labels, husk_error *error);
/** The same for one text. */
HUSK_API husk_status husk_vocabulary_encode_words(const husk_vocabulary *vocabulary, const char *text, uint64_t bytes,
                                                  int64_t length, int32_t *ids, husk_error *error);
/**
 * The ids of a text's bytes, i32 [bytes]. A byte that is not in the vocabulary is refused; the error gives its
 * position.
 */
HUSK_API husk_status husk_vocabulary_encode_bytes(const husk_vocabulary *vocabulary, const husk_array *text,
                                                  husk_array *ids, husk_error *error);

/* ---- examples ---- */

/**
 * Examples in host memory: inputs, and labels if there are any. A data set does not change, so threads may share it.
 * Parts of a data set share its elements.
 *
 * | elements | meaning | handed out as |
 * | --- | --- | --- |
 * | inputs of u8, i8, f32, f64 | numbers | f32 |
 * | inputs of i32, i64 | ids of words or letters | i32 |
 * | labels of integers | | i32 |
 * | labels of f32, f64 | | f32 |
 */
typedef struct husk_dataset husk_dataset;

/** Options of a data set. */
typedef struct husk_dataset_params {
    uint32_t size;    /**< sizeof this struct; HUSK_DATASET_PARAMS() sets it. */
    uint32_t numbers; /**< Not 0: inputs of i32 and i64 are numbers, too. */
    int64_t classes;  /**< Not 0: labels are whole numbers from 0 to classes - 1. */
    int64_t ids;      /**< Not 0: ids are from 0 to ids - 1. */
} husk_dataset_params;

/** Makes a husk_dataset_params; see husk/export.h. */
#define HUSK_DATASET_PARAMS(...) HUSK_MAKE(husk_dataset_params, __VA_ARGS__)

/**
 * Create a data set. The first dimension of inputs and labels counts the examples. The data set takes the elements, and
 * leaves empty arrays; after a failure they still belong to the caller. A label or an id out of range is refused; the
 * error gives the number of its example.
 *
 * @param labels may be NULL
 */
HUSK_API husk_status husk_dataset_create(husk_array *inputs, husk_array *labels, const husk_dataset_params *params,
                                         husk_dataset **dataset, husk_error *error);
/**
 * Create a data set of the pieces of a text, for models that predict what comes next. The inputs of example i are
 * `length` ids from i * length on; its labels are the ids one position later. An incomplete piece at the end is left
 * out.
 *
 * @param text ids: rank 1, integers
 * @param params `classes` is ignored
 */
HUSK_API husk_status husk_dataset_create_windows(husk_array *text, int64_t length, const husk_dataset_params *params,
                                                 husk_dataset **dataset, husk_error *error);
/** Release the data set. */
HUSK_API void husk_dataset_release(husk_dataset *dataset);

/** The number of examples. */
HUSK_API int64_t husk_dataset_count(const husk_dataset *dataset);
/**
 * The dtype and shape of one example as it is handed out, without memory.
 *
 * @param labels may be NULL; receives rank -1 if there are no labels
 */
HUSK_API void husk_dataset_describe(const husk_dataset *dataset, husk_tensor *inputs, husk_tensor *labels);

/** Create a data set of `count` examples of another one: first, first + 1 and so on. */
HUSK_API husk_status husk_dataset_part(const husk_dataset *dataset, int64_t first, int64_t count, husk_dataset **part,
                                       husk_error *error);
/**
 * Divide a data set into two random parts, the same for the same seed. Within a part, examples keep their order.
 *
 * @param fraction the share of the examples in the first part, 0 to 1; their number is rounded
 */
HUSK_API husk_status husk_dataset_split(const husk_dataset *dataset, double fraction, uint64_t seed,
                                        husk_dataset **first, husk_dataset **second, husk_error *error);

/**
 * Mean and standard deviation of inputs that are numbers, times scale, in each channel. A deviation of 0 is returned
 * as 1.
 *
 * @param channels the number of channels: equal, consecutive parts of an example
 */
HUSK_API husk_status husk_dataset_statistics(const husk_dataset *dataset, float scale, int32_t channels, float *mean,
                                             float *deviation, husk_error *error);

/** Copy `count` examples from `first` on to host memory, as they are handed out, not normalised. labels may be NULL. */
HUSK_API husk_status husk_dataset_read(const husk_dataset *dataset, int64_t first, int64_t count, void *inputs,
                                       void *labels, husk_error *error);

/* ---- batches ---- */

/**
 * Batches of a data set in device memory, one epoch after the other. Each epoch has its own order, which follows from
 * the seed and the epoch alone. While the device computes with one batch, the next ones are transferred, on a queue of
 * the feed and through pinned memory. A feed belongs to one thread at a time.
 */
typedef struct husk_feed husk_feed;

/** Options of a feed. Zero means the default for every member. */
typedef struct husk_feed_params {
    uint32_t size; /**< sizeof this struct; HUSK_FEED_PARAMS() sets it. */
    uint32_t in_order; /**< Not 0: every epoch has the data set's order. */
    uint32_t keep_partial; /**< Not 0: examples left at an epoch's end are a smaller batch; 0: they are left out. */
    uint32_t profiling; /**< Not 0: the feed's queue records its times; see husk_feed_queue(). */
    uint64_t seed;
    /** Examples in a batch: at least 1, without a default. With keep_partial it may exceed the size of the data set,
     * which is then one batch. */
    int64_t batch;
    int32_t slots; /**< Batches in device memory at once, 2 to 8; default 2. */
    int32_t channels; /**< The number of means and deviations; default: no normalisation. */
    float scale; /**< Default: 1. */
    const float *mean; /**< Default: 0 each. */
    const float *deviation; /**< Default: 1 each. */
    uint32_t flip; /**< Not 0: an image is mirrored left to right with probability 1/2. */
    int32_t shift; /**< Every image is moved at random by up to this many pixels, in both directions. */
    int32_t shards, /**< Every batch is divided into this many parts, as equal as possible; default: 1. */
        shard; /**< The part that is used, below shards. It may be empty in a smaller batch. */
} husk_feed_params;

/** Makes a husk_feed_params; see husk/export.h. */
#define HUSK_FEED_PARAMS(...) HUSK_MAKE(husk_feed_params, __VA_ARGS__)

/** The next batch: its epoch, and its number in the epoch. */
typedef struct husk_feed_position {
    uint64_t epoch;
    uint64_t batch;
} husk_feed_position;

/** A batch in device memory. */
typedef struct husk_batch {
    husk_tensor inputs; /**< [count, the example's shape]. */
    husk_tensor labels; /**< Rank -1 if the data set has none. */
    int64_t count;
    husk_feed_position position;
    bool is_last; /**< Of its epoch. */
} husk_batch;

/**
 * Create a feed.
 *
 * - Numbers become (x * scale - mean) / deviation of their channel. Channels are equal parts of an example.
 * - For flip and shift, images are the last two dimensions of an example's shape. What a shift brings in is 0 before
 *   scale. Both follow from seed, epoch and example, and are computed on the host while a batch is assembled.
 */
HUSK_API husk_status husk_feed_create(husk_context *context, const husk_dataset *dataset,
                                      const husk_feed_params *params, husk_feed **feed, husk_error *error);
/** Release the feed and the batches that it has handed out. Work that is enqueued on them still ends. */
HUSK_API void husk_feed_release(husk_feed *feed);

/** Batches in an epoch. */
HUSK_API int64_t husk_feed_batches(const husk_feed *feed);

/**
 * Get the next batch. Work that is enqueued on `queue` from now on finds it in place. Its tensors may be used, on this
 * queue, until husk_feed_done() or the next husk_feed_next(). The next call is refused on another queue, since the work
 * there does not show when the batch's use ends.
 */
HUSK_API husk_status husk_feed_next(husk_feed *feed, husk_queue *queue, husk_batch *batch, husk_error *error);
/**
 * Tell the feed that all work that uses the batch has been enqueued, and that the last of it will end on `queue`. The
 * host then assembles another batch while the device computes. husk_feed_next() does this if the caller has not. A loop
 * that waits for the device in each step should call it before it waits.
 */
HUSK_API husk_status husk_feed_done(husk_feed *feed, husk_queue *queue, husk_error *error);

/** The position of the batch that husk_feed_next() gives next. */
HUSK_API husk_feed_position husk_feed_tell(const husk_feed *feed);
/** Continue at another position, to resume where a run ended. */
HUSK_API husk_status husk_feed_seek(husk_feed *feed, husk_feed_position position, husk_error *error);

/** The queue of the feed's transfers, for its profile. */
HUSK_API husk_queue *husk_feed_queue(const husk_feed *feed);

HUSK_END_DECLS

#endif
