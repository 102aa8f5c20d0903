/*
 * How files are saved (src/safetensors/draft.h): a private file is private at every moment, the system's calls
 * are made in their order, and each may fail.
 */
#include "support/draft_files.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Each call fails once, with an error of the disk's and without memory. */
static void check_failures(void)
{
    static const char letters[] = "OWNMSCRDU";
    static const int errors[] = {EIO, ENOMEM};
    int tried = 0;
    for (int i = 0; i < 2 * (int)strlen(letters) * 2; ++i) {
        const int fresh = i % 2, error = errors[i / 2 % 2];
        const char letter = letters[i / 4];
        const char *name = fresh ? "fresh" : "private";
        for (int n = 1;; ++n) {
            if (!fresh)
                draft_make("private", "old", 0600);
            system_failing = letter;
            system_countdown = n;
            system_error = error;
            const int status = draft_save(folder_path(name)), reached = system_countdown == 0;
            system_countdown = 0;
            if (!reached) {
                if (status || !draft_holds(name, "new text"))
                    tap_ok(0, "no call failed, but: %s", sbn_last_error());
                unlink(folder_path("fresh"));
                break;
            }
            ++tried;
            /* An owner need not be kept; the folder's sync comes too late. */
            const int harmless = letter == 'N', late = letter == 'D';
            const int expected = harmless          ? SBN_SUCCESS
                                 : error == ENOMEM ? SBN_OUT_OF_MEMORY
                                                   : SBN_IO_ERROR;
            const int kept = fresh ? draft_mode_of("fresh") == 0 : draft_holds("private", "old");
            const int as_it_should = harmless || late ? draft_holds(name, "new text") : kept;
            const int sentence = harmless || error == ENOMEM || strstr(sbn_last_error(), name);
            const int left = folder_names(folder_root, NULL) - 1 - (fresh && (harmless || late)) -
                             (letter == 'U');
            if (status != expected || !as_it_should || !sentence || left != 0)
                tap_ok(0, "call %d of %c with %s: %s: %s; %d names left", n, letter,
                       strerror(error), sbn_strerror(status), sbn_last_error(), left);
            /* A draft that could not be removed is empty. */
            char command[160];
            snprintf(command, sizeof command, "find %s -name '*.tmp' -size 0 -delete", folder_root);
            if (letter == 'U' && system(command) != 0)
                tap_ok(0, "%s", command);
            unlink(folder_path("fresh"));
        }
    }
    tap_ok(tried > 30, "%d calls failed once each: the file was as before, and no draft was left",
           tried);
    system_failing = 'W';
    system_countdown = 1;
    system_error = EINTR;
    system_most = 3;
    const int status = draft_save(folder_path("private"));
    tap_ok(!status && draft_holds("private", "new text"),
           "writing is interrupted, and goes on three bytes at a time: %s", system_calls);
    system_most = SIZE_MAX;
    system_countdown = 0;
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
