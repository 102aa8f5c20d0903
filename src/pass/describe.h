/* What this rank tells the others of a pass, and the pass's name in sentences. */
#ifndef SBN_PASS_DESCRIBE_H
#define SBN_PASS_DESCRIBE_H

#include "pass/pool.h"

/* A digest of all its calls in which other ranks take part. */
uint64_t sbn__pass_digest(const sbn_pass *pass);

/* This rank's call for a mismatch: of the layer pass with the error, or the one in pass->place. */
sbn_call sbn__pass_call(const sbn_pass *pass);

/* "forward of layer "first" and 2 more" */
void sbn__pass_name(const sbn_pass *pass, char *out, size_t size);

#endif
