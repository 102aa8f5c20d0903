/*
 * report goals FILE.json: the goals with their verdicts
 * report data FILE.json:  columns for gnuplot
 *
 * FILE.json is what `syncbn bench --json` wrote.
 */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "bench/report/data.h"
#include "bench/report/goals.h"

int main(int argc, char **argv)
{
    int goals = argc == 3 && strcmp(argv[1], "goals") == 0;
    if (!goals && (argc != 3 || strcmp(argv[1], "data") != 0)) {
        fputs("usage: report goals|data FILE.json\n", stderr);
        return 2;
    }
    json_error_t error;
    json_t *report = json_load_file(argv[2], 0, &error);
    if (!report || !json_is_array(json_object_get(report, "problems"))) {
        fprintf(stderr, "report: %s is no report of syncbn bench: %s\n", argv[2],
                report ? "it has no problems" : error.text);
        json_decref(report);
        return 1;
    }
    if (goals)
        goals_print(report);
    else
        data_print(report);
    json_decref(report);
    return fflush(stdout) ? 1 : 0;
}
