/*
 * Step 3 of the backward pass, both forms: what is fused into it (fusion.cl), and the arguments that kernels and
 * functions have for it. BACKWARD_FINISHED is dx, with the gradient of z in the place of dy; that of the residual is
 * stored besides. z is p (x - mean) + b, as p is the forward pass's a.
 *
 * From the output (inversion.cl) x is y, INVERTED to z, and what stands for the mean is the bias.
 */
#if FROM_OUTPUT
#define BACKWARD_MEAN(total, c) (affine ? fusion->bias[c] : 0.0f)
#define INVERTED(y) inverted(y, fusion->slope_inverse)
#else
#define BACKWARD_MEAN(total, c) coefficients[table_row(ROW_MEAN_HIGH, total) + c]
#define INVERTED(x) x
#endif

/* The forward pass's b, where z is computed again. */
#if RECOMPUTES
#define BACKWARD_B(total, c, p) \
    forward_shift(coefficients, fusion->bias, affine, 0, total, c, p)
#else
#define BACKWARD_B(total, c, p) 0.0f
#endif

/* What four elements at once need to be multiples of 4. */
#if RESIDUAL
#define BACKWARD_FUSION_OFFSET ((has_residual_grad ? residual_grad_offset : 0) | mask_padding)
#else
#define BACKWARD_FUSION_OFFSET 0
#endif

#if FUSED_BACKWARD
typedef struct backward_fusion {
    float slope;
#if FROM_OUTPUT
    float slope_inverse;
#endif
    global const float *bias; /* of the run's first channel */
    global stored *residual_grad;
    uint has_residual_grad; /* 2: over dy */
    mask_of mask;
    uint is_fixed;      /* the statistics are constants: dx = p dy */
    uint only_gradient; /* dx is not wanted: in its place is the gradient of the residual */
    ulong run;          /* where the run that a function is given begins in the tensor */
} backward_fusion;

#define BACKWARD_FUSION_PARAMETERS , PARAMETERS(BACKWARD_FUSION_ARGUMENTS)
#define BACKWARD_FUSION_OF(run, first) \
    const backward_fusion own_fusion = { \
        SLOPES(slope), biases + bias_offset + (first), residual_grad + residual_grad_offset, \
        has_residual_grad, {mask, mask_row, mask_reciprocal, mask_padding}, is_fixed, \
        only_gradient, run}; \
    private const backward_fusion *fusion = &own_fusion;
#define BACKWARD_FUSION , private const backward_fusion *fusion
#define OWN_FUSION , fusion

/* The gradient of z. */
static real gradient_of(real x, real dy, real mean, real p, real b,
                        private const backward_fusion *fusion, ulong place)
{
#if RECOMPUTES
    return activated(dy, passes(fma(p, x - mean, b)), fusion->slope);
#elif MASKED
    return activated(dy, load_mask(&fusion->mask, place), fusion->slope);
#elif ACTIVATES
    return activated(dy, is_above(x), fusion->slope);
#else
    return dy;
#endif
}

#if RESIDUAL
/* Over dy, without an activation, it is there already, except for what plus_zero changes. */
static bool stores_residual_grad(real gradient, private const backward_fusion *fusion)
{
#if !ACTIVATES
    if (fusion->has_residual_grad == 2)
        return ANY(MASK(AS(int, plus_zero(gradient)) != AS(int, gradient)));
#endif
    return fusion->has_residual_grad;
}
#endif

/* dx, from the gradient of z. */
static real dx_of(real x, real gradient, real mean, real g, real p, real q, real r,
                  private const backward_fusion *fusion)
{
    if (fusion->only_gradient)
        return plus_zero(gradient);
    return fusion->is_fixed ? plus_zero(p * gradient)
                            : backward_value(INVERTED(x), gradient, mean, g, p, q, r);
}

/* The `count` elements from i of the run on, one in the GPU form. */
static real backward_finished(real x, real dy, real mean, real g, real p, real q, real r, real b,
                              private const backward_fusion *fusion, ulong i, uint count,
                              uint non_temporal)
{
    const ulong place = fusion->run + i;
    const real gradient = gradient_of(x, dy, mean, p, b, fusion, place);
#if RESIDUAL
    if (stores_residual_grad(gradient, fusion)) {
#if CPU_FORM
        global stored *out = fusion->residual_grad + place;
        store_result(plus_zero(gradient), out, count, is_non_temporal(out, non_temporal));
#else
        store_element(plus_zero(gradient), fusion->residual_grad, place);
#endif
    }
#endif
    return dx_of(x, gradient, mean, g, p, q, r, fusion);
}
#define BACKWARD_FINISHED(x, dy, mean, g, p, q, r, b, i, count) \
    backward_finished(x, dy, mean, g, p, q, r, b, fusion, i, count, non_temporal)

#if !CPU_FORM
/* Four elements from i of the run on, where four can be loaded at once: their word of the mask ... */
#if MASKED
#define PASSED_FOUR(i) fusion->mask.words[(fusion->run + (i)) >> LOG2_MASK_BITS]
#define GRADIENT_OF(k, x, dy, mean, p, b) \
    activated(dy, MASK((passed & 1u << (k)) != 0), fusion->slope)
#else
#define PASSED_FOUR(i) 0
#define GRADIENT_OF(k, x, dy, mean, p, b) gradient_of(x, dy, mean, p, b, fusion, place + (k))
#endif

/* ... and dx. */
static float4 backward_finished_four(float4 x, float4 dy, uint passed, float4 mean, float4 g,
                                     float4 p, float4 q, float4 r, float4 b,
                                     private const backward_fusion *fusion, ulong i)
{
    const ulong place = fusion->run + i;
    const float4 gradient = (float4)(GRADIENT_OF(0, x.x, dy.x, mean.x, p.x, b.x),
                                     GRADIENT_OF(1, x.y, dy.y, mean.y, p.y, b.y),
                                     GRADIENT_OF(2, x.z, dy.z, mean.z, p.z, b.z),
                                     GRADIENT_OF(3, x.w, dy.w, mean.w, p.w, b.w));
#if RESIDUAL
    if (stores_residual_grad(gradient.x, fusion) || stores_residual_grad(gradient.y, fusion) ||
        stores_residual_grad(gradient.z, fusion) || stores_residual_grad(gradient.w, fusion))
        store_four(four_plus_zero(gradient), fusion->residual_grad, place);
#endif
    /* Once for four, as a compiler may choose for each. */
    if (fusion->is_fixed | fusion->only_gradient) {
        const float4 scale = fusion->only_gradient ? (float4)1.0f : p;
        return (float4)(plus_zero(scale.x * gradient.x), plus_zero(scale.y * gradient.y),
                        plus_zero(scale.z * gradient.z), plus_zero(scale.w * gradient.w));
    }
    return (float4)(backward_value(INVERTED(x.x), gradient.x, mean.x, g.x, p.x, q.x, r.x),
                    backward_value(INVERTED(x.y), gradient.y, mean.y, g.y, p.y, q.y, r.y),
                    backward_value(INVERTED(x.z), gradient.z, mean.z, g.z, p.z, q.z, r.z),
                    backward_value(INVERTED(x.w), gradient.w, mean.w, g.w, p.w, q.w, r.w));
}
#define BACKWARD_FINISHED_FOUR(x, dy, passed, mean, g, p, q, r, b, i) \
    backward_finished_four(x, dy, passed, mean, g, p, q, r, b, fusion, i)
#endif

#else
#define BACKWARD_FUSION_PARAMETERS
#define BACKWARD_FUSION_OF(run, first)
#define BACKWARD_FUSION
#define OWN_FUSION
#define BACKWARD_FINISHED(x, dy, mean, g, p, q, r, b, i, count) \
    backward_value(x, dy, mean, g, p, q, r)
#define PASSED_FOUR(i) 0
#define BACKWARD_FINISHED_FOUR(x, dy, passed, mean, g, p, q, r, b, i) \
    backward_four(x, dy, mean, g, p, q, r)
#endif
