#include "pass/describe.h"

#include <stdio.h>

#include "base/digest.h"

uint64_t sbn__pass_digest(const sbn_pass *pass)
{
    uint64_t digest = SBN_DIGEST_START;
    for (const sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        if (sbn__layer_pass_is_joined(lp))
            digest = sbn__call_digest(digest, &lp->call);
    return digest;
}

sbn_call sbn__pass_call(const sbn_pass *pass)
{
    const sbn_layer_pass *of = pass->culprit, *first = NULL;
    for (const sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next) {
        if (lp->kind->local)
            continue;
        first = first ? first : lp;
        if (!of && lp->place == pass->place)
            of = lp;
    }
    sbn_call call = of ? of->call : first->call;
    if (!of) {
        call.name = "";
        call.settings = NULL;
        call.flags = call.channels = call.saved = call.saved_place = 0;
    }
    call.error = pass->error;
    return call;
}

void sbn__pass_name(const sbn_pass *pass, char *out, size_t size)
{
    const sbn_call call = sbn__pass_call(pass);
    size_t more = 0;
    for (const sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        more += lp->place > 0;
    const int length = snprintf(out, size, "%s of layer \"%s\"", call.operation, call.name);
    if (more > 0 && length > 0 && (size_t)length < size)
        snprintf(out + length, size - (size_t)length, " and %zu more", more);
}
