#include "pass/settle.h"

#include <stdio.h>

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
            sbn__pass_settle(pass, sbn__fail(SBN_TOO_FEW_VALUES,
                                             "%s of layer \"%s\": expected more than 1 value per "
                                             "channel over the whole group, whose statistics it "
                                             "takes, got %llu",
                                             lp->kind->operation, lp->layer->name,
                                             (unsigned long long)lp->count));
            return 0;
        }
        lp->pending = lp->pending && lp->count > 0;
    }
    return 1;
}

int sbn__pass_has_pending(const sbn_pass *pass)
{
    int pending = 0;
    for (const sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        pending = pending || lp->pending;
    return pending;
}

void sbn__pass_conclude(sbn_pass *pass)
{
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        if (lp->kind->commit)
            lp->kind->commit(lp);
    sbn__pass_settle(pass, SBN_SUCCESS);
}

void sbn__pass_start_alone(sbn_pass *pass)
{
    if (!sbn__pass_accept_counts(pass))
        return;
    if (sbn__pass_has_pending(pass))
        pass->stage = SBN_STAGE_LOCAL;
    else
        sbn__pass_conclude(pass);
}
