#include "base/object.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BUCKETS 256

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sbn_object *buckets[BUCKETS];

/* The lowest bits of an address are 0 by alignment and tell nothing. */
static sbn_object **bucket_of(const void *handle)
{
    const uintptr_t bits = (uintptr_t)handle;
    return &buckets[(bits >> 4 ^ bits >> 12) % BUCKETS];
}

void sbn__object_add(sbn_object *object, enum sbn_handle_kind tag)
{
    sbn_object **bucket = bucket_of(object);
    object->tag = tag;
    pthread_mutex_lock(&mutex);
    object->next = *bucket;
    *bucket = object;
    pthread_mutex_unlock(&mutex);
}

void sbn__object_remove(sbn_object *object)
{
    sbn_object **place = bucket_of(object);
    pthread_mutex_lock(&mutex);
    while (*place != object)
        place = &(*place)->next;
    *place = object->next;
    pthread_mutex_unlock(&mutex);
}

/* The kind of the object listed at this address; 0: none is. */
static int tag_of(const void *handle)
{
    pthread_mutex_lock(&mutex);
    const sbn_object *object = *bucket_of(handle);
    while (object && object != handle)
        object = object->next;
    const int tag = object ? (int)object->tag : 0;
    pthread_mutex_unlock(&mutex);
    return tag;
}

int sbn__object_is(const void *handle, enum sbn_handle_kind tag)
{
    return handle && tag_of(handle) == (int)tag;
}

int sbn__check_handle(const void *handle, enum sbn_handle_kind tag, const char *argument)
{
    if (!handle)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: expected a handle, got NULL", argument);
    const int found = tag_of(handle);
    if (found == (int)tag)
        return SBN_SUCCESS;
    if (found)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: expected a handle of this kind, got another",
                         argument);
    return sbn__fail(SBN_INVALID_ARGUMENT,
                     "%s: expected a handle of this kind, got one that is destroyed, or none",
                     argument);
}
