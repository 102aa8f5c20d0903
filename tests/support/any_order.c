/*
 * A layer of OpenCL's loader (OPENCL_LAYERS) in which commands run in any order that OpenCL allows: they
 * are held, and where a program waits, those that the wait needs run, one at a time, in an order that only wait
 * lists, ordered queues and flushes limit. What lacks a wait has other results, what lacks a flush never ends.
 * A caller's event is a user event. ANY_ORDER is the seed:
 *
 *   seed % 2    0: the newest command first; 1: any
 *   seed / 2    odd: a buffer on memory of the host is a copy of it
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

enum { MOST = 1 << 16, DIMENSIONS = 3, PATTERN = 16 };
enum { MARKER, KERNEL, READ, WRITE, FILL, MAP, UNMAP };

typedef struct command {
    int kind;
    cl_mem to; /* or from */
    size_t at, size;
    void *host;
    unsigned char pattern[PATTERN];
    size_t pattern_size;
    cl_kernel kernel; /* a clone with the arguments of the call */
    cl_uint dimensions;
    size_t global[DIMENSIONS], local[DIMENSIONS];
    /* What all have. */
    cl_command_queue queue;
    cl_event event;
    cl_uint count;
    cl_event *list;
    int ordered, flushed, wanted;
} command;

static const cl_icd_dispatch *real;
static cl_icd_dispatch layer;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static command *held[MOST];   /* in the order in which they were enqueued */
static cl_mem released[MOST]; /* while commands were held that may use them */
static size_t count_held, count_released;
static int any, copying, drops, listed, questions;
static unsigned long long state;
static time_t last_progress;

static void fail(const char *what, int code)
{
    fprintf(stderr, "any_order: %s (%d)\n", what, code);
    abort();
}

static void *copy_of(const void *from, size_t size)
{
    void *made = malloc(size + 1);
    if (!made)
        fail("no memory", 0);
    return memcpy(made, from, size);
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

static cl_int execute(const command *c)
{
    switch (c->kind) {
    case KERNEL:
        return real->clEnqueueNDRangeKernel(c->queue, c->kernel, c->dimensions, NULL, c->global,
                                            c->local, 0, NULL, NULL);
    case READ:
        return real->clEnqueueReadBuffer(c->queue, c->to, CL_FALSE, c->at, c->size, c->host, 0,
                                         NULL, NULL);
    case WRITE:
        return real->clEnqueueWriteBuffer(c->queue, c->to, CL_FALSE, c->at, c->size, c->host, 0,
                                          NULL, NULL);
    case FILL:
        return real->clEnqueueFillBuffer(c->queue, c->to, c->pattern, c->pattern_size, c->at,
                                         c->size, 0, NULL, NULL);
    case UNMAP: return real->clEnqueueUnmapMemObject(c->queue, c->to, c->host, 0, NULL, NULL);
    default: return CL_SUCCESS;
    }
}

static void forget(command *c)
{
    for (cl_uint i = 0; i < c->count; ++i)
        real->clReleaseEvent(c->list[i]);
    if (c->kernel)
        real->clReleaseKernel(c->kernel);
    real->clReleaseCommandQueue(c->queue);
    real->clReleaseEvent(c->event);
    free(c->list);
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

/* One command that is ready and wanted; 0: there is none. */
static int run_one(void)
{
    const size_t first = count_held > 0 && any ? below(count_held) : 0;
    for (size_t i = 0; i < count_held; ++i) {
        const size_t at = count_held - 1 - (first + i) % count_held;
        if (held[at]->wanted && is_ready(held[at], at)) {
            run(at);
            return 1;
        }
    }
    return 0;
}

/* Marks what must run for a queue to be empty or an event to be complete; 0: nothing. */
static int want(cl_command_queue queue, cl_event event)
{
    int some = 0;
    for (size_t i = 0; i < count_held; ++i) {
        held[i]->wanted = held[i]->queue == queue || held[i]->event == event;
        some = some || held[i]->wanted;
    }
    for (size_t i = some ? count_held : 0; i-- > 0;)
        for (size_t j = 0; j < i && held[i]->wanted; ++j)
            held[j]->wanted = held[j]->wanted || waits_for(held[i], held[j]);
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
        if (run_one())
            continue;
        judge_progress();
        pthread_mutex_unlock(&lock);
        nanosleep(&(struct timespec){0, 200000}, NULL);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
}

/* Holds a copy of the command, and runs it if the call is blocking. */
static cl_int hold(const command *of, cl_bool blocking, cl_command_queue queue, cl_uint count,
                   const cl_event *list, cl_event *event)
{
    cl_context context = NULL;
    cl_command_queue_properties has = 0;
    cl_int code;
    pthread_mutex_lock(&lock);
    if (count_held == MOST || count_released == MOST)
        fail("too many commands are held", MOST);
    command *c = copy_of(of, sizeof *of);
    real->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    real->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof has, &has, NULL);
    real->clRetainCommandQueue(queue);
    c->queue = queue;
    c->ordered = !(has & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    const cl_event own = c->event = real->clCreateUserEvent(context, &code);
    if (code)
        fail("clCreateUserEvent", code);
    c->count = drops && count && ++listed % drops == 0 ? 0 : count;
    c->list = c->count ? copy_of(list, c->count * sizeof *list) : NULL;
    for (cl_uint i = 0; i < c->count; ++i)
        real->clRetainEvent(list[i]);
    if (event) {
        real->clRetainEvent(own);
        *event = own;
    }
    held[count_held++] = c;
    questions = 0;
    if (blocking)
        real->clRetainEvent(own);
    pthread_mutex_unlock(&lock);
    if (blocking) {
        run_until_over(NULL, own);
        if (state_of(own) < 0)
            code = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        real->clReleaseEvent(own);
    }
    return code;
}

/* A function that enqueues a command, and its end. */
#define HOLD(blocking, ...) hold(&(const command){__VA_ARGS__}, blocking, queue, count, list, event)
#define ENQUEUES(name, ...) \
    static cl_int CL_API_CALL name(__VA_ARGS__, cl_uint count, const cl_event *list, \
                                   cl_event *event)

ENQUEUES(enqueue_kernel, cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
         const size_t *offset, const size_t *global, const size_t *local)
{
    cl_int code;
    command c = {.kind = KERNEL, .dimensions = dimensions};
    c.kernel = real->clCloneKernel(kernel, &code);
    if (offset || !local || code)
        fail("a launch that is not implemented", code);
    memcpy(c.global, global, dimensions * sizeof *global);
    memcpy(c.local, local, dimensions * sizeof *local);
    return hold(&c, CL_FALSE, queue, count, list, event);
}

ENQUEUES(enqueue_read, cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t at,
         size_t size, void *host)
{
    return HOLD(blocking, .kind = READ, .to = buffer, .at = at, .size = size, .host = host);
}

ENQUEUES(enqueue_write, cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t at,
         size_t size, const void *host)
{
    void *const from = (void *)(size_t)host;
    return HOLD(blocking, .kind = WRITE, .to = buffer, .at = at, .size = size, .host = from);
}

ENQUEUES(enqueue_fill, cl_command_queue queue, cl_mem buffer, const void *pattern,
         size_t pattern_size, size_t at, size_t size)
{
    command c = {.kind = FILL, .to = buffer, .at = at, .size = size, .pattern_size = pattern_size};
    if (pattern_size > PATTERN)
        fail("a pattern that is not implemented", (int)pattern_size);
    memcpy(c.pattern, pattern, pattern_size);
    return hold(&c, CL_FALSE, queue, count, list, event);
}

/* Neither the library nor a test copies buffers. */
ENQUEUES(enqueue_copy, cl_command_queue queue, cl_mem from, cl_mem to, size_t from_at, size_t at,
         size_t size)
{
    (void)queue, (void)from, (void)to, (void)from_at, (void)at, (void)size;
    (void)count, (void)list, (void)event;
    fail("a copy that is not implemented", 0);
    return CL_INVALID_OPERATION;
}

ENQUEUES(enqueue_marker, cl_command_queue queue)
{
    return HOLD(CL_FALSE, .kind = MARKER);
}

/* Of memory that is the buffer's own. */
static void *CL_API_CALL enqueue_map(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     cl_map_flags flags, size_t at, size_t size, cl_uint count,
                                     const cl_event *list, cl_event *event, cl_int *code)
{
    cl_int status;
    void *place = real->clEnqueueMapBuffer(queue, buffer, CL_TRUE, flags, at, size, 0, NULL, NULL,
                                           &status);
    if (place)
        status = HOLD(blocking, .kind = MAP);
    if (code)
        *code = status;
    return place;
}

ENQUEUES(enqueue_unmap, cl_command_queue queue, cl_mem buffer, void *place)
{
    return HOLD(CL_FALSE, .kind = UNMAP, .to = buffer, .host = place);
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size,
                                        void *host, cl_int *code)
{
    if (copying && flags & CL_MEM_USE_HOST_PTR)
        flags ^= CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    return real->clCreateBuffer(context, flags, size, host, code);
}

static cl_int CL_API_CALL release_buffer(cl_mem buffer)
{
    cl_int code = CL_SUCCESS;
    pthread_mutex_lock(&lock);
    if (count_held == 0)
        code = real->clReleaseMemObject(buffer);
    else
        released[count_released++] = buffer;
    pthread_mutex_unlock(&lock);
    return code;
}

static cl_int CL_API_CALL flush_queue(cl_command_queue queue)
{
    pthread_mutex_lock(&lock);
    flush(queue);
    pthread_mutex_unlock(&lock);
    return real->clFlush(queue);
}

static cl_int CL_API_CALL release_queue(cl_command_queue queue)
{
    flush_queue(queue);
    return real->clReleaseCommandQueue(queue);
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    run_until_over(queue, NULL);
    return real->clFinish(queue);
}

static cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *list)
{
    pthread_mutex_lock(&lock);
    for (cl_uint i = 0; i < count; ++i) {
        const command *c = command_of(list[i]);
        if (c)
            flush(c->queue);
    }
    pthread_mutex_unlock(&lock);
    for (cl_uint i = 0; i < count; ++i)
        run_until_over(NULL, list[i]);
    return real->clWaitForEvents(count, list);
}

/* Who asks again and again, and enqueues nothing, sees the end of it. */
static cl_int CL_API_CALL event_info(cl_event event, cl_event_info what, size_t size, void *value,
                                     size_t *needed)
{
    pthread_mutex_lock(&lock);
    if (what == CL_EVENT_COMMAND_EXECUTION_STATUS && ++questions > PATIENCE && want(NULL, event) &&
        !run_one())
        judge_progress();
    pthread_mutex_unlock(&lock);
    return real->clGetEventInfo(event, what, size, value, needed);
}

#define LAYER_FUNCTION __attribute__((visibility("default"))) cl_int CL_API_CALL

LAYER_FUNCTION clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *needed)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what != CL_LAYER_API_VERSION || (value && size < sizeof version))
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, &version, sizeof version);
    if (needed)
        *needed = sizeof version;
    return CL_SUCCESS;
}

LAYER_FUNCTION clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *made,
                           const cl_icd_dispatch **dispatch)
{
    const char *seed = getenv("ANY_ORDER"), *drop = getenv("ANY_ORDER_DROPS");
    if (!seed || !*seed)
        fail("ANY_ORDER: expected a seed", 0);
    const unsigned long chosen = strtoul(seed, NULL, 10);
    if (entries < sizeof layer / sizeof(void *))
        return CL_INVALID_VALUE;
    any = (int)(chosen % 2);
    copying = (int)(chosen / 2 % 2);
    state = chosen * 2654435761u + 1;
    drops = drop ? atoi(drop) : 0;
    real = target;
    layer = *target;
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
