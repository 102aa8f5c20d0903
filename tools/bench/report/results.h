/* The numbers that `syncbn bench --json` wrote, as goals and plots need them. */
#ifndef TOOLS_BENCH_REPORT_RESULTS_H
#define TOOLS_BENCH_REPORT_RESULTS_H

#include <stddef.h>

#include <jansson.h>

/* The library's name among the contenders. */
#define LIBRARY "syncbn"

/* Problems of a report; NULL if it has none. */
const json_t *results_problems(const json_t *report);

/* 1 if the first device, which all but the replicas use, is of this type ("cpu", "gpu"). */
int results_first_device_is(const json_t *report, const char *type);

const char *results_line(const json_t *problem);
double results_bytes(const json_t *problem);
/* 1 unless its tensors are of f16 or bf16. */
int results_is_f32(const json_t *problem);

/* 1 unless its tensors are views. */
int results_is_dense(const json_t *problem);

/* 1 if it is only a batch norm; if a ReLU follows, or a residual's addition and a ReLU. */
int results_is_unfused(const json_t *problem);
int results_has_relu(const json_t *problem);
int results_has_add_relu(const json_t *problem);

/* Bytes that its tensor has, or would have, in f32. */
double results_bytes_f32(const json_t *problem);

int results_is_last(const json_t *problem);

/* The element of a line "mb32ic64ih7iw7" behind a key, "ic": 64; 0 if it has none. */
size_t results_extent(const json_t *problem, const char *key);

/* Medians; NaN where it was not measured. */
double results_share_of_copy(const json_t *problem, const char *contender, const char *pass);
double results_quotient(const json_t *problem, const char *of, const char *with, const char *pass);
double results_returned(const json_t *problem, const char *contender, const char *pass);
double results_difference(const json_t *problem, const char *of, const char *with,
                          const char *pass);

/* oneDNN's fastest layout, a contender's name, or NULL. */
const char *results_onednn(const json_t *problem, const char *pass);

double results_workspace(const json_t *problem);

#endif
