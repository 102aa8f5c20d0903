/*
 * y = x, float by float whatever the floats hold, in the ways that a device may be fast at. An item
 * copies one element (copy_plain) or a strip of `strip` elements, in vectors;
 * a strip's first vector starts at a whole multiple of its size when y does.
 */
kernel void copy_plain(global const float *restrict x, global float *restrict y,
                       ulong n, ulong strip)
{
    const size_t i = get_global_id(0);
    if (i < n)
        y[i] = x[i];
}

kernel void copy_vector(global const float *restrict x, global float *restrict y,
                        ulong n, ulong strip)
{
    WALK_STRIP(STORE(LOAD(x + i), y + i), y[i] = x[i])
}

#ifdef HAS_STREAM
kernel void copy_stream(global const float *restrict x, global float *restrict y,
                        ulong n, ulong strip)
{
    WALK_STREAM(y, LOAD(x + i), y[i] = x[i])
}
#endif
