/* As small_planes.cl, channels last. */
#define REDUCE_PLANES reduce_small_columns
#define LOG2_AT_ONCE LOG2_SMALL_PLANES
#define LAST 1
