#include "base/object.h"

#include <pthread.h>
#include <stddef.h>

#include "base/digest.h"
#include "base/error.h"

#define BUCKETS 256

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sbn_object *buckets[BUCKETS];

/* The list of a handle's bucket; the mutex is the caller's to unlock. */
static sbn_object **lock_bucket_of(const void *handle)
{
    pthread_mutex_lock(&mutex);
    return &buckets[sbn__digest(SBN_DIGEST_START, &handle, sizeof handle) % BUCKETS];
}

void sbn__object_add(sbn_object *object, enum sbn_handle_kind tag)
{
    sbn_object **bucket = lock_bucket_of(object);
    object->tag = tag;
    object->next = *bucket;
    *bucket = object;
    pthread_mutex_unlock(&mutex);
}

void sbn__object_remove(sbn_object *object)
{
    sbn_object **place = lock_bucket_of(object);
    while (*place != object)
        place = &(*place)->next;
    *place = object->next;
    pthread_mutex_unlock(&mutex);
}

/* The kind of the object listed at this address; 0: none is. */
static int tag_of(const void *handle)
{
    const sbn_object *object = *lock_bucket_of(handle);
    while (object && object != handle)
        object = object->next;
    const int tag = object ? (int)object->tag : 0;
    pthread_mutex_unlock(&mutex);
    return tag;
}

int sbn__object_is(const void *handle, enum sbn_handle_kind tag)
{
    return tag_of(handle) == (int)tag;
}

int sbn__check_handle(const void *handle, enum sbn_handle_kind tag, const char *argument)
{
    if (!handle)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: expected a handle, got NULL", argument);
    const int found = tag_of(handle);
    if (found == (int)tag)
        return SBN_SUCCESS;
    return sbn__fail(SBN_INVALID_ARGUMENT, "%s: expected a handle of this kind, got %s", argument,
                     found ? "another" : "one that is destroyed, or none");
}

int sbn__enter(const void *handle, enum sbn_handle_kind tag, const char *argument)
{
    sbn__error_clear();
    return sbn__check_handle(handle, tag, argument);
}
