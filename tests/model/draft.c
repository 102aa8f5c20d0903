/*
 * How files are saved (src/safetensors/draft.h): a private file is private at every moment, the system's calls
 * are made in their order, and each may fail.
 */
#include "support/draft_files.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <syncbn.h>

#include "support/system_calls.h"
#include "support/folder.h"
#include "support/tap.h"
#include "support/wraps.h"

static void check_modes(void)
{
    const mode_t old_mask = umask(027);
    draft_make("private", "old", 0600);
    int status = draft_save(folder_path("private"));
    tap_ok(!status && draft_holds("private", "new text"), "a file is replaced: %s",
           sbn_last_error());
    tap_ok(strcmp(system_calls, "OWWNMSCRD") == 0,
           "made, written, owner, mode, synced, closed, renamed, its "
           "folder synced: %s",
           system_calls);
    tap_ok(system_seen == 0600 && system_last == 0600 && draft_mode_of("private") == 0600,
           "a private one is private: %o while it is written, %o when it is renamed",
           (unsigned)system_seen, (unsigned)system_last);
    draft_make("shared", "old", 0664);
    status = draft_save(folder_path("shared"));
    tap_ok(!status && system_seen == 0600 && system_last == 0664 && draft_mode_of("shared") == 0664,
           "a shared one: %o, then %o", (unsigned)system_seen, (unsigned)system_last);
    status = draft_save(folder_path("fresh"));
    const mode_t fresh = draft_mode_of("fresh");
    tap_ok(!status && system_seen == 0600 && fresh == 0640 &&
               strcmp(system_calls, "OCUOWWMSCRD") == 0,
           "a new one under a umask of 027: %o, then %o: %s", (unsigned)system_seen,
           (unsigned)fresh, system_calls);
    unlink(folder_path("shared"));
    unlink(folder_path("fresh"));
    umask(old_mask);
}

static int save_failing(char letter, int error)
{
    draft_make("private", "old", 0600);
    system_failing = letter;
    system_countdown = 1;
    system_error = error;
    const int status = draft_save(folder_path("private"));
    system_countdown = 0;
    return status;
}

/* What each call says; every one of them fails in tests/faults, too. */
static void check_failures(void)
{
    static const struct {
        char letter;
        const char *words;
    } calls[] = {
        {'O', "making its draft"},
        {'W', "writing its draft"},
        {'S', "syncing its draft"},
        {'M', "giving its draft a mode"},
        {'C', "closing its draft"},
        {'R', "renaming its draft"},
        {'D', "it is new, but syncing its folder"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        const int status = save_failing(calls[i].letter, EIO);
        tap_ok(status == SBN_IO_ERROR && strstr(sbn_last_error(), calls[i].words) &&
                   draft_holds("private", calls[i].letter == 'D' ? "new text" : "old") &&
                   folder_names(folder_root, NULL) == 1,
               "%c fails: expected %s, got %s: %s", calls[i].letter, calls[i].words,
               sbn_strerror(status), sbn_last_error());
    }
    tap_ok(save_failing('W', ENOMEM) == SBN_OUT_OF_MEMORY, "no memory: %s", sbn_last_error());
    system_most = 3;
    tap_ok(!save_failing('W', EINTR) && draft_holds("private", "new text"),
           "writing is interrupted, and goes on three bytes at a time: %s", system_calls);
    system_most = SIZE_MAX;
}

/* Neither owner nor group can be kept: no group gets more than all others had. */
static void check_lost_group(void)
{
    static const mode_t modes[][2] = {{0664, 0644}, {0646, 0644}, {0660, 0600}, {0777, 0777}};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i) {
        draft_make("private", "old", modes[i][0]);
        wraps_fail(WRAP_CHOWN, 1);
        wraps_fail_again(WRAPS_ALL);
        const int status = draft_save(folder_path("private"));
        wraps_fail(WRAP_CHOWN, 0);
        tap_ok(!status && draft_holds("private", "new text") &&
                   draft_mode_of("private") == modes[i][1],
               "of mode %o without its group: %o, %s", (unsigned)modes[i][0],
               (unsigned)draft_mode_of("private"), sbn_strerror(status));
    }
}

int main(void)
{
    draft_begin();
    check_modes();
    check_failures();
    check_lost_group();
    return draft_end();
}
