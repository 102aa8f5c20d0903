/*
 * rewrite OLD NEW: loads the layers of a file like tests/model/data/network_*, doubles all values of "1" and "4.1",
 * counts a batch, and saves them with all that OLD holds besides. For tests/model/reference.sh.
 */
#include "support/file_network.h"

static void take_double(const network *n, size_t index)
{
    float values[4][MOST] = {{0}};
    int64_t batches;
    must(sbn_model_parameters(n->model, index, values[0], values[1]), "get");
    must(sbn_batchnorm_running_stats(n->layers[index], values[2], values[3], &batches), "get");
    for (int which = 0; which < 4; ++which)
        for (int c = 0; c < MOST; ++c)
            values[which][c] *= 2;
    ++batches;
    must(sbn_model_set_parameters(n->model, index, values[0], values[1]), "set");
    must(sbn_batchnorm_set_running_stats(n->layers[index], values[2], values[3], &batches), "set");
}

void checks(void)
{
    const char *from = main_arguments[1];
    network n;
    file_network_begin();
    file_network_open(&n, file_network_channels[1], 1);
    must(sbn_model_load(n.model, from, NULL), "sbn_model_load");
    take_double(&n, 0);
    take_double(&n, 1);
    must(sbn_model_save(n.model, main_arguments[2], from), "sbn_model_save");
    network_close(&n);
    file_network_end();
}
