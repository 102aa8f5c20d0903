/* The command `syncbn`: which part is meant. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <getopt.h>

#include <syncbn.h>

#include "syncbn/command.h"
#include "syncbn/json_memory.h"

static const char help[] =
    "usage: syncbn devices [--json]\n"
    "       syncbn check [options] [problem...]\n"
    "       syncbn bench [options] [problem...]\n"
    "       syncbn inspect [--json] FILE\n"
    "       syncbn --help | --version\n"
    "\n"
    "devices  lists every OpenCL platform and device, and why one cannot be used\n"
    "check    runs problems and compares with a float64 reference; see syncbn check --help\n"
    "bench    measures how fast they run; see syncbn bench --help\n"
    "inspect  shows the layers of a checkpoint, and what looks wrong with them\n";

int usage_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("syncbn: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return EXIT_USAGE;
}

int usage_unknown(int argc, char **argv, const char *command)
{
    /* getopt has stepped over a long option, but not always over a short one. */
    const char *word = optind > 1 && strncmp(argv[optind - 1], "--", 2) == 0 ? argv[optind - 1]
                       : optind < argc                                       ? argv[optind]
                                                                             : argv[argc - 1];
    return usage_error("%s takes no option %s, or it lacks its value; see syncbn %s --help",
                       command, word, command);
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    json_memory_or_exit();
    if (strcmp(command, "devices") == 0)
        return command_devices(argc - 1, argv + 1);
    if (strcmp(command, "check") == 0)
        return command_check(argc - 1, argv + 1);
    if (strcmp(command, "bench") == 0)
        return command_bench(argc - 1, argv + 1);
    if (strcmp(command, "inspect") == 0)
        return command_inspect(argc - 1, argv + 1);
    if (strcmp(command, "--version") == 0) {
        printf("syncbn %s\n", sbn_version());
        return 0;
    }
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) {
        fputs(help, stdout);
        return 0;
    }
    return *command
               ? usage_error("there is no command %s; there are devices, check, bench and inspect",
                             command)
               : usage_error(
                     "a command is missing: devices, check, bench or inspect; see syncbn --help");
}
