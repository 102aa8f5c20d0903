#include "dataset.h"

#include <stdio.h>
#include <stdlib.h>

#include <zlib.h>

#include "check.h"

static gzFile open_part(const char *folder, const char *part, const char *kind, char *path,
                        size_t size)
{
    gzFile file;

    if (snprintf(path, size, "%s/%s-%s-ubyte.gz", folder, part, kind) >= (int)size)
        fail("--data names a path that is too long: %s", folder);
    file = gzopen(path, "rb");
    if (!file)
        fail("cannot open %s: install dataset-fashion-mnist, or name its folder with --data", path);
    return file;
}

static void read_exactly(gzFile file, const char *path, unsigned char *to, size_t size)
{
    if (gzread(file, to, (unsigned)size) != (int)size)
        fail("%s ends early or is damaged", path);
}

/* IDX numbers are big-endian. */
static unsigned long number(gzFile file, const char *path)
{
    unsigned char b[4];

    read_exactly(file, path, b, sizeof b);
    return (unsigned long)b[0] << 24 | (unsigned long)b[1] << 16 | (unsigned long)b[2] << 8 | b[3];
}

struct dataset dataset_read(const char *folder, const char *part)
{
    enum { MAGIC_IMAGES = 0x803, MAGIC_LABELS = 0x801, MOST = 1000000 };
    struct dataset set = {0, NULL, NULL};
    char path[4096];
    gzFile file = open_part(folder, part, "images-idx3", path, sizeof path);

    if (number(file, path) != MAGIC_IMAGES)
        fail("%s is no IDX file of images", path);
    set.count = number(file, path);
    if (set.count < 1 || set.count > MOST)
        fail("%s says it holds %zu images", path, set.count);
    if (number(file, path) != SIDE || number(file, path) != SIDE)
        fail("%s does not hold images of %d x %d", path, SIDE, SIDE);
    set.images = must_alloc(set.count, PIXELS);
    read_exactly(file, path, set.images, set.count * PIXELS);
    gzclose(file);

    file = open_part(folder, part, "labels-idx1", path, sizeof path);
    if (number(file, path) != MAGIC_LABELS || number(file, path) != set.count)
        fail("%s does not hold the labels of %zu images", path, set.count);
    set.labels = must_alloc(set.count, 1);
    read_exactly(file, path, set.labels, set.count);
    gzclose(file);
    for (size_t i = 0; i < set.count; ++i)
        if (set.labels[i] >= CLASSES)
            fail("%s has label %d; there are %d classes", path, set.labels[i], CLASSES);
    return set;
}

void dataset_free(struct dataset *set)
{
    free(set->images);
    free(set->labels);
    *set = (struct dataset){0, NULL, NULL};
}
