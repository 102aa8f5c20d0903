/*
 * Elements of x, y, dy and dx: `stored` in memory, and floats in all arithmetic. Loads widen exactly, stores round
 * once, to the nearest, ties to even. STORES_F16 and STORES_BF16 come from src/program/program_text.c: 1 of the type
 * that the program is for, else 0.
 *
 * Halves are converted by the processor where it is known to do it right: F16C's instructions keep subnormal halves
 * whatever its modes are. In the GPU form OpenCL's functions convert, unless the device's self-test has found them
 * wrong (HALF_BY_BITS, src/program/build.c); elsewhere integer arithmetic does.
 */
#if STORES_F16 || STORES_BF16
typedef ushort stored;
#define LINE 32 /* elements of a cache line */
#else
typedef float stored;
#define LINE 16
#endif

/* How halves are converted: by F16C, by OpenCL's functions, or else by the functions below. */
#if STORES_F16 && NATIVE && defined(__F16C__)
#define F16C 1
#else
#define F16C 0
#endif
#if STORES_F16 && !CPU_FORM && !HALF_BY_BITS
#define HALF_FUNCTIONS 1
#else
#define HALF_FUNCTIONS 0
#endif

#if STORES_BF16
static real widened(uints bits)
{
    return AS(float, bits << 16);
}

/* In the upper half of the bits; below it is anything. */
static uints rounded_above(real v)
{
    const uints bits = AS(uint, v);
    const ints is_odd = MASK((bits & 0x10000u) != 0);
    const uints nearest = bits + select((uints)0x7fffu, (uints)0x8000u, is_odd);
    return select(nearest, bits | 0x400000u, MASK(v != v));
}

static uints rounded(real v)
{
    return rounded_above(v) >> 16;
}

#elif STORES_F16 && !F16C && !HALF_FUNCTIONS
/* No step is a denormal: devices may flush those. */
static real widened(uints bits)
{
    const uints exponent = bits & 0x7c00u, size = (bits & 0x7fffu) << 13;
    const uints bias = select((uints)(112u << 23), (uints)(224u << 23), MASK(exponent == 0x7c00u));
    const uints subnormal = AS(uint, AS(float, size + (113u << 23)) - 0x1p-14f);
    return AS(float, select(size + bias, subnormal, MASK(exponent == 0)) | (bits & 0x8000u) << 16);
}

static uints rounded(real v)
{
    const uints bits = AS(uint, v), size = bits & 0x7fffffffu;
    const uints nearest = (size - (112u << 23) + 0xfffu + ((size >> 13) & 1u)) >> 13;
    /* From 2^-14 down, the sum is rounded at the lowest bit of a half. */
    const uints subnormal = AS(uint, AS(float, size) + 0.5f) - 0x3f000000u;
    const uints number = select(min(nearest, (uints)0x7c00u), subnormal, MASK(size < 0x38800000u));
    const uints any_nan = ((size >> 13) & 0x3ffu) | 0x7e00u;
    return select(number, any_nan, MASK(size > 0x7f800000u)) | ((bits >> 16) & 0x8000u);
}
#endif

#if !STORES_F16 && !STORES_BF16
static float load_element(global const stored *p, ulong i)
{
    return p[i];
}

static void store_element(float v, global stored *p, ulong i)
{
    p[i] = v;
}
#endif

#if CPU_FORM

/* WIDTH elements at any address, and one. */
#if STORES_F16 || STORES_BF16
typedef VECTOR(ushort) stored_vector;
#if NATIVE
typedef stored_vector __attribute__((aligned(2))) unaligned_stored;
#define LOAD_STORED(p) (*(global const unaligned_stored *)(p))
#define STORE_STORED(v, p) (*(global unaligned_stored *)(p) = (v))
#else
#define LOAD_STORED(p) vload16(0, p)
#define STORE_STORED(v, p) vstore16(v, 0, p)
#endif
#if F16C
typedef __fp16 halves __attribute__((ext_vector_type(WIDTH)));
#define WIDENED(v) __builtin_convertvector(__builtin_astype(v, halves), real)
#define ROUNDED(v) __builtin_astype(__builtin_convertvector(v, halves), stored_vector)
#else
#define WIDENED(v) widened(convert_uint16(v))
#if STORES_BF16 && NATIVE
/* The upper halves: of a conversion LLVM makes one instruction with the store, a temporal one. */
typedef ushort both_halves __attribute__((ext_vector_type(2 * WIDTH)));
#define ROUNDED(v) (__builtin_astype(rounded_above(v), both_halves).odd)
#else
#define ROUNDED(v) convert_ushort16(rounded(v))
#endif
#endif

static real load_elements(global const stored *p)
{
    return WIDENED(LOAD_STORED(p));
}

static void store_elements(real v, global stored *p)
{
    STORE_STORED(ROUNDED(v), p);
}

static float load_element(global const stored *p, ulong i)
{
    return WIDENED((stored_vector)p[i]).s0;
}

static void store_element(float v, global stored *p, ulong i)
{
    p[i] = ROUNDED((real)v).s0;
}

#else
#define load_elements(p) LOAD(p)
#define store_elements(v, p) store_vector(v, p)
#endif

/*
 * Elements i ... i + WIDTH - 1 of the n at p; those beyond n read as `fill`.
 * Up to `end`, the tensor's, more may be read.
 */
static real load_edge(global const stored *p, uint i, uint n, global const stored *end, float fill)
{
    if (i + WIDTH <= n)
        return load_elements(p + i);
    if (p + i + WIDTH <= end)
        return select((real)fill, load_elements(p + i), EACH + i < n);
    float edge[WIDTH];
    for (uint j = 0; j < WIDTH; ++j)
        edge[j] = i + j < n ? load_element(p, i + j) : fill;
    return vload16(0, edge);
}

/* WIDTH channels of a row. What lies beyond the row is another's, beyond the tensor 0. */
static real load_row(global const stored *p, global const stored *end)
{
    if (p + WIDTH <= end)
        return load_elements(p);
    float edge[WIDTH];
    for (uint j = 0; j < WIDTH; ++j)
        edge[j] = p + j < end ? load_element(p, j) : 0.0f;
    return vload16(0, edge);
}

/* The first `count` of a vector. */
static void store_edge(real v, global stored *p, uint count)
{
    float each[WIDTH];
    vstore16(v, 0, each);
    for (uint j = 0; j < WIDTH && j < count; ++j)
        store_element(each[j], p, j);
}

/* A store that leaves the caches alone, where the compiler knows it. */
#if !__has_builtin(__builtin_nontemporal_store)
#define STORE_NON_TEMPORAL(v, p) store_elements(v, p)
#elif STORES_F16 || STORES_BF16
#define STORE_NON_TEMPORAL(v, p) \
    __builtin_nontemporal_store(ROUNDED(v), (global stored_vector *)(p))
#else
#define STORE_NON_TEMPORAL(v, p) __builtin_nontemporal_store(v, (global real *)(p))
#endif

/* Whether a vector at p may be stored so: it must be aligned. */
static uint is_non_temporal(global const stored *p, uint non_temporal)
{
    return non_temporal && ((uintptr_t)p & (WIDTH * sizeof(stored) - 1)) == 0;
}

/* The first `count` of a vector, of which a whole one may leave the caches alone. */
static void store_result(real v, global stored *p, uint count, uint skips_caches)
{
    if (count < WIDTH)
        store_edge(v, p, count);
    else if (skips_caches)
        STORE_NON_TEMPORAL(v, p);
    else
        store_elements(v, p);
}

#else

/* An element, and 4 from i on, a multiple of 4. */
#if HALF_FUNCTIONS
static float load_element(global const stored *p, ulong i)
{
    return vload_half(i, (global const half *)p);
}

static void store_element(float v, global stored *p, ulong i)
{
    vstore_half_rte(v, i, (global half *)p);
}

static float4 load_four(global const stored *p, ulong i)
{
    return vloada_half4(0, (global const half *)(p + i));
}

static void store_four(float4 v, global stored *p, ulong i)
{
    vstorea_half4_rte(v, 0, (global half *)(p + i));
}

#elif STORES_F16 || STORES_BF16
static float load_element(global const stored *p, ulong i)
{
    return widened(p[i]);
}

static void store_element(float v, global stored *p, ulong i)
{
    p[i] = (stored)rounded(v);
}

static float4 load_four(global const stored *p, ulong i)
{
    const ushort4 four = *(global const ushort4 *)(p + i);
    return (float4)(widened(four.x), widened(four.y), widened(four.z), widened(four.w));
}

static void store_four(float4 v, global stored *p, ulong i)
{
    *(global ushort4 *)(p + i) = (ushort4)((stored)rounded(v.x), (stored)rounded(v.y),
                                           (stored)rounded(v.z), (stored)rounded(v.w));
}

#else
static float4 load_four(global const stored *p, ulong i)
{
    return *(global const float4 *)(p + i);
}

static void store_four(float4 v, global stored *p, ulong i)
{
    *(global float4 *)(p + i) = v;
}
#endif

#endif
