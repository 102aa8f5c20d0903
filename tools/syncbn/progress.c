#include "syncbn/progress.h"

#include <stdio.h>
#include <unistd.h>

static int shown;

void progress_show(size_t number, size_t count, size_t failed, const char *what, int always)
{
    char failures[32] = "";
    const int terminal = isatty(STDERR_FILENO);
    if (!terminal && !always)
        return;
    if (failed)
        snprintf(failures, sizeof failures, ", %zu failed", failed);
    fprintf(stderr, terminal ? "\r\033[K[%zu/%zu%s] %.60s" : "[%zu/%zu%s] %s\n", number, count,
            failures, what);
    fflush(stderr);
    shown = terminal;
}

void progress_clear(void)
{
    if (shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        shown = 0;
    }
}
