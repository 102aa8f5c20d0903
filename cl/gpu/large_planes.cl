/*
 * reduce_planes.cl for planes of more than SMALL_PLANE elements: one block at a time per work-item.
 */
#define KIND(name) PASS(name##_large_planes)
#define STEPS (BLOCK >> LOG2_LANES)
#define AT_ONCE 1
#define TURNS 4
