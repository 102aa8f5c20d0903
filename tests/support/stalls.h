/*
 * Machines that stop a process for seconds, as busy or virtual ones do: deadlines pass then that no
 * rank has missed. A thread watches how long this process is kept from running.
 */
#pragma once

/* Watches until stalls_end: the longest stall so far, or since stalls_forget, in seconds. */
void stalls_begin(void);
double stalls_longest(void);
void stalls_forget(void);
void stalls_end(void);

/* Sleeps. */
void pause_for(double seconds);

/*
 * Makes checks of deadlines. A check that fails after a stall of 0.1 seconds or more is noted
 * only, and all checks are made again, up to 4 times; a failure without a stall counts at once.
 */
void stalls_excuse(void (*checks)(void));
