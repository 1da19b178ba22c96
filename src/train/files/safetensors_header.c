// SPDX-License-Identifier: MIT
#include "train/files/safetensors_header.h"

#include <stdlib.h>
#include <string.h>

// Of the shortest tensor in JSON, `"":{"dtype":"U8","shape":[],"data_offsets":[0,1]}`, 49 bytes with its comma.
enum { LEAST_ENTRY = 48, MOST_DEPTH = 64 };

static const struct dtype_row {
    const char *name;
    int bits;
    int dtype; // a husk_dtype, or -1
} DTYPES[] = {
    {"F32", 32, HUSK_F32}, {"F16", 16, HUSK_F16}, {"BF16", 16, HUSK_BF16}, {"F64", 64, HUSK_F64}, {"I8", 8, HUSK_I8},
    {"U8", 8, HUSK_U8},    {"I32", 32, HUSK_I32}, {"I64", 64, HUSK_I64},   {"BOOL", 8, -1},       {"I16", 16, -1},
    {"U16", 16, -1},       {"U32", 32, -1},       {"U64", 64, -1},         {"C64", 64, -1},       {"F8_E4M3", 8, -1},
    {"F8_E5M2", 8, -1},    {"F8_E8M0", 8, -1},    {"F6_E2M3", 6, -1},      {"F6_E3M2", 6, -1},    {"F4", 4, -1},
};
enum { DTYPE_COUNT = sizeof DTYPES / sizeof *DTYPES };

const char *husk__safetensors_dtype_name(husk_dtype dtype)
{
    for (int i = 0; i < DTYPE_COUNT; ++i)
        if (DTYPES[i].dtype == (int)dtype)
            return DTYPES[i].name;
    return NULL;
}

bool husk__safetensors_is_packed(const husk_tensor *tensor)
{
    bool all_zero = true, packed = true;
    int64_t stride = 1;
    if (tensor->packed || tensor->rank < 0 || tensor->rank > HUSK_MAX_RANK)
        return false;
    for (int32_t i = tensor->rank - 1; i >= 0; --i) {
        all_zero = all_zero && tensor->strides[i] == 0;
        packed = packed && (tensor->strides[i] == stride || tensor->shape[i] <= 1);
        packed = !__builtin_mul_overflow(stride, tensor->shape[i], &stride) && packed;
    }
    return all_zero || packed || husk_tensor_count(tensor) == 0;
}

// ---- reading JSON ----

typedef struct reader {
    char *text, *at, *end; // *end is zero
    const husk__source *source;
    const char *tensor; // whose entry is read; NULL elsewhere
    husk_status status;
} reader;

// The first failure counts. Always false.
static bool refuse(reader *in, const char *rule)
{
    if (!in->status) {
        const char *tensor = in->tensor;
        in->status = husk__source_fail(in->source, HUSK_INVALID_ARGUMENT, "header, byte %zu%s%.128s%s: %s",
                                       (size_t)(in->at - in->text), tensor ? ", tensor \"" : "", tensor ? tensor : "",
                                       tensor ? "\"" : "", rule);
    }
    return false;
}

static void skip_blanks(reader *in)
{
    while (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r')
        ++in->at;
}

static bool take(reader *in, char wanted)
{
    skip_blanks(in);
    if (in->at == in->end || *in->at != wanted)
        return false;
    ++in->at;
    return true;
}

static bool need(reader *in, char wanted, const char *rule)
{
    return take(in, wanted) || refuse(in, rule);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_four(reader *in, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < 4; ++i) {
        const int digit = in->at < in->end ? hex_digit(*in->at) : -1;
        if (digit < 0)
            return refuse(in, "\\u wants four hexadecimal digits");
        *value = *value << 4 | (uint32_t)digit;
        ++in->at;
    }
    return true;
}

// Never longer than what it is written as.
static char *put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    } else {
        *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    }
    return to;
}

static bool read_unicode(reader *in, uint32_t *c)
{
    uint32_t low;
    if (!read_four(in, c))
        return false;
    if (*c == 0)
        return refuse(in, "a text holds a zero");
    if (*c < 0xd800 || *c > 0xdfff)
        return true;
    if (*c > 0xdbff || in->end - in->at < 2 || in->at[0] != '\\' || in->at[1] != 'u')
        return refuse(in, "half a surrogate pair");
    in->at += 2;
    if (!read_four(in, &low))
        return false;
    if (low < 0xdc00 || low > 0xdfff)
        return refuse(in, "half a surrogate pair");
    *c = 0x10000 + ((*c - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

static bool read_escape(reader *in, char **to)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char letter = in->at < in->end ? *in->at++ : 0;
    uint32_t c;
    if (letter == 'u') {
        if (!read_unicode(in, &c))
            return false;
        *to = put_utf8(*to, c);
        return true;
    }
    const char *found = letter ? strchr(letters, letter) : NULL;
    if (!found)
        return refuse(in, "no such escape");
    *(*to)++ = meanings[found - letters];
    return true;
}

// Decoded to *to or before, zero-terminated; *to ends past the zero. For NULL it is only passed over.
static bool read_text_to(reader *in, char **to)
{
    if (!need(in, '"', "a text is wanted"))
        return false;
    char *own = in->at, *out = to ? *to : own;
    while (in->at < in->end && *in->at != '"') {
        char escaped[4], *place = escaped, **target = to ? &out : &place;
        if ((unsigned char)*in->at < 0x20)
            return refuse(in, "a control character in a text");
        if (*in->at != '\\') {
            *(*target)++ = *in->at++;
        } else {
            ++in->at;
            if (!read_escape(in, target))
                return false;
        }
    }
    if (in->at == in->end)
        return refuse(in, "a text does not end");
    ++in->at;
    if (to) {
        *out++ = 0;
        *to = out;
    }
    return true;
}

static bool read_text(reader *in, const char **text)
{
    skip_blanks(in);
    char *to = in->at;
    *text = to;
    return read_text_to(in, &to);
}

static bool read_number(reader *in, uint64_t *value)
{
    skip_blanks(in);
    const char *begin = in->at;
    *value = 0;
    for (; *in->at >= '0' && *in->at <= '9'; ++in->at)
        if (__builtin_mul_overflow(*value, (uint64_t)10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*in->at - '0'), value))
            return refuse(in, "a number beyond 64 bits");
    if (in->at == begin || (*begin == '0' && in->at - begin > 1) || (*in->at && strchr(".eE+-", *in->at)))
        return refuse(in, "a whole number, 0 or more, is wanted");
    return true;
}

static bool skip_value(reader *in, int depth);

static bool skip_list(reader *in, bool is_object, int depth)
{
    const char close = is_object ? '}' : ']';
    if (depth == MOST_DEPTH)
        return refuse(in, "lists within lists, too deep");
    if (take(in, close))
        return true;
    do {
        if (is_object && (!read_text_to(in, NULL) || !need(in, ':', "\":\" is wanted")))
            return false;
        if (!skip_value(in, depth + 1))
            return false;
    } while (take(in, ','));
    return need(in, close, is_object ? "\",\" or \"}\" is wanted" : "\",\" or \"]\" is wanted");
}

static size_t digits(reader *in)
{
    const char *begin = in->at;
    while (*in->at >= '0' && *in->at <= '9')
        ++in->at;
    return (size_t)(in->at - begin);
}

static bool skip_number(reader *in)
{
    if (*in->at == '-')
        ++in->at;
    const bool leads_with_zero = *in->at == '0';
    size_t count = digits(in);
    if (count == 0 || (leads_with_zero && count > 1))
        return refuse(in, "a value is wanted");
    if (*in->at == '.' && (++in->at, digits(in) == 0))
        return refuse(in, "a digit is wanted");
    if (*in->at == 'e' || *in->at == 'E') {
        ++in->at;
        if (*in->at == '+' || *in->at == '-')
            ++in->at;
        if (digits(in) == 0)
            return refuse(in, "a digit is wanted");
    }
    return true;
}

// What the format does not name: newer versions may add to a tensor's entry, as the reference allows.
static bool skip_value(reader *in, int depth)
{
    static const char *const words[] = {"true", "false", "null"};
    skip_blanks(in);
    if (*in->at == '"')
        return read_text_to(in, NULL);
    if (take(in, '{'))
        return skip_list(in, true, depth);
    if (take(in, '['))
        return skip_list(in, false, depth);
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
        if (strncmp(in->at, words[i], strlen(words[i])) == 0) {
            in->at += strlen(words[i]);
            return true;
        }
    return skip_number(in);
}

// ---- one tensor ----

static bool read_dtype(reader *in, husk__tensor_place *place)
{
    const char *name;
    if (!read_text(in, &name))
        return false;
    for (int i = 0; i < DTYPE_COUNT; ++i)
        if (strcmp(DTYPES[i].name, name) == 0) {
            place->dtype = (uint8_t)i;
            return true;
        }
    return refuse(in, "no such dtype");
}

static bool read_shape(reader *in, husk__tensor_place *place)
{
    uint64_t size;
    if (!need(in, '[', "shape: a list is wanted"))
        return false;
    place->shape = in->at;
    place->rank = 0;
    if (take(in, ']'))
        return true;
    do {
        if (place->rank == HUSK_MAX_RANK)
            return refuse(in, "shape: Husk has tensors of 8 dimensions at most");
        if (!read_number(in, &size))
            return false;
        if (size > INT64_MAX)
            return refuse(in, "shape: a size beyond 63 bits");
        ++place->rank;
    } while (take(in, ','));
    return need(in, ']', "shape: \",\" or \"]\" is wanted");
}

static bool read_offsets(reader *in, husk__tensor_place *place)
{
    return need(in, '[', "data_offsets: a list of two is wanted") && read_number(in, &place->begin) &&
           need(in, ',', "data_offsets: a list of two is wanted") && read_number(in, &place->end) &&
           need(in, ']', "data_offsets: a list of two is wanted");
}

// The sizes of a shape that was read before.
static void read_sizes(const char *shape, int32_t rank, int64_t *sizes)
{
    for (int32_t i = 0; i < rank; ++i) {
        while (*shape < '0' || *shape > '9')
            ++shape;
        sizes[i] = 0;
        for (; *shape >= '0' && *shape <= '9'; ++shape)
            sizes[i] = sizes[i] * 10 + (*shape - '0');
    }
}

static bool check_place(reader *in, const husk__tensor_place *place, uint64_t data_size)
{
    int64_t sizes[HUSK_MAX_RANK];
    uint64_t bits = (uint64_t)DTYPES[place->dtype].bits;
    bool overflows = false, is_empty = false;
    read_sizes(place->shape, place->rank, sizes);
    for (int i = 0; i < place->rank; ++i) {
        overflows = __builtin_mul_overflow(bits, (uint64_t)sizes[i], &bits) || overflows;
        is_empty = is_empty || sizes[i] == 0;
    }
    if (overflows && !is_empty)
        return refuse(in, "dtype and shape: their bits are beyond 64 bits");
    if (is_empty)
        bits = 0;
    if (bits % 8 != 0)
        return refuse(in, "dtype and shape: they do not end with a byte");
    if (place->begin > place->end || place->end > data_size)
        return refuse(in, "data_offsets: they end within the file, and not before they begin");
    if (place->end - place->begin != bits / 8)
        return refuse(in, "data_offsets: they are not as far apart as dtype and shape say");
    return true;
}

static bool read_tensor(reader *in, husk__tensor_place *place, uint64_t data_size)
{
    static const char *const names[] = {"dtype", "shape", "data_offsets"};
    static bool (*const readers[])(reader *, husk__tensor_place *) = {read_dtype, read_shape, read_offsets};
    unsigned seen = 0;
    in->tensor = place->name;
    if (!need(in, '{', "an object with dtype, shape and data_offsets is wanted"))
        return false;
    if (!take(in, '}')) {
        do {
            const char *field;
            int which = 0;
            if (!read_text(in, &field) || !need(in, ':', "\":\" is wanted"))
                return false;
            while (which < 3 && strcmp(names[which], field) != 0)
                ++which;
            if (which < 3 && (seen & 1u << which))
                return refuse(in, "dtype, shape and data_offsets are there once");
            if (!(which < 3 ? readers[which](in, place) : skip_value(in, 0)))
                return false;
            seen |= 1u << which;
        } while (take(in, ','));
        if (!need(in, '}', "\",\" or \"}\" is wanted"))
            return false;
    }
    if ((seen & 7) != 7)
        return refuse(in, "dtype, shape and data_offsets are all wanted");
    const bool is_right = check_place(in, place, data_size);
    in->tensor = NULL;
    return is_right;
}

// ---- metadata ----

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool keys_are_unique(reader *in, const husk__tensor_list *list)
{
    const size_t count = list->metadata_count;
    const char *text = list->metadata, **keys = malloc((count ? count : 1) * sizeof *keys);
    if (!keys) {
        in->status = husk__source_fail(in->source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for its header");
        return false;
    }
    for (size_t i = 0; i < count; ++i) {
        keys[i] = text;
        text += strlen(text) + 1;
        text += strlen(text) + 1;
    }
    qsort(keys, count, sizeof *keys, compare_texts);
    bool is_right = true;
    for (size_t i = 1; is_right && i < count; ++i)
        is_right = strcmp(keys[i - 1], keys[i]) != 0;
    free(keys);
    return is_right || refuse(in, HUSK__SAFETENSORS_METADATA ": a key is there twice");
}

static bool read_metadata(reader *in, husk__tensor_list *list)
{
    if (list->metadata)
        return refuse(in, HUSK__SAFETENSORS_METADATA " is there twice");
    if (!need(in, '{', HUSK__SAFETENSORS_METADATA ": texts by text are wanted"))
        return false;
    char *to = in->at; // texts move up to one another
    list->metadata = to;
    if (take(in, '}'))
        return true;
    do {
        if (!read_text_to(in, &to) || !need(in, ':', "\":\" is wanted") || !read_text_to(in, &to))
            return false;
        ++list->metadata_count;
    } while (take(in, ','));
    return need(in, '}', "\",\" or \"}\" is wanted") && keys_are_unique(in, list);
}

// ---- the header ----

static int compare_places(const void *a, const void *b)
{
    const husk__tensor_place *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int compare_names(const void *a, const void *b)
{
    const husk__tensor_place *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static bool check_all(reader *in, husk__tensor_list *list, uint64_t data_size)
{
    uint64_t end = 0;
    qsort(list->places, list->count, sizeof *list->places, compare_places);
    for (size_t i = 0; i < list->count; ++i) {
        in->tensor = list->places[i].name;
        if (list->places[i].begin != end)
            return refuse(in, list->places[i].begin > end ? "data_offsets: there is a hole before it"
                                                          : "data_offsets: it overlaps the one before");
        end = list->places[i].end;
        list->by_name[i] = &list->places[i];
    }
    in->tensor = NULL;
    if (end != data_size)
        return refuse(in, "the tensors end before the file does");
    qsort(list->by_name, list->count, sizeof *list->by_name, compare_names);
    for (size_t i = 1; i < list->count; ++i) {
        in->tensor = list->by_name[i]->name;
        if (strcmp(list->by_name[i - 1]->name, in->tensor) == 0)
            return refuse(in, "the name is there twice");
    }
    return true;
}

static bool read_entry(reader *in, husk__tensor_list *list, size_t most, uint64_t data_size)
{
    const char *name;
    if (!read_text(in, &name) || !need(in, ':', "\":\" is wanted"))
        return false;
    if (strcmp(name, HUSK__SAFETENSORS_METADATA) == 0)
        return read_metadata(in, list);
    if (list->count == most) // none is shorter, so this one lacks something
        return refuse(in, "dtype, shape and data_offsets are all wanted");
    list->places[list->count].name = name;
    return read_tensor(in, &list->places[list->count++], data_size);
}

static bool read_header(reader *in, husk__tensor_list *list, size_t most, uint64_t data_size)
{
    if (in->at == in->end || *in->at != '{')
        return refuse(in, "it begins with \"{\"");
    ++in->at;
    if (!take(in, '}')) {
        do {
            if (!read_entry(in, list, most, data_size))
                return false;
        } while (take(in, ','));
        if (!need(in, '}', "\",\" or \"}\" is wanted"))
            return false;
    }
    while (*in->at == ' ')
        ++in->at;
    return in->at == in->end || refuse(in, "only spaces follow the last \"}\"");
}

bool husk__is_utf8(const char *bytes, size_t size)
{
    const unsigned char *at = (const unsigned char *)bytes, *end = at + size;
    while (at < end) {
        const unsigned char first = *at++;
        if (first < 0x80)
            continue;
        const int more = first < 0xc2 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : first < 0xf5 ? 3 : 0;
        if (more == 0 || end - at < more)
            return false;
        if ((first == 0xe0 && at[0] < 0xa0) || (first == 0xed && at[0] > 0x9f) || (first == 0xf0 && at[0] < 0x90) ||
            (first == 0xf4 && at[0] > 0x8f))
            return false;
        for (int i = 0; i < more; ++i)
            if ((*at++ & 0xc0) != 0x80)
                return false;
    }
    return true;
}

husk_status husk__tensor_list_parse(husk__tensor_list *list, char *text, size_t size, uint64_t data_size,
                                    const husk__source *source)
{
    const size_t most = size / LEAST_ENTRY;
    *list = (husk__tensor_list){.text = text, .size = size};
    reader in = {.text = text, .at = text, .end = text + size, .source = source};
    text[size] = 0;
    if (!husk__is_utf8(text, size)) {
        refuse(&in, "it is not UTF-8");
        return in.status;
    }
    list->places = malloc((most ? most : 1) * sizeof *list->places);
    list->by_name = malloc((most ? most : 1) * sizeof *list->by_name);
    if (!list->places || !list->by_name)
        return husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for its header");
    if (read_header(&in, list, most, data_size))
        check_all(&in, list, data_size);
    return in.status;
}

void husk__tensor_list_free(husk__tensor_list *list)
{
    free(list->places);
    free(list->by_name);
    list->places = NULL;
    list->by_name = NULL;
}

void husk__tensor_list_entry(const husk__tensor_place *place, husk_safetensors_entry *entry)
{
    *entry = (husk_safetensors_entry){
        .name = place->name,
        .dtype_name = DTYPES[place->dtype].name,
        .dtype = DTYPES[place->dtype].dtype,
        .rank = place->rank,
        .bytes = place->end - place->begin,
        .offset = place->begin,
    };
    read_sizes(place->shape, place->rank, entry->shape);
}

const husk__tensor_place *husk__tensor_list_find(const husk__tensor_list *list, const char *name)
{
    husk__tensor_place wanted = {.name = name}, *key = &wanted;
    husk__tensor_place **found =
        list->count ? bsearch(&key, list->by_name, list->count, sizeof key, compare_names) : NULL;
    return found ? *found : NULL;
}

husk_status husk__tensor_list_length(const unsigned char bytes[8], uint64_t file_size, uint64_t *length,
                                     const husk__source *source)
{
    *length = 0;
    for (int i = 7; i >= 0; --i)
        *length = *length << 8 | bytes[i];
    if (*length > HUSK__SAFETENSORS_MOST_HEADER)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT,
                                 "the header has at most %d bytes, and this one says %llu",
                                 HUSK__SAFETENSORS_MOST_HEADER, (unsigned long long)*length);
    if (*length > file_size - 8)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "the header's %llu bytes pass the end of the file",
                                 (unsigned long long)*length);
    return HUSK_OK;
}
