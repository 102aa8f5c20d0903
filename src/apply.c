#include "apply.h"

int sbn_launch_apply(sbn_replica *replica, sbn_kernel kernels[SBN_LAYOUTS], const sbn_geometry *g,
                     sbn_argument *arguments, size_t count, const sbn_wait *wait, cl_event *event)
{
    const sbn_tiles tiles = sbn_tiles_of(g, replica);
    const cl_uint samples = (cl_uint)g->samples, channels = (cl_uint)g->channels;
    const cl_uint plane = (cl_uint)g->plane;
    const cl_ulong rows = g->values;
    const sbn_argument in_planes[] = {SBN_ARG(samples), SBN_ARG(channels), SBN_ARG(plane),
                                      SBN_ARG(tiles.chunk), SBN_ARG(tiles.channels_per_group)};
    const sbn_argument in_rows[] = {SBN_ARG(channels), SBN_ARG(rows), SBN_ARG(tiles.rows_per_tile)};
    const int first = g->layout == SBN_CHANNELS_FIRST;
    const sbn_argument *walk = first ? in_planes : in_rows;
    const size_t walking = first ? 5 : 3;
    for (size_t i = 0; i < walking; ++i)
        arguments[count + i] = walk[i];
    return sbn_launch(replica, &kernels[g->layout], arguments, count + walking, first ? 3 : 1,
                      tiles.groups, wait, event);
}
