/* As large_planes.cl, channels last. */
#define REDUCE_PLANES reduce_large_columns
#define LOG2_AT_ONCE 0
#define LAST 1
