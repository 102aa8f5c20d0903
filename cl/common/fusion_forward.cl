/*
 * Step 3 of the forward pass, both forms: what is fused into it (fusion.cl), and the arguments that
 * kernels and functions have for it. FINISHED is y, from what batch norm has made of x.
 */
/* What four elements at once need to be multiples of 4. */
#if RESIDUAL
#define FORWARD_FUSION_OFFSET (residual_offset | mask_padding)
#else
#define FORWARD_FUSION_OFFSET 0
#endif

#if FUSED
typedef struct forward_fusion {
    float slope;
    global const stored *residual; /* of the tensor's first element */
    mask_of mask;
    uint keeps_mask;
    ulong run; /* where the run that a function is given begins in the tensor */
} forward_fusion;

#define FORWARD_FUSION_PARAMETERS , PARAMETERS(FORWARD_FUSION_ARGUMENTS)
#define FORWARD_FUSION_OF(run) \
    const forward_fusion own_fusion = { \
        slope, residual + residual_offset, {mask, mask_row, mask_reciprocal, mask_padding}, \
        keeps_mask, run}; \
    private const forward_fusion *fusion = &own_fusion;
#define FORWARD_FUSION , private const forward_fusion *fusion
#define FUSION , fusion

#if CPU_FORM
/* The `count` elements from i of the run on. */
static real finished(real v, private const forward_fusion *fusion, ulong i, uint count)
{
    const ulong place = fusion->run + i;
#if RESIDUAL
    global const stored *residual = fusion->residual + place;
    v += load_edge(residual, 0, count, residual + count, 0.0f);
#endif
#if ACTIVATES
    const ints passed = passes(v);
#if MASKED
    if (fusion->keeps_mask)
        store_mask(passed, &fusion->mask, place);
#endif
    v = activated(v, passed, fusion->slope);
#endif
    return plus_zero(v);
}
#define FINISHED(v, i, count) finished(v, fusion, i, count)

#else
/* Element k of four; sets its bit if the gradient passes. */
static float finished(float v, float residual, float slope, uint k, private uint *bits)
{
#if RESIDUAL
    v += residual;
#endif
#if ACTIVATES
    const int passed = passes(v);
    *bits |= passed & (1u << k);
    v = activated(v, passed, slope);
#endif
    return plus_zero(v);
}

static void keep_mask(uint bits, private const forward_fusion *fusion, ulong i)
{
#if MASKED
    if (fusion->keeps_mask)
        store_mask(bits, &fusion->mask, fusion->run + i);
#endif
}

/* The residual of four elements from i of the run on, where four can be loaded at once. */
static float4 residual_four(private const forward_fusion *fusion, ulong i)
{
#if RESIDUAL
    return load_four(fusion->residual, fusion->run + i);
#else
    return 0.0f;
#endif
}
#define RESIDUAL_FOUR(i) residual_four(fusion, i)

static float4 finished_four(float4 v, float4 residual, private const forward_fusion *fusion,
                            ulong i)
{
    uint bits = 0;
    const float slope = fusion->slope;
    const float4 y = (float4)(finished(v.x, residual.x, slope, 0, &bits),
                              finished(v.y, residual.y, slope, 1, &bits),
                              finished(v.z, residual.z, slope, 2, &bits),
                              finished(v.w, residual.w, slope, 3, &bits));
#if MASKED
    if (fusion->keeps_mask) /* no row is padded */
        fusion->mask.words[(fusion->run + i) >> LOG2_MASK_BITS] = (mask_word)bits;
#endif
    return y;
}
#define FINISHED_FOUR(v, residual, i) finished_four(v, residual, fusion, i)

/* One element, the k-th of a work-item. */
static float finished_one(float v, private const forward_fusion *fusion, ulong i, uint k,
                          private uint *bits)
{
#if RESIDUAL
    return finished(v, load_element(fusion->residual, fusion->run + i), fusion->slope, k, bits);
#else
    return finished(v, 0.0f, fusion->slope, k, bits);
#endif
}
#define FINISHED_ONE(v, i, k) finished_one(v, fusion, i, k, &bits)
#define KEEP_MASK(i) keep_mask(bits, fusion, i)
#endif

#else
#define FORWARD_FUSION_PARAMETERS
#define FORWARD_FUSION_OF(run)
#define FORWARD_FUSION
#define FUSION
#define FINISHED(v, i, count) plus_zero(v)
#define FINISHED_ONE(v, i, k) plus_zero(v)
#define KEEP_MASK(i)
#define RESIDUAL_FOUR(i) 0.0f
#define FINISHED_FOUR(v, residual, i) four_plus_zero(v)
#endif
