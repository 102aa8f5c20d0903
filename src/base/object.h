/*
 * Handles. Every object that a caller holds begins with an sbn_object, and those that live are
 * listed: a handle is looked up before it is read, so that one of a destroyed object, or of
 * something else altogether, is an error and no access to freed memory. (A new object may lie
 * where a destroyed one was: its handle is then the new one's.)
 */
#ifndef SBN_BASE_OBJECT_H
#define SBN_BASE_OBJECT_H

enum sbn_handle_kind {
    SBN_HANDLE_GROUP = 1,
    SBN_HANDLE_BATCHNORM,
    SBN_HANDLE_SAVED,
    SBN_HANDLE_PASS,
    SBN_HANDLE_MODEL,
    SBN_HANDLE_CHECKPOINT,
    SBN_HANDLE_PARALLEL,
    SBN_HANDLE_EXCHANGE
};

typedef struct sbn_object {
    enum sbn_handle_kind tag;
    struct sbn_object *next; /* of the list's bucket */
} sbn_object;

/*
 * The object, the first field of its struct, lives from add to remove. Nothing else writes it: its
 * neighbours in the list may be another thread's.
 */
void sbn__object_add(sbn_object *object, enum sbn_handle_kind tag);
void sbn__object_remove(sbn_object *object);

/* Does the handle belong to a living object of this kind? NULL does not. */
int sbn__object_is(const void *handle, enum sbn_handle_kind tag);

/* SBN_INVALID_ARGUMENT, with a sentence that begins with the argument's name, where it does not. */
int sbn__check_handle(const void *handle, enum sbn_handle_kind tag, const char *argument);

#endif
