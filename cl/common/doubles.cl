/*
 * Arithmetic of doubles, which statistics are made of: the device's, or in integers (soft_doubles.cl). A `number` is
 * one, `doubles` are those of ABREAST channels (channels.cl). The macros take either.
 */
#if COMBINES

#if HAS_DOUBLES
typedef double number;
typedef CHANNELS(double) doubles;
#define NUMBER(bits) as_double(bits)
#define BITS(a) AS_CHANNELS(ulong, a)
#define OF_BITS(bits) AS_CHANNELS(double, bits)
#define NEGATIVE(a) (-(a))
#define PLUS(a, b) ((a) + (b))
#define MINUS(a, b) ((a) - (b))
#define TIMES(a, b) ((a) * (b))
#define EXCEEDS(a, b) TRUTH((a) > (b))
#define TO_FLOATS(a) CONVERT_CHANNELS(float, a)
#define OF_FLOATS(v) CONVERT_CHANNELS(double, v)
#define OF_COUNT(n) convert_double(n)

/* The only floating-point division and square root: of doubles, which are rounded correctly. */
static doubles divide_exactly(doubles a, doubles b)
{
    return a / b;
}

static doubles root(doubles a)
{
    return sqrt(a);
}
#else
typedef ulong number;
typedef ulong doubles;
#define NUMBER(bits) (bits)
#define BITS(a) (a)
#define OF_BITS(bits) (bits)
#define NEGATIVE(a) ((a) ^ SIGN_BIT)
#define PLUS(a, b) soft_sum(a, b)
#define MINUS(a, b) soft_sum(a, NEGATIVE(b))
#define TIMES(a, b) soft_product(a, b)
#define EXCEEDS(a, b) TRUTH(soft_exceeds(a, b))
#define TO_FLOATS(a) soft_to_float(a)
#define OF_FLOATS(v) soft_of_float(v)
#define OF_COUNT(n) round_words(n, 0, 0, -64) /* rounding.cl */
#define divide_exactly(a, b) soft_quotient(a, b)
#define root(a) soft_root(a)
#endif

#define ZERO NUMBER(0UL)
#define ONE NUMBER(0x3ff0000000000000UL)
#define INFINITE NUMBER(0x7ff0000000000000UL)
#define LARGEST_FLOAT NUMBER(0x47efffffe0000000UL)
/* The NaN of C on the host; OpenCL's NAN may have other bits. */
#define QUIET_NAN NUMBER(0x7ff8000000000000UL)

/* Neither infinite nor NaN. */
static words is_finite(doubles a)
{
    return TRUTH((BITS(a) & 0x7ff0000000000000UL) != 0x7ff0000000000000UL);
}
#endif
