/* Training, evaluation, frozen: which statistics a layer's forward pass uses. */
#include "layer/batchnorm.h"

int sbn__is_fixed(const sbn_batchnorm *layer)
{
    return layer->tracks && (!layer->training || layer->frozen);
}

int sbn__check_idle(const sbn_batchnorm *layer, const char *what)
{
    if (layer->under_way == 0)
        return SBN_SUCCESS;
    return sbn__fail(SBN_INVALID_ARGUMENT,
                     "layer \"%s\": passes of it are under way; end them before %s", layer->name,
                     what);
}

static int set(sbn_batchnorm *layer, int *flag, int value, const char *name, const char *what)
{
    if (value != 0 && value != 1)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: expected 0 or 1, got %d", name, value);
    const int status = *flag == value ? SBN_SUCCESS : sbn__check_idle(layer, what);
    if (!status)
        *flag = value;
    return status;
}

int sbn_batchnorm_set_training(sbn_batchnorm *layer, int training)
{
    sbn__error_clear();
    const int status = sbn__check_handle(layer, SBN_HANDLE_BATCHNORM, "layer");
    return status ? status
                  : set(layer, &layer->training, training, "training",
                        "switching training and evaluation");
}

int sbn_batchnorm_set_frozen(sbn_batchnorm *layer, int frozen)
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
