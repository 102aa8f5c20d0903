/* reduce_planes.cl for planes of more than SMALL_PLANE elements: an item has a lane of one block. */
#define KIND(name) PASS(name##_large_planes)
#define STEPS (BLOCK >> LOG2_LANES)
#define AT_ONCE 1
#define TURNS 4
