/*
 * For inference batch norm costs nothing: syncbn folds it into the weights of the convolution or
 * dense layer before it. What is left of a block is a product, a bias, ReLU and pooling.
 */
#pragma once

#include "model.h"
#include "progress.h"

/*
 * Folds the network with evaluation's running statistics into device->folded, laid out as the
 * parameters are: weights where the weights were, a bias where beta was.
 */
void fold(struct model *model, struct norm *evaluation);

/*
 * Folds, evaluates `count` test images both ways, and prints how far they are apart. Returns 1 if
 * logits differ by more than a ten-thousandth of the largest: float products of a thousand terms
 * in another order stay far below that, a wrong fold far above. In f16 and bf16 a network that is not
 * folded also rounds each batch norm's input, and every later value follows: as much as four steps of
 * the type at the largest are allowed beside.
 */
int fold_compare(struct model *model, struct norm *evaluation, size_t count,
                 struct progress *progress);
