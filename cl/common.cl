/*
 * What every kernel shares: the constants of the summation order, the two
 * forms, and loads that stop at an edge.
 *
 * The order (doc/order.md): a plane, one channel of one sample, is cut into
 * blocks of BLOCK elements; element i of a block belongs to lane i mod LANES;
 * a lane adds its elements in ascending order; lanes are folded 32, 16, 8, 4,
 * 2, 1. Which work-item holds which lane is free: both forms give the same
 * bits.
 *
 * CPU_FORM 1: one work-item per group, vectors of 16. CPU_FORM 0: work-groups
 * whose items are one element wide and meet in local memory.
 */
#pragma OPENCL FP_CONTRACT OFF

#define LANES 64
/* BLOCK, BLOCK_RECIPROCAL and CPU_FORM come from src/program.c. */

#if CPU_FORM
#define WIDTH 16
typedef float16 real;
#define LOAD(p) vload16(0, p)
#define STORE(v, p) vstore16(v, 0, p)
#else
#define WIDTH 1
typedef float real;
#define LOAD(p) (*(p))
#define STORE(v, p) (*(p) = (v))
#endif

/* Elements i ... i + WIDTH - 1 of the n at p; those beyond n read as `fill`. */
static real load_edge(global const float *p, uint i, uint n, float fill)
{
    if (i + WIDTH <= n)
        return LOAD(p + i);
#if CPU_FORM
    float edge[WIDTH];
    for (uint j = 0; j < WIDTH; ++j)
        edge[j] = i + j < n ? p[i + j] : fill;
    return vload16(0, edge);
#else
    return fill;
#endif
}

/*
 * Stores those that exist. A zero is stored as +0: what sign it has depends on how a compiler
 * spells a negation (Mesa's gives others than IEEE's).
 */
static void store_edge(real v, global float *p, uint i, uint n)
{
#if CPU_FORM
    v = select(v, (real)0.0f, v == 0.0f);
#else
    v = v == 0.0f ? 0.0f : v;
#endif
    if (i + WIDTH <= n) {
        STORE(v, p + i);
        return;
    }
#if CPU_FORM
    float edge[WIDTH];
    vstore16(v, 0, edge);
    for (uint j = 0; i + j < n; ++j)
        p[i + j] = edge[j];
#endif
}

/* For integers: the kernels that sum or apply divide nothing else. */
static uint quotient(uint a, uint b)
{
    return a / b;
}

/* 1/n of a block's n elements; the host knows that of a plane's last block. */
static float reciprocal(uint n, float last_reciprocal)
{
    return n == BLOCK ? BLOCK_RECIPROCAL : last_reciprocal;
}
