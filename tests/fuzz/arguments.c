#include "fuzz/arguments.h"

#include <string.h>

#include "base/versioned_struct.h"
#include "support/fixture.h"

enum { BUFFERS = 8, MADE = 64 };

static fixture device;
static cl_command_queue queues[REPLICAS];
static cl_mem buffers[BUFFERS];
static const size_t buffer_floats[BUFFERS] = {1, 4, 16, 64, 256, 1024, 1024, 1024};
static sbn_tensors tensors[2][REPLICAS];
static sbn_buffer tensor_buffers[2][REPLICAS][TENSORS];
const size_t tensor_counts[TENSORS] = {16, 0, 100};

static void *made[HANDLE_KINDS][MADE];
static size_t made_count[HANDLE_KINDS];

static cl_mem make_buffer(size_t floats)
{
    const cl_mem buffer = fixture_buffer(&device, sizeof(float) * floats, NULL);
    buffer_fill(&(slice){.queue = queues[0]}, &(sbn_buffer){buffer, 0}, floats, 0);
    return buffer;
}

void arguments_open(void)
{
    if (device.context)
        return;
    fuzz_must(!fixture_open(&device));
    for (size_t r = 0; r < REPLICAS; ++r)
        queues[r] = fixture_queue(&device, r == 1);
    for (size_t i = 0; i < BUFFERS; ++i)
        buffers[i] = make_buffer(buffer_floats[i]);
    for (size_t set = 0; set < 2; ++set)
        for (size_t r = 0; r < REPLICAS; ++r) {
            cl_mem of = make_buffer(tensor_counts[0] + tensor_counts[2]);
            tensor_buffers[set][r][0] = (sbn_buffer){of, 0};
            tensor_buffers[set][r][2] = (sbn_buffer){of, tensor_counts[0]};
            tensors[set][r] = (sbn_tensors){.size = sizeof(sbn_tensors),
                                            .buffers = tensor_buffers[set][r]};
        }
    GROUP_WITH(queues, .replicas = REPLICAS); /* keeps the programs */
    arguments_finish();
}

void arguments_finish(void)
{
    for (size_t r = 0; r < REPLICAS; ++r)
        must(clFinish(queues[r]), "clFinish");
}

struct _cl_command_queue *const *any_queues(fuzz_input *in, size_t *count)
{
    static cl_command_queue wrong[REPLICAS];
    const uint8_t choice = fuzz_byte(in);
    *count = choice % 16 == 15 ? 0 : choice % REPLICAS + 1;
    if (choice >= 250)
        return NULL;
    if (choice < 240)
        return queues;
    memcpy(wrong, queues, sizeof wrong);
    wrong[choice % REPLICAS] = NULL;
    return wrong;
}

/* --- handles ----------------------------------------------------------------------------- */

void *any_handle(fuzz_input *in, handle_kind kind)
{
    static long none[8];
    const uint8_t choice = fuzz_byte(in);
    if (choice >= 252)
        return none;
    if (choice >= 248)
        kind = (handle_kind)(choice % HANDLE_KINDS);
    const size_t count = made_count[kind];
    return count > 0 && choice >= 8 ? made[kind][count - 1 - choice % SLOTS % count] : NULL;
}

void handle_made(handle_kind kind, void *handle)
{
    if (made_count[kind] < MADE)
        made[kind][made_count[kind]++] = handle;
}

void handles_end(int (*destroy)(handle_kind kind, void *handle))
{
    static const handle_kind order[] = {PASS,  EXCHANGE, CHECKPOINT, MODEL,
                                        SAVED, LAYER,    PARALLEL,   GROUP};
    for (size_t i = 0; i < HANDLE_KINDS; ++i)
        while (made_count[order[i]] > 0)
            destroy(order[i], made[order[i]][--made_count[order[i]]]);
}

/* --- values -------------------------------------------------------------------------------- */

size_t any_size(fuzz_input *in, size_t right)
{
    const size_t wrong[] = {0, 8, right - 8, right + 1, right + 8, 4104, SIZE_MAX};
    const uint8_t choice = fuzz_byte(in);
    return choice < 249 ? right : wrong[choice - 249];
}

int any_number(fuzz_input *in, int right)
{
    const uint8_t choice = fuzz_byte(in);
    return choice < 224 ? right : choice < 240 ? choice - 230 : (int)fuzz_word(in);
}

const char *any_name(fuzz_input *in)
{
    static const char *const names[] = {"1", "4.1", "", "a", "\xff", "a\nb", NULL};
    return names[fuzz_byte(in) % 7];
}

sbn_buffer any_buffer(fuzz_input *in)
{
    static const size_t offsets[] = {0, 1, 3, 64, 1000, SIZE_MAX, SIZE_MAX / 4, SIZE_MAX / 8};
    const uint8_t choice = fuzz_byte(in);
    const size_t offset = offsets[fuzz_byte(in) % 64 < 56 ? 0 : fuzz_byte(in) % 8];
    return (sbn_buffer){choice < 16 ? NULL : buffers[choice % BUFFERS], offset};
}

static size_t any_extent(fuzz_input *in)
{
    static const size_t extents[] = {0, 5, 65536, (size_t)1 << 32, (size_t)1 << 60, SIZE_MAX};
    const uint8_t choice = fuzz_byte(in);
    return choice < 240 ? 1u + choice % 4 : extents[choice % 6];
}

/* --- structs -------------------------------------------------------------------------------- */

const void *structs_of_size(const void *each, size_t count, size_t known, size_t size)
{
    static _Alignas(16) unsigned char area[REPLICAS * SBN_STRUCT_LIMIT];
    const size_t step = sbn__struct_size_is_possible(size) ? size : known;
    memset(area, 0, sizeof area);
    for (size_t r = 0; r < count; ++r) {
        memcpy(area + r * step, (const unsigned char *)each + r * known,
               step < known ? step : known);
        memcpy(area + r * step, &size, sizeof size);
    }
    return area;
}

const sbn_shard *any_shards(fuzz_input *in)
{
    sbn_shard shards[REPLICAS];
    const size_t size = any_size(in, sizeof *shards);
    if (fuzz_byte(in) >= 254)
        return NULL;
    for (size_t r = 0; r < REPLICAS; ++r) {
        sbn_shard *s = &shards[r];
        must(sbn_shard_init(s, sizeof *s), "sbn_shard_init");
        s->dims = any_number(in, 3);
        s->shape[0] = any_extent(in);
        s->shape[1] = any_number(in, CHANNELS) == CHANNELS ? CHANNELS : any_extent(in);
        for (int i = 2; i < 5; ++i)
            s->shape[i] = any_extent(in);
        sbn_buffer *const all[] = {&s->x,      &s->y,    &s->dy,          &s->dx,
                                   &s->weight, &s->bias, &s->weight_grad, &s->bias_grad};
        /* Buffers of their own, of right sizes, where nothing else is asked for. */
        const uint8_t choice = fuzz_byte(in);
        /* Sizes in memory of the host are not checked. */
        s->memory = (sbn_memory)(choice == 255 ? 2 : 0);
        for (size_t i = 0; i < 8; ++i)
            *all[i] = choice < 200 ? (sbn_buffer){buffers[i < 4 ? 5 : 6], 300 * r + 70 * i}
                                   : any_buffer(in);
    }
    return structs_of_size(shards, REPLICAS, sizeof *shards, size);
}

const sbn_parameters *any_parameters(fuzz_input *in)
{
    sbn_parameters parameters[REPLICAS];
    const size_t size = any_size(in, sizeof *parameters);
    const uint8_t choice = fuzz_byte(in);
    if (choice >= 240)
        return NULL;
    for (size_t r = 0; r < REPLICAS; ++r) {
        parameters[r] = (sbn_parameters)SBN_PARAMETERS_INIT;
        parameters[r].weight = choice < 200 ? (sbn_buffer){buffers[7], 20 * r} : any_buffer(in);
        parameters[r].bias = choice < 200 ? (sbn_buffer){buffers[7], 20 * r + 8} : any_buffer(in);
    }
    return structs_of_size(parameters, REPLICAS, sizeof *parameters, size);
}

const sbn_folding *any_foldings(fuzz_input *in)
{
    sbn_folding foldings[REPLICAS];
    const size_t size = any_size(in, sizeof *foldings);
    const uint8_t choice = fuzz_byte(in);
    if (choice >= 254)
        return NULL;
    for (size_t r = 0; r < REPLICAS; ++r) {
        sbn_folding *f = &foldings[r];
        *f = (sbn_folding)SBN_FOLDING_INIT;
        f->outer = any_extent(in);
        f->inner = any_extent(in);
        sbn_buffer *const all[] = {&f->weight,    &f->bias,          &f->norm_weight,
                                   &f->norm_bias, &f->folded_weight, &f->folded_bias};
        for (size_t i = 0; i < 6; ++i)
            *all[i] = choice < 200 ? (sbn_buffer){buffers[5], 300 * r + 70 * (i % 4) + i / 4 * 35}
                                   : any_buffer(in);
    }
    return structs_of_size(foldings, REPLICAS, sizeof *foldings, size);
}

const sbn_tensors *any_tensors(fuzz_input *in)
{
    const uint8_t choice = fuzz_byte(in);
    return choice < 250 ? tensors[choice % 2] : NULL;
}
