// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "train/data/parse.h"

enum { LONGEST_WORD = 64, SPECIAL = HUSK_WORD_UNKNOWN + 1, BYTE_VALUES = 256, FIRST_SLOTS = 64 };

typedef struct word {
    char *text; // zero-terminated
    uint64_t bytes, uses;
    int32_t id;
} word;

struct husk_vocabulary {
    bool is_bytes;
    int64_t size;
    word *words;     // by id
    int32_t *sorted; // ids of words by their bytes
    int32_t byte_ids[BYTE_VALUES];
    char byte_texts[BYTE_VALUES][2];
};

// ---- words of a text ----

static bool is_letter(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80;
}

// The next word from *at on, in small letters; its length, 0 at the end.
static size_t next_word(const char **at, const char *end, char out[LONGEST_WORD + 1])
{
    size_t length = 0;
    while (*at < end && !is_letter((unsigned char)**at))
        ++*at;
    for (; *at < end; ++*at) {
        const unsigned char c = (unsigned char)**at;
        const bool is_within = c == '\'' && end - *at > 1 && is_letter((unsigned char)(*at)[1]);
        if (!is_letter(c) && !is_within)
            break;
        if (length < LONGEST_WORD)
            out[length++] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    }
    out[length] = 0;
    return length;
}

// ---- counting ----

typedef struct table {
    word *slots; // capacity of them, a power of two, at most half of them taken
    size_t capacity, count;
} table;

static word *slot_of(const table *all, const char *text, size_t bytes)
{
    size_t at = (size_t)XXH3_64bits(text, bytes) & (all->capacity - 1);
    while (all->slots[at].text && (all->slots[at].bytes != bytes || memcmp(all->slots[at].text, text, bytes) != 0))
        at = (at + 1) & (all->capacity - 1);
    return &all->slots[at];
}

static bool grow(table *all)
{
    const table old = *all;
    all->capacity = old.capacity ? 2 * old.capacity : FIRST_SLOTS;
    all->slots = calloc(all->capacity, sizeof *all->slots);
    if (!all->slots) {
        *all = old;
        return false;
    }
    for (size_t i = 0; i < old.capacity; ++i)
        if (old.slots[i].text)
            *slot_of(all, old.slots[i].text, (size_t)old.slots[i].bytes) = old.slots[i];
    free(old.slots);
    return true;
}

static bool count_word(table *all, const char *text, size_t bytes)
{
    if (2 * all->count >= all->capacity && !grow(all))
        return false;
    word *slot = slot_of(all, text, bytes);
    if (!slot->text) {
        slot->text = strdup(text);
        if (!slot->text)
            return false;
        slot->bytes = bytes;
        all->count++;
    }
    slot->uses++;
    return true;
}

static bool count_words(table *all, const husk_corpus *corpus)
{
    char text[LONGEST_WORD + 1];
    for (int64_t i = 0; i < husk_corpus_count(corpus); ++i) {
        uint64_t bytes;
        const char *at = husk_corpus_get(corpus, i, &bytes, NULL), *end = at + bytes;
        for (size_t length; (length = next_word(&at, end, text));)
            if (!count_word(all, text, length))
                return false;
    }
    return true;
}

// A zero within a text is no letter, so words have none.
static int compare_uses(const void *a, const void *b)
{
    const word *x = a, *y = b;
    if (x->uses != y->uses)
        return x->uses > y->uses ? -1 : 1;
    return strcmp(x->text, y->text);
}

static void free_table(table *all)
{
    for (size_t i = 0; i < all->capacity; ++i)
        free(all->slots[i].text);
    free(all->slots);
}

// ---- making one ----

static const word *sorted_word(const husk_vocabulary *vocabulary, int64_t place)
{
    return &vocabulary->words[vocabulary->sorted[place]];
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(((const word *)a)->text, ((const word *)b)->text);
}

// The first words of the table, which are in the order of their uses, become the vocabulary's.
static bool take_words(husk_vocabulary *vocabulary, table *all, int64_t size)
{
    const int64_t most = (int64_t)all->count < size - SPECIAL ? (int64_t)all->count : size - SPECIAL;
    word *by_text = malloc((size_t)(most ? most : 1) * sizeof *by_text);
    vocabulary->words = calloc((size_t)(most + SPECIAL), sizeof *vocabulary->words);
    vocabulary->sorted = malloc((size_t)(most ? most : 1) * sizeof *vocabulary->sorted);
    if (!by_text || !vocabulary->words || !vocabulary->sorted) {
        free(by_text);
        return false;
    }
    for (int64_t i = 0; i < most; ++i) {
        vocabulary->words[SPECIAL + i] = all->slots[i];
        vocabulary->words[SPECIAL + i].id = (int32_t)(SPECIAL + i);
        all->slots[i].text = NULL;
    }
    vocabulary->size = most + SPECIAL;
    memcpy(by_text, vocabulary->words + SPECIAL, (size_t)most * sizeof *by_text);
    qsort(by_text, (size_t)most, sizeof *by_text, compare_texts);
    for (int64_t i = 0; i < most; ++i)
        vocabulary->sorted[i] = by_text[i].id;
    free(by_text);
    return true;
}

// The most used, size of them at most with the special ones. The table is none afterwards, and is only to be freed.
static bool take_most(husk_vocabulary *vocabulary, table *all, int64_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < all->capacity; ++i) // words move up to the front
        if (all->slots[i].text) {
            const word one = all->slots[i];
            all->slots[i].text = NULL;
            all->slots[count++] = one;
        }
    if (count)
        qsort(all->slots, count, sizeof *all->slots, compare_uses);
    return take_words(vocabulary, all, size);
}

husk_status husk_vocabulary_create_words(const husk_corpus *corpus, int64_t size, husk_vocabulary **vocabulary,
                                         husk_error *error)
{
    const husk__source source = {.call = "husk_vocabulary_create_words", .error = error};
    if (!corpus || !vocabulary)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL", corpus ? "vocabulary" : "corpus");
    *vocabulary = NULL;
    if (size < SPECIAL || size > INT32_MAX)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "size: it is %lld, and has to be 2 to 2^31 - 1",
                                 (long long)size);
    table all = {0};
    husk_vocabulary *made = calloc(1, sizeof *made);
    const bool done = made && count_words(&all, corpus) && take_most(made, &all, size);
    free_table(&all);
    if (!done) {
        husk_vocabulary_release(made);
        return husk__source_fail(&source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for the words");
    }
    *vocabulary = made;
    return HUSK_OK;
}

static bool is_text(const husk_array *text)
{
    return text->dtype == HUSK_U8 && text->rank == 1 && text->data && text->bytes == (uint64_t)text->shape[0];
}

static husk_status make_bytes(const uint8_t *text, uint64_t bytes, husk_vocabulary **vocabulary,
                              const husk__source *source)
{
    husk_vocabulary *made = calloc(1, sizeof *made);
    if (!made || !(made->words = calloc(BYTE_VALUES, sizeof *made->words))) {
        free(made);
        return husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for the vocabulary");
    }
    made->is_bytes = true;
    bool occurs[BYTE_VALUES] = {false};
    for (uint64_t i = 0; i < bytes; ++i)
        occurs[text[i]] = true;
    for (int byte = 0; byte < BYTE_VALUES; ++byte) {
        made->byte_ids[byte] = -1;
        made->byte_texts[byte][0] = (char)byte;
        if (!occurs[byte])
            continue;
        made->byte_ids[byte] = (int32_t)made->size;
        made->words[made->size++] = (word){.text = made->byte_texts[byte], .bytes = 1};
    }
    *vocabulary = made;
    return HUSK_OK;
}

husk_status husk_vocabulary_create_bytes(const husk_array *text, husk_vocabulary **vocabulary, husk_error *error)
{
    const husk__source source = {.call = "husk_vocabulary_create_bytes", .error = error};
    if (!text || !vocabulary)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL", text ? "vocabulary" : "text");
    *vocabulary = NULL;
    if (!is_text(text))
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "text: it is not of u8 and one dimension");
    return make_bytes(text->data, text->bytes, vocabulary, &source);
}

void husk_vocabulary_release(husk_vocabulary *vocabulary)
{
    if (!vocabulary)
        return;
    for (int64_t i = 0; !vocabulary->is_bytes && i < vocabulary->size; ++i)
        free(vocabulary->words[i].text);
    free(vocabulary->words);
    free(vocabulary->sorted);
    free(vocabulary);
}

// ---- keeping one ----

static const char WORDS_HEAD[] = "words\n", BYTES_HEAD[] = "bytes\n";
enum { HEAD = sizeof WORDS_HEAD - 1 };

husk_status husk_vocabulary_save(const husk_vocabulary *vocabulary, husk_array *text, husk_error *error)
{
    const husk__source source = {.call = "husk_vocabulary_save", .error = error};
    if (!vocabulary || !text)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL", vocabulary ? "text" : "vocabulary");
    const int64_t first = vocabulary->is_bytes ? 0 : SPECIAL;
    int64_t bytes = HEAD;
    for (int64_t i = first; i < vocabulary->size; ++i)
        bytes += (int64_t)vocabulary->words[i].bytes + !vocabulary->is_bytes;
    const husk_status status = husk__array_make(text, HUSK_U8, 1, &bytes, &source);
    if (status)
        return status;
    char *to = text->data;
    memcpy(to, vocabulary->is_bytes ? BYTES_HEAD : WORDS_HEAD, HEAD);
    to += HEAD;
    for (int64_t i = first; i < vocabulary->size; ++i) {
        const word *one = &vocabulary->words[i];
        memcpy(to, one->text, (size_t)one->bytes);
        to += one->bytes;
        if (!vocabulary->is_bytes)
            *to++ = '\n';
    }
    return HUSK_OK;
}

// Lines become words of falling uses, so that they keep their order.
static const char *read_lines(table *all, const char *at, const char *end, bool *no_memory)
{
    uint64_t uses = (uint64_t)(end - at);
    char text[LONGEST_WORD + 1];
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t length = stop ? (size_t)(stop - at) : 0;
        if (length < 1 || length > LONGEST_WORD || memchr(at, 0, length))
            return "a line is a word of 1 to 64 bytes, none of them zero";
        memcpy(text, at, length);
        text[length] = 0;
        const size_t known = all->count;
        *no_memory = !count_word(all, text, length);
        if (*no_memory)
            return NULL;
        if (all->count == known)
            return "a word is there twice";
        slot_of(all, text, length)->uses = uses--;
        at = stop + 1;
    }
    return all->count >= INT32_MAX - SPECIAL ? "there are too many words" : NULL;
}

static husk_status load_words(const char *at, const char *end, husk_vocabulary **vocabulary, const husk__source *source)
{
    table all = {0};
    husk_vocabulary *made = calloc(1, sizeof *made);
    bool no_memory = !made;
    const char *rule = made ? read_lines(&all, at, end, &no_memory) : NULL;
    const bool done = !rule && !no_memory && take_most(made, &all, (int64_t)all.count + SPECIAL);
    free_table(&all);
    if (done) {
        *vocabulary = made;
        return HUSK_OK;
    }
    husk_vocabulary_release(made);
    return rule ? husk__source_fail(source, HUSK_INVALID_ARGUMENT, "text: %s", rule)
                : husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for the words");
}

husk_status husk_vocabulary_load(const husk_array *text, husk_vocabulary **vocabulary, husk_error *error)
{
    const husk__source source = {.call = "husk_vocabulary_load", .error = error};
    if (!text || !vocabulary)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL", text ? "vocabulary" : "text");
    *vocabulary = NULL;
    const char *at = text->data;
    const bool is_whole = is_text(text) && text->bytes >= HEAD;
    if (is_whole && memcmp(at, WORDS_HEAD, HEAD) == 0)
        return load_words(at + HEAD, at + text->bytes, vocabulary, &source);
    if (!is_whole || memcmp(at, BYTES_HEAD, HEAD) != 0)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "text: it is not what husk_vocabulary_save makes");
    return make_bytes((const uint8_t *)text->data + HEAD, text->bytes - HEAD, vocabulary, &source);
}

// ---- using one ----

int64_t husk_vocabulary_size(const husk_vocabulary *vocabulary)
{
    return vocabulary ? vocabulary->size : 0;
}

const char *husk_vocabulary_get(const husk_vocabulary *vocabulary, int64_t id, uint64_t *bytes)
{
    const word *found = &vocabulary->words[id];
    if (bytes)
        *bytes = found->bytes;
    return found->text ? found->text : "";
}

int32_t husk_vocabulary_find(const husk_vocabulary *vocabulary, const char *text, uint64_t bytes)
{
    if (vocabulary->is_bytes)
        return bytes == 1 ? vocabulary->byte_ids[(unsigned char)text[0]] : -1;
    int64_t low = 0, high = vocabulary->size - SPECIAL;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const word *one = sorted_word(vocabulary, middle);
        const uint64_t shared = one->bytes < bytes ? one->bytes : bytes;
        int order = memcmp(one->text, text, (size_t)shared);
        if (order == 0)
            order = (one->bytes > bytes) - (one->bytes < bytes);
        if (order == 0)
            return one->id;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return HUSK_WORD_UNKNOWN;
}

static husk_status check_words(const husk_vocabulary *vocabulary, int64_t length, const husk__source *source)
{
    if (!vocabulary || vocabulary->is_bytes)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "vocabulary: it is not one of words");
    if (length < 1 || length > INT32_MAX)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "length: it is %lld", (long long)length);
    return HUSK_OK;
}

static void encode(const husk_vocabulary *vocabulary, const char *text, uint64_t bytes, int64_t length, int32_t *ids)
{
    char one[LONGEST_WORD + 1];
    const char *at = text, *end = text + bytes;
    int64_t count = 0;
    for (size_t size; count < length && (size = next_word(&at, end, one));)
        ids[count++] = husk_vocabulary_find(vocabulary, one, size);
    if (count < length) {
        memmove(ids + (length - count), ids, (size_t)count * sizeof *ids);
        for (int64_t i = 0; i < length - count; ++i)
            ids[i] = HUSK_WORD_PADDING;
    }
}

husk_status husk_vocabulary_encode_words(const husk_vocabulary *vocabulary, const char *text, uint64_t bytes,
                                         int64_t length, int32_t *ids, husk_error *error)
{
    const husk__source source = {.call = "husk_vocabulary_encode_words", .error = error};
    const husk_status status = check_words(vocabulary, length, &source);
    if (status)
        return status;
    if (!ids || (bytes && !text))
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL", ids ? "text" : "ids");
    encode(vocabulary, text, bytes, length, ids);
    return HUSK_OK;
}

husk_status husk_corpus_encode(const husk_corpus *corpus, const husk_vocabulary *vocabulary, int64_t length,
                               husk_array *inputs, husk_array *labels, husk_error *error)
{
    const husk__source source = {.call = "husk_corpus_encode", .error = error};
    if (!corpus || !inputs || !labels)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL",
                                 !corpus   ? "corpus"
                                 : !inputs ? "inputs"
                                           : "labels");
    *inputs = *labels = (husk_array){0};
    const int64_t count = husk_corpus_count(corpus);
    husk_status status = check_words(vocabulary, length, &source);
    if (!status && count > INT64_MAX / 8 / length)
        status = husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "length: the ids' bytes are beyond 63 bits");
    if (!status)
        status = husk__array_make(inputs, HUSK_I32, 2, (int64_t[]){count, length}, &source);
    if (!status)
        status = husk__array_make(labels, HUSK_I32, 1, &count, &source);
    if (status) {
        husk_array_release(inputs);
        return status;
    }
    for (int64_t i = 0; i < count; ++i) {
        uint64_t bytes;
        const char *text = husk_corpus_get(corpus, i, &bytes, (int32_t *)labels->data + i);
        encode(vocabulary, text, bytes, length, (int32_t *)inputs->data + i * length);
    }
    return HUSK_OK;
}

husk_status husk_vocabulary_encode_bytes(const husk_vocabulary *vocabulary, const husk_array *text, husk_array *ids,
                                         husk_error *error)
{
    const husk__source source = {.call = "husk_vocabulary_encode_bytes", .error = error};
    if (!vocabulary || !vocabulary->is_bytes)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "vocabulary: it is not one of bytes");
    if (!text || !ids)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL", text ? "ids" : "text");
    if (!is_text(text))
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "text: it is not of u8 and one dimension");
    const uint8_t *bytes = text->data;
    for (uint64_t i = 0; i < text->bytes; ++i)
        if (vocabulary->byte_ids[bytes[i]] < 0)
            return husk__source_fail(&source, HUSK_INVALID_ARGUMENT,
                                     "text: byte %llu, 0x%02X, is not in the vocabulary", (unsigned long long)i,
                                     bytes[i]);
    const husk_status status = husk__array_make(ids, HUSK_I32, 1, text->shape, &source);
    for (uint64_t i = 0; !status && i < text->bytes; ++i)
        ((int32_t *)ids->data)[i] = vocabulary->byte_ids[bytes[i]];
    return status;
}
