// SPDX-License-Identifier: MIT
// A vocabulary, and a text. The input is looked at twice: as what a checkpoint holds, of which what is taken
// has the words of its lines, or its bytes, in their order, and is written as the same again; and as texts,
// the words of which, by a second opinion, are counted and become ids.
#include <stdlib.h>
#include <string.h>

#include <husk/train/data.h>

#include "fuzz.h"

enum { LONGEST = 64, SPECIAL = 2, MOST_WORDS = 512 };

static husk_array array_of(const char *text, size_t size)
{
    return (husk_array){
        .dtype = HUSK_U8, .rank = 1, .shape = {(int64_t)size}, .bytes = size, .data = (void *)(uintptr_t)text};
}

// ---- what is kept ----

static void expect_word(const husk_vocabulary *vocabulary, int64_t id, const char *word, size_t length)
{
    uint64_t bytes = 0;
    fuzz_expect(id < husk_vocabulary_size(vocabulary), "word %lld is missing", (long long)id);
    const char *text = husk_vocabulary_get(vocabulary, id, &bytes);
    fuzz_expect(bytes == length && !memcmp(text, word, length), "word %lld is another", (long long)id);
    fuzz_expect(husk_vocabulary_find(vocabulary, word, length) == id, "word %lld is found elsewhere", (long long)id);
}

static bool is_line(const char *line, const char *past)
{
    const char *end = memchr(line, '\n', (size_t)(past - line));
    return end && end > line && end - line <= LONGEST && !memchr(line, 0, (size_t)(end - line));
}

// The words of the lines from at on. Without a vocabulary: whether they may be one's.
static bool expect_lines(const husk_vocabulary *vocabulary, const char *begin, const char *past)
{
    int64_t id = SPECIAL;
    for (const char *at = begin; at < past; id++) {
        if (!is_line(at, past))
            return false;
        const size_t length = (size_t)((const char *)memchr(at, '\n', (size_t)(past - at)) - at);
        for (const char *other = begin; other < at && !vocabulary; other = strchr(other, '\n') + 1)
            if (!memcmp(other, at, length + 1))
                return false;
        if (vocabulary)
            expect_word(vocabulary, id, at, length);
        at += length + 1;
    }
    fuzz_expect(!vocabulary || husk_vocabulary_size(vocabulary) == id, "there are %lld words, not %lld",
                vocabulary ? (long long)husk_vocabulary_size(vocabulary) : 0, (long long)id);
    return true;
}

static void expect_bytes(const husk_vocabulary *vocabulary, const char *at, const char *past)
{
    int64_t id = 0;
    for (int byte = 0; byte < 256; byte++) {
        const char one = (char)byte;
        if (memchr(at, byte, (size_t)(past - at)))
            expect_word(vocabulary, id++, &one, 1);
        else
            fuzz_expect(husk_vocabulary_find(vocabulary, &one, 1) < 0, "byte %d is there", byte);
    }
    fuzz_expect(husk_vocabulary_size(vocabulary) == id, "there are more than %lld bytes", (long long)id);
}

// Written, and read and written again.
static void expect_kept(const husk_vocabulary *vocabulary, husk_array *written)
{
    husk_error error = {0};
    husk_vocabulary *again;
    husk_array twice;
    fuzz_expect(!husk_vocabulary_save(vocabulary, written, &error), "it is not written: %s", error.text);
    fuzz_expect(!husk_vocabulary_load(written, &again, &error), "what it writes is refused: %s", error.text);
    fuzz_expect(!husk_vocabulary_save(again, &twice, &error), "it is not written: %s", error.text);
    fuzz_expect(twice.bytes == written->bytes && !memcmp(twice.data, written->data, (size_t)twice.bytes),
                "read and written again it is another");
    husk_array_release(&twice);
    husk_vocabulary_release(again);
}

static void load(const char *text, size_t size)
{
    enum { HEAD = 6 };
    husk_error error = {0};
    husk_vocabulary *vocabulary = NULL;
    const husk_array array = array_of(text, size);
    const husk_status status = husk_vocabulary_load(&array, &vocabulary, &error);
    const bool is_words = size >= HEAD && !memcmp(text, "words\n", HEAD),
               is_bytes = size >= HEAD && !memcmp(text, "bytes\n", HEAD),
               is_one = is_bytes || (is_words && expect_lines(NULL, text + HEAD, text + size));
    fuzz_expect((status == HUSK_OK) == is_one, "it answers %s: %s", husk_status_name(status), error.text);
    if (status) {
        fuzz_expect(status == HUSK_INVALID_ARGUMENT && !vocabulary, "refused with %d: %s", (int)status, error.text);
        fuzz_expect_reason(error.text, sizeof error.text);
        fuzz_expect_clean(error.text);
        return;
    }
    husk_array written;
    expect_kept(vocabulary, &written);
    if (is_words)
        expect_lines(vocabulary, text + HEAD, text + size);
    else
        expect_bytes(vocabulary, text + HEAD, text + size);
    fuzz_expect(!is_words || (written.bytes == size && !memcmp(written.data, text, size)), "it is written as another");
    husk_array_release(&written);
    husk_vocabulary_release(vocabulary);
}

// ---- words of a text ----

typedef struct words {
    char text[MOST_WORDS][LONGEST + 1];
    int uses[MOST_WORDS]; // by the first place that has it
    size_t count;
} words;

static bool is_inside(const char *text, size_t size, size_t at)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    return at < size && ((unsigned char)text[at] > 127 || (text[at] && strchr(letters, text[at])));
}

// False where there are too many for this second opinion.
static bool split(const char *text, size_t size, words *all)
{
    all->count = 0;
    for (size_t at = 0; at < size;) {
        size_t length = 0;
        if (!is_inside(text, size, at)) {
            at++;
            continue;
        }
        if (all->count == MOST_WORDS)
            return false;
        for (; is_inside(text, size, at) || (at < size && text[at] == '\'' && is_inside(text, size, at + 1)); at++)
            if (length < LONGEST)
                all->text[all->count][length++] =
                    (char)(text[at] >= 'A' && text[at] <= 'Z' ? text[at] - 'A' + 'a' : text[at]);
        all->text[all->count][length] = '\0';
        all->uses[all->count++] = 0;
    }
    for (size_t i = 0; i < all->count; i++) {
        size_t first = 0;
        while (strcmp(all->text[first], all->text[i]) != 0)
            first++;
        all->uses[first]++;
    }
    return true;
}

static int uses_of(const words *all, const char *word)
{
    for (size_t i = 0; i < all->count; i++)
        if (!strcmp(all->text[i], word))
            return all->uses[i];
    return 0;
}

// Falling uses, equal ones by their bytes, and each of the text's words.
static void expect_counted(const husk_vocabulary *vocabulary, const words *all)
{
    const char *last = "";
    for (int64_t id = SPECIAL, most = INT64_MAX; id < husk_vocabulary_size(vocabulary); id++) {
        const char *word = husk_vocabulary_get(vocabulary, id, NULL);
        const int uses = uses_of(all, word);
        fuzz_expect(uses > 0, "\"%s\" is none of the text's words", word);
        fuzz_expect(uses < most || (uses == most && strcmp(last, word) < 0), "\"%s\" stands before \"%s\"", last, word);
        most = uses;
        last = word;
    }
    for (size_t i = 0; i < all->count; i++)
        expect_word(vocabulary, husk_vocabulary_find(vocabulary, all->text[i], strlen(all->text[i])), all->text[i],
                    strlen(all->text[i]));
}

static void expect_ids(const husk_vocabulary *vocabulary, const char *text, size_t size, const words *all)
{
    enum { LENGTH = 8 };
    husk_error error = {0};
    int32_t ids[LENGTH];
    const size_t taken = all->count < LENGTH ? all->count : LENGTH, padding = LENGTH - taken;
    fuzz_expect(!husk_vocabulary_encode_words(vocabulary, text, size, LENGTH, ids, &error), "no ids: %s", error.text);
    for (size_t i = 0; i < LENGTH; i++) {
        const char *word = i < padding ? "" : all->text[i - padding];
        const int32_t id = i < padding ? HUSK_WORD_PADDING : husk_vocabulary_find(vocabulary, word, strlen(word));
        fuzz_expect(ids[i] == id, "id %zu, of \"%s\", is %d, not %d", i, word, ids[i], id);
    }
}

// The input is two texts of the corpus, so that no word passes from one to the next.
static void count(const char *text, size_t size)
{
    static words all;
    husk_error error = {0};
    husk_corpus *corpus;
    husk_vocabulary *vocabulary, *few;
    husk_array written;
    fuzz_expect(!husk_corpus_create(&corpus, &error) && !husk_corpus_add(corpus, text, size, 0, &error) &&
                    !husk_corpus_add(corpus, text, size, 1, &error),
                "no corpus: %s", error.text);
    fuzz_expect(!husk_vocabulary_create_words(corpus, INT32_MAX, &vocabulary, &error), "none: %s", error.text);
    fuzz_expect(!husk_vocabulary_create_words(corpus, SPECIAL + 1, &few, &error), "none: %s", error.text);
    expect_kept(vocabulary, &written);
    if (split(text, size, &all)) {
        expect_counted(vocabulary, &all);
        expect_ids(vocabulary, text, size, &all);
        expect_ids(few, text, size, &all);
    }
    husk_array_release(&written);
    husk_vocabulary_release(few);
    husk_vocabulary_release(vocabulary);
    husk_corpus_release(corpus);
}

void fuzz_target(const char *text, size_t size)
{
    load(text, size);
    count(text, size);
}
