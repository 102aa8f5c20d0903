/*
 * Status codes, and the sentence that explains a failure. A failure of OpenCL is returned as
 * OpenCL's own code (CL_OUT_OF_RESOURCES and so on, -1 ... -9999). The library's own codes lie
 * below SBN_ERROR_FIRST, so the two never meet.
 */
#ifndef SYNCBN_ERROR_H
#define SYNCBN_ERROR_H

#if defined(__GNUC__)
#define SBN_API __attribute__((visibility("default")))
#else
#define SBN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a function returns. */
enum {
    SBN_SUCCESS = 0,          /* the call succeeded */
    SBN_ERROR_FIRST = -20000, /* the library's own codes lie below */
    /* An argument is wrong: the sentence names it, what was expected and what was got. */
    SBN_INVALID_ARGUMENT = -20001,
    /* The host has no memory left. */
    SBN_OUT_OF_MEMORY = -20002,
    /*
     * The device cannot run the kernels: embedded profile, no compiler, no 64-bit integers, another
     * order of bytes, work-groups that are too small, or arithmetic that breaks a rule of the
     * self-test.
     */
    SBN_UNSUPPORTED_DEVICE = -20003,
    /* sbn_forward by the batch's statistics needs more than one value per channel over the group. */
    SBN_TOO_FEW_VALUES = -20004,
    /* The ranks made different calls: the sentence names them and what differs. */
    SBN_DISAGREEMENT = -20005,
    /* Another rank reported an error: the sentence names it. */
    SBN_REMOTE_ERROR = -20006,
    /* A rank did not come within the group's timeout: see sbn_timeout_action. */
    SBN_TIMEOUT = -20007,
    /*
     * The group failed or timed out earlier and takes no more passes. Evaluation with running
     * statistics and recomputation still work. End the passes under way, destroy the objects, and
     * leave: after a timeout the other ranks may be gone.
     */
    SBN_GROUP_FAILED = -20008,
    /* The transport broke. */
    SBN_TRANSPORT_ERROR = -20009,
    /* A file cannot be opened, read or written; the sentence has the system's reason. */
    SBN_IO_ERROR = -20010,
    /* A file is not what it says it is. */
    SBN_INVALID_FILE = -20011,
    /* A checkpoint does not fit the model; the sentence names the first key, a report all. */
    SBN_KEY_MISMATCH = -20012,
    /* sbn_group_abort ended the group while this call waited. */
    SBN_ABORTED = -20013
};

/*
 * What a status means, followed by its identifier: "invalid kernel (CL_INVALID_KERNEL)". Knows the
 * library's codes and those of OpenCL 1.0 to 3.0 and its extensions, except those for sharing
 * objects with Direct3D, EGL, OpenGL and VA-API; for another one the text is
 * "unknown status -12345".
 *
 * Return value. Never NULL. The text of a known status stays valid; that of an unknown one until
 * this thread's next call of this function.
 */
SBN_API const char *sbn_strerror(int status);

/*
 * The identifier alone: "SBN_TIMEOUT", "CL_INVALID_KERNEL". A status without one gives its number:
 * "-12345".
 *
 * Return value. As of sbn_strerror.
 */
SBN_API const char *sbn_status_name(int status);

/*
 * The sentence that explains the calling thread's last failed call: which rank, replica and layer,
 * what was expected and what was got.
 *
 * Of more than 511 bytes the beginning and the end are there. "?" replaces control characters,
 * characters that change the direction of writing, and bytes that are not UTF-8.
 *
 * Return value. Never NULL; valid until this thread's next call into the library. Empty after a
 * success, except that a successful sbn_*_destroy leaves the sentence of an earlier failure, so
 * that you can show it after cleaning up.
 */
SBN_API const char *sbn_last_error(void);

/* The library's version, "0.1.0". */
SBN_API const char *sbn_version(void);

/*
 * For a transport of your own: sets this thread's sentence, as sbn_last_error gives it.
 *
 * Return value. `status`.
 */
SBN_API int sbn_set_last_error(int status, const char *sentence);

#ifdef __cplusplus
}
#endif

#endif
