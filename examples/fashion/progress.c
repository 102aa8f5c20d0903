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

void progress_begin(struct progress *progress, const char *label, size_t total)
{
    const double now = seconds_now();

    *progress = (struct progress){.terminal = isatty(STDOUT_FILENO),
                                  .label = label,
                                  .total = total,
                                  .begun = now,
                                  .shown = now};
}

void progress_say(struct progress *progress, const char *what)
{
    printf(progress->terminal ? "\r%s\033[K" : "%s\n", what);
    fflush(stdout);
}

double progress_left(const struct progress *progress, double now)
{
    enum { LEAST_SECONDS = 2 }; /* to measure a speed over */
    const double seconds = now - progress->begun;

    if (progress->done == 0 || seconds < LEAST_SECONDS)
        return -1;
    return seconds / (double)progress->done * (double)(progress->total - progress->done);
}

/* Says whether it is time for the next line, and that there is one. */
static int due(struct progress *progress, double now)
{
    if (now - progress->shown < (progress->terminal ? 0.1 : 15.0))
        return 0;
    progress->shown = now;
    return 1;
}

static void show(const struct progress *progress, double part, const char *rest)
{
    enum { WIDTH = 8 }; /* the whole line fits 80 columns */
    const char bar[] = "########........";
    const int filled = (int)(part * WIDTH);

    if (progress->terminal)
        printf("\r%-12s [%.*s] %3.0f%%  %s \033[K", progress->label, WIDTH, bar + WIDTH - filled,
               100 * part, rest);
    else
        printf("%-12s %3.0f%%  %s\n", progress->label, 100 * part, rest);
    fflush(stdout);
}

void progress_step(struct progress *progress, double loss, double accuracy)
{
    const double now = seconds_now();
    char left[40] = "", rest[120];

    ++progress->done;
    if (!due(progress, now))
        return;
    const double seconds = progress_left(progress, now);
    const long whole = (long)(seconds + 0.5);

    if (seconds >= 0)
        snprintf(left, sizeof left, "  %ld:%02ld left", whole / 60, whole % 60);
    snprintf(rest, sizeof rest, "loss %.3f  training accuracy %4.1f %%%s", loss, 100 * accuracy,
             left);
    show(progress, (double)progress->done / (double)progress->total, rest);
}

void progress_evaluate(struct progress *progress, const char *label)
{
    progress->label = label;
    progress->shown = 0;
    progress_images(progress, 0, 1);
}

void progress_images(struct progress *progress, size_t done, size_t total)
{
    if (due(progress, seconds_now()))
        show(progress, (double)done / (double)total, "of the test images");
}

void progress_clear(struct progress *progress)
{
    if (progress->terminal)
        fputs("\r\033[K", stdout);
    fflush(stdout);
}
