/*
 * A layer of OpenCL's loader (OPENCL_LAYERS) in which commands run in any order that OpenCL allows: they
 * are held, and where a program waits they run, one at a time, in an order that only wait lists, ordered
 * queues and flushes limit. What lacks a wait has other results, what lacks a flush never ends.
 * A caller's event is a user event. ANY_ORDER is the seed:
 *
 *   seed % 3    0: nothing runs that no wait needs, the newest command first; 1: the same in any order;
 *               2: of half of the commands some run whenever something is called
 *   seed / 3    odd: buffers on memory of the host are copies of it
 *
 * ANY_ORDER_DROPS=N drops every N-th wait list, so that a test of this file fails.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <CL/cl_layer.h>

/* Nothing has run for so long while a thread waits: what it waits for is not flushed. */
#define STUCK_SECONDS 20

/* So many questions for the state of commands are answered before one runs. */
#define PATIENCE 16

enum { MOST = 1 << 16 };
enum { NEWEST, RANDOM, SOONER, MANNERS };
enum { MARKER, KERNEL, READ, WRITE, FILL, COPY, MAP, UNMAP };

typedef struct argument {
    struct argument *next;
    cl_kernel kernel;
    cl_uint index;
    size_t size;
    void *value; /* NULL: of local memory */
} argument;

typedef struct command {
    int kind;
    cl_command_queue queue;
    cl_event event;
    cl_uint count;
    cl_event *list;
    int ordered, flushed, wanted, late;
    cl_mem from, to; /* the buffer of other commands is `to` */
    size_t from_at, at, size;
    void *host;
    void *pattern;
    size_t pattern_size;
    cl_kernel kernel;
    cl_uint dimensions;
    size_t *global, *local;
    argument *arguments;
} command;

/* A buffer on memory of the host that the device has a copy of. */
typedef struct copied {
    struct copied *next;
    cl_mem buffer;
    char *host;
} copied;

static const cl_icd_dispatch *real;
static cl_icd_dispatch layer;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static command *held[MOST];   /* in the order in which they were enqueued */
static cl_mem released[MOST]; /* while commands were held that may use them */
static size_t count_held, count_released;
static argument *set;
static copied *copies;
static int manner, copying, drops, listed, questions;
static unsigned long long state;
static const void *marked_for; /* of which event or queue commands are marked as wanted */
static time_t last_progress;

static void fail(const char *what, int code)
{
    fprintf(stderr, "any_order: %s (%d)\n", what, code);
    abort();
}

static void *must_have(void *memory)
{
    if (!memory)
        fail("no memory", 0);
    return memory;
}

static void *copy_of(const void *from, size_t size)
{
    return from ? memcpy(must_have(malloc(size + 1)), from, size) : NULL;
}

static size_t below(size_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(state >> 33) % n;
}

static cl_int state_of(cl_event event)
{
    cl_int now = CL_COMPLETE;
    real->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof now, &now, NULL);
    return now;
}

/* Of the command that has an event; NULL: it is over, or none of these. */
static command *command_of(cl_event event)
{
    for (size_t i = 0; i < count_held; ++i)
        if (held[i]->event == event)
            return held[i];
    return NULL;
}

/* Does the queue of both have a run before b, which was enqueued later? */
static int is_behind(const command *b, const command *a)
{
    return a->queue == b->queue && (a->ordered || (b->kind == MARKER && b->count == 0));
}

static int waits_for(const command *b, const command *a)
{
    for (cl_uint i = 0; i < b->count; ++i)
        if (b->list[i] == a->event)
            return 1;
    return is_behind(b, a);
}

/* What a wait list names and has not run is not complete. */
static int is_ready(const command *c, size_t at)
{
    for (cl_uint i = 0; i < c->count; ++i)
        if (state_of(c->list[i]) > CL_COMPLETE)
            return 0;
    for (size_t i = at; i-- > 0;)
        if (is_behind(c, held[i]))
            return 0;
    return c->flushed;
}

static cl_int launch(const command *c)
{
    cl_int code = CL_SUCCESS;
    cl_uint arguments = 0;
    real->clGetKernelInfo(c->kernel, CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, NULL);
    for (const argument *a = c->arguments; a && !code; a = a->next)
        if (a->index < arguments)
            code = real->clSetKernelArg(c->kernel, a->index, a->size, a->value);
    return code ? code
                : real->clEnqueueNDRangeKernel(c->queue, c->kernel, c->dimensions, NULL, c->global,
                                               c->local, 0, NULL, NULL);
}

static cl_int execute(const command *c)
{
    switch (c->kind) {
    case KERNEL: return launch(c);
    case READ:
        return real->clEnqueueReadBuffer(c->queue, c->to, CL_FALSE, c->at, c->size, c->host, 0,
                                         NULL, NULL);
    case WRITE:
        return real->clEnqueueWriteBuffer(c->queue, c->to, CL_FALSE, c->at, c->size, c->host, 0,
                                          NULL, NULL);
    case FILL:
        return real->clEnqueueFillBuffer(c->queue, c->to, c->pattern, c->pattern_size, c->at,
                                         c->size, 0, NULL, NULL);
    case COPY:
        return real->clEnqueueCopyBuffer(c->queue, c->from, c->to, c->from_at, c->at, c->size, 0,
                                         NULL, NULL);
    case UNMAP: return real->clEnqueueUnmapMemObject(c->queue, c->to, c->host, 0, NULL, NULL);
    default: return CL_SUCCESS;
    }
}

static void forget(command *c)
{
    for (cl_uint i = 0; i < c->count; ++i)
        real->clReleaseEvent(c->list[i]);
    for (argument *a = c->arguments, *next; a; a = next) {
        next = a->next;
        free(a->value);
        free(a);
    }
    if (c->kernel)
        real->clReleaseKernel(c->kernel);
    real->clReleaseCommandQueue(c->queue);
    real->clReleaseEvent(c->event);
    free(c->list);
    free(c->pattern);
    free(c->global);
    free(c->local);
    free(c);
}

static void run(size_t i)
{
    command *c = held[i];
    cl_int code = CL_SUCCESS;
    for (cl_uint k = 0; k < c->count && !code; ++k)
        if (state_of(c->list[k]) < 0)
            code = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    if (!code) {
        code = execute(c);
        if (!code)
            code = real->clFinish(c->queue);
        if (code)
            fail("a command that was held has failed", code);
    }
    memmove(held + i, held + i + 1, (--count_held - i) * sizeof *held);
    real->clSetUserEventStatus(c->event, code);
    forget(c);
    while (count_held == 0 && count_released > 0)
        real->clReleaseMemObject(released[--count_released]);
    last_progress = time(NULL);
}

/* One command that is ready, of those that are wanted or of those that are not late; 0: there is none. */
static int run_one(int wanted, int late)
{
    const size_t first = count_held > 0 && manner != NEWEST ? below(count_held) : 0;
    for (size_t i = 0; i < count_held; ++i) {
        const size_t at = count_held - 1 - (first + i) % count_held;
        if ((held[at]->wanted || !wanted) && (late || !held[at]->late) && is_ready(held[at], at)) {
            run(at);
            return 1;
        }
    }
    return 0;
}

static void enter(void)
{
    pthread_mutex_lock(&lock);
    while (manner == SOONER && below(3) > 0 && run_one(0, 0))
        continue;
}

static void leave(void)
{
    pthread_mutex_unlock(&lock);
}

/* Marks what must run for a queue to be empty or an event to be complete; 0: nothing. */
static int want(cl_command_queue queue, cl_event event)
{
    const void *target = queue ? (void *)queue : (void *)event;
    int some = 0;
    for (size_t i = 0; i < count_held && !some; ++i)
        some = held[i]->queue == queue || held[i]->event == event;
    for (size_t i = 0; i < count_held && target != marked_for; ++i)
        held[i]->wanted = held[i]->queue == queue || held[i]->event == event;
    for (size_t i = target == marked_for ? 0 : count_held; i-- > 0;)
        for (size_t j = 0; j < i && held[i]->wanted; ++j)
            held[j]->wanted = held[j]->wanted || waits_for(held[i], held[j]);
    marked_for = target;
    return some;
}

static void flush(cl_command_queue queue)
{
    for (size_t i = 0; i < count_held; ++i)
        held[i]->flushed |= held[i]->queue == queue;
}

/* Nothing that is wanted can run. Another thread may change that, by a flush or other commands. */
static void judge_progress(void)
{
    marked_for = NULL;
    for (size_t i = 0; i < count_held && time(NULL) - last_progress > STUCK_SECONDS; ++i)
        if (held[i]->wanted && !held[i]->flushed)
            fail("a wait for a command that is not flushed", held[i]->kind);
}

/* Runs commands until none of a queue, or not that of an event, is held. */
static void run_until_over(cl_command_queue queue, cl_event event)
{
    pthread_mutex_lock(&lock);
    const command *c = event ? command_of(event) : NULL;
    flush(c ? c->queue : queue);
    last_progress = time(NULL);
    while (want(queue, event)) {
        if (run_one(manner != SOONER, 1))
            continue;
        judge_progress();
        pthread_mutex_unlock(&lock);
        nanosleep(&(struct timespec){0, 200000}, NULL);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
}

/* A command with what all have, for the caller to complete; the lock is taken. */
static command *hold(int kind, cl_command_queue queue, cl_uint count, const cl_event *list,
                     cl_event *event)
{
    cl_context context = NULL;
    cl_command_queue_properties has = 0;
    cl_int code;
    enter();
    if (count_held == MOST || count_released == MOST)
        fail("too many commands are held", MOST);
    command *c = must_have(calloc(1, sizeof *c));
    real->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    real->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof has, &has, NULL);
    real->clRetainCommandQueue(queue);
    c->kind = kind;
    c->queue = queue;
    c->ordered = !(has & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    c->late = below(2) == 0;
    c->event = real->clCreateUserEvent(context, &code);
    if (code)
        fail("clCreateUserEvent", code);
    c->count = drops && count && ++listed % drops == 0 ? 0 : count;
    c->list = c->count ? copy_of(list, c->count * sizeof *list) : NULL;
    for (cl_uint i = 0; i < c->count; ++i)
        real->clRetainEvent(list[i]);
    if (event) {
        real->clRetainEvent(c->event);
        *event = c->event;
    }
    held[count_held++] = c;
    questions = 0;
    return c;
}

/* The lock is let go. */
static cl_int held_until(cl_bool blocking, const command *c)
{
    cl_event event = c->event;
    cl_int code = CL_SUCCESS;
    if (blocking)
        real->clRetainEvent(event);
    leave();
    if (blocking) {
        run_until_over(NULL, event);
        if (state_of(event) < 0)
            code = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        real->clReleaseEvent(event);
    }
    return code;
}

static cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, size_t size,
                                       const void *value)
{
    enter();
    const cl_int code = real->clSetKernelArg(kernel, index, size, value);
    argument *a = set;
    while (a && (a->kernel != kernel || a->index != index))
        a = a->next;
    if (!a) {
        a = must_have(calloc(1, sizeof *a));
        *a = (argument){set, kernel, index, 0, NULL};
        set = a;
    }
    if (code == CL_SUCCESS) {
        free(a->value);
        a->size = size;
        a->value = copy_of(value, size);
    }
    leave();
    return code;
}

static cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel,
                                         cl_uint dimensions, const size_t *offset,
                                         const size_t *global, const size_t *local, cl_uint count,
                                         const cl_event *list, cl_event *event)
{
    const size_t size = dimensions * sizeof *global;
    if (offset)
        fail("an offset of work-items is not implemented", 0);
    command *c = hold(KERNEL, queue, count, list, event);
    real->clRetainKernel(kernel);
    c->kernel = kernel;
    c->dimensions = dimensions;
    c->global = copy_of(global, size);
    c->local = copy_of(local, size);
    for (const argument *a = set; a; a = a->next)
        if (a->kernel == kernel) {
            argument *b = copy_of(a, sizeof *a);
            b->value = copy_of(a->value, a->size);
            b->next = c->arguments;
            c->arguments = b;
        }
    leave();
    return CL_SUCCESS;
}

static command *hold_transfer(int kind, cl_command_queue queue, cl_mem buffer, size_t at,
                              size_t size, void *host, cl_uint count, const cl_event *list,
                              cl_event *event)
{
    command *c = hold(kind, queue, count, list, event);
    c->to = buffer;
    c->at = at;
    c->size = size;
    c->host = host;
    return c;
}

static cl_int CL_API_CALL enqueue_read(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                       size_t at, size_t size, void *host, cl_uint count,
                                       const cl_event *list, cl_event *event)
{
    return held_until(blocking,
                      hold_transfer(READ, queue, buffer, at, size, host, count, list, event));
}

static cl_int CL_API_CALL enqueue_write(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                        size_t at, size_t size, const void *host, cl_uint count,
                                        const cl_event *list, cl_event *event)
{
    return held_until(blocking, hold_transfer(WRITE, queue, buffer, at, size, (void *)(size_t)host,
                                              count, list, event));
}

static cl_int CL_API_CALL enqueue_fill(cl_command_queue queue, cl_mem buffer, const void *pattern,
                                       size_t pattern_size, size_t at, size_t size, cl_uint count,
                                       const cl_event *list, cl_event *event)
{
    command *c = hold_transfer(FILL, queue, buffer, at, size, NULL, count, list, event);
    c->pattern_size = pattern_size;
    c->pattern = copy_of(pattern, pattern_size);
    return held_until(CL_FALSE, c);
}

static cl_int CL_API_CALL enqueue_copy(cl_command_queue queue, cl_mem from, cl_mem to,
                                       size_t from_at, size_t at, size_t size, cl_uint count,
                                       const cl_event *list, cl_event *event)
{
    command *c = hold_transfer(COPY, queue, to, at, size, NULL, count, list, event);
    c->from = from;
    c->from_at = from_at;
    return held_until(CL_FALSE, c);
}

static cl_int CL_API_CALL enqueue_marker(cl_command_queue queue, cl_uint count,
                                         const cl_event *list, cl_event *event)
{
    return held_until(CL_FALSE, hold(MARKER, queue, count, list, event));
}

/* Later buffers may have the handles of earlier ones. */
static char *host_of(cl_mem buffer)
{
    pthread_mutex_lock(&lock);
    const copied *c = copies;
    while (c && c->buffer != buffer)
        c = c->next;
    pthread_mutex_unlock(&lock);
    return c ? c->host : NULL;
}

/* The copy is read when the command runs; that other memory is the buffer's own. */
static void *CL_API_CALL enqueue_map(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     cl_map_flags flags, size_t at, size_t size, cl_uint count,
                                     const cl_event *list, cl_event *event, cl_int *code)
{
    cl_int status;
    char *const host = host_of(buffer);
    void *place = host ? host + at
                       : real->clEnqueueMapBuffer(queue, buffer, CL_TRUE, flags, at, size, 0, NULL,
                                                  NULL, &status);
    if (place)
        status = held_until(blocking, hold_transfer(host ? READ : MAP, queue, buffer, at, size,
                                                    place, count, list, event));
    if (code)
        *code = status;
    return place;
}

static cl_int CL_API_CALL enqueue_unmap(cl_command_queue queue, cl_mem buffer, void *place,
                                        cl_uint count, const cl_event *list, cl_event *event)
{
    const int kind = host_of(buffer) ? MAP : UNMAP;
    return held_until(CL_FALSE,
                      hold_transfer(kind, queue, buffer, 0, 0, place, count, list, event));
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size,
                                        void *host, cl_int *code)
{
    const int copy = copying && flags & CL_MEM_USE_HOST_PTR;
    if (copy)
        flags ^= CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    const cl_mem made = real->clCreateBuffer(context, flags, size, host, code);
    if (made && copying) {
        pthread_mutex_lock(&lock);
        copied *c = must_have(malloc(sizeof *c));
        *c = (copied){copies, made, copy ? host : NULL};
        copies = c;
        pthread_mutex_unlock(&lock);
    }
    return made;
}

static cl_int CL_API_CALL release_buffer(cl_mem buffer)
{
    cl_int code = CL_SUCCESS;
    enter();
    if (count_held == 0)
        code = real->clReleaseMemObject(buffer);
    else
        released[count_released++] = buffer;
    leave();
    return code;
}

static cl_int CL_API_CALL release_queue(cl_command_queue queue)
{
    enter();
    flush(queue);
    leave();
    return real->clReleaseCommandQueue(queue);
}

static cl_int CL_API_CALL flush_queue(cl_command_queue queue)
{
    enter();
    flush(queue);
    leave();
    return real->clFlush(queue);
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    run_until_over(queue, NULL);
    return real->clFinish(queue);
}

static cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *list)
{
    enter();
    for (cl_uint i = 0; i < count; ++i) {
        const command *c = command_of(list[i]);
        if (c)
            flush(c->queue);
    }
    leave();
    for (cl_uint i = 0; i < count; ++i)
        run_until_over(NULL, list[i]);
    return real->clWaitForEvents(count, list);
}

/* Who asks again and again, and enqueues nothing, sees the end of it. */
static cl_int CL_API_CALL event_info(cl_event event, cl_event_info what, size_t size, void *value,
                                     size_t *needed)
{
    enter();
    if (what == CL_EVENT_COMMAND_EXECUTION_STATUS && ++questions > PATIENCE && want(NULL, event) &&
        !run_one(1, 1))
        judge_progress();
    leave();
    return real->clGetEventInfo(event, what, size, value, needed);
}

__attribute__((visibility("default"))) cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what,
                                                                         size_t size, void *value,
                                                                         size_t *needed)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what != CL_LAYER_API_VERSION || size < sizeof version)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, &version, sizeof version);
    if (needed)
        *needed = sizeof version;
    return CL_SUCCESS;
}

__attribute__((visibility("default"))) cl_int CL_API_CALL clInitLayer(
    cl_uint entries, const cl_icd_dispatch *target, cl_uint *made, const cl_icd_dispatch **dispatch)
{
    const char *seed = getenv("ANY_ORDER"), *drop = getenv("ANY_ORDER_DROPS");
    if (!seed || !*seed)
        fail("ANY_ORDER: expected a seed", 0);
    const unsigned long chosen = strtoul(seed, NULL, 10);
    if (entries < sizeof layer / sizeof(void *))
        return CL_INVALID_VALUE;
    manner = (int)(chosen % MANNERS);
    copying = (int)(chosen / MANNERS % 2);
    state = chosen * 2654435761u + 1;
    drops = drop ? atoi(drop) : 0;
    real = target;
    layer = *target;
    layer.clSetKernelArg = set_argument;
    layer.clEnqueueNDRangeKernel = enqueue_kernel;
    layer.clEnqueueReadBuffer = enqueue_read;
    layer.clEnqueueWriteBuffer = enqueue_write;
    layer.clEnqueueFillBuffer = enqueue_fill;
    layer.clEnqueueCopyBuffer = enqueue_copy;
    layer.clEnqueueMapBuffer = enqueue_map;
    layer.clEnqueueUnmapMemObject = enqueue_unmap;
    layer.clEnqueueMarkerWithWaitList = enqueue_marker;
    layer.clCreateBuffer = create_buffer;
    layer.clReleaseMemObject = release_buffer;
    layer.clReleaseCommandQueue = release_queue;
    layer.clFlush = flush_queue;
    layer.clFinish = finish;
    layer.clWaitForEvents = wait_for_events;
    layer.clGetEventInfo = event_info;
    *made = sizeof layer / sizeof(void *);
    *dispatch = &layer;
    return CL_SUCCESS;
}
