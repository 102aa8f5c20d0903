/*
 * A problem's line, read and written. Its settings are rows of one table, in the order in which they are
 * written; syncbn check --help says what they mean.
 */
#include "check/parser.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "check/elements.h"
#include "check/words.h"

/* What stands behind a setting's name: nothing, 3, =1e-3, =zero, =fe; or what says how samples are dealt. */
typedef enum kind { NOTHING, COUNT, REAL, NAME, PASSES, REPLICAS, SPLIT, SIZES } kind;

typedef struct setting {
    const char
        *example; /* its name is what stands before digits and =, or all where there is no value */
    kind kind;
    size_t word;              /* a member of type int, or an enum: ... */
    int bits, mask;           /* ... these bits are replaced; none where the mask is 0 */
    const char *const *names; /* ... or it is the place of the value among these */
    int name_count;
    size_t number;      /* where a count or a real goes; a word makes it the default; or 0 */
    double least, most; /* of a real */
    uint64_t plus;      /* the member is the count and this */
} setting;

#define AT(member) offsetof(problem, member)
#define WORD(name, member, to) .example = (name), .word = AT(member), .bits = (int)(to), .mask = ~0
#define FLAG(name, member, bit) \
    .example = (name), .word = AT(member), .bits = (int)(bit), .mask = (int)(bit)
#define NAMED(name, member, list, count) \
    .example = (name), .kind = NAME, .word = AT(member), .names = (list), .name_count = (count)
#define COUNT_OF(member) .kind = COUNT, .number = AT(member)
#define REAL_OF(member, from, to) .kind = REAL, .number = AT(member), .least = (from), .most = (to)

const char *const form_names[] = {"auto", "cpu", "gpu"};

static const char *const data_kind_names[DATA_KINDS] = {
    [DATA_NORMAL] = "normal",   [DATA_LARGE_MEAN] = "large_mean",
    [DATA_ONE] = "one",         [DATA_TINY_VAR] = "tiny_var",
    [DATA_OUTLIER] = "outlier", [DATA_CONSTANT] = "constant",
    [DATA_ZERO] = "zero",       [DATA_DENORMAL] = "denormal",
    [DATA_WIDE] = "wide",       [DATA_HUGE] = "huge",
    [DATA_NAN] = "nan",         [DATA_INF] = "inf",
    [DATA_NINF] = "ninf",       [DATA_EXACT] = "exact",
    [DATA_BORDER] = "border",   [DATA_STEP] = "step",
    [DATA_PEAK] = "peak",       [DATA_INFS] = "infs",
    [DATA_ZEROS] = "zeros",     [DATA_LARGEST] = "largest",
};

static const setting settings[] = {
    {WORD("f32", type, SBN_F32)},
    {WORD("f16", type, SBN_F16)},
    {WORD("bf16", type, SBN_BF16)},
    {WORD("relu", activation, SBN_RELU), .number = AT(slope)},
    {WORD("leaky", activation, SBN_LEAKY_RELU), .number = AT(slope)},
    {WORD("leaky=0.2", activation, SBN_LEAKY_RELU), REAL_OF(slope, -1e6, 1e6)},
    {WORD("add", residual, 1)},
    {WORD("output", from_output, 1)},
    {WORD("first", layout, SBN_LAYOUT_NCHW)},
    {WORD("last", layout, SBN_LAYOUT_NHWC)},
    {.example = "r3", .kind = REPLICAS},
    {.example = "split5-0-27", .kind = SPLIT},
    {.example = "sizes7x7-14x5", .kind = SIZES},
    {.example = "shuffle3", COUNT_OF(shuffle)},
    {.example = "off3", COUNT_OF(offset)},
    {WORD("pitch3", viewed, VIEWED_ALL), COUNT_OF(gap)},
    {WORD("xpitch3", viewed, VIEWED_X), COUNT_OF(gap)},
    {WORD("dpitch3", viewed, VIEWED_GRADIENTS), COUNT_OF(gap)},
    {NAMED("data=normal", data, data_kind_names, DATA_KINDS)},
    {NAMED("grad=normal", grad, data_kind_names, DATA_KINDS)},
    {.example = "seed7", COUNT_OF(seed)},
    {.example = "eps=1e-3", REAL_OF(eps, 0, 1e6)},
    {WORD("clamp", eps_mode, SBN_EPS_CLAMP)},
    {.example = "momentum=0.3", REAL_OF(momentum, 0, 1)},
    {WORD("cumulative", average, SBN_AVERAGE_CUMULATIVE)},
    {WORD("plain", affine, 0)},
    {WORD("untracked", track, 0)},
    {FLAG("keep", forward_flags, SBN_KEEP_RUNNING_STATS)},
    {FLAG("accumulate", backward_flags, SBN_ACCUMULATE_GRADIENTS)},
    {FLAG("global", backward_flags, SBN_GLOBAL_GRADIENTS)},
    {.example = "passes=fber", .kind = PASSES},
    {WORD("ooo", out_of_order, 1)},
    {WORD("inplace", in_place, 1)},
    {WORD("nodx", no_dx, 1)},
    {WORD("nograd", no_residual_grad, 1)},
    {WORD("frozen", frozen, 1)},
    {WORD("host", memory, PROBLEM_HOST)},
    {WORD("copied", memory, PROBLEM_COPIED)},
    {WORD("byhost", by_host, 1)},
    {WORD("begin", begin, 1)},
    {WORD("stored", stored, 1)},
    {.example = "given0", COUNT_OF(given), .plus = 1},
    {.example = "branch0", COUNT_OF(branch), .plus = 1},
    {NAMED("form=gpu", form, form_names, SBN_FORM_GPU + 1)},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static const problem defaults = {.seed = 1,
                                 .eps = 1e-5,
                                 .momentum = 0.1,
                                 .slope = 0.01, /* of `leaky` alone */
                                 .affine = 1,
                                 .track = 1,
                                 .passes = PASS_ALL};

static const char numbers[] = "=0123456789", passes[] = "fber";

static int word_of(const problem *p, const setting *s)
{
    int word;
    memcpy(&word, (const char *)p + s->word, sizeof word);
    return word;
}

static void set_word(problem *p, const setting *s, int bits, int mask)
{
    const int word = (word_of(p, s) & ~mask) | bits;
    memcpy((char *)p + s->word, &word, sizeof word);
}

/* A double or a uint64_t. */
static const void *number_of(const problem *p, const setting *s)
{
    return (const char *)p + s->number;
}

static void set_number(problem *p, const setting *s, const void *number)
{
    memcpy((char *)p + s->number, number, sizeof(double));
}

static size_t name_length(const setting *s)
{
    return s->kind == NOTHING ? strlen(s->example) : strcspn(s->example, numbers);
}

/* The place of a name, or -1. */
static int place_of(const char *name, const char *const *names, int count)
{
    while (count-- > 0 && strcmp(name, names[count]) != 0)
        ;
    return count;
}

int form_parse(const char *text, sbn_kernel_form *form)
{
    const int place = place_of(text, form_names, SBN_FORM_GPU + 1);
    *form = place < 0 ? *form : (sbn_kernel_form)place;
    return place < 0 ? -1 : 0;
}

/* --- reading ----------------------------------------------------------------------------------- */

static int no_setting(parser *in, const char *word)
{
    const char *examples[SETTINGS];
    for (size_t i = 0; i < SETTINGS; ++i)
        examples[i] = settings[i].example;
    const char *meant = nearest_word(word, strlen(word), examples, SETTINGS, "");
    if (!meant)
        meant = nearest_word(word, strcspn(word, numbers), examples, SETTINGS, numbers);
    return meant ? parser_fail(in, "\"%s\" is no setting: did you mean %s?", word, meant)
                 : parser_fail(in, "\"%s\" is no setting; syncbn check --help lists them", word);
}

static int parse_passes(parser *in, const char *letters)
{
    unsigned found = 0;
    for (const char *at = letters; *at; ++at) {
        const char *place = strchr(passes, *at);
        if (!place) {
            return parser_fail(in, "passes=%s: expected letters of \"%s\", not '%c'", letters,
                               passes, *at);
        }
        found |= 1u << (place - passes);
    }
    if (!found || (found & (PASS_BACKWARD | PASS_RECOMPUTE) && !(found & PASS_FORWARD)))
        return parser_fail(in, "passes=%s: at least one pass, and b and r need f", letters);
    in->p->passes = found;
    return 0;
}

static int parse_name(parser *in, const setting *s, const char *word, const char *name)
{
    char all[256] = "";
    const int place = place_of(name, s->names, s->name_count);
    if (place >= 0) {
        set_word(in->p, s, place, ~0);
        return 0;
    }
    for (int i = 0; i < s->name_count; ++i)
        sbn__text_add(all, sizeof all, "%s%s", i ? ", " : "", s->names[i]);
    return parser_fail(in, "%s: expected one of %s", word, all);
}

static int parse_real(parser *in, const setting *s, const char *word, const char *value)
{
    char *end;
    const double real = strtod(value, &end);
    if (end == value || *end || !(real >= s->least && real <= s->most))
        return parser_fail(in, "%s: expected a number from %g to %g", word, s->least, s->most);
    set_number(in->p, s, &real);
    return 0;
}

static int parse_count(parser *in, const setting *s, const char *word, const char *digits)
{
    uint64_t count;
    if (parser_number(&digits, &count) || *digits)
        return parser_fail(in, "\"%s\": expected a number below 2^31 behind the word", word);
    count += s->plus;
    set_number(in->p, s, &count);
    return 0;
}

/* What stands behind the setting's name and = in this word, or NULL: the word is of another one. */
static const char *value_of(const setting *s, const char *word)
{
    const char *behind = word + name_length(s);
    if (strncmp(word, s->example, name_length(s)) != 0)
        return NULL;
    switch (s->kind) {
    case NOTHING: return *behind ? NULL : behind;
    case REAL:
    case NAME:
    case PASSES: return *behind == '=' ? behind + 1 : NULL;
    default: return isdigit((unsigned char)*behind) ? behind : NULL;
    }
}

static int parse_setting(parser *in, const char *word)
{
    const setting *s = settings;
    while (s < settings + SETTINGS && !value_of(s, word))
        ++s;
    if (s == settings + SETTINGS)
        return no_setting(in, word);
    const char *value = value_of(s, word);
    set_word(in->p, s, s->bits, s->mask);
    switch (s->kind) {
    case COUNT: return parse_count(in, s, word, value);
    case REAL: return parse_real(in, s, word, value);
    case NAME: return parse_name(in, s, word, value);
    case PASSES: return parse_passes(in, value);
    case REPLICAS: return parser_replicas(in, value);
    case SPLIT: return parser_split(in, value);
    case SIZES: return parser_sizes(in, value);
    default:
        if (s->number)
            set_number(in->p, s, number_of(&defaults, s));
        return 0;
    }
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
    if (p->from_output && !(p->slope >= 0x1p-14 && p->slope <= 0x1p14))
        return parser_fail(in, "output: expected a slope of 2^-14 to 2^14, got %g", p->slope);
    if (!p->track && (p->frozen || p->given))
        return parser_fail(in, "frozen and given: an untracked layer has no running statistics");
    if (p->memory == PROBLEM_COPIED && p->gap)
        return parser_fail(in, "copied: a view cannot be written where memory is copied");
    if (p->branch > 2)
        return parser_fail(in, "branch%llu: there are two places, 0 and 1",
                           (unsigned long long)p->branch - 1);
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
    *p = defaults;
    char *rest = words;
    int failed = parser_shape(&in, strsep(&rest, ","));
    while (rest && !failed)
        failed = parse_setting(&in, strsep(&rest, ","));
    return failed ? failed : judge(&in);
}

/* --- writing ----------------------------------------------------------------------------------- */

static void put_passes(unsigned of, char *line, size_t size)
{
    sbn__text_add(line, size, ",passes=");
    for (size_t i = 0; passes[i]; ++i)
        if (of & 1u << i)
            sbn__text_add(line, size, "%c", passes[i]);
}

/* The shortest decimal that reads back as the same double. */
static void put_real(double real, char *line, size_t size)
{
    char digits[40];
    for (int precision = 1; precision <= 17; ++precision) {
        snprintf(digits, sizeof digits, "%.*g", precision, real);
        if (strtod(digits, NULL) == real)
            break;
    }
    sbn__text_add(line, size, "=%s", digits);
}

static void put_setting(const problem *p, const setting *s, char *line, size_t size)
{
    const int word = word_of(p, s), usual_word = word_of(&defaults, s);
    const void *number = number_of(p, s);
    const int is_usual = !s->number || memcmp(number, number_of(&defaults, s), sizeof(double)) == 0;
    const int has_bits = (word & s->mask) == s->bits;
    const int is_written = s->kind == NAME      ? word != usual_word
                           : s->kind == NOTHING ? (usual_word & s->mask) != s->bits && is_usual
                                                : !is_usual;
    if (!has_bits || !is_written)
        return;
    sbn__text_add(line, size, ",%.*s", (int)name_length(s), s->example);
    if (s->kind == NAME)
        sbn__text_add(line, size, "=%s", s->names[word]);
    if (s->kind == REAL)
        put_real(*(const double *)number, line, size);
    if (s->kind == COUNT)
        sbn__text_add(line, size, "%llu",
                      (unsigned long long)(*(const uint64_t *)number - s->plus));
}

void problem_print(const problem *p, char *line, size_t size)
{
    *line = 0;
    parser_put_shape(p, line, size);
    for (const setting *s = settings; s < settings + SETTINGS; ++s)
        if (s->kind == REPLICAS)
            parser_put_replicas(p, line, size);
        else if (s->kind != PASSES)
            put_setting(p, s, line, size);
        else if (p->passes != defaults.passes)
            put_passes(p->passes, line, size);
}
