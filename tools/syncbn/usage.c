/* Sentences for wrong options of a command line. */
#include <getopt.h>
#include <string.h>

#include "check/nearest.h"
#include "syncbn/command.h"

int usage_wrong_option(int option, char **argv, const char *command, const struct option *options)
{
    const char *word = argv[optind - 1];
    const size_t length = strcspn(word, "=");
    const char *names[32];
    size_t like = 0, count = 0;
    if (strncmp(word, "--", 2) != 0)
        return usage_error("%s has no option -%c; see syncbn %s --help", command, optopt, command);
    if (option == ':')
        return usage_error("%s lacks its value; see syncbn %s --help", word, command);
    for (const struct option *o = options; o->name; ++o) {
        if (count < sizeof names / sizeof *names)
            names[count++] = o->name;
        like += strncmp(o->name, word + 2, length - 2) == 0;
        if (optopt && o->val == optopt)
            return usage_error("--%s takes no value; see syncbn %s --help", o->name, command);
    }
    if (like > 1) {
        return usage_error("%s: several options of %s begin so; see syncbn %s --help", word,
                           command, command);
    }
    const char *meant = nearest_word(word + 2, length - 2, names, count, "");
    if (meant)
        return usage_error("%s has no option %.*s: did you mean --%s?", command, (int)length, word,
                           meant);
    return usage_error("%s has no option %.*s; see syncbn %s --help", command, (int)length, word,
                       command);
}
