/*
 * What a pass enqueues when it begins. Where devices combine that is all but step 3: nothing but
 * events lies between the steps, and the pass is settled. What a device does later and fails at is
 * found by whoever waits for it, or by the next pass that uses the same memory.
 *
 * What outlives a pass changes when all of it is combined; until then an error leaves outputs, and
 * the saved statistics that the pass fills, undefined and the rest as it was.
 */
#pragma once

#include "pass/pass.h"

/* All layer passes are combined: updates what outlives them, and settles the pass. */
void sbn__pass_conclude(sbn_pass *pass);

/* Moves a pass of this rank alone, whose counts are known, on to LOCAL, or settles it. */
void sbn__pass_start_alone(sbn_pass *pass);

/* Lays out the words of what is pending, and makes room for them and a header. An error is kept in the pass. */
void sbn__start_lay_out(sbn_pass *pass);

/*
 * The same, and enqueues step 1 of the pending layer passes or, of a `wide` pass, the copies of the wide
 * accumulators that are still to be added. Errors are kept in the pass.
 */
void sbn__start_on_host(sbn_pass *pass);

/* Enqueues steps 1 and 2 of the pending layer passes and settles the pass, or keeps an error in it. */
void sbn__start_on_devices(sbn_pass *pass);

/* 1 if the accumulators have arrived on the host or an error is kept. Never blocks. */
int sbn__start_arrived(sbn_pass *pass);

/* Blocks until they have arrived or failed. */
void sbn__start_wait(const sbn_pass *pass);
