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

/* WIDTH elements at p, of which the first `count` exist; the others read as `fill`. */
static real load_edge(global const float *p, uint count, float fill)
{
    if (count >= WIDTH)
        return LOAD(p);
#if CPU_FORM
    float edge[WIDTH];
    for (uint j = 0; j < WIDTH; ++j)
        edge[j] = j < count ? p[j] : fill;
    return vload16(0, edge);
#else
    return fill;
#endif
}

/* Stores the first `count` of WIDTH elements. */
static void store_edge(real v, global float *p, uint count)
{
    if (count >= WIDTH) {
        STORE(v, p);
        return;
    }
#if CPU_FORM
    float edge[WIDTH];
    vstore16(v, 0, edge);
    for (uint j = 0; j < count; ++j)
        p[j] = edge[j];
#endif
}

/* How many elements there are from i on, below n. */
static uint left(uint i, uint n)
{
    return i < n ? n - i : 0;
}

/* For integers: the kernels that sum or apply divide nothing else. */
static uint quotient(uint a, uint b)
{
    return a / b;
}

/* A channel's blocks are numbered sample by sample. */
typedef struct {
    uint sample, block;
} position;

static position position_of(uint number, uint blocks)
{
    position at;
    at.sample = quotient(number, blocks);
    at.block = number - at.sample * blocks;
    return at;
}

static position next_position(position at, uint blocks)
{
    if (++at.block == blocks) {
        at.block = 0;
        ++at.sample;
    }
    return at;
}

/* 1/n of a block's n elements; the host knows that of a plane's last block. */
static float reciprocal(uint n, float last_reciprocal)
{
    return n == BLOCK ? BLOCK_RECIPROCAL : last_reciprocal;
}
