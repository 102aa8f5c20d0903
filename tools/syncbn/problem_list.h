/* Problems as a command line names them: one by one, and in files. */
#ifndef TOOLS_SYNCBN_PROBLEM_LIST_H
#define TOOLS_SYNCBN_PROBLEM_LIST_H

#include "check/digests.h"
#include "check/problem.h"

typedef struct problem_list {
    size_t count;
    problem *problems;
    digests *recorded; /* of each, for who checks them */
} problem_list;

/*
 * Adds a file's problems; a line may have digests behind the problem (digests.h). Returns 0, or
 * EXIT_USAGE after a sentence about what is wrong.
 */
int problem_list_read(problem_list *list, const char *file);

/*
 * Adds the operands of a command line, up to NULL; where there is none and no file was `listed`, the
 * command's own problems, up to NULL. Returns as above.
 */
int problem_list_operands(problem_list *list, char **operands, int listed,
                          const char *const *builtin);

void problem_list_free(problem_list *list);

#endif
