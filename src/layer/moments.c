#include "layer/moments.h"

#include <math.h>

#include "base/memory.h"
#include "program/kernel_constants.h"

sbn_saved_moments *sbn__saved_moments_create(size_t channels, size_t replicas)
{
    sbn_saved_moments *moments = sbn__allocate(sizeof *moments);
    if (!moments)
        return NULL;
    moments->channels = channels;
    moments->replicas = replicas;
    moments->mean = sbn__allocate(sizeof(double) * SBN_MOMENT_ROWS * channels);
    moments->device = sbn__allocate(sizeof *moments->device * replicas);
    if (!moments->mean || !moments->device) {
        sbn__saved_moments_destroy(moments);
        return NULL;
    }
    moments->var = moments->mean + SBN_MOMENT_VAR * channels;
    moments->invstd = moments->mean + SBN_MOMENT_INVSTD * channels;
    return moments;
}

void sbn__saved_moments_destroy(sbn_saved_moments *moments)
{
    if (!moments)
        return;
    for (size_t r = 0; moments->device && r < moments->replicas; ++r)
        sbn__release_buffer(&moments->device[r]);
    sbn__free(moments->device);
    sbn__free(moments->mean);
    sbn__free(moments);
}

int sbn__saved_moments_reserve(sbn_saved_moments *moments, sbn_replica *replica)
{
    return sbn__reserve_kept(replica, &moments->device[replica->index],
                             sizeof(double) * SBN_MOMENT_ROWS * moments->channels);
}

int sbn__coefficients_create(sbn_channel_table *table, sbn_group *group, size_t channels)
{
    return sbn__channel_table_create(table, group->replicas, group->replica_count,
                                     SBN_COEFFICIENT_ROWS, channels, 1);
}

static void write_channel(float *rows, size_t channels, size_t c, double mean, double invstd)
{
    const sbn_double_float m = sbn__split_double(mean);
    rows[SBN_ROW_MEAN_HIGH * channels + c] = m.high;
    rows[SBN_ROW_MEAN_LOW * channels + c] = m.low;
    rows[SBN_ROW_INVSTD * channels + c] = isinf(invstd) ? NAN : (float)invstd;
}

void sbn__coefficients_write(const sbn_channel_table *table, const double *mean,
                             const double *invstd)
{
    if (table->replicas == 0)
        return;
    float *rows = sbn__channel_table_rows(table, 0);
    for (size_t c = 0; c < table->channels; ++c)
        write_channel(rows, table->channels, c, mean[c], invstd[c]);
}

void sbn__coefficients_write_running(const sbn_channel_table *table, const float *mean,
                                     const float *var, sbn_eps eps)
{
    float *rows = sbn__channel_table_rows(table, 0);
    for (size_t c = 0; c < table->channels; ++c)
        write_channel(rows, table->channels, c, mean[c], sbn__invstd(var[c], eps));
}
