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
    double begun, shown;
};

void progress_begin(struct progress *progress, size_t total);

/* After each step of the training called `label`; loss and accuracy are recent means. */
void progress_step(struct progress *progress, const char *label, double loss, double accuracy);

/* Takes the bar away, before something else is printed. */
void progress_clear(struct progress *progress);

double seconds_now(void);

#endif
