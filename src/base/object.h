/*
 * Handles. Every object that a caller holds begins with an sbn_object, and all existing objects are
 * listed. A handle is looked up in the list before it is read, so that the handle of a destroyed
 * object, or any other pointer, is an error and not an access to freed memory. (A new object may
 * have the address of a destroyed one: the old handle then refers to the new object.)
 */
#pragma once

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
 * Adds and removes an object, which is the first field of its struct. Only these functions write to
 * it, because its neighbours in the list may belong to another thread.
 */
void sbn__object_add(sbn_object *object, enum sbn_handle_kind tag);
void sbn__object_remove(sbn_object *object);

/* 1 if the handle is that of an existing object of this kind; 0 for NULL. */
int sbn__object_is(const void *handle, enum sbn_handle_kind tag);

/* The same check: SBN_INVALID_ARGUMENT with a sentence that begins with the argument's name. */
int sbn__check_handle(const void *handle, enum sbn_handle_kind tag, const char *argument);

/* The same where a public call begins: it forgets the sentence of the call before. */
int sbn__enter(const void *handle, enum sbn_handle_kind tag, const char *argument);
