/* The command `syncbn`: finds the subcommand. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <syncbn.h>

#include "check/words.h"
#include "syncbn/options.h"

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

static const command *const commands[] = {&devices_command, &check_command, &bench_command,
                                          &tune_command, &inspect_command};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMANDS; ++i)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* "help", --help or -h. */
static int is_word(const char *given, const char *word, char letter)
{
    return strcmp(given, word) == 0 ||
           (strncmp(given, "--", 2) == 0 && strcmp(given + 2, word) == 0) ||
           (given[0] == '-' && given[1] == letter && !given[2]);
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

static int print_help(int argc, char **argv)
{
    if (argc > 2)
        return usage_error("help takes one command, got %d", argc - 1);
    const command *of = argc == 2 ? find_command(argv[1]) : NULL;
    if (argc == 2 && !of && !is_word(argv[1], "help", 'h') && !is_word(argv[1], "version", 'V'))
        return no_command(argv[1]);
    fputs(of ? of->help : help, stdout);
    return 0;
}

static int print_version(int argc, char **argv)
{
    if (argc > 1)
        return usage_error("%s takes no argument \"%s\"", argv[0], argv[1]);
    printf("syncbn %s\n", sbn_version());
    return 0;
}

static int run_with(const command *c, command_options *o, json_output *json)
{
    device_list list;
    if (c->no_devices)
        return c->run(NULL, o, json);
    const int status = devices_list(&list);
    if (status)
        return failure("listing the devices failed: %s", sbn_strerror(status));
    int exit_status = c->builtin ? device_choice_resolve(&o->devices, &list) : 0;
    exit_status = exit_status ? exit_status : c->run(&list, o, json);
    devices_free(&list);
    return exit_status;
}

/* Whether JSON can be written is known before anything runs. */
static int run(const command *c, int argc, char **argv)
{
    command_options options;
    json_output json;
    const int ended = options_read(argc, argv, c, &options);
    if (ended)
        return ended - 1;
    int exit_status = json_output_open(&json, options.json);
    if (!exit_status) {
        exit_status = run_with(c, &options, &json);
        json_output_close(&json);
    }
    options_free(&options);
    return exit_status;
}

int main(int argc, char **argv)
{
    json_memory_or_exit();
    if (argc < 2) {
        return usage_error(
            "a command is missing: devices, check, bench, tune or inspect; see syncbn help");
    }
    const command *found = find_command(argv[1]);
    int exit_status = found                              ? run(found, argc - 1, argv + 1)
                      : is_word(argv[1], "help", 'h')    ? print_help(argc - 1, argv + 1)
                      : is_word(argv[1], "version", 'V') ? print_version(argc - 1, argv + 1)
                                                         : no_command(argv[1]);
    errno = 0;
    if (fflush(stdout) || ferror(stdout)) {
        const int failed = failure("standard output cannot be written%s%s", errno ? ": " : "",
                                   errno ? strerror(errno) : "");
        exit_status = exit_status ? exit_status : failed;
    }
    return exit_status;
}
