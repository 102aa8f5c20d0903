/* reduce_planes.cl for planes of up to SMALL_PLANE elements: an item has a lane of several blocks. */
#define KIND(name) PASS(name##_small_planes)
#define STEPS (SMALL_PLANE >> LOG2_LANES)
#define AT_ONCE 4
#define TURNS 1
