/* The command `syncbn`: finds the subcommand. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <syncbn.h>

#include "check/nearest.h"
#include "syncbn/command.h"
#include "syncbn/json_output.h"
#include "syncbn/safe_text.h"

static const char help[] =
    "usage: syncbn devices [options]\n"
    "       syncbn check [options] [problem...]\n"
    "       syncbn bench [options] [problem...]\n"
    "       syncbn tune [options] [problem...]\n"
    "       syncbn inspect [options] FILE...\n"
    "       syncbn help [command]\n"
    "       syncbn version\n"
    "\n"
    "devices  lists every OpenCL platform and device, and why one cannot be used\n"
    "check    runs problems and compares with a float64 reference\n"
    "bench    measures how fast they run\n"
    "tune     finds the launch plan's numbers for a device, and keeps them\n"
    "inspect  shows the layers of a checkpoint, and what looks wrong with them\n"
    "\n"
    "Examples:\n"
    "  syncbn devices                      is there a device?\n"
    "  syncbn check                        does it compute right?\n"
    "  syncbn bench mb32ic64ih56iw56,last  how fast is (32, 64, 56, 56), channels last?\n"
    "  syncbn inspect model.safetensors    what is in this checkpoint?\n"
    "\n"
    "All take --json FILE (- for standard output). syncbn help COMMAND, or syncbn COMMAND\n"
    "--help, has a command's options. --help, -h, --version and -V are understood too.\n";

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv);
} command;

static int command_help(int argc, char **argv);
static int command_version(int argc, char **argv);

static const command commands[] = {
    {"devices", command_devices},   {"check", command_check},     {"bench", command_bench},
    {"tune", command_tune},         {"inspect", command_inspect}, {"help", command_help},
    {"--help", command_help},       {"-h", command_help},         {"version", command_version},
    {"--version", command_version}, {"-V", command_version},
};

static const command *find_command(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; ++i)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int no_command(const char *name)
{
    static const char *const names[] = {"devices", "check", "bench",  "tune",
                                        "inspect", "help",  "version"};
    const size_t count = sizeof names / sizeof *names;
    const char *meant = nearest_word(name, strlen(name), names, count, "");
    if (*name == '-')
        return usage_error(
            "there is no option %s of syncbn itself; options follow the command, as in syncbn "
            "devices --json FILE",
            name);
    return meant ? usage_error("there is no command %s: did you mean %s?", name, meant)
                 : usage_error("there is no command %s; there are devices, check, bench, tune, "
                               "inspect, help and version",
                               name);
}

static int command_help(int argc, char **argv)
{
    static char option[] = "--help";
    if (argc > 2)
        return usage_error("help takes one command, got %d", argc - 1);
    const command *of = argc == 2 ? find_command(argv[1]) : NULL;
    if (argc == 2 && !of)
        return no_command(argv[1]);
    if (of && of->run != command_help && of->run != command_version) {
        char *arguments[] = {argv[1], option, NULL};
        return of->run(2, arguments);
    }
    fputs(help, stdout);
    return 0;
}

static int command_version(int argc, char **argv)
{
    if (argc > 1)
        return usage_error("%s takes no argument \"%s\"", argv[0], argv[1]);
    printf("syncbn %s\n", sbn_version());
    return 0;
}

int main(int argc, char **argv)
{
    json_memory_or_exit();
    if (argc < 2) {
        return usage_error(
            "a command is missing: devices, check, bench, tune or inspect; see syncbn help");
    }
    const command *found = find_command(argv[1]);
    if (!found)
        return no_command(argv[1]);
    int exit_status = found->run(argc - 1, argv + 1);
    errno = 0;
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "syncbn: standard output cannot be written%s%s\n", errno ? ": " : "",
                errno ? strerror(errno) : "");
        exit_status = exit_status ? exit_status : EXIT_FAILED;
    }
    return exit_status;
}
