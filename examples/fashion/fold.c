#include "fold.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "ranks.h"

void fold(struct model *model, struct norm *evaluation)
{
    sbn_folding *foldings = must_alloc(evaluation->replicas, sizeof *foldings);

    /* The last block has no batch norm: its weights stay as they are. */
    for (size_t d = 0; d < model->devices; ++d)
        must_cl(clEnqueueCopyBuffer(model->device[d].queue, model->device[d].parameters,
                                    model->device[d].folded, 0, 0,
                                    model->network.parameters * sizeof(float), 0, NULL, NULL),
                "copying the parameters");
    for (int b = 0; b < NORMS; ++b) {
        const struct block *block = &model->network.block[b];

        /* Weights are (depth, out): the outputs lie innermost. */
        for (size_t m = 0; m < evaluation->replicas; ++m) {
            const struct device *device = evaluation->replica[m].device;

            foldings[m] = (sbn_folding){.size = sizeof(sbn_folding),
                                        .outer = block->depth,
                                        .inner = 1,
                                        .weight = {device->parameters, block->weights},
                                        .norm_weight = {device->parameters, block->gamma},
                                        .norm_bias = {device->parameters, block->beta},
                                        .folded_weight = {device->folded, block->weights},
                                        .folded_bias = {device->folded, block->beta}};
        }
        must_sbn(sbn_batchnorm_fold(evaluation->group[0].layer[b], foldings), "folding a layer");
    }
    free(foldings);
}

/* The largest over all ranks. */
static float largest_of(float own)
{
    float *all = must_alloc(ranks_in_all(), sizeof *all);
    float largest = 0;

    all[ranks_own()] = own;
    ranks_join(all, ranks_in_all());
    for (size_t r = 0; r < ranks_in_all(); ++r)
        largest = fmaxf(largest, all[r]);
    free(all);
    return largest;
}

int fold_compare(struct model *model, struct norm *evaluation, size_t count,
                 struct progress *progress)
{
    float *logits = must_alloc(count * CLASSES, sizeof *logits);
    float *folded_logits = must_alloc(count * CLASSES, sizeof *folded_logits);
    struct score score, folded_score;
    /* Of a type, for numbers just above a power of two. */
    static const float steps[] = {[SBN_F32] = 0, [SBN_F16] = 0x1p-10f, [SBN_BF16] = 0x1p-7f};
    float largest = 0, apart = 0;

    puts("Folding batch norm into the layers before it, for inference:");
    progress_evaluate(progress, "unfolded");
    score = model_evaluate(model, evaluation, count, logits, progress);
    fold(model, evaluation);
    progress_evaluate(progress, "folded");
    folded_score = model_evaluate(model, NULL, count, folded_logits, progress);
    progress_clear(progress);
    for (size_t i = 0; i < count * CLASSES; ++i) {
        largest = fmaxf(largest, fabsf(logits[i]));
        const float difference = fabsf(folded_logits[i] - logits[i]);
        apart = isnan(difference) ? INFINITY : fmaxf(apart, difference);
    }
    largest = largest_of(largest);
    apart = largest_of(apart);
    printf("folded: test accuracy %.2f %%, unfolded %.2f %%; logits of up to %.3g are at most %.2g "
           "apart\n",
           100 * folded_score.right / (double)count, 100 * score.right / (double)count,
           (double)largest, (double)apart);
    free(logits);
    free(folded_logits);
    return !(isfinite(apart) && largest > 0 &&
             apart <= (1e-4f + 4 * steps[model->device[0].type]) * largest);
}
