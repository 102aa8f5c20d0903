/* Lists of problems. */
#include "problem_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

/* `file` is NULL for a problem of the command line. */
static int add(problem_list *list, const char *line, const char *file, int number)
{
    char error[256];
    problem *grown = realloc(list->problems, (list->count + 1) * sizeof *grown);
    if (!grown) {
        return usage_error("no memory for %zu problems", list->count + 1);
    }
    list->problems = grown;
    if (problem_parse(line, &grown[list->count], error, sizeof error)) {
        return file ? usage_error("%s:%d: %s", file, number, error) : usage_error("%s", error);
    }
    list->count++;
    return 0;
}

int problem_list_add(problem_list *list, const char *line)
{
    return add(list, line, NULL, 0);
}

int problem_list_read(problem_list *list, const char *file)
{
    char line[PROBLEM_LINE + 256];
    FILE *in = fopen(file, "r");
    int failed = 0;
    if (!in) {
        return usage_error("%s cannot be read: %s", file, strerror(errno));
    }
    for (int number = 1; !failed && fgets(line, sizeof line, in); number++) {
        if (!strchr(line, '\n') && !feof(in)) {
            failed = usage_error("%s:%d: the line is too long", file, number);
            break;
        }
        line[strcspn(line, "#\r\n")] = 0;
        char *word = line + strspn(line, " \t");
        size_t length = strcspn(word, " \t");
        if (word[length + strspn(word + length, " \t")]) {
            failed = usage_error("%s:%d: one problem a line, without blanks", file, number);
            break;
        }
        word[length] = 0;
        failed = length ? add(list, word, file, number) : 0;
    }
    fclose(in);
    return failed;
}

void problem_list_free(problem_list *list)
{
    free(list->problems);
    *list = (problem_list){0, NULL};
}
