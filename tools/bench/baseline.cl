/*
 * The kernels that most OpenCL libraries have: channels first, one work-group
 * of 256 to a channel with a tree in local memory, var = E[x^2] - mean^2, then
 * a kernel with an item to an element.
 */
#define BASELINE_GROUP 256
#define BASELINE_KERNEL kernel __attribute__((reqd_work_group_size(BASELINE_GROUP, 1, 1))) void

/* Adds all items' pairs of sums; every item gets them. */
static float2 baseline_tree(float2 mine, local float2 *pairs)
{
    const uint l = get_local_id(0);
    pairs[l] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = BASELINE_GROUP / 2; step > 0; step /= 2) {
        if (l < step)
            pairs[l] += pairs[l + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return pairs[0];
}

BASELINE_KERNEL baseline_forward(global const float *restrict x, ulong samples, ulong channels,
                                 ulong plane, float eps, global float *restrict saved)
{
    local float2 pairs[BASELINE_GROUP];
    const ulong c = get_group_id(0), n = samples * plane;
    float2 sums = 0;
    for (ulong i = get_local_id(0); i < n; i += BASELINE_GROUP) {
        const float v = x[(i / plane * channels + c) * plane + i % plane];
        sums += (float2)(v, v * v);
    }
    sums = baseline_tree(sums, pairs) / n;
    if (get_local_id(0) == 0) {
        saved[c] = sums.x;
        saved[channels + c] = rsqrt(max(sums.y - sums.x * sums.x, 0.0f) + eps);
    }
}

kernel void baseline_y(global const float *restrict x, global const float *restrict saved,
                       global const float *restrict weight, global const float *restrict bias,
                       int affine, ulong channels, ulong plane, ulong elements,
                       global float *restrict y)
{
    const ulong i = get_global_id(0);
    if (i < elements) {
        const ulong c = i / plane % channels;
        const float xhat = (x[i] - saved[c]) * saved[channels + c];
        y[i] = affine ? weight[c] * xhat + bias[c] : xhat;
    }
}

BASELINE_KERNEL baseline_backward(global const float *restrict x, global const float *restrict dy,
                                  global const float *restrict saved, ulong samples,
                                  ulong channels, ulong plane, global float *restrict weight_grad,
                                  global float *restrict bias_grad)
{
    local float2 pairs[BASELINE_GROUP];
    const ulong c = get_group_id(0), n = samples * plane;
    const float mean = saved[c], invstd = saved[channels + c];
    float2 sums = 0;
    for (ulong i = get_local_id(0); i < n; i += BASELINE_GROUP) {
        const ulong at = (i / plane * channels + c) * plane + i % plane;
        sums += (float2)(dy[at], dy[at] * (x[at] - mean) * invstd);
    }
    sums = baseline_tree(sums, pairs);
    if (get_local_id(0) == 0) {
        bias_grad[c] = sums.x;
        weight_grad[c] = sums.y;
    }
}

kernel void baseline_dx(global const float *restrict x, global const float *restrict dy,
                        global const float *restrict saved, global const float *restrict weight,
                        global const float *restrict weight_grad,
                        global const float *restrict bias_grad, int affine, ulong samples,
                        ulong channels, ulong plane, ulong elements, global float *restrict dx)
{
    const ulong i = get_global_id(0);
    if (i < elements) {
        const ulong c = i / plane % channels;
        const float n = samples * plane, invstd = saved[channels + c];
        const float xhat = (x[i] - saved[c]) * invstd;
        dx[i] = (affine ? weight[c] : 1) * invstd *
                (dy[i] - bias_grad[c] / n - xhat * weight_grad[c] / n);
    }
}
