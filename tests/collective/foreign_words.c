/*
 * Words from other ranks are not trusted: a transport that adds anything to this rank's words, from what well-behaved
 * ranks send to arbitrary integers. Calls may then give wrong numbers or fail with a sentence; they must end, stay
 * within their memory (the sanitizers watch), and call the transport as its header says.
 */
#include <stdlib.h>

#include "check/mix.h"
#include "parallel/parallel.h"
#include "support/main.h"

enum { WORLD_SIZE = 3, RANK = 1, CHANNELS = 3, SAMPLES = 2, PLANE = 5 };

static uint64_t seed, place;
static size_t succeeded, failed, broken_promises;

static uint64_t below(uint64_t bound)
{
    return mix(seed, place++) % bound;
}

/* --- the transport ------------------------------------------------------------------ */

typedef struct fake {
    sbn_transport table;
    int64_t *words; /* of the request */
    size_t count;
} fake;

static int64_t odd_word(void)
{
    static const int64_t words[] = {INT64_MIN, INT64_MAX, -1, 0, 1, 1 << 16, (int64_t)1 << 32};
    switch (below(3)) {
    case 0: return words[below(sizeof words / sizeof *words)];
    case 1: return (int64_t)below(9) - 4;
    default: return (int64_t)mix(seed, place++);
    }
}

/* As if all ranks had the same words. */
static void multiply(const fake *f)
{
    for (size_t i = 0; i < f->count; ++i)
        f->words[i] = (int64_t)((uint64_t)f->words[i] * (uint64_t)f->table.world_size);
}

static void replace(const fake *f, size_t words)
{
    for (size_t n = 0; n < words && f->count > 0; ++n)
        f->words[below(f->count)] = odd_word();
}

/* As if each rank had words of its own: what this one leaves at 0 is theirs. */
static void fill_gaps(const fake *f, uint64_t bound)
{
    for (size_t i = 0; i < f->count; ++i)
        if (f->words[i] == 0)
            f->words[i] = (int64_t)below(bound);
}

static void distort(const fake *f, int tag)
{
    const uint64_t kind = below(tag == SBN_TAG_HEADER ? 16 : 8);
    switch (kind) {
    case 0:
        multiply(f);
        replace(f, 1 + below(4));
        break;
    case 1: replace(f, f->count); break;
    case 2: replace(f, 1 + below(2)); break;
    case 3: fill_gaps(f, 2); break;
    case 4: fill_gaps(f, 5); break;
    case 5:
        fill_gaps(f, 3);
        replace(f, 1);
        break;
    default: multiply(f);
    }
}

static int start(void *context, int tag, int64_t *words, size_t count, void **request)
{
    fake *f = context;
    f->words = words;
    f->count = count;
    distort(f, tag);
    *request = f;
    return 0;
}

static int test(void *context, void *request, int *done)
{
    (void)context, (void)request;
    *done = 1;
    return 0;
}

static void end(void *context)
{
    free(context);
}

/* Ascending, of this transport, and with this rank among them: so the header says. */
static int split(void *context, const int *ranks, int count, int number, sbn_transport *part)
{
    const sbn_transport *whole = &((const fake *)context)->table;
    fake *made = malloc(sizeof *made);
    int own = -1, right = count >= 1 && count <= whole->world_size;
    (void)number;
    for (int i = 0; right && i < count; ++i) {
        right = ranks[i] >= 0 && ranks[i] < whole->world_size &&
                (i == 0 || ranks[i] > ranks[i - 1]);
        own = ranks[i] == whole->rank ? i : own;
    }
    broken_promises += !right || own < 0;
    if (!made)
        return SBN_OUT_OF_MEMORY;
    *part = *whole;
    part->context = made;
    part->rank = own < 0 ? 0 : own;
    part->world_size = count;
    *made = (fake){.table = *part};
    return 0;
}

/* --- calls -------------------------------------------------------------------------- */

static void count(int status)
{
    const char *sentence = sbn_last_error();
    succeeded += status == SBN_SUCCESS;
    failed += status != SBN_SUCCESS;
    broken_promises += (status == SBN_SUCCESS) != (*sentence == '\0');
}

static void pass_calls(sbn_batchnorm *layer, sbn_saved *saved, const slice *s)
{
    slice second;
    sbn_saved *other = NULL;
    count(sbn_forward(layer, &s->shard, saved, 0, NULL));
    count(sbn_backward(layer, &s->shard, saved, SBN_GLOBAL_GRADIENTS, NULL));
    if (sbn_saved_create(layer, &other) != SBN_SUCCESS)
        return;
    slice_open(&second, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 1);
    const sbn_branch branches[] = {{sizeof *branches, layer, &s->shard, saved, 0},
                                   {sizeof *branches, layer, &second.shard, other, 0}};
    count(sbn_forward_branches(branches, 2, NULL));
    sbn_saved_destroy(other);
    clFinish(queue);
    slice_close(&second);
}

static void split_calls(sbn_group *group, uint64_t colours)
{
    const int colour = (int)below(colours);
    sbn_group *part = NULL;
    count(sbn_group_split(group, &colour, &part));
    broken_promises += part && sbn_group_world_size(part) > WORLD_SIZE;
    sbn_group_destroy(part);
}

static void parallel_calls(sbn_group *group, const slice *s)
{
    sbn_data_parallel *parallel = NULL;
    sbn_tensors tensors = SBN_TENSORS_INIT;
    tensors.buffers = &s->shard.x;
    count(sbn_data_parallel_create(group, NULL, &parallel));
    if (!parallel)
        return;
    /* Of each rank that takes part there is one replica or more. */
    const size_t replicas = sbn_data_parallel_replicas(parallel);
    broken_promises += sbn_data_parallel_first(parallel) >= replicas ||
                       replicas < (size_t)parallel->communicator.transport.world_size;
    count(sbn_average_gradients(parallel, &s->elements, 1, &tensors));
    count(sbn_broadcast(parallel, &s->elements, 1, 0, &tensors));
    sbn_data_parallel_destroy(parallel);
}

/* A group, some calls, and its end. */
static void try_once(uint64_t number)
{
    fake own = {.table = {sizeof own.table, &own, RANK, WORLD_SIZE, .start = start, .test = test,
                          .split = split, .end = end}};
    slice s;
    seed = number;
    place = 0;
    const life l = LIVE_WITH(GROUP_WITH(&queue, .transport = &own.table), .channels = CHANNELS);
    slice_open(&s, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 0);
    for (int call = 0; call < 3; ++call)
        switch (below(3)) {
        case 0: pass_calls(l.layer, l.saved, &s); break;
        case 1: split_calls(l.group, 3); break;
        default: parallel_calls(l.group, &s);
        }
    clFinish(queue);
    slice_close(&s);
    fixture_die(&l);
}

void checks(void)
{
    const char *given = getenv("FOREIGN_WORDS");
    const uint64_t rounds = given ? strtoull(given, NULL, 10) : 1000;
    /* Keeps the kernels for all others. */
    sbn_group *first = fixture_group(queue, 1, SBN_FORM_AUTO);
    for (uint64_t number = 0; number < rounds; ++number)
        try_once(number);
    sbn_group_destroy(first);
    tap_ok(succeeded > rounds / 2 && failed > rounds / 2,
           "%llu groups: %zu calls succeeded, %zu failed with a sentence",
           (unsigned long long)rounds, succeeded, failed);
    tap_ok(broken_promises == 0, "%zu calls without a sentence, or against the transport's rules",
           broken_promises);
}
