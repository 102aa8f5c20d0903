/*
 * reduce_planes.cl for planes of up to SMALL_PLANE elements: several blocks at once per work-item.
 */
#define KIND(name) PASS(name##_small_planes)
#define STEPS (SMALL_PLANE >> LOG2_LANES)
#define AT_ONCE 4
#define TURNS 1
