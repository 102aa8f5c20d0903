/* A folder in which files are saved through drafts, for tests of src/safetensors/draft.h. */
#ifndef TESTS_SUPPORT_DRAFT_FILES_H
#define TESTS_SUPPORT_DRAFT_FILES_H

#include <sys/stat.h>

void draft_begin(void);

/* The folder must be empty but for the file "private". Returns the program's result. */
int draft_end(void);

void draft_make(const char *name, const char *content, mode_t mode);
int draft_holds(const char *name, const char *content);

/* 0 where there is no such name. */
mode_t draft_mode_of(const char *name);

/* Saves "new text", in two parts; what the system was asked is in system_calls. */
int draft_save(const char *path);

#endif
