/* Frozen layers need no other rank, and what is not wanted is not read. */
#include <math.h>
#include <stdlib.h>

#include "pass/frozen.h"

/* A transport that nobody answers. */
static int calls;

static int start(void *context, int tag, int64_t *words, size_t count, void **request)
{
    (void)context, (void)tag, (void)words, (void)count, (void)request;
    ++calls;
    return -1;
}

static int test(void *context, void *request, int *done)
{
    (void)context, (void)request, (void)done;
    return ++calls, -1;
}

/* A rank of two whose other never comes; gradients local, accumulated, or not wanted at all. */
void check_alone(void)
{
    const sbn_transport table = {.size = sizeof table,
                                 .world_size = 2,
                                 .start = start,
                                 .test = test};
    sbn_group *group = make_group(&table);
    example e;
    sbn_pass *pass;
    example_open(&e, "affine", group);
    const sbn_shard all = e.s.shard;
    must(sbn_forward_begin(e.layer, &all, e.saved, 0, &pass), "begin");
    int ready = 0;
    must(sbn_pass_progress(pass, &ready), "progress");
    tap_ok(ready == 1, "a frozen forward pass is ready at once");
    expect(sbn_batchnorm_set_frozen(e.layer, 0), SBN_INVALID_ARGUMENT, "affine|under way|freezing",
           "release while a pass is under way");
    must(sbn_pass_end(pass, NULL), "end");
    must(sbn_backward(e.layer, &all, e.saved, 0, NULL), "sbn_backward");
    expect_tensor(&e, &all.weight_grad, "weight_grad", 8);
    expect_tensor(&e, &all.bias_grad, "bias_grad", 8);
    buffer_fill(&e.s, &all.bias_grad, CHANNELS, 0.0f);
    buffer_fill(&e.s, &all.weight_grad, CHANNELS, 0.0f);
    for (int i = 0; i < 2; ++i)
        must(sbn_backward(e.layer, &all, e.saved, SBN_ACCUMULATE_GRADIENTS, NULL), "sbn_backward");
    float once[CHANNELS], twice[CHANNELS];
    float *expected = vectors_get(&e.file, "affine", "bias_grad", NULL);
    buffer_read(&e.s, &all.bias_grad, CHANNELS, twice);
    for (size_t c = 0; c < CHANNELS; ++c)
        once[c] = twice[c] / 2;
    tap_ok(fabsf(once[0] - expected[0]) <= 1e-5f * fmaxf(1, fabsf(expected[0])),
           "accumulated twice: %g", (double)twice[0]);
    free(expected);

    /* Not trained: neither x nor gradients. */
    sbn_shard bare = all;
    bare.x.mem = bare.weight_grad.mem = bare.bias_grad.mem = NULL;
    buffer_fill(&e.s, &all.dx, ELEMENTS, PATTERN);
    expect(sbn_backward(e.layer, &bare, e.saved, 0, NULL), SBN_SUCCESS, "",
           "weight and bias not trained: no x");
    expect_tensor(&e, &all.dx, "dx", 4);
    sbn_shard without = all;
    without.x.mem = NULL;
    expect(sbn_backward(e.layer, &without, e.saved, 0, NULL), SBN_INVALID_ARGUMENT,
           "x: expected a buffer", "weight trained: x is needed");

    /* NaN in x is nothing to dx; in dy it stays where it is. */
    float *dx = malloc(sizeof(float) * ELEMENTS);
    buffer_fill(&e.s, &all.x, 40, NAN);
    buffer_fill(&e.s, &all.dy, 1, INFINITY);
    must(sbn_backward(e.layer, &all, e.saved, 0, NULL), "sbn_backward");
    buffer_read(&e.s, &all.dx, ELEMENTS, dx);
    int finite = 0;
    for (size_t i = 0; i < ELEMENTS; ++i)
        finite += isfinite(dx[i]) != 0;
    tap_ok(finite == ELEMENTS - 1 && isinf(dx[0]), "Inf in dy, NaN in x: %d of %d are finite",
           finite, (int)ELEMENTS);
    free(dx);
    tap_ok(calls == 0, "the transport was not called");

    /* A single value is enough; an empty batch too. */
    sbn_shard one = all;
    one.shape[0] = one.shape[2] = 1;
    expect(sbn_forward(e.layer, &one, e.saved, 0, NULL), SBN_SUCCESS, "", "one value per channel");
    one.shape[0] = 0;
    expect(sbn_forward(e.layer, &one, e.saved, 0, NULL), SBN_SUCCESS, "", "no value");
    expect(sbn_backward(e.layer, &one, e.saved, 0, NULL), SBN_SUCCESS, "", "its backward pass");

    /* The group fails: frozen passes go on. */
    must(sbn_batchnorm_set_frozen(e.layer, 0), "release");
    expect(sbn_forward(e.layer, &all, e.saved, 0, NULL), SBN_TRANSPORT_ERROR, "start",
           "released, it communicates");
    must(sbn_batchnorm_set_training(e.layer, 0), "evaluation");
    expect(sbn_forward(e.layer, &all, e.saved, 0, NULL), SBN_SUCCESS, "",
           "evaluation after the group has failed");
    expect(sbn_backward(e.layer, &all, e.saved, 0, NULL), SBN_SUCCESS, "", "and its backward pass");
    example_close(&e);
    sbn_group_destroy(group);
}
