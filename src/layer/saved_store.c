/*
 * Saved statistics as bytes: a header, each replica's shape and mask, the moments, the masks. All are
 * in the machine's own order; another order is seen by the version.
 */
#include <stddef.h>
#include <string.h>

#include "layer/batchnorm.h"
#include "layer/saved.h"
#include "program/kernel_constants.h"

#define MAGIC "syncbn saved"

typedef struct header {
    char magic[12]; /* MAGIC, without its end */
    uint32_t version;
    uint64_t size; /* of all, in bytes */
    uint64_t channels, replicas;
    uint16_t layout, type, activation, residual, from_output, eps_mode;
    uint32_t frozen;
    double slope;         /* 0 if the activation has none */
    uint32_t pass, place; /* public: SBN_SAVED_PASS */
    double eps;
    uint64_t count;
} header;

_Static_assert(offsetof(header, pass) == SBN_SAVED_PASS &&
                   offsetof(header, eps) == SBN_SAVED_PASS + SBN_SAVED_PASS_SIZE,
               "the pass stands where the header says");

typedef struct replica_header {
    uint64_t samples, plane;
    uint64_t row;  /* elements of a mask's row; 0: there is no mask */
    uint32_t bits; /* of its words */
    uint32_t unused;
    uint64_t mask_size;
} replica_header;

static size_t moments_size(const sbn_batchnorm *layer)
{
    return sizeof(double) * SBN_MOMENT_ROWS * layer->channels;
}

/* The bytes of a mask of `elements` in rows; SIZE_MAX: they do not make rows. */
static size_t mask_size(uint64_t elements, uint64_t row, sbn_kernel_form form)
{
    sbn_mask_rows rows;
    return row > 0 && elements % row == 0 ? sbn__mask_layout(&rows, row, elements, form) : SIZE_MAX;
}

static replica_header describe(const sbn_saved *saved, size_t r)
{
    const sbn_shape *shape = &saved->shapes[r];
    const sbn_kernel_form form = saved->layer->group->replicas[r].form;
    replica_header h = {.samples = shape->samples, .plane = shape->plane};
    if (sbn__is_masked(saved->layer) && shape->elements > 0) {
        h.row = saved->masks[r].rows.length;
        h.bits = (uint32_t)sbn__form_sizes(form)->mask_bits;
        h.mask_size = mask_size(shape->elements, h.row, form);
    }
    return h;
}

static header describe_all(const sbn_saved *saved)
{
    const sbn_batchnorm *layer = saved->layer;
    header h = {
        .version = SBN_SAVED_VERSION,
        .size = sizeof h + moments_size(layer),
        .channels = layer->channels,
        .replicas = layer->group->replica_count,
        .layout = (uint16_t)layer->config.layout,
        .type = (uint16_t)layer->config.type,
        .activation = (uint16_t)layer->config.activation,
        .residual = (uint16_t)layer->config.residual,
        .from_output = (uint16_t)layer->config.from_output,
        .eps_mode = (uint16_t)layer->config.eps_mode,
        .slope = layer->config.activation == SBN_LEAKY_RELU ? (float)layer->config.slope : 0,
        .frozen = (uint32_t)saved->frozen,
        .pass = saved->pass,
        .place = saved->place,
        .eps = layer->eps.eps,
        .count = saved->count,
    };
    memcpy(h.magic, MAGIC, sizeof h.magic);
    for (size_t r = 0; r < h.replicas; ++r)
        h.size += sizeof(replica_header) + describe(saved, r).mask_size;
    return h;
}

#define WHAT "saved statistics"

int sbn_saved_store(const sbn_saved *saved, void *memory, size_t room, size_t *size)
{
    int status = sbn__enter(saved, SBN_HANDLE_SAVED, "saved");
    if (!status && !size)
        status = sbn__fail(SBN_INVALID_ARGUMENT, "size: expected a place for the size, got NULL");
    if (!status)
        status = sbn__check_filled(saved, saved->layer);
    if (status)
        return status;
    sbn_group *group = saved->layer->group;
    const header h = describe_all(saved);
    *size = (size_t)h.size;
    if (!memory)
        return SBN_SUCCESS;
    if (room < h.size)
        return sbn__fail(SBN_INVALID_ARGUMENT, "room: expected at least %zu bytes, got %zu", *size,
                         room);
    status = sbn__saved_read(saved);
    if (status)
        return status;
    char *at = (char *)memory + sizeof h;
    memcpy(memory, &h, sizeof h);
    for (size_t r = 0; r < group->replica_count; ++r, at += sizeof(replica_header)) {
        const replica_header own = describe(saved, r);
        memcpy(at, &own, sizeof own);
    }
    memcpy(at, saved->moments->mean, moments_size(saved->layer));
    at += moments_size(saved->layer);
    for (size_t r = 0; r < group->replica_count && !status; ++r) {
        const replica_header own = describe(saved, r);
        const cl_event last = saved->table.copies[r].last; /* the last command on what is saved */
        if (own.mask_size == 0)
            continue;
        status = last ? sbn__event_wait(&group->replicas[r], last) : SBN_SUCCESS;
        if (!status)
            status = sbn__read_now(&group->replicas[r], group->replicas[r].transfer_queue,
                                   saved->masks[r].words.mem, 0, own.mask_size, at, WHAT);
        at += own.mask_size;
    }
    return status;
}

/* --- loading ------------------------------------------------------------------------ */

/* What the header says against what the layer is. */
static int check_header(const header *h, const sbn_saved *saved, size_t size)
{
    const header own = describe_all(saved);
    const struct {
        const char *name;
        double stored, own;
    } parts[] = {
        {"channels", (double)h->channels, (double)own.channels},
        {"layout", h->layout, own.layout},
        {"type", h->type, own.type},
        {"activation", h->activation, own.activation},
        {"slope", h->slope, own.slope},
        {"residual", h->residual, own.residual},
        {"from_output", h->from_output, own.from_output},
        {"replicas", (double)h->replicas, (double)own.replicas},
        {"eps_mode", h->eps_mode, own.eps_mode},
        {"eps", h->eps, own.eps},
    };
    if (memcmp(h->magic, MAGIC, sizeof h->magic) != 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "memory: expected what sbn_saved_store has written, got other bytes");
    if (h->version != SBN_SAVED_VERSION)
        return sbn__fail(SBN_INVALID_ARGUMENT, "memory: version: expected %d, got %lu",
                         SBN_SAVED_VERSION, (unsigned long)h->version);
    if (h->size != size)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "size: expected the %llu bytes that were written, got %zu",
                         (unsigned long long)h->size, size);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
        if (memcmp(&parts[i].stored, &parts[i].own, sizeof(double)) != 0) /* 0 is not -0 */
            return sbn__fail(SBN_INVALID_ARGUMENT,
                             "memory: %s: expected %.17g as of layer \"%s\", got %.17g",
                             parts[i].name, parts[i].own, saved->layer->name, parts[i].stored);
    return SBN_SUCCESS;
}

/* Fills a shape as far as saved statistics need it; 0: it is none. */
static int shape_of(const replica_header *h, size_t channels, sbn_shape *shape)
{
    const uint64_t most = ((uint64_t)1 << 56) / channels, values = h->samples * h->plane;
    *shape = (sbn_shape){.samples = h->samples,
                         .plane = h->plane,
                         .channels = channels,
                         .values = values,
                         .elements = values * channels};
    return !h->plane || h->samples <= most / h->plane;
}

/* The replicas' shapes and masks; `left`: what moments leave. */
static int check_replicas(const char *at, const sbn_saved *saved, size_t left)
{
    const sbn_batchnorm *layer = saved->layer;
    for (size_t r = 0; r < layer->group->replica_count; ++r, at += sizeof(replica_header)) {
        const sbn_kernel_form form = layer->group->replicas[r].form;
        replica_header h;
        sbn_shape shape;
        memcpy(&h, at, sizeof h);
        const int is_shape = shape_of(&h, layer->channels, &shape);
        const int masked = is_shape && sbn__is_masked(layer) && shape.elements > 0;
        if (masked && h.bits != (uint32_t)sbn__form_sizes(form)->mask_bits)
            return sbn__fail(SBN_INVALID_ARGUMENT,
                             "memory: replica %zu: expected a mask of the %s form of kernels, got "
                             "one of the other",
                             r, form == SBN_FORM_GPU ? "GPU" : "CPU");
        const size_t wanted = masked ? mask_size(shape.elements, h.row, form) : 0;
        if (!is_shape || h.mask_size != wanted || wanted > left)
            return sbn__fail(SBN_INVALID_ARGUMENT,
                             "memory: replica %zu: expected a shape and its mask, got others", r);
        left -= wanted;
    }
    if (left > 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "memory: expected no more masks, got %zu bytes behind the last", left);
    return SBN_SUCCESS;
}

/* A replica's shape, mask and table, and the moments where devices combine. */
static int load_replica(sbn_saved *saved, size_t r, const replica_header *h, const char *mask)
{
    sbn_group *group = saved->layer->group;
    sbn_replica *replica = &group->replicas[r];
    int status = SBN_SUCCESS;
    shape_of(h, saved->layer->channels, &saved->shapes[r]);
    if (h->mask_size > 0) {
        status = sbn__reserve(replica, &saved->masks[r].words, h->mask_size);
        if (!status)
            status = sbn__write_now(replica, replica->transfer_queue, saved->masks[r].words.mem, 0,
                                    h->mask_size, mask, WHAT);
        sbn__mask_layout(&saved->masks[r].rows, h->row, saved->shapes[r].elements, replica->form);
    }
    if (!status && group->combines)
        status = sbn__saved_moments_reserve(saved->moments, replica);
    if (!status && group->combines)
        status = sbn__write_now(replica, replica->transfer_queue, saved->moments->device[r].mem, 0,
                                moments_size(saved->layer), saved->moments->mean, WHAT);
    if (!status)
        status = sbn__channel_table_write(&saved->table, replica);
    return status ? status : sbn__flush(replica);
}

static int load(sbn_saved *saved, const header *h, const char *at)
{
    const sbn_batchnorm *layer = saved->layer;
    const size_t replicas = layer->group->replica_count;
    const char *const moments = at + replicas * sizeof(replica_header);
    const char *mask = moments + moments_size(layer);
    int status = SBN_SUCCESS;
    saved->filled = 0;
    for (size_t r = 0; r < replicas; ++r)
        sbn__channel_table_leave(&saved->table, r);
    memcpy(saved->moments->mean, moments, moments_size(layer));
    sbn__coefficients_write(&saved->table, saved->moments->mean, saved->moments->invstd);
    for (size_t r = 0; r < replicas && !status; ++r, at += sizeof(replica_header)) {
        replica_header own;
        memcpy(&own, at, sizeof own);
        status = load_replica(saved, r, &own, mask);
        mask += own.mask_size;
    }
    if (status)
        return status;
    saved->moments->on_host = 1;
    saved->moments->on_device = layer->group->combines;
    saved->frozen = h->frozen != 0;
    saved->pass = h->pass;
    saved->place = h->place;
    saved->count = h->count;
    saved->filled = 1;
    return SBN_SUCCESS;
}

int sbn_saved_load(sbn_saved *saved, const void *memory, size_t size)
{
    header h;
    int status = sbn__enter(saved, SBN_HANDLE_SAVED, "saved");
    if (!status && !memory)
        status = sbn__fail(SBN_INVALID_ARGUMENT, "memory: expected an address, got NULL");
    if (!status && size < sizeof h)
        status = sbn__fail(SBN_INVALID_ARGUMENT,
                           "size: expected at least the %zu bytes of a header, got %zu", sizeof h,
                           size);
    if (!status && saved->used > 0)
        status = sbn__fail(SBN_INVALID_ARGUMENT,
                           "saved: expected no pass under way that uses it, got %d; end them first",
                           saved->used);
    if (status)
        return status;
    memcpy(&h, memory, sizeof h);
    const sbn_batchnorm *layer = saved->layer;
    status = sbn__saved_follow(saved);
    if (!status)
        status = check_header(&h, saved, size);
    const size_t fixed = sizeof h + moments_size(layer) +
                         sizeof(replica_header) * layer->group->replica_count;
    if (!status && size < fixed)
        status = sbn__fail(SBN_INVALID_ARGUMENT, "size: expected at least %zu bytes, got %zu",
                           fixed, size);
    const char *const at = (const char *)memory + sizeof h;
    if (!status)
        status = check_replicas(at, saved, size - fixed);
    return status ? status : load(saved, &h, at);
}
