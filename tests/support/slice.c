#include "support/slice.h"

#include <stdlib.h>
#include <string.h>

#include "check/mix.h"

/* Floats before and behind every buffer's contents. */
enum { BEFORE = 5, BEHIND = 3 };

/* 24 bits that depend on everything. */
static float bits_of(unsigned seed, size_t n, size_t c, size_t i)
{
    return (float)(mix(mix(mix(seed, n), c), i) >> 40);
}

/* Ends the program where there is no memory. */
static float *room_for(size_t floats)
{
    float *made = malloc(sizeof(float) * (floats + 1));
    must(made ? CL_SUCCESS : SBN_OUT_OF_MEMORY, "malloc");
    return made;
}

float *buffer_copy(const slice *s, const sbn_buffer *buffer, size_t count)
{
    float *made = room_for(count);
    buffer_read(s, buffer, count, made);
    return made;
}

cl_mem fixture_buffer(const fixture *f, size_t size, void *contents)
{
    cl_int code;
    cl_mem made = clCreateBuffer(f->context,
                                 CL_MEM_READ_WRITE | (contents ? CL_MEM_COPY_HOST_PTR : 0), size,
                                 contents, &code);
    must(code, "clCreateBuffer");
    return made;
}

/* Patterns where nothing is written, before and behind the contents, too. */
sbn_buffer buffer_of(const fixture *f, cl_command_queue queue, const float *values, size_t count)
{
    const size_t floats = BEFORE + count + BEHIND;
    const slice on = {.queue = queue};
    const sbn_buffer whole = {fixture_buffer(f, sizeof(float) * floats, NULL), 0};
    const sbn_buffer made = {whole.mem, BEFORE};
    buffer_fill(&on, &whole, floats, PATTERN);
    if (values)
        buffer_write(&on, &made, count, values);
    return made;
}

void slice_open(slice *s, const fixture *f, cl_command_queue queue, size_t first, size_t samples,
                size_t channels, size_t plane, unsigned seed)
{
    *s = (slice){.queue = queue, .samples = samples, .channels = channels, .plane = plane};
    const size_t elements = s->elements = samples * channels * plane;
    float *x = room_for(2 * elements + 2 * channels);
    float *dy = x + elements, *weight = dy + elements, *bias = weight + channels;
    for (size_t k = 0; k < elements; ++k) {
        const size_t n = k / plane / channels, c = k / plane % channels, i = k % plane;
        x[k] = (float)c * 0.75f + bits_of(2 * seed, first + n, c, i) * 0x1p-22f;
        dy[k] = bits_of(2 * seed + 1, first + n, c, i) * 0x1p-23f - 0.875f;
    }
    for (size_t c = 0; c < channels; ++c) {
        weight[c] = 0.5f + 0.125f * (float)(c % 7);
        bias[c] = 0.25f * (float)(c % 5) - 0.5f;
    }
    s->shard = SHARD_WITH(.dims = 3, .shape = {samples, channels, plane},
                          .x = buffer_of(f, queue, x, elements),
                          .y = buffer_of(f, queue, NULL, elements),
                          .dy = buffer_of(f, queue, dy, elements),
                          .dx = buffer_of(f, queue, NULL, elements),
                          .weight = buffer_of(f, queue, weight, channels),
                          .bias = buffer_of(f, queue, bias, channels),
                          .weight_grad = buffer_of(f, queue, NULL, channels),
                          .bias_grad = buffer_of(f, queue, NULL, channels));
    free(x);
}

void slices_open(slice *slices, sbn_shard *shards, size_t count, const fixture *f,
                 cl_command_queue queue, size_t samples, size_t channels, size_t plane,
                 unsigned seed)
{
    for (size_t r = 0; r < count; ++r) {
        slice_open(&slices[r], f, queue, r * samples, samples, channels, plane, seed);
        shards[r] = slices[r].shard;
    }
}

void slice_close(slice *s)
{
    const sbn_buffer all[] = {s->shard.x,           s->shard.y,        s->shard.dy,
                              s->shard.dx,          s->shard.weight,   s->shard.bias,
                              s->shard.weight_grad, s->shard.bias_grad};
    clFinish(s->queue);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        clReleaseMemObject(all[i].mem);
}

void buffer_read(const slice *s, const sbn_buffer *buffer, size_t count, float *to)
{
    if (count > 0)
        must(clEnqueueReadBuffer(s->queue, buffer->mem, CL_TRUE, sizeof(float) * buffer->offset,
                                 sizeof(float) * count, to, 0, NULL, NULL),
             "clEnqueueReadBuffer");
}

void buffer_write(const slice *s, const sbn_buffer *buffer, size_t count, const float *values)
{
    if (count > 0)
        must(clEnqueueWriteBuffer(s->queue, buffer->mem, CL_TRUE, sizeof(float) * buffer->offset,
                                  sizeof(float) * count, values, 0, NULL, NULL),
             "clEnqueueWriteBuffer");
}

void buffer_fill(const slice *s, const sbn_buffer *buffer, size_t count, float value)
{
    if (count > 0)
        must(clEnqueueFillBuffer(s->queue, buffer->mem, &value, sizeof value,
                                 sizeof(float) * buffer->offset, sizeof(float) * count, 0, NULL,
                                 NULL),
             "clEnqueueFillBuffer");
    must(clFinish(s->queue), "clFinish");
}

void slices_close(slice *slices, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        slice_close(&slices[i]);
}

void events_release(cl_event *events, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        if (events[i])
            clReleaseEvent(events[i]);
        events[i] = NULL;
    }
}

void slice_reset(const slice *s)
{
    buffer_fill(s, &s->shard.y, s->elements, PATTERN);
    buffer_fill(s, &s->shard.dx, s->elements, PATTERN);
    buffer_fill(s, &s->shard.weight_grad, s->channels, PATTERN);
    buffer_fill(s, &s->shard.bias_grad, s->channels, PATTERN);
}

void slices_reset(const slice *slices, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        slice_reset(&slices[i]);
}

static int holds_pattern(const slice *s, const sbn_buffer *buffer, size_t count)
{
    const sbn_buffer whole = {buffer->mem, 0};
    float *data = buffer_copy(s, &whole, BEFORE + count + BEHIND);
    int same = 1;
    for (size_t i = 0; i < BEFORE + count + BEHIND; ++i)
        same = same && data[i] == PATTERN;
    free(data);
    return same;
}

int slice_untouched(const slice *s)
{
    must(clFinish(s->queue), "clFinish");
    return holds_pattern(s, &s->shard.y, s->elements) &&
           holds_pattern(s, &s->shard.dx, s->elements) &&
           holds_pattern(s, &s->shard.weight_grad, s->channels) &&
           holds_pattern(s, &s->shard.bias_grad, s->channels);
}

uint64_t digest_buffer(uint64_t digest, const slice *s, const sbn_buffer *buffer, size_t count)
{
    float *data = buffer_copy(s, buffer, count);
    digest = sbn__digest(digest, data, sizeof(float) * count);
    free(data);
    return digest;
}

uint64_t digest_gradients(uint64_t digest, const slice *s)
{
    digest = digest_buffer(digest, s, &s->shard.weight_grad, s->channels);
    return digest_buffer(digest, s, &s->shard.bias_grad, s->channels);
}

uint64_t digest_slice(uint64_t digest, const slice *s)
{
    digest = digest_buffer(digest, s, &s->shard.y, s->elements);
    digest = digest_buffer(digest, s, &s->shard.dx, s->elements);
    return digest_gradients(digest, s);
}

uint64_t digest_slices(uint64_t digest, const slice *slices, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        digest = digest_slice(digest, &slices[i]);
    return digest;
}

uint64_t digest_untouched(uint64_t digest, const slice *slices, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        const int untouched = slice_untouched(&slices[i]);
        digest = sbn__digest(digest, &untouched, sizeof untouched);
    }
    return digest;
}

uint64_t digest_layer(uint64_t digest, const sbn_batchnorm *layer, const sbn_saved *saved)
{
    sbn_batchnorm_config settings = SBN_BATCHNORM_CONFIG_INIT;
    int64_t batches = 0;
    uint64_t count = 0;
    must(sbn_batchnorm_settings(layer, &settings), "sbn_batchnorm_settings");
    float *values = room_for(4 * settings.channels);
    memset(values, 0, 4 * sizeof *values * settings.channels);
    float *mean = values, *var = mean + settings.channels, *of_batch = var + settings.channels;
    if (settings.track_running_stats)
        must(sbn_batchnorm_running_stats(layer, mean, var, &batches), "running statistics");
    /* Nothing where no pass has filled them. */
    if (saved)
        sbn_saved_stats(saved, of_batch, of_batch + settings.channels, &count);
    digest = sbn__digest(digest, values, 4 * sizeof *values * settings.channels);
    free(values);
    digest = sbn__digest(digest, &batches, sizeof batches);
    return sbn__digest(digest, &count, sizeof count);
}
