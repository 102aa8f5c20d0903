/* Sentences for wrong options of a command line. */
#include <getopt.h>
#include <string.h>

#include "syncbn/command.h"

int usage_wrong_option(int option, char **argv, const char *command, const struct option *options)
{
    const char *word = argv[optind - 1];
    const size_t length = strcspn(word, "=");
    size_t like = 0;
    if (strncmp(word, "--", 2) != 0)
        return usage_error("%s has no option -%c; see syncbn %s --help", command, optopt, command);
    if (option == ':')
        return usage_error("%s lacks its value; see syncbn %s --help", word, command);
    for (const struct option *o = options; o->name; ++o) {
        like += strncmp(o->name, word + 2, length - 2) == 0;
        if (optopt && o->val == optopt)
            return usage_error("--%s takes no value; see syncbn %s --help", o->name, command);
    }
    if (like > 1) {
        return usage_error("%s: several options of %s begin so; see syncbn %s --help", word,
                           command, command);
    }
    return usage_error("%s has no option %.*s; see syncbn %s --help", command, (int)length, word,
                       command);
}
