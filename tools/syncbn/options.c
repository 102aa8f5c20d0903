#include "syncbn/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check/words.h"

/* All options, and the letters that commands take them by. */
static const struct option known[] = {
    {"devices", required_argument, NULL, 'd'}, {"form", required_argument, NULL, 'f'},
    {"file", required_argument, NULL, 'l'},    {"replicas", required_argument, NULL, 'r'},
    {"verbose", no_argument, NULL, 'v'},       {"build-options", required_argument, NULL, 'b'},
    {"tap", no_argument, NULL, 't'},           {"digests", no_argument, NULL, 'g'},
    {"seconds", required_argument, NULL, 's'}, {"repeats", required_argument, NULL, 'n'},
    {"forget", no_argument, NULL, 'x'},        {"json", required_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
};
enum { OPTIONS = sizeof known / sizeof *known };

/* Added to the letter of an option that is a word. */
enum { WORD = 256 };

/*
 * The sentence for what getopt_long, with an option string that begins with ':', stopped at and
 * returned as '?' or ':'. A letter among several leaves no word behind it in argv.
 */
static int refuse(int option, char **argv, const char *name, const struct option *options)
{
    const char *word = argv[optind - 1];
    const size_t length = strcspn(word, "=");
    const char *names[OPTIONS];
    size_t like = 0, count = 0;
    if (optopt && optopt < WORD)
        return usage_error("%s has no option -%c; see syncbn %s --help", name, optopt, name);
    if (option == ':')
        return usage_error("%s lacks its value; see syncbn %s --help", word, name);
    for (const struct option *o = options; o->name; ++o) {
        names[count++] = o->name;
        like += strncmp(o->name, word + 2, length - 2) == 0;
        if (optopt && o->val == optopt)
            return usage_error("--%s takes no value; see syncbn %s --help", o->name, name);
    }
    if (like > 1) {
        return usage_error("%s: several options of %s begin so; see syncbn %s --help", word, name,
                           name);
    }
    const char *meant = nearest_word(word + 2, length - 2, names, count, "");
    if (meant)
        return usage_error("%s has no option %.*s: did you mean --%s?", name, (int)length, word,
                           meant);
    return usage_error("%s has no option %.*s; see syncbn %s --help", name, (int)length, word,
                       name);
}

/* --- devices ----------------------------------------------------------------------------------- */

/* Reads "0,1,1", or a type as "gpu". Returns 0, or EXIT_USAGE after a sentence. */
static int read_devices(const char *text, device_choice *choice)
{
    static const char *const types[] = {"cpu", "gpu", "accelerator"};
    choice->type = NULL;
    choice->count = 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
        if (strcmp(text, types[i]) == 0) {
            choice->type = types[i];
            return 0;
        }
    }
    for (const char *at = text;; ++at) {
        char *end;
        unsigned long index = strtoul(at, &end, 10);
        if (!isdigit((unsigned char)*at) || (*end && *end != ',') || index > 9999 ||
            choice->count == DEVICE_CHOICE_MAX) {
            return isalpha((unsigned char)*text)
                       ? usage_error(
                             "--devices %s: there is no such type of device; there are cpu, "
                             "gpu and accelerator",
                             text)
                       : usage_error("--devices %s: expected at most %d numbers as in 0,1, or cpu, "
                                     "gpu or accelerator",
                                     text, DEVICE_CHOICE_MAX);
        }
        choice->numbers[choice->count++] = index;
        at = end;
        if (!*at)
            return 0;
    }
}

int device_choice_resolve(device_choice *choice, const device_list *list)
{
    const int all = choice->count == 0;
    for (size_t i = 0; i < choice->count; ++i) {
        const size_t index = choice->numbers[i];
        if (index >= list->devices) {
            return usage_error("--devices names %zu, but there are only %zu, numbered from 0; see "
                               "syncbn devices",
                               index, list->devices);
        }
        if (!list->device[index].usable)
            return failure("device %zu cannot be used: %s", index, list->device[index].reason);
    }
    for (size_t i = 0; i < list->devices && all && choice->count < DEVICE_CHOICE_MAX; ++i) {
        const device_info *d = &list->device[i];
        if (d->usable && (!choice->type || strcmp(choice->type, d->type) == 0))
            choice->numbers[choice->count++] = i;
    }
    return choice->count
               ? 0
               : failure("there is no usable OpenCL device%s%s; see syncbn devices",
                         choice->type ? " of type " : "", choice->type ? choice->type : "");
}

/* --- problems ---------------------------------------------------------------------------------- */

/* `file` is NULL for a problem of the command line, which has no digests. */
static int add(problem_list *list, const char *line, const char *words, const char *file,
               int number)
{
    char error[256];
    size_t i = list->count, more = i + 1;
    problem *problems = realloc(list->problems, more * sizeof *problems);
    list->problems = problems ? problems : list->problems;
    digests *recorded = realloc(list->recorded, more * sizeof *recorded);
    list->recorded = recorded ? recorded : list->recorded;
    if (!problems || !recorded)
        return usage_error("no memory for %zu problems", more);
    if (problem_parse(line, &problems[i], error, sizeof error) ||
        digests_parse(words, &recorded[i], error, sizeof error))
        return file ? usage_error("%s:%d: %s", file, number, error) : usage_error("%s", error);
    ++list->count;
    return 0;
}

/*
 * Adds the operands of a command line, up to NULL; where there is none and no file was `listed`, the
 * command's own problems, up to NULL.
 */
static int add_operands(problem_list *list, char **operands, size_t listed,
                        const char *const *builtin)
{
    const char *const *line = listed || *operands ? (const char *const *)operands : builtin;
    int failed = 0;
    for (; *line && !failed; ++line)
        failed = add(list, *line, "", NULL, 0);
    return failed;
}

/*
 * Adds the problem of a line of `size` characters without its end, if it has one. What stands behind a CR or NUL would
 * not be seen.
 */
static int add_line(problem_list *list, char *line, size_t size, int has_digests, const char *file,
                    int number)
{
    size -= size > 0 && line[size - 1] == '\r';
    line[size] = 0;
    const size_t text = strcspn(line, "\r");
    if (text < size)
        return usage_error("%s:%d: expected a line of text, got one with a %s in it", file, number,
                           line[text] ? "carriage return" : "NUL");
    line[strcspn(line, "#")] = 0;
    char *word = line + strspn(line, " \t");
    size_t length = strcspn(word, " \t");
    char *words = word + length + (word[length] != 0);
    word[length] = 0;
    return length ? add(list, word, has_digests ? words : "", file, number) : 0;
}

/* Adds a file's problems; digests (digests.h) may stand behind them. */
static int read_problems(problem_list *list, const char *file, int has_digests)
{
    char line[PROBLEM_LINE + DIGESTS_TEXT];
    size_t size = 0;
    FILE *in = fopen(file, "r");
    int failed = 0, number = 1;
    if (!in)
        return usage_error("%s cannot be read: %s", file, strerror(errno));
    for (int c = 0; !failed && c != EOF;) {
        c = getc(in);
        if (c == '\n' || c == EOF) {
            failed = add_line(list, line, size, has_digests, file, number++);
            size = 0;
        } else if (size == sizeof line - 1) {
            failed = usage_error("%s:%d: the line is too long", file, number);
        } else {
            line[size++] = (char)c;
        }
    }
    if (!failed && ferror(in))
        failed = usage_error("%s cannot be read: %s", file, strerror(errno));
    fclose(in);
    return failed;
}

/* --- options ----------------------------------------------------------------------------------- */

/* Returns 0 unless the text is a number from 1 to `most`. */
static unsigned long number(const char *text, unsigned long most)
{
    char *end;
    const unsigned long value = strtoul(text, &end, 10);
    return isdigit((unsigned char)*text) && !*end && value <= most ? value : 0;
}

static int read_option(int option, const command *c, command_options *o)
{
    char *end;
    switch (option & ~WORD) {
    case 'd': return read_devices(optarg, &o->devices);
    case 'r':
        o->replicas = number(optarg, PROBLEM_MAX_REPLICAS);
        return o->replicas
                   ? 0
                   : usage_error("--replicas %s: expected 1 to %d", optarg, PROBLEM_MAX_REPLICAS);
    case 'f':
        return form_parse(optarg, &o->form)
                   ? usage_error("--form %s: expected auto, cpu or gpu", optarg)
                   : 0;
    case 'b': o->build_options = optarg; return 0;
    case 'l':
        o->files[o->listed++] = optarg;
        return read_problems(&o->list, optarg, strchr(c->takes, 'g') != NULL);
    case 's':
        o->budget.seconds = strtod(optarg, &end);
        return *end || end == optarg || !(o->budget.seconds >= 0) || isinf(o->budget.seconds)
                   ? usage_error("--seconds %s: expected a number from 0", optarg)
                   : 0;
    case 'n':
        o->budget.rounds = number(optarg, SPREAD_MAX);
        return o->budget.rounds ? 0
                                : usage_error("--repeats %s: expected 1 to %d", optarg, SPREAD_MAX);
    case 'g': o->format = REPORT_DIGESTS; return 0;
    case 't': o->format = REPORT_TAP; return 0;
    case 'v': o->verbose = 1; return 0;
    case 'x': o->forget = 1; return 0;
    default:
        o->json = optarg;
        if (!*optarg || (optarg[0] == '-' && optarg[1])) /* another option */
            return usage_error("--json %s: expected a file's name, or - for standard output",
                               optarg);
        return 0;
    }
}

/* 1 if a report would replace the list. */
static int is_same_file(const char *report, const char *list)
{
    struct stat a, b;
    return stat(report, &a) == 0 && stat(list, &b) == 0 && S_ISREG(a.st_mode) &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int read_all(int argc, char **argv, const command *c, command_options *o)
{
    struct option options[OPTIONS + 1] = {{NULL, 0, NULL, 0}};
    int option, failed = 0;
    for (size_t i = 0, count = 0; i < OPTIONS; ++i)
        if (strchr("jh", known[i].val) || strchr(c->takes, known[i].val)) {
            options[count] = known[i];
            options[count++].val |= WORD;
        }
    opterr = 0;
    while (!failed && (option = getopt_long(argc, argv, strchr(c->takes, 'v') ? ":hv" : ":h",
                                            options, NULL)) != -1) {
        if ((option & ~WORD) == 'h') {
            fputs(c->help, stdout);
            return 1;
        }
        failed = option == '?' || option == ':' ? refuse(option, argv, c->name, options)
                                                : read_option(option, c, o);
    }
    for (size_t i = 0; i < o->listed && !failed; ++i)
        if (o->json && strcmp(o->json, "-") != 0 && is_same_file(o->json, o->files[i]))
            failed = usage_error("--json %s: expected a file for the report, or - for standard "
                                 "output, got a list that --file names",
                                 o->json);
    o->operands = argv + optind;
    if (!failed && c->builtin)
        failed = add_operands(&o->list, o->operands, o->listed, c->builtin);
    if (!failed && c->builtin && o->list.count == 0)
        failed = usage_error("there is no problem in the files that --file names");
    for (size_t i = 0; i < o->list.count && !failed; ++i) {
        if (o->replicas)
            problem_set_replicas(&o->list.problems[i], o->replicas);
        if (o->form != SBN_FORM_AUTO)
            o->list.problems[i].form = o->form;
    }
    if (!failed && c->settle)
        failed = c->settle(o);
    return failed ? failed + 1 : 0;
}

int options_read(int argc, char **argv, const command *c, command_options *o)
{
    *o = (command_options){.budget.seconds = c->seconds,
                           .files = calloc((size_t)argc, sizeof *o->files)};
    const int ended = o->files ? read_all(argc, argv, c, o)
                               : usage_error("no memory for %d arguments", argc) + 1;
    if (ended)
        options_free(o);
    return ended;
}

void options_free(command_options *o)
{
    free(o->list.problems);
    free(o->list.recorded);
    free(o->files);
    o->list = (problem_list){0, NULL, NULL};
    o->files = NULL;
}
