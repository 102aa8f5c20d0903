#include "check/parser.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

int parser_fail(parser *in, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(in->error, in->error_size, format, arguments);
    va_end(arguments);
    return -1;
}

int parser_number(const char **at, uint64_t *value)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return -1;
    errno = 0;
    unsigned long long read = strtoull(*at, &end, 10);
    if (errno || read > PARSER_MAX)
        return -1;
    *value = read;
    *at = end;
    return 0;
}

/* Where each part of a shape goes. */
enum { MB, IC, ID, IH, IW, IL, SHAPE_PARTS };
static const char *const shape_names[SHAPE_PARTS] = {"mb", "ic", "id", "ih", "iw", "il"};

int parser_shape(parser *in, const char *word)
{
    uint64_t value[SHAPE_PARTS];
    int seen[SHAPE_PARTS] = {0};
    for (const char *at = word; *at;) {
        int part = 0;
        while (part < SHAPE_PARTS && strncmp(at, shape_names[part], 2) != 0)
            ++part;
        if (part == SHAPE_PARTS) {
            return parser_fail(in, "shape \"%s\": expected mb, ic, id, ih, iw or il at \"%s\"",
                               word, at);
        }
        const char *digits = at + 2;
        if (parser_number(&digits, &value[part])) {
            return parser_fail(in, "shape \"%s\": expected a number below 2^31 after \"%s\"", word,
                               shape_names[part]);
        }
        if (seen[part]++)
            return parser_fail(in, "shape \"%s\": %s is given twice", word, shape_names[part]);
        at = digits;
    }
    if (!seen[MB] || !seen[IC] || value[IC] == 0)
        return parser_fail(in, "shape \"%s\": mb and ic are needed, and ic is at least 1", word);
    if (seen[IL] ? seen[ID] || seen[IH] || seen[IW] : seen[IH] != seen[IW] || seen[ID] > seen[IH])
        return parser_fail(in, "shape \"%s\": space is il, or ih iw, or id ih iw", word);
    problem *p = in->p;
    p->samples = value[MB];
    p->channels = value[IC];
    for (int part = ID; part < SHAPE_PARTS; ++part)
        if (seen[part])
            p->space[p->space_dims++] = value[part];
    return 0;
}

int parser_replicas(parser *in, const char *number)
{
    problem *p = in->p;
    uint64_t value;
    if (parser_number(&number, &value) || *number || value < 1 || value > PROBLEM_MAX_REPLICAS)
        return parser_fail(in, "r: replicas are 1 to %d", PROBLEM_MAX_REPLICAS);
    if (p->has_split && p->replicas != value)
        return parser_fail(in, "r: the split has %zu replicas", p->replicas);
    p->replicas = value;
    return 0;
}

int parser_split(parser *in, const char *list)
{
    problem *p = in->p;
    size_t parts = 0;
    for (const char *at = list;; ++at) {
        uint64_t value;
        if (parts == PROBLEM_MAX_REPLICAS)
            return parser_fail(in, "split%s: at most %d replicas", list, PROBLEM_MAX_REPLICAS);
        if (parser_number(&at, &value) || (*at && *at != '-'))
            return parser_fail(in, "split%s: expected numbers with - between", list);
        p->split[parts++] = value;
        if (!*at)
            break;
    }
    if (p->replicas && p->replicas != parts)
        return parser_fail(in, "split%s: r%zu asks for another number of replicas", list,
                           p->replicas);
    p->has_split = 1;
    p->replicas = parts;
    return 0;
}

int parser_sizes(parser *in, const char *list)
{
    problem *p = in->p;
    const char *at = list;
    size_t r = 0;
    for (;; ++r) {
        for (int i = 0; i < p->space_dims; ++i) {
            uint64_t value;
            if (r == PROBLEM_MAX_REPLICAS || parser_number(&at, &value) ||
                (i + 1 < p->space_dims && *at++ != 'x')) {
                return parser_fail(in,
                                   "sizes%s: expected %d extents with x between for each replica",
                                   list, p->space_dims);
            }
            p->sizes[r][i] = value;
        }
        if (*at != '-')
            break;
        ++at;
    }
    if (*at || p->space_dims == 0) {
        return parser_fail(in,
                           "sizes%s: expected extents such as 7x7-14x5, and a shape that has space",
                           list);
    }
    if (!p->has_split || r + 1 != p->replicas)
        return parser_fail(in, "sizes%s: a split with as many replicas must come before it", list);
    p->has_sizes = 1;
    return 0;
}

void parser_put_shape(const problem *p, char *line, size_t size)
{
    const int first = p->space_dims == 1 ? IL : IW + 1 - p->space_dims;
    sbn__text_add(line, size, "mb%zuic%zu", p->samples, p->channels);
    for (int i = 0; i < p->space_dims; ++i)
        sbn__text_add(line, size, "%s%zu", shape_names[first + i], p->space[i]);
}

void parser_put_replicas(const problem *p, char *line, size_t size)
{
    if (p->replicas && !p->has_split)
        sbn__text_add(line, size, ",r%zu", p->replicas);
    for (size_t r = 0; p->has_split && r < p->replicas; ++r)
        sbn__text_add(line, size, "%s%zu", r ? "-" : ",split", p->split[r]);
    for (size_t r = 0; p->has_sizes && r < p->replicas; ++r)
        for (int i = 0; i < p->space_dims; ++i)
            sbn__text_add(line, size, "%s%zu", i ? "x" : r ? "-" : ",sizes", p->sizes[r][i]);
}
