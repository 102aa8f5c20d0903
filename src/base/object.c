#include "base/object.h"

#include "base/error.h"

int sbn__check_handle(const void *object, enum sbn_handle_kind tag, const char *argument)
{
    if (!object)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: a handle was expected, NULL came", argument);
    if (*(const enum sbn_handle_kind *)object != tag)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "%s: a handle of this kind was expected, another came", argument);
    return SBN_SUCCESS;
}
