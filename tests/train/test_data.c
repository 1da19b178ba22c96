// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Readers of data: right files, every truncated one, and what lies about its size. No device is opened.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <husk/train/data.h>

#include "support/main.h"

// ---- the largest block that was asked for (--wrap) ----

static size_t largest;

static size_t note(size_t size)
{
    largest = size > largest ? size : largest;
    return size;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return __real_malloc(note(size));
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    return __real_realloc(old, note(size));
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    note(count * size);
    return __real_calloc(count, size);
}

// ---- a folder that cannot be read to its end (--wrap) ----

static int entries_left = -1; // of a folder, until it fails; below 0: it does not

struct dirent *__real_readdir(DIR *from);
struct dirent *__wrap_readdir(DIR *from);
struct dirent *__wrap_readdir(DIR *from)
{
    if (entries_left < 0 || entries_left-- > 0)
        return __real_readdir(from);
    errno = EIO;
    entries_left = -1;
    return NULL;
}

// ---- files ----

static char folder[100], path[160];
static husk_error error;
static husk_array array;

static void setup(void)
{
    strcpy(folder, "/tmp/husk-data-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
}

static void teardown(void)
{
    char command[200];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void put(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

static void expect_text(husk_status status, husk_status wanted, const char *words)
{
    ck_assert_msg(status == wanted, "%s: status %d: %s", words, status, error.text);
    ck_assert_msg(strstr(error.text, path) && strstr(error.text, words), "\"%s\" is not in: %s", words, error.text);
}

// Refused with these words, and nothing larger was allocated than the file and little beside it.
static void expect_idx_refused(const void *bytes, size_t size, const char *words)
{
    put(bytes, size);
    largest = 0;
    array.data = &array;
    expect_text(husk_idx_read(path, &array, &error), HUSK_INVALID_ARGUMENT, words);
    ck_assert_ptr_null(array.data);
    ck_assert_uint_le(largest, size + 4096);
}

// ---- IDX ----

#define BYTES(text) text, sizeof text - 1

static void read_idx(const void *bytes, size_t size, husk_dtype dtype, int32_t rank, const int64_t *shape)
{
    put(bytes, size);
    ck_assert_msg(husk_idx_read(path, &array, &error) == HUSK_OK, "%s", error.text);
    ck_assert_int_eq(array.dtype, dtype);
    ck_assert_int_eq(array.rank, rank);
    for (int32_t i = 0; i < rank; ++i)
        ck_assert_int_eq(array.shape[i], shape[i]);
}

START_TEST(every_type_of_idx_is_read)
{
    read_idx(BYTES("\0\0\x08\2\0\0\0\2\0\0\0\3abcdef"), HUSK_U8, 2, (int64_t[]){2, 3});
    ck_assert_uint_eq(array.bytes, 6);
    ck_assert_mem_eq(array.data, "abcdef", 6);
    husk_array_release(&array);
    read_idx(BYTES("\0\0\x09\1\0\0\0\2\x80\x7f"), HUSK_I8, 1, (int64_t[]){2});
    ck_assert_int_eq(((int8_t *)array.data)[0], -128);
    husk_array_release(&array);
    read_idx(BYTES("\0\0\x0b\1\0\0\0\3\x80\0\x7f\xff\xff\xfe"), HUSK_I32, 1, (int64_t[]){3});
    ck_assert_int_eq(((int32_t *)array.data)[0], -32768);
    ck_assert_int_eq(((int32_t *)array.data)[1], 32767);
    ck_assert_int_eq(((int32_t *)array.data)[2], -2);
    husk_array_release(&array);
    read_idx(BYTES("\0\0\x0c\1\0\0\0\2\x80\0\0\1\1\2\3\4"), HUSK_I32, 1, (int64_t[]){2});
    ck_assert_int_eq(((int32_t *)array.data)[0], -2147483647);
    ck_assert_int_eq(((int32_t *)array.data)[1], 0x01020304);
    husk_array_release(&array);
    read_idx(BYTES("\0\0\x0d\1\0\0\0\2\x3f\xc0\0\0\xff\x80\0\0"), HUSK_F32, 1, (int64_t[]){2});
    ck_assert(((float *)array.data)[0] == 1.5f && ((float *)array.data)[1] == -INFINITY);
    husk_array_release(&array);
    read_idx(BYTES("\0\0\x0e\1\0\0\0\1\xc0\2\0\0\0\0\0\1"), HUSK_F64, 1, (int64_t[]){1});
    ck_assert(((double *)array.data)[0] == -0x1.2000000000001p+1);
    husk_array_release(&array);
}
END_TEST

START_TEST(every_rank_of_idx_is_read)
{
    read_idx(BYTES("\0\0\x08\0x"), HUSK_U8, 0, NULL);
    ck_assert_mem_eq(array.data, "x", 1);
    husk_array_release(&array);
    read_idx(BYTES("\0\0\x08\x08\0\0\0\1\0\0\0\1\0\0\0\2\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\2\0\0\0\1abcd"), HUSK_U8, 8,
             (int64_t[]){1, 1, 2, 1, 1, 1, 2, 1});
    husk_array_release(&array);
    read_idx(BYTES("\0\0\x0e\2\0\0\0\0\0\0\0\5"), HUSK_F64, 2, (int64_t[]){0, 5});
    ck_assert_uint_eq(array.bytes, 0);
    husk_array_release(&array);
    husk_array_release(&array);
    husk_array_release(NULL);
}
END_TEST

START_TEST(wrong_idx_files_are_refused)
{
    expect_idx_refused(BYTES("\1\0\x08\1\0\0\0\1x"), "two zeros");
    expect_idx_refused(BYTES("\0\1\x08\1\0\0\0\1x"), "two zeros");
    expect_idx_refused(BYTES("\0\0\x0a\1\0\0\0\1x"), "type 0x0A");
    expect_idx_refused(BYTES("\0\0\x08\x09\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1x"),
                       "9 dimensions");
    expect_idx_refused(BYTES("\x1f\x8b\x08\0whatever"), "gunzip");
    expect_idx_refused(BYTES("\0\0\x08\1\0\0\0\2xyz"), "of 2 bytes, and it has 3");
    expect_idx_refused(BYTES("\0\0\x08\1\0\0\0\0x"), "of 0 bytes, and it has 1");
    expect_idx_refused(BYTES("\0\0\x08\1\xff\xff\xff\xffx"), "more than the 1 bytes");
    // Products of sizes that wrap round to what the file has: 2^64 + 0, 2^32 x 8 bytes, 2^64 + 4 elements.
    expect_idx_refused(BYTES("\0\0\x08\3\x80\0\0\0\x80\0\0\0\0\0\0\4"), "more than the 0 bytes");
    expect_idx_refused(BYTES("\0\0\x0e\3\x80\0\0\0\x80\0\0\0\0\0\0\1"), "more than the 0 bytes");
    expect_idx_refused(BYTES("\0\0\x08\4\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0"), "beyond 63 bits");
    put("", 0);
    expect_idx_refused("", 0, "first four bytes");
    unlink(path);
    expect_text(husk_idx_read(path, &array, &error), HUSK_IO, "cannot be opened");
    ck_assert_int_eq(mkdir(path, 0700), 0);
    expect_text(husk_idx_read(path, &array, &error), HUSK_INVALID_ARGUMENT, "no plain file");
    ck_assert_int_eq(husk_idx_read(NULL, &array, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_idx_read(path, NULL, NULL), HUSK_INVALID_ARGUMENT);
}
END_TEST

START_TEST(every_truncated_idx_file_is_refused)
{
    static const char whole[] = "\0\0\x0d\2\0\0\0\2\0\0\0\3aaaabbbbccccddddeeeeffff";
    read_idx(whole, sizeof whole - 1, HUSK_F32, 2, (int64_t[]){2, 3});
    husk_array_release(&array);
    for (size_t size = sizeof whole - 1; size-- > 0;)
        expect_idx_refused(whole, size, size < 4 ? "first four bytes" : size < 12 ? "sizes of its 2" : "more than the");
}
END_TEST

// ---- CIFAR-10 ----

enum { RECORD = 3073 };

START_TEST(cifar_is_read_file_by_file)
{
    enum { FIRST = 300, SECOND = 2 }; // more than is read at once
    static unsigned char bytes[FIRST * RECORD];
    char other[180];
    husk_array images, labels;
    for (size_t i = 0; i < sizeof bytes; ++i)
        bytes[i] = (unsigned char)(i % RECORD ? i * 2654435761u >> 16 : i / RECORD % 10);
    put(bytes + 5 * RECORD, SECOND * RECORD);
    snprintf(other, sizeof other, "%s/second", folder);
    ck_assert_int_eq(rename(path, other), 0);
    put(bytes, sizeof bytes);
    const char *const paths[] = {path, other};
    ck_assert_msg(husk_cifar10_read(paths, 2, &images, &labels, &error) == HUSK_OK, "%s", error.text);
    ck_assert(images.dtype == HUSK_U8 && images.rank == 4 && images.shape[0] == FIRST + SECOND &&
              images.shape[1] == 3 && images.shape[2] == 32 && images.shape[3] == 32);
    ck_assert(labels.dtype == HUSK_U8 && labels.rank == 1 && labels.shape[0] == FIRST + SECOND);
    for (int i = 0; i < FIRST + SECOND; ++i) {
        const unsigned char *record = bytes + (i < FIRST ? i : i - FIRST + 5) * RECORD;
        ck_assert_int_eq(((uint8_t *)labels.data)[i], record[0]);
        ck_assert_mem_eq((uint8_t *)images.data + i * (RECORD - 1), record + 1, RECORD - 1);
    }
    husk_array_release(&images);
    husk_array_release(&labels);

    const char *words[] = {"record 299: its label is 10", "not whole records", "not whole records", "cannot be opened"};
    bytes[299 * RECORD] = 10;
    for (int i = 0; i < 4; ++i) {
        if (i < 3)
            put(bytes, i == 0 ? sizeof bytes : i == 1 ? 0 : RECORD - 1);
        else
            unlink(path);
        const char *const wrong[] = {other, path};
        const husk_status status = husk_cifar10_read(wrong, 2, &images, &labels, &error);
        expect_text(status, i < 3 ? HUSK_INVALID_ARGUMENT : HUSK_IO, words[i]);
        ck_assert(!images.data && !labels.data);
    }
    ck_assert_int_eq(husk_cifar10_read(paths, 0, &images, &labels, &error), HUSK_INVALID_ARGUMENT);
}
END_TEST

// ---- texts ----

static void put_text(const char *name, const char *text)
{
    char kept[sizeof path];
    strcpy(kept, path);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    put(text, strlen(text));
    strcpy(path, kept);
}

static void make_folder(const char *name)
{
    char below[200];
    snprintf(below, sizeof below, "%s/%s", folder, name);
    ck_assert_int_eq(mkdir(below, 0700), 0);
}

static void expect_folder_refused(const char *const *names, size_t count, husk_status wanted, const char *words)
{
    husk_corpus *corpus;
    const husk_status status = husk_corpus_read_folder(folder, names, count, &corpus, &error);
    ck_assert_msg(status == wanted && strstr(error.text, words) && strstr(error.text, folder), "%s", error.text);
    ck_assert_ptr_null(corpus);
}

START_TEST(a_folder_of_texts_is_read_by_label)
{
    husk_corpus *corpus;
    expect_folder_refused(NULL, 0, HUSK_INVALID_ARGUMENT, "no folder of texts");
    make_folder("pos");
    make_folder("neg");
    put_text("pos/2.txt", "Great, GREAT film");
    put_text("pos/10.txt", "It isn't bad");
    put_text("neg/b", "");
    put_text("neg/a", "bad film");
    put_text("neg/.hidden", "x");
    make_folder("neg/below");
    put_text("beside", "x");
    ck_assert_msg(husk_corpus_read_folder(folder, NULL, 0, &corpus, &error) == HUSK_OK, "%s", error.text);
    static const struct {
        const char *text;
        int32_t label;
    } wanted[] = {{"bad film", 0}, {"", 0}, {"It isn't bad", 1}, {"Great, GREAT film", 1}};
    ck_assert(husk_corpus_count(corpus) == 4 && husk_corpus_classes(corpus) == 2);
    for (int i = 0; i < 4; ++i) {
        uint64_t bytes;
        int32_t label;
        ck_assert_str_eq(husk_corpus_get(corpus, i, &bytes, &label), wanted[i].text);
        ck_assert(label == wanted[i].label && bytes == strlen(wanted[i].text));
    }
    husk_corpus_release(corpus);
    const char *const names[] = {"pos", "neg"}, *const missing[] = {"pos", "unsup"}, *const empty[] = {"neg/below"};
    ck_assert_int_eq(husk_corpus_read_folder(folder, names, 2, &corpus, &error), HUSK_OK);
    int32_t label;
    husk_corpus_get(corpus, 0, NULL, &label);
    ck_assert_int_eq(label, 0);
    ck_assert_str_eq(husk_corpus_get(corpus, 0, NULL, NULL), "It isn't bad");
    husk_corpus_release(corpus);
    expect_folder_refused(missing, 2, HUSK_IO, "/unsup: it cannot be opened");
    expect_folder_refused(empty, 1, HUSK_INVALID_ARGUMENT, "/neg/below: there is no text");
    char pipe[200];
    snprintf(pipe, sizeof pipe, "%s/pos/pipe", folder);
    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    expect_folder_refused(names, 2, HUSK_INVALID_ARGUMENT, "/pos/pipe: it is no plain file");
    entries_left = 1;
    expect_folder_refused(names, 2, HUSK_IO, "/pos: it cannot be listed");
    entries_left = 3;
    expect_folder_refused(NULL, 0, HUSK_IO, ": it cannot be listed");
}
END_TEST

START_TEST(a_text_of_its_own_is_added_again)
{
    static const char text[] = "a text that is in the corpus, and moves when that grows";
    husk_corpus *corpus;
    ck_assert_int_eq(husk_corpus_create(&corpus, &error), HUSK_OK);
    ck_assert_int_eq(husk_corpus_add(corpus, text, sizeof text - 1, 0, &error), HUSK_OK);
    for (int i = 1; i < 200; ++i) {
        uint64_t bytes;
        const char *last = husk_corpus_get(corpus, i - 1, &bytes, NULL);
        ck_assert_int_eq(husk_corpus_add(corpus, last, bytes, 0, &error), HUSK_OK);
        ck_assert_str_eq(husk_corpus_get(corpus, i, NULL, NULL), text);
    }
    husk_corpus_release(corpus);
}
END_TEST

START_TEST(words_are_numbered_by_their_uses)
{
    husk_corpus *corpus;
    husk_vocabulary *vocabulary;
    static const char *const texts[] = {"The cat's HAT -- the cat's", "a hat: 'the' \303\244ffchen", "", "dog a the 7"};
    static const char *const words[] = {"", "", "the", "a", "cat's", "hat", "7", "dog", "\303\244ffchen"};
    ck_assert_int_eq(husk_corpus_create(&corpus, &error), HUSK_OK);
    for (int i = 0; i < 4; ++i)
        ck_assert_int_eq(husk_corpus_add(corpus, texts[i], strlen(texts[i]), i % 3, &error), HUSK_OK);
    ck_assert_int_eq(husk_corpus_add(corpus, "x", 1, -1, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_vocabulary_create_words(corpus, 1, &vocabulary, &error), HUSK_INVALID_ARGUMENT);
    for (int64_t size = 2; size < 12; ++size) {
        ck_assert_int_eq(husk_vocabulary_create_words(corpus, size, &vocabulary, &error), HUSK_OK);
        ck_assert_int_eq(husk_vocabulary_size(vocabulary), size < 9 ? size : 9);
        for (int64_t id = 2; id < husk_vocabulary_size(vocabulary); ++id) {
            uint64_t bytes;
            ck_assert_str_eq(husk_vocabulary_get(vocabulary, id, &bytes), words[id]);
            ck_assert_uint_eq(bytes, strlen(words[id]));
            ck_assert_int_eq(husk_vocabulary_find(vocabulary, words[id], bytes), id);
        }
        for (int64_t id = husk_vocabulary_size(vocabulary); id < 9; ++id)
            ck_assert_int_eq(husk_vocabulary_find(vocabulary, words[id], strlen(words[id])), HUSK_WORD_UNKNOWN);
        ck_assert_int_eq(husk_vocabulary_find(vocabulary, "th", 2), HUSK_WORD_UNKNOWN);
        ck_assert_int_eq(husk_vocabulary_find(vocabulary, "thee", 4), HUSK_WORD_UNKNOWN);
        ck_assert_int_eq(husk_vocabulary_find(vocabulary, "", 0), HUSK_WORD_UNKNOWN);
        if (size < 11)
            husk_vocabulary_release(vocabulary);
    }
    husk_array inputs, labels;
    static const int32_t wanted[4][4] = {{2, 4, 5, 2}, {3, 5, 2, 8}, {0, 0, 0, 0}, {7, 3, 2, 6}};
    static const int32_t short_one[6] = {0, 0, 0, 1, 2, 1};
    ck_assert_int_eq(husk_corpus_encode(corpus, vocabulary, 4, &inputs, &labels, &error), HUSK_OK);
    ck_assert(inputs.dtype == HUSK_I32 && inputs.rank == 2 && inputs.shape[0] == 4 && inputs.shape[1] == 4);
    ck_assert_mem_eq(inputs.data, wanted, sizeof wanted);
    for (int i = 0; i < 4; ++i)
        ck_assert_int_eq(((int32_t *)labels.data)[i], i % 3);
    int32_t ids[6];
    ck_assert_int_eq(husk_vocabulary_encode_words(vocabulary, "nobody's THE 8", 14, 6, ids, &error), HUSK_OK);
    ck_assert_mem_eq(ids, short_one, sizeof ids);
    husk_array_release(&inputs);
    husk_array_release(&labels);
    husk_vocabulary_release(vocabulary);
    husk_corpus_release(corpus);
}
END_TEST

static void expect_load_refused(const char *text, size_t size, const char *words)
{
    husk_vocabulary *vocabulary;
    const husk_array wrong = {
        .dtype = HUSK_U8, .rank = 1, .shape = {(int64_t)size}, .bytes = size, .data = (void *)text};
    ck_assert_int_eq(husk_vocabulary_load(&wrong, &vocabulary, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, words) && !vocabulary, "\"%s\" is not in: %s", words, error.text);
}

START_TEST(a_vocabulary_is_kept)
{
    husk_corpus *corpus;
    husk_vocabulary *made[2], *loaded;
    husk_array text, bytes = {.dtype = HUSK_U8, .rank = 1, .shape = {9}, .bytes = 9, .data = (void *)"ba\nnana\0\xff"};
    ck_assert_int_eq(husk_corpus_create(&corpus, &error), HUSK_OK);
    ck_assert_int_eq(husk_corpus_add(corpus, "zebra a zebra b isn't zebra b", 29, 0, &error), HUSK_OK);
    ck_assert_int_eq(husk_vocabulary_create_words(corpus, 5, &made[0], &error), HUSK_OK);
    ck_assert_int_eq(husk_vocabulary_create_bytes(&bytes, &made[1], &error), HUSK_OK);
    for (int kind = 0; kind < 2; ++kind) {
        ck_assert_int_eq(husk_vocabulary_save(made[kind], &text, &error), HUSK_OK);
        ck_assert(text.dtype == HUSK_U8 && text.rank == 1 && text.shape[0] == (int64_t)text.bytes);
        ck_assert_msg(husk_vocabulary_load(&text, &loaded, &error) == HUSK_OK, "%s", error.text);
        ck_assert_int_eq(husk_vocabulary_size(loaded), kind ? 6 : 5);
        ck_assert_int_eq(husk_vocabulary_size(made[kind]), kind ? 6 : 5);
        for (int64_t id = 0; id < husk_vocabulary_size(loaded); ++id) {
            uint64_t size[2];
            const char *const words[2] = {husk_vocabulary_get(made[kind], id, &size[0]),
                                          husk_vocabulary_get(loaded, id, &size[1])};
            ck_assert_uint_eq(size[0], size[1]);
            ck_assert_mem_eq(words[0], words[1], size[0] + 1);
            if (kind || id > 1)
                ck_assert_int_eq(husk_vocabulary_find(loaded, words[1], size[1]), id);
        }
        husk_array_release(&text);
        husk_vocabulary_release(loaded);
        husk_vocabulary_release(made[kind]);
    }
    husk_corpus_release(corpus);
    expect_load_refused("", 0, "husk_vocabulary_save");
    expect_load_refused(BYTES("wordsx"), "husk_vocabulary_save");
    expect_load_refused(BYTES("words\na\n\n"), "a line is a word");
    expect_load_refused(BYTES("words\na"), "a line is a word");
    expect_load_refused(BYTES("words\na\0b\n"), "a line is a word");
    expect_load_refused(BYTES("words\na\nb\na\n"), "twice");
    char longest[6 + 66] = "words\n";
    memset(longest + 6, 'x', 65);
    longest[71] = '\n';
    expect_load_refused(longest, sizeof longest, "a line is a word");
}
END_TEST

START_TEST(many_and_long_words_are_counted)
{
    enum { WORDS = 5000 };
    husk_corpus *corpus;
    husk_vocabulary *vocabulary;
    char text[3 * 64], name[32];
    ck_assert_int_eq(husk_corpus_create(&corpus, &error), HUSK_OK);
    for (int i = 0; i < WORDS; ++i) { // word i is there twice where i is even
        const int size = snprintf(text, sizeof text, i % 2 ? "w%d" : "w%d w%d", i, i);
        ck_assert_int_eq(husk_corpus_add(corpus, text, (uint64_t)size, 0, &error), HUSK_OK);
    }
    memset(text, 'x', sizeof text);
    ck_assert_int_eq(husk_corpus_add(corpus, text, sizeof text, 0, &error), HUSK_OK);
    ck_assert_int_eq(husk_vocabulary_create_words(corpus, 1 << 20, &vocabulary, &error), HUSK_OK);
    ck_assert_int_eq(husk_vocabulary_size(vocabulary), WORDS + 3);
    ck_assert_int_ne(husk_vocabulary_find(vocabulary, text, 64), HUSK_WORD_UNKNOWN);
    for (int i = 0; i < WORDS; ++i) {
        const int32_t id = husk_vocabulary_find(vocabulary, name, (uint64_t)snprintf(name, sizeof name, "w%d", i));
        ck_assert(id >= 2 && (id < 2 + WORDS / 2) == (i % 2 == 0));
    }
    husk_vocabulary_release(vocabulary);
    husk_corpus_release(corpus);
}
END_TEST

START_TEST(bytes_of_a_text_are_numbered)
{
    husk_array text, ids;
    husk_vocabulary *vocabulary;
    put("ba\0nana\xff", 8);
    ck_assert_int_eq(husk_text_read(path, &text, &error), HUSK_OK);
    ck_assert(text.dtype == HUSK_U8 && text.rank == 1 && text.shape[0] == 8);
    ck_assert_int_eq(husk_vocabulary_create_bytes(&text, &vocabulary, &error), HUSK_OK);
    ck_assert_int_eq(husk_vocabulary_size(vocabulary), 5);
    ck_assert_int_eq(husk_vocabulary_encode_bytes(vocabulary, &text, &ids, &error), HUSK_OK);
    static const int32_t wanted[8] = {2, 1, 0, 3, 1, 3, 1, 4};
    ck_assert_mem_eq(ids.data, wanted, sizeof wanted);
    ck_assert_str_eq(husk_vocabulary_get(vocabulary, 3, NULL), "n");
    ck_assert_int_eq(husk_vocabulary_find(vocabulary, "c", 1), -1);
    ((uint8_t *)text.data)[6] = 'c';
    husk_array none;
    ck_assert_int_eq(husk_vocabulary_encode_bytes(vocabulary, &text, &none, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, "byte 6, 0x63"), "%s", error.text);
    ck_assert_int_eq(husk_vocabulary_encode_words(vocabulary, "a", 1, 1, (int32_t[1]){0}, &error),
                     HUSK_INVALID_ARGUMENT);
    husk_array_release(&text);
    husk_array_release(&ids);
    husk_vocabulary_release(vocabulary);
    unlink(path);
    expect_text(husk_text_read(path, &text, &error), HUSK_IO, "cannot be opened");
}
END_TEST

// ---- what is shipped ----

START_TEST(the_digits_are_whole)
{
    husk_array images, labels;
    ck_assert_msg(husk_idx_read(HUSK_SOURCE_DIR "/examples/data/digits-images.idx3-ubyte", &images, &error) == HUSK_OK,
                  "%s", error.text);
    ck_assert_msg(husk_idx_read(HUSK_SOURCE_DIR "/examples/data/digits-labels.idx1-ubyte", &labels, &error) == HUSK_OK,
                  "%s", error.text);
    ck_assert(images.rank == 3 && images.shape[0] == 1797 && images.shape[1] == 8 && images.shape[2] == 8);
    ck_assert(labels.rank == 1 && labels.shape[0] == 1797);
    static const int wanted[10] = {178, 182, 177, 183, 181, 182, 181, 179, 174, 180}; // by the set's description
    int counts[256] = {0};
    long sum = 0;
    for (int i = 0; i < 1797; ++i)
        counts[((uint8_t *)labels.data)[i]]++;
    for (int i = 0; i < 256; ++i)
        ck_assert_int_eq(counts[i], i < 10 ? wanted[i] : 0);
    for (int i = 0; i < 1797 * 64; ++i) {
        ck_assert_int_le(((uint8_t *)images.data)[i], 16);
        sum += ((uint8_t *)images.data)[i];
    }
    ck_assert_int_eq(sum, 561718);
    husk_array_release(&images);
    husk_array_release(&labels);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("data");
    TCase *cases = tcase_create("files");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, every_type_of_idx_is_read);
    tcase_add_test(cases, every_rank_of_idx_is_read);
    tcase_add_test(cases, wrong_idx_files_are_refused);
    tcase_add_test(cases, every_truncated_idx_file_is_refused);
    tcase_add_test(cases, cifar_is_read_file_by_file);
    tcase_add_test(cases, a_folder_of_texts_is_read_by_label);
    tcase_add_test(cases, a_text_of_its_own_is_added_again);
    tcase_add_test(cases, words_are_numbered_by_their_uses);
    tcase_add_test(cases, a_vocabulary_is_kept);
    tcase_add_test(cases, many_and_long_words_are_counted);
    tcase_add_test(cases, bytes_of_a_text_are_numbered);
    tcase_add_test(cases, the_digits_are_whole);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
