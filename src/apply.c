#include "apply.h"

int sbn_launch_apply(sbn_replica *replica, sbn_kernel kernels[SBN_WALKS], const sbn_geometry *g,
                     sbn_argument *arguments, size_t count, const sbn_wait *wait, cl_event *event)
{
    const sbn_tiles tiles = sbn_tiles_of(g, replica);
    const cl_uint channels = (cl_uint)g->channels;
    const cl_uint plane = g->layout == SBN_CHANNELS_FIRST ? (cl_uint)g->plane : 1;
    const sbn_argument walk[SBN_WALK_ARGUMENTS] = {
        SBN_ARG(channels),        SBN_ARG(plane),        SBN_ARG(tiles.length),
        SBN_ARG(tiles.per_group), SBN_ARG(tiles.stream),
    };
    for (size_t i = 0; i < SBN_WALK_ARGUMENTS; ++i)
        arguments[count + i] = walk[i];
    return sbn_launch(replica, &kernels[tiles.walk], arguments, count + SBN_WALK_ARGUMENTS,
                      tiles.dimensions, tiles.groups, wait, event);
}
