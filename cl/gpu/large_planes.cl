/* reduce_planes.cl for planes of more than SMALL_PLANE elements: one block at a time per work-item. */
#define REDUCE_PLANES reduce_large_planes
#define LOG2_AT_ONCE 0
