/*
 * The vectors of the benchmark's kernels: WIDTH floats, 16 in the CPU form and 4 in the GPU form
 * (which defines GPU_FORM). STREAM(v, at) is a non-temporal store, where the compiler has one
 * (HAS_STREAM); the address must be ALIGNED.
 */
#ifdef GPU_FORM
#define WIDTH 4
typedef float4 floats;
#define LOAD(at) vload4(0, at)
#define STORE(v, at) vstore4(v, 0, at)
#else
#define WIDTH 16
typedef float16 floats;
#define LOAD(at) vload16(0, at)
#define STORE(v, at) vstore16(v, 0, at)
#endif

#ifdef __has_builtin
#if __has_builtin(__builtin_nontemporal_store)
#define HAS_STREAM
#define STREAM(v, at) __builtin_nontemporal_store(v, (global floats *)(at))
#endif
#endif
#ifndef HAS_STREAM
#define STREAM(v, at) STORE(v, at)
#endif
#define ALIGNED(at) (((size_t)(at) & (WIDTH * sizeof(float) - 1)) == 0)

/* An item's strip of `strip` elements, in vectors and one by one: for each of these at i. */
#define WALK_STRIP(VECTOR, ONE) \
    const ulong from = get_global_id(0) * strip; \
    const ulong to = min(from + strip, n); \
    ulong i = from; \
    for (; i + WIDTH <= to; i += WIDTH) \
        VECTOR; \
    for (; i < to; ++i) \
        ONE;

/* The same for vectors that are stored past the caches, where the address allows that. */
#define WALK_STREAM(at, VECTOR, ONE) \
    if (ALIGNED(at)) { \
        WALK_STRIP(STREAM(VECTOR, at + i), ONE) \
    } else { \
        WALK_STRIP(STORE(VECTOR, at + i), ONE) \
    }
