/* The calls that a sequence is made of, each with arguments that follow from the input. */
#ifndef TESTS_FUZZ_CALLS_H
#define TESTS_FUZZ_CALLS_H

#include "fuzz/arguments.h"

/* A handle comes with success alone. */
void keep(handle_kind kind, int status, void *handle);

void call_group_create(fuzz_input *in);
void call_group_split(fuzz_input *in);
void call_group_ask(fuzz_input *in);
void call_group_abort(fuzz_input *in);
void call_layer_create(fuzz_input *in);
void call_layer_set(fuzz_input *in);
void call_layer_ask(fuzz_input *in);
void call_saved_create(fuzz_input *in);
void call_pass_at_once(fuzz_input *in);
void call_pass_begin(fuzz_input *in);
void call_pass_branches(fuzz_input *in);
void call_pass_go_on(fuzz_input *in);
void call_model_make(fuzz_input *in);
void call_model_call(fuzz_input *in);
void call_model_file(fuzz_input *in);
void call_checkpoint_ask(fuzz_input *in);
void call_parallel_create(fuzz_input *in);
void call_exchange_begin(fuzz_input *in);
void call_exchange_go_on(fuzz_input *in);
void call_sample(fuzz_input *in);

#endif
