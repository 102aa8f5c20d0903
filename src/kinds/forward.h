/* The forward pass by which layers without running statistics are evaluated. */
#pragma once

#include "layer/batchnorm.h"

/* Evaluation by the batch's own statistics. */
int sbn__forward_evaluation(sbn_batchnorm *layer, const sbn_shard *shards);
