/* What `syncbn check` was asked for. */
#ifndef TOOLS_SYNCBN_OPTIONS_H
#define TOOLS_SYNCBN_OPTIONS_H

#include "syncbn/device_choice.h"
#include "syncbn/problem_list.h"

/* Of what is printed on standard output; JSON takes it alone. */
typedef enum report_format { REPORT_TEXT, REPORT_TAP, REPORT_DIGESTS, REPORT_NONE } report_format;

typedef struct check_options {
    report_format format;
    int verbose;      /* text: all figures of a problem, not the worst alone */
    const char *json; /* a file, "-" for standard output, or NULL */
    device_choice devices;
    const char *build_options;
    problem_list list; /* with --replicas and --form in them */
} check_options;

/*
 * Reads the command line and the files it names. Returns 0, or the exit status
 * plus one: 1 after --help, EXIT_USAGE + 1 after a sentence about what is wrong.
 */
int options_read(int argc, char **argv, check_options *o);
void options_free(check_options *o);

#endif
