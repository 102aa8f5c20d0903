#include "support/draft_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <syncbn.h>

#include "safetensors/draft.h"
#include "base/memory.h"
#include "support/system_calls.h"
#include "support/tap.h"

char draft_root[64];

static long handles;

int draft_begin(void)
{
    const char *temporary = getenv("TMPDIR");
    handles = sbn__handles_open();
    snprintf(draft_root, sizeof draft_root, "%.40s/syncbn-draft-XXXXXX",
             temporary ? temporary : "/tmp");
    if (mkdtemp(draft_root))
        return 0;
    printf("Bail out! %s cannot be made\n", draft_root);
    return 99;
}

int draft_end(void)
{
    unlink(draft_path("private"));
    tap_ok(rmdir(draft_root) == 0 && sbn__handles_open() == handles,
           "no file and no block is left");
    return tap_done();
}

const char *draft_path(const char *name)
{
    static char paths[2][512];
    static int turn;
    turn = !turn;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", draft_root, name);
    return paths[turn];
}

void draft_make(const char *name, const char *content, mode_t mode)
{
    FILE *file = fopen(draft_path(name), "wb");
    if (file) {
        fputs(content, file);
        fclose(file);
    }
    if (chmod(draft_path(name), mode) != 0)
        perror(name);
}

int draft_holds(const char *name, const char *content)
{
    char found[64] = "";
    FILE *file = fopen(draft_path(name), "rb");
    if (!file)
        return 0;
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    fclose(file);
    return strcmp(found, content) == 0;
}

mode_t draft_mode_of(const char *name)
{
    struct stat info = {0};
    return lstat(draft_path(name), &info) == 0 ? info.st_mode & 07777 : 0;
}

int draft_names(void)
{
    char command[128], count[16] = "";
    snprintf(command, sizeof command, "ls -A %s | wc -l", draft_root);
    FILE *pipe = popen(command, "r");
    if (pipe && fgets(count, sizeof count, pipe))
        pclose(pipe);
    return atoi(count);
}

int draft_save(const char *path)
{
    sbn_draft d;
    system_calls_forget();
    int status = sbn__draft_open(&d, path);
    if (!status)
        status = sbn__draft_write(&d, "new ", 4);
    if (!status)
        status = sbn__draft_write(&d, "text", 4);
    return sbn__draft_close(&d, status);
}
