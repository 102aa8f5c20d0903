/*
 * Hands a gradient of weight or bias to the caller's buffer:
 * out = sums, or out += sums. One work-item per channel.
 */
kernel void store_gradient(global const float *restrict sums, ulong sums_offset,
                           global float *restrict out, ulong out_offset, uint accumulate)
{
    const uint c = get_global_id(0);
    const float sum = sums[sums_offset + c];
    out[out_offset + c] = accumulate ? out[out_offset + c] + sum : sum;
}
