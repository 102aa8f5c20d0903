/*
 * What every kernel shares: the two forms and the vector types.
 *
 * The order (doc/order.md): a plane, one channel of one sample, is cut into blocks of BLOCK elements; element i of a
 * block belongs to lane i mod LANES; a lane adds its elements in ascending order; lanes are folded 8, 4, 2, 1. Which
 * work-item holds which lane is free: both forms give the same bits.
 *
 * CPU_FORM 1: one work-item per work-group, vectors of WIDTH = 16. CPU_FORM 0: work-groups whose work-items are one
 * element wide and share local memory. A `real` holds the part of a block's lanes that a work-item has, or one value
 * of each of its WIDTH blocks.
 *
 * Sizes, flags and rows of tables are macros that the library defines when it builds a program: src/exact/format.c
 * and src/program/kernel_constants.c.
 */
#pragma OPENCL FP_CONTRACT OFF
#if CPU_FORM && defined(__clang__)
/* On a CPU without AVX-512 vectors of 16 are passed in memory: no other program calls these functions. */
#pragma clang diagnostic ignored "-Wpsabi"
#endif
/* With -D NO_DOUBLES a device does without those that it has: a test. */
#if defined(cl_khr_fp64) && !defined(NO_DOUBLES)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define HAS_DOUBLES 1
#else
#define HAS_DOUBLES 0
#endif

#ifndef BLOCK
#error "BLOCK and more is missing: sbn__summation_macros"
#endif
#ifndef WIDTH
#error "WIDTH and more is missing: sbn__kernel_macros"
#endif

/* A list of arguments.h as parameters, and as what a call with the same names passes on. */
#define PARAMETER(type, name) type name
#define NAME(type, name) name
#define COMMA() ,
#define PARAMETERS(LIST) LIST(PARAMETER, PARAMETER, COMMA)
#define NAMES(LIST) LIST(NAME, NAME, COMMA)

#if CPU_FORM
#if WIDTH != 16 || LANES != 16
#error "the CPU form is written for vectors of 16, which hold the lanes of a block"
#endif
#define LOAD(p) load_vector(p)
#define VECTOR(type) type##16
#define AS(type, v) as_##type##16(v)
#define CONVERT(type, v) convert_##type##16(v)
/* Comparisons of vectors are masks already. */
#define MASK(condition) (condition)
#define EACH ((uints)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
#else
#define LOAD(p) (*(p))
#define VECTOR(type) type
#define AS(type, v) as_##type(v)
#define CONVERT(type, v) convert_##type(v)
#define MASK(condition) (-(int)(condition))
#define EACH 0u
#define ANY(mask) (mask)
#endif

/* Before a loop of which a copy is enough: what it does is rare. */
#define ONE_BY_ONE _Pragma("unroll 1")
/* Before a loop whose counter is to be a constant. */
#define UNROLL _Pragma("unroll")

/*
 * Whether the compiler generates code for a CPU, and not an intermediate language (Oclgrind, Mesa),
 * for which vectors of doubles take minutes to compile and a prefetch is an error.
 */
#if CPU_FORM && (defined(__x86_64__) || defined(__aarch64__))
#define NATIVE 1
#else
#define NATIVE 0
#endif

#ifndef __has_builtin
#define __has_builtin(name) 0
#endif

/* Whether a mask, of 0 and -1, is set anywhere; the builtin is one test of a register, where the compiler has it. */
#if NATIVE && __has_builtin(__builtin_reduce_or)
#define ANY(mask) (__builtin_reduce_or(mask) != 0)
#elif CPU_FORM
#define ANY(mask) any(mask)
#endif

/* Do kernels sum with doubles, and do they combine? */
#define SUMS_DOUBLES (NATIVE && HAS_DOUBLES)
#define COMBINES (NATIVE || !CPU_FORM)

/* Prefetches the cache line at p, where the compiler can. */
#if NATIVE && __has_builtin(__builtin_prefetch)
#define PREFETCH(p) __builtin_prefetch((const void *)(uintptr_t)(p), 0, 2)
#else
#define PREFETCH(p)
#endif

typedef VECTOR(float) real;
typedef VECTOR(int) ints;
typedef VECTOR(uint) uints;
typedef VECTOR(long) wides;
typedef VECTOR(ulong) uwides;

#if CPU_FORM
/* WIDTH floats at any address. PoCL splits vload16 and vstore16 into parts that LLVM does not always join again. */
#if NATIVE
typedef real __attribute__((aligned(4))) unaligned_real;

static real __attribute__((overloadable)) load_vector(global const float *p)
{
    return *(global const unaligned_real *)p;
}

static real __attribute__((overloadable)) load_vector(private const float *p)
{
    return *(private const unaligned_real *)p;
}

static void store_vector(real v, global float *p)
{
    *(global unaligned_real *)p = v;
}
#else
#define load_vector(p) vload16(0, p)
#define store_vector(v, p) vstore16(v, 0, p)
#endif
#endif

/*
 * A mask of the values whose magnitude is at least the limit, or that are Inf or NaN. The condition
 * is never negated: Oclgrind negates vector comparisons wrongly.
 */
static ints reaches(real v, real limit)
{
    return MASK(AS(int, fabs(v)) >= AS(int, limit));
}

static uints magnitude_of(real v)
{
    return AS(uint, v) & 0x7fffffffu;
}

/* The larger of two numbers. fmax is slower, because it handles NaN. */
static real larger(real a, real b)
{
    return a > b ? a : b;
}

/* v, and +0 where the mask is set. */
static real zero_where(real v, ints mask)
{
    return AS(float, AS(int, v) & ~mask);
}

/* Where a row of a table of `total` channels begins. */
static ulong table_row(uint row, uint total)
{
    return (ulong)row * total;
}

/* Integer division: the kernels that sum or apply have no other one. */
static uint quotient(uint a, uint b)
{
    return a / b;
}

static ulong quotient_long(ulong a, ulong b)
{
    return a / b;
}
