/*
 * A program with declarations of its own, as if it were compiled against another version of
 * <syncbn.h>. Compiled three times: GROWTH is -1 for structs with fewer fields than the present
 * ones, 0 for the present ones, 1 for structs with more fields.
 */
#include "pass/growth.h"
#include "pass/growth_declarations.h"

#include <string.h>

#if GROWTH < 0
#define NAME growth_older
#elif GROWTH == 0
#define NAME growth_current
#else
#define NAME growth_newer
#endif

/* Objects and structs of the work, made once. */
typedef struct work {
    const growth_setup *setup;
    growth_outcome *out;
    void *hub, *group, *layer, *tracking, *saved, *other, *parallel, *model;
    transport_table table;
    group_config group_config;
    batchnorm_config layer_config;
    shard shards[GROWTH_REPLICAS];
    branch branches[2];
    tensors tensors[GROWTH_REPLICAS];
    buffer gradients[GROWTH_REPLICAS];
    data_parallel_config data_parallel_config;
    parameters parameters[GROWTH_REPLICAS];
    folding foldings[GROWTH_REPLICAS];
    sampler sampler;
    load_config load_config;
} work;

/* Keeps the first failure. */
static void good(work *w, int status, const char *call)
{
    if (status == 0 || w->out->failed)
        return;
    w->out->failed = call;
    strncpy(w->out->sentence, sbn_last_error(), sizeof w->out->sentence - 1);
}

static void fill_shards(work *w)
{
    const size_t vector = GROWTH_CHANNELS;
    for (size_t r = 0; r < GROWTH_REPLICAS; ++r) {
        shard *s = &w->shards[r];
        s->size = sizeof *s;
        s->dims = 3;
        s->shape[0] = GROWTH_SAMPLES;
        s->shape[1] = GROWTH_CHANNELS;
        s->shape[2] = GROWTH_PLANE;
        s->x.mem = s->dy.mem = w->setup->x[r];
        s->y.mem = w->setup->y[r];
        s->dx.mem = w->setup->dx[r];
        s->weight.mem = s->bias.mem = w->setup->parameters;
        s->bias.offset = vector;
        s->weight_grad.mem = s->bias_grad.mem = w->setup->gradients;
        s->weight_grad.offset = 2 * vector * r;
        s->bias_grad.offset = (2 * r + 1) * vector;
        w->gradients[r] = s->weight_grad;
        w->tensors[r].size = sizeof *w->tensors;
        w->tensors[r].buffers = &w->gradients[r];
        w->parameters[r].size = sizeof *w->parameters;
        w->parameters[r].weight = s->weight;
        w->parameters[r].bias = s->bias;
    }
}

/* Every replica's "dense layer" of one input: its weights are the gradients' places. */
static void fill_foldings(work *w)
{
    const size_t vector = GROWTH_CHANNELS;
    for (size_t r = 0; r < GROWTH_REPLICAS; ++r) {
        folding *f = &w->foldings[r];
        f->size = sizeof *f;
        f->outer = f->inner = 1;
        f->weight = f->bias = w->shards[r].x;
        f->norm_weight = w->shards[r].weight;
        f->norm_bias = w->shards[r].bias;
        f->folded_weight = f->folded_bias = w->shards[r].dx;
        f->folded_bias.offset = vector;
    }
}

static void open_work(work *w)
{
    w->table.size = sizeof w->table;
    good(w, sbn_hub_create(1, &w->hub), "sbn_hub_create");
    good(w, sbn_hub_transport(w->hub, 0, &w->table), "sbn_hub_transport");
    void *const queues[] = {w->setup->queue, w->setup->queue};
    good(w, sbn_group_config_init(&w->group_config, sizeof w->group_config), "group config");
    w->group_config.queues = queues;
    w->group_config.replicas = GROWTH_REPLICAS;
    w->group_config.transport = &w->table;
    good(w, sbn_group_create(&w->group_config, &w->group), "sbn_group_create");
    good(w, sbn_batchnorm_config_init(&w->layer_config, sizeof w->layer_config), "layer config");
    w->layer_config.channels = GROWTH_CHANNELS;
    good(w, sbn_batchnorm_create(w->group, &w->layer_config, &w->tracking), "a tracking layer");
#if GROWTH >= 0
    /* Fields that an older program lacks are off. */
    w->layer_config.track_running_stats = 0;
#endif
    good(w, sbn_batchnorm_create(w->group, &w->layer_config, &w->layer), "sbn_batchnorm_create");
    good(w, sbn_saved_create(w->layer, &w->saved), "sbn_saved_create");
    good(w, sbn_saved_create(w->layer, &w->other), "sbn_saved_create");
    good(w, sbn_data_parallel_config_init(&w->data_parallel_config, sizeof w->data_parallel_config),
         "data-parallel config");
    good(w, sbn_data_parallel_create(w->group, &w->data_parallel_config, &w->parallel),
         "sbn_data_parallel_create");
    good(w, sbn_model_create(&w->model), "sbn_model_create");
    good(w, sbn_sampler_init(&w->sampler, sizeof w->sampler), "sampler");
    w->sampler.samples = 40;
    w->sampler.replicas = 2;
    w->sampler.replica = 1;
#if GROWTH >= 0
    w->sampler.shuffle = 0;
#endif
    good(w, sbn_load_config_init(&w->load_config, sizeof w->load_config), "load config");
    w->load_config.strict = 0;
}

static void close_work(work *w)
{
    good(w, sbn_model_destroy(w->model), "sbn_model_destroy");
    good(w, sbn_data_parallel_destroy(w->parallel), "sbn_data_parallel_destroy");
    good(w, sbn_saved_destroy(w->saved), "sbn_saved_destroy");
    good(w, sbn_saved_destroy(w->other), "sbn_saved_destroy");
    good(w, sbn_batchnorm_destroy(w->layer), "sbn_batchnorm_destroy");
    good(w, sbn_batchnorm_destroy(w->tracking), "sbn_batchnorm_destroy");
    good(w, sbn_group_destroy(w->group), "sbn_group_destroy");
    sbn_hub_destroy(w->hub);
}

/* Two results side by side, with memory behind them that is not theirs. */
typedef struct guarded {
    result results[2];
    unsigned char beyond[16];
} guarded;

static void check_guarded(work *w, const guarded *g)
{
    for (size_t i = 0; i < sizeof g->beyond; ++i)
        w->out->overwritten |= g->beyond[i] != 0xa5;
#if GROWTH > 0
    for (size_t i = 0; i < 2; ++i)
        w->out->overwritten |= g->results[i].later != 0 || g->results[i].more != NULL;
#endif
}

static void guard(guarded *g)
{
    memset(g, 0xa5, sizeof *g);
    g->results[0].size = g->results[1].size = sizeof *g->results;
}

/* A pass of each kind, and an averaging; all results are arrays or part of one. */
static void train(work *w)
{
    guarded g;
    guard(&g);
    g.results[0].size = g.results[1].size = sizeof *g.results;
    good(w, sbn_forward(w->layer, w->shards, w->saved, 0, g.results), "sbn_forward");
    w->out->count = g.results[0].count;
    w->out->overwritten |= g.results[0].size != sizeof(result);
    good(w, sbn_backward(w->layer, w->shards, w->saved, 0, NULL), "sbn_backward");
    shard more[GROWTH_REPLICAS];
    memcpy(more, w->shards, sizeof more);
    for (size_t r = 0; r < GROWTH_REPLICAS; ++r) {
        more[r].shape[0] = 1;
        more[r].y = w->shards[r].dx; /* of one sample; the branches may not share an output */
        more[r].y.offset = (GROWTH_SAMPLES - 1) * GROWTH_CHANNELS * GROWTH_PLANE;
    }
    for (size_t i = 0; i < 2; ++i) {
        w->branches[i].size = sizeof *w->branches;
        w->branches[i].layer = w->layer;
    }
    w->branches[0].shards = w->shards;
    w->branches[0].saved = w->saved;
    w->branches[1].shards = more;
    w->branches[1].saved = w->other;
    guard(&g);
    good(w, sbn_forward_branches(w->branches, 2, g.results), "sbn_forward_branches");
    w->out->branch_count = g.results[1].count;
    check_guarded(w, &g);
    const size_t counts[] = {2 * GROWTH_CHANNELS};
    good(w, sbn_average_gradients(w->parallel, counts, 1, w->tensors), "sbn_average_gradients");
}

static void read_files(work *w)
{
    struct {
        layer_info info;
        unsigned char beyond[16];
    } g;
    void *checkpoint = NULL;
    good(w, sbn_model_load(w->model, w->setup->checkpoint, &w->load_config), "sbn_model_load");
    good(w, sbn_checkpoint_create(w->setup->checkpoint, &checkpoint), "sbn_checkpoint_create");
    memset(&g, 0xa5, sizeof g);
    g.info.size = sizeof g.info;
    good(w, sbn_checkpoint_layer(checkpoint, 0, &g.info), "sbn_checkpoint_layer");
    w->out->channels = g.info.channels;
    for (size_t i = 0; i < sizeof g.beyond; ++i)
        w->out->overwritten |= g.beyond[i] != 0xa5;
    good(w, sbn_checkpoint_destroy(checkpoint), "sbn_checkpoint_destroy");
    batchnorm_config settings;
    memset(&settings, 0xa5, sizeof settings);
    settings.size = sizeof settings;
    good(w, sbn_batchnorm_settings(w->layer, &settings), "sbn_batchnorm_settings");
    w->out->overwritten |= settings.channels != GROWTH_CHANNELS || settings.affine != 1;
#if GROWTH > 0
    w->out->overwritten |= g.info.later != 0 || settings.later != 0 || settings.more != NULL;
#endif
}

#if GROWTH > 0
/* A later field that is in use: the call must say so, by its size and offset. */
static void refused(work *w, int status, const char *argument)
{
    const char *sentence = sbn_last_error();
    const int rightly = status == INVALID_ARGUMENT && strstr(sentence, argument) &&
                        strstr(sentence, "size: this library's") && strstr(sentence, "at offset");
    w->out->refused += rightly;
    ++w->out->used;
    if (!rightly)
        good(w, -1, argument);
}

#define USED(field, call, argument) \
    do { \
        (field).later = 1; \
        refused(w, call, argument); \
        (field).later = 0; \
    } while (0)

static void use_later_fields(work *w)
{
    const size_t counts[] = {2 * GROWTH_CHANNELS};
    uint64_t sample;
    void *made = NULL;
    void *const queues[] = {w->setup->queue, w->setup->queue};
    w->group_config.queues = queues;
    USED(w->group_config, sbn_group_create(&w->group_config, &made), "config: size");
    USED(w->table, sbn_group_create(&w->group_config, &made), "transport: size");
    USED(w->layer_config, sbn_batchnorm_create(w->group, &w->layer_config, &made), "config: size");
    USED(w->shards[1], sbn_forward(w->layer, w->shards, w->saved, 0, NULL), "shards[1]: size");
    USED(w->branches[1], sbn_forward_branches(w->branches, 2, NULL), "branches[1]: size");
    USED(w->tensors[1], sbn_average_gradients(w->parallel, counts, 1, w->tensors),
         "replicas[1]: size");
    USED(w->data_parallel_config,
         sbn_data_parallel_create(w->group, &w->data_parallel_config, &made), "config: size");
    USED(w->parameters[1], sbn_model_add(w->model, "x", w->tracking, w->parameters),
         "parameters[1]: size");
    USED(w->foldings[0], sbn_batchnorm_fold(w->tracking, w->foldings), "foldings[0]: size");
    USED(w->sampler, sbn_sampler_take(&w->sampler, 0, 1, &sample), "sampler: size");
    USED(w->load_config, sbn_model_load(w->model, w->setup->checkpoint, &w->load_config),
         "config: size");
}
#endif

void NAME(const growth_setup *setup, growth_outcome *outcome)
{
    work w;
    memset(&w, 0, sizeof w);
    memset(outcome, 0, sizeof *outcome);
    w.setup = setup;
    w.out = outcome;
    open_work(&w);
    fill_shards(&w);
    fill_foldings(&w);
    if (!outcome->failed) {
        train(&w);
        good(&w, sbn_sampler_take(&w.sampler, 3, 4, outcome->samples), "sbn_sampler_take");
        good(&w, sbn_model_add(w.model, "a", w.layer, w.parameters), "sbn_model_add");
        read_files(&w);
#if GROWTH >= 0
        good(&w, sbn_batchnorm_fold(w.tracking, w.foldings), "sbn_batchnorm_fold");
#endif
#if GROWTH > 0
        use_later_fields(&w);
#endif
    }
    close_work(&w);
}
