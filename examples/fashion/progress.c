#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(struct progress *progress, size_t total)
{
    *progress = (struct progress){.terminal = isatty(STDOUT_FILENO), .total = total};
    progress->begun = progress->shown = seconds_now();
}

void progress_step(struct progress *progress, const char *label, double loss, double accuracy)
{
    enum { WIDTH = 30 };
    const char bar[] = "##############################..............................";
    const double now = seconds_now();
    const double part = (double)++progress->done / (double)progress->total;
    const long left = (long)((now - progress->begun) * (1 / part - 1) + 0.5);
    const int filled = (int)(part * WIDTH);

    if (now - progress->shown < (progress->terminal ? 0.1 : 15.0))
        return;
    progress->shown = now;
    if (progress->terminal)
        printf("\r%-12s [%.*s] %3.0f%%  loss %.3f  accuracy %4.1f %%  %ld:%02ld left \033[K", label,
               WIDTH, bar + WIDTH - filled, 100 * part, loss, 100 * accuracy, left / 60, left % 60);
    else
        printf("%-12s %3.0f%%  loss %.3f  accuracy %4.1f %%  %ld:%02ld left\n", label, 100 * part,
               loss, 100 * accuracy, left / 60, left % 60);
    fflush(stdout);
}

void progress_clear(struct progress *progress)
{
    if (progress->terminal)
        fputs("\r\033[K", stdout);
    fflush(stdout);
}
