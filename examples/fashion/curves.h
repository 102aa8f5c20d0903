/* What the trainings looked like: kept as points, written as CSV and as a picture. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "norm.h"

struct point {
    uint64_t seed;
    enum norm_kind kind;
    size_t step, images;   /* since the start of its training */
    double loss, accuracy; /* on training images, mean since the point before */
    double test_accuracy;  /* on a part of the test images; negative: not measured here */
};

struct curves {
    struct point *point;
    size_t count, room;
    size_t tests; /* how many test images test_accuracy is over: the first of `all_tests` */
    size_t all_tests;
};

/* Ends the program if NAME.csv cannot be written: better now than after the trainings. */
void curves_try(const char *name);

void curves_add(struct curves *curves, const struct point *point);
void curves_free(struct curves *curves);

/* "per-replica" or "synchronised". */
const char *norm_label(enum norm_kind kind);

/* Writes NAME.csv, and NAME.png if gnuplot is there, and says what it wrote. */
void curves_write(const struct curves *curves, const char *name, size_t replicas, size_t batch);
