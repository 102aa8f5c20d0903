/* The calls that a sequence is made of, each with arguments that follow from the input. */
#pragma once

#include "fuzz/arguments.h"

/* A handle comes with success alone. */
void keep(handle_kind kind, int status, void *handle);

/* call_group_create and the others. */
#define CALLS(X) \
    X(group_create) \
    X(group_split) \
    X(group_ask) \
    X(group_abort) \
    X(layer_create) \
    X(layer_set) \
    X(layer_ask) \
    X(saved_create) \
    X(pass_at_once) \
    X(pass_begin) \
    X(pass_branches) \
    X(pass_go_on) \
    X(model_make) \
    X(model_call) \
    X(model_file) \
    X(checkpoint_ask) \
    X(parallel_create) \
    X(exchange_begin) \
    X(exchange_go_on) \
    X(sample)
#define DECLARE_CALL(name) void call_##name(fuzz_input *in);
CALLS(DECLARE_CALL)
