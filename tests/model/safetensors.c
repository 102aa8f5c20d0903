/*
 * Invalid safetensors files, each refused with a sentence; and unusual but valid ones, which are
 * read.
 */
#include "model/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <syncbn.h>

#include "base/memory.h"
#include "support/tap.h"

static char path[64];

/* Writes a file of a header, said to have `length` bytes, and of `data` zeros. */
static void write_file(const char *header, uint64_t length, size_t data)
{
    FILE *file = fopen(path, "wb");
    for (int i = 0; i < 8; ++i)
        putc((int)(length >> 8 * i & 255), file);
    fputs(header, file);
    for (size_t i = 0; i < data; ++i)
        putc(0, file);
    fclose(file);
}

static int holds(const char *sentence, const char *words)
{
    while (*words) {
        char word[128];
        const size_t length = strcspn(words, "|");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        if (!strstr(sentence, word))
            return 0;
        words += length + (words[length] == '|');
    }
    return 1;
}

static void refuse(int expected, const char *words, const char *what)
{
    sbn_tensor_file file;
    const int status = sbn__tensor_file_open(&file, path);
    tap_ok(status == expected && holds(sbn_last_error(), words), "%s: expected %s (%s), got %s: %s",
           what, sbn_strerror(expected), words, sbn_strerror(status), sbn_last_error());
    if (!status)
        sbn__tensor_file_close(&file);
}

static const struct {
    const char *what, *header;
    size_t data;
    const char *words;
} liars[] = {
    {"no JSON", "{\"a\"", 0, "no JSON"},
    {"an array", "[]", 0, "begin with {"},
    {"a space first", " {}", 0, "begin with {"},
    {"two objects", "{}{}", 0, "no JSON"},
    {"NaN", "{\"a\":NaN}", 0, "no JSON"},
    {"infinity", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1e999],\"data_offsets\":[0,1]}}", 1,
     "\"a\"|shape: expected integers from 0"},
    {"too long an integer",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[99999999999999999999],\"data_offsets\":[0,1]}}", 1,
     "\"a\"|shape: expected integers from 0"},
    {"bad UTF-8", "{\"\xff\":{}}", 0, "no JSON"},
    {"a NUL in a name", "{\"a\\u0000b\":{}}", 0, "no JSON"},
    {"a key twice",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
     "\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
     0, "\"a\"|duplicate key"},
    {"a key twice, once escaped",
     "{\"ab\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
     "\"\\u0061\\u0062\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
     0, "\"ab\"|duplicate key"},
    {"a field twice", "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[0]}}", 0, "duplicate"},
    {"no object", "{\"a\":7}", 0, "\"a\"|dtype, shape and data_offsets"},
    {"no dtype", "{\"a\":{\"shape\":[0],\"data_offsets\":[0,0]}}", 0, "dtype, shape"},
    {"no shape", "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,0]}}", 0, "dtype, shape"},
    {"no place", "{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}", 0, "dtype, shape"},
    {"a field more", "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"more\":1}}",
     0, "nothing else"},
    {"an unknown type", "{\"a\":{\"dtype\":\"F31\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0,
     "dtype|not known"},
    {"a number as type", "{\"a\":{\"dtype\":32,\"shape\":[0],\"data_offsets\":[0,0]}}", 0,
     "dtype|not known"},
    {"a number as shape", "{\"a\":{\"dtype\":\"U8\",\"shape\":0,\"data_offsets\":[0,0]}}", 0,
     "shape|array"},
    {"a real as extent", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1.0],\"data_offsets\":[0,1]}}", 1,
     "shape|integers"},
    {"a negative extent", "{\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,1]}}", 1,
     "shape|integers from 0"},
    {"elements that overflow",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
     "too many"},
    {"bytes that overflow",
     "{\"a\":{\"dtype\":\"F64\",\"shape\":[2305843009213693952],\"data_offsets\":[0,0]}}", 0,
     "number of bytes"},
    {"half a byte", "{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2,
     "number of bytes"},
    {"a size that is not the shape's",
     "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,20]}}", 20,
     "24 bytes|F32 of [2, 3]|got 20"},
    {"one offset", "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0]}}", 0,
     "expected two integers"},
    {"three offsets", "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0,0]}}", 0,
     "expected two integers"},
    {"a negative offset", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[-1,0]}}", 1,
     "expected two integers from 0"},
    {"offsets in reverse", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,0]}}", 1,
     "within 1 bytes of data, got [1, 0]"},
    {"data beyond the end", "{\"a\":{\"dtype\":\"U8\",\"shape\":[9],\"data_offsets\":[0,9]}}", 8,
     "truncated|9 bytes of data, got 8|\"a\" is the first"},
    {"an offset near 2^63",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":"
     "[9223372036854775806,9223372036854775807]}}",
     1, "within 1 bytes of data, got ["},
    {"an overlap",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[3,7]}}",
     7, "\"b\"|overlaps"},
    {"the same place twice",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
     4, "overlaps"},
    {"a gap",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[5,9]}}",
     9, "\"b\"|gap"},
    {"a gap at the start", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}", 2,
     "gap"},
    {"data behind the last", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 2,
     "1 bytes of data|got 2"},
    {"data and no tensor", "{}", 3, "0 bytes of data|got 3"},
    {"metadata of numbers", "{\"__metadata__\":{\"a\":1}}", 0, "__metadata__|strings"},
    {"metadata of an array", "{\"__metadata__\":[]}", 0, "__metadata__|strings"},
    {"control characters in a name", "{\"a\\u001b[2J\":7}", 0, "\"a?[2J\""},
    {"a C1 control character in a name", "{\"a\xc2\x9b[2J\":7}", 0, "\"a?[2J\""},
    {"an override of direction in a name", "{\"a\xe2\x80\xae[2J\":7}", 0, "\"a?[2J\""},
    {"an isolate and a mark in a name", "{\"a\\u2066\\u200Fb\":7}", 0, "\"a??b\""},
    {"metadata twice", "{\"__metadata__\":{},\"__metadata__\":{}}", 0, "__metadata__|duplicate"},
    {"a key of metadata twice", "{\"__metadata__\":{\"a\":\"1\",\"b\":\"\",\"\\u0061\":\"2\"}}", 0,
     "__metadata__|\"a\"|duplicate"},
    {"metadata that ends", "{\"__metadata__\":{\"a\":\"1\"", 0, "no JSON|its end"},
    {"metadata of an object", "{\"__metadata__\":{\"a\":{}}}", 0, "__metadata__|strings"},
    {"padding with a line", "{}\n", 0, "no JSON|spaces"},
    {"padding with a tab", "{}  \t", 0, "no JSON|spaces"},
    {"a comma too many", "{\"__metadata__\":{},}", 0, "no JSON|expected a key"},
    {"a comma too many in a shape",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[1,],\"data_offsets\":[0,1]}}", 1, "integers from 0"},
    {"no comma", "{\"__metadata__\":{} \"a\":{}}", 0, "no JSON|byte 22|comma"},
    {"no colon", "{\"a\" {}}", 0, "no JSON|colon"},
    {"a zero in front", "{\"a\":{\"dtype\":\"U8\",\"shape\":[01],\"data_offsets\":[0,1]}}", 1,
     "no JSON|comma or ]"},
    {"a minus alone", "{\"a\":-}", 0, "no JSON|number"},
    {"a point alone", "{\"a\":1.}", 0, "no JSON|number"},
    {"an exponent alone", "{\"a\":1e+}", 0, "no JSON|number"},
    {"minus zero", "{\"a\":{\"dtype\":\"U8\",\"shape\":[-0],\"data_offsets\":[0,0]}}", 0,
     "shape|integers from 0"},
    {"true as a tensor", "{\"a\":true}", 0, "\"a\"|dtype, shape"},
    {"an unknown word", "{\"a\":nul}", 0, "no JSON|value"},
    {"a control character", "{\"a\nb\":7}", 0, "no JSON|control character"},
    {"an unknown escape", "{\"\\x\":7}", 0, "no JSON|escape"},
    {"an escape that ends", "{\"\\", 0, "no JSON|escape"},
    {"three digits", "{\"\\u00e\":7}", 0, "no JSON|four hexadecimal"},
    {"half a pair", "{\"\\ud83d\":7}", 0, "no JSON|surrogate"},
    {"half a pair and another character", "{\"\\ud83d\\u0041\":7}", 0, "no JSON|surrogate"},
    {"a second half", "{\"\\ude00\":7}", 0, "no JSON|surrogate"},
    {"UTF-8 in too many bytes", "{\"\xc0\xaf\":7}", 0, "no JSON|UTF-8"},
    {"a surrogate in UTF-8", "{\"\xed\xa0\x80\":7}", 0, "no JSON|UTF-8"},
    {"UTF-8 beyond the last character", "{\"\xf4\x90\x80\x80\":7}", 0, "no JSON|UTF-8"},
    {"UTF-8 that ends", "{\"\xe2\x82", 0, "no JSON|UTF-8"},
    {"a string that ends", "{\"a", 0, "no JSON|string to end"},
    {"a tensor that ends", "{\"a\":{\"dtype\":\"U8\"", 0, "no JSON|its end"},
    {"an offset of 2^64",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,18446744073709551616]}}", 1,
     "expected two integers from 0"},
    {"an offset of 2^64 - 1",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,18446744073709551615]}}", 1,
     "got [0, 18446744073709551615]"},
};

static void check_liars(void)
{
    for (size_t i = 0; i < sizeof liars / sizeof *liars; ++i) {
        write_file(liars[i].header, strlen(liars[i].header), liars[i].data);
        refuse(SBN_INVALID_FILE, liars[i].words, liars[i].what);
    }
}

static void check_lengths(void)
{
    static const struct {
        const char *what;
        uint64_t length;
        const char *words;
    } lies[] = {
        {"no header", 0, "0 bytes"},
        {"a header of one byte", 1, "1 bytes"},
        {"a header beyond the end", 3, "3 bytes|the file has 10"},
        {"a header over the limit", 100000001, "at most 100000000 bytes, got 100000001"},
        {"a header of 2^63", (uint64_t)1 << 63, "got 9223372036854775808"},
        {"a header of 2^64 - 1", UINT64_MAX, "got 18446744073709551615"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; ++i) {
        write_file("{}", lies[i].length, 0);
        refuse(SBN_INVALID_FILE, lies[i].words, lies[i].what);
    }
    /* Cut at every length: none is a whole file. */
    const char *header = "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}";
    const size_t whole = 8 + strlen(header) + 4;
    int refused = 0;
    for (size_t size = 0; size < whole; ++size) {
        sbn_tensor_file file;
        write_file(header, strlen(header), 4);
        if (truncate(path, (off_t)size) == 0)
            refused += sbn__tensor_file_open(&file, path) == SBN_INVALID_FILE;
    }
    tap_ok(refused == (int)whole, "%d of %d truncated files are refused", refused, (int)whole);
}

/* JSON as deep as the header may be long. */
static void check_depth(void)
{
    enum { DEPTH = 1000000 };
    char *deep = malloc(DEPTH + 16);
    strcpy(deep, "{\"a\":");
    memset(deep + 5, '[', DEPTH);
    deep[5 + DEPTH] = '\0';
    write_file(deep, strlen(deep), 0);
    refuse(SBN_INVALID_FILE, "\"a\"|dtype, shape", "a million brackets");
    strcpy(deep, "{\"a\":{\"shape\":");
    memset(deep + strlen(deep), '[', DEPTH - 16);
    write_file(deep, strlen(deep), 0);
    refuse(SBN_INVALID_FILE, "\"a\"|shape", "a million brackets in a shape");
    free(deep);
}

static void check_places(void)
{
    unlink(path);
    refuse(SBN_IO_ERROR, "opening it|No such file", "no file");
    mkdir(path, 0700);
    refuse(SBN_IO_ERROR, "not a regular file", "a folder");
    rmdir(path);
    mkfifo(path, 0600);
    refuse(SBN_IO_ERROR, "not a regular file", "a pipe that nobody writes");
    unlink(path);
    sbn_tensor_file file;
    tap_ok(sbn__tensor_file_open(&file, NULL) == SBN_INVALID_ARGUMENT &&
               holds(sbn_last_error(), "path|NULL"),
           "no name: %s", sbn_last_error());
}

/* Odd but true: an unaligned header, spaces behind, empty tensors, all of them at one place. */
static void check_odd(void)
{
    const char *header = "{\"z\":{\"dtype\":\"F32\",\"shape\":[0,7],\"data_offsets\":[0,0]},"
                         "\"a\":{\"data_offsets\":[0,8],\"shape\":[],\"dtype\":\"I64\"},"
                         "\"b\":{\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[8,10]},"
                         "\"e\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[8,8]}}    ";
    sbn_tensor_file file;
    write_file(header, strlen(header), 10);
    const int status = sbn__tensor_file_open(&file, path);
    tap_ok(!status && file.header.count == 4 && strlen(header) % 8 != 0, "odd but true: %s",
           sbn_last_error());
    if (status)
        return;
    const sbn_tensor *a = sbn__tensor_header_find(&file.header, "a");
    int64_t value = 77;
    tap_ok(a && a->elements == 1 && !sbn__tensor_read_integer(&file, a, &value) && value == 0,
           "a scalar is read");
    tap_ok(!sbn__tensor_header_find(&file.header, "c"), "what is not there is not found");
    /* The file is cut while it is open. */
    if (truncate(path, 20) == 0)
        tap_ok(sbn__tensor_read_integer(&file, a, &value) == SBN_INVALID_FILE &&
                   holds(sbn_last_error(), "shorter"),
               "a file that shrinks: %s", sbn_last_error());
    sbn__tensor_file_close(&file);
}

/* Other parts of JSON: space between tokens, and escaped characters. */
static void check_json(void)
{
    const char *header =
        "{ \"\\u00e9\\ud83d\\ude00\\/\\\"\" :\t{\"shape\": [ 2 , 3\r\n], \"\\u0064type\": \"U8\", "
        "\"data_offsets\":[ 0 ,6 ] } ,\n\"__metadata__\":{\"k\\u0009\": \"\\b\\f\\n\", "
        "\"\" :\"\xc3\xa9\"}}";
    const sbn_tensor_header *read;
    sbn_tensor_file file;
    write_file(header, strlen(header), 6);
    if (!tap_ok(sbn__tensor_file_open(&file, path) == SBN_SUCCESS, "spaces and escapes: %s",
                sbn_last_error()))
        return;
    read = &file.header;
    const sbn_tensor *tensor = sbn__tensor_header_find(read, "\xc3\xa9\xf0\x9f\x98\x80/\"");
    tap_ok(tensor && strcmp(tensor->shape, "[2,3]") == 0 && sbn__shape_dims(tensor->shape) == 2 &&
               tensor->elements == 6,
           "the name is in UTF-8, the shape without spaces");
    static const char pairs[] = "k\t\0\b\f\n\0\0\xc3\xa9";
    tap_ok(read->metadata.count == 2 && memcmp(read->metadata.strings, pairs, sizeof pairs) == 0,
           "the metadata too");
    sbn__tensor_file_close(&file);
}

/* Sentences show the beginning of a long name, in whole characters, and dots. */
static void check_shown(void)
{
    char name[1000] = "";
    for (int i = 0; i < 300; ++i)
        strcat(name, "\xe2\x82\xac");
    const sbn_shown shown = sbn__show(name), shape = sbn__show_shape("[1,22,333]");
    const size_t length = strlen(shown.text);
    tap_ok(length < sizeof shown.text && length % 3 == 0 && length > 90 &&
               strncmp(shown.text, name, length - 3) == 0 &&
               strcmp(shown.text + length - 3, "...") == 0,
           "a long name: %s", shown.text);
    tap_ok(strcmp(shape.text, "[1, 22, 333]") == 0, "a shape: %s", shape.text);
    char extents[1000] = "[1";
    for (int i = 0; i < 400; ++i)
        strcat(extents, ",1");
    tap_ok(strlen(sbn__show_shape(extents).text) < sizeof shape.text &&
               strstr(sbn__show_shape(extents).text, "..."),
           "a long shape: %s", sbn__show_shape(extents).text);
    tap_ok(strcmp(sbn__show("a\xff\xe2\x80\xa8\x7f").text, "a???") == 0,
           "bytes that are not UTF-8");
}

int main(void)
{
    const long at_start = sbn__handles_open();
    snprintf(path, sizeof path, "safetensors-%ld.tmp", (long)getpid());
    check_liars();
    check_lengths();
    check_depth();
    check_places();
    check_odd();
    check_json();
    check_shown();
    unlink(path);
    tap_ok(sbn__handles_open() == at_start, "no handle is left open");
    return tap_done();
}
