/* reduce_planes.cl for planes of up to SMALL_PLANE elements: several blocks at once per work-item. */
#define REDUCE_PLANES reduce_small_planes
#define LOG2_AT_ONCE LOG2_SMALL_PLANES
