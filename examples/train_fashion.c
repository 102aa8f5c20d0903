/*
 * Trains a small convolutional network on Fashion-MNIST, data-parallel over
 * several replicas, twice: with batch normalisation over each replica's own
 * images, as plain data parallelism does, and synchronised over the images of
 * all replicas by syncbn. The code, the start, the batches and the settings
 * are the same; only the grouping in fashion/norm.c differs.
 *
 *   fashion/network   what the network is           fashion/model   a step, an evaluation
 *   fashion/norm      its batch norms, by syncbn    fashion/train   the loop over batches
 *   fashion/gemm      its matrices, by CLBlast      fashion/fold    no batch norm for inference
 *   fashion/blocks    forward and backward          fashion/verify  the same bits, shown
 *   fashion/device    what lies on each device      fashion/curves  CSV and picture
 *   fashion/ranks     the ranks of an MPI job
 *
 * mpiexec -n 2 build/examples/train_fashion spreads the replicas over two ranks.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fashion/check.h"
#include "fashion/fold.h"
#include "fashion/options.h"
#include "fashion/ranks.h"
#include "fashion/train.h"
#include "fashion/verify.h"

static void list_devices(const struct choice *found, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        printf("%d  %s (%s)%s%s\n", found[i].number, found[i].name, found[i].platform_name,
               found[i].reason[0] ? ": not usable: " : "", found[i].reason);
    if (!count)
        puts("no OpenCL device");
}

static void say_devices(const struct model *model, const char *why)
{
    static const char *const stored[] =
        {[SBN_F32] = "", [SBN_F16] = ", batch norm in f16", [SBN_BF16] = ", batch norm in bf16"};

    printf("%zu replica%s with %zu images each%s", model->in_all, model->in_all == 1 ? "" : "s",
           model->batch, stored[model->device[0].type]);
    if (ranks_in_all() > 1)
        printf(", over %zu ranks", ranks_in_all());
    printf(". Devices%s (%s):\n", ranks_in_all() > 1 ? " of rank 0" : "", why);
    for (size_t d = 0; d < model->devices; ++d) {
        const struct device *device = &model->device[d];

        printf("  %d  %s (%s), %zu replica%s\n", device->choice.number, device->choice.name,
               device->choice.platform_name, device->replicas, device->replicas == 1 ? "" : "s");
    }
}

static const enum norm_kind kinds[] = {NORM_PER_REPLICA, NORM_SYNCHRONISED};

/* One start, both ways. Returns the accuracies, in percent. */
static void compare(struct model *model, struct norm *evaluation, const struct training *training,
                    struct curves *curves, struct progress *progress, double accuracy[2])
{
    for (int k = 0; k < 2; ++k) {
        const double begun = seconds_now();
        struct norm norm;

        norm_open(&norm, kinds[k], &model->network, model->device, model->devices, ranks_in_all());
        accuracy[k] = 100 * train(model, &norm, evaluation, training, curves, progress);
        norm_close(&norm);
        progress_clear(progress);
        printf("seed %llu, %-12s  test accuracy %5.2f %%  in %.0f s\n",
               (unsigned long long)training->seed, norm_label(kinds[k]), accuracy[k],
               seconds_now() - begun);
        fflush(stdout);
    }
}

static void say_gain(const struct options *options, size_t steps, const double *per_replica,
                     const double *gain)
{
    const size_t seeds = options->seeds;
    double base = 0, mean = 0, squares = 0;

    for (size_t s = 0; s < seeds; ++s) {
        base += per_replica[s] / (double)seeds;
        mean += gain[s] / (double)seeds;
    }
    for (size_t s = 0; s < seeds; ++s)
        squares += (gain[s] - mean) * (gain[s] - mean);
    printf("Synchronising %zu replicas with %zu images each for %zu steps changed the test "
           "accuracy by %+.2f points, from %.2f %% to %.2f %%",
           options->replicas, options->batch, steps, mean, base, base + mean);
    if (seeds > 1)
        printf(" (mean of %zu seeds; standard deviation of the difference %.2f)", seeds,
               sqrt(squares / (double)(seeds - 1)));
    puts(".\nNext: ./quickstart check runs the tests; examples/minimal.c is a first program.");
}

static void train_both(const struct options *options, struct model *model, size_t steps,
                       const struct dataset sets[2], struct progress *progress)
{
    double *per_replica = must_alloc(options->seeds, sizeof *per_replica);
    double *gain = must_alloc(options->seeds, sizeof *gain);
    struct training training = {.seed = options->seed,
                                .steps = steps,
                                .rate = options->rate,
                                .images = sets[0].count,
                                .tests = sets[1].count};
    struct curves curves = {.count = 0};
    struct norm evaluation, compiling[2];

    if (ranks_own() == 0)
        curves_try(options->out);
    printf("%zu step%s each, learning rate %g falling to 0\n", steps, steps == 1 ? "" : "s",
           options->rate);
    progress_say(progress, "compiling kernels, once");
    norm_open(&evaluation, NORM_EVALUATION, &model->network, model->device, model->devices, 1);
    for (int k = 0; k < 2; ++k) {
        norm_open(&compiling[k], kinds[k], &model->network, model->device, model->devices,
                  ranks_in_all());
        compile_kernels(model, &compiling[k], &evaluation, &training);
    }
    progress_clear(progress);
    for (size_t s = 0; s < options->seeds; ++s, ++training.seed) {
        double accuracy[2];

        compare(model, &evaluation, &training, &curves, progress, accuracy);
        per_replica[s] = accuracy[0];
        gain[s] = accuracy[1] - accuracy[0];
    }
    if (ranks_own() == 0)
        curves_write(&curves, options->out, options->replicas, options->batch);
    fold_compare(model, &evaluation, sets[1].count, progress);
    say_gain(options, steps, per_replica, gain);
    curves_free(&curves);
    for (int k = 0; k < 2; ++k)
        norm_close(&compiling[k]);
    norm_close(&evaluation);
    free(per_replica);
    free(gain);
}

/*
 * A few steps first, so that activations and gradients are those of a network
 * that learns. Rank 0 takes them alone, with all replicas: what a layer gets to
 * see must not depend on the ranks, or its digests could not be compared.
 */
static int train_and_verify(const struct options *options, struct model *model,
                            const struct dataset *sets, struct progress *progress)
{
    const size_t steps = options->steps ? options->steps : 20;
    const size_t compared = sets[1].count < EVALUATION_IMAGES ? sets[1].count : EVALUATION_IMAGES;
    struct norm norm, evaluation;
    struct order order;
    int status;

    norm_open(&norm, NORM_SYNCHRONISED, &model->network, model->device, model->devices, 1);
    model_start(model, options->seed);
    order_begin(&order, options->seed, sets[0].count);
    for (size_t step = 0; step < steps && ranks_own() == 0; ++step)
        model_step(model, &norm, order_take(&order, model->replicas * model->batch), options->rate);
    status = verify(model);
    norm_open(&evaluation, NORM_EVALUATION, &model->network, model->device, model->devices, 1);
    norm_take_running_stats(&evaluation, &norm);
    status |= fold_compare(model, &evaluation, compared, progress);
    order_end(&order);
    norm_close(&evaluation);
    norm_close(&norm);
    return status;
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);

    const struct options options = options_parse(argc, argv);
    struct choice found[MOST_DEVICES];
    size_t count = devices_find(found), steps = options.steps, first = 0;
    size_t begin = ranks_begin_of(options.replicas, ranks_own());
    size_t end = ranks_begin_of(options.replicas, ranks_own() + 1);
    struct dataset sets[2];
    struct progress progress;
    struct model model;
    const char *why;
    int status = 0;

    if (options.list) {
        list_devices(found, count);
        must_print();
        ranks_end();
        return 0;
    }
    if (options.replicas < ranks_in_all())
        refuse("--replicas %zu leaves some of the %zu ranks without one", options.replicas,
               ranks_in_all());
    count = devices_choose(found, count, options.devices, &why);
    count = ranks_devices(count, &first);
    sets[0] = dataset_read(options.data, "train");
    sets[1] = dataset_read(options.data, "t10k");
    if (options.replicas * options.batch > sets[0].count)
        fail("--replicas times --batch is more than the %zu images there are", sets[0].count);
    if (!steps)
        steps = (size_t)ceil(options.epochs * (double)sets[0].count /
                             (double)(options.replicas * options.batch));
    if (options.verify) {
        begin = 0;
        end = options.replicas;
    }

    progress_begin(&progress, "", 0);
    progress_say(&progress, "compiling the demo's own kernels");
    model_open(&model, found + first, count, options.type, begin, end - begin, options.replicas,
               options.batch, sets);
    progress_clear(&progress);
    say_devices(&model, why);
    if (options.verify)
        status = train_and_verify(&options, &model, sets, &progress);
    else
        train_both(&options, &model, steps, sets, &progress);
    model_close(&model);
    dataset_free(&sets[0]);
    dataset_free(&sets[1]);
    must_print();
    ranks_end();
    return status;
}
