/* Training, evaluation, frozen: which statistics a layer's forward pass uses. */
#include "pass/pass.h"

int sbn__is_fixed(const sbn_batchnorm *layer)
{
    return layer->tracks && (!layer->training || layer->frozen);
}

int sbn__check_idle(const sbn_batchnorm *layer, const char *what)
{
    const sbn_group *group = layer->group;
    for (size_t i = 0; i < group->under_way_count; ++i)
        for (const sbn_layer_pass *layer_pass = group->under_way[i]->layer_passes; layer_pass;
             layer_pass = layer_pass->next)
            if (layer_pass->layer == layer)
                return sbn__fail(SBN_INVALID_ARGUMENT,
                                 "layer \"%s\": passes of it are under way; end them before %s",
                                 layer->name, what);
    return SBN_SUCCESS;
}

static int set(sbn_batchnorm *layer, int *flag, int value, const char *name, const char *what)
{
    if (value != 0 && value != 1)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: 0 or 1 was expected, %d came", name, value);
    const int status = *flag == value ? SBN_SUCCESS : sbn__check_idle(layer, what);
    if (!status)
        *flag = value;
    return status;
}

int sbn_batchnorm_train(sbn_batchnorm *layer, int training)
{
    sbn__error_clear();
    const int status = sbn__check_handle(layer, SBN_HANDLE_BATCHNORM, "layer");
    return status ? status
                  : set(layer, &layer->training, training, "training",
                        "switching training and evaluation");
}

int sbn_batchnorm_freeze(sbn_batchnorm *layer, int frozen)
{
    sbn__error_clear();
    const int status = sbn__check_handle(layer, SBN_HANDLE_BATCHNORM, "layer");
    return status ? status : set(layer, &layer->frozen, frozen, "frozen", "freezing");
}

int sbn_batchnorm_is_training(const sbn_batchnorm *layer)
{
    return sbn__object_is(layer, SBN_HANDLE_BATCHNORM) && layer->training;
}

int sbn_batchnorm_is_frozen(const sbn_batchnorm *layer)
{
    return sbn__object_is(layer, SBN_HANDLE_BATCHNORM) && layer->frozen;
}
