/* Invalid safetensors files, each refused with a sentence; and unusual but valid ones, which are read. */
#include "safetensors/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "support/vectors.h"
#include "support/wraps.h"

static char path[64];

/* Opens the file and closes it. */
static int look(void)
{
    sbn_tensor_file file;
    const int status = sbn__tensor_file_open(&file, path);
    if (!status)
        sbn__tensor_file_close(&file);
    return status;
}

/* A tensor, and a header of one. */
#define T(name, type, shape, places) \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":" places "}"
#define A(type, shape, places) "{" T("a", type, shape, places) "}"

/* Tensors of 9 bytes, in the order neither of their places nor of their names. */
#define CB T("c", "U8", "[4]", "[5,9]") "," T("b", "U8", "[1]", "[0,1]")
#define CBA "{" CB "," T("a", "U8", "[4]", "[1,5]") "}"

/* Headers, each of which is refused. */
static const struct {
    const char *what, *header;
    size_t data;       /* bytes behind it */
    const char *words; /* of the sentence */
} liars[] = {
    {"no JSON", "{\"a\"", 0, "no JSON"},
    {"an array", "[]", 0, "begin with {"},
    {"a space first", " {}", 0, "begin with {"},
    {"two objects", "{}{}", 0, "no JSON"},
    {"NaN", "{\"a\":NaN}", 0, "dtype, shape"},
    {"infinity", A("U8", "[1e999]", "[0,1]"), 1, "\"a\"|shape: expected integers from 0"},
    {"too long an integer", A("U8", "[99999999999999999999]", "[0,1]"), 1,
     "\"a\"|shape: expected integers from 0"},
    {"bad UTF-8", "{\"\x80\":{}}", 0, "no JSON|UTF-8"},
    {"a NUL in a name", "{\"a\\u0000b\":{}}", 0, "no JSON"},
    {"a key twice", "{" T("a", "U8", "[0]", "[0,0]") "," T("a", "U8", "[0]", "[0,0]") "}", 0,
     "\"a\"|duplicate key"},
    {"a key twice, once escaped",
     "{" T("ab", "U8", "[0]", "[0,0]") "," T("\\u0061\\u0062", "U8", "[0]", "[0,0]") "}", 0,
     "\"ab\"|duplicate key"},
    {"a field twice", "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[0]}}", 0, "duplicate"},
    {"no object", "{\"a\":7}", 0, "\"a\"|dtype, shape and data_offsets"},
    {"no dtype", "{\"a\":{\"shape\":[0],\"data_offsets\":[0,0]}}", 0, "dtype, shape"},
    {"no shape", "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,0]}}", 0, "dtype, shape"},
    {"no place", "{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}", 0, "dtype, shape"},
    {"a field more", "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"more\":1}}",
     0, "nothing else"},
    {"an unknown type", A("F31", "[0]", "[0,0]"), 0, "dtype|not known"},
    {"a number as type", "{\"a\":{\"dtype\":32,\"shape\":[0],\"data_offsets\":[0,0]}}", 0,
     "dtype|not known"},
    {"a number as shape", A("U8", "0", "[0,0]"), 0, "shape|array"},
    {"a real as extent", A("U8", "[1.0]", "[0,1]"), 1, "shape|integers"},
    {"a negative extent", A("U8", "[-1]", "[0,1]"), 1, "shape|integers from 0"},
    {"elements that overflow", A("U8", "[4294967296,4294967296]", "[0,0]"), 0, "too many"},
    {"bytes that overflow", A("F64", "[18446744073709551615]", "[0,0]"), 0, "number of bytes"},
    {"half a byte", A("F4", "[3]", "[0,2]"), 2, "number of bytes"},
    {"a size that is not the shape's", A("F32", "[2,3]", "[4,24]"), 24,
     "24 bytes|F32 of [2,3]|got 20"},
    {"one offset", A("U8", "[0]", "[0]"), 0, "expected two integers"},
    {"three offsets", A("U8", "[0]", "[0,0,0]"), 0, "expected two integers"},
    {"a negative offset", A("U8", "[1]", "[-1,0]"), 1, "expected two integers from 0"},
    {"offsets in reverse", A("U8", "[1]", "[1,0]"), 1, "within 1 bytes of data, got [1, 0]"},
    {"no data", CBA, 0, "truncated|9 bytes of data, got 0|\"b\" is the first"},
    {"data cut before the second", CBA, 1, "truncated|9 bytes of data, got 1|\"a\" is the first"},
    {"data cut in the second", CBA, 4, "truncated|9 bytes of data, got 4|\"a\" is the first"},
    {"data cut in the third", CBA, 8, "truncated|9 bytes of data, got 8|\"c\" is the first"},
    {"a size that is not the shape's, beyond the end", A("F32", "[4]", "[0,4000]"), 16,
     "\"a\"|within 16 bytes of data, got [0, 4000]"},
    {"an offset near 2^63", A("U8", "[1]", "[9223372036854775806,9223372036854775807]"), 1,
     "within 1 bytes of data, got ["},
    {"an overlap", "{" T("a", "U8", "[4]", "[0,4]") "," T("b", "U8", "[4]", "[3,7]") "}", 7,
     "\"b\"|overlaps"},
    {"a gap", "{" T("a", "U8", "[4]", "[0,4]") "," T("b", "U8", "[4]", "[5,9]") "}", 9,
     "\"b\"|gap"},
    {"a gap at the start", A("U8", "[1]", "[1,2]"), 2, "gap"},
    {"data behind the last", A("U8", "[1]", "[0,1]"), 2, "1 bytes of data|got 2"},
    {"data and no tensor", "{}", 1, "0 bytes of data|got 1"},
    {"metadata of numbers", "{\"__metadata__\":{\"a\":1}}", 0, "__metadata__|strings"},
    {"metadata of an array", "{\"__metadata__\":[]}", 0, "__metadata__|strings"},
    {"control characters in a name", "{\"a\\u001b[2J\":7}", 0, "\"a?[2J\""},
    {"a C1 control character in a name", "{\"a\xc2\x9b[2J\":7}", 0, "\"a?[2J\""},
    {"an override of direction in a name", "{\"a\xe2\x80\xae[2J\":7}", 0, "\"a?[2J\""},
    {"an isolate and a mark in a name", "{\"a\\u2066\\u200Fb\":7}", 0, "\"a??b\""},
    {"marks of direction and separators in a name",
     "{\"a\\u061c\\u200e\\u2028\\u2029\\u202a\\u202e\\u2069b\":7}", 0, "\"a???????b\""},
    {"the characters beside them in a name", "{\"\\u200d\\u2010\\u2027\\u202f\\u2065\\u206a\":7}",
     0, "\"\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa\""},
    {"metadata twice", "{\"__metadata__\":{},\"__metadata__\":{}}", 0, "__metadata__|duplicate"},
    {"a key of metadata twice", "{\"__metadata__\":{\"a\":\"1\",\"\\u0061\":\"2\"}}", 0,
     "__metadata__|\"a\"|duplicate"},
    {"metadata that ends", "{\"__metadata__\":{\"a\":\"1\"", 0, "no JSON|its end"},
    {"padding with a line", "{}\n", 0, "no JSON|spaces"},
    {"a comma too many", "{\"__metadata__\":{},}", 0, "no JSON|expected a key"},
    {"a comma too many in a shape", A("U8", "[1,]", "[0,1]"), 1, "integers from 0"},
    {"no comma", "{\"__metadata__\":{} \"a\":{}}", 0, "no JSON|byte 22|comma"},
    {"no colon", "{\"a\" {}}", 0, "no JSON|colon"},
    {"a zero in front", A("U8", "[01]", "[0,1]"), 1, "no JSON|comma or ]"},
    {"minus zero", A("U8", "[-0]", "[0,0]"), 0, "shape|integers from 0"},
    {"an exponent in a shape", A("U8", "[1e0]", "[0,1]"), 1, "shape|integers"},
    {"a zero and the end", "{\"a\":0", 0, "dtype, shape"},
    {"a word where a key was expected", "{a:7}", 0, "no JSON|byte 1: expected a key"},
    {"a control character", "{\"a\nb\":7}", 0, "no JSON|control character"},
    {"an unknown escape", "{\"\\x\":7}", 0, "no JSON|escape"},
    {"an escape that ends", "{\"\\", 0, "no JSON|escape"},
    {"three digits", "{\"\\u00e\":7}", 0, "no JSON|four hexadecimal"},
    {"two digits and the end", "{\"\\u00", 0, "no JSON|four hexadecimal"},
    {"four digits and the end", "{\"\\u00e9", 0, "no JSON|string to end"},
    {"a sign among digits", "{\"\\u00@0\":7}", 0, "no JSON|four hexadecimal"},
    {"a letter among digits", "{\"\\u00G0\":7}", 0, "no JSON|four hexadecimal"},
    {"half a pair and the end", "{\"\\ud83d", 0, "no JSON|surrogate"},
    {"half a pair and a sign", "{\"\\ud83d/u\":7}", 0, "no JSON|surrogate"},
    {"half a pair, a sign and digits", "{\"\\ud83d/ude00\":7}", 0, "no JSON|surrogate"},
    {"half a pair and a line", "{\"\\ud83d\\n\":7}", 0, "no JSON|surrogate"},
    {"half a pair and no digits", "{\"\\ud83d\\uDG00\":7}", 0, "no JSON|surrogate"},
    {"half a pair and what follows them", "{\"\\ud83d\\uE000\":7}", 0, "no JSON|surrogate"},
    {"a character above the pairs", "{\"\\uE000\":7}", 0, "dtype, shape"},
    {"a DEL in a name", "{\"a\x7f\":7}", 0, "\"a?\""},
    {"half a pair", "{\"\\ud83d\":7}", 0, "no JSON|surrogate"},
    {"half a pair and another character", "{\"\\ud83d\\u0041\":7}", 0, "no JSON|surrogate"},
    {"a second half", "{\"\\udc00\":7}", 0, "no JSON|no second half of a surrogate"},
    {"UTF-8 whose last bytes are letters", "{\"\xe2zz\":7}", 0, "no JSON|UTF-8"},
    {"UTF-8 in too many bytes", "{\"\xc0\xaf\":7}", 0, "no JSON|UTF-8"},
    {"a surrogate in UTF-8", "{\"\xed\xa0\x80\":7}", 0, "no JSON|UTF-8"},
    {"UTF-8 beyond the last character", "{\"\xf4\x90\x80\x80\":7}", 0, "no JSON|UTF-8"},
    {"UTF-8 that ends", "{\"\xe2\x82", 0, "no JSON|UTF-8"},
    {"a string that ends", "{\"a", 0, "no JSON|string to end"},
    {"a tensor that ends", "{\"a\":{\"dtype\":\"U8\"", 0, "no JSON|its end"},
    {"an offset of 2^64", A("U8", "[1]", "[0,18446744073709551616]"), 1,
     "expected two integers from 0"},
    {"an offset of 2^64 - 1", A("U8", "[1]", "[0,18446744073709551615]"), 1,
     "got [0, 18446744073709551615]"},
};

static void check_liars(void)
{
    for (size_t i = 0; i < sizeof liars / sizeof *liars; ++i) {
        vectors_write(path, liars[i].header, strlen(liars[i].header), 0, liars[i].data);
        expect(look(), SBN_INVALID_FILE, liars[i].words, liars[i].what);
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
        {"a header far beyond it", 1 << 24,
         "16777216 bytes, the file has 10: the file is truncated"},
        {"a header as long as may be", 100000000, "100000000 bytes, the file has 10"},
        {"a header over the limit", 100000001,
         "would have 100000001 bytes, at most 100000000 are allowed"},
        {"a truncated file that begins as gzip does", 0x8b1f,
         "35615 bytes, the file has 10: the file is truncated"},
        {"a header above 2^63, as gzip begins", (uint64_t)0x80 << 56 | 0x8b1f, "file compressed"},
        {"a header of 2^64 - 1", UINT64_MAX, "would have 18446744073709551615 bytes"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; ++i) {
        vectors_write(path, "{}", lies[i].length, 0, 0);
        expect(look(), SBN_INVALID_FILE, lies[i].words, lies[i].what);
        tap_ok(lies[i].length > 2 || !strstr(sbn_last_error(), "truncated"), "a whole file");
    }
    vectors_write(path, "{}", 100000001, 0, 0);
    expect(WITH_FAILURE(WRAP_PREAD, 2, look()), SBN_IO_ERROR, "reading it",
           "a file that cannot be read a second time, for its kind");
    /* Cut at every length: none is a whole file. */
    static const char header[] =
        "{\"\\n\\u00e9\\ud83d\\ude00\xc3\xa9\":{\"dtype\":\"U8\",\"shape\":[4 "
        ",25],\"data_offsets\":[0,100]}}  ";
    const size_t whole = 8 + strlen(header) + 100;
    int refused = 0;
    for (size_t size = 0; size < whole; ++size) {
        vectors_write(path, header, strlen(header), 0, 100);
        if (truncate(path, (off_t)size) == 0)
            refused += look() == SBN_INVALID_FILE &&
                       (size < 2 || !strstr(sbn_last_error(), "at least 8 bytes") == (size >= 8));
    }
    tap_ok(refused == (int)whole, "%d of %d truncated files are refused", refused, (int)whole);
    int wrong = 0; /* a text behind whose end another goes on: two spaces, at last */
    for (size_t length = 1; length < sizeof header; ++length) {
        char text[sizeof header];
        sbn_tensor_header cut = {0};
        size_t byte = length + 1;
        strcpy(text, header);
        if (sbn__tensor_header_parse(&cut, text, length, 100, "a"))
            sscanf(sbn_last_error(), "a: its header is no JSON: byte %zu", &byte);
        wrong += length + 3 < sizeof header ? byte > length : !cut.count;
        sbn__tensor_header_free(&cut);
    }
    tap_ok(!wrong, "headers are read to their ends: %d are not", wrong);
}

static void check_places(void)
{
    static const int interrupted[] = {WRAP_OPEN, WRAP_PREAD};
    vectors_write(path, "{}", 2, 0, 0);
    wraps_errno = EINTR;
    for (size_t i = 0; i < sizeof interrupted / sizeof *interrupted; ++i) {
        const int status = WITH_FAILURE(interrupted[i], 1, look());
        tap_ok(!status, "%s is interrupted, and made again: %s", wraps_names[interrupted[i]],
               sbn_strerror(status));
    }
    wraps_errno = EIO;
    unlink(path);
    expect(look(), SBN_IO_ERROR, "opening it|No such file", "no file");
    mkdir(path, 0700);
    expect(look(), SBN_IO_ERROR, "not a regular file", "a folder");
    rmdir(path);
    mkfifo(path, 0600);
    expect(look(), SBN_IO_ERROR, "not a regular file", "a pipe that nobody writes");
    unlink(path);
}

/* Odd but true: an unaligned header, spaces behind, empty tensors at one place, in no order. */
static void check_odd(void)
{
    static const char *const names[] = {"a", "b", "e", "z"};
    const char *header = "{\"z\":{\"dtype\":\"F32\",\"shape\":[0,7],\"data_offsets\":[0,0]},"
                         "\"a\":{\"data_offsets\":[0,8],\"shape\":[],\"dtype\":\"I64\"},"
                         "\"b\":{\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[8,10]},"
                         "\"e\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[8,8]}}    ";
    sbn_tensor_file file;
    vectors_write(path, header, strlen(header), 0, 10);
    must(sbn__tensor_file_open(&file, path), "odd but true");
    const sbn_tensor *a = sbn__tensor_header_find(&file.header, "a");
    int64_t value = 77;
    char byte = 77;
    float none = 77;
    tap_ok(file.header.count == 4 && a && a->elements == 1 &&
               !sbn__tensor_read_integer(&file, a, &value) && value == 0 &&
               !sbn__tensor_read(&file, a, 7, &byte, 1) && byte == 0 &&
               !sbn__tensor_read_floats(&file, &file.header.tensors[3], &none) && none == 77,
           "a scalar is read, its last byte, and none of no floats");
    for (size_t i = 0; i < 4; ++i)
        tap_ok(sbn__tensor_header_find(&file.header, names[i]) == &file.header.tensors[i],
               "%s is found, and stands by its name", names[i]);
    tap_ok(!sbn__tensor_header_find(&file.header, "c"), "what is not there is not found");
    /* The file is cut while it is open. */
    if (truncate(path, 20) == 0)
        expect(sbn__tensor_read_integer(&file, a, &value), SBN_INVALID_FILE, "shorter",
               "a file that shrinks");
    sbn__tensor_file_close(&file);
}

/* Eight elements of each type of the format have as many bytes as one has bits. */
static void check_types(void)
{
    static const char *const types = "BOOL 8 F4 4 F6_E2M3 6 F6_E3M2 6 U8 8 I8 8 F8_E5M2 8 F8_E4M3 "
                                     "8 F8_E8M0 8 F8_E4M3FNUZ 8 F8_E5M2FNUZ 8 I16 16 U16 16 F16 16 "
                                     "BF16 16 I32 32 U32 32 F32 32 C64 64 F64 64 I64 64 U64 64 ";
    char name[16], header[128];
    int bits, length;
    for (const char *at = types; sscanf(at, "%15s %d %n", name, &bits, &length) == 2;
         at += length) {
        snprintf(header, sizeof header, A("%s", "[8]", "[0,%d]"), name, bits);
        vectors_write(path, header, strlen(header), 0, (size_t)bits);
        tap_ok(!look(), "%s: %d bits: %s", name, bits, sbn_last_error());
    }
}

/* Other parts of JSON: space between tokens, and escaped characters. */
static void check_json(void)
{
    const char *header =
        "{ \"\\u00e9\\ud83d\\ude00\\ud800\\udc00\\/\\\"\" :\t{\"shape\": [ 2 , 3\r\n], "
        "\"\\u0064type\": \"U8\", \"data_offsets\":[ 0 ,6 ] } ,\n"
        "\"__metadata__\":{\"k\\u0009\\u0080\\u0800\": \"\\b \\f\\n\", "
        "\"\" :\"\xc3\xa9\xee\x80\x80\xf4\x8f\xbf\xbf\"}}";
    sbn_tensor_file file;
    vectors_write(path, header, strlen(header), 0, 6);
    must(sbn__tensor_file_open(&file, path), "spaces and escapes");
    const sbn_tensor_header *read = &file.header;
    const sbn_tensor *tensor =
        sbn__tensor_header_find(read, "\xc3\xa9\xf0\x9f\x98\x80\xf0\x90\x80\x80/\"");
    tap_ok(tensor && strcmp(tensor->shape, "[2,3]") == 0 && sbn__shape_dims(tensor->shape) == 2 &&
               sbn__shape_dims("[]") == 0 && tensor->elements == 6,
           "spaces and escapes: the name is in UTF-8, the shape without spaces");
    static const char pairs[] =
        "k\t\xc2\x80\xe0\xa0\x80\0\b \f\n\0\0\xc3\xa9\xee\x80\x80\xf4\x8f\xbf\xbf";
    tap_ok(read->metadata.count == 2 && memcmp(read->metadata.strings, pairs, sizeof pairs) == 0,
           "the metadata too");
    sbn__tensor_file_close(&file);
}

/* Names, metadata and more data than is copied at once, written as they were read. */
static void check_written(void)
{
    const char *header = "{\"__metadata__\":{\"\\u0001\\r\":\"\\\\ \\t\",\"bbbbbbbbbb\":\"\"},"
                         "\"\\u001f\\\"\":{\"dtype\":\"U8\",\"shape\":[10000],\"data_offsets\":["
                         "0,10000]}}";
    static unsigned char wanted[10000], got[10000];
    sbn_tensor_file old, new;
    vectors_write(path, header, strlen(header), 0, 0);
    FILE *file = fopen(path, "ab");
    for (size_t i = 0; i < sizeof wanted; ++i)
        putc(wanted[i] = (unsigned char)(i ^ i >> 8), file);
    fclose(file);
    must(sbn__tensor_file_open(&old, path), "open");
    const sbn_tensor *tensor = old.header.tensors;
    sbn_new_tensor made = {tensor->name, tensor->type, tensor->shape, sizeof wanted, NULL, tensor};
    must(sbn__tensor_file_write(path, &old, &old.header.metadata, &made, 1), "write");
    must(sbn__tensor_file_open(&new, path), "open again");
    static const char pairs[] = "\1\r\0\\ \t\0bbbbbbbbbb\0";
    tap_ok(new.header.metadata.count == 2 &&
               memcmp(new.header.metadata.strings, pairs, sizeof pairs) == 0 &&
               strcmp(new.header.tensors->name, "\x1f\"") == 0 && new.data % 8 == 0,
           "names and metadata are written as they were read");
    must(sbn__tensor_read(&new, new.header.tensors, 0, got, sizeof got), "read");
    tap_ok(memcmp(got, wanted, sizeof got) == 0, "the data too");
    sbn__tensor_file_close(&new);

    const sbn_tensor_metadata none = {NULL, 0};
    sbn_new_tensor several[] = {made, made, made};
    several[0].name = "b", several[1].name = "c", several[2].name = "a";
    must(sbn__tensor_file_write(path, &old, &none, several, 3), "write");
    must(sbn__tensor_file_open(&new, path), "open");
    tap_ok(new.header.count == 3 && new.header.tensors[1].begin == 10000 &&
               new.header.tensors[2].begin == 20000 && !new.header.metadata.strings,
           "tensors of one type in the order of their names, without metadata");
    sbn__tensor_file_close(&new);
    char *many = calloc(1, SBN_TENSOR_HEADER_LIMIT + 1);
    must(many ? SBN_SUCCESS : SBN_OUT_OF_MEMORY, "calloc");
    made.shape = memset(many, '1', SBN_TENSOR_HEADER_LIMIT);
    expect(sbn__tensor_file_write(path, &old, &none, &made, 1), SBN_INVALID_FILE,
           "its header would have 1000000|100000000 may be", "too long a header");
    free(many);
    sbn__tensor_file_close(&old);
}

/* Sentences show the beginning of a long name, in whole characters, and dots. */
static void check_shown(void)
{
    char name[1000] = "";
    for (int i = 0; i < 300; ++i)
        strcat(name, "\xe2\x82\xac");
    const sbn_shown shown = sbn__show(name);
    const size_t length = strlen(shown.text);
    tap_ok(length == sizeof shown.text - 1 && strncmp(shown.text, name, length - 3) == 0 &&
               strcmp(shown.text + length - 3, "...") == 0,
           "a long name: %s", shown.text);
    name[length] = '\0';
    tap_ok(strcmp(sbn__show(name).text, name) == 0, "one that just fits: %s", name);
    tap_ok(strcmp(sbn__show("[1,22,333]").text, "[1,22,333]") == 0, "a shape as it is in the file");
    char extents[1000] = "[1";
    for (int i = 0; i < 400; ++i)
        strcat(extents, ",1");
    tap_ok(strlen(sbn__show(extents).text) == 99 && strstr(sbn__show(extents).text, "..."),
           "a long shape: %s", sbn__show(extents).text);
    tap_ok(strcmp(sbn__show("a\xff\xe2\x80\xa8\x7f \xc2\xa0\xe0\xa0\x80").text,
                  "a??? \xc2\xa0\xe0\xa0\x80") == 0,
           "bytes that are not UTF-8, and characters beside those that are not shown");
}

int main(void)
{
    const long at_start = sbn__handles_open();
    close(0); /* a descriptor as good as any */
    snprintf(path, sizeof path, "safetensors-%ld.tmp", (long)getpid());
    check_liars();
    check_lengths();
    check_places();
    check_odd();
    check_types();
    check_json();
    check_written();
    check_shown();
    unlink(path);
    tap_ok(sbn__handles_open() == at_start && dup(1) == 0, "no handle is left open");
    return tap_done();
}
