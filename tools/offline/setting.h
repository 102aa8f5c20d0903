/* Replicas on one or two queues, with a group, a layer and its tensors. */
#ifndef TOOLS_OFFLINE_SETTING_H
#define TOOLS_OFFLINE_SETTING_H

#include <syncbn.h>

#include "check/problem.h"
#include "program/opencl.h"

enum { MOST_REPLICAS = 2, BUFFERS = 9 };

/* How replicas are spread: on devices, in contexts. */
typedef struct spread {
    const char *name;
    size_t replicas;
    cl_device_id devices[MOST_REPLICAS];
    int apart; /* each in a context of its own */
} spread;

typedef struct setting {
    size_t replicas;
    cl_context contexts[MOST_REPLICAS];
    cl_command_queue queues[MOST_REPLICAS];
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    sbn_shard shards[MOST_REPLICAS];
    cl_mem buffers[MOST_REPLICAS][BUFFERS];
} setting;

/* These return 0, or 1 after a sentence to standard error. */
int setting_fail(const char *what, int status);
int setting_queues(setting *s, const spread *of, cl_command_queue_properties properties);
int setting_group(setting *s, sbn_kernel_form form, const char *cache);
int setting_layer(setting *s, const problem *p);
int setting_tensors(setting *s, const problem *p);
int setting_finish(setting *s);

/* Releases the layer and its tensors; all. */
void setting_drop(setting *s);
void setting_close(setting *s);

#endif
