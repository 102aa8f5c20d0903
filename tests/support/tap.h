/* The lines of a test in TAP: one per check, the plan last; and the end of a test whose own calls fail. */
#pragma once

#define TAP_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* One check. What it says should name the case, the value expected and the value got. */
int tap_ok(int condition, const char *format, ...) TAP_PRINTF(2, 3);

/*
 * From now on a check's condition is what `judge` makes of it: the processes of a job decide
 * together. One whose own condition does not hold says so on its standard error.
 */
void tap_judge(int (*judge)(int condition));

/* From now on a check that fails while `excuse` returns 1 is a note: it will be made again. NULL ends that. */
void tap_excuse(int (*excuse)(void));

/* One check that could not be made here, and why. Counts as passed. */
void tap_skip(const char *format, ...) TAP_PRINTF(1, 2);

/*
 * For what a machine must not lack where CI=true is set (a device, a tool): a failure there,
 * a skip elsewhere. It is the last check: the program's result.
 */
int tap_missing(const char *format, ...) TAP_PRINTF(1, 2);

/* A line for the log. */
void tap_note(const char *format, ...) TAP_PRINTF(1, 2);

/* The whole program has nothing to do here: call it before any check, and return its result. */
int tap_skip_all(const char *format, ...) TAP_PRINTF(1, 2);

/* Prints the plan; main returns its result. */
int tap_done(void);

/* Ends the program unless the call returns CL_SUCCESS, and what sbn_last_error says is cleared. */
#define must(call, what) (must_fail_before(#call), must_succeed(call, #call, what))

void must_fail_before(const char *call);
void must_succeed(int code, const char *call, const char *what);
