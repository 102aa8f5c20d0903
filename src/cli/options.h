/* What `syncbn check` was asked for. */
#ifndef SYNCBN_CLI_OPTIONS_H
#define SYNCBN_CLI_OPTIONS_H

#include "devices.h"
#include "problem.h"

enum { OPTIONS_MAX_DEVICES = 64 };

typedef enum report_format { REPORT_TEXT, REPORT_TAP, REPORT_JSON } report_format;

typedef struct check_options {
    report_format format;
    size_t num_devices; /* 0: every usable one */
    size_t devices[OPTIONS_MAX_DEVICES];
    const char *build_options;
    size_t count; /* problems, with --replicas and --form in them */
    problem *problems;
} check_options;

/*
 * Reads the command line and the files it names. Returns 0, or the exit status
 * plus one: 1 after --help, EXIT_USAGE + 1 after a sentence about what is wrong.
 */
int options_read(int argc, char **argv, check_options *o);
void options_free(check_options *o);

#endif
