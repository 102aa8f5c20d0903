#include "syncbn/problem_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "syncbn/safe_text.h"

/* `file` is NULL for a problem of the command line, which has no digests. */
static int add(problem_list *list, const char *line, const char *words, const char *file,
               int number)
{
    char error[256];
    size_t i = list->count, more = i + 1;
    problem *problems = realloc(list->problems, more * sizeof *problems);
    list->problems = problems ? problems : list->problems;
    digests *recorded = realloc(list->recorded, more * sizeof *recorded);
    list->recorded = recorded ? recorded : list->recorded;
    if (!problems || !recorded)
        return usage_error("no memory for %zu problems", more);
    if (problem_parse(line, &problems[i], error, sizeof error) ||
        digests_parse(words, &recorded[i], error, sizeof error))
        return file ? usage_error("%s:%d: %s", file, number, error) : usage_error("%s", error);
    ++list->count;
    return 0;
}

int problem_list_operands(problem_list *list, char **operands, int listed,
                          const char *const *builtin)
{
    int failed = 0;
    const int any = listed || *operands;
    for (; *operands && !failed; ++operands)
        failed = add(list, *operands, "", NULL, 0);
    for (; !any && *builtin && !failed; ++builtin)
        failed = add(list, *builtin, "", NULL, 0);
    return failed;
}

int problem_list_read(problem_list *list, const char *file)
{
    char line[PROBLEM_LINE + 256];
    FILE *in = fopen(file, "r");
    int failed = 0;
    if (!in)
        return usage_error("%s cannot be read: %s", file, strerror(errno));
    for (int number = 1; !failed && fgets(line, sizeof line, in); ++number) {
        if (!strchr(line, '\n') && !feof(in)) {
            failed = usage_error("%s:%d: the line is too long", file, number);
            break;
        }
        line[strcspn(line, "#\r\n")] = 0;
        char *word = line + strspn(line, " \t");
        size_t length = strcspn(word, " \t");
        char *words = word + length + (word[length] != 0);
        word[length] = 0;
        failed = length ? add(list, word, words, file, number) : 0;
    }
    fclose(in);
    return failed;
}

void problem_list_free(problem_list *list)
{
    free(list->problems);
    free(list->recorded);
    *list = (problem_list){0, NULL, NULL};
}
