/*
 * Elements of x, y, dy and dx: a tensor's element is `stored`, and a float as soon as it is loaded.
 */
typedef float stored;

/* Elements of a cache line. */
#define LINE 16

static float load_element(global const stored *p, ulong i)
{
    return p[i];
}

static void store_element(float v, global stored *p, ulong i)
{
    p[i] = v;
}

#if CPU_FORM

/* WIDTH elements at any address. */
#define load_elements(p) LOAD(p)

static void store_elements(real v, global stored *p)
{
    store_vector(v, p);
}

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
#if defined(__has_builtin)
#if __has_builtin(__builtin_nontemporal_store)
#define STORE_NON_TEMPORAL(v, p) __builtin_nontemporal_store(v, (global real *)(p))
#endif
#endif
#ifndef STORE_NON_TEMPORAL
#define STORE_NON_TEMPORAL(v, p) store_elements(v, p)
#endif

/* Whether a vector at p may be stored so: it must be aligned. */
static uint is_non_temporal(global const stored *p, uint non_temporal)
{
    return non_temporal && ((uintptr_t)p & (WIDTH * sizeof(stored) - 1)) == 0;
}

#else

/* 4 elements from i on, a multiple of 4. */
static float4 load_four(global const stored *p, ulong i)
{
    return *(global const float4 *)(p + i);
}

static void store_four(float4 v, global stored *p, ulong i)
{
    *(global float4 *)(p + i) = v;
}

#endif
