#include "base/type.h"

const char *sbn__type_name(sbn_type type)
{
    static const char *const names[SBN_TYPES] = {"SBN_F32", "SBN_F16", "SBN_BF16"};
    return names[type];
}
