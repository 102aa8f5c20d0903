/* Reading a problem's line; syncbn check --help has the grammar. */
#include "check/parser.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/elements.h"
#include "check/nearest.h"

static int no_setting(parser *in, const char *word)
{
    static const char *const settings[] = {
        "f32",      "f16",        "bf16",         "relu",        "leaky",       "add",
        "output",   "last",       "first",        "r3",          "split5-0-27", "sizes7x7-14x5",
        "shuffle3", "off3",       "pitch3",       "data=normal", "grad=normal", "seed7",
        "eps=1e-3", "clamp",      "momentum=0.3", "cumulative",  "plain",       "untracked",
        "keep",     "accumulate", "global",       "passes=fber", "ooo",         "inplace",
        "nodx",     "nograd",     "xpitch3",      "dpitch3",     "frozen",      "host",
        "copied",   "byhost",     "begin",        "stored",      "given0",      "branch0",
        "form=gpu",
    };
    static const char *const numbers = "=0123456789";
    const size_t count = sizeof settings / sizeof *settings;
    const char *meant = nearest_word(word, strlen(word), settings, count, "");
    if (!meant)
        meant = nearest_word(word, strcspn(word, numbers), settings, count, numbers);
    return meant ? parser_fail(in, "\"%s\" is no setting: did you mean %s?", word, meant)
                 : parser_fail(in, "\"%s\" is no setting; syncbn check --help lists them", word);
}

static int parse_passes(parser *in, const char *letters)
{
    unsigned passes = 0;
    for (const char *at = letters; *at; ++at) {
        const char *all = "fber";
        const char *found = strchr(all, *at);
        if (!found) {
            return parser_fail(in, "passes=%s: expected letters of \"fber\", not '%c'", letters,
                               *at);
        }
        passes |= 1u << (found - all);
    }
    if (!passes || (passes & (PASS_BACKWARD | PASS_RECOMPUTE) && !(passes & PASS_FORWARD)))
        return parser_fail(in, "passes=%s: at least one pass, and b and r need f", letters);
    in->p->passes = passes;
    return 0;
}

static int parse_kind(parser *in, const char *name, const char *value, data_kind *kind)
{
    for (int k = 0; k < DATA_KINDS; ++k) {
        if (strcmp(value, data_kind_names[k]) == 0) {
            *kind = (data_kind)k;
            return 0;
        }
    }
    char kinds[256] = "";
    for (int k = 0; k < DATA_KINDS; ++k) {
        size_t used = strlen(kinds);
        snprintf(kinds + used, sizeof kinds - used, "%s%s", k ? ", " : "", data_kind_names[k]);
    }
    return parser_fail(in, "%s=%s: there is no such kind of data; there are %s", name, value,
                       kinds);
}

static int parse_real(parser *in, const char *name, const char *value, double least, double most,
                      double *real)
{
    char *end;
    *real = strtod(value, &end);
    if (end == value || *end || !(*real >= least && *real <= most))
        return parser_fail(in, "%s=%s: expected a number from %g to %g", name, value, least, most);
    return 0;
}

static int parse_leaky(parser *in, const char *name, const char *value)
{
    in->p->activation = SBN_LEAKY_RELU;
    return parse_real(in, name, value, -1e6, 1e6, &in->p->slope);
}

/* name=value */
static int parse_named(parser *in, const char *word, const char *value)
{
    problem *p = in->p;
    size_t length = (size_t)(value - word);
    ++value;
    char name[16];
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    if (strcmp(name, "data") == 0)
        return parse_kind(in, name, value, &p->data);
    if (strcmp(name, "grad") == 0)
        return parse_kind(in, name, value, &p->grad);
    if (strcmp(name, "eps") == 0)
        return parse_real(in, name, value, 0, 1e6, &p->eps);
    if (strcmp(name, "momentum") == 0)
        return parse_real(in, name, value, 0, 1, &p->momentum);
    if (strcmp(name, "leaky") == 0)
        return parse_leaky(in, name, value);
    if (strcmp(name, "passes") == 0)
        return parse_passes(in, value);
    if (strcmp(name, "form") == 0) {
        return form_parse(value, &p->form)
                   ? parser_fail(in, "form=%s: expected auto, cpu or gpu", value)
                   : 0;
    }
    return no_setting(in, word);
}

/* What follows the batch norm. Returns 0 if `word` is that. */
static int parse_fusion(problem *p, const char *word)
{
    if (strcmp(word, "add") == 0) {
        p->residual = 1;
        return 0;
    }
    const int leaky = strcmp(word, "leaky") == 0;
    if (!leaky && strcmp(word, "relu") != 0)
        return -1;
    p->activation = leaky ? SBN_LEAKY_RELU : SBN_RELU;
    p->slope = PROBLEM_SLOPE;
    return 0;
}

/* A word for one value of a number. Returns 0 if `word` is that. */
static int parse_switch(problem *p, const char *word)
{
    const struct {
        const char *word;
        int *where, value;
    } switches[] = {
        {"plain", &p->affine, 0},
        {"untracked", &p->track, 0},
        {"ooo", &p->out_of_order, 1},
        {"inplace", &p->in_place, 1},
        {"output", &p->from_output, 1},
        {"frozen", &p->frozen, 1},
        {"byhost", &p->by_host, 1},
        {"host", &p->memory, PROBLEM_HOST},
        {"begin", &p->begin, 1},
        {"copied", &p->memory, PROBLEM_COPIED},
        {"stored", &p->stored, 1},
        {"nodx", &p->no_dx, 1},
        {"nograd", &p->no_residual_grad, 1},
    };
    for (size_t i = 0; i < sizeof switches / sizeof *switches; ++i) {
        if (strcmp(word, switches[i].word) == 0) {
            *switches[i].where = switches[i].value;
            return 0;
        }
    }
    return -1;
}

/* The other settings without a value. Returns 0 if `word` is one of them. */
static int parse_plain_word(problem *p, const char *word)
{
    const struct {
        const char *word;
        unsigned *where;
        unsigned bits;
    } flags[] = {
        {"keep", &p->forward_flags, SBN_KEEP_RUNNING_STATS},
        {"accumulate", &p->backward_flags, SBN_ACCUMULATE_GRADIENTS},
        {"global", &p->backward_flags, SBN_GLOBAL_GRADIENTS},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i) {
        if (strcmp(word, flags[i].word) == 0) {
            *flags[i].where |= flags[i].bits;
            return 0;
        }
    }
    for (int type = SBN_F32; type < ELEMENT_TYPES; ++type) {
        if (strcmp(word, type_names[type]) == 0) {
            p->type = (sbn_type)type;
            return 0;
        }
    }
    if (strcmp(word, "last") == 0)
        p->layout = SBN_LAYOUT_NHWC;
    else if (strcmp(word, "first") == 0)
        p->layout = SBN_LAYOUT_NCHW;
    else if (strcmp(word, "clamp") == 0)
        p->eps_mode = SBN_EPS_CLAMP;
    else if (strcmp(word, "cumulative") == 0)
        p->average = SBN_AVERAGE_CUMULATIVE;
    else
        return parse_switch(p, word);
    return 0;
}

/* A name with a number behind it, as in r3. Returns 0, -1 on error, 1 if it is no such word. */
static int parse_counted(parser *in, const char *word)
{
    static const char *const names[] = {"r",     "off",    "pitch",  "seed",  "shuffle",
                                        "given", "branch", "xpitch", "dpitch"};
    problem *p = in->p;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        size_t length = strlen(names[i]);
        if (strncmp(word, names[i], length) != 0 || !isdigit((unsigned char)word[length]))
            continue;
        const char *at = word + length;
        uint64_t value;
        if (parser_number(&at, &value) || *at)
            return parser_fail(in, "\"%s\": expected %s and a number below 2^31", word, names[i]);
        switch (i) {
        case 0:
            if (value < 1 || value > PROBLEM_MAX_REPLICAS)
                return parser_fail(in, "\"%s\": replicas are 1 to %d", word, PROBLEM_MAX_REPLICAS);
            if (p->has_split && p->replicas != value)
                return parser_fail(in, "\"%s\": the split has %zu replicas", word, p->replicas);
            p->replicas = value;
            break;
        case 1: p->offset = value; break;
        case 2:
        case 7:
        case 8:
            p->gap = value;
            p->viewed = i == 7 ? VIEWED_X : i == 8 ? VIEWED_GRADIENTS : VIEWED_ALL;
            break;
        case 3: p->seed = value; break;
        case 4: p->shuffle = value; break;
        case 5: p->given = 1 + value; break;
        case 6:
            if (value > 1)
                return parser_fail(in, "\"%s\": there are two places, 0 and 1", word);
            p->branch = 1 + value;
            break;
        default: break;
        }
        return 0;
    }
    return 1;
}

static int parse_setting(parser *in, const char *word)
{
    const char *equals = strchr(word, '=');
    if (equals)
        return parse_named(in, word, equals);
    if (strncmp(word, "split", 5) == 0) {
        size_t wanted = in->p->replicas;
        if (parser_split(in, word + 5))
            return -1;
        return wanted && wanted != in->p->replicas
                   ? parser_fail(in, "\"%s\": r%zu asks for another number of replicas", word,
                                 wanted)
                   : 0;
    }
    if (strncmp(word, "sizes", 5) == 0)
        return parser_sizes(in, word + 5);
    int counted = parse_counted(in, word);
    if (counted <= 0)
        return counted;
    return parse_fusion(in->p, word) && parse_plain_word(in->p, word) ? no_setting(in, word) : 0;
}

static int check_elements(parser *in, const size_t *space)
{
    const problem *p = in->p;
    double elements = (double)p->samples * (double)p->channels, plane = 1;
    for (int i = 0; i < p->space_dims; ++i)
        plane *= (double)space[i];
    elements *= plane;
    if (elements > 0)
        elements += 3 * (double)p->gap * (double)p->samples *
                    (p->layout == SBN_LAYOUT_NHWC ? plane : 1);
    return elements > (double)PARSER_MAX
               ? parser_fail(in, "the batch has %.3g elements, at most 2^31 can be checked",
                             elements)
               : 0;
}

/* What only the whole line can tell. */
static int judge(parser *in)
{
    const problem *p = in->p;
    if (p->has_split) {
        size_t sum = 0;
        for (size_t r = 0; r < p->replicas; ++r)
            sum += p->split[r];
        if (sum != p->samples)
            return parser_fail(in, "the split adds up to %zu samples, mb is %zu", sum, p->samples);
    }
    if (p->from_output && (p->residual || p->activation == SBN_RELU))
        return parser_fail(in, "output: neither a ReLU nor an addition can be inverted");
    if (!p->track && (p->frozen || p->given))
        return parser_fail(in, "frozen and given: an untracked layer has no running statistics");
    if (p->memory == PROBLEM_COPIED && p->gap)
        return parser_fail(in, "copied: a view cannot be written where the driver copies");
    if (p->in_place && (p->no_dx || p->no_residual_grad))
        return parser_fail(in, "inplace: what is not asked for is not written over dy");
    if (p->has_sizes && p->shuffle)
        return parser_fail(in, "shuffle needs samples of one size, so it does not go with sizes");
    /* The shape's own extents are those of all samples again once --replicas drops the sizes. */
    int failed = check_elements(in, p->space);
    for (size_t r = 0; r < p->replicas && p->has_sizes && !failed; ++r)
        failed = check_elements(in, p->sizes[r]);
    return failed;
}

int problem_parse(const char *line, problem *p, char *error, size_t error_size)
{
    parser in = {p, error, error_size};
    char words[PROBLEM_LINE];
    if (strlen(line) >= sizeof words)
        return parser_fail(&in, "the line is longer than %d characters", PROBLEM_LINE - 1);
    strcpy(words, line);
    *p = (problem){.seed = 1,
                   .eps = 1e-5,
                   .momentum = 0.1,
                   .slope = PROBLEM_SLOPE,
                   .affine = 1,
                   .track = 1,
                   .passes = PASS_ALL};
    int shape = 1;
    for (char *word = words; word;) {
        char *comma = strchr(word, ',');
        if (comma)
            *comma = 0;
        if (shape ? parser_shape(&in, word) : parse_setting(&in, word))
            return -1;
        shape = 0;
        word = comma ? comma + 1 : NULL;
    }
    return judge(&in);
}
