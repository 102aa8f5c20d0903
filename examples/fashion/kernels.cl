/*
 * What training needs besides CLBlast and syncbn. Images are stored channels
 * last, (image, y, x, channel): then the GEMM of a convolution writes all
 * images of all replicas of a device in one call, each replica's one after
 * the other, and neighbouring work-items take neighbouring channels.
 */

/*
 * What batch norm reads and writes is stored as an `element`: a float, a half or, as the upper half
 * of a float, a bfloat16 (ELEMENT_F16 or ELEMENT_BF16 is defined). Everything is computed in floats.
 */
#if defined ELEMENT_F16
typedef half element;
#define LOAD(at, i) vload_half(i, at)
#define STORE(value, at, i) vstore_half_rte(value, i, at)
#elif defined ELEMENT_BF16
typedef ushort element;
#define LOAD(at, i) as_float((uint)(at)[i] << 16)
#define STORE(value, at, i) ((at)[i] = bfloat_of(value))

/* To the nearest, ties to even; a NaN stays one. */
static ushort bfloat_of(float value)
{
    const uint bits = as_uint(value);

    return isnan(value) ? (ushort)(bits >> 16 | 0x40)
                        : (ushort)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
#else
typedef float element;
#define LOAD(at, i) (at)[i]
#define STORE(value, at, i) ((at)[i] = (value))
#endif

/* Between the floats of a GEMM and what batch norm reads and writes. */
kernel void narrow(global const float *restrict from, global element *restrict to)
{
    const size_t i = get_global_id(0);

    STORE(from[i], to, i);
}

kernel void widen(global const element *restrict from, global float *restrict to)
{
    const size_t i = get_global_id(0);

    to[i] = LOAD(from, i);
}

/* input(i, p) = the p-th pixel of image index(i), brought to mean 0 and spread 1. */
kernel void gather(global const uchar *restrict images, global const uint *restrict index,
                   float mean, float scale, global float *restrict input)
{
    const size_t p = get_global_id(0), pixels = get_global_size(0), i = get_global_id(1);

    input[i * pixels + p] = ((float)images[index[i] * pixels + p] - mean) * scale;
}

/*
 * The 3 x 3 neighbourhood of each pixel as a row of 9 * channels values, zero
 * outside the image: columns(image, y, x, tap, channel). One item per input
 * channel and pixel; dimension 2 is the image.
 */
kernel void im2col(global const float *restrict in, int height, int width, int channels,
                   global float *restrict columns)
{
    const int c = get_global_id(0), x = get_global_id(1) % width, y = get_global_id(1) / width;
    const size_t image = get_global_id(2) * (size_t)(height * width);
    global float *row = columns + (image + y * width + x) * 9 * channels + c;

    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            const int sy = y + dy, sx = x + dx;
            const int inside = sy >= 0 && sy < height && sx >= 0 && sx < width;

            *row = inside ? in[(image + sy * width + sx) * channels + c] : 0.0f;
            row += channels;
        }
    }
}

/* The gradient of im2col: each input value collects from the nine rows it went into. */
kernel void col2im(global const float *restrict d_columns, int height, int width, int channels,
                   global float *restrict d_in)
{
    const int c = get_global_id(0), x = get_global_id(1) % width, y = get_global_id(1) / width;
    const size_t image = get_global_id(2) * (size_t)(height * width);
    float sum = 0.0f;

    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            const int ry = y - dy, rx = x - dx, tap = 3 * (dy + 1) + dx + 1;

            if (ry >= 0 && ry < height && rx >= 0 && rx < width)
                sum += d_columns[((image + ry * width + rx) * 9 + tap) * channels + c];
        }
    }
    d_in[(image + y * width + x) * channels + c] = sum;
}

/* y(row, c) = the larger of 0 and x(row, c) + bias(offset + c) */
kernel void bias_relu(global const float *restrict x, global const float *restrict bias, int offset,
                      global element *restrict y)
{
    const size_t c = get_global_id(0), at = get_global_id(1) * get_global_size(0) + c;

    STORE(fmax(x[at] + bias[offset + c], 0.0f), y, at);
}

/*
 * out = the largest y, none of which is below 0, over a window of pool x pool; pool
 * 1 makes floats of them. `width` is y's. One item per channel and window; dimension
 * 2 is the image with its rows of windows.
 */
kernel void max_pool(global const element *restrict y, int width, int pool,
                     global float *restrict out)
{
    const size_t c = get_global_id(0), channels = get_global_size(0);
    const size_t x = get_global_id(1), windows = get_global_size(1), row = get_global_id(2);
    float best = 0.0f;

    for (int j = 0; j < pool; ++j)
        for (int i = 0; i < pool; ++i)
            best = fmax(best, LOAD(y, ((row * pool + j) * width + x * pool + i) * channels + c));
    out[(row * windows + x) * channels + c] = best;
}

/* Its gradient: to the first value that is the largest. */
kernel void max_pool_grad(global const element *restrict y, global const float *restrict out,
                          global const float *restrict d_out, int width, int pool,
                          global element *restrict d_y)
{
    const size_t c = get_global_id(0), channels = get_global_size(0);
    const size_t x = get_global_id(1), windows = get_global_size(1), row = get_global_id(2);
    const size_t at = (row * windows + x) * channels + c;
    const float best = out[at];
    float rest = d_out[at];

    for (int j = 0; j < pool; ++j) {
        for (int i = 0; i < pool; ++i) {
            const size_t k = ((row * pool + j) * width + x * pool + i) * channels + c;
            const int hit = LOAD(y, k) == best;

            STORE(hit ? rest : 0.0f, d_y, k);
            rest = hit ? 0.0f : rest;
        }
    }
}

/*
 * Softmax and cross-entropy of one image per item: result(i) = its loss, and 1
 * or 0 for a right or wrong answer. d_logits is the gradient of the loss times
 * `scale`, one over the images of all replicas, so that gradients are added up.
 */
kernel void softmax_loss(global const float *restrict logits, global const uchar *restrict labels,
                         global const uint *restrict index, int classes, float scale,
                         global float *restrict d_logits, global float2 *restrict result)
{
    const size_t i = get_global_id(0);
    const int label = labels[index[i]];
    global const float *in = logits + i * classes;
    global float *d = d_logits + i * classes;
    float sum = 0.0f;
    int best = 0;

    for (int k = 1; k < classes; ++k)
        best = in[k] > in[best] ? k : best;
    for (int k = 0; k < classes; ++k)
        sum += exp(in[k] - in[best]);
    for (int k = 0; k < classes; ++k)
        d[k] = (exp(in[k] - in[best]) / sum - (k == label ? 1.0f : 0.0f)) * scale;
    result[i] = (float2)(log(sum) + in[best] - in[label], best == label ? 1.0f : 0.0f);
}

/* to(k) = the sum of column k over `rows` rows, one row per replica. */
kernel void sum_rows(global const float *restrict from, int rows, int offset,
                     global float *restrict to)
{
    const size_t k = get_global_id(0), width = get_global_size(0);
    float sum = 0.0f;

    for (int r = 0; r < rows; ++r)
        sum += from[r * width + k];
    to[offset + k] = sum;
}

/*
 * Stochastic gradient descent with momentum: v = momentum v + g, w = w - rate v.
 * In explicit fma: left to themselves compilers would round differently, and
 * the parameters of devices of several makers would drift apart.
 */
kernel void sgd(global const float *restrict gradient, float rate, float momentum,
                global float *restrict velocity, global float *restrict parameter)
{
    const size_t k = get_global_id(0);
    const float v = fma(momentum, velocity[k], gradient[k]);

    velocity[k] = v;
    parameter[k] = fma(-rate, v, parameter[k]);
}
