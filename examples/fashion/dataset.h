/* Fashion-MNIST: 28 x 28 grey images of ten kinds of clothing, as gzipped IDX files. */
#pragma once

#include <stddef.h>

enum { SIDE = 28, PIXELS = SIDE * SIDE, CLASSES = 10 };

struct dataset {
    size_t count;
    unsigned char *images; /* count x PIXELS */
    unsigned char *labels; /* count, each below CLASSES */
};

/* `part` is "train" or "t10k". Ends the program with a sentence if the files are not right. */
struct dataset dataset_read(const char *folder, const char *part);
void dataset_free(struct dataset *set);
