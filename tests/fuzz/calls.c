/*
 * Any bytes as a sequence of calls of the public API, with arguments right and wrong: each byte is
 * a call, those behind it its arguments (arguments.h). An error has a sentence, a success has
 * none, and when all has been destroyed nothing is left open.
 */
#include "base/memory.h"
#include "fuzz/calls.h"

enum { MOST_CALLS = 48 };

void keep(handle_kind kind, int status, void *handle)
{
    fuzz_must(!judged(status) == (handle != NULL));
    if (handle)
        handle_made(kind, handle);
}

/* --- destroying ---------------------------------------------------------------------------- */

static int destroy_handle(handle_kind kind, void *handle)
{
    switch (kind) {
    case GROUP: return sbn_group_destroy(handle);
    case LAYER: return sbn_batchnorm_destroy(handle);
    case SAVED: return sbn_saved_destroy(handle);
    case PASS: return sbn_pass_end(handle, NULL);
    case MODEL: return sbn_model_destroy(handle);
    case CHECKPOINT: return sbn_checkpoint_destroy(handle);
    case PARALLEL: return sbn_data_parallel_destroy(handle);
    default: return sbn_exchange_end(handle);
    }
}

static void destroy(fuzz_input *in)
{
    const handle_kind kind = (handle_kind)(fuzz_byte(in) % HANDLE_KINDS);
    const int status = destroy_handle(kind, any_handle(in, kind));
    /* The end of a pass or an exchange has its errors. */
    const int ends = kind == PASS || kind == EXCHANGE;
    fuzz_must(!status || status == SBN_INVALID_ARGUMENT || (ends && status < 0));
}

/* The corpus knows them by their places. */
static fuzz_call *const calls[] = {call_group_create,   call_group_split,     call_group_ask,
                                   call_group_abort,    call_layer_create,    call_layer_set,
                                   call_layer_ask,      call_saved_create,    call_pass_at_once,
                                   call_pass_begin,     call_pass_branches,   call_pass_go_on,
                                   call_model_make,     call_model_call,      call_model_file,
                                   call_checkpoint_ask, call_parallel_create, call_exchange_begin,
                                   call_exchange_go_on, call_sample,          destroy};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input in = {bytes, bytes + size};
    arguments_open();
    const long before = sbn__handles_open();
    for (int i = 0; i < MOST_CALLS && in.at < in.end; ++i)
        calls[fuzz_byte(&in) % (sizeof calls / sizeof *calls)](&in);
    handles_end(destroy_handle);
    arguments_finish();
    fuzz_must(sbn__handles_open() == before);
    return 0;
}
