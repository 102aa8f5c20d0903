/*
 * Status codes. A failure of OpenCL is returned as OpenCL's own code
 * (CL_OUT_OF_RESOURCES and so on, -1 ... -9999); the library's own codes lie
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

enum {
    SBN_SUCCESS = 0,
    SBN_ERROR_FIRST = -20000,
    /* An argument is wrong; the sentence names it, what was expected and what was got. */
    SBN_INVALID_ARGUMENT = -20001,
    /* The host has no memory left. */
    SBN_OUT_OF_MEMORY = -20002,
    /*
     * The device cannot run the kernels: embedded profile, no compiler, no 64-bit integers, or
     * arithmetic that breaks a rule of the self-test.
     */
    SBN_UNSUPPORTED_DEVICE = -20003,
    /* sbn_forward by the batch's statistics needs more than one value per channel over the group. */
    SBN_TOO_FEW_VALUES = -20004,
    /* The ranks made different calls; the sentence names them and what differs. */
    SBN_DISAGREEMENT = -20005,
    /* Another rank reported an error; the sentence names it. */
    SBN_REMOTE_ERROR = -20006,
    /* A rank did not come within the group's timeout. */
    SBN_TIMEOUT = -20007,
    /*
     * The group has failed or timed out earlier and takes no more passes; evaluation with running
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
 * What a status means, with its identifier behind it: "invalid kernel (CL_INVALID_KERNEL)". It knows
 * the library's codes, those of OpenCL 1.0 to 3.0 and of its extensions; of another one the text has
 * the number: "unknown status -12345". Never NULL. The text of a known status stays valid until the
 * program ends; that of an unknown one until the same thread's next call of this function.
 */
SBN_API const char *sbn_strerror(int status);

/*
 * The identifier alone: "SBN_TIMEOUT", "CL_INVALID_KERNEL"; of a status without one the number:
 * "-12345". Never NULL; valid as the text of sbn_strerror is.
 */
SBN_API const char *sbn_status_name(int status);

/*
 * The sentence behind the calling thread's last failed call: which rank,
 * replica and layer, what was expected and what was got. It stays valid until the
 * thread's next call into the library. Empty after a success; only sbn_*_destroy leaves
 * the sentence of an earlier failure, which can be shown after cleaning up.
 */
SBN_API const char *sbn_last_error(void);

/* The library's version, "0.1.0". */
SBN_API const char *sbn_version(void);

/*
 * For transports of one's own: sets this thread's sentence (cut after 511
 * characters) and returns the status.
 */
SBN_API int sbn_set_last_error(int status, const char *sentence);

#ifdef __cplusplus
}
#endif

#endif
