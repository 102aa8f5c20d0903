#include "layer/coefficients.h"

#include <math.h>

#include "program/kernel_constants.h"

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
