/*
 * GPU form: the end of a reduction whose work-groups have channels of their own, of one slice and one
 * replica: with `combines`, step 2 of these channels, without another launch. combine.cl describes the
 * arguments.
 */
#if COMBINES
#define TAIL_ARGUMENTS \
    , uint combines, ulong count, double eps, uint clamps, global float *coefficients, \
        global double *moments, global float *running, uint tracks, double weight, \
        double unbiased, long batches
#define TAIL \
    combine_strip(get_group_id(0) << log2_strip, 1u << log2_strip, channels, partial, wide, \
                  combines, count, eps, clamps, coefficients, moments, running, tracks, weight, \
                  unbiased, batches)

static INLINED void combine_strip(uint first, uint strip, uint channels, global const long *partial,
                          global long *wide, uint combines, ulong count, double eps, uint clamps,
                          global float *coefficients, global double *moments,
                          global float *running, uint tracks, double weight, double unbiased,
                          long batches)
{
    const uint item = get_local_id(0), c = first + item;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (!combines || item >= strip || c >= channels)
        return;
    combine_forward(partial, 1, wide, partial, 0, wide, partial, 0, wide, partial, 0, wide, wide,
                    1, c, c + 1, channels, count, eps, clamps, coefficients, moments);
    if (tracks)
        track(c, 1, channels, moments, running, weight, unbiased);
    if (tracks && c == 0)
        *(global long *)(running + 2 * (ulong)channels) = batches;
}
#else
#define TAIL_ARGUMENTS
#define TAIL
#endif
