/*
 * By what a device departs from the launch plan's own numbers, in percent of them: for experiments
 * ($SYNCBN_TUNING), and as `syncbn tune` has measured it. It affects speed alone, as the plan does.
 * doc/performance.md says what the numbers are about.
 */
#pragma once

#include <syncbn/group.h>

#include "program/cache.h"
#include "program/opencl.h"

typedef enum sbn_tuned {
    SBN_TUNED_GROUPS, /* work-groups that a compute unit is given */
    SBN_TUNED_REDUCE, /* elements of a work-group of a reduction, where there are enough */
    SBN_TUNED_SLICES, /* bytes that accumulators of slices may have */
    SBN_TUNED_APPLY,  /* elements of a work-group of an apply kernel, where there are enough */
    SBN_TUNED_CACHE,  /* CPU form: bytes that a unit's own caches are taken to hold */
    SBN_TUNED
} sbn_tuned;

typedef struct sbn_tuning {
    uint32_t percent[SBN_TUNED]; /* 0: 100 */
} sbn_tuning;

enum { SBN_TUNING_LEAST = 1, SBN_TUNING_MOST = 10000, SBN_TUNING_TEXT = 128 };

/* A number of the plan on this device, at least 1. */
size_t sbn__tuned(const sbn_tuning *tuning, sbn_tuned which, size_t planned);

/* Reads "groups=200,cache=50"; what is not named is the plan's. 1, or 0 after a sentence: "expected ..., got ...". */
int sbn__tuning_parse(const char *text, sbn_tuning *tuning, char *sentence, size_t size);

/* Writes what differs from the plan, as it is read; "" if nothing does. */
void sbn__tuning_print(const sbn_tuning *tuning, char text[SBN_TUNING_TEXT]);

/*
 * Loads what is kept for a device of this name, driver and number of compute units, in a folder of
 * sbn__cache_open. 1 if there is such a file; a damaged one, or another device's, does not count.
 */
int sbn__tuning_load(int folder, cl_device_id device, sbn_kernel_form form, sbn_tuning *tuning);

/* Writes the file, and its name; 1 if it is there. */
int sbn__tuning_keep(int folder, cl_device_id device, sbn_kernel_form form,
                     const sbn_tuning *tuning, char name[SBN_CACHE_NAME]);

/* Removes the file; 1 if there is none now. */
int sbn__tuning_forget(int folder, cl_device_id device, sbn_kernel_form form);
