/*
 * Without memory, jansson omits values or crashes. A report that lacks a part must not look
 * complete.
 */
#ifndef TOOLS_SYNCBN_JSON_MEMORY_H
#define TOOLS_SYNCBN_JSON_MEMORY_H

/* From now on, an allocation of jansson's that fails ends the program with a sentence. */
void json_memory_or_exit(void);

/* A file that is removed then; NULL: none. */
void json_memory_unfinished(const char *path);

#endif
