// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind timeout=60
// Safetensors files: what is written is read, each rule of the format is broken once, and whatever happens while one is
// written, a whole one is there.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <husk/train/safetensors.h>

#include "ref/random.h"
#include "support/device.h"
#include "support/main.h"

// ---- system calls and allocations, each of which fails once (--wrap) ----

static long calls, failing; // since armed; the one that fails, 0: none

static size_t largest; // block that was asked for

static bool fails(int code)
{
    if (++calls != failing)
        return false;
    errno = code;
    return true;
}

static void arm(long number)
{
    calls = 0;
    failing = number;
}

#define WRAP(type, name, parameters, arguments, code)            \
    type __real_##name parameters;                               \
    type __wrap_##name parameters;                               \
    type __wrap_##name parameters                                \
    {                                                            \
        return fails(code) ? (type)-1 : __real_##name arguments; \
    }
WRAP(int, ftruncate, (int file, off_t size), (file, size), EIO)
WRAP(int, fstat, (int file, struct stat *status), (file, status), EIO)
WRAP(ssize_t, pread, (int file, void *bytes, size_t size, off_t at), (file, bytes, size, at), EIO)
WRAP(ssize_t, write, (int file, const void *bytes, size_t size), (file, bytes, size), ENOSPC)
WRAP(ssize_t, pwrite, (int file, const void *bytes, size_t size, off_t at), (file, bytes, size, at), ENOSPC)

static int no_locks; // what flock answers where a file system has none; 0: it has

int __real_flock(int file, int operation);
int __wrap_flock(int file, int operation);
int __wrap_flock(int file, int operation)
{
    if (no_locks) {
        errno = no_locks;
        return -1;
    }
    return fails(EIO) ? -1 : __real_flock(file, operation);
}

static char trace[16]; // of what is written: f: synced, r: renamed

static void note(char letter)
{
    const size_t length = strlen(trace);
    if (length + 1 < sizeof trace)
        trace[length] = letter;
}

int __real_fsync(int file);
int __wrap_fsync(int file);
int __wrap_fsync(int file)
{
    note('f');
    return fails(EIO) ? -1 : __real_fsync(file);
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    note('r');
    return fails(EACCES) ? -1 : __real_rename(from, to);
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    largest = size > largest ? size : largest;
    return fails(ENOMEM) ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    largest = count * size > largest ? count * size : largest;
    return fails(ENOMEM) ? NULL : __real_calloc(count, size);
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    largest = size > largest ? size : largest;
    return fails(ENOMEM) ? NULL : __real_realloc(old, size);
}

// ---- files ----

static char folder[100], path[160], part[170];
static husk_error error;

static void setup(void)
{
    strcpy(folder, "/tmp/husk-safetensors-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/net.safetensors", folder);
    snprintf(part, sizeof part, "%s.part", path);
    arm(0);
    no_locks = 0;
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

static unsigned char *get(size_t *size)
{
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size);
    ck_assert_uint_eq(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static husk_safetensors *opened(void)
{
    husk_safetensors *file;
    ck_assert_msg(husk_safetensors_open(path, NULL, &file, &error) == HUSK_OK, "%s", error.text);
    return file;
}

// Refused with a text that names the file and has these words.
static void expect_refused(husk_status wanted, const char *words)
{
    largest = 0;
    husk_safetensors *file = (husk_safetensors *)1;
    memset(&error, 0, sizeof error);
    const husk_status status = husk_safetensors_open(path, NULL, &file, &error);
    ck_assert_msg(status == wanted, "%s: status %d; %s", words, status, error.text);
    ck_assert_ptr_null(file);
    ck_assert_int_eq(error.status, wanted);
    ck_assert_msg(strstr(error.text, path) && strstr(error.text, words), "\"%s\" is not in: %s", words, error.text);
}

static husk_tensor shaped(husk_dtype dtype, int32_t rank, const int64_t *shape)
{
    return husk_tensor_make(NULL, dtype, rank, shape);
}

// ---- what is written is read ----

static const char *const odd_names[] = {"", "a\"b\\c", "\n\t\x01", "Gr\303\266\303\237e \xf0\x9f\x98\x80",
                                        "layer.0.weight"};

START_TEST(what_is_written_is_read)
{
    enum { DTYPES = 8 };
    static unsigned char bytes[DTYPES][2 * 3 * 5 * 8];
    husk_safetensors_item items[DTYPES + 8];
    char names[DTYPES][16];
    husk_ref_random draw = {.seed = 3};
    size_t count = 0;
    for (int dtype = 0; dtype < DTYPES; ++dtype) {
        for (size_t i = 0; i < sizeof bytes[dtype]; ++i)
            bytes[dtype][i] = (unsigned char)husk_ref_random_below(&draw, 256);
        snprintf(names[dtype], sizeof names[dtype], "t%d", dtype);
        items[count++] =
            (husk_safetensors_item){names[dtype], bytes[dtype], shaped((husk_dtype)dtype, 3, (int64_t[]){2, 3, 5})};
    }
    for (size_t i = 0; i < 5; ++i)
        items[count++] = (husk_safetensors_item){odd_names[i], bytes[0], shaped(HUSK_U8, 1, (int64_t[]){(int64_t)i})};
    items[count++] = (husk_safetensors_item){"nothing", NULL, shaped(HUSK_F64, 3, (int64_t[]){2, 0, 4})};
    items[count++] = (husk_safetensors_item){"scalar", bytes[1], shaped(HUSK_F64, 0, NULL)};
    items[count++] =
        (husk_safetensors_item){"eight", bytes[2], shaped(HUSK_F32, 8, (int64_t[]){1, 1, 2, 1, 1, 3, 1, 1})};
    const husk_safetensors_pair pairs[] = {{"format", "pt"}, {"", "empty"}, {"epoch \"3\"", "\\ \xc3\xa9"}};
    ck_assert_msg(husk_safetensors_write(path, NULL, items, count, pairs, 3, &error) == HUSK_OK, "%s", error.text);
    ck_assert_int_ne(access(part, F_OK), 0);

    husk_safetensors *file = opened();
    husk_safetensors_entry entry;
    uint64_t end = 0;
    ck_assert_uint_eq(husk_safetensors_count(file), count);
    for (size_t i = 0; i < count; ++i) {
        unsigned char found[sizeof bytes[0]];
        ck_assert_msg(husk_safetensors_find(file, items[i].name, &entry), "\"%s\" is not found", items[i].name);
        ck_assert_str_eq(entry.name, items[i].name);
        ck_assert_int_eq(entry.dtype, (int)items[i].tensor.dtype);
        ck_assert_int_eq(entry.rank, items[i].tensor.rank);
        ck_assert_mem_eq(entry.shape, items[i].tensor.shape, (size_t)entry.rank * sizeof *entry.shape);
        ck_assert_uint_eq(entry.offset % husk_dtype_size(items[i].tensor.dtype), 0);
        ck_assert_int_eq(husk_safetensors_read(file, entry.name, found, entry.bytes, &error), HUSK_OK);
        if (entry.bytes)
            ck_assert_mem_eq(found, items[i].host, entry.bytes);
    }
    for (size_t i = 0; i < count; ++i) { // in the order of their bytes
        husk_safetensors_get(file, i, &entry);
        ck_assert_uint_eq(entry.offset, end);
        end += entry.bytes;
    }
    const char *key, *value;
    for (size_t i = 0; i < 3; ++i) {
        ck_assert_str_eq(husk_safetensors_metadata(file, pairs[i].key), pairs[i].value);
        ck_assert(husk_safetensors_metadata_get(file, i + 2, &key, &value)); // behind the checksums
        ck_assert_str_eq(key, pairs[i].key);
        ck_assert_str_eq(value, pairs[i].value);
    }
    ck_assert(!husk_safetensors_metadata_get(file, 5, &key, &value));
    ck_assert_ptr_null(husk_safetensors_metadata(file, "none"));
    ck_assert(!husk_safetensors_find(file, "none", NULL));
    husk_safetensors_close(file);
}
END_TEST

START_TEST(nothing_is_a_file_too)
{
    ck_assert_int_eq(husk_safetensors_write(path, NULL, NULL, 0, NULL, 0, &error), HUSK_OK);
    husk_safetensors *file = opened();
    ck_assert_uint_eq(husk_safetensors_count(file), 0);
    ck_assert(!husk_safetensors_find(file, "", NULL));
    husk_safetensors_close(file);
    put("\2\0\0\0\0\0\0\0{}", 10);
    husk_safetensors_close(opened());
    husk_safetensors_close(NULL);
}
END_TEST

// ---- rules ----

// A file of this header and so many bytes behind it.
static void put_file(const char *header, size_t size, size_t data_size)
{
    unsigned char *bytes = calloc(1, 8 + size + data_size);
    for (int i = 0; i < 8; ++i)
        bytes[i] = (unsigned char)((uint64_t)size >> 8 * i);
    memcpy(bytes + 8, header, size);
    put(bytes, 8 + size + data_size);
    free(bytes);
}

#define A_ "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"
#define B_ "\"b\":{\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[8,12]}"

START_TEST(what_the_format_allows_is_taken)
{
    static const struct {
        const char *header;
        size_t data_size, count;
    } right[] = {
        {"{}", 0, 0},
        {"{}      ", 0, 0},
        {"{\"__metadata__\":{}}", 0, 0},
        {"{" A_ "}", 8, 1},
        {"{" B_ "," A_ "}   ", 12, 2},
        {"{ \"a\" : { \"shape\" : [ 2 ] ,\n\t\"data_offsets\" : [ 0 , 8 ] ,\r \"dtype\" : \"F32\" } }", 8, 1},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4, 1},
        {"{\"a\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[0,1]}}", 1, 1},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0,9223372036854775807,9],\"data_offsets\":[8,8]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]}}",
         8, 2},
        {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3],"
         "\"x\":[{\"y\":null},-1.5e+3,[],{},true,\"\\u00e9\"]}}",
         3, 1},
        {"{\"a\":{\"d\\u0074ype\":\"F\\u00332\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, 1},
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; ++i) {
        put_file(right[i].header, strlen(right[i].header), right[i].data_size);
        husk_safetensors *file;
        ck_assert_msg(husk_safetensors_open(path, NULL, &file, &error) == HUSK_OK, "%s: %s", right[i].header,
                      error.text);
        ck_assert_uint_eq(husk_safetensors_count(file), right[i].count);
        husk_safetensors_close(file);
    }
    const char *foreign = "{\"a\":{\"dtype\":\"U16\",\"shape\":[2],\"data_offsets\":[0,4]}}"; // not one of Husk's
    put_file(foreign, strlen(foreign), 4);
    husk_safetensors *file = opened();
    husk_safetensors_entry entry;
    husk_safetensors_get(file, 0, &entry);
    ck_assert_str_eq(entry.dtype_name, "U16");
    ck_assert_int_eq(entry.dtype, -1);
    husk_safetensors_close(file);
}
END_TEST

START_TEST(each_rule_is_broken_once)
{
#define ONE(dtype, shape, offsets) \
    "{\"a\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
    static const struct {
        const char *header;
        size_t data_size;
        const char *words;
    } wrong[] = {
        {"", 0, "begins with"},
        {" {}", 0, "begins with"},
        {"[]", 0, "begins with"},
        {"{}\n", 0, "only spaces follow"},
        {"{}{}", 0, "only spaces follow"},
        {"{", 0, "a text is wanted"},
        {"{" A_, 8, "is wanted"},
        {"{" A_ ",}", 8, "a text is wanted"},
        {"{a:1}", 0, "a text is wanted"},
        {"{\"a}", 0, "does not end"},
        {"{\"a\":1}", 0, "wanted"},
        {"{\"\xff\":1}", 0, "UTF-8"},
        {"{\"\xed\xa0\x80\":1}", 0, "UTF-8"},
        {"{\"\xc0\x80\":1}", 0, "UTF-8"},
        {"{\"\xe2\x82\":1}", 0, "UTF-8"},
        {"{\"\n\":1}", 0, "control character"},
        {"{\"\\q\":1}", 0, "escape"},
        {"{\"\\u12g4\":1}", 0, "hexadecimal"},
        {"{\"\\ud800x\":1}", 0, "surrogate"},
        {"{\"\\udc00\":1}", 0, "surrogate"},
        {"{\"\\ud800\\u0041\":1}", 0, "surrogate"},
        {"{\"\\u0000\":1}", 0, "zero"},
        {"{" A_ "," A_ "}", 8, "overlaps"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},\"a\":{\"dtype\":\"F32\",\"shape\":[0],"
         "\"data_offsets\":[0,0]}}",
         0, "name is there twice"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "__metadata__ is there twice"},
        {"{\"__metadata__\":{\"a\":\"1\",\"b\":\"2\",\"\\u0061\":\"3\"}}", 0, "a key is there twice"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "a text is wanted"},
        {"{\"__metadata__\":[]}", 0, "texts by text"},
        {ONE("F33", "[2]", "[0,8]"), 8, "no such dtype"},
        {ONE("f32", "[2]", "[0,8]"), 8, "no such dtype"},
        {"{\"a\":{\"dtype\":1,\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "a text is wanted"},
        {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "all wanted"},
        {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8, "all wanted"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]             }}", 8, "all wanted"},
        {"{\"a\":{}}", 8, "all wanted"},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "there once"},
        {ONE("F32", "2", "[0,8]"), 8, "shape: a list"},
        {ONE("F32", "[2,]", "[0,8]"), 8, "whole number"},
        {ONE("F32", "[-2]", "[0,8]"), 8, "whole number"},
        {ONE("F32", "[2.0]", "[0,8]"), 8, "whole number"},
        {ONE("F32", "[02]", "[0,8]"), 8, "whole number"},
        {ONE("F32", "[2e0]", "[0,8]"), 8, "whole number"},
        {ONE("F32", "[\"2\"]", "[0,8]"), 8, "whole number"},
        {ONE("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), 8, "8 dimensions"},
        {ONE("F32", "[18446744073709551616]", "[0,8]"), 8, "64 bits"},
        {ONE("F32", "[9223372036854775808]", "[0,8]"), 8, "63 bits"},
        {ONE("F32", "[4611686018427387905,4]", "[0,8]"), 8, "beyond 64 bits"}, // bytes wrap round to 16
        {ONE("F32", "[4294967296,4294967296]", "[0,0]"), 0, "beyond 64 bits"},
        {ONE("F4", "[3]", "[0,1]"), 1, "end with a byte"},
        {ONE("F32", "[2]", "[0]"), 8, "list of two"},
        {ONE("F32", "[2]", "[0,8,9]"), 8, "list of two"},
        {ONE("F32", "[2]", "[8,0]"), 8, "not before they begin"},
        {ONE("F32", "[2]", "[0,8]"), 7, "within the file"},
        {ONE("F32", "[2]", "[18446744073709551608,0]"), 8, "not before they begin"},
        {ONE("F32", "[3]", "[0,8]"), 8, "as far apart"},
        {ONE("F32", "[2]", "[0,8]"), 9, "before the file does"},
        {ONE("F32", "[2]", "[1,9]"), 9, "a hole"},
        {"{" A_ ",\"b\":{\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[9,13]}}", 13, "a hole"},
        {"{" A_ ",\"b\":{\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[7,11]}}", 11, "overlaps"},
        {"{\"a\":{\"a longer name, so that it may be a tensor\":nul}}", 0, "value is wanted"},
        {"{\"a\":{\"a longer name, so that it may be a tensor\":01}}", 0, "value is wanted"},
        {"{\"a\":{\"a longer name, so that it may be a tensor\":1.}}", 0, "digit"},
        {"{\"a\":{\"a longer name, so that it may be a tensor\":{\"y\"}}}", 0, "\":\""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        put_file(wrong[i].header, strlen(wrong[i].header), wrong[i].data_size);
        expect_refused(HUSK_INVALID_ARGUMENT, wrong[i].words);
    }
    put_file("{\0}", 3, 0);
    expect_refused(HUSK_INVALID_ARGUMENT, "a text is wanted");
    char deep[400] = "{\"a\":{\"x\":";
    memset(deep + strlen(deep), '[', 200);
    put_file(deep, strlen(deep), 0);
    expect_refused(HUSK_INVALID_ARGUMENT, "too deep");
}
END_TEST

START_TEST(lengths_that_lie_are_refused_before_memory_is_asked_for)
{
    put("\2\0\0", 3);
    expect_refused(HUSK_INVALID_ARGUMENT, "ends before its header");
    ck_assert_uint_ge(largest, 1); // they are seen
    put("\3\0\0\0\0\0\0\0{}", 10);
    expect_refused(HUSK_INVALID_ARGUMENT, "pass the end of the file");
    ck_assert_uint_le(largest, 4096);
    put("\0\xe1\xf5\5\0\0\0\0{}", 10); // a hundred million
    expect_refused(HUSK_INVALID_ARGUMENT, "pass the end of the file");
    ck_assert_uint_le(largest, 4096);
    put("\1\xe1\xf5\5\0\0\0\0{}", 10); // and one
    expect_refused(HUSK_INVALID_ARGUMENT, "at most 100000000");
    put("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10);
    expect_refused(HUSK_INVALID_ARGUMENT, "at most 100000000");
    ck_assert_uint_le(largest, 4096);
}
END_TEST

START_TEST(a_checksum_is_verified)
{
    const float numbers[64] = {1, 2, 3};
    const husk_safetensors_item item = {"w", numbers, shaped(HUSK_F32, 2, (int64_t[]){8, 8})};
    ck_assert_int_eq(husk_safetensors_write(path, NULL, &item, 1, NULL, 0, &error), HUSK_OK);
    size_t size;
    unsigned char *bytes = get(&size);
    for (size_t i = size - sizeof numbers; i < size; ++i) {
        bytes[i] ^= 1;
        put(bytes, size);
        expect_refused(HUSK_INVALID_ARGUMENT, "damaged");
        bytes[i] ^= 1;
    }
    char *digits = strstr((char *)bytes + 8, "husk.xxh3") + strlen("husk.xxh3\":\"");
    *digits = (char)(*digits == '0' ? '1' : '0');
    put(bytes, size);
    expect_refused(HUSK_INVALID_ARGUMENT, "damaged");
    husk_safetensors *file;
    ck_assert_int_eq(husk_safetensors_open(path, &HUSK_SAFETENSORS_PARAMS(.unverified = 1), &file, &error), HUSK_OK);
    husk_safetensors_close(file);
    free(bytes);
}
END_TEST

// Another tool's digits, or a file that has them elsewhere: what cannot be verified is not taken for verified.
START_TEST(a_header_has_its_checksum_where_it_is_verified)
{
    static const char right[] = "{\"__metadata__\":{\"husk.header\":\"00000000000000000000000000000000\"}}";
    static const char *const wrong[] = {
        "{\"__metadata__\":{\"husk.header\":\"0\"}}",
        "{ \"__metadata__\":{\"husk.header\":\"00000000000000000000000000000000\"}}",
        "{\"__metadata__\":{\"a\":\"b\",\"husk.header\":\"00000000000000000000000000000000\"}}",
        "{\"__metadata__\":{\"husk\\u002eheader\":\"00000000000000000000000000000000\"}}",
    };
    husk_safetensors *file;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        put_file(wrong[i], strlen(wrong[i]), 0);
        expect_refused(HUSK_INVALID_ARGUMENT, "husk.header");
    }
    put_file(right, strlen("{\"__metadata__\":{\"husk.header\":\"0"), 0);
    expect_refused(HUSK_INVALID_ARGUMENT, "does not end");
    put_file(right, strlen(right), 0);
    expect_refused(HUSK_INVALID_ARGUMENT, "its header is damaged: its checksum is ");
    char header[sizeof right];
    memcpy(header, right, sizeof right);
    memcpy(strstr(header, "000"), strstr(error.text, "checksum is ") + strlen("checksum is "), 32);
    put_file(header, strlen(header), 0);
    husk_safetensors_close(opened());
    put_file(right, strlen(right), 0);
    ck_assert_int_eq(husk_safetensors_open(path, &HUSK_SAFETENSORS_PARAMS(.unverified = 1), &file, &error), HUSK_OK);
    husk_safetensors_close(file);
}
END_TEST

START_TEST(every_truncated_file_is_refused)
{
    const float numbers[16] = {1, 2, 3};
    const husk_safetensors_item items[] = {{"w", numbers, shaped(HUSK_F32, 2, (int64_t[]){4, 4})},
                                           {"b", numbers, shaped(HUSK_F16, 1, (int64_t[]){3})}};
    const husk_safetensors_pair pair = {"step", "17"};
    ck_assert_int_eq(husk_safetensors_write(path, NULL, items, 2, &pair, 1, &error), HUSK_OK);
    size_t size;
    unsigned char *bytes = get(&size);
    husk_safetensors_close(opened());
    for (size_t cut = size; cut-- > 0;) {
        ck_assert_int_eq(truncate(path, (off_t)cut), 0);
        expect_refused(HUSK_INVALID_ARGUMENT, ": ");
    }
    bytes = realloc(bytes, size + 1);
    bytes[size] = 0;
    put(bytes, size + 1);
    expect_refused(HUSK_INVALID_ARGUMENT, "before the file does");
    free(bytes);
}
END_TEST

START_TEST(what_is_no_file_is_refused)
{
    expect_refused(HUSK_IO, "cannot be opened");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    expect_refused(HUSK_INVALID_ARGUMENT, "no plain file");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    expect_refused(HUSK_INVALID_ARGUMENT, "no plain file");
    const husk_safetensors_item item = {"w", "x", shaped(HUSK_U8, 0, NULL)};
    ck_assert_int_eq(husk_safetensors_write(path, NULL, &item, 1, NULL, 0, &error), HUSK_IO);
    ck_assert_msg(strstr(error.text, "cannot take its place"), "%s", error.text);
    ck_assert_int_ne(access(part, F_OK), 0);
}
END_TEST

START_TEST(wrong_calls_are_refused)
{
    const float numbers[4] = {0};
    husk_tensor tensor = shaped(HUSK_F32, 1, (int64_t[]){4}), strided = shaped(HUSK_F32, 1, (int64_t[]){4}),
                huge = shaped(HUSK_F32, 2, (int64_t[]){1ll << 40, 1ll << 40});
    strided.strides[0] = 2;
    const struct {
        husk_safetensors_item item[2];
        size_t count;
        const char *words;
    } wrong[] = {
        {{{NULL, numbers, tensor}}, 1, "name is NULL"},
        {{{"__metadata__", numbers, tensor}}, 1, "taken by the format"},
        {{{"\xff", numbers, tensor}}, 1, "UTF-8"},
        {{{"w", NULL, tensor}}, 1, "neither host nor device"},
        {{{"w", numbers, strided}}, 1, "not packed"},
        {{{"w", numbers, huge}}, 1, "too large"},
        {{{"w", numbers, husk_tensor_slice(&tensor, 7, 0, 1, 1)}}, 1, "not packed"},
        {{{"w", numbers, tensor}, {"w", numbers, tensor}}, 2, "twice"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        const husk_status status = husk_safetensors_write(path, NULL, wrong[i].item, wrong[i].count, NULL, 0, &error);
        ck_assert_int_eq(status, HUSK_INVALID_ARGUMENT);
        ck_assert_msg(strstr(error.text, wrong[i].words), "\"%s\" is not in: %s", wrong[i].words, error.text);
        ck_assert_int_ne(access(path, F_OK), 0);
    }
    const husk_safetensors_pair pairs[][2] = {
        {{"a", "1"}, {"a", "2"}}, {{"a", NULL}}, {{"husk.xxh3", "0"}}, {{"husk.header", "0"}}, {{"a", "\x80"}}};
    const char *const words[] = {"twice", "NULL", "the writer's", "the writer's", "UTF-8"};
    for (size_t i = 0; i < 5; ++i) {
        const husk_status status = husk_safetensors_write(path, NULL, NULL, 0, pairs[i], i ? 1 : 2, &error);
        ck_assert_int_eq(status, HUSK_INVALID_ARGUMENT);
        ck_assert_msg(strstr(error.text, words[i]), "%s", error.text);
    }
    const husk_safetensors_item item = {"w", numbers, tensor};
    ck_assert_int_eq(husk_safetensors_write(path, NULL, &item, 1, NULL, 0, NULL), HUSK_OK);
    husk_safetensors *file = opened();
    float to[4];
    ck_assert_int_eq(husk_safetensors_read(file, "v", to, sizeof to, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, "no tensor \"v\""), "%s", error.text);
    ck_assert_int_eq(husk_safetensors_read(file, "w", to, 12, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(truncate(path, 100), 0);
    ck_assert_int_eq(husk_safetensors_read(file, "w", to, sizeof to, &error), HUSK_IO);
    ck_assert_msg(strstr(error.text, "shorter"), "%s", error.text);
    husk_safetensors_close(file);
}
END_TEST

// ---- bad weather while writing ----

enum { WEIGHTS = 20000 };

// Its first number says which one it is, all others follow from it.
static husk_status store(int32_t generation, husk_error *text)
{
    static int32_t numbers[WEIGHTS];
    for (int32_t i = 0; i < WEIGHTS; ++i)
        numbers[i] = generation + i * 7;
    const husk_safetensors_item items[] = {
        {"first", numbers, shaped(HUSK_I32, 1, (int64_t[]){WEIGHTS / 2})},
        {"second", numbers + WEIGHTS / 2, shaped(HUSK_I32, 1, (int64_t[]){WEIGHTS / 2})}};
    return husk_safetensors_write(path, NULL, items, 2, NULL, 0, text);
}

// The generation that is there; -1 where it is not whole. (Without Check, whose messages a child must not write.)
static int32_t load_quietly(void)
{
    static int32_t numbers[WEIGHTS];
    husk_safetensors *file;
    if (husk_safetensors_open(path, NULL, &file, &error))
        return -1;
    bool is_whole = true;
    for (int half = 0; half < 2; ++half)
        is_whole = husk_safetensors_read(file, half ? "second" : "first", numbers + half * (WEIGHTS / 2),
                                         sizeof numbers / 2, &error) == HUSK_OK &&
                   is_whole;
    husk_safetensors_close(file);
    for (int32_t i = 0; i < WEIGHTS; ++i)
        is_whole = is_whole && numbers[i] == numbers[0] + i * 7;
    return is_whole ? numbers[0] : -1;
}

static int32_t load(void)
{
    const int32_t generation = load_quietly();
    ck_assert_msg(generation >= 1, "the file is not whole: %s", error.text);
    return generation;
}

static long count_files(void)
{
    DIR *files = opendir(folder);
    long count = 0;
    ck_assert_ptr_nonnull(files);
    for (const struct dirent *entry; (entry = readdir(files));)
        count += entry->d_name[0] != '.';
    closedir(files);
    return count;
}

// With locks, and without.
START_TEST(every_system_call_fails_once)
{
    long most = 0;
    int32_t stands = 1;
    no_locks = _i ? ENOSYS : 0;
    ck_assert_int_eq(store(stands, &error), HUSK_OK);
    for (long number = 1;; ++number) {
        arm(number);
        const husk_status status = store(stands + 1, &error);
        const long reached = calls;
        arm(0);
        const int32_t found = load();
        ck_assert_msg(count_files() == 1, "call %ld: a part is left", number);
        if (reached < number) {
            ck_assert_int_eq(status, HUSK_OK);
            ck_assert_int_eq(found, stands + 1);
            break;
        }
        // Only the folder's syncing fails when the new file is there.
        const bool is_late = status != HUSK_OK && strstr(error.text, "it is written") != NULL;
        ck_assert_msg(is_late ? found == stands + 1 : status != HUSK_OK && found == stands,
                      "call %ld: status %d, %d is there: %s", number, status, found, error.text);
        ck_assert(status == HUSK_IO || status == HUSK_OUT_OF_HOST_MEMORY);
        stands = found;
        most = number;
    }
    printf("survived: %ld failing calls while writing\n", most);
    ck_assert_int_ge(most, 10);
    for (long number = 1;; ++number) {
        husk_safetensors *file;
        arm(number);
        const husk_status status = husk_safetensors_open(path, NULL, &file, &error);
        const long reached = calls;
        arm(0);
        husk_safetensors_close(file);
        if (reached < number) {
            ck_assert_int_eq(status, HUSK_OK);
            break;
        }
        ck_assert(status == HUSK_IO || status == HUSK_OUT_OF_HOST_MEMORY);
        most = number;
    }
    printf("survived: %ld failing calls while opening\n", most);
    ck_assert_int_ge(most, 8);
}
END_TEST

START_TEST(a_file_is_synced_before_it_is_renamed_and_its_folder_after)
{
    memset(trace, 0, sizeof trace);
    ck_assert_int_eq(store(1, &error), HUSK_OK);
    ck_assert_str_eq(trace, "frf");
}
END_TEST

START_TEST(one_writer_at_a_time)
{
    ck_assert_int_eq(store(1, &error), HUSK_OK);
    const int other = open(part, O_RDWR | O_CREAT, 0600);
    ck_assert_int_eq(flock(other, LOCK_EX), 0);
    ck_assert_int_eq(store(2, &error), HUSK_IO);
    ck_assert_msg(strstr(error.text, "another process"), "%s", error.text);
    ck_assert_int_eq(access(part, F_OK), 0); // it is the other's
    ck_assert_int_eq(load(), 1);
    ck_assert_int_eq(ftruncate(other, 1 << 20), 0);
    close(other); // killed: what it left is written over
    ck_assert_int_eq(store(2, &error), HUSK_OK);
    ck_assert_int_eq(load(), 2);
    ck_assert_int_ne(access(part, F_OK), 0);
    char target[200];
    snprintf(target, sizeof target, "%s/precious", folder);
    ck_assert_int_eq(symlink(target, part), 0); // not followed
    ck_assert_int_eq(store(3, &error), HUSK_IO);
    ck_assert_int_eq(load(), 2);
    ck_assert_int_ne(access(target, F_OK), 0);
}
END_TEST

// Another writer's part stays as it is, and nothing else stays.
START_TEST(without_locks_each_writer_has_its_own_part)
{
    static const int codes[] = {ENOSYS, ENOLCK, EOPNOTSUPP, EINVAL};
    int32_t generation = 1;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; ++i)
        for (int is_there = 0; is_there < 2; ++is_there) {
            struct stat about, others;
            if (is_there)
                ck_assert_int_eq(close(open(part, O_WRONLY | O_CREAT | O_EXCL, 0600)), 0);
            no_locks = codes[i];
            const husk_status status = store(++generation, &error);
            ck_assert_msg(status == HUSK_OK, "%s: %s", strerror(codes[i]), error.text);
            no_locks = 0;
            ck_assert_int_eq(load(), generation);
            ck_assert_int_eq(count_files(), 1 + is_there);
            const mode_t mask = umask(0);
            umask(mask);
            ck_assert_int_eq(stat(path, &about), 0);
            ck_assert_int_eq((int)(about.st_mode & 0777), (int)(0666 & ~mask));
            if (is_there)
                ck_assert(stat(part, &others) == 0 && others.st_size == 0 && unlink(part) == 0);
        }
}
END_TEST

START_TEST(killed_writers_leave_a_whole_file)
{
    enum { KILLS = 100 };
    husk_ref_random draw = {.seed = 7};
    int32_t last = 1;
    int changed = 0, parts = 0;
    ck_assert_int_eq(store(last, &error), HUSK_OK);
    fflush(stdout);
    for (int i = 0; i < KILLS; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            for (int32_t generation = last + 1;; ++generation)
                if (store(generation, NULL))
                    _exit(1);
        }
        ck_assert_int_gt(child, 0); // not in the child: half a message of Check's would stay of one that is killed
        const struct timespec moment = {.tv_nsec = 1000000 + 1000 * husk_ref_random_below(&draw, 9000)};
        nanosleep(&moment, NULL);
        ck_assert_int_eq(kill(child, SIGKILL), 0);
        int status;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(WIFSIGNALED(status));
        const int32_t found = load();
        ck_assert_int_ge(found, last);
        changed += found > last;
        parts += access(part, F_OK) == 0;
        last = found;
    }
    printf("killed: %d writers, %d of them had written, %d were writing\n", KILLS, changed, parts);
    ck_assert_int_ge(changed, 1);
    ck_assert_int_ge(parts, 1);
    ck_assert_int_eq(store(last + 1, &error), HUSK_OK);
    ck_assert_int_ne(access(part, F_OK), 0);
}
END_TEST

// In a child, whose limits and mounts are its own: 0 is all right, 77 that this may not be tried here.
static void in_child(int (*body)(void))
{
    fflush(stdout);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        const int code = body();
        fflush(stdout);
        _exit(code);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        printf("not tried: it takes root, and leave to mount\n");
    else
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
}

static int write_in_vain(void)
{
    if (store(2, &error) != HUSK_IO || !strstr(error.text, "what was there stays"))
        return 2;
    return load_quietly() == 1 && access(part, F_OK) != 0 ? 0 : 3;
}

static int write_beyond_a_limit(void)
{
    signal(SIGXFSZ, SIG_IGN); // as the program has to that sets such a limit
    if (store(1, &error) || setrlimit(RLIMIT_FSIZE, &(struct rlimit){WEIGHTS * 2, WEIGHTS * 2}) != 0)
        return 1;
    return write_in_vain();
}

static int write_on_a_full_disk(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", folder, "tmpfs", 0, "size=140k,mode=700") != 0)
        return 77;
    return store(1, &error) ? 1 : write_in_vain(); // there is room for one of 80 KB
}

START_TEST(a_file_that_may_not_grow_leaves_the_old_one)
{
    in_child(write_beyond_a_limit);
}
END_TEST

START_TEST(a_full_disk_leaves_the_old_one)
{
    in_child(write_on_a_full_disk);
}
END_TEST

// ---- device memory ----

START_TEST(device_memory_is_written_and_read)
{
    enum { LARGE = 1 << 21 }; // more than one piece
    float *numbers = malloc(LARGE * sizeof *numbers), *back = malloc(LARGE * sizeof *back);
    for (int i = 0; i < LARGE; ++i)
        numbers[i] = (float)i;
    husk_queue *queue = test_queue();
    husk_buffer *buffer;
    test_ok_error(husk_buffer_create(test_context(), (LARGE + 3) * sizeof *numbers, &buffer, &error), &error);
    test_ok(husk_buffer_write(queue, buffer, 12, LARGE * sizeof *numbers, numbers));
    husk_tensor tensor = husk_tensor_make(buffer, HUSK_F32, 2, (int64_t[]){2, LARGE / 2});
    tensor.offset = 3;
    const husk_safetensors_item items[] = {{"large", NULL, tensor}, {"host", numbers, shaped(HUSK_F32, 0, NULL)}};
    ck_assert_int_eq(husk_safetensors_write(path, NULL, items, 2, NULL, 0, &error), HUSK_INVALID_ARGUMENT);
    test_ok_error(husk_safetensors_write(path, queue, items, 2, NULL, 0, &error), &error);
    husk_safetensors *file = opened();
    test_ok_error(husk_safetensors_read(file, "large", back, LARGE * sizeof *back, &error), &error);
    ck_assert_mem_eq(back, numbers, LARGE * sizeof *back);
    tensor.offset = 1;
    test_ok_error(husk_safetensors_read_tensor(file, "large", queue, &tensor, &error), &error);
    memset(back, 0, LARGE * sizeof *back);
    test_ok(husk_buffer_read(queue, buffer, 4, LARGE * sizeof *back, back));
    ck_assert_mem_eq(back, numbers, LARGE * sizeof *back);

    husk_tensor other = husk_tensor_make(buffer, HUSK_F32, 2, (int64_t[]){LARGE / 2, 2});
    ck_assert_int_eq(husk_safetensors_read_tensor(file, "large", queue, &other, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, "F32 [2, 1048576] there, and to is F32 [1048576, 2]"), "%s", error.text);
    tensor.offset = 4; // passes the buffer's end
    ck_assert_int_eq(husk_safetensors_read_tensor(file, "large", queue, &tensor, &error), HUSK_INVALID_ARGUMENT);
    husk_safetensors_close(file);
    husk_buffer_release(buffer);
    free(numbers);
    free(back);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("safetensors");
    TCase *cases = tcase_create("files");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, what_is_written_is_read);
    tcase_add_test(cases, nothing_is_a_file_too);
    tcase_add_test(cases, what_the_format_allows_is_taken);
    tcase_add_test(cases, each_rule_is_broken_once);
    tcase_add_test(cases, lengths_that_lie_are_refused_before_memory_is_asked_for);
    tcase_add_test(cases, a_checksum_is_verified);
    tcase_add_test(cases, a_header_has_its_checksum_where_it_is_verified);
    tcase_add_test(cases, every_truncated_file_is_refused);
    tcase_add_test(cases, what_is_no_file_is_refused);
    tcase_add_test(cases, wrong_calls_are_refused);
    suite_add_tcase(suite, cases);
    TCase *weather = tcase_create("weather");
    tcase_add_checked_fixture(weather, setup, teardown);
    tcase_add_loop_test(weather, every_system_call_fails_once, 0, 2);
    tcase_add_test(weather, a_file_is_synced_before_it_is_renamed_and_its_folder_after);
    tcase_add_test(weather, one_writer_at_a_time);
    tcase_add_test(weather, without_locks_each_writer_has_its_own_part);
    tcase_add_test(weather, killed_writers_leave_a_whole_file);
    tcase_add_test(weather, a_file_that_may_not_grow_leaves_the_old_one);
    tcase_add_test(weather, a_full_disk_leaves_the_old_one);
    suite_add_tcase(suite, weather);
    TCase *device = tcase_create("device"); // last: what forks does it without a context
    tcase_add_checked_fixture(device, setup, teardown);
    tcase_add_test(device, device_memory_is_written_and_read);
    suite_add_tcase(suite, device);
    return test_main(suite);
}
