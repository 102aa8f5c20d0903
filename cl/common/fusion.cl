/*
 * What is fused into the passes (include/syncbn/batchnorm.h):
 *
 *   z = a (x - mean) + b + residual,  y = act(z)
 *
 * In the backward pass the gradient of z, and of the residual, takes the place of dy. RESIDUAL, RELU
 * and LEAKY_RELU come from src/program/program_text.c and are 1 where the program is for them, else
 * 0. Without any of them a program is as if this file, fusion_forward.cl and fusion_backward.cl were
 * not there.
 *
 * The backward pass needs the sign of z. From the output (inversion.cl) it is that of y. Else, without a residual, it
 * computes z again from x, by the operations of the forward pass (RECOMPUTES); with one the forward pass leaves a mask
 * (MASKED), as a bit is less than the residual. The mask has rows like the tensor: element i of a row is bit i, and
 * rows are padded to whole words of MASK_BITS elements, of which no two work-items write one.
 */
#define ACTIVATES (RELU || LEAKY_RELU)
#define FUSED (ACTIVATES || RESIDUAL)
#define RECOMPUTES (ACTIVATES && !RESIDUAL && !FROM_OUTPUT)
#define MASKED (ACTIVATES && RESIDUAL)
/* Whether the backward pass differs from the plain one, and whether its step 1 does. */
#define FUSED_BACKWARD (FUSED || FROM_OUTPUT)
#define FUSED_SUMS (ACTIVATES || FROM_OUTPUT)

#if FROM_OUTPUT
#define SLOPES(slope) slope, inverse_of(slope)
#else
#define SLOPES(slope) slope
#endif

#if FUSED_BACKWARD

#if CPU_FORM
typedef ushort mask_word;
#define LOG2_MASK_BITS 4
#else
typedef uchar mask_word;
#define LOG2_MASK_BITS 2
#endif
#if (1 << LOG2_MASK_BITS) != MASK_BITS
#error "a word of a mask has the bits of a vector that a work-item stores"
#endif

#if ACTIVATES
/* Where the activation passes the gradient: a mask. NaN of z counts as above 0 for ReLU. */
static ints passes(real z)
{
#if RELU
    return ~MASK(z <= 0.0f);
#else
    return MASK(z > 0.0f);
#endif
}

/* v where it passes, else its share. */
static real activated(real v, ints passes, float slope)
{
#if RELU
    return zero_where(v, ~passes);
#else
    return select(v * slope, v, passes);
#endif
}
#endif

/* A mask, and the rows of its tensor. */
typedef struct mask_of {
    global mask_word *words;
    ulong row, reciprocal; /* elements of a row, and (2^64 - 1) / row */
    uint padding;          /* bits that a row has more than elements */
} mask_of;

#if MASKED
/* The bit of an element of the tensor. */
static ulong mask_bit(private const mask_of *mask, ulong place)
{
    if (mask->padding == 0)
        return place;
    const ulong rows = mul_hi(place, mask->reciprocal); /* or one less */
    return place + (rows + (place - rows * mask->row >= mask->row)) * mask->padding;
}
#endif

#if MASKED && CPU_FORM
/* WIDTH elements from any place of a row on. */
static ints load_mask(private const mask_of *mask, ulong place)
{
    const ulong bit = mask_bit(mask, place);
    global const mask_word *p = mask->words + (bit >> LOG2_MASK_BITS);
    const uint bits = (p[0] | (uint)p[1] << MASK_BITS) >> (bit & (MASK_BITS - 1));
    return MASK((bits & ((uints)1u << EACH)) != 0);
}

#if __has_builtin(__builtin_reduce_or)
#define JOINED(bits) __builtin_reduce_or(bits)
#else
static uint joined(uints bits)
{
    const uint8 a = bits.lo | bits.hi;
    const uint4 b = a.lo | a.hi;
    const uint2 c = b.lo | b.hi;
    return c.lo | c.hi;
}
#define JOINED(bits) joined(bits)
#endif

/* A vector that begins a word. */
static void store_mask(ints passes, private const mask_of *mask, ulong place)
{
    mask->words[mask_bit(mask, place) >> LOG2_MASK_BITS] =
        (mask_word)JOINED(AS(uint, passes) & ((uints)1u << EACH));
}

#elif MASKED
static ints load_mask(private const mask_of *mask, ulong place)
{
    const ulong bit = mask_bit(mask, place);
    return MASK((mask->words[bit >> LOG2_MASK_BITS] >> (bit & (MASK_BITS - 1)) & 1) != 0);
}

/* A bit of the mask in its word. */
static uint mask_bit_of(uint bit)
{
    return 1u << (bit & (MASK_BITS - 1));
}

/* The elements of a word. */
static void store_mask(uint bits, private const mask_of *mask, ulong place)
{
    mask->words[mask_bit(mask, place) >> LOG2_MASK_BITS] = (mask_word)bits;
}
#endif

#endif

/* --- step 1 of the backward pass: what z, or x - mean, is computed from, or the mask --- */
#if FUSED_SUMS
typedef struct activation_of {
    float slope;
#if FROM_OUTPUT
    float slope_inverse;
#endif
    global const float *weight, *bias;
    uint affine, total; /* channels of the tables */
    mask_of mask;
} activation_of;

#define ACTIVATION_PARAMETERS , PARAMETERS(ACTIVATION_ARGUMENTS)
#define ACTIVATION_OF(total) \
    , { \
        SLOPES(slope), weights + weight_offset, biases + bias_offset, affine, total, \
            {mask, mask_row, mask_reciprocal, mask_padding} \
    }
#else
#define ACTIVATION_PARAMETERS
#define ACTIVATION_OF(total)
#endif
