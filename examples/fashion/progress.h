/*
 * How far the trainings are: a bar that redraws itself on a terminal, a line
 * now and then elsewhere.
 */
#ifndef FASHION_PROGRESS_H
#define FASHION_PROGRESS_H

#include <stddef.h>

struct progress {
    int terminal;
    size_t total, done; /* steps of all trainings together */
    double warm, shown; /* when the steps that compile kernels were over; the last line */
    const char *doing;  /* what progress_images counts */
};

void progress_begin(struct progress *progress, size_t total);

/* After each step of the training called `label`; loss and accuracy are recent means. */
void progress_step(struct progress *progress, const char *label, double loss, double accuracy);

/* Counts a step that ended at `now`, in seconds. */
void progress_count(struct progress *progress, double now);

/*
 * Seconds left for the steps that are not done, or a negative number while too few steps ran.
 * The first steps compile kernels and are no measure of the others.
 */
double progress_left(const struct progress *progress, double now);

/* From here on progress_images counts test images of what is called `doing`. */
void progress_do(struct progress *progress, const char *doing);
void progress_images(struct progress *progress, size_t done, size_t total);

/* Takes the bar away, before something else is printed. */
void progress_clear(struct progress *progress);

double seconds_now(void);

#endif
