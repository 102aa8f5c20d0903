/* The calls that a sequence is made of, each with arguments that follow from the input. */
#pragma once

#include "fuzz/arguments.h"

/* A handle comes with success alone. */
void keep(handle_kind kind, int status, void *handle);

/* One of them. */
typedef void fuzz_call(fuzz_input *in);
fuzz_call call_group_create, call_group_split, call_group_ask, call_group_abort, call_layer_create,
    call_layer_set, call_layer_ask, call_saved_create, call_pass_at_once, call_pass_begin,
    call_pass_branches, call_pass_go_on, call_model_make, call_model_call, call_model_file,
    call_checkpoint_ask, call_parallel_create, call_exchange_begin, call_exchange_go_on,
    call_sample;
