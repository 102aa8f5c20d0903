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
    progress->shown = seconds_now();
}

/* Steps whose kernels may still be compiled, and seconds that a speed is measured over at least. */
enum { WARM_STEPS = 2, LEAST_SECONDS = 2 };

void progress_count(struct progress *progress, double now)
{
    if (++progress->done == WARM_STEPS)
        progress->warm = now;
}

double progress_left(const struct progress *progress, double now)
{
    const double seconds = now - progress->warm;

    if (progress->done <= WARM_STEPS || seconds < LEAST_SECONDS)
        return -1;
    return seconds / (double)(progress->done - WARM_STEPS) *
           (double)(progress->total - progress->done);
}

/* Says whether it is time for the next line, and that there is one. */
static int due(struct progress *progress, double now)
{
    if (now - progress->shown < (progress->terminal ? 0.1 : 15.0))
        return 0;
    progress->shown = now;
    return 1;
}

static void show(const struct progress *progress, const char *label, double part, const char *rest)
{
    enum { WIDTH = 16 }; /* the whole line fits 80 columns */
    const char bar[] = "################................";
    const int filled = (int)(part * WIDTH);

    if (progress->terminal)
        printf("\r%-12s [%.*s] %3.0f%%  %s \033[K", label, WIDTH, bar + WIDTH - filled, 100 * part,
               rest);
    else
        printf("%-12s %3.0f%%  %s\n", label, 100 * part, rest);
    fflush(stdout);
}

void progress_step(struct progress *progress, const char *label, double loss, double accuracy)
{
    const double now = seconds_now();
    char left[40] = "compiling", rest[120];

    progress_count(progress, now);
    if (!due(progress, now))
        return;
    if (progress->done > WARM_STEPS) {
        const double seconds = progress_left(progress, now);
        const long whole = (long)(seconds + 0.5);

        if (seconds < 0)
            snprintf(left, sizeof left, "measuring");
        else
            snprintf(left, sizeof left, "%ld:%02ld left", whole / 60, whole % 60);
    }
    snprintf(rest, sizeof rest, "loss %.3f  accuracy %4.1f %%  %s", loss, 100 * accuracy, left);
    show(progress, label, (double)progress->done / (double)progress->total, rest);
}

void progress_do(struct progress *progress, const char *doing)
{
    progress->doing = doing;
    progress->shown = 0;
    progress_images(progress, 0, 1);
}

void progress_images(struct progress *progress, size_t done, size_t total)
{
    if (due(progress, seconds_now()))
        show(progress, progress->doing, (double)done / (double)total, "of the test images");
}

void progress_clear(struct progress *progress)
{
    if (progress->terminal)
        fputs("\r\033[K", stdout);
    fflush(stdout);
}
