#include "base/activation.h"

const char *sbn__activation_name(sbn_activation activation)
{
    static const char *const names[SBN_ACTIVATIONS] = {"SBN_IDENTITY", "SBN_RELU",
                                                       "SBN_LEAKY_RELU"};
    return names[activation];
}
