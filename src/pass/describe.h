/* A pass in words: what its rank tells the others of it, and its name in sentences. */
#ifndef SBN_PASS_DESCRIBE_H
#define SBN_PASS_DESCRIBE_H

#include "pass/pool.h"

/* Of all its calls that others must make, too. */
uint64_t sbn__pass_digest(const sbn_pass *pass);

/* What this rank says of itself: the layer pass with the error, or the one in pass->place. */
sbn_call sbn__pass_call(const sbn_pass *pass);

/* "forward of layer "first" and 2 more" */
void sbn__pass_name(const sbn_pass *pass, char *out, size_t size);

#endif
