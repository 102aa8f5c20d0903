/*
 * CPU form, step 1 of the backward pass: the elements that are summed, dy, or the gradient of z if
 * the layer has an activation (fusion.cl), and x, or y in its place (inversion.cl).
 */
typedef struct pass_tensors {
    global const stored *summed, *summed_end; /* dy */
    ulong summed_gap, row;
    global const stored *x, *x_end;
    ulong x_gap;
    global const float *means; /* upper floats */
#if FUSED_SUMS
    activation_of activation;
#endif
} pass_tensors;

/* As in elements_forward.cl. */
#define TENSOR_PARAMETERS PARAMETERS(BACKWARD_REDUCE_ARGUMENTS) ACTIVATION_PARAMETERS
#define PASS_TENSORS(row, rows) \
    {dy + dy_offset, tensor_end(dy + dy_offset, dy_gap, row, rows), dy_gap, \
     (dy_gap | x_gap) != 0 ? (row) : 0, \
     x + x_offset, tensor_end(x + x_offset, x_gap, row, rows), x_gap, \
     coefficients ACTIVATION_OF(channels)}

static void pass_skip(private pass_tensors *tensors, ulong rows)
{
    tensors->summed += rows * tensors->summed_gap;
    tensors->x += rows * tensors->x_gap;
}

/* The place takes the gaps of dy along, except where it is that of a mask, too. */
static void pass_advance(private pass_tensors *tensors, private ulong *at, ulong rows, uint stride)
{
#if MASKED
    *at += rows * stride;
    pass_skip(tensors, rows);
#else
    *at += rows * (stride + tensors->summed_gap);
    tensors->x += (long)rows * ((long)tensors->x_gap - (long)tensors->summed_gap);
#endif
}

static bool pass_inside(private const pass_tensors *tensors, ulong at, uint rows, uint stride)
{
    return tensors->summed + at + (rows - 1) * (stride + tensors->summed_gap) + WIDTH <=
               tensors->summed_end &&
           tensors->x + at + (rows - 1) * (stride + tensors->x_gap) + WIDTH <= tensors->x_end;
}

/*
 * The mean of a channel, and the line by which z is computed again, or x - mean from z, where a is 1
 * over it; or those of WIDTH channels.
 */
#if RECOMPUTES || FROM_OUTPUT
typedef struct pass_line {
    real mean, a, b;
} pass_line;
#define pass_mean(line) ((line).mean)

/* a and b of a channel. */
static void a_and_b_of(private const pass_tensors *tensors, uint c, private float *a,
                       private float *b)
{
    private const activation_of *of = &tensors->activation;
    *a = forward_scale(tensors->means, of->weight, of->affine, of->total, c);
    *b = forward_shift(tensors->means, of->bias, of->affine, 0, of->total, c, *a);
#if FROM_OUTPUT
    *a = inverse_of(*a);
#endif
}
#else
typedef real pass_line;
#define pass_mean(line) (line)
#endif

/* The functions below: as in elements_forward.cl. */
static void pass_line_of(private const pass_tensors *tensors, uint c, private pass_line *line)
{
    pass_mean(*line) = tensors->means[c];
#if RECOMPUTES || FROM_OUTPUT
    float a, b;
    a_and_b_of(tensors, c, &a, &b);
    line->a = a;
    line->b = b;
#endif
}

static void pass_lines_of(private const pass_tensors *tensors, uint c, uint channels,
                          private pass_line *line)
{
    float means[WIDTH], as[WIDTH], bs[WIDTH];
    for (uint j = 0; j < WIDTH; ++j) {
        const uint own = min(c + j, channels - 1);
        means[j] = tensors->means[own];
#if RECOMPUTES || FROM_OUTPUT
        a_and_b_of(tensors, own, as + j, bs + j);
#endif
    }
    pass_mean(*line) = vload16(0, means);
#if RECOMPUTES || FROM_OUTPUT
    line->a = vload16(0, as);
    line->b = vload16(0, bs);
#endif
}

/* x - mean. */
static real centred(private const pass_tensors *tensors, real x, pass_line line)
{
#if FROM_OUTPUT
    return (inverted(x, tensors->activation.slope_inverse) - line.b) * line.a;
#else
    return x - pass_mean(line);
#endif
}

static real centred_edge(private const pass_tensors *tensors, ulong place, uint i, uint n,
                         pass_line line)
{
#if FROM_OUTPUT
    const real y = load_edge(tensors->x + place, i, n, tensors->x_end, 0.0f);
    return zero_where(centred(tensors, y, line), EACH + i >= n);
#else
    const float mean = pass_mean(line).s0;
    return load_edge(tensors->x + place, i, n, tensors->x_end, mean) - mean;
#endif
}

/* The gradient of z. x is read only where its sign, or z, is. */
static real summed_gradient(private const pass_tensors *tensors, real dy, real x, ulong place,
                            pass_line line)
{
#if RECOMPUTES
    return activated(dy, passes(fma(line.a, x - line.mean, line.b)), tensors->activation.slope);
#elif MASKED
    return activated(dy, load_mask(&tensors->activation.mask, place), tensors->activation.slope);
#elif ACTIVATES
    return activated(dy, is_above(x), tensors->activation.slope);
#else
    return dy;
#endif
}

static real pass_summed(private const pass_tensors *tensors, ulong place, pass_line line)
{
    return summed_gradient(tensors, load_elements(tensors->summed + place),
                           load_elements(tensors->x + place), place, line);
}

static real pass_summed_edge(private const pass_tensors *tensors, ulong place, uint i,
                             uint n, float fill, pass_line line)
{
    const real dy = load_edge(tensors->summed + place, i, n, tensors->summed_end, fill);
#if ACTIVATES
    const real x = load_edge(tensors->x + place, i, n, tensors->x_end, 0.0f);
    return select((real)fill, summed_gradient(tensors, dy, x, place + i, line), EACH + i < n);
#else
    return dy;
#endif
}

static real pass_summed_row(private const pass_tensors *tensors, ulong place, pass_line line)
{
    return summed_gradient(tensors, load_row(tensors->summed + place, tensors->summed_end),
                           load_row(tensors->x + place, tensors->x_end), place, line);
}
