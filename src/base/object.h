/* Handles. Every object begins with a tag of its own, so that a foreign handle is told from it. */
#ifndef SBN_BASE_OBJECT_H
#define SBN_BASE_OBJECT_H

enum sbn_handle_kind {
    SBN_HANDLE_GROUP = 0x53424731,
    SBN_HANDLE_BATCHNORM,
    SBN_HANDLE_SAVED,
    SBN_HANDLE_PASS,
    SBN_HANDLE_MODEL,
    SBN_HANDLE_CHECKPOINT,
    SBN_HANDLE_PARALLEL,
    SBN_HANDLE_EXCHANGE
};

/* NULL or another kind of handle: SBN_INVALID_ARGUMENT with a sentence. */
int sbn__check_handle(const void *object, enum sbn_handle_kind tag, const char *argument);

#endif
