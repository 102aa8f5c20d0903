/*
 * What follows a batch norm, in passes of their own: the residual's addition and a leaky ReLU, whose
 * slope is 0 for a ReLU.
 */
kernel void separate_add(global const float *restrict residual, global float *restrict y, ulong n,
                         ulong strip)
{
    WALK_STRIP(STORE(LOAD(y + i) + LOAD(residual + i), y + i), y[i] += residual[i])
}

#define SEPARATE_LEAKY(v) ((v) > 0 ? (v) : (v)*slope)

kernel void separate_activation(global float *restrict y, float slope, ulong n, ulong strip)
{
    WALK_STRIP(STORE(SEPARATE_LEAKY(LOAD(y + i)), y + i), y[i] = SEPARATE_LEAKY(y[i]))
}

/* dy behind the activation of which y is the result. */
#define SEPARATE_GRADIENT(y, dy) ((y) > 0 ? (dy) : (dy)*slope)

kernel void separate_gradient(global const float *restrict y, global const float *restrict dy,
                              float slope, global float *restrict behind, ulong n, ulong strip)
{
    WALK_STREAM(behind, SEPARATE_GRADIENT(LOAD(y + i), LOAD(dy + i)),
                behind[i] = SEPARATE_GRADIENT(y[i], dy[i]))
}
