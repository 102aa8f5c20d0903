/*
 * Adds the slices of step 1: words[i] = sum over s of partial[s * total + i],
 * a channel's last word, its flags, by or. One work-item per word:
 * global size (words per channel, channels). Integer sums: any order will do.
 */
kernel void fold(global const long *restrict partial, uint slices, global long *restrict words)
{
    const uint k = get_global_id(0), per_channel = get_global_size(0);
    const ulong total = (ulong)per_channel * get_global_size(1);
    const ulong i = (ulong)get_global_id(1) * per_channel + k;
    long sum = 0, flags = 0;
    for (uint s = 0; s < slices; ++s) {
        sum += partial[s * total + i];
        flags |= partial[s * total + i];
    }
    words[i] = k + 1 == per_channel ? flags : sum;
}
