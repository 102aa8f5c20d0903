#include "support/must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A public function that says whether it succeeded, and clears the sentence of an earlier failure. */
static int clears(const char *call)
{
    return strncmp(call, "sbn_", 4) == 0 && call[4] != '_' && !strstr(call, "_destroy(");
}

void must_fail_before(const char *call)
{
    if (clears(call))
        (void)sbn_group_status(NULL, NULL);
}

void must_succeed(int code, const char *call, const char *what)
{
    const char *sentence = sbn_last_error();
    if (code == CL_SUCCESS && (!clears(call) || *sentence == '\0'))
        return;
    printf("Bail out! %s: %s: %s\n", what, sbn_strerror(code), sentence);
    exit(99);
}
