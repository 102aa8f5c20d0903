/* The commands, and what a command line asks of them. */
#pragma once

#include "bench/timing.h"
#include "check/devices.h"
#include "check/digests.h"
#include "syncbn/json_output.h"
#include "syncbn/safe_text.h"

/* The devices that a command line chooses, by the numbers of `syncbn devices`. */
enum { DEVICE_CHOICE_MAX = PROBLEM_MAX_REPLICAS };
typedef struct device_choice {
    const char *type; /* of devices.h: every usable one of it, not by numbers; or NULL */
    size_t count;     /* 0: every usable one */
    size_t numbers[DEVICE_CHOICE_MAX];
} device_choice;

typedef struct problem_list {
    size_t count;
    problem *problems;
    digests *recorded; /* of each, for who checks them */
} problem_list;

/* Of what check prints on standard output; JSON takes it alone. */
typedef enum report_format { REPORT_TEXT, REPORT_TAP, REPORT_DIGESTS, REPORT_NONE } report_format;

/* Of all commands; each reads what its options set. */
typedef struct command_options {
    const char *json;       /* a file, "-" for standard output, or NULL */
    device_choice devices;  /* for `run`: resolved */
    sbn_kernel_form form;   /* SBN_FORM_AUTO: the problems' own */
    unsigned long replicas; /* 0: the problems' own */
    const char *build_options;
    problem_list list;  /* with form and replicas in them */
    const char **files; /* that have named problems, and how many */
    size_t listed;
    report_format format;
    int verbose;          /* text: all figures of a problem, not the worst alone */
    timing_budget budget; /* for a problem, or to compare two plans on it */
    int forget;
    char **operands; /* up to NULL, where they are no problems */
} command_options;

typedef struct command {
    const char *name, *help;
    const char *takes;          /* letters of its options (options.c), besides --json and --help */
    const char *const *builtin; /* problems where none are named, up to NULL; or it takes none */
    double seconds;             /* where --seconds does not say */
    /* The last checks, or NULL. 0, or EXIT_USAGE after a sentence. */
    int (*settle)(command_options *o);
    int no_devices; /* `run` gets no list */
    /* Returns the exit status. */
    int (*run)(const device_list *list, const command_options *o, json_output *json);
} command;

extern const command devices_command, check_command, bench_command, tune_command, inspect_command;

/*
 * Reads the command line and the files it names into options with their defaults. Returns 0, or the
 * exit status plus one: 1 after --help, EXIT_USAGE + 1 after a sentence about what is wrong.
 */
int options_read(int argc, char **argv, const command *c, command_options *o);
void options_free(command_options *o);

/*
 * Puts the numbers of the devices that were chosen, or of all that can be used, into the choice. Returns 0,
 * or an exit status after a sentence: one does not exist, cannot be used, or there is none.
 */
int device_choice_resolve(device_choice *choice, const device_list *list);
