#include "safetensors/parse.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"

int sbn__parse_fail(const char *path, const char *name, const char *what)
{
    return sbn__fail(SBN_INVALID_FILE, "%s: tensor \"%s\": %s", path, sbn__show(name).text, what);
}

int sbn__parse_fail_place(const sbn_parse *p, const sbn_tensor *tensor)
{
    return sbn__fail(SBN_INVALID_FILE,
                     "%s: tensor \"%s\": data_offsets: expected a range within %" PRIu64
                     " bytes of data, got [%" PRIu64 ", %" PRIu64 "]",
                     p->path, sbn__show(tensor->name).text, p->data_size, tensor->begin,
                     tensor->end);
}

int sbn__parse_fail_json(const sbn_parse *p, const char *error)
{
    return sbn__fail(SBN_INVALID_FILE, "%s: its header is no JSON: byte %zu: %s", p->path,
                     (size_t)(p->reader.at - p->reader.begin), error);
}

/* Fails as sbn__parse_expect because of an unexpected token, or by the reader's error if there is none. */
static int refuse(const sbn_parse *p, int token, const char *name, const char *what)
{
    if (token == SBN_JSON_ERROR)
        return sbn__parse_fail_json(p, p->reader.error);
    if (token == SBN_JSON_END)
        return sbn__parse_fail_json(p, "expected more, got its end");
    return name ? sbn__parse_fail(p->path, name, what) : sbn__parse_fail_json(p, what);
}

int sbn__parse_expect(sbn_parse *p, int wanted, const char *name, const char *what)
{
    const int token = sbn__json_next(&p->reader);
    return token == wanted ? SBN_SUCCESS : refuse(p, token, name, what);
}

int sbn__parse_key(sbn_parse *p, int *more)
{
    const int first = !*more;
    int token = sbn__json_next(&p->reader);
    *more = token != '}';
    if (!*more)
        return SBN_SUCCESS;
    if (!first && token != ',')
        return refuse(p, token, NULL, "expected a comma or }");
    if (!first)
        token = sbn__json_next(&p->reader);
    return token == SBN_JSON_STRING ? sbn__parse_expect(p, ':', NULL, "expected a colon")
                                    : refuse(p, token, NULL, "expected a key");
}

/* The text without spaces is not longer; it takes the place of the field's name. */
static int parse_shape(sbn_parse *p, sbn_tensor *tensor)
{
    sbn_json_reader *r = &p->reader;
    const int status = sbn__parse_expect(p, '[', tensor->name, "shape: expected an array");
    if (status)
        return status;
    char *to = r->string;
    tensor->shape = to;
    tensor->elements = 1;
    *to++ = '[';
    int token = sbn__json_next(r);
    int more = token != ']';
    while (more) {
        if (token != SBN_JSON_NATURAL)
            return refuse(p, token, tensor->name, "shape: expected integers from 0");
        if (__builtin_mul_overflow(tensor->elements, r->natural, &tensor->elements))
            return sbn__parse_fail(p->path, tensor->name, "shape: its elements are too many");
        const size_t digits = (size_t)(r->at - r->token);
        memmove(to, r->token, digits);
        to += digits;
        token = sbn__json_next(r);
        more = token == ',';
        if (!more && token != ']')
            return refuse(p, token, NULL, "expected a comma or ]");
        if (more) {
            *to++ = ',';
            token = sbn__json_next(r);
        }
    }
    strcpy(to, "]");
    return SBN_SUCCESS;
}

static int parse_offsets(sbn_parse *p, sbn_tensor *tensor)
{
    static const int wanted[] = {'[', SBN_JSON_NATURAL, ',', SBN_JSON_NATURAL, ']'};
    int status = SBN_SUCCESS;
    for (int i = 0; i < 5 && !status; ++i) {
        status = sbn__parse_expect(p, wanted[i], tensor->name,
                                   "data_offsets: expected two integers from 0");
        tensor->end = p->reader.natural;
        if (i == 1)
            tensor->begin = tensor->end;
    }
    return status;
}

static int parse_type(sbn_parse *p, sbn_tensor *tensor)
{
    const int token = sbn__json_next(&p->reader);
    if (token == SBN_JSON_STRING)
        tensor->type = sbn__tensor_type_named(p->reader.string);
    return tensor->type ? SBN_SUCCESS : refuse(p, token, tensor->name, "dtype: it is not known");
}

/* A tensor that ends behind the data is no fault yet: the file may be truncated. */
static int check_size(const sbn_parse *p, const sbn_tensor *tensor)
{
    if (tensor->begin > tensor->end)
        return sbn__parse_fail_place(p, tensor);
    uint64_t bits;
    if (__builtin_mul_overflow(tensor->elements, tensor->type->bits, &bits) || bits % 8 != 0)
        return sbn__parse_fail(p->path, tensor->name, "shape: its size is no number of bytes");
    if (tensor->end - tensor->begin != bits / 8 && tensor->end > p->data_size)
        return sbn__parse_fail_place(p, tensor);
    if (tensor->end - tensor->begin != bits / 8)
        return sbn__fail(SBN_INVALID_FILE,
                         "%s: tensor \"%s\": data_offsets: expected %" PRIu64
                         " bytes for %s of %s, got %" PRIu64,
                         p->path, sbn__show(tensor->name).text, bits / 8, tensor->type->name,
                         sbn__show(tensor->shape).text, tensor->end - tensor->begin);
    return SBN_SUCCESS;
}

int sbn__parse_tensor(sbn_parse *p, sbn_tensor *tensor)
{
    static const char fields[] = "expected dtype, shape and data_offsets, and nothing else";
    static const char *const names[] = {"dtype", "shape", "data_offsets"};
    static int (*const parsers[])(sbn_parse *, sbn_tensor *) = {parse_type, parse_shape,
                                                                parse_offsets};
    int seen[3] = {0}, more = 0;
    *tensor = (sbn_tensor){.name = p->reader.string};
    int status = sbn__parse_expect(p, '{', tensor->name, fields);
    while (!status && !(status = sbn__parse_key(p, &more)) && more) {
        int which = 0;
        while (which < 3 && strcmp(p->reader.string, names[which]) != 0)
            ++which;
        if (which == 3)
            return sbn__parse_fail(p->path, tensor->name, fields);
        if (seen[which]++)
            return sbn__parse_fail(p->path, tensor->name,
                                   "expected each field once, got a duplicate");
        status = parsers[which](p, tensor);
    }
    if (!status && !(seen[0] && seen[1] && seen[2]))
        return sbn__parse_fail(p->path, tensor->name, fields);
    return status ? status : check_size(p, tensor);
}
