#include "syncbn/options.h"

#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/nearest.h"

/* All options, and the letters that commands take them by. */
static const struct option all[] = {
    {"devices", required_argument, NULL, 'd'}, {"form", required_argument, NULL, 'f'},
    {"file", required_argument, NULL, 'l'},    {"replicas", required_argument, NULL, 'r'},
    {"verbose", no_argument, NULL, 'v'},       {"build-options", required_argument, NULL, 'b'},
    {"tap", no_argument, NULL, 't'},           {"digests", no_argument, NULL, 'g'},
    {"seconds", required_argument, NULL, 's'}, {"repeats", required_argument, NULL, 'n'},
    {"forget", no_argument, NULL, 'x'},        {"json", required_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
};
enum { OPTIONS = sizeof all / sizeof *all };

/*
 * The sentence for what getopt_long, with an option string that begins with ':', stopped at and
 * returned as '?' or ':'.
 */
static int refuse(int option, char **argv, const char *name, const struct option *options)
{
    const char *word = argv[optind - 1];
    const size_t length = strcspn(word, "=");
    const char *names[OPTIONS];
    size_t like = 0, count = 0;
    if (strncmp(word, "--", 2) != 0)
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

/* Returns 0 unless the text is a number from 1 to `most`. */
static unsigned long number(const char *text, unsigned long most)
{
    char *end;
    const unsigned long value = strtoul(text, &end, 10);
    return isdigit((unsigned char)*text) && !*end && value <= most ? value : 0;
}

static int read_option(int option, command_options *o)
{
    char *end;
    switch (option) {
    case 'd': return device_choice_read(optarg, &o->devices);
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
    case 'l': o->listed = 1; return problem_list_read(&o->list, optarg);
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
    default: return json_output_read(optarg, &o->json);
    }
}

static int read_all(int argc, char **argv, const command *c, command_options *o)
{
    struct option options[OPTIONS + 1] = {{NULL, 0, NULL, 0}};
    int option, failed = 0;
    for (size_t i = 0, count = 0; i < OPTIONS; ++i)
        if (strchr("jh", all[i].val) || strchr(c->takes, all[i].val))
            options[count++] = all[i];
    opterr = 0;
    while (!failed && (option = getopt_long(argc, argv, strchr(c->takes, 'v') ? ":hv" : ":h",
                                            options, NULL)) != -1) {
        if (option == 'h') {
            fputs(c->help, stdout);
            return 1;
        }
        failed = option == '?' || option == ':' ? refuse(option, argv, c->name, options)
                                                : read_option(option, o);
    }
    o->operands = argv + optind;
    if (!failed && c->builtin)
        failed = problem_list_operands(&o->list, o->operands, o->listed, c->builtin);
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
    *o = (command_options){.budget.seconds = c->seconds};
    const int ended = read_all(argc, argv, c, o);
    if (ended)
        options_free(o);
    return ended;
}

void options_free(command_options *o)
{
    problem_list_free(&o->list);
}
