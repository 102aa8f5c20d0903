/*
 * How far a training is: a bar that redraws itself on a terminal, a line
 * now and then elsewhere.
 */
#pragma once

#include <stddef.h>

struct progress {
    int terminal;
    const char *label;
    size_t total, done;  /* steps */
    double begun, shown; /* when the training began; when the last line was shown */
};

/* A training of `total` steps begins. */
void progress_begin(struct progress *progress, const char *label, size_t total);

/* Shows at once what is being done, where nothing can be counted. */
void progress_say(struct progress *progress, const char *what);

/* After each step; loss and accuracy are recent means over training images. */
void progress_step(struct progress *progress, double loss, double accuracy);

/* Seconds left for the steps that are not done, or a negative number in the first seconds. */
double progress_left(const struct progress *progress, double now);

/* From here on progress_images counts the test images that `label` has looked at. */
void progress_evaluate(struct progress *progress, const char *label);
void progress_images(struct progress *progress, size_t done, size_t total);

/* Takes the bar away, before something else is printed. */
void progress_clear(struct progress *progress);

double seconds_now(void);
