#include "support/must.h"

#include <stdio.h>
#include <stdlib.h>

void must(int code, const char *what)
{
    if (code == CL_SUCCESS)
        return;
    printf("Bail out! %s: %s: %s\n", what, sbn_strerror(code), sbn_last_error());
    exit(99);
}
