#include "pass/pass.h"

#include <stdio.h>

#include "base/text.h"

void sbn__pass_error(sbn_pass *pass, const sbn_layer_pass *lp, int status)
{
    if (!status || pass->error)
        return;
    pass->error = status;
    pass->culprit = lp;
    snprintf(pass->sentence, sizeof pass->sentence, "%s", sbn_last_error());
}

int sbn__pass_is_local(const sbn_pass *pass)
{
    for (const sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        if (!lp->kind->local)
            return 0;
    return 1;
}

int sbn__pass_is_joined(const sbn_pass *pass)
{
    return sbn__communicator_is_joined(&pass->group->communicator) && !sbn__pass_is_local(pass);
}

void sbn__pass_settle(sbn_pass *pass, int status)
{
    pass->stage = SBN_STAGE_SETTLED;
    pass->status = pass->error ? pass->error : status;
    if (!pass->error)
        snprintf(pass->sentence, sizeof pass->sentence, "%s", status ? sbn_last_error() : "");
}

int sbn__pass_accept_counts(sbn_pass *pass)
{
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next) {
        if (lp->count > 0 && lp->count < lp->kind->least_count) {
            sbn__fail(SBN_TOO_FEW_VALUES,
                      "%s of layer \"%s\": expected more than 1 value per channel over the whole "
                      "group, whose statistics it takes, got %llu",
                      lp->kind->operation, lp->layer->name, (unsigned long long)lp->count);
            sbn__pass_settle(pass, SBN_TOO_FEW_VALUES);
            return 0;
        }
        lp->pending = lp->pending && lp->count > 0;
    }
    return 1;
}

int sbn__pass_has_pending(const sbn_pass *pass)
{
    for (const sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        if (lp->pending)
            return 1;
    return 0;
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
        call.channels = 0;
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
    snprintf(out, size, "%s of layer \"%s\"", call.operation, call.name);
    if (more > 0)
        sbn__text_add(out, size, " and %zu more", more);
}
