#include "support/sample.h"

#include <stdlib.h>
#include <string.h>

int sample_only(void)
{
    const char *check = getenv("CHECK");
    return !check || strcmp(check, "full") != 0;
}

int sample_has_gpu_form(const char *line)
{
    const int fused = strstr(line, "relu") || strstr(line, "leaky") || strstr(line, ",add") ||
                      strstr(line, ",output");
    return !sample_only() || (!strstr(line, "bf16") && (!fused || strstr(line, "relu,add")));
}
