/* Standard input as a file that can be opened by its name and read at any place. */
#ifndef TOOLS_SYNCBN_STANDARD_INPUT_H
#define TOOLS_SYNCBN_STANDARD_INPUT_H

enum { STANDARD_INPUT_PATH = 32 };

/*
 * The name of a regular file with all of standard input, which lasts until the process ends: the
 * input's own, or that of a copy in TMPDIR or /tmp that nobody else can open. 0, or EXIT_FAILED after
 * a sentence.
 */
int standard_input_path(char path[STANDARD_INPUT_PATH]);

#endif
