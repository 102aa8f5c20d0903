/*
 * Arguments of calls, right and wrong ones, that follow from an input: handles that live, have been
 * destroyed or were never any, sizes of structs, shapes, buffers.
 */
#pragma once

#include <syncbn.h>

#include "fuzz/fuzz.h"

enum { REPLICAS = 3, CHANNELS = 4, SLOTS = 4, TENSORS = 3 };

typedef enum handle_kind {
    GROUP,
    LAYER,
    SAVED,
    PASS,
    MODEL,
    CHECKPOINT,
    PARALLEL,
    EXCHANGE,
    HANDLE_KINDS
} handle_kind;

/* Makes once the device, its queues, buffers, and a group that keeps the programs. */
void arguments_open(void);
void arguments_finish(void);

/* The queues of a group: perhaps none, or one that is missing. */
struct _cl_command_queue *const *any_queues(fuzz_input *in, size_t *count);

/* Handles that the calls have made: those that live, and those that did. */
void *any_handle(fuzz_input *in, handle_kind kind);
void handle_made(handle_kind kind, void *handle);

/* Destroys all of them, what uses another before it. */
void handles_end(int (*destroy)(handle_kind kind, void *handle));

/* Mostly `right`. */
size_t any_size(fuzz_input *in, size_t right);
int any_number(fuzz_input *in, int right);
const char *any_name(fuzz_input *in);
sbn_buffer any_buffer(fuzz_input *in);

/* Structs that say to have this size, and have it, one behind the other; until the next call of any of these four. */
const void *structs_of_size(const void *each, size_t count, size_t known, size_t size);
const sbn_shard *any_shards(fuzz_input *in);
const sbn_parameters *any_parameters(fuzz_input *in);
const sbn_folding *any_foldings(fuzz_input *in);

/* Exchanges under way read this until they end: it never changes. */
const sbn_tensors *any_tensors(fuzz_input *in);
extern const size_t tensor_counts[TENSORS];
