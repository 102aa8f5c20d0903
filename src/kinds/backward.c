#include "kinds/frozen_backward.h"
#include "kinds/gradients.h"
#include "launch/at_once.h"
#include "launch/backward.h"
#include "pass/begin.h"
#include "tensor/shard.h"

static sbn_channel_table *table_of(sbn_layer_pass *lp, size_t replica)
{
    return sbn__backward_applies(lp, replica) || sbn__backward_stores(lp, replica) ? &lp->gradients
                                                                                   : NULL;
}

static int apply(sbn_layer_pass *lp, sbn_replica *replica)
{
    cl_event *last = &lp->last[replica->index];
    if (!sbn__backward_applies(lp, replica->index))
        return SBN_SUCCESS;
    sbn__release_event(last);
    return sbn__backward_launch(lp, replica, 0, last);
}

static const sbn_layer_pass_kind backward = {
    .operation = "backward",
    .code = SBN_CODE_BACKWARD,
    SBN_BACKWARD_SUMS,
    .write_coefficients = sbn__backward_write_coefficients,
    .table = table_of,
    .apply = apply,
    .whole = sbn__whole_backward,
    .store = sbn__backward_store,
};

static int check_flags(const sbn_branch *branch)
{
    const unsigned known = SBN_ACCUMULATE_GRADIENTS | SBN_GLOBAL_GRADIENTS;
    if (branch->flags & ~known)
        return sbn__fail(
            SBN_INVALID_ARGUMENT,
            "flags: expected SBN_ACCUMULATE_GRADIENTS, SBN_GLOBAL_GRADIENTS, both or 0 in a "
            "backward pass, got 0x%x",
            branch->flags);
    return SBN_SUCCESS;
}

static const sbn_layer_pass_kind *choose(sbn_branch *branch, int *status)
{
    if (*status)
        return &backward;
    /* A pass that is refused must not wait for ranks that do not come: what is not filled says nothing. */
    *status = sbn__check_filled(branch->saved, branch->layer);
    const int frozen = *status ? sbn__is_fixed(branch->layer) : branch->saved->frozen;
    if (!*status)
        *status = check_flags(branch);
    return frozen ? sbn__frozen_kind(branch) : &backward;
}

int sbn_backward_branches_begin(const sbn_branch *branches, size_t count, sbn_pass **pass)
{
    return sbn__pass_begin(choose, branches, count, pass);
}

int sbn_backward_branches(const sbn_branch *branches, size_t count, sbn_result *results)
{
    return sbn__pass_run(choose, branches, count, results);
}

int sbn_backward_begin(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                       unsigned flags, sbn_pass **pass)
{
    const sbn_branch one = {sizeof one, layer, shards, saved, flags};
    return sbn_backward_branches_begin(&one, 1, pass);
}

int sbn_backward(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved, unsigned flags,
                 sbn_result *result)
{
    const sbn_branch one = {sizeof one, layer, shards, saved, flags};
    return sbn_backward_branches(&one, 1, result);
}
