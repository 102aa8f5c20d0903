#include "train.h"

#include <stdlib.h>

#include "check.h"
#include "random.h"
#include "ranks.h"

void order_begin(struct order *order, uint64_t seed, size_t count)
{
    /* Another stream than the start's, or both would use the same numbers. */
    *order = (struct order){.state = ~seed, .count = count, .next = count};
    order->index = must_alloc(count, sizeof *order->index);
    for (size_t i = 0; i < count; ++i)
        order->index[i] = (unsigned)i;
}

void order_end(struct order *order)
{
    free(order->index);
}

const unsigned *order_take(struct order *order, size_t images)
{
    if (images > order->count - order->next) {
        for (size_t i = order->count; i > 1; --i) {
            const size_t k = random_below(&order->state, i);
            const unsigned one = order->index[i - 1];

            order->index[i - 1] = order->index[k];
            order->index[k] = one;
        }
        order->next = 0;
    }
    order->next += images;
    return order->index + order->next - images;
}

/* How often a curve gets a point, and which of them look at test images. */
enum { POINTS = 60, POINTS_PER_TEST = 6, CURVE_TESTS = 2000 };

void compile_kernels(struct model *model, struct norm *norm, struct norm *evaluation,
                     const struct training *training)
{
    const size_t images = model->in_all * model->batch;
    const size_t tests = ranks_in_all() * model->devices * EVALUATION_IMAGES;
    struct order order;

    model_start(model, training->seed);
    order_begin(&order, training->seed, training->images);
    model_step(model, norm, order_take(&order, images), training->rate);
    model_evaluate(model, evaluation, tests < training->tests ? tests : training->tests, NULL,
                   NULL);
    order_end(&order);
}

double train(struct model *model, struct norm *norm, struct norm *evaluation,
             const struct training *training, struct curves *curves, struct progress *progress)
{
    const size_t images = model->in_all * model->batch;
    const size_t some = training->tests < CURVE_TESTS ? training->tests : CURVE_TESTS;
    struct order order;
    struct score since = {0, 0};
    size_t seen = 0, points = 0;
    double recent_loss = 0, recent_right = 0;

    progress_begin(progress, norm_label(norm->kind), training->steps);
    model_start(model, training->seed);
    order_begin(&order, training->seed, training->images);
    for (size_t step = 0; step < training->steps; ++step) {
        const double rate = training->rate * (1 - (double)step / (double)training->steps);
        const struct score one = model_step(model, norm, order_take(&order, images), rate);
        /* The last hundred steps or so, for the eye. */
        const double weight = step < 100 ? 1.0 / (double)(step + 1) : 0.01;

        recent_loss += weight * (one.loss / (double)images - recent_loss);
        recent_right += weight * (one.right / (double)images - recent_right);
        progress_step(progress, recent_loss, recent_right);
        since.loss += one.loss;
        since.right += one.right;
        seen += images;
        if ((step + 1) * POINTS / training->steps > points) {
            struct point point = {.seed = training->seed,
                                  .kind = norm->kind,
                                  .step = step + 1,
                                  .images = (step + 1) * images,
                                  .loss = since.loss / (double)seen,
                                  .accuracy = since.right / (double)seen,
                                  .test_accuracy = -1};

            points = (step + 1) * POINTS / training->steps;
            if (points % POINTS_PER_TEST == 0) {
                norm_take_running_stats(evaluation, norm);
                curves->tests = some;
                curves->all_tests = training->tests;
                point.test_accuracy = model_evaluate(model, evaluation, some, NULL, NULL).right /
                                      (double)some;
            }
            curves_add(curves, &point);
            since = (struct score){0, 0};
            seen = 0;
        }
    }
    order_end(&order);
    norm_take_running_stats(evaluation, norm);
    progress_evaluate(progress, norm_label(norm->kind));
    return model_evaluate(model, evaluation, training->tests, NULL, progress).right /
           (double)training->tests;
}
