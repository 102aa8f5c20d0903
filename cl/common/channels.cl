/*
 * The types in which channels are combined: in the CPU form vectors, with one channel in each
 * component; otherwise, and without doubles, scalars.
 */
#if COMBINES

#if CPU_FORM && HAS_DOUBLES
#define ABREAST 16
#define CHANNELS(type) type##16
#define AS_CHANNELS(type, v) as_##type##16(v)
#define CONVERT_CHANNELS(type, v) convert_##type##16(v)
/* All ones where a condition holds. */
#define TRUTH(condition) as_ulong16(condition)
#define LOAD_CHANNELS(p) vload16(0, p)
#define STORE_CHANNELS(v, p) vstore16(v, 0, p)
#define SOME_CHANNEL(mask) any((mask) != 0)
#else
#define ABREAST 1
#define CHANNELS(type) type
#define AS_CHANNELS(type, v) as_##type(v)
#define CONVERT_CHANNELS(type, v) convert_##type(v)
#define TRUTH(condition) (-(ulong)(condition))
#define LOAD_CHANNELS(p) (*(p))
#define STORE_CHANNELS(v, p) (*(p) = (v))
#define SOME_CHANNEL(mask) ((mask) != 0)
#endif
typedef CHANNELS(float) floats;
typedef CHANNELS(ulong) words;
typedef CHANNELS(long) signed_words;
#endif
