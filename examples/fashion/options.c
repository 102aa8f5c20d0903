#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ranks.h"

static const char help[] =
    "usage: train_fashion [options]\n"
    "\n"
    "Trains a small convolutional network on Fashion-MNIST over several replicas,\n"
    "once with batch normalisation per replica and once synchronised by syncbn:\n"
    "the same code, the same start, the same batches. With two images per replica\n"
    "the dense layer normalises two values, which per replica is hopeless; the gap\n"
    "narrows as replicas grow: try --replicas 4 --batch 4 and --replicas 2 --batch 8.\n"
    "\n"
    "  --replicas N   data-parallel replicas (8)\n"
    "  --batch N      images per replica and step (2)\n"
    "  --epochs X     passes over the 60,000 images, fractions allowed (1)\n"
    "  --steps N      that many steps instead of epochs\n"
    "  --seed N       of the start and the order of the images (1)\n"
    "  --seeds N      train from N starts and give the difference with its spread (1)\n"
    "  --rate X       learning rate at the first step, of both (0.01)\n"
    "  --type TYPE    store what batch norms read and write as f32, f16 or bf16 (f32)\n"
    "  --devices LIST auto: all GPUs, or else the CPU; all; cpu, gpu or accelerator: all of\n"
    "                 that type; or numbers as in 0,1, those of syncbn devices (auto)\n"
    "  --list         print the devices and stop\n"
    "  --data DIR     folder of the four IDX files (/usr/share/datasets/fashion-mnist)\n"
    "  --out NAME     write the curves to NAME.csv and NAME.png (fashion, in this folder)\n"
    "  --verify       train a little, then show that BN gives the same bits however the\n"
    "                 batch is split, and the same logits when it is folded away; exit\n"
    "                 status 1 if not\n";

static const char *const names[] = {"--replicas", "--batch", "--epochs", "--steps",
                                    "--seed",     "--seeds", "--rate",   "--type",
                                    "--devices",  "--data",  "--out"};
enum { REPLICAS, BATCH, EPOCHS, STEPS, SEED, SEEDS, RATE, TYPE, DEVICES, DATA, OUT, OPTIONS };

static unsigned long long whole(const char *name, const char *text, unsigned long long least,
                                unsigned long long most)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value < least || value > most)
        refuse("%s takes a whole number from %llu to %llu, not '%s'", name, least, most, text);
    return value;
}

static double positive(const char *name, const char *text, double most)
{
    char *end;
    double value = strtod(text, &end);

    if (!*text || *end || !isfinite(value) || value <= 0 || value > most)
        refuse("%s takes a number above 0 and up to %g, not '%s'", name, most, text);
    return value;
}

static sbn_type type_of(const char *name, const char *text)
{
    static const char *const types[] = {[SBN_F32] = "f32", [SBN_F16] = "f16", [SBN_BF16] = "bf16"};

    for (int type = SBN_F32; type <= SBN_BF16; ++type)
        if (!strcmp(text, types[type]))
            return (sbn_type)type;
    refuse("%s takes f32, f16 or bf16, not '%s'", name, text);
}

static void set(struct options *options, int option, const char *value)
{
    const char *name = names[option];

    switch (option) {
    case REPLICAS: options->replicas = whole(name, value, 1, 256); break;
    case BATCH: options->batch = whole(name, value, 1, 4096); break;
    case EPOCHS: options->epochs = positive(name, value, 1000); break;
    case STEPS: options->steps = whole(name, value, 1, 100000000); break;
    case SEED: options->seed = whole(name, value, 0, UINT64_MAX - 1000); break;
    case SEEDS: options->seeds = whole(name, value, 1, 100); break;
    case RATE: options->rate = positive(name, value, 10); break;
    case TYPE: options->type = type_of(name, value); break;
    case DEVICES: options->devices = value; break;
    case DATA: options->data = value; break;
    case OUT: options->out = value; break;
    }
    if (!*value)
        refuse("%s needs a value that is not empty", name);
}

/* Both `--name value` and `--name=value`. */
static int match(const char *argument, size_t *length)
{
    *length = strcspn(argument, "=");
    for (int i = 0; i < OPTIONS; ++i)
        if (strlen(names[i]) == *length && !strncmp(argument, names[i], *length))
            return i;
    return -1;
}

struct options options_parse(int argc, char **argv)
{
    struct options options = {.replicas = 8,
                              .batch = 2,
                              .epochs = 1,
                              .seed = 1,
                              .seeds = 1,
                              .rate = 0.01,
                              .devices = "auto",
                              .data = "/usr/share/datasets/fashion-mnist",
                              .out = "fashion"};

    for (int i = 1; i < argc; ++i) {
        size_t length;
        int option = match(argv[i], &length);

        if (!strcmp(argv[i], "--help")) {
            fputs(help, stdout);
            must_print();
            ranks_end();
            exit(0);
        } else if (!strcmp(argv[i], "--list")) {
            options.list = 1;
        } else if (!strcmp(argv[i], "--verify")) {
            options.verify = 1;
        } else if (option < 0) {
            refuse("unknown option '%s'; --help lists them", argv[i]);
        } else if (argv[i][length] == '=') {
            set(&options, option, argv[i] + length + 1);
        } else if (i + 1 == argc) {
            refuse("%s needs a value", argv[i]);
        } else {
            set(&options, option, argv[i + 1]);
            ++i;
        }
    }
    if (options.replicas * options.batch > 16384)
        refuse("--replicas times --batch is %zu images; at most 16384 fit a step",
               options.replicas * options.batch);
    /* The dense block has one value per image and channel: alone it has no spread. */
    if (options.batch < 2 && !options.verify)
        refuse("--batch 1 leaves per-replica statistics one value in the dense layer; they need 2");
    if (options.replicas * options.batch < 2)
        refuse("--replicas 1 with --batch 1 leaves the dense layer one value; statistics need 2");
    return options;
}
