#include "base/versioned_struct.h"

#include <stdio.h>

#include "base/error.h"

/* The first element of an array that is not valid. */
typedef struct fault {
    size_t index;
    size_t size;   /* the caller's, of this element */
    size_t stride; /* ... and of the first one */
    size_t offset; /* of the first unknown byte that is not 0; 0: the size is not valid */
} fault;

static int find_fault(const void *array, size_t count, size_t known, int filled, fault *found)
{
    for (size_t i = 0; i < count; ++i) {
        const size_t stride = sbn__struct_size(array);
        const char *one = (const char *)array + i * stride;
        *found = (fault){i, sbn__struct_size(one), stride, 0};
        if (!sbn__struct_size_is_possible(found->size) || found->size != stride)
            return 1;
        for (size_t at = known; filled && at < found->size; ++at)
            if (one[at] != 0) {
                found->offset = at;
                return 1;
            }
    }
    return 0;
}

static int refuse(const fault *f, size_t count, size_t known, const char *type,
                  const char *argument)
{
    char which[32] = "", macro[64];
    if (count > 1)
        snprintf(which, sizeof which, "[%zu]", f->index);
    if (f->offset)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "%s%s: size: this library's %s has %zu bytes; expected zeros beyond them "
                         "in one of size %zu, got another value at offset %zu",
                         argument, which, type, known, f->size, f->offset);
    if (f->index)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s%s: size: expected %zu as in element 0, got %zu",
                         argument, which, f->stride, f->size);
    /* "SBN_GROUP_CONFIG_INIT" for "sbn_group_config", in every locale. */
    snprintf(macro, sizeof macro, "%s_INIT", type);
    for (char *letter = macro; *letter; ++letter)
        if (*letter >= 'a' && *letter <= 'z')
            *letter -= 'a' - 'A';
    return sbn__fail(SBN_INVALID_ARGUMENT,
                     "%s%s: size: expected sizeof(%s), %zu here, got %zu; start from %s", argument,
                     which, type, known, f->size, macro);
}

int sbn__struct_check(const void *array, size_t count, size_t known, const char *type,
                      const char *argument)
{
    fault found;
    return find_fault(array, count, known, 1, &found) ? refuse(&found, count, known, type, argument)
                                                      : SBN_SUCCESS;
}

int sbn__struct_is_valid(const void *array, size_t count, size_t known)
{
    fault found;
    return array && !find_fault(array, count, known, 1, &found);
}

int sbn__struct_check_room(const void *array, size_t count, size_t known, const char *type,
                           const char *argument)
{
    fault found;
    return find_fault(array, count, known, 0, &found) ? refuse(&found, count, known, type, argument)
                                                      : SBN_SUCCESS;
}

void sbn__struct_get(void *ours, size_t known, const void *array, size_t index)
{
    const size_t size = sbn__struct_size(array);
    memset(ours, 0, known);
    memcpy(ours, (const char *)array + index * size, size < known ? size : known);
    memcpy(ours, &known, sizeof known);
}

int sbn__struct_read(void *ours, const void *one, size_t known, const char *type,
                     const char *argument)
{
    const int status = sbn__struct_check(one, 1, known, type, argument);
    if (!status)
        sbn__struct_get(ours, known, one, 0);
    return status;
}

int sbn__struct_init(void *one, size_t size, const void *defaults, size_t known, const char *type,
                     const char *argument)
{
    sbn__error_clear();
    if (!one)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: expected room for a %s, got NULL", argument,
                         type);
    if (!sbn__struct_size_is_possible(size))
        return sbn__fail(SBN_INVALID_ARGUMENT, "size: expected sizeof(%s), %zu here, got %zu", type,
                         known, size);
    memcpy(one, &size, sizeof size);
    sbn__struct_put(one, 0, defaults, known);
    return SBN_SUCCESS;
}
