#include "support/draft_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <syncbn.h>

#include "safetensors/draft.h"
#include "base/memory.h"
#include "support/folder.h"
#include "support/system_calls.h"
#include "support/tap.h"

static long handles;

void draft_begin(void)
{
    handles = sbn__handles_open();
    folder_begin();
}

int draft_end(void)
{
    unlink(folder_path("private"));
    tap_ok(folder_names(folder_root, NULL) == 0 && sbn__handles_open() == handles,
           "no file and no block is left");
    folder_end();
    return tap_done();
}

void draft_make(const char *name, const char *content, mode_t mode)
{
    folder_write(folder_path(name), content, strlen(content));
    if (chmod(folder_path(name), mode) != 0)
        perror(name);
}

int draft_holds(const char *name, const char *content)
{
    char found[64] = "";
    folder_read(folder_path(name), found, sizeof found - 1);
    return strcmp(found, content) == 0;
}

mode_t draft_mode_of(const char *name)
{
    struct stat info = {0};
    return lstat(folder_path(name), &info) == 0 ? info.st_mode & 07777 : 0;
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
